"""cassandra-stress: its command line. (`StressSettings`.)"""

from __future__ import annotations

import re
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.allowance import allow
from hydrotest.imports.note import Aim, Imported, Why, check_tables_may_be_made, hidden, system, unlimited
from hydrotest.imports.producer_perf import words_of
from hydrotest.imports.stress_counters import ADD, LOOK, settle_counters
from hydrotest.imports.stress_insert import OPTIONS
from hydrotest.imports.stress_profile import Options, read_user
from hydrotest.imports.stress_words import Drawn, distribution, number, weight_of

STORE = "store"
COMMANDS: dict[str, dict[str, float]] = {
    "write": {"write": 1}, "read": {"read": 1}, "mixed": {"write": 1, "read": 1}, "counter_write": {ADD: 1}, "counter_read": {LOOK: 1},
}  # fmt: skip
MIX, COUNTERS = ("write", "read"), (ADD, LOOK)
THREADS = [16, 64]
"""Numbers in flight where the command line has none: cassandra-stress raises its threads step by step then."""
ROWS = 1_000_000
LEVELS = ("ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE")
_PAIR = re.compile(r"([\w.]+)[=≥<>]+([^()\s,]+(?:\([^()]*\))?)")


def import_stress(text: str, aim: Aim) -> Imported:
    """The experiment of a command line. Raises `BadInputError`."""
    words = [word for word in words_of(text, "cassandra-stress") if not word.endswith("cassandra-stress")]
    if not words:
        raise BadInputError(
            "the command line of cassandra-stress is empty", "Write e.g. 'mixed ratio(write=1,read=3) n=1M -rate threads=16'."
        )
    command = words[0].lower()
    store: dict[str, Any] = {"kind": "cassandra", "keys": f"uniform(0, {ROWS})"}
    out = Imported("cassandra-stress", {
        "name": "stress", "hosts": {"here": {"connect": "local"}}, "systems": dict(system("cassandra", aim, "2 GiB")), "workloads": {STORE: store},
    })  # fmt: skip
    if command not in COMMANDS and command != "user":
        raise BadInputError(
            f"hydrotest has no counterpart of cassandra-stress {command}", f"Import one of {', '.join([*COMMANDS, 'user'])}."
        )
    groups = _grouped(words[1:])
    own = " ".join(groups.pop("", []))
    weights: dict[str, float] = {}
    if command == "user":
        check_tables_may_be_made(aim)
        read_user(own, out, store, _beside(groups, out))
    else:
        weights = _weights(command, own, out)
        if ADD not in weights and LOOK not in weights:
            store["mix"] = weights
    _command_options(own, out, store, weights)
    for option, values in groups.items():
        _option(option, values, out, store, aim)
    if weights and "mix" not in store:
        added = re.search(r"add=(\S+\([^()]*\))", own)
        settle_counters(weights, added[1] if added else None, out, store)
    if "tests" not in out.experiment:
        unlimited(out, aim, "no -rate", STORE, {"concurrency": {"workload": STORE, "counts": THREADS}})
    _settle_length(own, out)
    _settle_level(out, store, aim)
    allow(out, aim)
    return out


def _settle_length(own: str, out: Imported) -> None:
    """`duration=` of a rate that is kept."""
    match = re.search(r"duration=([0-9]+)([smh])", own)
    (test,) = out.experiment["tests"]
    if match is not None and "levels" in test:
        seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
        test["levels"]["duration"] = f"{max(seconds, 5)} s"
        out.kept(f"duration={match[1]}{match[2]}", f"duration: {max(seconds, 5)} s")
    elif match is not None:
        out.changed(f"duration={match[1]}{match[2]}", "each number in flight for a window", Why.WINDOWS)


def _settle_level(out: Imported, store: dict[str, Any], aim: Aim) -> None:
    """A level that needs more copies than one node has."""
    level = store.get("consistency", "ONE")
    if not aim.attach and level in ("TWO", "THREE"):
        store["consistency"] = "ONE"
        out.changed(f"cl={level}", "consistency: ONE", Why.ONE_NODE)


