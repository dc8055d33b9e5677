"""Spark in the experiment file, and the suite of batch tests in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from hydrotest.spec.attach import Attachable, CoresMost, Endpoint, Guard, Most
from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import expected
from hydrotest.spec.fields import Count, DurationS, Name, PropertyValue, SizeBytes
from hydrotest.spec.lines import Path_
from hydrotest.spec.secret import Secret
from hydrotest.spec.step import Step
from hydrotest.spec.system import IN_CLASS_PATH, MIB, JavaSystem, listed
from hydrotest.spec.workload import LimitBy, Workload

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

SPARK_DAEMON_BYTES = 256 * MIB
"""Heap of a master or worker; they do only bookkeeping."""
SPARK_HEAP_BYTES_MIN = 480 << 20
"""1.5 times what Spark reserves (UnifiedMemoryManager), plus the part of a heap that a collector does not
report."""
SPARK_AUTHENTICATION = frozenset(
    {"spark.authenticate", "spark.authenticate.secret", "spark.authenticate.secret.file", "spark.authenticate.secret.driver.file",
     "spark.authenticate.secret.executor.file", "spark.redaction.regex"}
)  # fmt: skip
"""Properties that cannot be set. The last one keeps secrets out of Spark's event log."""
SPARK_BOUNDS = frozenset(
    {
        "spark.cores.max",
        "spark.executor.cores",
        "spark.executor.memory",
        "spark.executor.instances",
        "spark.dynamicAllocation.enabled",
        "spark.memory.offHeap.enabled",
        "spark.memory.offHeap.size",
        "spark.submit.deployMode",
    }
)
"""Properties that say how much of a cluster an application takes."""
BATCH_S = 15.0
"""Assumed time of one run of a batch job's test; the real time depends on its size."""


class SparkSecurity(Model):
    """How applications are known to a Spark that is there already."""

    secret: Secret = Field(description="Where the secret of `spark.authenticate.secret` is, e.g. {env: NAME}.")


