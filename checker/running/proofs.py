"""What `--prove` adds to the results of a search: the proofs and failed attempts, as text and as an object.

In:  `Proofs`, and the explorer's paths to states of counterexamples to induction (CTIs).
Out: a `Proving`, with its lines of text and its object for `--json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from isrcheck.checker.proofs.budget_independence import independent_budgets
from isrcheck.checker.proofs.open_entries import open_entries
from isrcheck.checker.proofs.premises import premises, using
from isrcheck.checker.proofs.proof_cache import solver_version
from isrcheck.checker.results.exploration import Exploration, StepPath
from isrcheck.checker.results.instance_facts import spaced
from isrcheck.checker.results.proofs import FALSE_INITIALLY, Attempt, Proof, Proofs
from isrcheck.checker.results.run import Part, Run
from isrcheck.checker.results.terminal import grouped, wrapped
from isrcheck.checker.results.verdict import WHY_STOPPED, Word
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import IN_RANGE, Instance, spell

WIDTH = 120
"""The width of the text about proofs, in characters."""


@dataclass(frozen=True)
class Proving(Part):
    """Proofs and failed attempts, and facts about the counterexamples to induction (CTIs) of failed attempts."""

    key: ClassVar[str] = "proofs"

    proofs: Proofs
    exploration: Exploration
    reached: Mapping[str, StepPath] = field(default_factory=dict)
    """By the key of an attempt (`key_of`), the explorer's path to the state of the CTI."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """By the key of an attempt, the trace file of the CTI; in `commands` the command that shows it."""
    commands: Mapping[str, str] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)
    """By the key of an attempt, how the step of the CTI leaves a declared range."""
    false: Mapping[str, StepPath] = field(default_factory=dict)
    """By the name of a lemma, a path to a state in which it is false."""
    failing: Mapping[str, str] = field(default_factory=dict)
    """The verdicts of the properties that the explorer violates."""

    @property
    def instance(self) -> Instance:
        """The instance whose properties were to be proved."""
        return self.exploration.instance

    @property
    def stopped(self) -> str | None:
        """Why the proofs were cut short; None if they were not cut short."""
        return self.proofs.stopped

    @property
    def leaves_open(self) -> bool:
        """Whether the proofs were cut short."""
        return self.stopped is not None

    def undecided(self, run: Run, /) -> str:
        """Why the proofs leave the run undecided: the reason why they were cut short. Empty if they were not cut short,
        or if a property has the verdict UNDECIDED, because the run is then undecided for the reason of that verdict."""
        if self.stopped is None or any(verdict.word is Word.UNDECIDED for verdict in run.verdicts):
            return ""
        why = WHY_STOPPED.get(self.stopped, "")
        return f"the proofs were cut short: {why}; no violation to depth {run.exploration.judged}"

    def lines(self, _run: Run, /) -> list[str]:
        """The section about proofs, as lines of text; the first line is empty."""
        return ["", *self.report()]

    def screen_lines(self, run: Run, _width: int, /) -> list[str]:
        """The same lines as in the detailed results, whatever the width of the terminal."""
        return self.lines(run)

    def report(self) -> list[str]:
        """The section about proofs: proofs with their scope, premises, and failed attempts with their reasons."""
        instance, proofs = self.instance, self.proofs
        when = ", found by an earlier run" if proofs.is_kept else ""
        lines = [f"proofs (Z3 {solver_version()}, {proofs.seconds:.2f} s{when})"]
        for (where, basis), names in _together(instance, proofs).items():
            lines += _paragraph(f"{', '.join(names)}: PROVED{where}", "  ")
            lines += _paragraph(basis, "    ")
        for premise in premises(instance, proofs, self.exploration):
            lines += _paragraph(f"premise {premise.name} ({premise.established.value}): {premise.says}", "  ")
        for name, attempt in proofs.lost.items():
            if attempt.why == FALSE_INITIALLY or name in self.false:
                depth = 0 if attempt.why == FALSE_INITIALLY else self.false[name].depth
                where = f"a state that the explorer reaches at depth {depth}" if depth else "an initial state"
                lines += _paragraph(f"lemma {name} is false: in {where}", "  ")
            else:
                lines += self._failed(attempt, f"lemma {name} is not inductive")
        for attempt in proofs.attempts:
            every = " for every length" if attempt.every_length else ""
            also = " (it is proved within the bounds)" if attempt.prop.name in proofs.proofs else ""
            lines += self._failed(attempt, f"{attempt.prop.name}: not proved{every}{also}")
        for prop in instance.properties:
            if prop.kind in WHOLE:
                lines += _paragraph(f"{prop.name}: Z3 does not prove {prop.kind.value}; the search judges it", "  ")
        if proofs.stopped is not None:
            lines.append(f"  the proofs were cut short: {WHY_CUT.get(proofs.stopped, 'Z3 found no answer')}")
        return lines

    def _failed(self, attempt: Attempt, claim: str) -> list[str]:
        return [*_paragraph(f"{claim}: {attempt.why}{_shown(self, attempt)}", "  "), *_table(self, attempt)]

    def as_object(self, _run: Run, /) -> dict[str, Any]:
        """The object under `proofs` in the `--json` output."""
        proofs = self.proofs
        return {
            "solver": f"Z3 {solver_version()}",
            "seconds": round(proofs.seconds, 3),
            "stopped": proofs.stopped,
            "proved": [
                {
                    "property": proof.prop.name,
                    "every_length": proof.every_length,
                    "scope": scope(self.instance, proof),
                    "k": proof.steps,
                    "lemmas": list(proof.lemmas),
                    "rests_on": rests_on(proof),
                }
                for proof in promised(proofs).values()
            ],
            "premises": [
                {"premise": premise.name, "established": premise.established.value, "says": premise.says}
                for premise in premises(self.instance, proofs, self.exploration)
            ],
            "not_proved": [_attempt_object(self, attempt) for attempt in (*proofs.lost.values(), *proofs.attempts)],
        }


