"""`check --config`, `check --describe` and `isrcheck doctor`: tells from Kafka's files if a cluster can lose records.

The command reads the files, and asks questions about each distinct configuration, the most important question first. If
--seconds or Ctrl-C ends the command early, the remaining questions stay open, and the answer says so. The answers are
read from the atlas, a record of earlier searches (models/kafka/atlas). A search answers the questions that the atlas
does not answer, and all questions with --fresh, --set or --bound. The modules for searches are imported only for the
first search, because their import is slow.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from isrcheck.checker.answers.alerts import as_objects, as_yaml
from isrcheck.checker.answers.answer import (
    Answer,
    Change,
    Doctored,
    Exposure,
    Tried,
    case_of,
    code_of,
    fields_of,
    groups,
)
from isrcheck.checker.answers.findings import Finding, Search, trace_of, without_search
from isrcheck.checker.answers.forecast import asked, foretell
from isrcheck.checker.answers.questions import Case, Question, Topic, defects_of, loses_data, losses_to_survive
from isrcheck.checker.answers.recorded import Record, Recorded
from isrcheck.checker.answers.report import answer_lines, as_object, now_of, table_lines
from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.registry import read_clusters, read_files
from isrcheck.checker.cluster.racks import merged
from isrcheck.checker.cluster.releases import Role, Version
from isrcheck.checker.command.forms import LiveRequest, live_request_of
from isrcheck.checker.command.options import OpenSession, Options
from isrcheck.checker.command.table import DOCTOR
from isrcheck.checker.resources.limits import Budget, Limits
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine, counted
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import History, named
from isrcheck.models.language.model import parse, refuse_out_of_range
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.answers.searching import Searcher, SideBySide
    from isrcheck.checker.cluster.upgrade import Sides


LOSS = Question(Topic.LOSS)
OTHERS = (Topic.DUPLICATES, Topic.ORDER, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK)
ABOUT = {
    Topic.LOSS: "lost records",
    Topic.POWER: "a loss of power",
    Topic.POWER_OF_ALL: "a loss of power of all brokers",
    Topic.DISK: "a lost disk",
}
INTERRUPTED = "it was interrupted"
OUT_OF_TIME = "the time is over (--seconds)"

FIRST_SHARE, LOSS_WEIGHT, ADVICE_WEIGHT, SETTING_WEIGHT, BROKERS_WEIGHT = 1.0, 8.0, 6.0, 0.5, 0.1
"""The weights by which questions share the time: each question gets the remaining time times its weight, divided by the
sum of the weights still to come. Questions without a weight here weigh 1."""


Expected = tuple[Case, Question, float]
"""A later question about a case, with its weight."""


class Answerer(Protocol):
    """Answers questions about cases, by search or from the record; searches may begin early (`expect`)."""

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Begin the searches for these questions, in the given order, if several searches can run side by side. These
        searches and the later questions share the fraction `part` (0 to 1) of the remaining time by weight. The later
        questions have the total weight `reserve`."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question about a case. Raises KeyboardInterrupt if Ctrl-C was pressed before the search begins."""

    def close(self) -> None:
        """End all searches that still run."""


