"""What became of a foreign definition, line by line, in words."""

from __future__ import annotations

from hydrotest.imports.note import Fate, Note, Why
from hydrotest.imports.omb_readers import MEMBERS_MAX
from hydrotest.imports.omb_tests import BACKLOG_BYTES_MAX, BACKLOG_S_MAX
from hydrotest.imports.stress_rows import ROWS_MAX

WORDS = {
    Why.ONE_BROKER: "there is one broker on this machine; with --attach it is kept",
    Why.ONE_NODE: "hydrotest makes a keyspace of its own, on one node of this machine; with --attach the factor is kept",
    Why.OWN_KEYSPACE: "hydrotest makes a keyspace of its own, on one node of this machine: write `replication` where there are more",
    Why.CONNECTIONS: "a generator has at most 1,000 producers, and 1,000,000 partitions of them all; take more generators for more",
    Why.PRODUCER_ALONE: "on a cluster that others use the highest rate is looked for with the producer alone; with a rate groups read, too",
    Why.MEMBERS: f"each member is a JVM of about 0.25 GB, and no thread as there: {MEMBERS_MAX} in all; raise it where there are memory and cores",
    Why.IDLE: "further members would have no partition to read",
    Why.GROUP_OF_ALL: "a group reads all topics, with as many members as that tool has consumers on all of them",
    Why.CHECKED: "in a soak old segments are deleted, so a reader of ours checks each record as it arrives; brokers deliver once more for it",
    Why.KEPT_UP_WITH: "a rate of 0 asks for one that consumers keep up with, too",
    Why.BACKLOG: f"no more than {BACKLOG_BYTES_MAX >> 30} GiB or what {BACKLOG_S_MAX} s bring, read from the disks as one that memory does not hold; raise `down` "
    "and `duration` where there is a disk for it",
    Why.BACKLOG_THERE: f"no more than {BACKLOG_BYTES_MAX >> 30} GiB or what {BACKLOG_S_MAX} s bring; raise `down`, `duration` and `most.disk` where the cluster "
    "has room for it",
    Why.BACKLOG_RATE: "a backlog needs a rate; that tool refuses it, too",
    Why.NO_BACKLOG: "there is no backlog",
    Why.NO_READERS: "nobody reads",
    Why.OBJECTIVE: "a rate of 0 looks for the highest rate; a limit needs an objective: change it to yours",
    Why.DRAIN_RATIO: "the time to catch up is until all of it is read",
    Why.PAYLOAD: "name a file of lines under `payload`, where it is: each line is then the content of a record",
    Why.PAYLOAD_WHOLE: "no such file is here; where it is, write `payload: {file: …, form: whole, stamp: header}` instead of `record_size`",
    Why.PAYLOAD_SIZE: "each record has the file as its value, whatever size is said; that tool refuses another one",
    Why.RANDOM_INSTEAD: "that tool does not read it either: its contents are random",
    Why.PAYLOAD_MONOTONIC: "each record has a sequence number of its own, by which it is accounted for",
    Why.IN_TURN: "lines are written in turn; what accounts for a record is in a header, so that values are the lines alone",
    Why.STAMP_IN_HEADER: "what accounts for a record is in a header, so that its value is the file alone",
    Why.KEYS: "keys are whole numbers of 8 B",
    Why.NAME_ONLY: "it is a name; hydrotest makes topics and keyspaces of its own",
    Why.OF_THE_CLUSTER: "where the cluster is, and who is let in, is written under `systems` (`attach`, `security`)",
    Why.CLIENT_SETTING: "a setting of that client alone",
    Why.TOPIC_SETTING: "records must stay until they are read back",
    Why.SET_BY_US: "hydrotest sets it for each member: ids, and heartbeats, which follow `session`",
    Why.NOT_IN_FORCE: "beside the other settings it has no effect",
    Why.SESSION: "brokers take no such session by default",
    Why.REPORTING: "it is about that tool's output",
    Why.WARM_UP: "hydrotest warms up until a repeated level gets no better",
    Why.COUNT_AS_TIME: "hydrotest measures for a time, not for a number",
    Why.SECRET: "files of settings may hold secrets, and are not read; write them under `security`",
    Why.NO_COUNTERPART: "hydrotest has no counterpart",
    Why.DISTRIBUTION: "the nearest distribution that hydrotest has over the same range",
    Why.ROWS_PER_PARTITION: "no column of the partition key can be shared by several rows: it has parts",
    Why.ROWS: f"all rows are written before they are read, and no more than {ROWS_MAX:,}: there are fewer partitions",
    Why.BY_ROW: "columns of the key follow from the row's number, so that each row is known again",
    Why.NARROW: "its type has fewer values than there are rows",
    Why.NARROWER: "the narrower one of `-pop` and the population of the key counts, as there",
    Why.MULTIROW: "the marks of a statement are values of one row",
    Why.WHOLE: "that tool adds elements to what is there; here a write sets all of them, so that they can be checked",
    Why.KEY_ALONE: "a table that is a key alone has nothing to write under a condition",
    Why.OWN_TABLE: "rows of the default table are written one by one",
    Why.ONE_KIND: "counters are not in one batch, and not filled beforehand, with other columns: import them by a command line of their own",
    Why.BATCHES: "a batch has a fixed number of rows, whose numbers follow each other; of more than 50 KiB in several partitions Cassandra takes none "
    "unless `batch_size_fail_threshold` lets it",
    Why.BINDING: "it is a function of that tool; say under `values` how a column is to be made",
    Why.NEAREST: "the nearest that hydrotest makes of a row's number, in whole numbers",
    Why.FILLED_SO: "a column is made in one way: as the statement makes it that fills the table",
    Why.KEYS_FILLED: "of the rows that are there: others would not be found",
    Why.VERIFIED: "hydrotest checks by itself what reads return",
    Why.ONE_SCENARIO: "the scenario `default` counts",
    Why.ALL_ROWS: f"rows are written beforehand, and no more than {ROWS_MAX:,}: raise the end of `keys` where you have the time",
    Why.ONE_CENTER: "on a ring that is there, copies are in the data centre that is reached: write `replication`",
    Why.NOTHING: "it holds nothing that is done",
    Why.ONE_PHASE: "the first main phase with threads or a rate counts",
    Why.EACH_ROW_ONCE: "the ramp-up writes each row once",
    Why.ONE_FILLS: "one statement writes the rows that are there beforehand: the first INSERT of the ramp-up; another table stays empty",
    Why.ONE_LEVEL: "all statements of a workload have one level: that of the main phase, or the first that is named",
    Why.CONSISTENCY: "hydrotest has no such level",
    Why.ERRORS: "what is acceptable is said under `objectives`: `errors`, `loss`",
    Why.COLUMN_TYPE: "no values are made of this type; the column stays empty",
    Why.NO_RATE_LIMIT: "on a cluster that others use nothing runs without a rate limit",
    Why.WINDOWS: "each number in flight is measured in windows",
    Why.ONE_TABLE: "it is there already",
    Why.OPEN_LOOP: "by schedule, as many are in flight as it takes",
    Why.FROM_POPULATION: "a column has one of both: how it is drawn, or how large it is",
    Why.LATE_START: "times count from when an operation was due, not from when it was sent",
}


def note_words(note: Note) -> str:
    """One line: where, what it said, what became of it, why."""
    place = f"{f'{note.file}, ' if note.file else ''}{f'line {note.line}: ' if note.line else ''}" if note.file or note.line else ""
    why = f" ({WORDS[note.why]})" if note.why is not None else ""
    match note.fate:
        case Fate.KEPT:
            return f"kept      {place}{note.said} → {note.ours}{why}"
        case Fate.CHANGED:
            return f"changed   {place}{note.said} → {note.ours}{why}"
        case Fate.LEFT_OUT:
            return f"left out  {place}{note.said}{why}"
