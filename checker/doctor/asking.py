"""Asks the questions of a case, the most important first, within the time of the command.

In:  a `Cluster`, and something that answers questions: the searches, or the atlas (checker/questions).
Out: an `Answer`. Ctrl-C and the end of the time leave the remaining questions open, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from isrcheck.checker.doctor.answer import Advice, Answer, Availability, Exposure, Tried
from isrcheck.checker.doctor.case_of import case_of
from isrcheck.checker.doctor.changes import Change, fields_of, groups
from isrcheck.checker.kafka_config.cluster import Cluster
from isrcheck.checker.questions.answering import Answerer
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.concerns import defects_of, loses_data, losses_to_survive
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.question import Question, Topic
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

FIRST_SHARE, LOSS_WEIGHT, ADVICE_WEIGHT, SETTING_WEIGHT, BROKERS_WEIGHT = 1.0, 8.0, 6.0, 0.5, 0.1
"""How the time is shared: each question gets its weight's part of the rest; all other questions weigh 1."""


@dataclass(frozen=True)
class Expected:
    """Questions that will be asked about cases, in their order, each with its weight.

    They have this `part` of the time that the command has left, and share it with what will be asked later, of which
    the weight is the `reserve`.
    """

    questions: Sequence[tuple[Case, Question, float]]
    limits: Limits
    reserve: float
    part: float


class ExpectingAnswerer(Answerer, Protocol):
    """An answerer that is told beforehand what will be asked."""

    def expect(self, expected: Expected) -> None:
        """Begin to answer what will be asked, if that can be done side by side."""

    def close(self) -> None:
        """End what still runs."""


@dataclass
class Asking:
    """The questions that are asked and their answers, kept so that nothing is asked twice; `refused` are those that the
    model refuses.

    `left` returns the seconds of the command that are left (None: no limit), of which this case gets the `part`; `tell`
    says on stderr what is asked.
    """

    answerer: ExpectingAnswerer
    limits: Limits = field(default_factory=Limits)
    left: Callable[[], float | None] = lambda: None
    tell: Callable[[str], None] = lambda what: None
    part: float = 1.0
    known: dict[tuple[Case, Question], Finding] = field(default_factory=dict)
    refused: set[tuple[Case, Question]] = field(default_factory=set)
    is_interrupted: bool = False

    def expect(self, questions: Iterable[tuple[Case, Question, float]], reserve: float) -> None:
        """Say which questions will be asked, with their weights; `reserve` is the weight of what is asked later."""
        wanted = [one for one in questions if one[:2] not in self.known]
        if wanted and not self.is_interrupted:
            self.answerer.expect(Expected(wanted, self.limits, reserve, self.part))

    def ask(self, case: Case, question: Question, share: float = FIRST_SHARE) -> Finding:
        """Return the answer to a question, which gets this share of the time that is left."""
        if (case, question) in self.known:
            return self.known[case, question]
        left = self.left()
        if not self.is_interrupted:
            self.tell(in_words(question))
        within = self.limits if left is None else replace(self.limits, seconds=left * self.part * share)
        try:
            found = self.answerer.answer(case, question, within)
        except KeyboardInterrupt:
            self.is_interrupted = True
            return unasked(INTERRUPTED)
        except UsageError as error:  # the model does not have what the settings or the question name
            found = unasked(str(error))
            self.refused.add((case, question))
        self.known[case, question] = found
        return found


def in_words(question: Question) -> str:
    """Return what a question is about, for the line that shows the progress."""
    if question.topic is Topic.DEFECT:
        return f"known defect {named(question.name).number}"
    if question.topic is Topic.SURVIVES:
        return f"{counted(question.number, 'broker')} lost for good"
    if question.topic in (Topic.WRITES, Topic.READS):
        return f"{question.topic.value} with {counted(question.number, 'broker')} down"
    return ABOUT.get(question.topic, question.topic.value)


def unasked(why: str) -> Finding:
    """Return the answer to a question that was not asked."""
    return Finding(Word.UNDECIDED, "", None, None, (), note=why)


