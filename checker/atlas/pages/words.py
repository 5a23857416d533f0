"""The answers of the atlas in an operator's words.

In:  findings.
Out: `Words`: a short text, and how grave it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from isrcheck.checker.questions.concerns import LOSSES, is_exposed, is_open, loses_data
from isrcheck.checker.questions.finding import Finding, Source
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named

ALLOWED = "your settings allow this"


class Grave(IntEnum):
    """How grave an answer is, the worst first."""

    BROKEN = 0
    ALLOWED = 1
    OPEN = 2
    TO_DEPTH = 3
    TO_THE_END = 4
    FACT = 5
    NOTHING = 6


@dataclass(frozen=True)
class Words:
    """A short text about findings, and how grave they are."""

    grave: Grave
    text: str


NOT_ASKED = Words(Grave.NOTHING, "not asked here")
NOT_RECORDED = Words(Grave.OPEN, "not recorded")
NONE_KNOWN = Words(Grave.NOTHING, "none known")


@dataclass(frozen=True)
class _Phrases:
    """How a question is answered: what happens if the property fails, what does not if it holds, and who permits it."""

    happens: str
    never: str
    permits: str


PHRASES: Mapping[Topic, _Phrases] = {
    Topic.LOSS: _Phrases("lost", "no loss", ALLOWED),
    Topic.POWER: _Phrases("lost", "no loss", "not promised"),
    Topic.POWER_OF_ALL: _Phrases("lost", "no loss", "not promised"),
    Topic.DISK: _Phrases("lost", "no loss", "not promised"),
    Topic.DUPLICATES: _Phrases("appears twice", "no duplicate", ALLOWED),
    Topic.ORDER: _Phrases("out of order", "in order", ALLOWED),
    Topic.TRANSACTIONS: _Phrases("a promise breaks", "every promise holds", ALLOWED),
}


def said(topic: Topic, finding: Finding | None) -> Words:
    """Say the answer to a question other than those about brokers that are down and about known defects."""
    if finding is None:
        return NOT_RECORDED
    phrases = PHRASES[topic]
    if finding.fails:
        when = f"{phrases.happens} after {counted(finding.depth or 0, 'step')}"
        if finding.word is Word.PERMITTED:
            permits = phrases.permits if _has_loss(finding) else ALLOWED
            return Words(Grave.ALLOWED, f"{when}: {permits}")
        return Words(Grave.BROKEN, f"{when}, against Kafka's promise")
    if finding.word is Word.NOT_APPLICABLE:
        return NOT_ASKED
    if not finding.is_known:
        return Words(Grave.OPEN, f"not decided; {reached(finding)}" if finding.parts else "not decided")
    depth = finding.least_depth
    if depth is None:
        return Words(Grave.TO_THE_END, f"{phrases.never}, to the end")
    return Words(Grave.TO_DEPTH, f"{phrases.never} to depth {depth}")


def _has_loss(finding: Finding) -> bool:
    """Whether the history may lose power or a disk: without acks=all, a record is lost before anything else fails."""
    return finding.history is not None and any(f"{name}=" in finding.history.configuration for name in LOSSES)


def reached(finding: Finding) -> str:
    """How far searches went, without a verdict: nothing found to depth 9."""
    depth = finding.least_depth
    return "nothing found" if depth is None or depth < 0 else f"nothing found to depth {depth}"


def source_of(finding: Finding) -> str:
    """Where an answer comes from, as a sentence without a full stop."""
    day = f" on {finding.recorded}" if finding.recorded else ""
    if finding.source is Source.RULE:
        return f"derived by rule: {finding.rule}" + (f"; searched{day}" if day else "")
    return f"searched{day}" if finding.parts else "not searched"


# ------------------------------------------------------------------------------------------------------- brokers down


def available(findings: Mapping[Question, Finding | None]) -> Words:
    """Say with how many brokers down something works: for every set of so many, and for how many larger sets."""
    works = -1
    for question in sorted(findings):
        found = findings[question]
        parts = () if found is None else found.parts
        sets = sum(part.choices for part in parts)
        able = sum(part.choices for part in parts if part.word is Word.REACHED)
        if able == sets > 0:
            works = question.number
            continue
        if any(part.word not in (Word.REACHED, Word.UNREACHABLE) for part in parts) or not parts:
            why = NOT_RECORDED.text if found is None else "not decided"
            if works < 0:
                return Words(Grave.OPEN, why)
            return Words(Grave.OPEN, f"{_works(works)}; with {question.number} down: {why}")
        if works < 0:
            return Words(Grave.BROKEN, "never, even with all brokers up")
        some = f"; with {question.number} down, for {able} of {sets} sets of brokers" if able else ""
        return Words(Grave.FACT, _works(works) + some)
    return Words(Grave.FACT, _works(works)) if works >= 0 else NOT_ASKED


def survived(findings: Mapping[Question, Finding | None]) -> Words:
    """Say how many brokers can be lost, whichever they are; questions are about 1, 2, ... lost brokers."""
    if not findings:
        return NOT_ASKED
    lost = 0
    for question in sorted(findings):
        found = findings[question]
        if found is None or found.word not in (Word.REACHED, Word.UNREACHABLE):
            why = NOT_RECORDED.text if found is None else "not decided"
            return Words(Grave.OPEN, f"{_up_to(lost)}; with {question.number} lost: {why}" if lost else why)
        if found.word is Word.UNREACHABLE:
            break
        lost = question.number
    if not lost:
        return Words(Grave.ALLOWED, f"none, because one can have the only copy: {ALLOWED}")
    return Words(Grave.FACT, _up_to(lost))


def _up_to(lost: int) -> str:
    return f"up to {counted(lost, 'broker')}"


def _works(most: int) -> str:
    """With how many brokers down something works."""
    return "" if most < 0 else "only with all brokers up" if most == 0 else f"with up to {most} down"


# ------------------------------------------------------------------------------------------------------ known defects


@dataclass(frozen=True)
class Exposures:
    """The known failures of a case's release, by their names: those to which it is exposed; those `beside` them that
    need a loss of power or of a disk; `open` ones are undecided, and of `unsearched` ones no model of the release has
    what they need.

    `absent` counts the others, and `depth` is the least depth to which they were searched (None: to the end).
    """

    defects: tuple[str, ...]
    beside: tuple[str, ...]
    open: tuple[str, ...]
    unsearched: tuple[str, ...]
    absent: int
    depth: int | None


def exposures(findings: Mapping[Question, Finding | None]) -> Exposures:
    """Sort the findings about known failures that concern a case."""
    asked = {one.name: found for one, found in findings.items() if found is not None}
    fails = [name for name, found in asked.items() if is_exposed(named(name), found)]
    unsearched = [name for name, found in asked.items() if found.word is Word.NOT_APPLICABLE]
    unknown = [one.name for one, found in findings.items() if found is None or is_open(named(one.name), found)]
    gone = [found for name, found in asked.items() if name not in {*fails, *unsearched, *unknown}]
    depths = [found.least_depth for found in gone]
    return Exposures(
        defects=tuple(name for name in fails if not loses_data(named(name))),
        beside=tuple(name for name in fails if loses_data(named(name))),
        open=tuple(unknown),
        unsearched=tuple(unsearched),
        absent=len(gone),
        depth=min((one for one in depths if one is not None), default=None),
    )


def said_of(found: Exposures) -> Words:
    """Say how many known defects a case is exposed to, those of power and disks left out."""
    if found.defects:
        others = f"; {len(found.open)} not decided" if found.open else ""
        return Words(Grave.BROKEN, f"exposed to {counted(len(found.defects), 'known defect')}{others}")
    if found.open:
        return Words(Grave.OPEN, f"{counted(len(found.open), 'known defect')} not decided")
    missing = f"; {len(found.unsearched)} not searched" if found.unsearched else ""
    if not found.absent:
        return Words(Grave.NOTHING, missing.lstrip("; ")) if missing else NONE_KNOWN
    if found.depth is not None:
        return Words(Grave.TO_DEPTH, f"not exposed, to depth {found.depth}{missing}")
    return Words(Grave.TO_THE_END, f"not exposed, to the end{missing}")