def _grouped(words: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {"": []}
    at = ""
    for word in words:
        if re.match(r"--?[A-Za-z]", word):
            at, is_given, value = word.partition("=")
            groups.setdefault(at, []).extend([value] if is_given else [])
        else:
            groups[at].append(word)
    return groups


def _weights(command: str, text: str, out: Imported) -> dict[str, float]:
    """Operations and how often each runs: those of the default table, or counters where there are no others."""
    match = re.search(r"ratio\(([^()]*)\)", text)
    pairs = [pair.partition("=") for pair in match[1].split(",")] if match else []
    given = {name.strip().lower(): weight_of(value) for name, _, value in pairs}
    known = next((names for names in (MIX, COUNTERS) if any(given.get(name) for name in names)), ())
    for name, weight in given.items():
        if name not in known:
            out.left_out(f"ratio {name}={weight:g}", Why.ONE_KIND if name in COUNTERS else Why.NO_COUNTERPART)
    weights = {name: given[name] for name in known if name in given} or COMMANDS[command]
    ours = ", ".join(f"{name}: {weight:g}" for name, weight in weights.items())
    said = f"{command}{f' {match[0]}' if match else ''}"
    out.kept(said, f"statements, weights {{{ours}}}" if set(weights) & set(COUNTERS) else f"mix: {{{ours}}}")
    return weights


def _command_options(text: str, out: Imported, store: dict[str, Any], weights: dict[str, float]) -> None:
    """What stands behind the command: `n=`, `duration=`, `cl=`, `err<`, `truncate=`."""
    plain = re.sub(r"(?:ratio|ops|profile)=?\([^()]*\)|profile=\S+", "", text)
    for name, value in _PAIR.findall(plain):
        said = f"{name}={value}"
        match name:
            case "cl" if value.upper() in LEVELS:
                store["consistency"] = value.upper()
                out.kept(said, f"consistency: {value.upper()}")
            case "n":
                _rows(value, said, out, store, weights)
            case "duration":
                pass  # `_settle_length`
            case "add" if ADD in weights or LOOK in weights:
                pass  # `settle_counters`
            case "cl":
                out.left_out(said, Why.CONSISTENCY)
            case "err" | "no":
                out.left_out(said, Why.ERRORS)
            case "truncate":
                out.left_out(said, Why.NAME_ONLY)
            case _:
                out.left_out(said, Why.NO_COUNTERPART)
    if "no-warmup" in text:
        out.left_out("no-warmup", Why.WARM_UP)


def _rows(value: str, said: str, out: Imported, store: dict[str, Any], weights: dict[str, float]) -> None:
    """`n` is also the number of keys: in order for writes, a gaussian for reads and mixes, unless `-pop` says otherwise
    (`SettingsPopulation`)."""
    if not weights:
        out.left_out(said, Why.COUNT_AS_TIME)
        return
    shape = "sequential" if set(weights) <= {"write", ADD} else "gaussian"
    store["keys"] = f"{shape}(1, {number(value) + 1})"
    out.changed(said, f"keys: {store['keys']}", Why.COUNT_AS_TIME)


def _option(option: str, values: list[str], out: Imported, store: dict[str, Any], aim: Aim) -> None:
    text = " ".join(values)
    said = f"{option} {text}".strip()
    match option:
        case "-rate":
            _rate(text, said, out, aim)
        case "-pop":
            drawn, part = _population(values, out)
            if drawn is not None:
                store["keys"] = drawn.text
                (out.kept(part, f"keys: {drawn.text}") if drawn.is_exact else out.changed(part, f"keys: {drawn.text}", Why.DISTRIBUTION))
        case "-col":
            _columns(text, said, out, store)
        case "-schema":
            _schema(text, out, store, aim)
        case "-node" | "-port" | "-transport" | "-sendto" | "-jmx" | "-tokenrange":
            out.left_out(option, Why.OF_THE_CLUSTER)
        case "-mode" | "-credentials-file":
            out.left_out(option, Why.SECRET if "password" in text or option != "-mode" else Why.CLIENT_SETTING)
        case "-log" | "-graph" | "-reporting":
            out.left_out(said, Why.REPORTING)
        case "-errors":
            out.left_out(said, Why.ERRORS)
        case "-insert":
            out.left_out(said, Why.OWN_TABLE)
        case _:
            out.left_out(f"{option} {hidden(option, text)}".strip() if not option.startswith("--") else option, Why.NO_COUNTERPART)


def _population(values: list[str], out: Imported) -> tuple[Drawn | None, str]:
    """Of `-pop`: how keys are drawn, and what of it says so."""
    found: Drawn | None = None
    said = ""
    for word in values:
        match = re.fullmatch(r"dist=(\S+)|seq=([0-9.kmbKMB]+\.\.[0-9.kmbKMB]+)", word)
        if match is None or found is not None:
            out.left_out(f"-pop {word}", Why.NO_COUNTERPART)
        else:
            found, said = distribution(match[1] or f"SEQ({match[2]})"), f"-pop {word}"
    return found, said


def _beside(groups: dict[str, list[str]], out: Imported) -> Options:
    """What `-pop` and `-insert` say beside a profile."""
    found, said = _population(groups.pop("-pop", []), out)
    options = Options(found, said)
    for word in groups.pop("-insert", []):
        name, _, value = word.partition("=")
        if name in OPTIONS:
            options.insert[OPTIONS[name]] = value
        elif name == "visits" and value.lower() == "fixed(1)":
            out.kept(f"-insert {word}", "each row once")
        else:
            out.left_out(f"-insert {word}", Why.NO_COUNTERPART)
    return options


def _rate(text: str, said: str, out: Imported, aim: Aim) -> None:
    threads = [(sign, int(one)) for sign, one in re.findall(r"threads\s*([=≤≥<>]+)\s*([0-9]+)", text)]
    fixed = re.search(r"fixed=([0-9.]+[kmb]?)/s", text, re.IGNORECASE)
    throttle = re.search(r"(?:throttle|limit)=([0-9.]+[kmb]?)/s", text, re.IGNORECASE)
    given = fixed or throttle
    if given is not None:
        rate = number(given[1])
        out.experiment["tests"] = [{"levels": {"workload": STORE, "rates": [rate]}}]
        out.experiment["objectives"] = {STORE: {"p99": aim.p99}}
        # throttle= counts times from the send; ours are from the schedule.
        part = f"-rate {given[0]}"
        (out.kept(part, f"levels, rates: [{rate}]") if fixed else out.changed(part, f"levels, rates: [{rate}]", Why.LATE_START))
        for sign, count in threads:
            out.left_out(f"-rate threads{sign}{count}", Why.OPEN_LOOP)
    elif threads:
        unlimited(out, aim, said, STORE, {"concurrency": {"workload": STORE, "counts": _counts([count for _, count in threads])}})
    else:
        out.left_out(said, Why.NO_COUNTERPART)


def _counts(given: list[int]) -> list[int]:
    """Numbers in flight; between `threads>=4` and `threads<=256` each twice the one before."""
    low, high = min(given), max(given)
    counts = [low]
    while counts[-1] * 2 < high:
        counts.append(counts[-1] * 2)
    return sorted({*counts, high})


def _columns(text: str, said: str, out: Imported, store: dict[str, Any]) -> None:
    for name, value in _PAIR.findall(text):
        if name not in ("size", "n"):
            out.left_out(f"-col {name}={value}", Why.NO_COUNTERPART)
            continue
        drawn = distribution(value)
        middle = (drawn.low + drawn.high) // 2
        store["column_size" if name == "size" else "columns"] = f"{middle} B" if name == "size" else middle
        ours = f"column_size: {middle} B" if name == "size" else f"columns: {middle}"
        (out.kept(said, ours) if drawn.low == drawn.high else out.changed(said, ours, Why.DISTRIBUTION))


def _schema(text: str, out: Imported, store: dict[str, Any], aim: Aim) -> None:
    """Of replicas, hydrotest writes how many there are, on its own node or in the data centre that is reached."""
    replication = re.search(r"replication\(([^()]*)\)", text)
    counts = re.findall(r"([\w-]+)\s*=\s*([0-9]+)", replication[1] if replication else text)
    copies = {int(count) for name, count in counts if replication or name == "factor"}
    said = f"-schema {replication[0] if replication else 'factor'}"
    if copies and max(copies) > 1 and not aim.attach:
        out.changed(said, "replication: 1", Why.ONE_NODE)
    elif len(copies) > 1:
        out.left_out(said, Why.ONE_CENTER)
    elif copies:
        store["replication"] = max(copies)
        out.kept(said, f"replication: {max(copies)}")
    for word in re.sub(r"replication\([^()]*\)", "", text).split():
        if not word.startswith("factor"):
            out.left_out(f"-schema {word}", Why.NAME_ONLY if word.startswith("keyspace=") else Why.NO_COUNTERPART)
