"""The report: one HTML file that opens offline, years later, without any other source."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from hydrotest.analysis.limits.decided import Decided
from hydrotest.catalogue.machines import shipped
from hydrotest.kinds.registry import TESTS
from hydrotest.predict.bought import bought
from hydrotest.predict.known import read_known
from hydrotest.predict.predict import Question, answered
from hydrotest.predict.scores import shipped_scores
from hydrotest.report.bounds import NAMES
from hydrotest.report.figures import accounts, bottlenecks, hosts, limits, timeline, together
from hydrotest.report.figures.readings import read_hosts
from hydrotest.report.figures.theme import Figure, colors_of
from hydrotest.report.glance.model import Card, Glance
from hydrotest.report.glance.of_run import glance
from hydrotest.report.masked import Mask
from hydrotest.report.narrative import headline
from hydrotest.report.page.drawings import CardDrawing, card_drawing, gauge_drawing
from hydrotest.report.page.environment import environment_rows
from hydrotest.report.page.tables import PageTable, page_table
from hydrotest.report.prediction import outlook_sheet
from hydrotest.report.sections import EVIDENCE, QUESTIONS, Section
from hydrotest.report.sheets import sheets
from hydrotest.report.size import bought_sheet
from hydrotest.report.table import Table
from hydrotest.report.topology import topology
from hydrotest.report.usage import usage_figures
from hydrotest.spec.lines import Path_
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder, write_whole
from hydrotest.store.purposes import Purpose
from hydrotest.summary.limits import Job, Limit
from hydrotest.summary.model import Summary
from hydrotest.units import show_duration, show_rate

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


@dataclass(frozen=True)
class PageSection:
    """A question with its answers: sentences, figures, tables."""

    key: Section
    question: str
    answers: Sequence[str]
    figures: Sequence[tuple[Figure, PageTable]]
    """Each with its table."""
    tables: Sequence[PageTable]
    is_open: bool


@dataclass(frozen=True)
class Key:
    """A key of the experiment file that an answer comes from, and its line."""

    name: str
    line: int


def write_report(folder: RunFolder, experiment: Experiment, summary: Summary, masked: bool = False) -> Path:
    """Writes RUN/report.html, or RUN/report-masked.html, from the folder's contents and returns its path."""
    path = folder.path / (layout.MASKED_REPORT if masked else layout.REPORT)
    write_whole(path, render(folder, experiment, summary, masked))
    return path


def render(folder: RunFolder, experiment: Experiment, summary: Summary, masked: bool = False) -> str:
    """The report as HTML text; `masked`: without what says where machines and clusters are."""
    text = (folder.path / layout.EXPERIMENT).read_text()
    if not masked:
        return _rendered(folder, experiment, summary, text)
    mask = Mask(experiment, folder.environment())
    return mask.of_page(_rendered(folder, experiment, mask.of_summary(summary), mask.of_text(text)))


