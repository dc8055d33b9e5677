"""The command line: the commands and their arguments. A command imports its implementation when it is called.
So `--help` does not pay for the analysis, nor `check` for the systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from hydrotest import __version__

app = App(
    name="hydrotest", version=__version__, help="Pressure-test a data pipeline: how much it takes, at what latency, and what bounds it."
)
hosts_app = App(name="hosts", help="Lists of machines that you have.")
app.command(hosts_app)
catalogue_app = App(name="catalogue", help="Types of machines, with what they have and what they cost. Nothing is fetched.")
app.command(catalogue_app)
Flag = Annotated[bool, Parameter(negative=())]
Hosts = Annotated[
    Path | None, Parameter(help="A file with `hosts:`, by the names that the experiment has: they take the place of its own.")
]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print JSON for programs.")]


@app.command
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


@app.command
def fetch(*systems: str, as_json: Json = False) -> int:
    """Fetch systems into the cache, in pinned versions. Without names: all."""
    from hydrotest.cli.commands.fetch import fetch

    return fetch(systems, as_json)


@app.command
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


@app.command(name="import")
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


@app.command
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


@app.command
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


@app.command
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


@app.command
def stop(run: Path, *, as_json: Json = False) -> int:
    """End a run that is under way in another terminal, in good order: as Ctrl-C does there.

    Parameters
    ----------
    run
        The run's folder.
    """
    from hydrotest.cli.commands.stop import stop

    return stop(run, as_json)


@app.command
def up(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Start hosts and systems without a test; hold them until Ctrl-C or `down`."""
    from hydrotest.cli.commands.up import up

    return up(experiment, hosts, as_json)


