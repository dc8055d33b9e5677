"""Commands that measure, and that show what was measured. Each imports what carries it out when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from hydrotest.cli.options import Flag, Hosts, Json

commands = App()
hosts_app = App(name="hosts", help="Lists of machines that you have.")
commands.command(hosts_app)


@commands.command
def doctor(*, hosts: Path | None = None, as_json: Json = False) -> int:
    """Show what this machine lacks, each with its remedy.

    Parameters
    ----------
    hosts
        A fleet file: show what its machines lack instead, and whether they reach each other.
    """
    if hosts is not None:
        from hydrotest.cli.commands.fleet_doctor import fleet_doctor

        return fleet_doctor(hosts, as_json)
    from hydrotest.cli.commands.doctor import doctor

    return doctor(as_json)


@commands.command
def fetch(*systems: str, as_json: Json = False) -> int:
    """Fetch systems into the cache, in pinned versions. Without names: all."""
    from hydrotest.cli.commands.fetch import fetch

    return fetch(systems, as_json)


@commands.command
def init(template: str | None = None, *, systems: str | None = None, on: str | None = None, hosts: int | None = None, p99: str | None = None,
         out: Path | None = None, force: Flag = False, listed: Annotated[bool, Parameter(name="--list", negative=())] = False,
         schema: Flag = False, no_schema: Flag = False, as_json: Json = False) -> int:  # fmt: skip
    """Write an experiment file to begin with. On a terminal it asks for what is not given.

    Parameters
    ----------
    template
        A template, written as it is; --list shows them. Without one, a file is made for your systems.
    systems
        What you have: kafka, cassandra, spark, hdfs, s3, with commas between them.
    on
        Where it runs: `here`, this machine as it is, or `lab`, emulated hosts on it (as root).
    hosts
        Number of emulated hosts; 3 if not given.
    p99
        The objective: the longest acceptable p99 of Kafka and Cassandra, e.g. 50ms.
    out
        The file to write; by default named after the template or the systems.
    force
        Replace a file that is there.
    listed
        Show the templates: the question that each answers, its time, what it needs.
    schema
        Print the JSON Schema of experiment files, for editors.
    no_schema
        Write no line and no file by which editors complete keys.
    """
    from hydrotest.cli.commands.init import Answers, Target, init

    answers = Answers(systems, on, hosts, p99)
    return init(template, answers, Target(out, force, not no_schema), is_list=listed, is_schema=schema, as_json=as_json)


@commands.command(name="import")
def import_(form: str, source: Annotated[str, Parameter(allow_leading_hyphen=True)], *, driver: Path | None = None, attach: str | None = None,
            p99: str = "50 ms", out: Path | None = None, force: Flag = False, as_json: Json = False) -> int:  # fmt: skip
    """Make an experiment of another tool's definition, with comments that say what was kept, changed and left out.

    Parameters
    ----------
    form
        omb, cassandra-stress, kafka-producer-perf-test or nosqlbench.
    source
        A workload's file (omb, nosqlbench), or a command line in quotation marks (the other two).
    driver
        OpenMessaging Benchmark's driver file.
    attach
        Addresses of a cluster that is there, with commas between them. Without, it runs on this machine.
    p99
        The objective where the source has none.
    out
        The file to write; by default named after the experiment.
    force
        Replace a file that is there.
    """
    from hydrotest.cli.commands.import_ import import_
    from hydrotest.imports.note import Aim

    aim = Aim(tuple(attach.split(",")) if attach else (), p99)
    return import_(form, source, driver, aim, out, force=force, as_json=as_json)


@commands.command
def check(experiment: Path, *, hosts: Hosts = None, contact: Flag = False, as_json: Json = False) -> int:
    """Validate an experiment and print its plan; starts nothing.

    Parameters
    ----------
    experiment
        The experiment file.
    contact
        Ask the clusters that are there already (`attach`) what they are, change nothing, and print what a run would do to them, with the
        hash that `run --yes` wants.
    """
    if contact:
        from hydrotest.cli.commands.contact import check_with_contact

        return check_with_contact(experiment, hosts, as_json)
    from hydrotest.cli.commands.check import check

    return check(experiment, hosts, as_json)


@commands.command
def run(experiment: Path, *, hosts: Hosts = None, out: Path | None = None, only: str | None = None,
        resume: Annotated[bool, Parameter(negative=())] = False, yes: str | None = None, as_json: Json = False) -> int:  # fmt: skip
    """Run an experiment.

    Parameters
    ----------
    experiment
        The experiment file.
    out
        Folder for the run; by default runs/NAME-TIME.
    only
        Run only the tests of this kind, e.g. isolated.
    resume
        Go on after the last finished trial of the run in --out.
    yes
        For clusters that are there already: the hash of the plan that `check --contact` has printed. Without it nothing is done to them.
    """
    from hydrotest.cli.commands.run import run

    return run(experiment, hosts, out, only, resume, yes, as_json)


@commands.command
def probe(cluster: str, *, p99: str = "50ms", size: str = "1KB", bytes: str = "20MB/s", rate: str | None = None, time: str = "5min",
          partitions: int | None = None, replication: int | None = None, tls: Flag = False, authority: Path | None = None,
          certificate: Path | None = None, key: Path | None = None, sasl: str | None = None, user: str | None = None,
          password_env: str | None = None, password_file: Path | None = None, write: Path | None = None, out: Path | None = None,
          yes: Flag = False, as_json: Json = False) -> int:  # fmt: skip
    """Find out what a cluster takes that is there already, within bounds and under guard. First it shows what it will do, and asks.

    Parameters
    ----------
    cluster
        The cluster by some of its nodes, e.g. kafka://b1:9092,b2:9092 or cassandra://n1:9042.
    p99
        The objective: the longest acceptable p99 of an acknowledged record, or of a row's write or read.
    size
        Size of a record (Kafka).
    bytes
        The most that is moved a second; of Kafka as much is read back.
    rate
        The most operations a second; by the bytes if not given, and 20,000 on Cassandra.
    time
        How long it takes.
    partitions
        Partitions of its topics (Kafka); two for each broker if not given.
    replication
        Copies of each partition or row; 3, or as many as there are nodes, if not given.
    tls
        Connections are encrypted.
    authority
        File of the certificates that sign those of the brokers, PEM; this machine's own if not given.
    certificate
        File of a certificate of ours, PEM.
    key
        File of its private key, PEM.
    sasl
        Mechanism of the login (Kafka); SCRAM-SHA-512 if a user is given.
    user
        The user who logs in.
    password_env
        The environment variable that holds the password.
    password_file
        The file whose first line is the password.
    write
        Leave the experiment in this file.
    out
        Folder for the run; by default runs/NAME-TIME.
    yes
        Go on without a question.
    """
    from hydrotest.cli.commands.probe import Asked, probe

    asked = Asked(
        p99, size, bytes, rate, time, partitions, replication, tls, authority, certificate, key, sasl, user, password_env, password_file
    )
    return probe(cluster, asked, write, out, yes, as_json)


@commands.command
def stop(run: Path, *, as_json: Json = False) -> int:
    """End a run that is under way in another terminal, in good order: as Ctrl-C does there.

    Parameters
    ----------
    run
        The run's folder.
    """
    from hydrotest.cli.commands.stop import stop

    return stop(run, as_json)


@commands.command
def up(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Start hosts and systems without a test; hold them until Ctrl-C or `down`."""
    from hydrotest.cli.commands.up import up

    return up(experiment, hosts, as_json)