@dataclass
class Asking:
    """Asks questions about cases, each only once and within the time of the command, and keeps the answers."""

    answerer: Answerer
    limits: Limits = field(default_factory=Limits)
    left: Callable[[], float | None] = lambda: None
    """Returns the seconds that the command has left (None: no limit), of which this case gets the `part`."""
    tell: Callable[[str], None] = lambda text: None
    """A function that writes the current question to stderr."""
    part: float = 1.0
    known: dict[tuple[Case, Question], Finding] = field(default_factory=dict)
    """The answers so far, by case and question."""
    refused: set[tuple[Case, Question]] = field(default_factory=set)
    """The questions that the model refuses, each with its case."""
    is_interrupted: bool = False

    def expect(self, questions: Iterable[Expected], reserve: float) -> None:
        """Announce questions, so that their searches can begin; `reserve` is the total weight of later questions."""
        wanted = [expected for expected in questions if expected[:2] not in self.known]
        if wanted and not self.is_interrupted:
            self.answerer.expect(wanted, self.limits, reserve, self.part)

    def ask(self, case: Case, question: Question, share: float = FIRST_SHARE) -> Finding:
        """Return the answer to a question, whose search may take the fraction `share` of the time that is left."""
        if (case, question) in self.known:
            return self.known[case, question]
        left = self.left()
        if not self.is_interrupted:
            self.tell(in_words(question))
        within = self.limits if left is None else replace(self.limits, seconds=left * self.part * share)
        try:
            finding = self.answerer.answer(case, question, within)
        except KeyboardInterrupt:
            self.is_interrupted = True
            return without_search(Word.UNDECIDED, INTERRUPTED)
        except UsageError as error:  # the model does not have what the settings or the question name
            finding = without_search(Word.UNDECIDED, str(error))
            self.refused.add((case, question))
        self.known[case, question] = finding
        return finding

    def availability(self, case: Case) -> dict[Question, Finding]:
        """Return the findings, by question, on whether writes and reads work with 0, 1, ... brokers down."""
        return {question: self.ask(case, question) for question in _about_brokers(case)}


def in_words(question: Question) -> str:
    """Return a question in words, for the progress line."""
    if question.topic is Topic.DEFECT:
        return f"known defect {named(question.name).number}"
    if question.topic is Topic.SURVIVES:
        return f"{counted(question.number, 'broker')} lost for good"
    if question.topic in (Topic.WRITES, Topic.READS):
        return f"{question.topic.value} with {counted(question.number, 'broker')} down"
    return ABOUT.get(question.topic, question.topic.value)


OF_JAVA_CLIENTS = ("buffer_is_reused_in_flight",)
"""The known failures of the code of Kafka's own producer, which clients of other libraries do not have."""


def examine(cluster: Cluster, asking: Asking) -> Answer:
    """Ask all questions about a cluster, and return the answer."""
    case = case_of(cluster)
    # Clients keep their release if the brokers are upgraded (--compare).
    of_brokers, of_clients = (defects_of(case, release) for release in (cluster.release, cluster.consumer.release))
    if not cluster.producer.library.has_java_clients:
        of_clients = []
    failures = [
        named(question.name)
        for question in dict.fromkeys((*of_brokers, *of_clients))
        if question in (of_clients if question.name in OF_JAVA_CLIENTS else of_brokers)
    ]
    answer = Answer(cluster, case)
    is_searched = answer.why_undecidable in (None, cluster.generation.why_undecided)
    if answer.why_broken is not None or not is_searched:
        return answer
    shares = _Shares([LOSS_WEIGHT, ADVICE_WEIGHT, *[1.0] * (len(failures) + len(OTHERS))])
    topics = [*OTHERS, *([Topic.TRANSACTIONS] if case.transactions else [])]
    about_brokers = [*_about_brokers(case), *(Question(Topic.SURVIVES, lost) for lost in losses_to_survive(case))]
    # The questions after the known failures, in this order. The loss of a disk is left out: a rule may answer it.
    others = [(case, Question(topic), 1.0) for topic in topics if topic is not Topic.DISK]
    others += [(case, question, BROKERS_WEIGHT) for question in about_brokers]
    searched = [
        (failure, Question(Topic.DEFECT, name=failure.name)) for failure in failures if failure.history is not None
    ]
    expected = [(case, LOSS, LOSS_WEIGHT), *((case, question, 1.0) for _, question in searched)]
    asking.expect([*expected, *others], ADVICE_WEIGHT)
    findings = {LOSS: asking.ask(case, LOSS, shares.next(LOSS_WEIGHT))}
    exposures = []
    unsearched = [(failure, failure.why_not) for failure in failures if failure.history is None]
    for failure, question in searched:
        finding = asking.ask(case, question, shares.next())
        if finding.word is Word.NOT_APPLICABLE or (case, question) in asking.refused:
            unsearched.append((failure, finding.note))
        else:
            exposures.append(Exposure(failure, finding, loses_data(failure)))
    of_settings = [
        (change.of(case), Question(Topic.DEFECT, name=exposure.failure.name), SETTING_WEIGHT)
        for exposure in exposures
        for change in _smallest(_changes(exposure, case, is_named=True))
    ]
    asking.expect([*others, *of_settings], ADVICE_WEIGHT)
    for topic in topics:
        findings[Question(topic)] = asking.ask(case, Question(topic), shares.next())
    findings |= {question: asking.ask(case, question) for question in about_brokers}
    answer = _advised(Answer(cluster, case, findings, exposures, unsearched), asking, shares)
    asking.expect(of_settings, 0.0)
    answer = replace(answer, exposures=[_with_settings(exposure, case, asking, shares) for exposure in exposures])
    return replace(answer, is_interrupted=asking.is_interrupted)


