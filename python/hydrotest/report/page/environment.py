"""Where a run took place: hosts, systems, versions, clocks, speed."""

from __future__ import annotations

from hydrotest.store.folder import RunFolder
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes


def environment_rows(folder: RunFolder, summary: Summary) -> list[tuple[str, str]]:
    """Name and value of each."""
    rows = [("hydrotest", summary.hydrotest), ("started", summary.started), ("finished", summary.finished)]
    rows += [
        (system.name, f"{system.version} on {', '.join(system.hosts)}" if system.hosts else "was there already")
        for system in summary.systems
    ]
    for host in summary.hosts:
        rows.append(
            (
                host.name,
                f"{host.cores:g} {'core' if host.cores == 1 else 'cores'} ({host.cpu_model or '?'}), {show_bytes(host.memory_bytes)}, Linux {host.kernel or '?'}",
            )
        )
        ceilings = host.ceilings
        shown = [f"{ceilings.cpu_cores:.2f} cores" if ceilings.cpu_cores is not None else ""]
        link = "network" if host.connect != "local" else "loopback"
        named = [
            ("disk write", ceilings.disk_write_bytes_per_s),
            ("disk read", ceilings.disk_read_bytes_per_s),
            (link, ceilings.network_bytes_per_s),
        ]
        shown += [f"{name} {show_bytes(given)}/s" for name, given in named if given is not None]
        if ceilings.generator_null_per_core_s is not None:
            shown.append(f"our generator alone {ceilings.generator_null_per_core_s:,.0f} operations/s per core")
        if ceilings.wake_cpu_us is not None:
            shown.append(f"{ceilings.wake_cpu_us:.0f} µs of CPU for each time that a thread is woken")
        rows.append((f"ceilings of {host.name}", ", ".join(part for part in shown if part)))
        if clock := host.clock:
            words = f"{clock.offset_s * 1e3:+.2f} ms from the controller's, exact to {clock.error_s * 1e3:.2f} ms"
            rows.append((f"clock of {host.name}", words))
    rows += [
        ("speed reference", f"varied by {row.cv_pct:.1f} % (coefficient of variation), steal {row.steal_pct or 0:.1f} %")
        for row in summary.speed
    ]
    versions = folder.environment().get("versions", {})
    rows += [(name, str(version)) for name, version in versions.items() if name != "hydrotest"]
    return rows