@app.command
def status(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Show the status of held clusters."""
    from hydrotest.cli.commands.status import status

    return status(experiment, hosts, as_json)


@app.command
def down(experiment: Path, *, hosts: Hosts = None, as_json: Json = False) -> int:
    """Stop held clusters, and remove what a killed run left."""
    from hydrotest.cli.commands.down import down

    return down(experiment, hosts, as_json)


@app.command
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


@app.command
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


@app.command
def report(run: Path, *, mask: Flag = False, as_json: Json = False) -> int:
    """Write a run's report: one file that opens offline.

    Parameters
    ----------
    mask
        Write `report-masked.html`, without addresses, logins, and how hosts are reached: to be given away.
    """
    from hydrotest.cli.commands.report import report

    return report(run, mask, as_json)


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


@catalogue_app.command(name="list")
def catalogue_list(*patterns: str, region: str | None = None, own: Path | None = None, as_json: Json = False) -> int:
    """List types of machines, e.g. 'aws/m7*' 'gcp/n2-*'.

    Parameters
    ----------
    region
        Those that have a price there, with that price, e.g. eu-central-1.
    own
        A file of your own machines, which go first; by default machines.yaml, if there is one.
    """
    from hydrotest.cli.commands.catalogue import list_

    return list_(patterns, region, own, as_json)


@catalogue_app.command(name="show")
def catalogue_show(name: str, *, region: str | None = None, own: Path | None = None, as_json: Json = False) -> int:
    """Show all that is known of one type of machine, with its source and the date of each price.

    Parameters
    ----------
    name
        E.g. aws/m7i.xlarge; or m7i.xlarge, where only one provider has it.
    region
        Only the prices there.
    own
        A file of your own machines, which go first; by default machines.yaml, if there is one.
    """
    from hydrotest.cli.commands.catalogue import show

    return show(name, region, own, as_json)


@catalogue_app.command(name="import")
def catalogue_import(*files: Path, out: Path = Path("machines.yaml"), as_json: Json = False) -> int:
    """Write machines and prices of your own, from what the clouds' command lines print and from price lists.

    It reads `aws ec2 describe-instance-types`, `gcloud compute machine-types list --format json`, `az vm list-skus`, `oci compute shape list`,
    and CSV files with the columns type, region, term, usd_h, as_of. What is in the file already is kept, unless it is read anew.

    Parameters
    ----------
    out
        The file to write.
    """
    from hydrotest.cli.commands.catalogue import import_

    return import_(files, out, as_json)


@catalogue_app.command(name="check")
def catalogue_check(own: Path = Path("machines.yaml"), *, as_json: Json = False) -> int:
    """Check a file of machines: what is wrong in it, what is not known, and which prices are old.

    Parameters
    ----------
    own
        The file.
    """
    from hydrotest.cli.commands.catalogue import check

    return check(own, as_json)


@app.command
def size(*runs: Path, need: str, survive: str = "host", headroom: str = "30 %", retain: str | None = None,
         types: Annotated[list[str] | None, Parameter(name="--types")] = None, shared: str = "allow", far: Flag = False, speed: float = 1.0,
         region: str | None = None, term: str = "on-demand", zones: int = 3, top: int = 10, groups: str | None = None, own: Path | None = None,
         save: Path | None = None, figure: Path | None = None, as_json: Json = False) -> int:  # fmt: skip
    """Choose machines for a need: what carries it, with room and with one lost, by price; and why others do not.

    Exit code 4: the runs do not say what the need takes. 1: no machine carries it.

    Parameters
    ----------
    runs
        Folders of runs; best of one with a `calibrate` test.
    need
        Operations a second, e.g. ingest=1M,store=20K.
    survive
        What may be lost with the need still carried: none, host or zone.
    headroom
        So much more than the need is carried while nothing is lost.
    retain
        How long records are kept, e.g. 3d: disks are chosen for it.
    types
        Types of machines, e.g. 'aws/m7*'; may be given several times. All of the catalogue if not given.
    shared
        `allow`: systems may be on the same hosts; `never`.
    far
        Also machines with more than four times the cores that were measured.
    speed
        Speed of a vCPU, as a multiple of a core that was measured: an assumption.
    region
        Where the prices hold, e.g. us-east-1; if not given, the first that is known.
    term
        on-demand, 1y, 3y or spot.
    zones
        Zones over which hosts are spread.
    top
        Plans to show.
    groups
        Consumer groups that read each record, e.g. 2, or ingest=2 of one workload.
    own
        A file of your own machines, which go first; by default machines.yaml, if there is one.
    save
        Write the plans to a file.
    figure
        Write a page with the cost of each plan over its headroom.
    """
    from hydrotest.cli.commands.size import size

    return size(
        runs, need, survive, headroom, retain, types or [], shared, far, speed, region, term, zones, top, groups, own, save, figure, as_json
    )


@app.command
def rate(*, seconds: float = 60.0, against: Path | None = None, out: Path | None = None, as_json: Json = False) -> int:
    """Measure how fast this machine's processors are, to compare machines with.

    Parameters
    ----------
    seconds
        How long to measure.
    against
        A file that `rate --out` wrote on another machine: prints what `--speed` to write in `predict` and `size`.
    out
        Write what was measured to a file.
    """
    from hydrotest.cli.commands.rate import rate

    return rate(seconds, against, out, as_json)


@app.command
def simulate(scenario: Path, *, model: list[Path] | None = None, duration: Annotated[str | None, Parameter(name="--for")] = None,
             seeds: int | None = None, region: str | None = None, term: str = "on-demand", own: Path | None = None, out: Path | None = None,
             as_json: Json = False) -> int:  # fmt: skip
    """Play a fleet over days: load, failures, restarts, burst credits, disks; what goes wrong first, and for how long.

    Exit code 1: an objective of the scenario was missed.

    Parameters
    ----------
    scenario
        A scenario file.
    model
        Folders of runs that show what operations cost, in place of the scenario's.
    duration
        How long to play, e.g. 30d.
    seeds
        Courses of what is random.
    region
        Where the prices hold, e.g. us-east-1.
    term
        on-demand, 1y, 3y or spot.
    own
        A file of your own machines, which go first; by default machines.yaml, if there is one.
    out
        Write the course's figure (course.html), its series (series.parquet) and the answer into this folder.
    """
    from hydrotest.cli.commands.simulate import simulate

    return simulate(scenario, model or [], duration, seeds, region, term, own, out, as_json)


@app.command
def cost(run: Path | None = None, *, plan: int = 1, published: str | None = None, type: Annotated[list[str] | None, Parameter(name="--type")] = None,
         disk: list[str] | None = None, region: str | None = None, term: str = "on-demand", load: str | None = None, groups: str | None = None, zones: int = 1,
         hours: float = 730.0, own: Path | None = None, as_json: Json = False) -> int:  # fmt: skip
    """Show what machines cost: line by line, an hour, a month, and for a million operations.

    Parameters
    ----------
    run
        The folder of a run: its systems, as machines of the types that are named. Or a file of plans that `size --save` wrote.
    plan
        Which of the plans; the first is the cheapest.
    published
        Instead of a run: what published results cost, e.g. packet-2016; or `all`.
    type
        SYSTEM=TYPE, e.g. kafka=aws/m7i.xlarge; once for each system.
    disk
        SYSTEM=SIZE, e.g. kafka=500GB: a disk of each host that is reached by the network.
    region
        Where the prices hold, e.g. us-east-1; if not given, the first that is known.
    term
        on-demand, 1y, 3y or spot.
    load
        Rates at which a million operations and the traffic are counted, e.g. ingest=300K; if not given, those that the run found.
    groups
        Consumer groups that read each record, e.g. 2, or ingest=2 of one workload: what they read goes between zones, too.
    zones
        Zones over which hosts and clients are spread: traffic between them costs.
    hours
        Hours of a month.
    own
        A file of your own machines, which go first; by default machines.yaml, if there is one.
    """
    from hydrotest.cli.commands.cost import cost

    return cost(run, plan, published, type or [], disk or [], region, term, load, groups, zones, hours, own, as_json)


@app.command(end_of_options_delimiter="")
def compare(first: Path, second: Annotated[Path, Parameter(allow_leading_hyphen=True)], *others: Annotated[Path, Parameter(allow_leading_hyphen=True)],
            as_json: Json = False) -> int:  # fmt: skip
    """Compare runs with the first of them: limits, latencies and use, each with an interval.

    Repeated runs show more: `compare A1 A2 A3 -- B1 B2 B3` measures how equal runs scatter, instead of assuming it.

    What differs in hardware, versions or settings is said first; a workload that was asked something else is not compared. Of runs
    that place the systems differently it shows where each workload takes more: on shared hosts, or on hosts of its own.
    """
    from hydrotest.cli.commands.compare import compare

    return compare([first, second, *others], as_json)


@app.command
def predict(*runs: Path, set: Annotated[list[str] | None, Parameter(name="--set")] = None,
            type: Annotated[list[str] | None, Parameter(name="--type")] = None, load: str | None = None, groups: str | None = None,
            together: str | None = None, workload: str | None = None, speed: float = 1.0, save: Path | None = None,
            experiment: Path | None = None, figure: Path | None = None, as_json: Json = False) -> int:  # fmt: skip
    """Predict limits at loads, settings and machines that were not measured, and what would bind there, each with its error.

    Exit code 4: the runs do not say. Then an experiment is printed that would.

    Parameters
    ----------
    runs
        Folders of runs; best of one with a `calibrate` test.
    set
        A change, e.g. kafka.hosts=6, hosts.cores=2x, ingest.record_size=1KB; may be given several times.
    type
        Another type of machine, e.g. aws/m7i.xlarge, or kafka=aws/m7i.xlarge; its cores count as fast as those that were measured,
        or by --speed.
    load
        Rates at which use and latency are shown, e.g. ingest=300K,store=2K; also what other systems on the same hosts do meanwhile.
    groups
        Consumer groups that read each record, e.g. 2, or ingest=2 of one workload; nobody if not given.
    together
        Workloads that are to run at once, e.g. ingest,store: at which share of their limits they can.
    workload
        Workloads and jobs that the question is about, e.g. ingest,scan; all if not given.
    speed
        Speed of the other machine's cores, as a multiple of these.
    save
        Write the prediction to a file, for `score`.
    experiment
        Write the experiment that would show it to a file.
    figure
        Write a page with the limit over the number of hosts.
    """
    from hydrotest.cli.commands.predict import predict_

    return predict_(runs, set or [], type or [], load, groups, together, workload, speed, save, experiment, figure, as_json)


@app.command
def score(prediction: Path, run: Path, *, as_json: Json = False) -> int:
    """Show what was predicted beside what a run then measured; later predictions carry the error that is found.

    Parameters
    ----------
    prediction
        A file that `predict --save` wrote.
    run
        The folder of the run that was made after it.
    """
    from hydrotest.cli.commands.predict import score_

    return score_(prediction, run, as_json)