def _about_brokers(case: Case) -> list[Question]:
    downs = range(case.replication_factor)
    return [Question(topic, number) for topic in (Topic.WRITES, Topic.READS) for number in downs]


class _Shares:
    """Divides the remaining time among questions by weight: `next` returns the fraction for the next question."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.left = sum(weights)

    def next(self, weight: float = 1.0) -> float:
        share = min(1.0, weight / max(self.left, weight))
        self.left -= weight
        return share


def _advised(answer: Answer, asking: Asking, shares: _Shares) -> Answer:
    """Return the answer with `changes`, the smallest changes of settings with which the searches find no lost record.
    If no change is found to help, return the answer with the reason as `why_no_change`. If the searches found no lost
    record with the present settings, return the answer unchanged."""
    case = answer.case
    if answer.loss is None or not (answer.loss.fails or answer.loses_with_one_broker):
        return answer
    share = shares.next(ADVICE_WEIGHT)
    is_open = False
    for every in groups(case):
        # With one replica nothing else helps: it has the only copy.
        group = [change for change in every if change.of(case).replication_factor > 1]
        asking.expect([(change.of(case), LOSS, ADVICE_WEIGHT / 2) for change in group], shares.left)
        tried = [_tried(change, case, asking, share / 2) for change in group]
        cures = {attempt.change: attempt for attempt in tried if attempt.is_cure}
        works = []
        for change in _smallest(cures):
            availability = asking.availability(change.of(case))
            # Where no write is acknowledged, even with all brokers up, nothing is lost, and nothing is gained.
            if availability[Question(Topic.WRITES)].word is not Word.UNREACHABLE:
                works.append(replace(cures[change], availability=availability))
        if works:
            return replace(answer, changes=works)
        is_open = is_open or any(attempt.is_open for attempt in tried)
    if is_open:
        why = INTERRUPTED if asking.is_interrupted else OUT_OF_TIME
        return replace(answer, why_no_change=f"not every change could be tried: {why}")
    return replace(answer, why_no_change="no change of one or two settings prevents it")


def _tried(change: Change, case: Case, asking: Asking, share: float) -> Tried:
    """Return the change with findings: can a record still be lost and, if not, does it survive the loss of a broker?"""
    changed = change.of(case)
    tried = Tried(change, asking.ask(changed, LOSS, share))
    if changed.acks != "all" or not tried.is_cure:
        return tried
    return replace(tried, survives_one=asking.ask(changed, Question(Topic.SURVIVES, 1)))


def _smallest(changes: Iterable[Change]) -> list[Change]:
    """Return the first change for each combination of settings; drop changes of the same settings to other values."""
    first: dict[tuple[str, ...], Change] = {}
    for change in changes:
        first.setdefault(tuple(setting.key for setting in change.settings), change)
    return list(first.values())


def _with_settings(exposure: Exposure, case: Case, asking: Asking, shares: _Shares) -> Exposure:
    """Return the exposure with `avoided_by`: for each setting that can prevent the failure, its smallest change. The
    settings that the library of known failures names for this failure are tried first; the other settings are tried
    only if the searches show that no named setting prevents it."""
    question = Question(Topic.DEFECT, name=exposure.failure.name)
    for is_named in (True, False):
        helping: dict[str, Tried] = {}
        is_open = False
        for change in _changes(exposure, case, is_named=is_named):
            (setting,) = change.settings
            if setting.key in helping:
                continue
            tried = Tried(change, asking.ask(change.of(case), question, shares.next(SETTING_WEIGHT)))
            if tried.is_gone:
                helping[setting.key] = replace(tried, availability=asking.availability(change.of(case)))
            is_open = is_open or not tried.finding.is_known
        if helping or is_open:
            return replace(exposure, avoided_by=tuple(helping.values()), is_tried=not is_open)
    return exposure


def _changes(exposure: Exposure, case: Case, *, is_named: bool) -> Iterator[Change]:
    """Yield changes of one setting that may avoid the failure of an exposure. If `is_named`, only settings that the
    library of known failures names for the failure are changed, otherwise only the other settings."""
    if not exposure.is_shown or exposure.is_of_disks:
        return
    named_there = {field for change in exposure.failure.changes for field in fields_of(change)}
    for group in groups(case, most=1):
        for change in group:
            (setting,) = change.settings
            if (setting.field in named_there) == is_named:
                yield change


# --- Who answers ---

SIZES = ("records", "log_size", "partition_changes")
"""Bounds that --set can raise in addition to the budgets of faults."""


MOST_PROCESSES = 4
"""The number of simultaneous searches: with more, the last searches run alone for most of the time."""


def answerer_of(options: Options, opening: OpenSession, left: Callable[[], float | None]) -> Answerer:
    """Return the `Answerer` for a command that has `left()` seconds left. Raises UsageError for an entry of --set that
    is neither a number of faults nor a size."""
    searches = Searches(opening, budgets_of(options.model.settings), left)
    return searches if searches.budgets or options.cluster.fresh else FromTheAtlas(searches)


def budgets_of(settings: Sequence[str]) -> dict[str, int]:
    """Read budgets (numbers of faults, sizes) from `--set NAME=VALUE`. Raises UsageError for a bad NAME or VALUE."""
    if not settings:
        return {}
    from isrcheck.models.kafka.generations import MODEL  # here, for few commands raise budgets

    budgets = {}
    for text in settings:
        name, _, value = text.partition("=")
        entry = MODEL.entries.get(name)
        if entry is None or not (entry.is_budget or name in SIZES):
            raise UsageError(
                f"--set {text}: neither a number of faults nor a size of the search; the files configure the cluster,"
                " and --set can only raise faults and sizes, as in --set crashes=2"
            )
        budgets[name] = parse(name, entry, value)
        refuse_out_of_range(name, entry, budgets[name])
    return budgets


class FromTheAtlas:
    """Answers from the record of the atlas, otherwise by search; reports once if the record is outdated or damaged."""

    def __init__(self, searches: Answerer, record: Record | None = None) -> None:
        """`searches` answers what the record does not answer. Without a `record`, the record in the package is used."""
        self.searches = searches
        self.recorded = Recorded(record)
        self._findings: dict[tuple[Case, Question], Finding | None] = {}
        self._is_announced = False

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Begin the searches for the questions that the atlas does not answer (see `Answerer.expect`)."""
        lacking = [expected for expected in questions if self._find(*expected[:2], limits) is None]
        self.searches.expect(lacking, limits, reserve, part)

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question from the record or by search. Raises KeyboardInterrupt as `Answerer.answer` does."""
        return self._find(case, question, limits) or self.searches.answer(case, question, limits)

    def close(self) -> None:
        """End all searches."""
        self.searches.close()

    def _find(self, case: Case, question: Question, limits: Limits) -> Finding | None:
        """Return the recorded answer; None if no answer is recorded, or if the limits set a depth (--bound). Only a new
        search keeps to that depth. Each answer is read from the record only once."""
        if limits.depth is not None:
            return None
        if (case, question) not in self._findings:
            self._findings[case, question] = self.recorded.find(case, question)
            why = self.recorded.outdated or ("it cannot be read" if self.recorded.record is None else "")
            if why and not self._is_announced:
                self._is_announced = True
                ProgressLine("atlas").announce(f"the recorded answers are not used: {why}; searching again")
        return self._findings[case, question]


class Searches:
    """Answers by search, with at least the given budgets of faults. If several questions are expected and more than one
    thread is allowed, the searches run side by side in processes; otherwise one after the other in a session."""

    def __init__(self, opening: OpenSession, budgets: Mapping[str, int], left: Callable[[], float | None]) -> None:
        self.opening = opening
        self.budgets = budgets
        self.left = left
        self.searcher: Searcher | None = None
        self.several: SideBySide | None = None

    def expect(self, questions: Sequence[Expected], limits: Limits, reserve: float, part: float) -> None:
        """Begin the searches for these questions, side by side if possible (see `Answerer.expect`)."""
        count = min(limits.threads, MOST_PROCESSES)
        if self.searcher is None and (count == 1 or len(questions) <= 1):
            return
        if self.searcher is None:
            from isrcheck.checker.answers.searching import Searcher, SideBySide

            self.several = SideBySide(count, self.left)
            self.searcher = Searcher(self.several, self.budgets)
        if self.several is None:
            return
        searches: list[tuple[Search, float]] = []
        for case, question, weight in questions:
            planned = self._planned(case, question)
            searches += [(search, weight / len(planned)) for search in planned]
        self.several.expect(searches, limits, reserve, part)

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question by search. Raises KeyboardInterrupt as `Answerer.answer` does."""
        if self.searcher is None:
            from isrcheck.checker.answers.searching import EarlyAnswer, InThisProcess, Searcher

            session = self.opening.open(progress_line=EarlyAnswer)
            self.searcher = Searcher(InThisProcess(session), self.budgets)
        return self.searcher.answer(case, question, limits)

    def close(self) -> None:
        """End all searches."""
        if self.several is not None:
            self.several.close()

    def _planned(self, case: Case, question: Question) -> Sequence[Search]:
        assert self.searcher is not None
        try:
            searches = self.searcher.plan(case, question)
        except UsageError:  # it is raised again when the question is asked
            return ()
        return () if isinstance(searches, str) else searches


