"""The kind of work of `hydrotest rate` that systems in a JVM do."""

from __future__ import annotations

import subprocess
from importlib import resources
from pathlib import Path

from hydrotest.errors import TrialFailedError

WARM_UP_S = 4.0
"""After that its compiler has nothing left to do."""
START_S = 60.0
"""A JVM starts, and compiles the file, in two to five seconds."""
OPTIONS = ("-Xms256m", "-Xmx256m", "-XX:+UseSerialGC")
"""The collector works on the thread's own processor, as part of the work."""


def jvm_slices(java: Path, seconds: float) -> list[float]:
    """Records a second of each slice of a fifth of a second, on one thread. Raises `TrialFailedError` if the JVM fails; a Java without its
    compiler cannot start a source file."""
    with resources.as_file(resources.files("hydrotest.jobs").joinpath("rate", "Kernel.java")) as source:
        command = [str(java), *OPTIONS, str(source), str(WARM_UP_S), str(seconds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_S + 3 * (WARM_UP_S + seconds))
        except subprocess.TimeoutExpired as error:
            raise TrialFailedError("the JVM's kind of work does not end", "Look at what else runs on the machine.") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise TrialFailedError(f"the JVM's kind of work failed: {last}", "Install a JDK 17, not a JRE, or set JAVA_HOME to one.")
    return [float(line) for line in done.stdout.split()]
