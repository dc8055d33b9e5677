"""Reports that are given away: without what says where machines and clusters are, and who logs in there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hydrotest.spec.attach import attached
from hydrotest.spec.models import Experiment

_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
OF_HOSTS = ("address", "to", "command", "metrics", "server", "instance", "services", "host_key", "user", "authority")
"""Settings of a host that say how it is reached."""
OF_SECURITY = ("user", "authority", "certificate", "key")
"""The same of a cluster that is there already."""
PLAIN_LENGTH_MIN = 6
"""Of what cannot be anything else: it has a dot, a colon or an @, and is not shorter."""


class Mask:
    """What is hidden, by the same word wherever it stands."""

    def __init__(self, experiment: Experiment, environment: Mapping[str, Any]) -> None:
        """The names of hosts and workloads in the experiment stay: without them nothing could be read."""
        own = {*experiment.hosts, *experiment.workloads, *experiment.systems.present(), experiment.name}
        found = {*_of_hosts(experiment), *_of_clusters(experiment), *_of_contact(environment)} - own
        ordered = sorted((text for text in found if len(text) > 1), key=lambda text: (-len(text), text))
        self._words = {text: f"masked-{number}" for number, text in enumerate(ordered, 1)}

    def of_experiment(self, text: str) -> str:
        """The text of the experiment file; other addresses in it, in comments perhaps, are hidden, too."""
        return _ADDRESS.sub("masked", self._hide(text, self._words))

    def of_page(self, text: str) -> str:
        """A whole page. Only what cannot be a word of it is hidden: `exec` may be part of a command, and of the page."""
        plain = [word for word in self._words if len(word) >= PLAIN_LENGTH_MIN and re.search(r"[.:@]", word)]
        return self._hide(text, plain)

    def _hide(self, text: str, words: Iterable[str]) -> str:
        pattern = "|".join(map(re.escape, words))
        return re.sub(rf"(?<![A-Za-z0-9_])(?:{pattern})(?![A-Za-z0-9_])", lambda match: self._words[match[0]], text) if pattern else text


def _of_hosts(experiment: Experiment) -> Iterator[str]:
    for host in experiment.hosts.values():
        if host.is_remote or host.is_monitored:
            for key in OF_HOSTS:
                yield from _texts(getattr(host, key, None))


def _of_clusters(experiment: Experiment) -> Iterator[str]:
    for system in attached(experiment).values():
        yield from _texts(system.attach)
        for key in OF_SECURITY:
            yield from _texts(getattr(getattr(system, "security", None), key, None))


def _of_contact(environment: Mapping[str, Any]) -> Iterator[str]:
    there = environment.get("attached") or {}
    yield from _texts(there.get("identity"))
    for node in there.get("nodes", ()):
        yield from _texts(node.get("address"))


def _texts(value: object) -> Iterator[str]:
    """Texts, and the machine in each of them: `b1.prod` of `https://b1.prod:9090/x` and of `me@b1.prod`."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str):
            yield text
            yield re.sub(r"^\w+://", "", text).partition("/")[0].rpartition("@")[2].partition(":")[0]
