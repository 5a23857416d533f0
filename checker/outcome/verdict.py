"""What a search says about a property: the words, and the exit codes that follow from them.

In:  an `Exploration` or an `Unrolled`, and the proofs that were found.
Out: a `Verdict` for each property of the model, and one overall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from isrcheck.checker.outcome.bmc_result import Unrolled
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, Witness
from isrcheck.checker.outcome.proof_results import Proof, Proofs
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Property
from isrcheck.traces.format.erring import error_of


class Word(StrEnum):
    """The verdicts, gravest first."""

    VIOLATED = "VIOLATED"
    UNREACHABLE = "UNREACHABLE"
    UNDECIDED = "UNDECIDED"
    PERMITTED = "PERMITTED"
    NO_VIOLATION = "NO VIOLATION TO DEPTH"
    NOT_REACHED = "NOT REACHED TO DEPTH"
    HOLDS = "HOLDS"
    PROVED = "PROVED"
    REACHED = "REACHED"
    NOT_APPLICABLE = "n/a"


WHY_STOPPED = {
    "memory": "the memory that it was given is used up",
    "seconds": "the time that it was given is used up",
    "interrupt": "it was interrupted",
    "unknown": "Z3 does not know",
    "unsupported": "it cannot be asked about this model",
    "lost": "Spark lost what it worked with",
}


@dataclass(frozen=True)
class Verdict:
    """What is known of one property: the word, the depth that goes with it, and the paths that show it.

    `permitted` is the finding that the configuration permits; it is kept beside a graver verdict. `proof` is what a
    verdict PROVED rests on; `is_unproved` says that a proof was looked for in vain, `is_unattempted` that there was no
    time to look for one.
    """

    prop: Property
    word: Word
    depth: int | None = None
    violating: int = 0
    witness: Witness | None = None
    permitted: Finding | None = None
    note: str = ""
    proof: Proof | None = None
    is_unproved: bool = False
    is_unattempted: bool = False

    @property
    def histories(self) -> list[tuple[str, Witness, str]]:
        """The paths that show how the property fails: the name of each, the path, and what it shows."""
        name, found = self.prop.name, []
        if self.word is Word.VIOLATED and self.witness is not None:
            found.append((name, self.witness, Word.VIOLATED.value))
        if self.permitted is not None and self.permitted.witness is not None:
            key = name if self.word is Word.PERMITTED else f"{name} (permitted)"
            found.append((key, self.permitted.witness, Word.PERMITTED.value))
        return found if self.prop.kind is not Kind.SOMETIMES else []

    @property
    def text(self) -> str:
        """The verdict as people read it."""
        note = " (not proved)" if self.is_unproved else " (proof undecided)" if self.is_unattempted else ""
        return self.bare + note

    @property
    def bare(self) -> str:
        """The verdict without what became of proofs that were not found."""
        if self.word is Word.PROVED and self.proof is not None and self.proof.every_length:
            return f"{self.word.value} for every length"
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


def verdicts(exploration: Exploration | Unrolled) -> list[Verdict]:
    """A verdict for every property that the model declares, in the order of the declaration.

    Behind them stands the one for the implicit property `in_range`, where that is violated; its note says what went
    wrong. AssertionError where the reference does not see that.
    """
    found = [_judge(exploration, prop) for prop in exploration.instance.model.properties]
    return [*found, range_verdict(exploration)] if IN_RANGE.name in exploration.findings else found


def range_verdict(exploration: Exploration | Unrolled) -> Verdict:
    """The verdict for the implicit property `in_range`, which every model has."""
    findings = exploration.findings.get(IN_RANGE.name, Findings())
    path = findings.found.witness
    verdict = _verdict(exploration, IN_RANGE, findings)
    if path is None:
        return verdict
    return replace(verdict, note=error_of(exploration.instance, path.initial, path.steps).message)


PROVABLE = (Word.HOLDS, Word.NO_VIOLATION, Word.UNDECIDED)
"""What a search says of a property that may still be proved."""


def refuse_contradictions(found: Sequence[Verdict], proofs: Proofs) -> None:
    """AssertionError where a proof, whatever it rests on, contradicts what a search found."""
    for verdict in found:
        assert verdict.prop.name not in proofs.proofs or verdict.word in PROVABLE, (
            f"{verdict.prop.name} is proved, and the search found it {verdict.text}; this is an error in isrcheck"
        )


def with_proofs(found: Sequence[Verdict], proofs: Proofs) -> list[Verdict]:
    """The verdicts, where a proof says more than a search does. AssertionError where one contradicts the other."""
    refuse_contradictions(found, proofs)
    return [_with_proof(verdict, proofs.proofs.get(verdict.prop.name), proofs.stopped) for verdict in found]


def _with_proof(verdict: Verdict, proof: Proof | None, stopped: str | None) -> Verdict:
    if proof is not None:
        return replace(verdict, word=Word.PROVED, depth=None, note="", proof=proof)
    is_asked = verdict.word in PROVABLE and verdict.prop.kind is not Kind.SOMETIMES
    return replace(verdict, is_unproved=stopped is None, is_unattempted=stopped is not None) if is_asked else verdict


def cut_short(verdict: Verdict, stopped: str, judged: int) -> Verdict:
    """A verdict of the explorer where the other engine was cut short: they agree only as far as that one came."""
    if verdict.word not in (Word.HOLDS, Word.NO_VIOLATION, Word.NOT_REACHED):
        return verdict
    return replace(verdict, word=Word.UNDECIDED, depth=None, note=f"Z3: {stopped}; {_none('both found none', judged)}")


def _none(found: str, judged: int) -> str:
    return f"{found} to depth {judged}" if judged >= 0 else "nothing was judged"


def _judge(exploration: Exploration | Unrolled, prop: Property) -> Verdict:
    findings = exploration.findings.get(prop.name)
    return Verdict(prop, Word.NOT_APPLICABLE) if findings is None else _verdict(exploration, prop, findings)


def _verdict(exploration: Exploration | Unrolled, prop: Property, findings: Findings) -> Verdict:
    permitted = findings.permitted if findings.permitted.count else None
    if findings.found.witness is not None:
        word = Word.REACHED if prop.kind is Kind.SOMETIMES else Word.VIOLATED
        found = findings.found
        return Verdict(prop, word, found.witness.depth, found.count, found.witness, permitted)  # type: ignore[union-attr]
    note = ""
    if not exploration.is_complete:
        note = f"{exploration.stopped}; {_none('none', exploration.judged)}"
    if permitted is not None and permitted.witness is not None:
        return Verdict(
            prop, Word.PERMITTED, permitted.witness.depth, permitted.count, permitted.witness, permitted, note
        )
    if findings.erred.witness is not None:
        note = f"it cannot be asked at step {findings.erred.witness.depth}"
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
    if words == {Word.NOT_APPLICABLE}:
        return Word.NOT_APPLICABLE  # what nobody asked holds no more than it fails
    settled = {Word.PROVED, Word.REACHED, Word.NOT_APPLICABLE}
    if not is_complete and (not words or words - settled):
        words.add(Word.UNDECIDED)
    words -= {Word.NOT_APPLICABLE, Word.REACHED, Word.NOT_REACHED}
    return next((word for word in Word if word in words), Word.HOLDS if found else Word.NOT_APPLICABLE)


def exit_code(word: Word, *, strict: bool, found: Iterable[Verdict] = ()) -> int:
    """The exit code for an overall verdict on what was found; `strict` counts what is permitted as violated."""
    found = list(found)
    words = {word, *(verdict.word for verdict in found)}
    if word is Word.VIOLATED or (strict and Word.PERMITTED in words):
        return VIOLATED
    if word is Word.UNREACHABLE:
        return UNEXPECTED
    is_unproved = any(verdict.is_unproved or verdict.is_unattempted for verdict in found)
    return UNDECIDED if word is Word.UNDECIDED or is_unproved else SAFE