# --- The command ---

SHOWN = {
    Topic.LOSS: "how an acknowledged record is lost",
    Topic.POWER: "how one loss of power loses a record",
    Topic.POWER_OF_ALL: "how a loss of power of all brokers loses a record",
    Topic.DISK: "how a lost disk loses a record",
}
"""For each topic of a question, what the trace of its finding shows."""


def run(options: Options, opening: OpenSession) -> CommandResult:
    """Answer the questions about every distinct configuration in the files. Raises UsageError for bad input."""
    live = live_request_of(options) if options.form.name == DOCTOR else None
    if events := asked(options.cluster):
        if len(events) > 1:
            raise UsageError(f"{events[1]} does not go with {events[0]}; give one of them")
        for other in ("report", "compare", "compare-with", "alerts"):
            if options.own.get(other.replace("-", "_")):
                raise UsageError(f"--{other} does not go with {events[0]}; leave one of them out")
        if live is not None and live.every is not None:
            raise UsageError(f"{events[0]} goes with a single reading; leave out --watch and --metrics-port")
        reading = _read(options, live)
        return foretell(reading, options.cluster, details=options.output.details, strict=options.output.strict)
    budget = Budget(options.limits.seconds, 0, opening.began)
    answerer = answerer_of(options, opening, lambda: budget.left)
    if live is not None and live.every is not None:
        from isrcheck.checker.answers.watch import watch  # here, for only this option needs a server

        watching = Asking(answerer, options.limits, lambda: budget.left)

        def answers_of(reading: Reading) -> list[Answer]:
            nonlocal budget
            budget = Budget(options.limits.seconds, 0, time.monotonic())
            answers = _examined(reading.clusters, watching)
            if watching.is_interrupted:
                raise KeyboardInterrupt
            return answers

        with closing(answerer):
            watch(options, live, lambda: _read(options, live), answers_of)
    release: Version | None = options.own.get("compare")
    progress = ProgressLine("doctor")
    began = time.monotonic()
    asking = Asking(
        answerer, options.limits, lambda: budget.left, lambda text: progress.tell(text, time.monotonic() - began)
    )
    if release is not None or options.own.get("compare_with"):
        sides = _sides(options, live, release)
        with closing(answerer):
            result = _comparison(options, sides, asking)
        progress.clear()
        return result
    reading = _read(options, live)
    with closing(answerer):
        answers = _examined(reading.clusters, asking)
    progress.clear()
    now = now_of(reading.clusters)
    if len(answers) == 1:
        lines = answer_lines(answers[0], now, reading.remarks, details=options.output.details)
    else:
        lines = table_lines(answers, now, reading.remarks)
        if options.output.details:
            for answer in answers:
                lines += ["", *answer_lines(answer, now_of([answer.cluster]), details=True)]
    files, failure = _traces(options, answers)
    if files:
        commands = {shlex.join(["trace", "show", str(path)]): shows for path, shows in files.items()}
        lines += ["", *(f"{command}  # {shows}" for command, shows in commands.items())]
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


