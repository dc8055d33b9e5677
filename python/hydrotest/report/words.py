"""What was found, in words: the sentences that show and report begin with."""

from __future__ import annotations

from typing import Any

from hydrotest.units import show_rate

Summary = dict[str, Any]

STOPPED = {
    "latency": "above it the response time misses its objective",
    "achieved": "above it the system does not keep up with the offered rate",
    "backlog": "above it a backlog builds up",
    "errors": "above it operations fail",
    "loss": "above it records are lost",
    "unsteady": "above it the rate does not hold steady",
    "generator": "above it our own generator had no room, so the system may take more",
    "closed-loop": "measured by catching up, without a schedule",
    "search-end": "the search ended before anything stopped it",
}


def limit_sentence(row: dict[str, Any]) -> str:
    """One limit: how much, at what latency, why not more."""
    name, unit = row["workload"], row["unit"]
    if row["limit"] is None:
        return f"{name}: no limit was found ({'; '.join(row['invalid_because']) or 'nothing was sustained'})."
    amount = f"{show_rate(row['limit'])} {unit}"
    if row["at_least"]:
        amount = f"at least {amount}"
    if row["kind"] == "kafka-consume":
        spread = f", {show_rate(row['low'])} to {show_rate(row['high'])} over {row['repeats']} repeats" if row["low"] is not None else ""
        return f"{name} reads {amount}{spread}; {STOPPED[row['stopped_by']]}."
    latency = row["latency_ms"]
    at = f" at p99 {latency['p99']:.1f} ms" if latency else ""
    upper = f"; {show_rate(row['high'])} was too much" if row["high"] is not None else ""
    return f"{name} sustains {amount}{at}{upper}: {STOPPED[row['stopped_by']]}. {bound_sentence(row)}"


def bound_sentence(row: dict[str, Any]) -> str:
    """What sets the limit, and how sure that is."""
    bound = row["bound_by"]
    head = {
        "resource": "A resource seems to bind it:",
        "system": "Bound by the system itself:",
        "generator": "Bound by the generator:",
        "undecided": "What binds it is undecided:",
        "unknown": "What binds it is unknown:",
    }[bound["kind"]]
    return f"{head} {bound['detail']}."


def integrity_sentence(rows: list[dict[str, Any]]) -> str:
    """Was anything lost?"""
    if not rows:
        return "No records were accounted for."
    lost = [row for row in rows if row["lost"]]
    flawed = [row for row in rows if row["corrupted"] or row["duplicated"] or row["out_of_order"]]
    unknown = [row["workload"] for row in rows if row["lost"] is None]
    acked = sum(row["acked"] for row in rows if row["lost"] is not None)
    parts = []
    if lost:
        parts.append(
            "LOST: " + ", ".join(f"{row['lost']:,} of {row['acked']:,} {row.get('unit', 'records')} of {row['workload']}" for row in lost)
        )
    else:
        parts.append(f"Nothing was lost of {acked:,} acknowledged records and rows")
    if flawed:
        parts.append("flaws: " + ", ".join(
            f"{row['workload']} {row['corrupted'] or 0} corrupted, {row['duplicated'] or 0} doubled, {row['out_of_order'] or 0} out of order"
            for row in flawed))  # fmt: skip
    if unknown:
        parts.append(f"not known for {', '.join(unknown)}")
    return "; ".join(parts) + "."


def usage_sentence(summary: Summary) -> str | None:
    """What the hosts did meanwhile."""
    cores = {host["name"]: host["cores"] for host in summary["hosts"]}
    parts = [
        f"{row['workload']} used {row['cpu_cores_mean']:.2f} of {cores[row['host']]:g} cores of {row['host']}"
        for row in summary["usage"]
        if row["host"] in cores
    ]
    return "On average while pressed: " + "; ".join(parts) + "." if parts else None


def findings(summary: Summary) -> list[str]:
    """The whole of it."""
    sentences = [limit_sentence(row) for row in summary["limits"]]
    sentences.append(integrity_sentence(summary["integrity"]))
    usage = usage_sentence(summary)
    if usage:
        sentences.append(usage)
    if summary["status"] != "complete":
        sentences.append(f"The run is {summary['status']}" + (f": {summary['error']}" if summary.get("error") else "") + ".")
    return sentences


def not_valid(summary: Summary) -> list[str]:
    """What does not count, and why."""
    out = [f"{row['workload']}: {reason}" for row in summary["limits"] for reason in row["invalid_because"]]
    out += [f"{row['workload']}: only “at least”, for {row['bound_by']['detail']}" for row in summary["limits"] if row["at_least"]]
    out += [f"the generator of {row['workload']} had no room: {'; '.join(row.get('why_not', []))}"
            for row in summary["generator"] if row["has_room"] is False and not any(
                limit["workload"] == row["workload"] and limit["at_least"] for limit in summary["limits"])]  # fmt: skip
    out += [f"{warm_up['workload']}: its system had not settled after {warm_up['seconds']:.0f} s of warm-up; a longer one may find more"
            for warm_up in summary.get("warm_ups", []) if not warm_up["settled"]]  # fmt: skip
    out += [f"trial {trial['trial']} ({trial['slug']}): {trial['reason']}" for trial in summary.get("failed_trials", [])]
    return out
