"""Words of predictions."""

from __future__ import annotations

from hydrotest.predict.answer import NoLatency, Refused, Twice, Why
from hydrotest.predict.plan import Reason
from hydrotest.units import show_bytes, show_count, show_duration, show_names

RESOURCES = {"cpu": "CPU", "network": "link", "disk": "disk", "law": "what the runs show"}


def resource_words(resource: str) -> str:
    """A resource."""
    return RESOURCES[resource]


def refused_words(refused: Refused) -> str:
    """Why nothing is predicted."""
    about = show_names(refused.about)
    match refused.why:
        case Why.NOT_MODELLED:
            return f"no law is known of {about}"
        case Why.SETTING:
            return f"{about} {'is' if len(refused.about) == 1 else 'are'} not as in any of the runs, and no law says what that costs"
        case Why.TOO_FAR:
            return f"too far from what was measured in {about}" + (f" ({refused.reach:.2g} times)" if refused.reach is not None else "")
        case Why.TOO_MANY:
            return f"{about} are all beyond what was measured; at most two numbers may be"
        case Why.FULL:
            return f"nothing of the hosts of {about} is left for it"
        case Why.INSEPARABLE:
            return f"the runs do not show well enough what {about} cost each: they rose together, or hardly changed"
        case Why.TOO_FEW:
            return f"too few windows of {about}; a `calibrate` test measures them"
        case Why.NOT_BOUND:
            return f"at its limit no resource of the hosts of {about} was full: what bound is not known"
        case Why.NO_FIT:
            return f"no law fits the windows of {about}: half of them are off by {refused.reach or 0.0:.0%} and more"
        case Why.MEMORY:
            return f"the rows of {about} would not fit into memory as they did when it was measured"
        case Why.SHARED:
            return f"parts of {about} share machines with each other or with its source, so that no reading shows what each needs"
        case Why.SOFT:
            return f"{about} uses CPU that it does not need, and how much of that others on its hosts get is not known; a `combined` test measures both at once"
        case Why.LOG:
            return f"the event log {about} is not there, or was cut before these tests: restore it, or run them again"
        case Why.NO_LIMIT:
            return f"the limit of {about} at an objective on its latency was not measured: an `isolated` test does"


def no_latency_words(why: NoLatency) -> str:
    """Why no latency is predicted."""
    match why:
        case NoLatency.NOT_ASKED:
            return "no load is asked for"
        case NoLatency.QUOTA:
            return "its hosts have their cores by a quota, whose pauses no machine has (`cores: whole` gives whole ones)"
        case NoLatency.LEVELS:
            return "fewer than four loads of it were measured on whole cores"
        case NoLatency.SETTING:
            return "none of the loads was measured with these settings"
        case NoLatency.ABOVE:
            return "the load is above those that were measured, or above 90 % of the limit"
        case NoLatency.SHARED:
            return "others use the same hosts"
        case NoLatency.SCATTER:
            return "loads that were left out were missed by more than twice"
        case NoLatency.GROUPS:
            return "consumer groups are to read its records, and no latency was measured meanwhile"


def twice_words(twice: Twice) -> str:
    """What twice the limit takes."""
    parts = [
        *([] if twice.hosts is None else [f"{show_count(twice.hosts, 'host')} like these"]),
        *([] if twice.cores is None else [f"{twice.cores:.2g} times the cores of each"]),
    ]
    return " or ".join(parts) or "neither four times the hosts nor four times the cores carry it"


def reason_words(why: Reason) -> str:
    """Why a machine is not taken."""
    match why:
        case Reason.CPU:
            return "too few cores"
        case Reason.NETWORK:
            return "its link carries too little for as long as one likes"
        case Reason.DISK:
            return "its disks by the network write too little for as long as one likes"
        case Reason.DATA:
            return "its own disks are too small"
        case Reason.MEMORY:
            return "less memory than the hosts that were measured"
        case Reason.FAR:
            return "more than four times the cores that were measured (--far takes them)"
        case Reason.HOSTS:
            return "more than four times the hosts that were measured (--far takes them)"
        case Reason.LAW:
            return "the runs do not show what that takes on so many hosts, or on one less"
        case Reason.NO_PRICE:
            return "its price is not known"
        case Reason.NOT_KNOWN:
            return "what it sustains is not known"


def biased_words(factor: float) -> str:
    """A model that is wrong in one direction, by the user's last runs."""
    return f"the last predictions that were scored are all wrong in one direction: runs gave {factor:.2f} times what was predicted"


def number_words(axis: str, value: float) -> str:
    """A number of a prediction, with its unit."""
    key = axis.rpartition(".")[2]
    match key:
        case "network" | "disk":
            return f"{show_bytes(value)}/s"
        case "record_size" | "batch_size" | "row":
            return show_bytes(value)
        case "linger":
            return show_duration(value)
        case "mix":
            return f"{value - 1:.0%} writes"
        case "keys":
            return f"{value:,.0f} rows"
        case "consistency":
            return f"{value:g} replicas asked"
        case "cores":
            return f"{value:.3g}"
    return f"{value:,.4g}"
