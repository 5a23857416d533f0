"""Writes the trace files that a search or a proof leaves.

In:  verdicts with their paths, and counterexamples to induction.
Out: certified trace files; where writing fails, the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from isrcheck.checker.outcome.causes import DistinctCauses
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.proof_results import CounterexampleToInduction, Proofs
from isrcheck.checker.outcome.verdict import Verdict
from isrcheck.checker.session.proof_text import Proving, key_of
from isrcheck.checker.session.reproduce import command_of
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages.errors import ModelError, UsageError
from isrcheck.models.run import Cells, holds
from isrcheck.traces.format.certify import from_any_state, from_steps
from isrcheck.traces.format.erring import error_in_step, errors_in_properties, possible_steps
from isrcheck.traces.format.folder import write as write_trace
from isrcheck.traces.format.trace import Trace

SAMPLE = 2000
"""How many of the reached states lemmas are proposed from, and held against."""


class Traces:
    """Writes certified traces; the first failure to write is kept, so that the report still comes out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failure = ""
        self.shortest: dict[str, Trace] = {}

    def write(self, target: str, instance: Instance, found: Sequence[Verdict]) -> Mapping[str, Path]:
        """A trace for every failure of a property, whether it breaks a promise or is permitted."""
        files: dict[str, Path] = {}
        for verdict in found:
            name = verdict.prop.name
            for key, witness, word in verdict.failing_paths:
                command = command_of(target, instance, witness.depth)
                trace = from_steps(instance, witness.initial, witness.steps, name, command, word)
                self.shortest[key] = trace
                path = self._put(trace)
                if path is not None:
                    files[key] = path
        return files

    def _put(self, trace: Trace) -> Path | None:
        """Write a trace; None where that failed, now or before."""
        try:
            return None if self.failure else write_trace(trace, self.folder)
        except UsageError as error:
            self.failure = str(error)
            return None

    def write_different(self, different: DistinctCauses, files: Mapping[str, Path]) -> DistinctCauses:
        """A trace for every cause; the one that is there already is not written again."""
        there = {_history(self.shortest[key]): (self.shortest[key], path) for key, path in files.items()}
        found = []
        for one in different.found:
            trace, path = there.get(_history(one.trace)) or (one.trace, self._put(one.trace))
            found.append(replace(one, trace=trace, path=path))
        return replace(different, found=tuple(found))

    def write_counterexamples(
        self, exploration: Exploration, proofs: Proofs, command: str, show: Callable[[Path], str]
    ) -> Proving:
        """A trace for every counterexample to induction that is a whole state; and which of them are reached."""
        instance = exploration.instance
        reached, files, commands, outside = {}, {}, {}, {}
        sample = exploration.reached.sample(SAMPLE) if exploration.reached and proofs.lost else []
        false = {}
        for attempt in proofs.lost.values():
            where = next((cells for cells in sample if not _is_true(instance, attempt.prop, cells)), None)
            witness = exploration.reached.find(where) if exploration.reached and where is not None else None
            if witness is not None:
                false[attempt.prop.name] = witness
        for attempt in (*proofs.lost.values(), *proofs.attempts):
            counterexample = attempt.counterexample
            if counterexample is None:
                continue
            key = key_of(attempt)
            witness = exploration.reached.find(counterexample.before) if exploration.reached else None
            if witness is not None:
                reached[key] = witness
            if attempt.prop is IN_RANGE and not attempt.every_length:
                outside[key] = _how_it_errs(instance, counterexample)
                continue
            if counterexample.step is None or self.failure:
                continue
            before = _known(counterexample.before)
            try:
                trace = from_any_state(instance, before, counterexample.step, attempt.prop.name, command)
            except ModelError as error:
                outside[key] = str(error)
                continue
            try:
                files[key] = write_trace(trace, self.folder)
                commands[key] = show(files[key])
            except UsageError as error:
                self.failure = str(error)
        return Proving(proofs, exploration, reached, files, commands, outside, false)


def _known(cells: Sequence[int | None]) -> Cells:
    return tuple(cell for cell in cells if cell is not None)


def _how_it_errs(instance: Instance, counterexample: CounterexampleToInduction) -> str:
    """What plain Python says of a step, or of a property, that leaves the declaration."""
    before = _known(counterexample.before)
    found = None if counterexample.step is None else error_in_step(instance, before, counterexample.step)
    if found is not None:
        return found
    # A property of states is asked there, one of steps at the steps from there.
    paths = [((before,), ()), *(((before, after), (step,)) for step, after in possible_steps(instance, before))]
    for states, steps in paths:
        for error in errors_in_properties(instance, states, steps):
            return error.message
    raise AssertionError(f"Z3 reports that {counterexample.says} leaves its range, and the reference does not see it")


def _history(trace: Trace) -> tuple[object, ...]:
    """What makes a trace the one that it is, whatever command found it."""
    return trace.property_name, trace.verdict, trace.states[0], trace.steps


def _is_true(instance: Instance, lemma: Property, cells: Cells) -> bool:
    try:
        return holds(instance, lemma, cells)
    except ModelError:
        return False