class Spark(Attachable, JavaSystem):
    """Apache Spark, standalone: a master and workers; each application takes all workers. Or one that is there already (`attach`)."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["master", "workers"]}, {"required": ["attach", "status"]}]})
    may_be_remote: ClassVar[bool] = True
    only_started: ClassVar[frozenset[str]] = frozenset({"cores", "jvm", "port"})
    only_attached: ClassVar[frozenset[str]] = Attachable.only_attached | {"status", "security"}
    most_example: ClassVar[str] = "cores: 4, memory: 4 GiB"

    attach: list[Endpoint] = Field(
        default_factory=list,
        description="A standalone Spark that is there already, by the `host:port` of its masters. Nothing of it is configured or stopped; "
        "hydrotest's applications end with the run. `master` and `workers` are then machines of it that are only looked at. `release` or "
        "`home` is its release.",
    )
    status: Endpoint | None = Field(
        None, description="With `attach`: the `host:port` of the web pages of the master that leads. Its state is read there."
    )
    security: SparkSecurity | None = Field(None, description="With `attach`: how applications are known to it, if they must be.")
    most: CoresMost | None = Field(None, description="With `attach`: the most that hydrotest may take of it.")
    guard: Guard = Field(
        default_factory=Guard,
        description="With `attach`: what ends the run: in any case a worker that is lost, or another's application that waits for cores.",
    )
    release: Annotated[Literal["4.2", "3.5"], BeforeValidator(str), WithJsonSchema({"enum": ["4.2", "3.5", 4.2, 3.5]})] = Field(
        "4.2", description="Pinned release, unless `home` or SPARK_HOME names another."
    )
    master: Name | None = Field(None, description="The master's host.")
    workers: list[Name] = Field(default_factory=list, description="A worker on each of these hosts.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Spark properties of the applications, passed through.")
    cores: Count | None = Field(None, description="Cores that each worker offers; all of its host's if not given.")
    memory: SizeBytes = Field(1024 * MIB, description="Memory of the executor on each worker.")
    driver_memory: SizeBytes = Field(512 * MIB, description="Heap of the driver.")

    @property
    def hosts(self) -> list[str]:
        """All its hosts, the master's first."""
        return list(dict.fromkeys([*self._first, *self.workers]))

    @property
    def _first(self) -> list[str]:
        return [] if self.master is None else [self.master]

    def placed(self, name: str) -> list[tuple[str, str]]:
        services = [
            *((f"{name}-master", host) for host in self._first),
            *((f"{name}-worker-{index}", host) for index, host in enumerate(self.workers)),
        ]
        return [] if self.is_attached else services

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs; the driver counts with the master."""
        executors = [(host, heap) for host in self.workers for heap in (SPARK_DAEMON_BYTES, self.memory)]
        masters = [(host, heap) for host in self._first for heap in (SPARK_DAEMON_BYTES, self.driver_memory)]
        return [] if self.is_attached else [*masters, *executors]

    memory_key: ClassVar[str] = "memory"
    not_in_data: ClassVar[Mapping[str, str]] = {
        ",": "parts the entries of SPARK_LOCAL_DIRS",
        ":": IN_CLASS_PATH,
        **dict.fromkeys("*?[]{}", "is a pattern in the paths of Spark's files"),
    }

    @property
    def peers(self) -> list[str]:
        return self.workers

    def named_hosts(self) -> list[tuple[Path_, str]]:
        return [*((("master",), host) for host in self._first), *listed("workers", self.workers)]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Refuses early what Spark would refuse, or wait for in vain, only when everything else runs."""
        self.check_attached(name, experiment, checker)
        self._check_access(name, experiment, checker)
        if "spark.master" in self.config:
            why = "`attach` names the master" if self.is_attached else "hydrotest starts the master itself, and knows its address"
            raise checker.fail(("systems", "spark", "config", "spark.master"), why, "Leave it out.")
        for key in sorted(SPARK_AUTHENTICATION & self.config.keys()):
            why, remedy = "Spark authenticates by a secret that hydrotest makes for the run", "Leave it out."
            if self.is_attached:
                why, remedy = "a secret does not stand in a file", "Write `security: {secret: {env: NAME}}`."
            raise checker.fail(("systems", "spark", "config", key), why, remedy)
        for what in ("memory", "driver_memory"):
            if getattr(self, what) < SPARK_HEAP_BYTES_MIN:
                raise checker.fail(
                    ("systems", "spark", what), f"Spark refuses heaps below {SPARK_HEAP_BYTES_MIN >> 20} MiB", "Write e.g. 512 MiB."
                )
        for key in ("spark.jars", "spark.files"):
            for path in filter(None, (one.strip() for one in str(self.config.get(key, "")).split(","))):
                # Spark also takes addresses (hdfs://…, file:…, local:…) and patterns; it finds those itself.
                if re.match(r"\w+:", path) or any(sign in path for sign in "*?[{"):
                    continue
                if not Path(path).is_absolute():
                    raise checker.fail(("systems", "spark", "config", key), f"{path} is not an absolute path, and Spark runs in a folder of its own",
                                       f"Write {Path(path).resolve()}.")  # fmt: skip
                if not Path(path).exists():
                    raise checker.fail(("systems", "spark", "config", key), f"there is no file {path}", "Correct the path.")
        self._check_slots(experiment, checker)
        super().check(name, experiment, checker)

    def _check_access(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for what a Spark that is there already needs, or a new one."""
        place: Path_ = ("systems", name)
        if not self.is_attached:
            if not (self.master and self.workers):
                raise checker.fail(place, f"{name} needs a master and workers", "Write `master: HOST` and `workers: [HOST]`.")
            return
        if self.status is None:
            raise checker.fail(
                place, f"`attach` needs `status`: where the master of {name} shows its state", "Write e.g. `status: m1:8080`."
            )
        for key in sorted(SPARK_BOUNDS & self.config.keys()):
            raise checker.fail((*place, "config", key), f"it would overrule `most` of {name}", "Leave it out.")
        away = [endpoint for endpoint in self.attach if not endpoint.startswith(("127.", "localhost:"))]
        for workload in experiment.workloads:
            host = experiment.generator_hosts(workload)[0]
            if (
                host in experiment.hosts
                and away
                and name in experiment.workloads[workload].uses
                and experiment.hosts[host].reach == "loopback"
            ):
                raise checker.fail(("workloads", workload), f"the executors of {name} at {away[0]} do not reach a driver on {host}, which listens on loopback",
                                   "Name a host for it that they reach: `connect: ssh`, or `connect: command`, `command: [env]` and its `address`.")  # fmt: skip

    def _check_slots(self, experiment: Experiment, checker: Checker) -> None:
        """Refuses executors with more cores than a worker has: Spark would wait for them in vain."""
        wanted = self.config.get("spark.executor.cores")
        if str(wanted).isdigit() and self.cores is not None and int(str(wanted)) > self.cores:
            raise checker.fail(("systems", "spark", "config", "spark.executor.cores"), f"an executor of {wanted} cores finds no worker: each has {self.cores}",
                               "Give the workers more `cores`, or the executors fewer.")  # fmt: skip
        own = [(name, what) for name, workload in experiment.workloads.items() for what in workload.bounds_cores]
        for key in ("spark.cores.max", "spark.executor.cores"):
            for name, what in own:
                if key in self.config and not (what == "cores" and key == "spark.executor.cores"):
                    raise checker.fail(("systems", "spark", "config", key), f"it would overrule the `{what}` of {name}", "Leave it out.")


SparkTest = Literal[
    "scheduling-throughput",
    "agg-by-key",
    "agg-by-key-int",
    "agg-by-key-naive",
    "sort-by-key",
    "sort-by-key-int",
    "count",
    "count-with-filter",
    "scan-filter",
    "broadcast-join",
    "shuffled-join",
    "skewed-join",
    "window",
    "group-by",
    "k-means",
    "logistic-regression",
    "als",
]
"""Core (RDDs, as spark-perf has them), SQL, MLlib."""


class SparkPerf(Workload):
    """Tests of the Spark suite, one after the other: spark-perf's core tests, SQL and MLlib. Each checks its
    own answer."""

    kind: Literal["spark-perf"]
    tests: list[SparkTest] = Field(min_length=1, description="Which tests.")
    scale_factor: float = Field(0.1, gt=0, le=10_000, description="Factor of the size. At 1: 400 tasks a stage; 200 million records in the core "
                                                       "tests, 100 million facts in those of SQL, 10 million rows in those of MLlib.")  # fmt: skip
    data_scale: float = Field(
        1.0, gt=0, le=10_000, description="Factor of the number of records alone; the number of tasks stays the same."
    )
    unique_keys: Count | None = Field(None, description="Distinct keys; 20,000 × scale_factor if not given.")
    skew: float = Field(0.0, ge=0, lt=1, description="0: all keys are equally frequent. Towards 1 the first keys become more "
                                                     "frequent: the frequency of the r-th key falls as r to the power of −skew.")  # fmt: skip
    seed: Count = Field(5, description="Seed of the data.")

    @property
    def may_be_remote(self) -> bool:
        return True

    cores: Count | None = Field(None, description="Most cores of its application, spread over the workers; all of theirs if not "
                                                  "given. Workloads that differ only in this show how the time falls with cores.")  # fmt: skip
    budget: DurationS = Field(1800.0, description="Longest time of one run of a test. A run that would take longer, or makes no "
                                                  "progress, is ended; the report names it and the resources that are full.")  # fmt: skip

    def check_most(self, name: str, most: Most, experiment: Experiment, checker: Checker) -> None:
        cores = expected(most, CoresMost).cores
        if (self.cores or 0) > cores:
            raise checker.fail(
                ("workloads", name, "cores"),
                f"{self.cores} cores are more than `most` allows: {cores}",
                "Take fewer, or raise `most.cores`.",
            )

    limit_by: ClassVar[LimitBy] = LimitBy.TIMES
    is_job: ClassVar[bool] = True
    is_squeezable: ClassVar[bool] = True

    @property
    def bounds_cores(self) -> list[str]:
        return ["cores"] if self.cores is not None else []

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name)
        if experiment.systems.of(Spark) is None:
            raise checker.fail(place, f"{name} needs the system spark", "Add it under `systems`.")
        if len(set(self.tests)) < len(self.tests):
            raise checker.fail((*place, "tests"), "a test stands twice", "Name each once.")

    def limit_step(self, name: str, experiment: Experiment) -> Step:
        repeats = experiment.search.repeats
        runs = repeats * len(self.tests)
        return Step(
            test="isolated", workload=name, trials=1, seconds=(runs + 1) * BATCH_S, detail=f"{', '.join(self.tests)}, {repeats} times each"
        )