def scope(instance: Instance, proof: Proof) -> str:
    """Return, in words, for which depths, bounds, faults and settings a proof holds."""
    entries = instance.model.entries
    values = dict(instance.configuration.items())

    def spelled(names: list[str]) -> str:
        return ", ".join(f"{name}={spell(entries[name], values[name])}" for name in names)

    if proof.every_length:
        has_any_value = open_entries(instance)
        open_bounds = [name for name, entry in entries.items() if entry.is_bound and name in has_any_value]
        kept = [
            name for name, entry in entries.items() if (entry.is_bound or entry.is_budget) and name not in has_any_value
        ]
        open_sizes = f"any {_spaced(open_bounds)}, " if open_bounds else ""
        text = f"{open_sizes}any faults and settings, from the initial states of this configuration"
        text += f"; with {spelled(kept)}" if kept else ""
        return f"{text}; as long as every index into an unbounded array stays within it" if open_bounds else text
    by_name = {claim.name: claim for claim in (*instance.properties, *instance.lemmas)}
    # The fields that a proposed lemma reads are unknown, and an exhaustive search depends on its budgets.
    premise = proof.premise
    names = dict.fromkeys([*proof.lemmas, *([] if premise is None else premise.lemmas)])
    declared = [by_name[name] for name in names if name in by_name]
    is_known = len(declared) == len(names) and proof.steps == 1 and premise is not None and premise.steps == 1
    free = independent_budgets(instance, [*instance.properties, *declared]) if is_known else []
    budgets = {name for name, entry in entries.items() if entry.is_budget and values[name]}.difference(free)
    fixed = [name for name, entry in entries.items() if entry.is_bound or name in budgets]
    text = f"at any depth, with {spelled(fixed) or 'no bounds'}"
    text += f"; any number of {_spaced(free)}" if free else ""
    # A budget of 0 is an assumption as well: with one such fault, the same property may fail.
    none = [name for name, entry in entries.items() if entry.is_budget and not entry.is_bound and not values[name]]
    return f"{text}; no {_spaced(none)}" if none else text


def rests_on(proof: Proof) -> str:
    """Return, in words, how a property was proved: by which kind of induction, with which lemmas."""
    how = "induction" if proof.steps == 1 else f"{proof.steps}-induction over simple paths"
    base = "true in every initial state, preserved by every step"
    if proof.steps > 1:
        base = f"true in the first {proof.steps} states, preserved by every step after {proof.steps} such states"
    return f"{how}{using(proof)} ({base})"


