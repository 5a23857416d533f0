"""Verdicts: what a search shows about each property, and the exit code of the command.

In:  an `Exploration` or a `BmcResult`, and the proofs that were found.
Out: a `Verdict` for each property of the model, and an overall verdict; whether two engines agree on one instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from isrcheck.checker.results.exploration import BmcResult, Exploration, Finding, Findings, StepPath
from isrcheck.checker.results.proofs import Proof, Proofs
from isrcheck.commands.exit_codes import DEADLOCKED, SAFE, STUCK, UNDECIDED, UNEXPECTED, VIOLATED
from isrcheck.models.language.declarations import INDUCTIVE, WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Property
from isrcheck.traces.format.trace import error_of


class Word(StrEnum):
    """The words for verdicts, the gravest first."""

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
    "memory": "the memory limit is reached",
    "seconds": "the time limit is reached",
    "interrupt": "the user interrupted it",
    "unknown": "Z3 found no answer",
    "lost": "Spark lost part of its data",
    "disk": "the disk is full or has failed",
}


@dataclass(frozen=True)
class Verdict:
    """The result for one property: the verdict, the depth to which it applies, and the paths that show it."""

    prop: Property
    word: Word
    depth: int | None = None
    """The step at which the property fails or is reached; for NO VIOLATION and NOT REACHED, the depth searched."""
    violating: int = 0
    """The number of states or transitions that violate or reach the property."""
    path: StepPath | None = None
    """A shortest path to the first violating (or reached) state or transition."""
    permitted: Finding | None = None
    """A failure that the configuration permits, even if the verdict is graver."""
    note: str = ""
    """The reason for UNDECIDED; for `in_range`, the error."""
    proof: Proof | None = None
    """The proof on which PROVED rests."""
    is_unproved: bool = False
    """Whether a proof was looked for and not found."""
    is_unattempted: bool = False
    """Whether no proof was looked for, because the time was over."""

    @property
    def failing_paths(self) -> list[tuple[str, StepPath, str]]:
        """The paths that show how the property fails: for each path a name, the path, and the verdict that it shows."""
        name, paths = self.prop.name, []
        if self.word is Word.VIOLATED and self.path is not None:
            paths.append((name, self.path, Word.VIOLATED.value))
        if self.permitted is not None and self.permitted.path is not None:
            key = name if self.word is Word.PERMITTED else f"{name} (permitted)"
            paths.append((key, self.permitted.path, Word.PERMITTED.value))
        return paths if self.prop.kind is not Kind.SOMETIMES else []

    @property
    def text(self) -> str:
        """The verdict as it is printed."""
        return self.bare + " (not proved)" * self.is_unproved + " (proof undecided)" * self.is_unattempted

    @property
    def bare(self) -> str:
        """The verdict without a note about proofs that were not found."""
        if self.word is Word.PROVED and self.proof is not None and self.proof.every_length:
            return f"{self.word.value} for every length"
        if self.word in (Word.NO_VIOLATION, Word.NOT_REACHED):
            return f"{self.word.value} {self.depth}"
        if self.word is Word.UNDECIDED:
            return f"{self.word.value} ({self.note})"
        if self.depth is not None:
            both = ""
            if self.word is Word.VIOLATED and self.permitted is not None and self.permitted.path is not None:
                both = f" (PERMITTED at step {self.permitted.path.depth})"
            return f"{self.word.value} at step {self.depth}{self._repeated}{both}"
        return self.word.value

    @property
    def _repeated(self) -> str:
        """The note " (back to step N)" or " (stays there)" if the path is an endless behaviour; otherwise empty."""
        path = self.path
        if path is None or path.loop is None:
            return ""
        return f" (back to step {path.loop})" if path.loop < path.depth else " (stays there)"


def verdicts(exploration: Exploration | BmcResult) -> list[Verdict]:
    """A verdict for every property that the model declares, in the order of the declaration.

    The verdicts on the implicit properties `deadlock` and `in_range` come last, and only if these are violated. The
    note of the verdict on `in_range` is the message of the range error. Raises AssertionError if the reference
    semantics (plain Python) does not confirm this error.
    """
    judged = [_judge(exploration, prop) for prop in exploration.instance.model.properties]
    ends = exploration.findings.get(DEADLOCK.name, Findings())
    if ends.found.path is not None:
        judged.append(_verdict(exploration, DEADLOCK, ends))
    return [*judged, range_verdict(exploration)] if IN_RANGE.name in exploration.findings else judged


def range_verdict(exploration: Exploration | BmcResult) -> Verdict:
    """The verdict for the implicit property `in_range`, which every model has."""
    findings = exploration.findings.get(IN_RANGE.name, Findings())
    path = findings.found.path
    verdict = _verdict(exploration, IN_RANGE, findings)
    if path is None:
        return verdict
    return replace(verdict, note=error_of(exploration.instance, path.initial, path.steps).message)


PROVABLE = (Word.HOLDS, Word.NO_VIOLATION, Word.UNDECIDED)
"""Verdicts of a search that a proof can still improve."""


def refuse_contradictions(judged: Sequence[Verdict], proofs: Proofs) -> None:
    """Raise AssertionError if a proof contradicts the result of the search."""
    for verdict in judged:
        assert verdict.prop.name not in proofs.proofs or verdict.word in PROVABLE, (
            f"{verdict.prop.name} is proved, and the search found it {verdict.text}; this is an error in isrcheck"
        )


def with_proofs(judged: Sequence[Verdict], proofs: Proofs) -> list[Verdict]:
    """The verdicts, with PROVED where there is a proof. Raises AssertionError if a proof contradicts a verdict."""
    refuse_contradictions(judged, proofs)
    return [_with_proof(verdict, proofs.proofs.get(verdict.prop.name), proofs.stopped) for verdict in judged]


def _with_proof(verdict: Verdict, proof: Proof | None, stopped: str | None) -> Verdict:
    if proof is not None:
        return replace(verdict, word=Word.PROVED, depth=None, note="", proof=proof)
    is_asked = verdict.word in PROVABLE and verdict.prop.kind in INDUCTIVE
    return replace(verdict, is_unproved=stopped is None, is_unattempted=stopped is not None) if is_asked else verdict


def cut_short(verdict: Verdict, stopped: str, judged: int) -> Verdict:
    """Return the explorer's verdict on a property, or UNDECIDED instead, for a run in which Z3 stopped early at depth
    `judged` for the reason `stopped`. UNDECIDED replaces HOLDS, NO VIOLATION, NOT REACHED if Z3 judges the property."""
    # Z3 does not judge properties of the kinds in WHOLE.
    if verdict.prop.kind in WHOLE or verdict.word not in (Word.HOLDS, Word.NO_VIOLATION, Word.NOT_REACHED):
        return verdict
    return replace(
        verdict, word=Word.UNDECIDED, depth=None, note=f"Z3: {stopped}; {_none('both found nothing', judged)}"
    )


def _none(found: str, judged: int) -> str:
    return f"{found} to depth {judged}" if judged >= 0 else "nothing was judged"


def _judge(exploration: Exploration | BmcResult, prop: Property) -> Verdict:
    findings = exploration.findings.get(prop.name)
    return Verdict(prop, Word.NOT_APPLICABLE) if findings is None else _verdict(exploration, prop, findings)


def shown(prop: Property, findings: Findings, note: str = "") -> Verdict | None:
    """The verdict that a path of the findings shows: VIOLATED, REACHED or PERMITTED; None if there is no path."""
    permitted, violations = findings.permitted if findings.permitted.count else None, findings.found
    if violations.path is not None:
        word = Word.REACHED if prop.kind is Kind.SOMETIMES else Word.VIOLATED
        return Verdict(prop, word, violations.path.depth, violations.count, violations.path, permitted)
    if permitted is not None and permitted.path is not None:
        return Verdict(prop, Word.PERMITTED, permitted.path.depth, permitted.count, permitted.path, permitted, note)
    return None


def _verdict(exploration: Exploration | BmcResult, prop: Property, findings: Findings) -> Verdict:
    note = findings.unjudged
    if not exploration.is_complete:
        note = f"{exploration.stopped}; {note or _none('nothing found', exploration.judged)}"
    if (verdict := shown(prop, findings, note)) is not None:
        return verdict
    if findings.erred.path is not None:
        note = f"it cannot be evaluated at step {findings.erred.path.depth}"
    if note:
        return Verdict(prop, Word.UNDECIDED, None, note=note)
    is_sought = prop.kind is Kind.SOMETIMES
    if exploration.exhausted:
        return Verdict(prop, Word.UNREACHABLE if is_sought else Word.HOLDS)
    return Verdict(prop, Word.NOT_REACHED if is_sought else Word.NO_VIOLATION, exploration.judged)


def overall(judged: Sequence[Verdict], *, is_complete: bool) -> Word:
    """The gravest of several verdicts, not counting REACHED, NOT REACHED and n/a. If no verdict remains, the result is
    HOLDS, or n/a if all are n/a. If the search was cut short (not `is_complete`), the result is at least as grave as
    UNDECIDED, unless there are verdicts and each of them is PROVED, REACHED or n/a."""
    words = {verdict.word for verdict in judged}
    if words == {Word.NOT_APPLICABLE}:
        return Word.NOT_APPLICABLE  # nothing was judged
    settled = {Word.PROVED, Word.REACHED, Word.NOT_APPLICABLE}
    if not is_complete and (not words or words - settled):
        words.add(Word.UNDECIDED)
    words -= {Word.NOT_APPLICABLE, Word.REACHED, Word.NOT_REACHED}
    return next((word for word in Word if word in words), Word.HOLDS if judged else Word.NOT_APPLICABLE)


def exit_code(word: Word, *, strict: bool, found: Iterable[Verdict] = ()) -> int:
    """The exit code for the overall verdict `word` and the verdicts `found` on the properties. With `strict`, permitted
    failures count as violations."""
    found = list(found)
    failing = {Word.VIOLATED, Word.PERMITTED} if strict else {Word.VIOLATED}
    props = [verdict.prop for verdict in found if verdict.word in failing]
    kinds = {prop.kind for prop in props if prop is not DEADLOCK}
    if kinds - set(WHOLE) or (word in failing and not props):
        return VIOLATED
    if DEADLOCK in props:
        return DEADLOCKED
    if kinds:
        return STUCK
    if word is Word.UNREACHABLE:
        return UNEXPECTED
    is_unproved = any(verdict.is_unproved or verdict.is_unattempted for verdict in found)
    return UNDECIDED if word is Word.UNDECIDED or is_unproved else SAFE


# ------------------------------------------------------------------------------------------------ whether engines agree


def differences(exploration: Exploration, bmc_result: BmcResult) -> list[str]:
    """A line for each property on which explorer and Z3 differ: in the verdict, or in the length of a shortest path."""
    # An exhaustive result counts for every depth.
    judged = [one.judged for one in (exploration, bmc_result) if not one.exhausted]
    # A step from the last states may still leave a declared range.
    depth = min(judged, default=max(exploration.judged, bmc_result.judged) + 1)
    lines = []
    for name in dict.fromkeys([*exploration.findings, *bmc_result.findings]):
        # The implicit properties have findings only where they are violated.
        ours, theirs = (one.findings.get(name, Findings()) for one in (exploration, bmc_result))
        if ours.unjudged or theirs.unjudged:
            continue
        # Whether a state has a step is known only once it is expanded.
        most = depth - 1 if name == DEADLOCK.name else depth
        decided = _depth(ours.found, most)
        if decided != _depth(theirs.found, most):
            lines.append(_line(name, "found", ours.found, theirs.found))
        # Each engine stops looking for permitted failures once the property is violated.
        until = depth if decided is None else decided
        if _depth(ours.permitted, until) != _depth(theirs.permitted, until):
            lines.append(_line(name, "permitted", ours.permitted, theirs.permitted))
    return lines


def _depth(finding: Finding, most: int) -> int | None:
    depth = finding.path.depth if finding.path is not None else None
    return depth if depth is not None and depth <= most else None


def _line(name: str, kind: str, ours: Finding, theirs: Finding) -> str:
    spelled = [
        f"at step {finding.path.depth}, steps {' '.join(map(str, finding.path.steps))}" if finding.path else "never"
        for finding in (ours, theirs)
    ]
    return f"{name}: {kind} by the explorer {spelled[0]}; by Z3 {spelled[1]}"