def examine(cluster: Cluster, asking: Asking) -> Answer:
    """Ask everything about a cluster."""
    case = case_of(cluster)
    failures = [named(one.name) for one in defects_of(case, cluster.release)]
    answer = Answer(cluster, case)
    is_searched = answer.why_undecidable in (None, cluster.generation.why_undecided)
    if answer.why_broken is not None or not is_searched:
        return answer
    rest = _Shares([LOSS_WEIGHT, ADVICE_WEIGHT, *[1.0] * (len(failures) + len(OTHERS))])
    others = list(_others(case))
    expected = [(case, LOSS, LOSS_WEIGHT)]
    expected += [(case, Question(Topic.DEFECT, name=one.name), 1.0) for one in failures if one.history is not None]
    asking.expect([*expected, *others], ADVICE_WEIGHT)
    findings = {LOSS: asking.ask(case, LOSS, rest.next(LOSS_WEIGHT))}
    asked = [
        Exposure(one, asking.ask(case, Question(Topic.DEFECT, name=one.name), rest.next()), loses_data(one))
        for one in failures
        if one.history is not None
    ]
    exposures = [
        one
        for one in asked
        if one.finding.word is not Word.NOT_APPLICABLE
        and (case, Question(Topic.DEFECT, name=one.failure.name)) not in asking.refused
    ]
    unsearched = [(one, one.why_not) for one in failures if one.history is None]
    unsearched += [(one.failure, one.finding.note) for one in asked if one not in exposures]
    of_settings = [
        (change.of(case), Question(Topic.DEFECT, name=one.failure.name), SETTING_WEIGHT)
        for one in exposures
        for change in _smallest(_changes(one, case, is_named=True))
    ]
    asking.expect([*others, *of_settings], ADVICE_WEIGHT)
    for topic in _topics(case):
        findings[Question(topic)] = asking.ask(case, Question(topic), rest.next())
    answer = replace(answer, findings=findings, exposures=exposures, unsearched=unsearched)
    answer = replace(answer, availability=_availability(case, asking), survival=_survival(case, asking))
    answer = replace(answer, advice=_advice(case, answer, asking, rest))
    asking.expect(of_settings, 0.0)
    answer = replace(answer, exposures=[_with_settings(one, case, asking, rest) for one in exposures])
    return replace(answer, is_interrupted=asking.is_interrupted)


def _topics(case: Case) -> tuple[Topic, ...]:
    """What is asked beside the loss of records and known failures, and beside brokers that are down."""
    return (*OTHERS, *((Topic.TRANSACTIONS,) if case.transactions else ()))


def _others(case: Case) -> Iterator[tuple[Case, Question, float]]:
    """What is asked after the known failures, in this order. The loss of a disk is left out: a rule may answer it."""
    for topic in _topics(case):
        if topic is not Topic.DISK:
            yield case, Question(topic), 1.0
    for question in (*_about_brokers(case), *_about_survival(case)):
        yield case, question, BROKERS_WEIGHT


def _about_brokers(case: Case) -> list[Question]:
    downs = range(case.replication_factor)
    return [Question(topic, number) for topic in (Topic.WRITES, Topic.READS) for number in downs]


class _Shares:
    """Shares the rest of the time among questions with weights; the last one gets all of it."""

    def __init__(self, weights: Sequence[float]) -> None:
        self.left = sum(weights)

    def next(self, weight: float = 1.0) -> float:
        share = min(1.0, weight / max(self.left, weight))
        self.left -= weight
        return share


def _availability(case: Case, asking: Asking) -> Availability:
    found = [asking.ask(case, question) for question in _about_brokers(case)]
    count = case.replication_factor
    return Availability(tuple(found[:count]), tuple(found[count:]))


def _about_survival(case: Case) -> list[Question]:
    return [Question(Topic.SURVIVES, lost) for lost in losses_to_survive(case)]


def _survival(case: Case, asking: Asking) -> tuple[Finding, ...]:
    return tuple(asking.ask(case, question) for question in _about_survival(case))


