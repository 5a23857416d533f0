"""`check --config`, `check --describe` and `isrcheck doctor`: whether a cluster can lose records, by Kafka's files.

`run` reads the files, and answers in the form that the options ask for: the questions about each distinct configuration
(examining.py), a comparison (compare.py), a forecast of what happens if brokers fail (forecast.py), or a cluster that
is watched (watch.py).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from isrcheck.checker.answers.alerts import as_objects, as_yaml
from isrcheck.checker.answers.answer import Answer, Doctored, code_of
from isrcheck.checker.answers.answerers import answerer_of
from isrcheck.checker.answers.examining import Asking, examine
from isrcheck.checker.answers.findings import trace_of
from isrcheck.checker.answers.forecast import asked, foretell
from isrcheck.checker.answers.questions import Question, Topic
from isrcheck.checker.answers.report import answer_lines, as_object, now_of, table_lines
from isrcheck.checker.cluster.cluster import Cluster, Reading, clusters_of
from isrcheck.checker.cluster.contents import Contents, Described
from isrcheck.checker.cluster.formats.registry import read_files
from isrcheck.checker.cluster.racks import merged
from isrcheck.checker.cluster.releases import Role, Version
from isrcheck.checker.command.forms import LiveRequest, live_request_of
from isrcheck.checker.command.options import OpenSession, Options
from isrcheck.checker.command.table import DOCTOR
from isrcheck.checker.resources.limits import Budget
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.models.kafka.failures.catalogue import History
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.cluster.upgrade import Sides

SHOWN = {
    Topic.LOSS: "how an acknowledged record is lost",
    Topic.POWER: "how one loss of power loses a record",
    Topic.POWER_OF_ALL: "how a loss of power of all brokers loses a record",
    Topic.DISK: "how a lost disk loses a record",
}
"""What the trace of a finding shows, for each topic of questions whose findings have a trace."""


def run(options: Options, opening: OpenSession) -> CommandResult:
    """Answer what the options ask for. Raises UsageError for bad input."""
    live = live_request_of(options) if options.form.name == DOCTOR else None
    if events := asked(options.cluster):
        return _forecast(options, live, events)
    budget = Budget(options.limits.seconds, 0, opening.began)
    if live is not None and live.every is not None:
        _watch(options, live, opening)
    progress = ProgressLine("doctor")
    began = time.monotonic()
    with closing(answerer_of(options, opening, lambda: budget.left)) as answerer:
        asking = Asking(
            answerer, options.limits, lambda: budget.left, lambda text: progress.tell(text, time.monotonic() - began)
        )
        if options.own.get("compare") is not None or options.own.get("compare_with"):
            return _comparison(options, _sides(options, live), asking, progress)
        return _diagnosis(options, _read(options, live), asking, progress)


def _forecast(options: Options, live: LiveRequest | None, events: Sequence[str]) -> CommandResult:
    """Answer what happens to the partitions if brokers fail or restart; `events` are the options that ask for it."""
    if len(events) > 1:
        raise UsageError(f"{events[1]} does not go with {events[0]}; give one of them")
    for other in ("report", "compare", "compare-with", "alerts"):
        if options.own.get(other.replace("-", "_")):
            raise UsageError(f"--{other} does not go with {events[0]}; leave one of them out")
    if live is not None and live.every is not None:
        raise UsageError(f"{events[0]} goes with a single reading; leave out --watch and --metrics-port")
    reading = _read(options, live)
    return foretell(reading, options.cluster, details=options.output.details, strict=options.output.strict)


def _watch(options: Options, live: LiveRequest, opening: OpenSession) -> NoReturn:
    """Read a running cluster again and again, and answer for each reading, until the command is interrupted."""
    from isrcheck.checker.answers.watch import watch  # here, because only this option needs a server

    budget = Budget(options.limits.seconds, 0, opening.began)
    with closing(answerer_of(options, opening, lambda: budget.left)) as answerer:
        asking = Asking(answerer, options.limits, lambda: budget.left)

        def answers_of(reading: Reading) -> list[Answer]:
            nonlocal budget
            budget = Budget(options.limits.seconds, 0, time.monotonic())
            answers = _examined(reading.clusters, asking)
            if asking.is_interrupted:
                raise KeyboardInterrupt
            return answers

        watch(options, live, lambda: _read(options, live), answers_of)


def _diagnosis(options: Options, reading: Reading, asking: Asking, progress: ProgressLine) -> CommandResult:
    """Answer the questions about every distinct configuration, and write the files that the options ask for."""
    answers = _examined(reading.clusters, asking)
    progress.clear()
    now = now_of(reading.clusters, reading.doubts.lines())
    if len(answers) == 1:
        lines = answer_lines(answers[0], now, reading.remarks, details=options.output.details)
    else:
        lines = table_lines(answers, now, reading.remarks)
        if options.output.details:
            for answer in answers:
                lines += ["", *answer_lines(answer, now_of([answer.cluster]), details=True)]
    files, failure = _traces(options, answers)
    if files:
        lines += ["", *(f"{shlex.join(['trace', 'show', str(path)])}  # {shows}" for path, shows in files.items())]
    alerts: Path | None = options.own.get("alerts")
    if alerts is not None:
        from isrcheck.traces.format.files import put

        try:
            put(alerts, as_yaml(answers).encode(), replace=options.own["force"])
            lines += ["", f"{alerts}: alerting rules for Prometheus"]
        except UsageError as error:
            failure = failure or str(error)
    code = code_of(answers, options.cluster.fail_on or (), strict=options.output.strict)
    return CommandResult(
        "\n".join(lines),
        lambda: as_object(answers, now, reading.remarks) | {"alerts": as_objects(answers)},
        code,
        failure,
        asking.is_interrupted,
        Doctored(answers, files, code),
    )


def _examined(clusters: Sequence[Cluster], asking: Asking) -> list[Answer]:
    answers = []
    for done, cluster in enumerate(clusters):
        asking.part = 1 / (len(clusters) - done)
        answers.append(examine(cluster, asking))
    return answers


def _read(options: Options, live: LiveRequest | None) -> Reading:
    """Read the cluster that the command names, with the racks of --rack."""
    reading = clusters_of(_described(options, live), *_versions(options))
    given = ((broker, rack, f"--rack {rack}={broker}") for rack, brokers in options.cluster.racks for broker in brokers)
    return replace(reading, racks=merged(reading.racks, given))


def _described(options: Options, live: LiveRequest | None) -> Described:
    """Read the files of the command; a file without a role (broker, ...) is known by its content. If `live` is given,
    also read a running cluster."""
    words = [options.model.target, *options.model.rest] if options.form.name == DOCTOR else []
    files = [(None if role is None else Role(role), path) for role, path in options.cluster.files]
    files += [(None, Path(word)) for word in words if word is not None]
    known = None if live is None else _asked(live, options.cluster.topic_names)
    return read_files(files, options.cluster.describe, options.cluster.topic_names, known)


def _versions(options: Options) -> tuple[str | None, str | None]:
    return options.cluster.kafka_version, options.cluster.metadata_version


def _sides(options: Options, live: LiveRequest | None) -> Sides:
    """Read the two sides of a comparison: with --compare, the cluster before and after its brokers get this release;
    otherwise the cluster that the command names, and the cluster of the files of --compare-with."""
    from isrcheck.checker.cluster.upgrade import of_files, upgraded  # here, because few commands compare

    release: Version | None = options.own.get("compare")
    if release is not None:
        return upgraded(_described(options, live), *_versions(options), release)
    before = _read(options, live)
    others = read_files([(None, path) for path in options.own["compare_with"]], (), options.cluster.topic_names)
    return of_files(before, clusters_of(others, *_versions(options)))


def _comparison(options: Options, sides: Sides, asking: Asking, progress: ProgressLine) -> CommandResult:
    """Answer for both sides of a comparison."""
    from isrcheck.checker.answers.compare import compared, comparison_lines, comparison_object

    answers = _examined([*sides.before.clusters, *sides.after.clusters], asking)
    progress.clear()
    count = len(sides.before.clusters)
    pairs = compared(sides, answers[:count], answers[count:])
    return CommandResult(
        "\n".join(comparison_lines(sides, pairs, details=options.output.details)),
        lambda: comparison_object(sides, pairs),
        code_of(answers[count:], options.cluster.fail_on or (), strict=options.output.strict),
        is_interrupted=asking.is_interrupted,
    )


def _asked(live: LiveRequest, topics: tuple[str, ...]) -> Contents:
    """Read a running cluster, and keep what was read if --save asks for it. Raises UsageError or UndecidedError."""
    try:
        # Here, because kio may be absent, and because importing TLS takes a while; files need none of this.
        from isrcheck.checker.cluster.live.known import add_snapshot
        from isrcheck.checker.cluster.live.reader import Request, read_cluster
        from isrcheck.checker.cluster.live.security import read_security
        from isrcheck.checker.cluster.live.snapshot import save
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "kio":
            raise
        raise UsageError("--bootstrap-server needs kio, which is not installed: pip install 'isrcheck[wire]'") from None
    security = read_security(live.client, live.timeout)
    snapshot = read_cluster(Request(live.addresses, security, topics, live.timeout))
    if live.save is not None:
        save(snapshot, live.save)
    contents = Contents()
    add_snapshot(snapshot, contents)
    return contents


def _traces(options: Options, answers: Sequence[Answer]) -> tuple[dict[Path, str], str]:
    """Write the histories of the answer as trace files; return what each file shows, and an error (empty if none).
    Nothing is written if there are several answers. Writing loads the model, so it also requires one of the options
    --details, --fresh, --out and --report."""
    is_asked = options.output.details or options.cluster.fresh or "--out" in options.words or options.own.get("report")
    if len(answers) != 1 or not is_asked:
        return {}, ""
    from isrcheck.traces.format.files import write

    files: dict[Path, str] = {}
    for shows, history in _histories(answers[0]):
        try:
            path = write(trace_of(history), options.output.folder)
        except UsageError as error:
            return files, str(error)
        files[path] = f"{files[path]}; {shows}" if path in files else shows
    return files, ""


def _histories(answer: Answer) -> Iterator[tuple[str, History]]:
    """Yield, for each history of an answer, what it shows (a loss, or the title of a known failure) and the history."""
    loss, *others = [(shows, answer.findings.get(Question(topic))) for topic, shows in SHOWN.items()]
    defects = [(f"{one.failure.number} {one.failure.title}", one.finding) for one in answer.exposed]
    for shows, finding in (loss, *defects, *others):
        if finding is not None and finding.fails and finding.history is not None:
            yield shows, finding.history
