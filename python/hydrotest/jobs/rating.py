"""The kind of work of `hydrotest rate` that systems in a JVM do."""

from __future__ import annotations

import os
import subprocess
from importlib import resources
from pathlib import Path

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.locales import PLAIN_LOCALE

WARM_UP_S = 4.0
"""After that its compiler has nothing left to do."""
JVM_START_S = 3.0 + WARM_UP_S
"""A JVM starts, and compiles the file, in two to five seconds."""
START_S_MAX = 60.0
OPTIONS = ("-Xms256m", "-Xmx256m", "-XX:+UseSerialGC")
"""The collector works on the thread's own processor, as part of the work."""


def jvm_slices(java: Path, seconds: float) -> list[float]:
    """Records a second of each slice of a fifth of a second, on one thread. Raises `TrialFailedError` if the JVM fails; a Java without its
    compiler cannot start a source file."""
    patience = Patience.of(start=START_S_MAX, work=3 * (WARM_UP_S + seconds))
    with resources.as_file(resources.files("hydrotest.jobs").joinpath("rate", "Kernel.java")) as source:
        command = [str(java), *OPTIONS, str(source), str(WARM_UP_S), str(seconds)]
        try:
            environment = {**os.environ, **PLAIN_LOCALE}
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience.seconds, env=environment)
        except subprocess.TimeoutExpired as error:
            raise patience.overdue("the JVM", "end its kind of work") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise TrialFailedError(f"the JVM's kind of work failed: {last}", "Install a JDK 17, not a JRE, or set JAVA_HOME to one.")
    return [float(line) for line in done.stdout.split()]
