"""Writes the trace files of a search or a proof.

In:  verdicts with their paths, and counterexamples to induction (CTIs).
Out: trace files, each checked step by step in plain Python; or the reason why a file could not be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from isrcheck.checker.results.causes import DistinctCauses
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import command_to_show
from isrcheck.checker.results.proofs import CounterexampleToInduction, Proofs
from isrcheck.checker.results.verdict import Verdict
from isrcheck.checker.running.proofs import Proving, key_of
from isrcheck.models.language.model import IN_RANGE, Instance, Property
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells, holds
from isrcheck.traces.format.certify import from_any_state, from_steps
from isrcheck.traces.format.files import write as write_trace
from isrcheck.traces.format.trace import Trace, error_in_step, errors_in_properties, possible_steps

SAMPLE = 2000
"""The number of reached states that serve to propose lemmas and to refute them."""


class TraceWriter:
    """Writes traces, each checked step by step in plain Python, to a folder; if `folder` is None, writes no files.

    `failure` is the message of the first write error, which does not end the command. `shortest` maps each failing
    property to its shortest trace, written or not.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.failure = ""
        self.shortest: dict[str, Trace] = {}

    def write(
        self, target: str, instance: Instance, judged: Sequence[Verdict], *, command: str = ""
    ) -> Mapping[str, Path]:
        """Write a trace for every violation and permitted failure, and return the files by property. A trace names a
        command that finds the failure: `command` or, if this is empty, a search that is just deep enough."""
        files: dict[str, Path] = {}
        for verdict in judged:
            name = verdict.prop.name
            for key, witness, word in verdict.failing_paths:
                shown_by = command or command_to_show(target, instance, verdict.prop, witness.depth)
                trace = from_steps(instance, witness.initial, witness.steps, name, shown_by, word, witness.loop)
                self.shortest[key] = trace
                path = self._put(trace)
                if path is not None:
                    files[key] = path
        return files

    def _put(self, trace: Trace) -> Path | None:
        """Write a trace and return its path; None if there is no folder, or this or an earlier write failed."""
        try:
            return None if self.failure or self.folder is None else write_trace(trace, self.folder)
        except UsageError as error:
            self.failure = str(error)
            return None

    def write_different(self, different: DistinctCauses, files: Mapping[str, Path]) -> DistinctCauses:
        """Write a trace for every cause, unless `files` has the trace already; returns the causes with their files."""
        there = {_identity(self.shortest[key]): (self.shortest[key], path) for key, path in files.items()}
        examples = []
        for example in different.found:
            trace, path = there.get(_identity(example.trace)) or (example.trace, self._put(example.trace))
            examples.append(replace(example, trace=trace, path=path))
        return replace(different, found=tuple(examples))

    def write_counterexamples(
        self, exploration: Exploration, proofs: Proofs, command: str, show: Callable[[Path], str]
    ) -> Proving:
        """Write a trace for every counterexample to induction (CTI), unless it is from the unbounded abstraction, where
        cells are unknown, or its step leaves a declared range. Return the proofs with these traces, with the CTIs whose
        states the search reached, and with reached states in which a lemma is false."""
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
            path = self._put(trace)
            if path is not None:
                files[key] = path
                commands[key] = show(path)
        return Proving(proofs, exploration, reached, files, commands, outside, false)


def _known(cells: Sequence[int | None]) -> Cells:
    return tuple(cell for cell in cells if cell is not None)


def _how_it_errs(instance: Instance, counterexample: CounterexampleToInduction) -> str:
    before = _known(counterexample.before)
    message = None if counterexample.step is None else error_in_step(instance, before, counterexample.step)
    if message is not None:
        return message
    # A property of states is evaluated in this state, a property of steps on the steps from it.
    paths = [((before,), ()), *(((before, after), (step,)) for step, after in possible_steps(instance, before))]
    errors = (error.message for states, steps in paths for error in errors_in_properties(instance, states, steps))
    message = next(errors, None)
    assert message is not None, f"Z3 reports that {counterexample.says} leaves its range, but the reference does not"
    return message


def _identity(trace: Trace) -> tuple[object, ...]:
    """Return what identifies a trace: property, verdict, first state and steps, but not the command that found it."""
    return trace.property_name, trace.verdict, trace.states[0], trace.steps


def _is_true(instance: Instance, lemma: Property, cells: Cells) -> bool:
    try:
        return holds(instance, lemma, cells)
    except ModelError:
        return False
