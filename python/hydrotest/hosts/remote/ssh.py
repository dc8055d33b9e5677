"""OpenSSH's client as the way to a host: its command, and what its refusals mean."""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.spec.hosts import SshHost

CONNECT_S = 10
ALIVE_S = 5
"""Interval of ssh's own questions whether the other side is there; three without an answer end it."""
OPTIONS = (
    "BatchMode=yes", f"ConnectTimeout={CONNECT_S}", f"ServerAliveInterval={ALIVE_S}", "ServerAliveCountMax=3",
    "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "RemoteCommand=none", "RequestTTY=no",
)  # fmt: skip
"""Nobody is there to be asked, and the session carries nothing but the hub."""
ALONE = ("ControlMaster=no", "ControlPath=none")
"""A connection of its own: it does not end with one of the user's."""


def command(host: SshHost, known_hosts: Path | None, script: str) -> Sequence[str]:
    """The command that carries a script out there by a POSIX shell.

    `known_hosts`: a file that holds the host's key under its alias; None: the user's own files decide.
    """
    options = [*OPTIONS, *(() if host.share else ALONE)]
    if known_hosts is not None:
        options += [f"UserKnownHostsFile={_quoted(known_hosts)}", "GlobalKnownHostsFile=/dev/null", f"HostKeyAlias={known_hosts.name}",
                    "VerifyHostKeyDNS=no", "StrictHostKeyChecking=yes"]  # fmt: skip
    else:
        # The user's files, but never a key that nobody has looked at.
        options.append("StrictHostKeyChecking=yes")
    return ["ssh", "-T", *(part for option in options for part in ("-o", option)), "--", host.to, f"exec sh -c {shlex.quote(script)}"]


def _quoted(path: Path) -> str:
    """A path as ssh_config(5) takes it whole: it parts at blanks, and has a meaning for `%`."""
    return '"' + str(path).replace("%", "%%") + '"'


class Refusal(enum.Enum):
    """Why there is no session."""

    UNKNOWN_NAME = enum.auto()
    NOBODY = enum.auto()
    CHANGED_KEY = enum.auto()
    UNKNOWN_KEY = enum.auto()
    NOT_LET_IN = enum.auto()
    NO_SHELL = enum.auto()
    NOT_EXECUTED = enum.auto()
    TOO_OLD = enum.auto()
    FULL_DISK = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True)
class Meaning:
    """A refusal, by what ssh or the shell there says; and its remedy."""

    refusal: Refusal
    said: str
    """A regular expression."""
    what: str
    remedy: str


MEANINGS = (
    Meaning(Refusal.UNKNOWN_NAME, r"Could not resolve hostname|Name or service not known", "its name does not resolve",
            "Correct `to:`, or give it an entry in ~/.ssh/config."),
    Meaning(Refusal.CHANGED_KEY, r"REMOTE HOST IDENTIFICATION HAS CHANGED", "it shows another key than the one that is known",
            "Find out why: a new machine at an old address, or somebody in between. Then correct `host_key:`, or your known_hosts (ssh-keygen -R)."),
    Meaning(Refusal.UNKNOWN_KEY, r"Host key verification failed|No \S+ host key is known", "its key is not known",
            "Log in once by hand and compare its fingerprint, or give `host_key:`."),
    Meaning(Refusal.NOT_LET_IN, r"Permission denied \(|Too many authentication failures|no mutual signature", "it does not let you in",
            "`ssh` by hand must work without a question: add your key there, load it into your agent, or name it in ~/.ssh/config."),
    Meaning(Refusal.NOBODY, r"Connection refused|timed out|No route to host|Network is unreachable|Connection closed by|kex_exchange_identification",
            "nobody answers there", "Is it up, and does its firewall let ssh in from here?"),
    Meaning(Refusal.FULL_DISK, r"No space left on device|Disk quota exceeded", "the disk of your home there is full",
            "Free some 30 MB there, or set XDG_CACHE_HOME there to another disk."),
    Meaning(Refusal.NOT_EXECUTED, r"Exec format error|cannot execute|Permission denied|required file not found",
            "hydrotest-node does not run there", "Is your home there mounted `noexec`? Set XDG_CACHE_HOME there to a directory that is not."),
    Meaning(Refusal.TOO_OLD, r"GLIBC_|error while loading shared libraries", "hydrotest-node does not run there: its C library is older than the one of this machine",
            "Use hosts with the same distribution as this machine, or a newer one."),
    Meaning(Refusal.NO_SHELL, r"not found|No such file", "a command is missing there", "It needs sh, uname, head, cut and sha256sum (coreutils or BusyBox)."),
)  # fmt: skip
"""In this order: a later one may be said besides an earlier one."""
UNKNOWN = Meaning(Refusal.OTHER, "", "it cannot be reached", "Try the command by hand.")


def meaning_of(said: str) -> Meaning:
    """What a refusal means. ssh tells only in words: they are all that there is."""
    return next((meaning for meaning in MEANINGS if re.search(meaning.said, said)), UNKNOWN)
