"""`check --config`, `check --describe` and `isrcheck doctor`: reads the files, asks the questions, says the answer.

In:  `Options`, and a function that opens a session of searches.
Out: a `CommandResult` whose `found` is a `Doctored`; trace files.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from isrcheck.checker.command.options import OpenSession, Options
from isrcheck.checker.command.table import DOCTOR, TOPIC_NAME_ALONE
from isrcheck.checker.doctor.answer import Answer, Doctored, code_of
from isrcheck.checker.doctor.answering import answerer_of
from isrcheck.checker.doctor.as_object import as_object
from isrcheck.checker.doctor.asking import Asking, examine
from isrcheck.checker.doctor.cluster_table import table_lines
from isrcheck.checker.doctor.history import trace_of
from isrcheck.checker.doctor.now import now_of
from isrcheck.checker.doctor.text import answer_lines
from isrcheck.checker.kafka_config.cluster import Reading, read_clusters
from isrcheck.checker.kafka_config.describe import shows_a_cluster
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.questions.finding import History
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.resources.limits import Budget
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.models.messages import UsageError

SHOWN = {
    Topic.LOSS: "how an acknowledged record is lost",
    Topic.POWER: "how one loss of power loses a record",
    Topic.POWER_OF_ALL: "how a loss of power of all brokers loses a record",
    Topic.DISK: "how a lost disk loses a record",
}
"""What the traces of an answer show, beside those of known failures."""


def run(options: Options, opening: OpenSession) -> CommandResult:
    """Answer for every distinct configuration in the files. Raises UsageError for bad input."""
    budget = Budget(options.limits.seconds, 0, opening.began)
    answerer = answerer_of(options, opening, lambda: budget.left)
    reading = _read(options)
    progress = ProgressLine("doctor")
    began = time.monotonic()
    asking = Asking(
        answerer,
        options.limits,
        lambda: budget.left,
        lambda what: progress.tell(what, time.monotonic() - began),
    )
    answers = []
    with closing(answerer):
        for done, cluster in enumerate(reading.clusters):
            asking.part = 1 / (len(reading.clusters) - done)
            answers.append(examine(cluster, asking))
    progress.clear()
    now = now_of(reading.clusters)
    if len(answers) == 1:
        lines = answer_lines(answers[0], now, reading.remarks, details=options.output.details)
    else:
        lines = table_lines(answers, now, reading.remarks)
        if options.output.details:
            lines += [line for one in answers for line in ("", *answer_lines(one, now_of([one.cluster]), details=True))]
    files, failure = _traces(answers, options.output.folder) if _wants_traces(options, answers) else ({}, "")
    if files:
        commands = {shlex.join(["trace", "show", str(path)]): shows for path, shows in files.items()}
        lines += ["", *(f"{command}  # {shows}" for command, shows in commands.items())]
    code = code_of(answers, options.cluster.fail_on or (), strict=options.output.strict)
    return CommandResult(
        "\n".join(lines),
        as_object(answers, now, reading.remarks),
        code,
        failure,
        asking.is_interrupted,
        Doctored(answers, files, code),
    )


def _read(options: Options) -> Reading:
    """Read the files; one whose role is not told may be the output of one of Kafka's tools."""
    asked = options.cluster
    files, described = [], list(asked.describe)
    words = [options.model.target, *options.model.rest] if options.form.name == DOCTOR else []
    for role, path in (*asked.files, *((None, Path(word)) for word in words if word is not None)):
        if str(path) == "-" or (role is None and shows_a_cluster(path)):
            described.append(str(path))
        else:
            files.append((None if role is None else Role(role), path))
    if asked.topic_name is not None and not described:
        raise UsageError(TOPIC_NAME_ALONE)
    return read_clusters(files, asked.kafka_version, described, asked.topic_name, asked.metadata_version)


def _wants_traces(options: Options, answers: Sequence[Answer]) -> bool:
    """Whether the histories are written as traces, for which the model has to be loaded: not for a quick answer."""
    is_asked = options.output.details or options.cluster.fresh or "--out" in options.words or options.own.get("report")
    return len(answers) == 1 and bool(is_asked)


def _traces(answers: Sequence[Answer], out: Path) -> tuple[dict[Path, str], str]:
    """Write the histories of a single answer as traces; return the files with what they show, and why one could not be
    written."""
    from isrcheck.traces.format import files as folder

    found: dict[Path, str] = {}
    for shows, history in _histories(answers[0]):
        try:
            path = folder.write(trace_of(history), out)
        except UsageError as error:
            return found, str(error)
        found[path] = f"{found[path]}; {shows}" if path in found else shows
    return found, ""


def _histories(answer: Answer) -> Iterator[tuple[str, History]]:
    """Yield the histories of an answer, each with what it shows: a loss, or the title of a known failure."""
    shown = [(what, answer.findings.get(Question(topic))) for topic, what in SHOWN.items()]
    shown[1:1] = [(f"{one.failure.number} {one.failure.title}", one.finding) for one in answer.exposed]
    for shows, finding in shown:
        if finding is not None and finding.fails and finding.history is not None:
            yield shows, finding.history
