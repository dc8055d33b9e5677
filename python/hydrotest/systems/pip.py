"""Programs that come as Python packages, fetched by pip into the cache: beside the packages of this installation, not among them."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hydrotest.errors import RunFailedError
from hydrotest.hosts.command import last_lines, run_here
from hydrotest.places import cache_home
from hydrotest.store.lock import Lock
from hydrotest.systems.fetch import ProgressCallback


@dataclass(frozen=True)
class PipBundle:
    """A package, pinned by a requirements file of ours: version, and the SHA-256 for each kind of machine."""

    name: str
    package: str
    requirements: str
    remedy: str
    """What else there is where it cannot be fetched."""

    def text(self) -> str:
        """The requirements file."""
        return resources.files(self.package).joinpath(self.requirements).read_text()

    def pins(self) -> list[str]:
        """The SHA-256 of its package for each kind of machine."""
        return [part.partition("sha256:")[2] for part in self.text().split() if part.startswith("--hash=")]

    @property
    def version(self) -> str:
        """The pinned one."""
        return self.text().split()[0].partition("==")[2]

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_home() / f"{self.name}-{self.version}"

    def fetched(self, say: ProgressCallback) -> Path:
        """Its folder; fetched if it is missing, completely or not at all. Safe against a concurrent call.

        Raises `RunFailedError` with pip's message.
        """
        target = self.folder
        target.parent.mkdir(parents=True, exist_ok=True)
        with Lock(target.with_name(target.name + ".lock")):
            if not target.exists():
                for left in target.parent.glob(f".{target.name}-*"):
                    shutil.rmtree(left)  # of a killed fetch: we hold the lock, so no other process works in it
                say(f"{self.name}: fetching {self.version}")
                work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
                try:
                    (work / "requirements.txt").write_text(self.text())
                    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--require-hashes",
                            "--target", str(work / "packages"), "--requirement", str(work / "requirements.txt")]  # fmt: skip
                    code, output = run_here(argv, work / "pip.log")
                    if code != 0:
                        raise RunFailedError(f"{self.name} {self.version} cannot be fetched: {last_lines(output)}", self.remedy)
                    (work / "packages").rename(target)
                finally:
                    shutil.rmtree(work)
        return target


SEAWEED = PipBundle("seaweedfs", "hydrotest.systems.s3", "seaweedfs.txt", "Use `attach` for a store that is there already.")
"""SeaweedFS, one program for all of its services."""