def _read(options: Options, live: LiveRequest | None = None) -> Reading:
    """Read the cluster from the files of the command, and from a running cluster (see `_inputs`)."""
    cluster, (files, known) = options.cluster, _inputs(options, live)
    names = cluster.topic_names, cluster.metadata_version, known
    reading = read_clusters(files, cluster.kafka_version, cluster.describe, *names)
    given = ((broker, rack, f"--rack {rack}={broker}") for rack, brokers in cluster.racks for broker in brokers)
    return replace(reading, racks=merged(reading.racks, given))


def _inputs(options: Options, live: LiveRequest | None) -> tuple[list[tuple[Role | None, Path]], Contents | None]:
    """Return the files of the command; a file without a role (broker, ...) is known by its content. If `live` is given,
    also ask the brokers of a running cluster, and return what they answer."""
    words = [options.model.target, *options.model.rest] if options.form.name == DOCTOR else []
    files = [(None if role is None else Role(role), path) for role, path in options.cluster.files]
    files += [(None, Path(word)) for word in words if word is not None]
    return files, None if live is None else _asked(live, options.cluster.topic_names)


def _sides(options: Options, live: LiveRequest | None, release: Version | None) -> Sides:
    """Read the two sides of a comparison: with a `release`, the cluster before and after its brokers have this release;
    otherwise what the command names, and the files of --compare-with."""
    from isrcheck.checker.cluster.upgrade import of_files, upgraded  # here, for few commands compare

    if release is None:
        others = [(None, path) for path in options.own["compare_with"]]
        names = options.cluster.kafka_version, (), options.cluster.topic_names, options.cluster.metadata_version
        return of_files(_read(options, live), read_clusters(others, *names))
    cluster, (files, known) = options.cluster, _inputs(options, live)
    described = read_files(files, cluster.describe, cluster.topic_names, known)
    return upgraded(described, cluster.kafka_version, cluster.metadata_version, release)


def _comparison(options: Options, sides: Sides, asking: Asking) -> CommandResult:
    """Answer for both sides of a comparison."""
    from isrcheck.checker.answers.compare import compared, comparison_lines, comparison_object

    answers = _examined([*sides.before.clusters, *sides.after.clusters], asking)
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
    findings = [(shows, answer.findings.get(Question(topic))) for topic, shows in SHOWN.items()]
    findings[1:1] = [
        (f"{exposure.failure.number} {exposure.failure.title}", exposure.finding) for exposure in answer.exposed
    ]
    for shows, finding in findings:
        if finding is not None and finding.fails and finding.history is not None:
            yield shows, finding.history
