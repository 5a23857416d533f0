"""`check compare-schemes`: declares the form and its options. This module does not import the search.

In:  `Options`.
Out: `FORM`.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.command.form import EVERYTHING_ELSE, Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.models.messages import UsageError

COMPARE_SCHEMES = "compare-schemes"
"""The first argument that selects this form."""

MOST_REPLICAS = 7
"""The most replicas that the model `quorum_schemes` can have."""

EXAMPLE = f"check {COMPARE_SCHEMES} --most-replicas 3"

NO_MODEL = f"{{option}} does not go with {COMPARE_SCHEMES}, which has its own model; as in: {EXAMPLE}"


def _replicas(option: str, text: str) -> int:
    if not (text.isdecimal() and text.isascii()) or not 1 <= int(text[:9]) <= MOST_REPLICAS:
        raise UsageError(f"{option} {text}: not a number of replicas; give 1 to {MOST_REPLICAS}")
    return int(text)


def _file(option: str, text: str) -> Path:
    path = Path(text)
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"{option} {path}: not the name of a file in a folder that exists; give another name")
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option} {path}: exists already and is not overwritten; give another name")
    return path


def _refuse(options: Options) -> None:
    if options.target is not None:
        raise UsageError(NO_MODEL.format(option=options.target))


FORM = Form(
    name=COMPARE_SCHEMES,
    word=COMPARE_SCHEMES,
    module="isrcheck.checker.schemes.run",
    usage=(("check compare-schemes", "majority against ISR: failures tolerated, answers waited for"),),
    examples=(
        EXAMPLE,
        f"check {COMPARE_SCHEMES} --most-replicas 2 --json",
        f"check {COMPARE_SCHEMES} --most-replicas 2 --csv schemes.csv",
    ),
    as_in=EXAMPLE,
    own=(
        Option(
            name="--most-replicas",
            metavar="N",
            help=f"compare-schemes: 1 to N replicas (default: {MOST_REPLICAS}, which is the most)",
            read=_replicas,
        ),
        Option(name="--csv", metavar="FILE", help="compare-schemes: write the table to FILE, too", read=_file),
    ),
    goes_with=f"{{option}} goes with {COMPARE_SCHEMES}, as in: check {COMPARE_SCHEMES} {{option}} {{value}}",
    takes=frozenset({"--memory", "--seconds", "--threads", "--json"}),
    refusals={EVERYTHING_ELSE: NO_MODEL},
    rest=NO_MODEL,
    refuse=_refuse,
)
