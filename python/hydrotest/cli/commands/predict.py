"""`hydrotest predict` and `hydrotest score`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from hydrotest import units
from hydrotest.catalogue.machine import Machine
from hydrotest.catalogue.machines import found, machines
from hydrotest.cli.output import err_console, out_console, print_json
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, EXIT_REFUSED, BadInputError, shaped
from hydrotest.predict.answer import Answer
from hydrotest.predict.change import EVERY, read_change
from hydrotest.predict.predict import Question, predict
from hydrotest.predict.score import read_prediction, score
from hydrotest.predict.scores import add_score, read_scores
from hydrotest.report.figures.alone import capacity_page
from hydrotest.report.prediction import print_answer, score_sheet
from hydrotest.report.printing import print_sheet
from hydrotest.report.wording.prediction import biased_words
from hydrotest.store.folder import write_whole

LOADS = "Write e.g. --load ingest=300K,store=2K."


def predict_(runs: Sequence[Path], changes: Sequence[str], types: Sequence[str], load: str | None, groups: str | None, together: str | None,
             workload: str | None, speed: float, save: Path | None, experiment: Path | None, figure: Path | None, as_json: bool) -> int:  # fmt: skip
    """Prints what would bind, and where; 4 if nothing can be said of a workload that the question is about."""
    if not runs:
        raise BadInputError("there is nothing to predict from", "Name the folder of a run, best of one with a `calibrate` test.")
    if not 0 < speed < math.inf:
        raise BadInputError(f"--speed {speed:g}: cores have a speed above 0", "Write e.g. --speed 1.3.")
    check_writable(save, "save")
    check_writable(experiment, "experiment")
    check_writable(figure, "figure")
    scores = read_scores()
    question = Question(
        [read_change(one) for one in changes], loads(load), speed, _names(together), _types(types), groups_of(groups), _names(workload)
    )
    answer = predict(runs, question, scores)
    if save is not None:
        write_whole(save, json.dumps(answer.written(), indent=1) + "\n")
    if figure is not None and any(len(one.capacity) > 1 for one in answer.predictions):
        write_whole(figure, capacity_page(answer))
    elif figure is not None:
        _say(f"{figure} is not written: of no workload the limit is known on several numbers of hosts")
    if as_json:
        print_json(answer.written())
    else:
        print_answer(answer, out_console())
    if scores.bias is not None:
        _say(shaped("warning", biased_words(scores.bias)))
    _offer(answer, experiment, as_json)
    return EXIT_REFUSED if _is_refused(answer) else EXIT_DONE


def _types(types: Sequence[str]) -> dict[str, Machine]:
    """`TYPE` for all systems that the run measured, or `SYSTEM=TYPE` for each."""
    there = machines() if types else {}
    chosen: dict[str, Machine] = {}
    for text in types:
        system, sign, name = text.rpartition("=")
        if system in chosen or EVERY in chosen or (chosen and not sign):
            raise BadInputError(
                f"--type {text}: {system or 'each system'} has a type already", "Name each system once, or one type for all."
            )
        chosen[system if sign else EVERY] = found(name, there)
    return chosen


def check_writable(file: Path | None, option: str) -> None:
    """Raises `BadInputError` where a file cannot be written, before anything is computed."""
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise BadInputError(f"--{option}: {'it is a folder' if file.is_dir() else 'its folder is not there'}", "Name a file.", file=file)


def _say(text: str) -> None:
    err_console().print(text, highlight=False, markup=False, soft_wrap=True)


def _asked(answer: Answer) -> set[str]:
    """What the question is about: workloads, systems, hosts; empty: all."""
    return {key.partition(".")[0] for key in answer.changes} | set(answer.loads) | set(answer.asked_together) | set(answer.asked)


def _is_refused(answer: Answer) -> bool:
    """Whether a workload that was asked about has no answer, or none has one of a system that was."""
    about, systems = _asked(answer), {one.system for one in answer.predictions} | ({"spark"} if answer.jobs else set())
    return (
        not (answer.predictions or answer.jobs)
        or any(one.workload in about for one in answer.refused)
        or any(one.system in about and one.system not in systems for one in answer.refused)
    )


def _offer(answer: Answer, file: Path | None, as_json: bool) -> None:
    """The experiment that would show what is refused: that of what was asked about first."""
    about = _asked(answer)
    offered = [one for one in sorted(answer.refused, key=lambda one: one.workload not in about) if one.experiment]
    if not offered or offered[0].experiment is None:
        if file is not None:
            _say(f"{file} is not written: there is no experiment that would show more")
        return
    others = ", ".join(one.workload or "" for one in offered[1:])
    rest = f" (its kind for {others}: name them in a question of their own)" if others else ""
    if file is not None:
        from hydrotest.cli.experiment import load_for_here  # noqa: PLC0415 - labs and systems, which no other answer needs

        write_whole(file, offered[0].experiment)
        try:
            load_for_here(file)
        except BadInputError as error:
            _say(f"{file} would show {offered[0].workload}, on machines that carry it; not on this one: {error.what}{rest}")
        else:
            _say(f"{file} would show {offered[0].workload}: hydrotest run {file}{rest}")
    elif not as_json:
        _say(f"an experiment that would show {offered[0].workload}{rest} (--experiment FILE writes it):\n")
        _say(offered[0].experiment)


def loads(load: str | None, option: str = "load") -> dict[str, float]:
    """`ingest=300K,store=2K`; `option`: what it is the value of."""
    hint = LOADS.replace("--load", f"--{option}")
    found: dict[str, float] = {}
    for part in [] if load is None else load.split(","):
        name, separator, value = (one.strip() for one in part.partition("="))
        if not separator or name in found:
            raise BadInputError(f"--{option} {load}: {f'{name} stands twice' if separator else f'{part!r} is no rate of a workload'}", hint)
        if ":" in value:
            raise BadInputError(f"--{option} {part}: of a latency at a load that was not measured nothing is known: of predictions of p95 "
                                "and p99 5 of 8 missed", hint)  # fmt: skip
        try:
            found[name] = units.rate_per_s(value)
        except ValueError as error:
            raise BadInputError(f"--{option} {part}: {error}", hint) from error
    return found


def groups_of(text: str | None) -> dict[str, float]:
    """`2`, of each workload that writes records, or `ingest=2,audit=1`."""
    found: dict[str, float] = {}
    for part in [] if text is None else text.split(","):
        name, _, value = (one.strip() for one in part.rpartition("="))
        if name in found or not value.isdecimal() or (EVERY in (name, *found) and found):
            raise BadInputError(
                f"--groups {text}: {part!r} is no number of groups of a workload", "Write e.g. --groups 2, or --groups ingest=2,audit=1."
            )
        found[name] = float(value)
    return found


def _names(text: str | None) -> list[str]:
    """`ingest,store`."""
    return [] if text is None else [part.strip() for part in text.split(",")]


def score_(prediction: Path, run: Path, as_json: bool) -> int:
    """Compares what was predicted with what was measured, and adds it to the user's own scores; 1 where an interval did not hold."""
    scored = score(read_prediction(prediction), run)
    for one in scored:
        add_score(one.axes, one.log_error, f"{one.workload} {one.what} {one.predicted:.6g}", str(run.resolve()), what=one.what)
    bias = read_scores().bias
    if as_json:
        print_json({"scored": [one.written() for one in scored], "bias": bias})
    else:
        print_sheet(score_sheet(scored), out_console())
    if bias is not None:
        _say(shaped("warning", biased_words(bias)))
    return EXIT_DONE if all(one.held for one in scored) else EXIT_MISSED
