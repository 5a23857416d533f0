"""`check sweep`: its options, and what runs it. Importing it needs nothing of the search.

In:  `Options`, and a session.
Out: `FORM`.
"""

from __future__ import annotations

from isrcheck.checker.command.check_options import DESCRIBE, FILES, SWEEP
from isrcheck.checker.command.form import Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.models.messages.errors import UsageError

SWEPT = "kafka"
"""The model of a sweep that names none."""

NOT_SWEPT = f"{{typed}} does not go with {SWEEP}: the explorer searches a model there; leave it out"


def _refuse(options: Options) -> None:
    if not options.own["vary"]:
        raise UsageError(
            f"{SWEEP} varies nothing; say what, as in: check {SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2"
        )
    if options.engine not in ("local", "spark"):
        raise UsageError(NOT_SWEPT.format(typed=f"--engine {options.engine}"))


FORM = Form(
    name=SWEEP,
    word=SWEEP,
    module="isrcheck.checker.sweep.run",
    usage=(
        (
            "check sweep [MODEL] --vary KEY=V1,V2,... [--vary ...] [--bound N] ...",
            "a safety table over configurations",
        ),
    ),
    examples=(
        f"check {SWEEP} kafka --vary acks=0,1,all --bound 4",
        f"check {SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2 --bound 4",
        f"check {SWEEP} --vary protocol=0.10,2.1 --bound 4 --out sweeps",
    ),
    as_in=f"check {SWEEP} kafka --vary acks=0,1,all",
    own=(
        Option(
            name="--vary",
            metavar="KEY=V1,V2",
            help="sweep: an entry, a switch, a key of Kafka's or `protocol`, and its values; give it once for each key",
            is_repeated=True,
        ),
    ),
    goes_with=f"--vary goes with {SWEEP}, as in: check {SWEEP} kafka --vary {{value}}",
    refusals=dict.fromkeys(
        (*FILES, DESCRIBE), f"{{option}} does not go with {SWEEP}: the explorer searches a model there; leave it out"
    )
    | {"--prove": NOT_SWEPT},
    refuse=_refuse,
    usual_target=SWEPT,
)
