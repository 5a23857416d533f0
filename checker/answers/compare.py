"""`isrcheck doctor --compare RELEASE` and `--compare-with FILE`: what a change fixes, brings and leaves, for each
configuration.

In:  the two sides (cluster/upgrade.py), and the doctor's answers for each configuration of each side.
Out: the findings that are fixed, new, unchanged or undecided, as text and as the object of --json (docs/json.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from isrcheck.checker.answers.answer import Answer, Kind
from isrcheck.checker.answers.findings import Finding
from isrcheck.checker.answers.questions import Question, Topic, concerns, defects_of, is_in, loses_acknowledged
from isrcheck.checker.answers.report import cells, first_line, how_lost, searched_rows, step_lines, subject, works
from isrcheck.checker.cluster.contents import listed
from isrcheck.checker.cluster.upgrade import COMPARE_WITH, Sides
from isrcheck.checker.results.terminal import counted, grouped, table
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import During, Failure, failures


class State(Enum):
    """What an answer says about a danger."""

    PRESENT = "present"
    UNDECIDED = "undecided"
    PERMITTED = "permitted"
    """The danger was not searched, because the settings alone permit such a loss."""
    ABSENT = "absent"


class Outcome(Enum):
    """What the change does to a danger."""

    FIXED = "fixed"
    NEW = "new"
    UNDECIDED = "undecided"
    """Before or after the change it is not known whether the danger is present."""
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Danger:
    """Something that can go wrong: a loss, a known defect, brokers down."""

    label: str
    """One of LABELS."""
    says: str


LOSS = Danger("Loss", "an acknowledged record can be lost")

BROKEN = Danger("Broken", "no acks=all write can be acknowledged")
OTHERS = Danger("Broken", "what else can go wrong is not searched while no acks=all write can be acknowledged")
"""What stands for all other dangers if one side is broken."""

LABELS = ("Broken", "Loss", "Defect", "Power", "Disk", "Resends", "Transactions", "Brokers")
"""The labels of dangers, in the order in which dangers are listed."""


@dataclass(frozen=True)
class Change:
    """What is known of a danger before and after the change."""

    danger: Danger
    was: State
    becomes: State

    @property
    def outcome(self) -> Outcome | None:
        """What the change does to the danger; None if the danger is absent or only permitted, before and after the
        change: a loss that the settings permit is a danger of its own (LOSS)."""
        if {self.was, self.becomes} <= {State.ABSENT, State.PERMITTED}:
            return None
        if State.UNDECIDED in (self.was, self.becomes):
            return Outcome.UNDECIDED
        if self.was is self.becomes or State.PERMITTED in (self.was, self.becomes):
            return Outcome.UNCHANGED
        return Outcome.NEW if self.becomes is State.PRESENT else Outcome.FIXED

    @property
    def line(self) -> str:
        """The danger as text; with both states if one is undecided; with the side on which the settings permit it."""
        states = ""
        if self.outcome is Outcome.UNDECIDED:
            states = f" ({self.was.value} before, {self.becomes.value} after)"
        elif self.outcome is Outcome.UNCHANGED and self.was is not self.becomes:
            states = f" ({'before' if self.was is State.PERMITTED else 'after'}, the settings alone permit such a loss)"
        return f"{self.danger.label}: {self.danger.says}{states}"


@dataclass(frozen=True)
class Compared:
    """The answers for topics of the same configuration, before and after the change."""

    before: Answer
    after: Answer
    topics: tuple[str, ...]

    @property
    def changes(self) -> dict[Outcome, list[Change]]:
        """The dangers by what the change does to them. A danger that an answer does not mention is PERMITTED if its
        settings alone permit such a loss; otherwise ABSENT, or UNDECIDED if nothing was searched. If a side is broken,
        all other dangers are summed up as one (OTHERS)."""
        was, becomes = ({danger: state for danger, state, _ in _states(answer)} for answer in (self.before, self.after))
        if BROKEN in {**was, **becomes}:
            was, becomes = map(_summed_up, (was, becomes))
        dangers = sorted({**was, **becomes}, key=lambda danger: LABELS.index(danger.label))
        for states, answer in ((was, self.before), (becomes, self.after)):
            unless = State.ABSENT if answer.findings else State.UNDECIDED
            permitted = _permitted(answer) if states.get(LOSS) is State.PRESENT else set()
            for danger in dangers:
                states.setdefault(danger, State.PERMITTED if danger in permitted else unless)
        every = [Change(danger, was[danger], becomes[danger]) for danger in dangers]
        return {outcome: [change for change in every if change.outcome is outcome] for outcome in Outcome}

    @property
    def while_changing(self) -> list[Failure]:
        """The known failures of the change itself, if min.insync.replicas is changed while the cluster runs."""
        was, becomes = self.before.case.min_insync_replicas, self.after.case.min_insync_replicas
        during = {During.CHANGED_MINIMUM} if was != becomes else set()
        during |= {During.RAISED_MINIMUM} if was < becomes else set()
        of_both = (defects_of(answer.case, answer.cluster.release) for answer in (self.before, self.after))
        defects = {question.name for questions in of_both for question in questions}
        return [failure for failure in failures() if failure.during in during and failure.name in defects]

    @property
    def settings(self) -> list[tuple[str, str | None, str | None]]:
        """The settings that files give on at least one side, if they differ: key, old and new value. A value is None if
        the setting has no meaning on that side."""
        old, new = ({one.key: one for one in answer.cluster.understood} for answer in (self.before, self.after))
        rows = []
        for key in dict.fromkeys((*old, *new)):
            was, becomes = (side[key].text if key in side else None for side in (old, new))
            if was != becomes and not all(side[key].is_default for side in (old, new) if key in side):
                rows.append((key, was, becomes))
        return rows

    @property
    def defaults(self) -> list[tuple[str, str, str]]:
        """The settings that have a default on both sides, if the two defaults differ: key, old and new value."""
        new = {setting.key: setting for setting in self.after.cluster.understood if setting.is_default}
        return [
            (setting.key, setting.text, new[setting.key].text)
            for setting in self.before.cluster.understood
            if setting.is_default and setting.key in new and setting.text != new[setting.key].text
        ]


def compared(sides: Sides, before: Sequence[Answer], after: Sequence[Answer]) -> list[Compared]:
    """Return the pairs of answers; the topics of equal pairs are joined. The worst after the change come first."""
    every = [Compared(before[was], after[becomes], topics) for (was, becomes), topics in sides.pairs.items()]
    alike = grouped(
        ((pair.before.case, pair.before.headline, pair.after.case, pair.after.headline), pair) for pair in every
    )
    pairs = [
        replace(group[0], topics=tuple(sorted(topic for pair in group for topic in pair.topics)))
        for group in alike.values()
    ]
    return sorted(pairs, key=lambda pair: (list(Kind).index(pair.after.kind), pair.topics))


SAYS: Mapping[Topic, tuple[str, str]] = {
    Topic.DUPLICATES: ("Resends", "a record can appear twice"),
    Topic.ORDER: ("Resends", "records can change order"),
    Topic.POWER: ("Power", "a loss of power of one broker can lose an acknowledged record"),
    Topic.POWER_OF_ALL: ("Power", "a loss of power of all brokers can lose an acknowledged record"),
    Topic.DISK: ("Disk", "a lost disk of one broker can lose an acknowledged record"),
    Topic.TRANSACTIONS: ("Transactions", "a promise about transactions can break"),
    Topic.WRITES: ("Brokers", "with {} down, not every write is acknowledged"),
    Topic.READS: ("Brokers", "with {} down, not every committed record is read"),
    Topic.SURVIVES: ("Brokers", "the loss of {} can lose a committed record"),
}
"""The danger that each question is about."""


def _states(answer: Answer) -> Iterator[tuple[Danger, State, Finding | None]]:
    """Yield every danger that the answer speaks of, with its state, and the finding behind it (None: no search)."""
    if answer.why_broken is not None:
        yield BROKEN, State.PRESENT, None
    if answer.loss is not None:
        yield LOSS, State.PRESENT if how_lost(answer) or answer.loss.fails else _state(answer.loss), answer.loss
    for exposure in answer.exposures:
        danger = _of_failure(exposure.failure)
        undecided = State.UNDECIDED if exposure.is_open else State.ABSENT
        yield danger, State.PRESENT if exposure.is_shown else undecided, exposure.finding
    for failure, _ in answer.unsearched:
        yield _of_failure(failure), State.UNDECIDED, None
    for question, finding in answer.findings.items():
        if question.topic in SAYS:
            yield _of_question(question), _state(finding, question.topic), finding


def _summed_up(states: Mapping[Danger, State]) -> dict[Danger, State]:
    """Return whether a side is broken; and whether any other danger is present, which is undecided if it is."""
    if BROKEN in states:
        return {BROKEN: State.PRESENT, OTHERS: State.UNDECIDED}
    worst = min(states.values(), key=list(State).index, default=State.UNDECIDED)
    return {BROKEN: State.ABSENT, OTHERS: worst}


def _of_failure(failure: Failure) -> Danger:
    return Danger("Defect", f"{failure.number} {failure.title}")


def _of_question(question: Question) -> Danger:
    label, says = SAYS[question.topic]
    return Danger(label, says.format(counted(question.number, "broker")))


def _permitted(answer: Answer) -> set[Danger]:
    """Return the dangers of a loss that are not searched for an answer because its settings alone permit a loss."""
    case, release = answer.case, answer.cluster.release
    losses = {_of_question(Question(Topic.SURVIVES, lost)) for lost in range(1, case.replication_factor + 1)}
    defects = [failure for failure in failures() if loses_acknowledged(failure) and is_in(failure, release, case)]
    return losses | {_of_failure(failure) for failure in defects if not concerns(case, failure)}


def _state(finding: Finding, topic: Topic = Topic.LOSS) -> State:
    if not finding.is_known:
        return State.UNDECIDED
    if topic in (Topic.WRITES, Topic.READS):
        return State.ABSENT if works(finding) in ("yes", "n/a") else State.PRESENT
    return State.PRESENT if finding.fails or finding.word is Word.UNREACHABLE else State.ABSENT


# --- Text and JSON ---


def comparison_lines(sides: Sides, pairs: Sequence[Compared], *, details: bool = False) -> list[str]:
    """Return the text: how many findings are fixed, new, ...; what is assumed; and a table for each configuration, with
    `details` followed by the searches and histories behind each danger."""
    rows = [("Assumed", line) for line in _assumed(sides, pairs)]
    rows += [("Files", line) for line in _remarks(sides)]
    rows += [("Stays off", line) for line in sides.features_off]
    alone = zip(("Only before", "Only after"), sides.alone, strict=True)
    rows += [(label, f"{counted(len(topics), 'topic')}: {listed(topics)}") for label, topics in alone if topics]
    lines = [headline(sides, pairs), *table(rows, "  ")]
    for pair in pairs:
        rows = [("Before", pair.before.headline), ("After", pair.after.headline)]
        if sides.is_of_files:
            rows += [("Setting", _became(key, old, new)) for key, old, new in pair.settings]
        rows += [("Default", f"{key}={old} becomes {new}") for key, old, new in pair.defaults]
        for failure in pair.while_changing:
            rows += [("Changing", f"{failure.number} {failure.title}"), ("", f"What to do: {failure.advice}")]
        for outcome, changes in pair.changes.items():
            rows += [(outcome.value.capitalize(), change.line) for change in changes]
        lines += ["", _subject(pair), *table([*_without_repeated(rows)], "  ")]
        if details:
            lines += _evidence(pair)
    return lines


def _evidence(pair: Compared) -> Iterator[str]:
    """Yield, for each danger, what is behind it before and after the change: findings, searches, steps of a history."""
    was, becomes = ({danger: finding for danger, _, finding in _states(answer)} for answer in (pair.before, pair.after))
    unsearched = {failure.number: why for answer in (pair.before, pair.after) for failure, why in answer.unsearched}
    for change in (change for changes in pair.changes.values() for change in changes if change.danger != OTHERS):
        yield from ("", change.line)
        old, new = was.get(change.danger), becomes.get(change.danger)
        for side, finding in {"before": old, "after": new}.items() if old != new else [("before and after", old)]:
            if finding is None:
                why = unsearched.get(change.danger.says.split()[0], "the settings or the release decide")
                yield f"  {side}: not searched: {why}"
                continue
            yield f"  {side}: {', '.join(cells(finding))}"
            yield from table(searched_rows(finding.parts), "    ")
            if finding.history is not None:
                yield from step_lines(finding.history)


def _became(key: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{key}={new} counts only after"
    return f"{key}={old} counts only before" if new is None else f"{key}={old} becomes {new}"


def headline(sides: Sides, pairs: Sequence[Compared]) -> str:
    """Return the first line: the change, and the number of distinct findings of each kind."""
    every = [pair.changes for pair in pairs]
    counts = {outcome: len({change.danger for changes in every for change in changes[outcome]}) for outcome in Outcome}
    says = ", ".join(
        f"{count} {outcome.value}" for outcome, count in counts.items() if count or outcome is not Outcome.UNDECIDED
    )
    if sides.is_of_files:
        return f"With the files of {COMPARE_WITH}: {says}"
    if sides.kind == "none":
        return f"Kafka {sides.becomes} is the release that the cluster has: {says}"
    change = "an upgrade" if sides.kind == "upgrade" else "a downgrade"
    return f"After {change} from Kafka {sides.was} to {sides.becomes}: {says}"


def _assumed(sides: Sides, pairs: Sequence[Compared]) -> list[str]:
    old = [line for pair in pairs for line in pair.before.cluster.assumed]
    new = [line for pair in pairs for line in pair.after.cluster.assumed]
    if sides.is_of_files:
        return _of_each_side(old, new)
    return list(dict.fromkeys((*sides.assumed, *old, *new)))


def _remarks(sides: Sides) -> list[str]:
    old, new = sides.before.remarks, sides.after.remarks
    return _of_each_side(old, new) if sides.is_of_files else list(old)


def _of_each_side(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the lines of both sides, each once; a line of only one side begins with the side."""
    both = set(old) & set(new)
    every = [*((line, "before: ") for line in old), *((line, "after: ") for line in new)]
    return list(dict.fromkeys(line if line in both else side + line for line, side in every))


