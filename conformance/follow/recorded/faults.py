"""The faults of brokers in recordings, and the notes, written by a person, that name a fault: `kill -9 broker 1`.

Recordings made before `conform record` had commands for faults contain faults only as such notes.
"""

from __future__ import annotations

import re
from enum import Enum


class FaultKind(Enum):
    KILL = "kill -9"
    FREEZE = "freeze"
    THAW = "thaw"
    START = "start"
    STOP = "stop (controlled shutdown)"
    CUT = "cut"
    """The broker and a controller do not reach each other; the broker's session may expire while it runs."""


ALLOWED = {
    FaultKind.KILL: ("running", "frozen"),
    FaultKind.FREEZE: ("running",),
    FaultKind.THAW: ("frozen",),
    FaultKind.START: ("killed", "shut down"),
    FaultKind.STOP: ("running",),
    FaultKind.CUT: ("running", "frozen", "killed", "shut down"),
}
"""The conditions of a broker in which each fault is possible."""

BECOMES = {
    FaultKind.KILL: "killed",
    FaultKind.FREEZE: "frozen",
    FaultKind.THAW: "running",
    FaultKind.START: "running",
    FaultKind.STOP: "shut down",
}

WORDS = {
    "kill -9": FaultKind.KILL,
    "kill": FaultKind.KILL,
    "sigkill": FaultKind.KILL,
    "freeze": FaultKind.FREEZE,
    "sigstop": FaultKind.FREEZE,
    "thaw": FaultKind.THAW,
    "sigcont": FaultKind.THAW,
    "start": FaultKind.START,
    "stop": FaultKind.STOP,
    "sigterm": FaultKind.STOP,
}
"""The words for each fault, in lower case. `kill` without a signal number is kill -9, as in `conform record`."""

FAULT = re.compile(rf"({'|'.join(WORDS)}) broker ([0-9]{{1,9}})(?: ?\(.*\))?", re.IGNORECASE)
"""A fault of a broker, optionally followed by a remark in brackets."""

MAYBE = re.compile(
    r"\b(kill|sig[a-z]+|freeze|froze|thaw|paus|resum|start|restart|stop|shut|crash|halt|reboot|power|unplug|cut\b|partition"
    r"|isolat|disconnect|cable|iptables|tc\b|wipe|delete|disk)",
    re.IGNORECASE,
)
"""Words of remarks that may be about a fault."""


def fault_in(text: str) -> tuple[FaultKind, int] | None:
    """The fault that a note names, with its broker; None: the note is not the name of a fault and a broker."""
    match = FAULT.fullmatch(text.strip())
    return None if match is None else (WORDS[match[1].lower()], int(match[2]))


def may_be_fault(text: str) -> bool:
    """Whether a note may be about a fault that no line records; if so, no later line can be rejected with certainty."""
    return fault_in(text) is None and MAYBE.search(text) is not None
