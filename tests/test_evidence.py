"""The table of what verdicts stand on."""

from __future__ import annotations

from hydrotest.analysis.bottleneck.evidence import lines
from hydrotest.analysis.bottleneck.outcome import Squeezed
from hydrotest.analysis.bottleneck.proof import proven
from hydrotest.analysis.bottleneck.squeeze import Candidate, Squeezing
from hydrotest.analysis.bottleneck.suspicion import bound_by
from hydrotest.analysis.bottleneck.use import OUT, Sign, Use
from hydrotest.report.bounds import ceiling_words
from hydrotest.report.evidence import evidence_sheet
from hydrotest.report.wording.binding import worded
from tests.rows import summary_of

LINK, CPU = Candidate.of("a", "network"), Candidate.of("a", "cpu")


def test_each_resource_that_was_used_or_waited_for_has_a_line() -> None:
    waited = Sign("pressure_cpu_some", 0.42, None, 0.1, is_sure=True)
    uses = [
        Use("cpu", "a", 0.4, 0.5, "cores", throttled=0.7, signs=(waited,)), Use("network", "a", 1.9e6, 2e6, OUT),
        Use("disk", "a", 1.0, 100.0, "bytes/s written"), Use("disk", "b", 50.0, 100.0, "bytes/s written"),
    ]  # fmt: skip
    state = Squeezing([LINK, CPU], 0)
    for _ in range(4):
        state.record({LINK: 1.0, CPU: 0.02}.items())
        state.record({LINK: 0.98, CPU: 0.0}.items())
    bound = proven(bound_by(uses, [], "closed-loop"), Squeezed(state.shown(), state.decide(), None, uses), [])
    sheet = evidence_sheet(summary_of(limits=[{"workload": "ingest", "tenancy": "isolated", "bound_by": worded(bound)}]))
    by_what = {(row[2], row[3]): row[4:] for row in sheet.rows}
    assert set(by_what) == {("a", "CPU"), ("a", "outbound link"), ("b", "disk")}
    used, waits, squeezes, so = by_what["a", "CPU"]
    assert used == "80% of 0.5 cores"
    assert waits == "time in which some task waited for a core: 42%; held back by its quota in 70% of its periods"
    assert squeezes.startswith("elasticity 0.01 [")
    assert so.startswith("ruled out: elasticity 0.01")
    assert by_what["a", "outbound link"][0] == "95% of 16 Mbit/s"
    assert by_what["a", "outbound link"][3] == "binds"
    assert by_what["b", "disk"] == ["50% of 100 B/s", "–", "–", "ruled out: only 50% of its ceiling was used"]


def test_a_ceiling_is_told_in_the_unit_of_its_field() -> None:
    uses = [
        Use("memory", "a", 1e9, 4e9, "bytes"),
        Use("disk", "a", 1e8, 2e8, "bytes/s written"),
        Use("network", "a", 1e9, 1.36875e9, OUT),
        Use("disk", "a", 1e8, None, "bytes/s written"),
    ]
    assert [ceiling_words(line) for line in lines(uses, []) if line.kind == "use"] == ["4 GB", "200 MB/s", "10,950 Mbit/s", "its ceiling"]
