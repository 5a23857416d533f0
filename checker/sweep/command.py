"""`check sweep`: declares the form and its options. This module does not import the search.

In:  `Options`.
Out: `FORM`.
"""

from __future__ import annotations

from isrcheck.checker.command.check_options import DESCRIBE, FILES, SWEEP
from isrcheck.checker.command.form import Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.models.messages import UsageError

SWEPT = "kafka"
"""The model of a sweep if the command names no model."""

NOT_SWEPT = f"{{typed}} does not go with {SWEEP}, which searches one model explicitly; leave the option out"


def _refuse(options: Options) -> None:
    if not options.own["vary"]:
        raise UsageError(
            f"{SWEEP} needs --vary, as in: check {SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2"
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
            help="sweep: an entry, a switch, a Kafka key or `protocol`, and its values; one --vary for each key",
            is_repeated=True,
        ),
    ),
    goes_with=f"--vary goes with {SWEEP}, as in: check {SWEEP} kafka --vary {{value}}",
    refusals=dict.fromkeys(
        (*FILES, DESCRIBE), f"{{option}} does not go with {SWEEP}, which searches one model; leave the option out"
    )
    | {"--prove": NOT_SWEPT},
    refuse=_refuse,
    usual_target=SWEPT,
)
