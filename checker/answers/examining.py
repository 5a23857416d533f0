"""Asks all questions about one cluster, within the time of the command, and builds the answer.

The most important question comes first. If --seconds or Ctrl-C ends the command early, the remaining questions stay
open, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Protocol

from isrcheck.checker.answers.answer import Answer, Change, Exposure, Tried, case_of, fields_of, groups
from isrcheck.checker.answers.findings import Finding, without_search
from isrcheck.checker.answers.questions import Case, Question, Topic, defects_of, loses_data, losses_to_survive
from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named
from isrcheck.models.messages import UsageError

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

LOSS_WEIGHT, ADVICE_WEIGHT, SETTING_WEIGHT, BROKERS_WEIGHT = 8.0, 6.0, 0.5, 0.1
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

    def ask(self, case: Case, question: Question, share: float = 1.0) -> Finding:
        """Return the answer to a question; its search may take the fraction `share` of the time that is left."""
        if (case, question) in self.known:
            return self.known[case, question]
        if not self.is_interrupted:
            self.tell(in_words(question))
        left = self.left()
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
    shares = _Shares(LOSS_WEIGHT + ADVICE_WEIGHT + len(failures) + len(OTHERS))
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


@dataclass
class _Shares:
    """Divides the remaining time among questions by weight; `left` is the total weight of the questions to come."""

    left: float

    def next(self, weight: float = 1.0) -> float:
        """Return the fraction of the remaining time for the next question."""
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
    for change in chain.from_iterable(groups(case, most=1)):
        (setting,) = change.settings
        if (setting.field in named_there) == is_named:
            yield change