def _rendered(folder: RunFolder, experiment: Experiment, summary: Summary, text: str) -> str:
    """`text`: that of the experiment."""
    environment = Environment(
        loader=PackageLoader("hydrotest.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["code"] = with_code
    environment.globals["gauge_drawing"] = gauge_drawing
    kinds: dict[str, str] = {name: workload.kind for name, workload in experiment.workloads.items()}
    colors = colors_of(kinds)
    seen = glance(summary, kinds, {name: experiment.objective(name).latencies_ms() for name in kinds})
    found = _sections(folder, summary, kinds, colors)
    return environment.get_template("report.html").render(
        summary=summary,
        duration=_duration(summary),
        cost=_cost(summary),
        glance=seen,
        colors=colors,
        drawings={card.workload: _drawing(card) for card in seen.cards},
        keys=_keys(folder, seen),
        sections=found,
        specs={figure.slug: _json(figure.spec) for section in found for figure, _ in section.figures},
        bundle=Markup(vl_convert.javascript_bundle(vl_version=VEGA_LITE)),  # type: ignore[call-arg] # the stub forgets the default
        topology=topology(experiment),
        binds=defaultdict(list, _binding_hosts(summary)),
        environment=environment_rows(folder, summary),
        experiment_lines=text.splitlines(),
    )


def with_code(text: str) -> Markup:
    """A text as HTML; what stands between backticks is to be typed as it is."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _drawing(card: Card) -> CardDrawing | None:
    end = "" if card.span is None else show_rate(card.span.end)
    return card_drawing(card, end)


def _duration(summary: Summary) -> str:
    seconds = (datetime.fromisoformat(summary.finished) - datetime.fromisoformat(summary.started)).total_seconds()
    return show_duration(max(0.0, seconds))


def _cost(summary: Summary) -> str:
    """What hydrotest itself used besides its generators; empty if that is not known."""
    overhead = summary.overhead
    known = [] if overhead is None else [overhead.controller_cores, overhead.sampler_cores, *overhead.exporter_cores.values()]
    used = [cores for cores in known if cores is not None]
    return f"{sum(used) * 100:.1f} %" if used else ""


def _sections(folder: RunFolder, summary: Summary, kinds: dict[str, str], colors: Mapping[str, str]) -> list[PageSection]:
    """Those that have something to show, in the order of the questions."""
    figures, tables = _figures(folder, summary, colors), [*sheets(summary, kinds), *_outlook(folder)]
    answers = _answers(summary)
    found = []
    for key, question in QUESTIONS.items():
        own_figures = [figure for figure in figures if figure.section is key]
        own_tables = [table for table in tables if table.section is key]
        if own_figures or own_tables or answers.get(key):
            drawn = [(figure, _table_of(figure, own_tables)) for figure in own_figures]
            # What a figure has as its table does not stand there twice.
            rest = [table for table in own_tables if not any(_is_same(figure, table) for figure in own_figures)]
            shown = [page_table(table.title, table.heads, table.rows, table.shown) for table in rest]
            found.append(PageSection(key, question, answers.get(key, []), drawn, shown, key not in EVIDENCE))
    return found


def _outlook(folder: RunFolder) -> list[Table]:
    """Of a run that has calibrated: what more of its machines would bring, and what twice its limits would cost."""
    if not any(trial.purpose == Purpose.CALIBRATE and trial.status == "done" for trial in folder.trials()):
        return []
    run = read_known(folder.path, with_jobs=False)
    tables = [outlook_sheet(answered([run], Question([], {}), shipped_scores())), bought_sheet(bought(run, list(shipped().values())))]
    return [table for table in tables if table.rows]


def _is_same(figure: Figure, table: Table) -> bool:
    return figure.heads == table.heads and figure.rows == table.rows


def _table_of(figure: Figure, tables: Sequence[Table]) -> PageTable:
    """Of the columns that the same table would show."""
    same = next((table for table in tables if _is_same(figure, table)), None)
    return page_table(figure.title, figure.heads, figure.rows, None if same is None else same.shown)


def _answers(summary: Summary) -> dict[Section, list[str]]:
    """The whole findings in sentences, each at its question."""
    found: dict[Section, list[str]] = {}
    for finding in headline(summary):
        found.setdefault(finding.section, []).extend(finding.answers)
    if not (summary.interference or summary.safe_working_point or summary.faults):
        del found[Section.TOGETHER]  # that nothing ran together is no section
    return found


def _figures(folder: RunFolder, summary: Summary, colors: Mapping[str, str]) -> list[Figure]:
    trials = folder.trials()
    decided = Decided.read(folder)
    readings = read_hosts(folder, trials, summary.hosts)
    found: list[Figure | None] = [
        *limits.limit_figures(summary, decided, colors),
        limits.percentile_figure(folder, summary, trials, colors),
        bottlenecks.squeeze_figure(summary),
        together.fractions_figure(summary, colors),
        together.interference_figure(summary),
        *accounts.account_figures(summary),
        *(figure for kind in TESTS.values() for figures_of in kind.figures for figure in figures_of.load()(summary)),
        timeline.timeline_figure(readings, summary, trials, decided),
        timeline.heat_figure(readings, summary),
        *usage_figures(summary),
        *hosts.host_figures(readings, trials, summary.hosts),
        hosts.service_figure(folder, trials),
        hosts.speed_figure(folder, trials, summary.hosts),
    ]
    return [figure for figure in found if figure is not None]


def _binding_hosts(summary: Summary) -> dict[str, list[str]]:
    """What binds on each host, in a few words: for the drawing of what ran where."""
    found: dict[str, dict[str, None]] = {}
    # Together all compete: what binds each by itself is what the drawing is about.
    every: list[Limit | Job] = [*(row for row in summary.limits if row.tenancy == "isolated"), *summary.jobs]
    for row in every:
        bound = row.bound_by
        if bound.resource is not None:
            for host in bound.binds or ([bound.host] if bound.host else []):
                sure = "binds" if bound.confirmed else "suspected for"
                found.setdefault(host, {})[f"{NAMES[bound.resource]} {sure} {row.workload}"] = None
    return {host: list(words) for host, words in found.items()}


def _keys(folder: RunFolder, seen: Glance) -> dict[str, list[Key]]:
    """Of each card: the keys of the experiment file that it comes from."""
    _, document = load_experiment(folder.path / layout.EXPERIMENT, opens_files=False)
    found = {}
    for card in seen.cards:
        places: dict[str, Path_] = {"workload": ("workloads", card.workload), "objective": ("objectives", card.workload)}
        tests = [
            path for path in document.lines if path[:1] == ("tests",) and len(path) > 1 and _is_named(card.workload, document.value, path)
        ]
        if tests:
            places["test"] = tests[0]
        found[card.workload] = [Key(name, document.lines[path]) for name, path in places.items() if path in document.lines]
    return found


def _is_named(workload: str, value: Any, path: Path_) -> bool:
    """True if what stands at a path is the workload's name."""
    for part in path:
        value = value[part]
    return bool(value == workload)


def _json(value: Any) -> Markup:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