@commands.command
def status(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Show the status of held clusters."""
    from hydrotest.cli.commands.status import status

    return status(experiment, hosts, as_json)


@commands.command
def down(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Stop held clusters, and remove what a killed run left."""
    from hydrotest.cli.commands.down import down

    return down(experiment, hosts, as_json)


@commands.command
def show(
    run: Path | None = None, section: str | None = None, *, spark_log: Path | None = None, against: Path | None = None, rejudge: bool = False,
    as_json: Json = False,
) -> int:  # fmt: skip
    """Print a run's answers at a glance, the tables behind one of them, or those of a Spark event log.

    Parameters
    ----------
    run
        The run's folder.
    section
        The tables of one question: limits, bottlenecks, together, spark, dataflow, integrity, trials, usage, or all.
    spark_log
        An event log of any Spark application, also one that hydrotest did not run: where its time went, what to change, how many cores it can use.
        A file, a folder of rolled files, a zip of the history server; of a directory with several logs, a list of them.
    against
        Another event log of the same application, to show next to it.
    rejudge
        Judge the trials of searches by today's rules, instead of showing what the run decided while it was made.
    """
    if spark_log is not None:
        from hydrotest.cli.commands.spark_log import show_spark_log

        return show_spark_log(spark_log, against, as_json)
    from hydrotest.cli.commands.show import show

    return show(run, section, rejudge, as_json)


@commands.command
def audit(*files: Path, as_json: Json = False) -> int:
    """Show what a benchmark's output really measured: contradictions, and figures that claim too much. 1 if a figure contradicts itself.

    Parameters
    ----------
    files
        Outputs of kafka-producer-perf-test, kafka-consumer-perf-test, cassandra-stress, OpenMessaging Benchmark, latte, NoSQLBench,
        TestDFSIO and YCSB, folders of runs, and tables that were written down by hand as YAML.
    """
    from hydrotest.cli.commands.audit import audit

    return audit(files, as_json)


@commands.command
def report(run: Path, *, mask: Flag = False, as_json: Json = False) -> int:
    """Write a run's report: one file that opens offline.

    Parameters
    ----------
    mask
        Write `report-masked.html`, without addresses, logins, and how hosts are reached: to be given away.
    """
    from hydrotest.cli.commands.report import report

    return report(run, mask, as_json)


@commands.command(end_of_options_delimiter="")
def compare(first: Path, second: Annotated[Path, Parameter(allow_leading_hyphen=True)], *others: Annotated[Path, Parameter(allow_leading_hyphen=True)],
            as_json: Json = False) -> int:  # fmt: skip
    """Compare runs with the first of them: limits, latencies and use, each with an interval.

    Repeated runs show more: `compare A1 A2 A3 -- B1 B2 B3` measures how equal runs scatter, instead of assuming it.

    What differs in hardware, versions or settings is said first; a workload that was asked something else is not compared. Of runs
    that place the systems differently it shows where each workload takes more: on shared hosts, or on hosts of its own.
    """
    from hydrotest.cli.commands.compare import compare

    return compare([first, second, *others], as_json)


@hosts_app.command(name="import")
def import_hosts(*, tofu: Path | None = None, ansible: Path | None = None, ssh: str | None = None, role: list[str] | None = None,
                 out: Path | None = None, force: Flag = False, as_json: Json = False) -> int:  # fmt: skip
    """Write a fleet file (`--hosts`) from a list of machines that you have. Nothing is run on them.

    Parameters
    ----------
    tofu
        A file that `tofu output -json` has written for a module of deploy/, or `tofu show -json` for any; Terraform's are the same.
    ansible
        An inventory: anything that `ansible-inventory` reads; without Ansible one file in INI or YAML, or a saved `--list` (.json).
    ssh
        A pattern of names in ~/.ssh/config and what it includes, e.g. 'kafka-*'.
    role
        With --ansible: ROLE=GROUP calls the hosts of a group ROLE-1, ROLE-2, …; may be given several times.
    out
        The file to write; without it the text is printed.
    force
        Replace a file that is there.
    """
    from hydrotest.cli.commands.hosts import import_hosts

    return import_hosts(tofu, ansible, ssh, role or [], out, force, as_json)
