"""The Java that the systems run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from hydrotest.errors import MissingToolError
from hydrotest.hosts.locales import PLAIN_LOCALE

MAJOR_MIN = 17
TESTED_MAJOR = 17
"""The version that all systems are tested with; Cassandra 5.0 supports 11 and 17 (its documentation,
"Java")."""
_REMEDY = "Install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless), or set JAVA_HOME to one."


def find_java() -> Path:
    """The java command: JAVA_HOME's, else the PATH's.

    Raises `MissingToolError` without one of version 17 or later.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        where = "JAVA_HOME has no bin/java" if home else "no java is on the PATH"
        raise MissingToolError(f"Java is missing: {where}", _REMEDY, file=home or None)
    major = java_major(Path(found))
    if major < MAJOR_MIN:
        raise MissingToolError(f"Java {major} is too old; {MAJOR_MIN} or later is needed", _REMEDY, file=found)
    return Path(found)


def java_major(java: Path) -> int:
    """Major version of a java command; 0 if it is unknown."""
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, env={**os.environ, **PLAIN_LOCALE})
    return major_in(done.stderr + done.stdout)


def major_in(output: str) -> int:
    """Major version in the output of `java -version`; 0 if it holds none."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0