def _is_never_written(availability: Availability | None) -> bool:
    """Whether no write is acknowledged, even with all brokers up: then nothing is lost, and nothing is gained."""
    return availability is not None and availability.writes[0].word is Word.UNREACHABLE


def _advice(case: Case, answer: Answer, asking: Asking, rest: _Shares) -> Advice:
    """Try changes, the smallest first, until no acknowledged record is lost."""
    if answer.loss is None or not (answer.loss.fails or answer.loses_with_one_broker):
        return Advice()
    share = rest.next(ADVICE_WEIGHT)
    is_open = False
    for every in groups(case):
        # With one replica nothing else helps: it has the only copy.
        group = [change for change in every if change.of(case).replication_factor > 1]
        asking.expect([(change.of(case), LOSS, ADVICE_WEIGHT / 2) for change in group], rest.left)
        tried = [_tried(change, case, asking, share / 2) for change in group]
        works = [
            replace(one, availability=_availability(one.change.of(case), asking))
            for one in _smallest_values(one for one in tried if one.is_cure)
        ]
        works = [one for one in works if not _is_never_written(one.availability)]
        if works:
            return Advice(tuple(works))
        is_open = is_open or any(one.is_open for one in tried)
    if is_open:
        return Advice(says=f"not every change could be tried: {INTERRUPTED if asking.is_interrupted else OUT_OF_TIME}")
    return Advice(says="no one or two settings prevent it")


def _tried(change: Change, case: Case, asking: Asking, share: float) -> Tried:
    """Try a change: is a record lost with it, and does the loss of one broker take a record with it?"""
    changed = change.of(case)
    found = Tried(change, asking.ask(changed, LOSS, share))
    if changed.acks != "all" or not found.is_cure:
        return found
    return replace(found, survives_one=asking.ask(changed, Question(Topic.SURVIVES, 1)))


def _smallest_values(works: Iterator[Tried]) -> Iterator[Tried]:
    """Yield those with the smallest changes."""
    by_change = {one.change: one for one in works}
    return (by_change[one] for one in _smallest(by_change))


def _smallest(changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the first of the changes that differ only in the value of a setting."""
    seen: set[tuple[str, ...]] = set()
    for one in changes:
        keys = tuple(setting.key for setting in one.settings)
        if keys not in seen:
            seen.add(keys)
            yield one


def _with_settings(exposure: Exposure, case: Case, asking: Asking, rest: _Shares) -> Exposure:
    """Try the single settings that avoid an exposure; all that do, the smallest first.

    Of those that the library names only; if none of them helps in this case, all others.
    """
    if not exposure.is_shown or exposure.is_of_disks:
        return exposure
    first = _avoiding(exposure, case, asking, rest, _changes(exposure, case, is_named=True))
    if first.avoided_by or not first.is_tried:
        return first
    return _avoiding(exposure, case, asking, rest, _changes(exposure, case, is_named=False))


def _changes(exposure: Exposure, case: Case, *, is_named: bool) -> Iterator[Change]:
    """Yield the changes of one setting that may avoid an exposure: those that the library names, or all others."""
    if not exposure.is_shown or exposure.is_of_disks:
        return
    named_there = {field for one in exposure.failure.changes for field in fields_of(one)}
    for group in groups(case, most=1):
        for change in group:
            (setting,) = change.settings
            if (setting.field in named_there) == is_named:
                yield change


def _avoiding(exposure: Exposure, case: Case, asking: Asking, rest: _Shares, changes: Iterator[Change]) -> Exposure:
    question = Question(Topic.DEFECT, name=exposure.failure.name)
    found: list[Tried] = []
    is_open = False
    for change in changes:
        (setting,) = change.settings
        if any(setting.key == one.change.settings[0].key for one in found):
            continue
        tried = Tried(change, asking.ask(change.of(case), question, rest.next(SETTING_WEIGHT)))
        if tried.is_gone:
            found.append(replace(tried, availability=_availability(change.of(case), asking)))
        is_open = is_open or not tried.finding.is_known
    return replace(exposure, avoided_by=tuple(found), is_tried=not is_open)