def _subject(pair: Compared) -> str:
    if len(pair.topics) > 1:
        return f"{counted(len(pair.topics), 'topic')}: {listed(pair.topics)}"
    return subject(replace(pair.before.cluster, topics=pair.topics))


def _without_repeated(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for number, (label, says) in enumerate(rows):
        yield "" if number and rows[number - 1][0] == label else label, says


def comparison_object(sides: Sides, pairs: Sequence[Compared]) -> dict[str, Any]:
    """Return the object of --json."""
    return {
        "headline": headline(sides, pairs),
        "from_release": str(sides.was),
        "to_release": str(sides.becomes),
        "change": sides.kind,
        "assumed": _assumed(sides, pairs),
        "stays_off": list(sides.features_off),
        "remarks": _remarks(sides),
        **dict(zip(("only_before", "only_after"), sides.alone, strict=True)),
        "configurations": [_object(pair) for pair in pairs],
    }


def _object(pair: Compared) -> dict[str, Any]:
    return {
        "topics": list(pair.topics),
        "before": first_line(pair.before),
        "after": first_line(pair.after),
        "settings": [{"key": key, "before": old, "after": new} for key, old, new in pair.settings],
        "defaults": [{"key": key, "before": old, "after": new} for key, old, new in pair.defaults],
        "while_changing": [
            {
                "number": failure.number,
                "title": failure.title,
                "conditions": failure.report["conditions"],
                "advice": failure.advice,
            }
            for failure in pair.while_changing
        ],
        **{
            outcome.value: [
                {**vars(one.danger), "before": one.was.value, "after": one.becomes.value} for one in changes
            ]
            for outcome, changes in pair.changes.items()
        },
    }
