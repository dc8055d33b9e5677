"""Free ports, whatever range the kernel gives to outgoing connections."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hydrotest.errors import SystemFailedError
from hydrotest.hosts import ports
from hydrotest.hosts.local import LocalHost
from hydrotest.run.lifecycle import doctor


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's range, in a file of ours."""
    file = tmp_path / "ip_local_port_range"
    monkeypatch.setattr(ports, "RANGE", file)
    return file


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("32768\t60999\n", 15_000, 32_767),  # the kernel's default: below
        ("1024\t40000\n", 40_001, 65_535),  # nothing below: above
        ("1024\t14000\n", 15_000, 65_535),
        ("1024\t65535\n", 15_000, 65_535),  # nothing outside: among them
        ("15000\t65535\n", 15_000, 65_535),
    ],
)
async def test_a_port_is_found_below_above_or_within_the_range(tuned: Path, tmp_path: Path, text: str, first: int, last: int) -> None:
    tuned.write_text(text)
    host = LocalHost("here", tmp_path)
    given = {await host.free_port() for _ in range(20)}
    assert len(given) == 20
    assert min(given) >= first
    assert max(given) <= last


async def test_a_port_that_is_taken_is_not_given(tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only one below the range is taken, on another address: one above it is given."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.3", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "FREE_PORT_MIN", port)
        tuned.write_text(f"{port + 1} {port + 1}")
        assert [len(range_) for range_ in ports.safe_ports(ports.ephemeral_ports())] == [1, ports.PORT_MAX - port - 1]
        assert await LocalHost("here", tmp_path).free_port() > port + 1


async def test_a_given_port_is_kept_for_its_service(tuned: Path, tmp_path: Path) -> None:
    tuned.write_text("1024 65535")
    host = LocalHost("here", tmp_path)
    port = await host.free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((host.address, port))
    with socket.socket() as service:
        service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        service.bind((host.address, port))
        service.listen()
        with socket.create_connection((host.address, port)):
            assert await host.port_holder(port) is not None


async def test_without_a_free_port_there_is_a_remedy() -> None:
    async def taken(_port: int) -> bool:
        return False

    with pytest.raises(SystemFailedError) as caught:
        await ports.free_among([range(20_000, 20_010)], taken)
    assert "ip_local_port_range" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "state"), [("32768 60999", "ok"), ("1024 65535", "warning"), ("1024 50000", "ok"), ("15010 65535", "warning")]
)
def test_doctor_looks_at_the_range(tuned: Path, text: str, state: str) -> None:
    tuned.write_text(text)
    finding = doctor._ports()
    assert finding.state == state
    assert (finding.remedy is None) == (state == "ok")
