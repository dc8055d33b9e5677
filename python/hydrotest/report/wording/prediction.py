"""Words of predictions."""

from __future__ import annotations

from hydrotest.predict.answer import Refused, Why
from hydrotest.units import show_bytes, show_duration, show_names

RESOURCES = {"cpu": "CPU", "network": "link", "disk": "disk"}


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
            return f"without any load the hosts of {about} would be full"
        case Why.INSEPARABLE:
            return f"the runs do not show well enough what {about} cost each: they rose together, or hardly changed"
        case Why.TOO_FEW:
            return f"too few windows of {about}; a `calibrate` test measures them"
        case Why.NOT_BOUND:
            return f"without a rate limit no resource of the hosts of {about} was full: what bound is not known"
        case Why.NO_FIT:
            return f"no law fits the windows of {about}: half of them are off by {refused.reach or 0.0:.0%} and more"
        case Why.MEMORY:
            return f"the rows of {about} would not fit into memory as they did when it was measured"


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
