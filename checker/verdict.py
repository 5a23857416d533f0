"""What a search says about a property: the words, and the exit codes that follow from them.

In:  an `Exploration`.
Out: a `Verdict` for each property of the model, and one overall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from checker.explore import Exploration, Finding, Witness
from models.language.declare import Kind
from models.language.model import Property


class Word(StrEnum):
    """The verdicts of this engine, gravest first."""

    VIOLATED = "VIOLATED"
    UNREACHABLE = "UNREACHABLE"
    UNDECIDED = "UNDECIDED"
    PERMITTED = "PERMITTED"
    NO_VIOLATION = "NO VIOLATION TO DEPTH"
    NOT_REACHED = "NOT REACHED TO DEPTH"
    HOLDS = "HOLDS"
    REACHED = "REACHED"
    NOT_APPLICABLE = "n/a"


SAFE, UNEXPECTED, UNDECIDED, USAGE, VIOLATED, DISAGREE, INTERRUPTED = 0, 10, 3, 2, 12, 70, 130
"""Exit codes of `check`."""

WHY_STOPPED = {
    "memory": "the memory that it was given is used up",
    "seconds": "the time that it was given is used up",
    "interrupt": "it was interrupted",
}


@dataclass(frozen=True)
class Verdict:
    """What is known of one property: the word, the depth that goes with it, and the paths that show it.

    `permitted` is the finding that the configuration permits; it is kept beside a graver verdict.
    """

    prop: Property
    word: Word
    depth: int | None = None
    violating: int = 0
    witness: Witness | None = None
    permitted: Finding | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The verdict as people read it."""
        if self.word in (Word.NO_VIOLATION, Word.NOT_REACHED):
            return f"{self.word.value} {self.depth}"
        if self.word is Word.UNDECIDED:
            return f"{self.word.value} ({self.note})"
        if self.depth is not None:
            both = ""
            if self.word is Word.VIOLATED and self.permitted is not None and self.permitted.witness is not None:
                both = f" (PERMITTED at step {self.permitted.witness.depth})"
            return f"{self.word.value} at step {self.depth}{both}"
        return self.word.value


def verdicts(exploration: Exploration) -> list[Verdict]:
    """A verdict for every property that the model declares, in the order of the declaration."""
    return [_judge(exploration, prop) for prop in exploration.instance.model.properties]


def _judge(exploration: Exploration, prop: Property) -> Verdict:
    findings = exploration.findings.get(prop.name)
    if findings is None:
        return Verdict(prop, Word.NOT_APPLICABLE)
    permitted = findings.permitted if findings.permitted.count else None
    if findings.found.witness is not None:
        word = Word.REACHED if prop.kind is Kind.SOMETIMES else Word.VIOLATED
        found = findings.found
        return Verdict(prop, word, found.witness.depth, found.count, found.witness, permitted)  # type: ignore[union-attr]
    note = ""
    if not exploration.is_complete:
        note = f"{exploration.stopped}; none to depth {exploration.judged}"
    if permitted is not None and permitted.witness is not None:
        return Verdict(
            prop, Word.PERMITTED, permitted.witness.depth, permitted.count, permitted.witness, permitted, note
        )
    if note:
        return Verdict(prop, Word.UNDECIDED, None, note=note)
    if prop.kind is Kind.SOMETIMES:
        if exploration.exhausted:
            return Verdict(prop, Word.UNREACHABLE)
        return Verdict(prop, Word.NOT_REACHED, exploration.judged)
    if exploration.exhausted:
        return Verdict(prop, Word.HOLDS)
    return Verdict(prop, Word.NO_VIOLATION, exploration.judged)


def overall(found: Sequence[Verdict], *, is_complete: bool) -> Word:
    """The gravest of several verdicts; a search that was cut short is at best undecided."""
    words = {verdict.word for verdict in found}
    if not is_complete:
        words.add(Word.UNDECIDED)
    words -= {Word.NOT_APPLICABLE, Word.REACHED, Word.NOT_REACHED}
    return next((word for word in Word if word in words), Word.HOLDS if found else Word.NOT_APPLICABLE)


def exit_code(word: Word, *, strict: bool, found: Iterable[Verdict] = ()) -> int:
    """The exit code for an overall verdict on what was found; `strict` counts what is permitted as violated."""
    words = {word, *(verdict.word for verdict in found)}
    if word is Word.VIOLATED or (strict and Word.PERMITTED in words):
        return VIOLATED
    if word is Word.UNREACHABLE:
        return UNEXPECTED
    return UNDECIDED if word is Word.UNDECIDED else SAFE