def promised(proofs: Proofs) -> dict[str, Proof]:
    """Return the proofs of a model's properties, by name, without the proof of the premise `in_range`."""
    return {name: proof for name, proof in proofs.proofs.items() if proof.prop is not IN_RANGE}


def _together(instance: Instance, proofs: Proofs) -> dict[tuple[str, str], list[str]]:
    """Return the names of the proved properties, grouped by the texts `scope` and `rests_on` of their proofs."""
    promises = promised(proofs)
    bases = {name: {name, *proof.lemmas} for name, proof in promises.items()}

    def basis(name: str, proof: Proof) -> tuple[str, str]:
        every = " for every length" if proof.every_length else ""
        lemmas = tuple(lemma for lemma in proof.lemmas if bases.get(lemma) != bases[name])
        return f"{every}: {scope(instance, proof)}", rests_on(replace(proof, lemmas=lemmas))

    return grouped((basis(name, proof), name) for name, proof in promises.items())


def _paragraph(text: str, indent: str) -> list[str]:
    return wrapped(text, WIDTH, indent, f"{indent}  ")


def _spaced(names: list[str]) -> str:
    return ", ".join(map(spaced, names))


WHY_CUT = {
    "seconds": "the time limit was reached",
    "memory": "Z3 reached the memory limit",
    "interrupt": "interrupted",
}


def _shown(proving: Proving, attempt: Attempt) -> str:
    counterexample = attempt.counterexample
    if counterexample is None:
        return ""
    key = key_of(attempt)
    text = f": {counterexample.says}"
    if key in proving.outside:
        after = "which leaves its range:" if attempt.prop is IN_RANGE else "after which"
        text += f", {after} {proving.outside[key]}"
    exploration = proving.exploration
    if attempt.prop.name in proving.failing:
        return f"{text}; the explorer refutes it: {proving.failing[attempt.prop.name]}"
    if key in proving.reached:
        depth = proving.reached[key].depth
        text += f", from a state that the explorer reaches at depth {depth}"
        text += ", with these sizes and settings" if attempt.every_length else f": a real failure at step {depth + 1}"
    elif exploration.exhausted:
        text += ", from a state that the explorer does not reach (an exhaustive search within these bounds)"
        text += "" if attempt.every_length else "; a lemma has to exclude that state"
    else:
        text += f", from a state that the explorer does not reach (these bounds searched to depth {exploration.judged})"
        text += "" if attempt.every_length else "; the state is reached later, or a lemma has to exclude it"
    if attempt.every_length:
        text += "; the unbounded abstraction cannot decide it"
    if key in proving.commands:
        text += f"; {proving.commands[key]}"
    return text


def key_of(attempt: Attempt) -> str:
    """Return a text that identifies an attempt: the property, then " for every length" if `attempt.every_length`."""
    return f"{attempt.prop.name} for every length" if attempt.every_length else attempt.prop.name


def _table(proving: Proving, attempt: Attempt) -> list[str]:
    """Return lines with the state before the step of a CTI, and what the step changes; none if the CTI has a trace."""
    counterexample = attempt.counterexample
    if counterexample is None or key_of(attempt) in proving.commands:
        return []
    rows = []
    for place in proving.instance.layouts.values():
        cells = range(place.offset, place.offset + place.count)
        before = [counterexample.before[cell] for cell in cells]
        after = [counterexample.after[cell] for cell in cells]
        if before and before[0] is not None and (place.name in attempt.prop.function.routine.reads or before != after):
            line = f"    {place.name} {' '.join(map(str, before))}"
            rows.append(line if before == after else f"{line} -> {' '.join(map(str, after))}")
    return rows


def _attempt_object(proving: Proving, attempt: Attempt) -> dict[str, Any]:
    counterexample = attempt.counterexample
    key = key_of(attempt)
    reached = proving.reached.get(key)
    file = proving.files.get(key)
    return {
        "property": attempt.prop.name,
        "kind": attempt.prop.kind.value,
        "every_length": attempt.every_length,
        "why": attempt.why,
        "step": counterexample.says if counterexample else None,
        "reached_at_depth": reached.depth if reached else None,
        "trace": str(file) if file else None,
    }
