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


def together_sentences(summary: Summary) -> list[str]:
    """What happens when all press at once: the safe working point, the interference, who is starved of what."""
    point = summary["safe_working_point"]
    combined = [row for row in summary["limits"] if row["tenancy"] == "combined"]
    if point is None and not summary["interference"]:
        return ["Together: no fraction of the isolated limits was sustained by all at once."] if combined else []
    out = []
    if point is not None:
        rates = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in point["rates"].items())
        upper = f"; {point['high']:.0%} was too much" if point["high"] < 1 else ""
        out.append(f"Together all hold their objectives up to {point['fraction']:.0%} of their isolated limits ({rates}){upper}.")
    telling = [row for row in summary["interference"] if row["significant"]]
    if telling:
        shown = "; ".join(f"{row['workload']} {_metric(row['metric'])} {_change(row)}" for row in telling[:6])
        out.append(f"Beside the others, at the same rates: {shown}.")
    elif summary["interference"]:
        pairs = max(row["n"] for row in summary["interference"])
        out.append(f"Beside the others, at the same rates, no change was told apart from the machine's noise in {pairs} pairs.")
    out += [starved_sentence(row) for row in summary.get("together", {}).get("starved", [])]
    return out


def _metric(metric: str) -> str:
    return {"achieved": "rate", "p50_ms": "median", "p99_ms": "p99"}.get(metric, metric.removesuffix(" s") + " time")


def _change(row: dict[str, Any]) -> str:
    """× for large changes, percent for small ones; always with the interval."""
    if row["change_pct"] >= 100:
        low, middle, high = (1 + row[key] / 100 for key in ("low_pct", "change_pct", "high_pct"))
        return f"× {middle:.1f} [{low:.1f}, {high:.1f}]"
    return f"{row['change_pct']:+.0f} % [{row['low_pct']:+.0f}, {row['high_pct']:+.0f}]"


def starved_sentence(row: dict[str, Any]) -> str:
    """Who is starved, of what."""
    if row["resource"] is None:
        return f"{row['workload']} gets worse together, though no resource was used up: what it is short of is not known."
    users = f" (cores used: {', '.join(row['users'])})" if row["users"] else ""
    return (
        f"{row['workload']} is short of {row['resource']}: {row['host']} used {row['share']:.0%} of it on average while all pressed{users}."
    )


def batch_sentence(rows: list[dict[str, Any]]) -> str | None:
    """How long the batch tests took."""
    if not rows:
        return None
    shown = "; ".join(
        f"{row['test']} {row['total_s']:.1f} s {'alone' if row['tenancy'] == 'isolated' else 'beside the others'}" for row in rows
    )
    return f"Spark: {shown} (medians)."


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
        f"{_shown_as(row)} used {row['cpu_cores_mean']:.2f} of {cores[row['host']]:g} cores of {row['host']}"
        for row in summary["usage"]
        if row["host"] in cores
    ]
    return "On average while pressed: " + "; ".join(parts) + "." if parts else None


def _shown_as(row: dict[str, Any]) -> str:
    return "all together" if row["workload"] is None else str(row["workload"])


def findings(summary: Summary) -> list[str]:
    """The whole of it."""
    sentences = [limit_sentence(row) for row in summary["limits"] if row["tenancy"] == "isolated"]
    sentences += together_sentences(summary)
    batch = batch_sentence(summary["spark"])
    sentences += [batch] if batch else []
    sentences.append(integrity_sentence(summary["integrity"]))
    usage = usage_sentence(summary)
    if usage:
        sentences.append(usage)
    if summary["status"] != "complete":
        sentences.append(f"The run is {summary['status']}" + (f": {summary['error']}" if summary.get("error") else "") + ".")
    return sentences


def _beside(row: dict[str, Any]) -> str:
    return ", combined" if row["tenancy"] == "combined" else ""


def not_valid(summary: Summary) -> list[str]:
    """What does not count, and why."""
    out = list(summary.get("problems", []))
    out += [f"{row['workload']}{_beside(row)}: {reason}" for row in summary["limits"] for reason in row["invalid_because"]]
    out += [
        f"{row['workload']}{_beside(row)}: only “at least”, for {row['bound_by']['detail']}" for row in summary["limits"] if row["at_least"]
    ]
    out += [f"the generator of {row['workload']}{_beside(row)} had no room: {'; '.join(row.get('why_not', []))}"
            for row in summary["generator"] if row["has_room"] is False and not any(
                (limit["workload"], limit["tenancy"]) == (row["workload"], row["tenancy"]) and limit["at_least"] for limit in summary["limits"])]  # fmt: skip
    out += [f"{warm_up['workload']}: its system had not settled after {warm_up['seconds']:.0f} s of warm-up; a longer one may find more"
            for warm_up in summary.get("warm_ups", []) if not warm_up["settled"]]  # fmt: skip
    out += [f"trial {trial['trial']} ({trial['slug']}): {trial['reason']}" for trial in summary.get("failed_trials", [])]
    return out
