"""An experiment that can be run on this machine."""

from __future__ import annotations

from pathlib import Path

from hydrotest.hosts.local import cores, free_bytes, memory_bytes
from hydrotest.hosts.locales import takes_letters
from hydrotest.places import cache_home
from hydrotest.run.lifecycle.scratch import scratch_root
from hydrotest.spec.check import check_memory
from hydrotest.spec.check_machine import Machine, check_machine
from hydrotest.spec.check_paths import Roots, check_paths
from hydrotest.spec.lines import Document
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment


def load_for_here(file: Path, hosts: Path | None = None) -> tuple[Experiment, Document]:
    """Reads an experiment and checks it against this machine. Raises `BadInputError`."""
    spec, document = load_experiment(file, hosts)
    root = scratch_root(spec)
    check_paths(spec, document, Roots(root, cache_home().resolve(), takes_letters()))
    check_machine(spec, document, Machine(cores(), memory_bytes(), free_bytes(root)))
    check_memory(spec, document, {name: memory_bytes() for name in spec.hosts})
    return spec, document
