"""Archives of classes, as `hydrotest fetch` makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.hosts.java import find_java
from hydrotest.run.lifecycle.class_archives import ARCHIVED
from hydrotest.run.workloads.base import Bench
from hydrotest.systems.class_archive import archive_of

pytestmark = pytest.mark.real


def test_services_use_the_archives_of_their_classes(bench: Bench) -> None:
    """A JVM says nothing of an archive that it does not use; one that it uses, it maps."""
    for name, bundle in ARCHIVED.items():
        archive = archive_of(find_java().resolve(), bundle.folder)
        assert archive.exists(), "call `hydrotest fetch` before"
        (service,) = bench.systems[name].services
        assert str(archive) in Path(f"/proc/{service.pid}/maps").read_text()
