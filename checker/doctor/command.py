"""`check --config`, `check --describe` and `isrcheck doctor`: declares the forms. This module imports no search.

In:  `Options`.
Out: `FORMS`.
"""

from __future__ import annotations

from dataclasses import replace

from isrcheck.checker.command.check_options import (
    CONFIG,
    DESCRIBE,
    DOCTOR,
    OF_A_MODEL,
    TOPIC_NAME_ALONE,
)
from isrcheck.checker.command.form import Form, Options
from isrcheck.checker.resources.limits import SECONDS_FOR_A_CLUSTER
from isrcheck.models.command_line import alike
from isrcheck.models.messages import UsageError

_ABOUT_ONE_MODEL = "{typed} does not go with {form}; name a model, as in: check kafka {typed}"
_FILES_SAY = "{option} does not go with {form}: the files configure the cluster; leave {option} out"


def _refuse(options: Options) -> None:
    if options.target is not None:
        raise UsageError(f"{options.form.name} is for a cluster, {options.target} is a model: give only one of them")
    _refuse_topic_name(options)


def _refuse_for_doctor(options: Options) -> None:
    for word in options.rest:
        if word.startswith("--"):
            name, close = word.partition("=")[0], alike(word, options.reserved)
            cure = f"; did you mean {close}?" if close is not None else "; see isrcheck doctor --help"
            raise UsageError(f"{name} is no option of doctor{cure}")
    if options.target is None and not options.files and not options.describe:
        raise UsageError("doctor needs a file, as in: isrcheck doctor server.properties topics.txt")


def _refuse_topic_name(options: Options) -> None:
    if options.topic_name is not None and not options.describe:
        raise UsageError(TOPIC_NAME_ALONE)


_CONFIG = Form(
    name=CONFIG,
    module="isrcheck.checker.doctor.run",
    usage=(
        ("check --config FILE [--config FILE ...]", "Kafka's .properties files -> can this cluster lose a record?"),
    ),
    examples=("check --config models/examples/durable_topic.properties --kafka-version 2.1",),
    refusals=dict.fromkeys((one for one in OF_A_MODEL if one != "--set"), _FILES_SAY)
    | dict.fromkeys(("--engine", "--prove"), _ABOUT_ONE_MODEL)
    | dict.fromkeys(("--continue", "--no-deadlock"), "{option} does not go with {form}; leave {option} out"),
    rest=_FILES_SAY,
    refuse=_refuse,
    seconds=SECONDS_FOR_A_CLUSTER,
    opens=False,
    answer_stands=True,
)

_DESCRIBE = replace(
    _CONFIG,
    name=DESCRIBE,
    usage=(
        (
            "check --describe FILE [--config FILE ...]",
            "output of kafka-topics --describe -> the answer for every topic",
        ),
    ),
    examples=(),
)

_DOCTOR = replace(
    _CONFIG,
    name=DOCTOR,
    word=DOCTOR,
    usage=(
        (
            "isrcheck doctor FILE [FILE ...]",
            "can this cluster lose a record, and what to change? (files of both kinds)",
        ),
    ),
    examples=(
        "check doctor server.properties topic.properties producer.properties --kafka-version 3.9",
        "check doctor topics.txt server.properties --topic-name orders",
        "check doctor topics.txt --fail-on can-lose,defects,unknown",
    ),
    as_in="isrcheck doctor server.properties",
    files=".properties files, and the output of kafka-topics --describe and the like; - is standard input",
    rest="",
    refuse=_refuse_for_doctor,
)

FORMS = (_CONFIG, _DESCRIBE, _DOCTOR)
"""The forms of the operator's answer, which differ in how files are given."""
