"""cassandra-stress: its command line, and the profile of `user profile=…`. (`StressSettings`, `StressProfile`, `OptionDistribution`.)"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Aim, Imported, Why, allow, system, unlimited
from hydrotest.imports.omb import hidden
from hydrotest.imports.producer_perf import words_of
from hydrotest.imports.yaml_lines import Lined, read_lined

STORE = "store"
COMMANDS = {"write": {"write": 1}, "read": {"read": 1}, "mixed": {"write": 1, "read": 1}}
NO_COUNTERPART = ("counter_write", "counter_read", "legacy", "print", "help", "version")
DISTRIBUTIONS = ("fixed", "seq", "uniform", "gaussian", "gauss", "normal", "norm", "exp", "extr", "extreme", "qextr", "qextreme", "quantized",
                 "aqextr", "aqextreme", "weibull", "power")  # fmt: skip
TYPES = frozenset({"ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "float", "inet", "int", "smallint", "text", "time", "timestamp",
                   "timeuuid", "tinyint", "uuid", "varchar", "varint"})  # fmt: skip
"""Types of columns that hydrotest makes values of."""
ROW_BYTES, LEVEL_S = 400, 60
"""Of the default row with what Cassandra adds, and of a level, generously."""
THREADS = [16, 64]
"""Numbers in flight where the command line has none: cassandra-stress raises its threads step by step then."""
ROWS = 1_000_000
LEVELS = ("ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE")
_DISTRIBUTION = re.compile(r"(?P<inverted>~?)(?P<name>[a-z]+)\((?P<arguments>[^()]*)\)", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9.]+)([kmb]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_PAIR = re.compile(r"([\w.]+)[=≥<>]+([^()\s,]+(?:\([^()]*\))?)")


@dataclass(frozen=True)
class Drawn:
    """A distribution in our words."""

    text: str
    is_exact: bool
    low: int
    high: int
    """In it."""


def number(text: str) -> int:
    """`1M`, `10k`, `100`. Raises `BadInputError`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise BadInputError(f"{text!r} is no number of cassandra-stress", "Write e.g. 1M.")
    return round(float(match[1]) * _FACTORS[match[2].lower()])


def distribution(text: str) -> Drawn:
    """`UNIFORM(1..1M)`, `GAUSSIAN(1..100,5)`, `FIXED(5)`, `SEQ(1..10)`, `EXP(1..1M)`. Raises `BadInputError`."""
    match = _DISTRIBUTION.fullmatch(text.strip())
    if match is None or match["name"].lower() not in DISTRIBUTIONS:
        raise BadInputError(f"{text!r} is no distribution of cassandra-stress", "Write e.g. UNIFORM(1..1M).")
    name, arguments = match["name"].lower(), [part.strip() for part in match["arguments"].split(",")]
    if name == "fixed":
        value = number(arguments[0])
        return Drawn(f"uniform({value}, {value + 1})", is_exact=True, low=value, high=value)
    low_text, _, high_text = arguments[0].partition("..")
    low, high = number(low_text), number(high_text or low_text)
    ours = {
        "uniform": "uniform",
        "seq": "sequential",
        "gaussian": "gaussian",
        "gauss": "gaussian",
        "normal": "gaussian",
        "norm": "gaussian",
    }.get(name)
    is_exact = ours is not None and not match["inverted"] and len(arguments) == 1
    return Drawn(f"{ours or 'uniform'}({low}, {high + 1})", is_exact, low, high)


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
    if command in NO_COUNTERPART or (command not in COMMANDS and command != "user"):
        raise BadInputError(f"hydrotest has no counterpart of cassandra-stress {command}",
                            f"Import one of {', '.join([*COMMANDS, 'user'])}. Counters: write them as `statements` on a table of your own.")  # fmt: skip
    groups = _grouped(words[1:])
    own = " ".join(groups.pop("", []))
    if command == "user":
        _user(own, out, store)
    else:
        store["mix"] = _ratio(own) or COMMANDS[command]
        ratio = re.search(r"ratio\([^()]*\)", own)
        mix = ", ".join(f"{name}: {weight:g}" for name, weight in store["mix"].items())
        out.kept(f"{command}{f' {ratio[0]}' if ratio else ''}", f"mix: {{{mix}}}")
        for name, weight in _others(own):
            out.left_out(f"ratio {name}={weight}", Why.NO_COUNTERPART)
    _command_options(own, out, store)
    for option, values in groups.items():
        _option(option, values, out, store, aim)
    if "tests" not in out.experiment:
        unlimited(out, aim, "no -rate", STORE, {"concurrency": {"workload": STORE, "counts": THREADS}})
    _settle_length(own, out, aim)
    _settle_level(out, store, aim)
    return out


