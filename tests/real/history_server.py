"""Spark's own history server, which reads an event log, too."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydrotest.hosts.deadlines import until_here
from hydrotest.systems.spark.home import find_spark
from tests.real.conftest import SOON

ROLLED = "eventlog_v2_"
"""Before an application's id, in the name of a log's folder that is rolled."""


@contextmanager
def read_by_spark(log: Path, folder: Path) -> Iterator[Callable[[str], Any]]:
    """Answers of its REST API about the application of a log, by the path below it; `folder` may be empty."""
    home, _ = find_spark(None)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    env = os.environ | {"SPARK_NO_DAEMONIZE": "1", "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(folder)}
    options = f"-Dspark.history.fs.logDirectory={log.parent.as_uri()} -Dspark.history.ui.port={port} -Dspark.ui.retainedStages=100000"
    argv = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    server = subprocess.Popen(argv, env=env | {"SPARK_HISTORY_OPTS": options}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield lambda path: json.loads(_fetched(f"http://127.0.0.1:{port}/api/v1/applications/{log.name.removeprefix(ROLLED)}/{path}"))
    finally:
        server.terminate()
        server.wait()


def _fetched(url: str) -> str:
    def look() -> str | None:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:  # not there yet
            return None

    return until_here(look, SOON, url, "answer", 0.5)
