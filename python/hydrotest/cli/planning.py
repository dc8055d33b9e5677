"""Commands from what was measured to what was not: predictions, machines to buy, costs, fleets.
Each imports what carries it out when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from hydrotest.cli.options import Flag, Json

commands = App()
catalogue_app = App(name="catalogue", help="Types of machines, with what they have and what they cost. Nothing is fetched.")
commands.command(catalogue_app)


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


@commands.command
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


@commands.command
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


@commands.command
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


@commands.command
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


@commands.command
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


@commands.command
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