def _settle_length(own: str, out: Imported, aim: Aim) -> None:
    """`duration=` of a rate that is kept."""
    match = re.search(r"duration=([0-9]+)([smh])", own)
    (test,) = out.experiment["tests"]
    if match is not None and "levels" in test:
        seconds = int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
        test["levels"]["duration"] = f"{max(seconds, 5)} s"
        allow(out, aim, max(test["levels"]["rates"]), ROW_BYTES, seconds)
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


def _ratio(text: str) -> dict[str, float] | None:
    match = re.search(r"ratio\(([^()]*)\)", text)
    found = (
        {name.strip().lower(): _weight(value) for name, _, value in (pair.partition("=") for pair in match[1].split(","))} if match else {}
    )
    return {name: found[name] for name in ("write", "read") if name in found} or None


def _weight(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _others(text: str) -> list[tuple[str, str]]:
    """Operations of a ratio that have no counterpart."""
    match = re.search(r"ratio\(([^()]*)\)", text)
    pairs = [pair.partition("=") for pair in match[1].split(",")] if match else []
    return [(name.strip(), value) for name, _, value in pairs if name.strip().lower() not in ("write", "read")]


def _command_options(text: str, out: Imported, store: dict[str, Any]) -> None:
    """What stands behind the command: `n=`, `duration=`, `cl=`, `err<`, `truncate=`."""
    plain = re.sub(r"(?:ratio|ops|profile)=?\([^()]*\)|profile=\S+", "", text)
    for name, value in _PAIR.findall(plain):
        said = f"{name}={value}"
        match name:
            case "cl" if value.upper() in LEVELS:
                store["consistency"] = value.upper()
                out.kept(said, f"consistency: {value.upper()}")
            case "n":
                _rows(value, said, out, store)
            case "duration":
                pass  # `_settle_length`
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


def _rows(value: str, said: str, out: Imported, store: dict[str, Any]) -> None:
    """`n` is also the number of keys: in order for writes, a gaussian for reads and mixes, unless `-pop` says otherwise
    (`SettingsPopulation`)."""
    if "mix" not in store:
        out.left_out(said, Why.COUNT_AS_TIME)
        return
    shape = "sequential" if set(store["mix"]) == {"write"} else "gaussian"
    store["keys"] = f"{shape}(1, {number(value) + 1})"
    out.changed(said, f"keys: {store['keys']}", Why.COUNT_AS_TIME)


def _option(option: str, values: list[str], out: Imported, store: dict[str, Any], aim: Aim) -> None:
    text = " ".join(values)
    said = f"{option} {text}".strip()
    match option:
        case "-rate":
            _rate(text, said, out, aim)
        case "-pop":
            match = re.search(r"(?:dist=(\S+)|seq=([0-9.kmbKMB]+\.\.[0-9.kmbKMB]+))", text)
            if match is None:
                out.left_out(said, Why.NO_COUNTERPART)
                return
            drawn = distribution(match[1] or f"SEQ({match[2]})")
            store["keys"] = drawn.text
            part = f"-pop {match[0]}"
            (out.kept(part, f"keys: {drawn.text}") if drawn.is_exact else out.changed(part, f"keys: {drawn.text}", Why.DISTRIBUTION))
            for word in values:
                if word != match[0]:
                    out.left_out(f"-pop {word}", Why.NO_COUNTERPART)
        case "-col":
            _columns(text, said, out, store)
        case "-schema":
            _schema(text, said, out, store, aim)
        case "-node" | "-port" | "-transport" | "-sendto" | "-jmx" | "-tokenrange":
            out.left_out(option, Why.OF_THE_CLUSTER)
        case "-mode" | "-credentials-file":
            out.left_out(option, Why.SECRET if "password" in text or option != "-mode" else Why.CLIENT_SETTING)
        case "-log" | "-graph" | "-reporting":
            out.left_out(said, Why.REPORTING)
        case "-errors":
            out.left_out(said, Why.ERRORS)
        case "-insert":
            out.left_out(said, Why.BATCHES)
        case _:
            out.left_out(f"{option} {hidden(option, text)}".strip() if not option.startswith("--") else option, Why.NO_COUNTERPART)


def _rate(text: str, said: str, out: Imported, aim: Aim) -> None:
    threads = [(sign, int(one)) for sign, one in re.findall(r"threads\s*([=≤≥<>]+)\s*([0-9]+)", text)]
    fixed = re.search(r"fixed=([0-9.]+[kmb]?)/s", text, re.IGNORECASE)
    throttle = re.search(r"(?:throttle|limit)=([0-9.]+[kmb]?)/s", text, re.IGNORECASE)
    given = fixed or throttle
    if given is not None:
        rate = number(given[1])
        out.experiment["tests"] = [{"levels": {"workload": STORE, "rates": [rate]}}]
        out.experiment["objectives"] = {STORE: {"p99": aim.p99}}
        allow(out, aim, rate, ROW_BYTES, LEVEL_S)
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


def _schema(text: str, said: str, out: Imported, store: dict[str, Any], aim: Aim) -> None:
    factor = re.search(r"factor=([0-9]+)", text)
    if factor and int(factor[1]) > 1 and not aim.attach:
        out.changed(f"-schema {factor[0]}", "replication: 1", Why.ONE_NODE)
    elif factor:
        store["replication"] = int(factor[1])
        out.kept(f"-schema {factor[0]}", f"replication: {factor[1]}")
    else:
        out.left_out(said, Why.NAME_ONLY)
    rest = re.sub(r"replication\([^()]*\)|keyspace=\S+", "", text).strip()
    if factor and rest:
        out.left_out(f"-schema {rest}", Why.NO_COUNTERPART)


def _user(text: str, out: Imported, store: dict[str, Any]) -> None:
    profile = re.search(r"profile=(\S+)", text)
    if profile is None:
        raise BadInputError("`user` has no profile", "Write `user profile=FILE.yaml ops(insert=1)`.")
    ops = re.search(r"ops\(([^()]*)\)", text)
    weights = (
        {name.strip(): _weight(value) for name, _, value in (pair.partition("=") for pair in ops[1].split(",")) if name.strip()}
        if ops
        else {"insert": 1.0}
    )
    out.kept(f"ops({', '.join(f'{name}={value:g}' for name, value in weights.items())})", "weights of the statements")
    _Profile(read_lined(Path(profile[1]), "profile"), out, store, weights).read()


class _Profile:
    """A profile: table, columns, insert, queries."""

    def __init__(self, lined: Lined, out: Imported, store: dict[str, Any], weights: dict[str, float]) -> None:
        self.lined = lined
        self.out = out
        self.store = store
        self.weights = weights
        definition = without_comments(str(lined.values.get("table_definition", "")))
        if "create table" not in definition.lower():
            raise BadInputError(
                "the profile has no `table_definition`", "Add its CREATE TABLE: hydrotest makes the table anew.", file=lined.file
            )
        self.table = _without_keyspace(" ".join(definition.split()).rstrip("; "))
        types, self.keys = _columns_of(self.table)
        if any(kind.startswith("counter") for kind in types.values()):
            raise BadInputError("a table of counters is not written by INSERT, and cassandra-stress's own counters have no counterpart",
                                "Write the updates as `statements` of your own.", file=lined.file, line=lined.lines.get("table_definition"))  # fmt: skip
        self.columns = [name for name, kind in types.items() if name in self.keys or re.split(r"\W", kind)[0] in TYPES]
        for name, kind in types.items():
            if name not in self.columns:
                out.left_out(f"{name} {kind}", Why.COLUMN_TYPE, **lined.where("table_definition"))

    def read(self) -> None:
        self.out.experiment["name"] = re.sub(r"[^a-z0-9]+", "-", self.lined.file.stem.lower()).strip("-")[:40] or "profile"
        extras = [" ".join(without_comments(str(one)).split()).rstrip("; ") for one in self.lined.values.get("extra_definitions") or ()]
        self.store["table"] = [self.table, *extras] if extras else self.table
        self.out.kept("table_definition", "table", **self.lined.where("table_definition"))
        if extras:
            self.out.kept("extra_definitions", "table", **self.lined.where("extra_definitions"))
        self._statements()
        self._values()
        for key in self.lined.values:
            match key:
                case "keyspace" | "table" | "specname":
                    self.out.left_out(key, Why.NAME_ONLY, **self.lined.where(key))
                case "keyspace_definition":
                    self.out.changed(key, "strategy, replication", Why.ONE_NODE, **self.lined.where(key))
                case "insert":
                    self._insert(self.lined.values[key] or {})
                case "token_range_queries":
                    self.out.left_out(key, Why.NO_COUNTERPART, **self.lined.where(key))
                case "table_definition" | "extra_definitions" | "columnspec" | "queries":
                    pass
                case _:
                    self.out.left_out(key, Why.NO_COUNTERPART, **self.lined.where(key))

    def _statements(self) -> None:
        name = _table_name(self.table)
        statements: dict[str, Any] = {}
        queries = self.lined.values.get("queries") or {}
        if "insert" in self.weights or any(verb_is_read(one) for one in queries.values()):
            marks = ", ".join("?" for _ in self.columns)
            statements["insert"] = {
                "cql": f"INSERT INTO {name} ({', '.join(self.columns)}) VALUES ({marks})",
                "weight": self.weights.get("insert", 0),
            }
            self.out.kept(f"insert={self.weights.get('insert', 0):g}", "statements.insert", **self.lined.where("insert"))
        for query, weight in self.weights.items():
            if query == "insert":
                continue
            given = queries.get(query)
            if given is None:
                raise BadInputError(f"the profile has no query {query!r}", f"It has {', '.join(queries) or 'none'}.", file=self.lined.file)
            cql = " ".join(str(given["cql"]).split()).rstrip("; ")
            statements[_name(query)] = {"cql": cql, "weight": weight}
            fields = given.get("fields", "samerow")
            if fields == "multirow":
                self.out.changed(
                    f"queries.{query}: fields: multirow",
                    f"statements.{_name(query)}",
                    Why.ROWS_PER_PARTITION,
                    **self.lined.where("queries"),
                )
            else:
                self.out.kept(f"queries.{query}", f"statements.{_name(query)}", **self.lined.where("queries"))
        for query in queries:
            if query not in self.weights:
                self.out.left_out(f"queries.{query} (not in ops)", Why.NAME_ONLY, **self.lined.where("queries"))
        self.store["statements"] = statements

    def _values(self) -> None:
        values: dict[str, str] = {}
        keys = None
        for spec in self.lined.values.get("columnspec") or ():
            name, where = str(spec.get("name")), self.lined.where("columnspec")
            if name not in self.columns:
                self.out.left_out(f"columnspec {name}", Why.COLUMN_TYPE, **where)
                continue
            if "population" in spec:
                drawn = distribution(str(spec["population"]))
                if name in self.keys[:1] and keys is None:
                    keys = drawn
                    text = f"keys: {drawn.text}"
                else:
                    values[name] = (
                        drawn.text
                        if drawn.text.startswith("uniform") or drawn.text.startswith("gaussian")
                        else f"uniform({drawn.low}, {drawn.high + 1})"
                    )
                    text = f"values: {{{name}: {values[name]}}}"
                said = f"columnspec {name}: population: {spec['population']}"
                (self.out.kept(said, text, **where) if drawn.is_exact else self.out.changed(said, text, Why.DISTRIBUTION, **where))
            if "size" in spec and (name in values or name in self.keys):
                self.out.left_out(f"columnspec {name}: size: {spec['size']}", Why.FROM_POPULATION, **where)
            elif "size" in spec:
                drawn = distribution(str(spec["size"]))
                low = max(drawn.low, 1)
                values[name] = f"uniform({low} B, {max(drawn.high, low)} B)"
                said = f"columnspec {name}: size: {spec['size']}"
                kept = drawn.is_exact and (drawn.low == drawn.high or str(spec["size"]).lower().startswith("uniform"))
                (self.out.kept(said, f"values: {{{name}: {values[name]}}}", **where) if kept
                 else self.out.changed(said, f"values: {{{name}: {values[name]}}}", Why.DISTRIBUTION, **where))  # fmt: skip
            if "cluster" in spec:
                drawn = distribution(str(spec["cluster"]))
                if name in values:
                    self.out.left_out(f"columnspec {name}: cluster: {spec['cluster']}", Why.ROWS_PER_PARTITION, **where)
                    continue
                values[name] = f"uniform(0, {max(drawn.high, 1)})"
                self.out.changed(
                    f"columnspec {name}: cluster: {spec['cluster']}", f"values: {{{name}: {values[name]}}}", Why.ROWS_PER_PARTITION, **where
                )
        self.store["keys"] = keys.text if keys is not None else self.store["keys"]
        if values:
            self.store["values"] = values

    def _insert(self, given: dict[str, Any]) -> None:
        for key, value in given.items():
            said = f"insert: {key}: {value}"
            is_one = str(value).lower().replace(" ", "") in ("fixed(1)", "fixed(1)/1", "unlogged")
            if is_one:
                self.out.kept(said, "one row a statement", **self.lined.where("insert"))
            elif key == "condition":
                self.out.left_out(said, Why.CONDITION, **self.lined.where("insert"))
            else:
                self.out.left_out(said, Why.BATCHES, **self.lined.where("insert"))


def without_comments(cql: str) -> str:
    """CQL without `-- …`, `// …` and `/* … */`: it is written on one line here, which they would end."""
    return re.sub(r"/\*.*?\*/|(?:--|//)[^\n]*", " ", cql, flags=re.DOTALL)


def verb_is_read(query: Any) -> bool:
    """True for a SELECT."""
    return str(query.get("cql", "") if isinstance(query, dict) else query).lstrip().lower().startswith("select")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def _without_keyspace(table: str) -> str:
    return re.sub(r"(create\s+table\s+(?:if\s+not\s+exists\s+)?)[\w\"]+\.([\w\"]+)", r"\1\2", table, count=1, flags=re.IGNORECASE)


def _table_name(table: str) -> str:
    match = re.search(r"create\s+table\s+(?:if\s+not\s+exists\s+)?([\w.\"]+)", table, re.IGNORECASE)
    assert match is not None
    return match[1].rpartition(".")[2]


def _columns_of(table: str) -> tuple[dict[str, str], list[str]]:
    """The types of its columns by name, and the names of its primary key."""
    inside = table[table.index("(") + 1 :]
    depth, parts, part = 0, [], ""
    for letter in inside:
        if letter == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    columns: dict[str, str] = {}
    keys: list[str] = []
    for one in [*parts, part]:
        text = one.strip()
        if text.lower().startswith("primary key"):
            keys = re.findall(r"\w+", text[len("primary key") :])
        elif text:
            columns[text.split()[0]] = text.split(None, 1)[1].lower() if " " in text else ""
            if "primary key" in text.lower():
                keys = [text.split()[0]]
    return columns, keys
