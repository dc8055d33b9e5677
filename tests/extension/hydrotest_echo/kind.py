"""The registration: all that hydrotest knows of the server before it runs."""

from __future__ import annotations

import sys
from pathlib import Path

from hydrotest.kinds.internal import Internal
from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import WorkloadKind

from .server import CONNECTIONS_MAX

KINDS = (
    SystemKind(
        name="echo",
        model=Ref("hydrotest_echo.spec:Echo"),
        make=Ref("hydrotest_echo.system:make"),
        start_s=1.0,
        services=r"echo-\d+$",
        limits=(
            Internal("connections", "echo_connections", "mean", "above", 0.9 * CONNECTIONS_MAX, "CONNECTIONS_MAX", "server.py", unit=""),
        ),
        advice={"cpu": ("run more servers: each has one thread", "server.py")},
    ),
    WorkloadKind(
        name="echo-messages",
        model=Ref("hydrotest_echo.spec:EchoMessages"),
        run=Ref("hydrotest_echo.workload:Messages"),
        system="echo",
        unit="messages/s",
        table="records",
        program=(sys.executable, str(Path(__file__).with_name("generator.py"))),
    ),
)
