"""The options of `check` for a search that keeps its states on disk.

In:  the parsed command line. Out: a `DiskRequest`, or None.
"""

from __future__ import annotations

import argparse

from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import folder, minutes
from isrcheck.checker.disk.request import MINUTES, DiskRequest
from isrcheck.models.messages import UsageError

GROUP = "larger than memory"
MODEL = frozenset({"one model"})
OF_ONE_MODEL = "{option} goes with one model: name the model, as in: check kafka --protocol 2.1 {typed}"

DISK, RESUME, INTERVAL = DISK_OPTIONS = (
    Option(
        name="--disk",
        metavar="DIR",
        help="keep the states in DIR, so that they need not fit in memory; --memory is then for the whole process",
        read=folder,
        forms=MODEL,
        refusal=OF_ONE_MODEL,
        group=GROUP,
    ),
    Option(
        name="--resume",
        metavar="DIR",
        help="go on with the search in DIR from its last checkpoint; repeat the command, with --resume for --disk",
        read=folder,
        forms=MODEL,
        refusal=OF_ONE_MODEL,
        group=GROUP,
    ),
    Option(
        name="--checkpoint-minutes",
        metavar="N",
        help=f"write a checkpoint every N minutes, not only at the ends of levels (default: {MINUTES:g})",
        read=minutes,
        forms=MODEL,
        refusal=OF_ONE_MODEL,
        group=GROUP,
    ),
)
"""The options of a search on disk."""


def read_disk_options(known: argparse.Namespace) -> DiskRequest | None:
    """Read the options of a search on disk; None if there is none. Raises UsageError."""
    where, resumed, interval = (option.value(known) for option in DISK_OPTIONS)
    if where is None and resumed is None:
        if interval is not None:
            raise UsageError(f"{INTERVAL.name} goes with {DISK.name} DIR; add that, or leave {INTERVAL.name} out")
        return None
    if where is not None and resumed is not None:
        raise UsageError(f"{RESUME.name} goes on in the folder of the search; leave {DISK.name} out")
    option = DISK.name if resumed is None else RESUME.name
    if known.engine != "local":
        raise UsageError(f"{option} does not go with --engine {known.engine}; leave out one of them")
    if known.threads not in (None, "1"):
        raise UsageError(f"{option} searches on one thread; leave --threads out")
    for flag in ("--prove", "--counterexamples", "--tables"):
        if getattr(known, flag.lstrip("-")) not in (None, False):
            raise UsageError(f"{flag} needs states in memory; leave out {flag} or {option}")
    return DiskRequest(where or resumed, resumed is not None, MINUTES if interval is None else interval)
