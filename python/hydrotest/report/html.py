"""The report: one HTML file that opens offline, years later, without any other source."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from hydrotest.kinds.registry import TESTS
from hydrotest.report import charts, together
from hydrotest.report.charts import Figure
from hydrotest.report.narrative import headline, not_valid
from hydrotest.report.sheets import sheets
from hydrotest.report.table import figure_columns
from hydrotest.report.topology import topology
from hydrotest.report.usage import usage_figures
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder, write_whole
from hydrotest.summary.model import Summary
from hydrotest.units import show_bytes

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def write_report(folder: RunFolder, experiment: Experiment, summary: Summary) -> Path:
    """Writes RUN/report.html from the folder's contents and returns its path."""
    path = folder.path / layout.REPORT
    write_whole(path, render(folder, experiment, summary))
    return path


def render(folder: RunFolder, experiment: Experiment, summary: Summary) -> str:
    """The report as HTML text."""
    environment = Environment(
        loader=PackageLoader("hydrotest.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["code"] = with_code
    environment.globals["figure_columns"] = figure_columns
    kinds: dict[str, str] = {name: workload.kind for name, workload in experiment.workloads.items()}
    figures = _figures(folder, summary)
    return environment.get_template("report.html").render(
        summary=summary,
        headline=headline(summary),
        problems=not_valid(summary),
        sheets=sheets(summary, kinds),
        figures=figures,
        specs={figure.slug: _json(figure.spec) for figure in figures},
        bundle=Markup(vl_convert.javascript_bundle(vl_version=VEGA_LITE)),  # type: ignore[call-arg] # the stub forgets the default
        topology=topology(experiment),
        environment=_environment(folder, summary),
        experiment_text=(folder.path / layout.EXPERIMENT).read_text(),
    )


def with_code(text: str) -> Markup:
    """A text as HTML; what stands between backticks is to be typed as it is."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _figures(folder: RunFolder, summary: Summary) -> list[Figure]:
    trials = folder.trials()
    limits = {(row.workload, row.tenancy): row for row in summary.limits}
    curves = {(curve.workload, curve.tenancy): curve for curve in summary.curves}
    figures: list[Figure | None] = [charts.chance_figure(limit, curves.get((limit.workload, limit.tenancy))) for limit in summary.limits]
    figures += [charts.curve_figure(curve, limits.get((curve.workload, curve.tenancy))) for curve in summary.curves]
    figures.append(together.interference_figure(summary))
    figures += [figure for kind in TESTS.values() for figures_of in kind.figures for figure in figures_of.load()(summary)]
    figures.append(charts.percentile_figure(folder, summary, trials))
    figures.append(together.heat_figure(folder, trials, summary.hosts))
    figures += usage_figures(summary)
    figures += charts.host_figures(folder, trials, summary.hosts)
    figures.append(charts.service_figure(folder, trials))
    figures.append(charts.speed_figure(folder, trials, summary.hosts))
    return [figure for figure in figures if figure is not None]


def _environment(folder: RunFolder, summary: Summary) -> list[tuple[str, str]]:
    rows = [("hydrotest", summary.hydrotest), ("started", summary.started), ("finished", summary.finished)]
    rows += [(system.name, f"{system.version} on {', '.join(system.hosts)}") for system in summary.systems]
    for host in summary.hosts:
        rows.append(
            (
                host.name,
                f"{host.cores} cores ({host.cpu_model or '?'}), {show_bytes(host.memory_bytes)}, Linux {host.kernel or '?'}",
            )
        )
        ceilings = host.ceilings
        shown = [f"{ceilings.cpu_cores:.2f} cores" if ceilings.cpu_cores is not None else ""]
        link = "network" if host.connect == "netns" else "loopback"
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


def _json(value: Any) -> Markup:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
