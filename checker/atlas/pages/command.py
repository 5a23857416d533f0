"""`check atlas` and `isrcheck atlas`: declares the form. This module imports no search.

In:  `Options`.
Out: `FORM`.
"""

from __future__ import annotations

from isrcheck.checker.command.form import EVERYTHING_ELSE, Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import folder
from isrcheck.models.messages import UsageError

ATLAS = "atlas"
EXAMPLE = f"isrcheck {ATLAS} -o DIR"


def _refuse(options: Options) -> None:
    if options.target is not None or options.rest:
        word = options.target or options.rest[0]
        if word.startswith("-"):
            raise UsageError(f"{word}: {ATLAS} has no such option; see isrcheck {ATLAS} --help")
        raise UsageError(f"{word}: {ATLAS} takes no model; leave it out, as in: {EXAMPLE}")
    if options.own["output"] is None:
        raise UsageError(f"{ATLAS} writes a folder of pages; name the folder with -o, as in: {EXAMPLE}")


FORM = Form(
    name=ATLAS,
    word=ATLAS,
    module="isrcheck.checker.atlas.pages.run",
    usage=((EXAMPLE, "the recorded answers for every combination of settings, as pages with filters"),),
    examples=tuple(f"check {ATLAS} -o {name}" for name in ("atlas", "atlas_of_kafka", "public/atlas")),
    as_in=EXAMPLE,
    own=(
        Option(
            name="-o",
            field="output",
            metavar="DIR",
            help=f"{ATLAS}: the folder for the pages; those of an earlier atlas are replaced",
            read=folder,
        ),
    ),
    refusals={EVERYTHING_ELSE: f"{{typed}} does not go with {ATLAS}, which searches nothing; leave the option out"},
    refuse=_refuse,
    opens=False,
)
