"""The windows of a calibration: each turn of its trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from hydrotest.analysis.bottleneck.outcome import LAST_S
from hydrotest.analysis.bottleneck.squeeze import SETTLE_S
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.rates import stolen
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import SqueezeBlock, Trial


def settled(turn: SqueezeBlock, ended_s: float) -> tuple[float, float] | None:
    """Begin and end of the part of a turn that shows nothing of the one before; None if its trial ended in it."""
    return (turn.start_wall_s + SETTLE_S, turn.end_wall_s - LAST_S) if turn.end_wall_s <= ended_s + 0.5 else None


def turns_of(run: RunFolder, trial: Trial, workload: str) -> Iterator[tuple[SqueezeBlock, float, float, float]]:
    """Each whole turn: the turn, begin, end, and operations a second."""
    measured = Measured.read(run, trial, workload)
    for turn in trial.turns:
        window = settled(turn, measured.progress.end_s)
        rate = None if window is None else measured.progress.rate(*window)
        if window is not None and rate is not None:
            yield turn, *window, rate


def most_stolen(run: RunFolder, trial: Trial, workload: str, hosts: Sequence[str]) -> tuple[str, float] | None:
    """Of these hosts and all whole turns the host and the share of its cores that was stolen most; None where no reading shows it."""
    shares = [
        (host, share)
        for _, begin, end, _ in turns_of(run, trial, workload)
        for host, share in stolen(run, trial, begin, end).items()
        if host in hosts
    ]
    return max(shares, key=lambda one: one[1], default=None)


def full_rate(run: RunFolder, trial: Trial, workload: str) -> float:
    """Mean operations a second of the turns in which its hosts had all of their cores; 0 without any."""
    rates = [rate for turn, _, _, rate in turns_of(run, trial, workload) if not turn.hosts]
    return fmean(rates) if rates else 0.0
