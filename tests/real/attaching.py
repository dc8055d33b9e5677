"""A user of hydrotest whose cluster is there already."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hydrotest.hosts.deadlines import until
from tests.real.conftest import HYDROTEST, SOON


@dataclass
class User:
    """Who calls hydrotest, with a cache of their own below `folder`."""

    folder: Path
    secrets: Mapping[str, str] = field(default_factory=dict)
    """By environment variable."""

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.secrets, "XDG_CACHE_HOME": str(self.folder / "cache")}

    @property
    def noted(self) -> list[Path]:
        """Where it stands what runs have made."""
        return list((self.folder / "cache/hydrotest/attached").iterdir())

    def written(self, experiment: Mapping[str, Any]) -> Path:
        file = self.folder / "experiment.yaml"
        file.write_text(yaml.safe_dump(dict(experiment), sort_keys=False))
        return file

    def hydrotest(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(HYDROTEST), *map(str, arguments)], capture_output=True, text=True, check=False, env=self.environment)

    def agreed(self, file: Path) -> str:
        """The hash of what a run would do."""
        done = self.hydrotest("check", file, "--contact", "--json")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["hash"])

    def run(self, file: Path, out: Path) -> subprocess.CompletedProcess[str]:
        return self.hydrotest("run", file, "--out", out, "--yes", self.agreed(file))

    def begun(self, file: Path, out: Path) -> subprocess.Popen[bytes]:
        """A run in the background."""
        argv = [str(HYDROTEST), "run", str(file), "--out", str(out), "--yes", self.agreed(file)]
        return subprocess.Popen(argv, env=self.environment, stdout=subprocess.DEVNULL, stderr=(self.folder / "said").open("wb"))


async def until_pressed(out: Path, what: str = "load/*") -> None:
    """Waits until a trial applies load."""

    async def look() -> bool:
        return any(out.glob(f"trials/*/{what}"))

    await until(look, SOON, "the run", "press")
