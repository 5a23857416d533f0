"""Searches and proofs, one after the other, with the traces that they leave: what every form of `check` is made of.

In:  `Options` (checker/command/options.py), instances of models.
Out: a `Run` for each (checker/session/text.py); trace files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isrcheck.checker.analyses import matrix
from isrcheck.checker.command.console import ProgressLine
from isrcheck.checker.command.options import Options, command_of
from isrcheck.checker.compile.kernels import Kernels
from isrcheck.checker.explicit.distinct_causes import Different, differing
from isrcheck.checker.explicit.search import Exploration, Findings, Limits, explore
from isrcheck.checker.outcome.agreement import differences
from isrcheck.checker.outcome.verdict import Verdict, Word, cut_short, refuse_contradictions, verdicts, with_proofs
from isrcheck.checker.proofs.induction import Counterexample
from isrcheck.checker.proofs.premises import resting, with_open_premise
from isrcheck.checker.proofs.proof_cache import proved
from isrcheck.checker.proofs.prove import Phase, Proofs
from isrcheck.checker.resources.budget import Budget, Spent
from isrcheck.checker.resources.formula_budget import Memory
from isrcheck.checker.session import text
from isrcheck.checker.session.beginning import Beginning, begin, enumerate_initial_states
from isrcheck.checker.session.proof_text import Proving, key_of
from isrcheck.checker.session.text import Run
from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.summary import Spread
from isrcheck.checker.symbolic.bounded_model_checking import Unrolled, ask_to_depth
from isrcheck.checker.symbolic.evaluator import UnsupportedError
from isrcheck.checker.symbolic.solver import listen
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.messages.errors import ModelError, UsageError
from isrcheck.models.run import Cells, holds
from isrcheck.traces.format.certify import from_any_state, from_steps
from isrcheck.traces.format.erring import error_in_step, errors_in_properties, possible_steps
from isrcheck.traces.format.folder import write as write_trace
from isrcheck.traces.format.trace import Trace

BROKEN = (Word.VIOLATED, Word.PERMITTED)
"""What a search says of a property that cannot be proved."""

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
            for key, witness, word in verdict.histories:
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

    def write_different(self, different: Different, files: Mapping[str, Path]) -> Different:
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


def _how_it_errs(instance: Instance, counterexample: Counterexample) -> str:
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


def _with_proofs(run: Run, proofs: Proofs) -> Run:
    refuse_contradictions(run.verdicts, proofs)
    return replace(run, verdicts=with_proofs(run.verdicts, resting(proofs, run.exploration)))


class Searches:
    """Searches one after the other, for the options that were given, within what is left of the command's budget.

    `seen` notes that Ctrl-C was pressed.
    """

    def __init__(self, options: Options, seen: list[int], budget: Budget) -> None:
        self.options = options
        self.budget = budget
        self.seen = seen
        listen(seen)
        self.kernels = Kernels()

    def run(
        self,
        instance: Instance,
        target: str,
        traces: Traces,
        *,
        limits: Limits,
        only: Sequence[str] = (),
        count_all: bool = False,
        want_permitted: bool = False,
        keep_states: bool = False,
        patience: Mapping[str, float] = MappingProxyType({}),
    ) -> Run:
        """Search an instance, judge what was found, and write its traces."""
        count_all = count_all or self.options.count_all
        exploration = self.explored(
            instance,
            limits,
            count_all=count_all,
            only=only,
            want_permitted=want_permitted,
            keep_states=keep_states,
            patience=patience,
        )
        found = verdicts(exploration)
        command = command_of(target, instance, limits.depth)
        return Run(exploration, found, command, count_all, traces.write(target, instance, found))

    def explored(
        self, instance: Instance, limits: Limits, *, only: Sequence[str] = (), subject: str = "", **more: Any
    ) -> Exploration:
        """The search of an instance, which begins where there is time and memory left for its initial states."""
        progress = ProgressLine(subject or text.title(instance))
        try:
            beginning = self.begin(instance, progress)
        except Spent as spent:
            exploration = Exploration.without_beginning(instance, limits, spent.why, only)
        else:
            within = self.budget.limits(limits)
            exploration = explore(instance, within, only=only, kernel=beginning.kernel, report=progress.report, **more)
            exploration.seconds += beginning.seconds
            exploration.limits = limits
        progress.clear()
        return exploration

    def begin(self, instance: Instance, progress: ProgressLine) -> Beginning:
        """The initial states and the kernel of an instance. Raises Spent, KeyboardInterrupt."""
        beginning = begin(instance, self.budget, self.kernels.of, progress)
        if self.seen:
            raise KeyboardInterrupt
        return beginning

    def differ(self, run: Run, asked: int, target: str, traces: Traces) -> Run:
        """For every failure that was found, so many counterexamples of different causes, and their traces."""
        instance, limits = run.exploration.instance, self.options.limits
        if run.exploration.stopped == "interrupt" or not run.explored.has_begun:
            return run
        command = f"{command_of(target, instance, limits.depth)} --counterexamples {asked}"
        found = []
        for verdict in run.verdicts:
            # What leaves the declaration has no expression that could be false, and so no cause to tell it by.
            for _, _, word in verdict.histories if verdict.prop is not IN_RANGE else ():
                progress = ProgressLine(f"{text.title(instance)}, causes of {verdict.prop.name}")
                kernel = self.begin(instance, progress).kernel
                within = self.budget.limits(limits)
                one = differing(
                    *(instance, verdict.prop, Word(word), asked, within, kernel, command),
                    *(progress.report, progress.tell),
                )
                progress.clear()
                found.append(traces.write_different(one, run.traces))
                if one.stopped == "interrupt":
                    return replace(run, command=command, different=found)
        return replace(run, command=command, different=found)

    def spread(self, session: Session, instance: Instance, target: str, traces: Traces) -> Run:
        """Search an instance on Spark, judge what was found, and write its traces."""
        from isrcheck.checker.spark.engine import explore_on_spark  # here, for it needs Spark's packages

        options = self.options
        progress = ProgressLine(text.title(instance))
        spread: Spread | None = None
        try:
            beginning = self.begin(instance, progress)
        except Spent as spent:
            exploration = Exploration.without_beginning(instance, options.limits, spent.why)
        else:
            exploration, spread = explore_on_spark(
                session,
                options.spark,
                instance,
                self.budget.limits(options.limits),
                beginning.kernel,
                count_all=options.count_all,
                report=progress.report,
            )
            exploration.seconds += beginning.seconds
        progress.clear()
        found = verdicts(exploration)
        command = command_of(target, instance, options.limits.depth) + options.spark.words
        files = traces.write(target, instance, found)
        return Run(exploration, found, command, options.count_all, files, spread=spread)

    def _ask_z3(self, instance: Instance) -> Unrolled:
        """Bounded model checking of an instance."""
        progress = ProgressLine(text.title(instance))
        Memory.limit(self.options.limits.memory)
        try:
            enumerate_initial_states(instance, self.budget, progress)
        except Spent as spent:
            progress.clear()
            findings = {prop.name: Findings() for prop in instance.properties}
            return Unrolled(instance, self.options.limits, stopped=spent.why, findings=findings)
        unrolled = ask_to_depth(
            instance,
            self.budget.limits(self.options.limits),
            report=lambda depth, seconds, nodes: progress.tell(f"Z3 at depth {depth}, {nodes:,} nodes", seconds),
        )
        progress.clear()
        return unrolled

    def unroll(self, instance: Instance, target: str, traces: Traces) -> Run:
        """Ask Z3 about an instance, judge what was found, and write its traces."""
        unrolled = self._ask_z3(instance)
        found = verdicts(unrolled)
        command = f"{command_of(target, instance, self.options.limits.depth)} --engine z3"
        return Run(unrolled, found, command, traces=traces.write(target, instance, found))

    def compare(self, run: Run) -> Run:
        """Ask Z3 what the explorer was asked. Raises AssertionError where they disagree."""
        assert isinstance(run.exploration, Exploration)
        if run.exploration.stopped == "interrupt" or not run.exploration.has_begun:
            return run
        instance, command = run.exploration.instance, f"{run.command} --engine all"
        try:
            unrolled = self._ask_z3(instance)
        except UnsupportedError as error:  # what the explorer found stands
            unrolled = Unrolled(instance, self.options.limits, stopped="unsupported", refusal=str(error))
        else:
            differing = differences(run.exploration, unrolled)
            assert not differing, "; ".join([*differing, f"reproduce: {command}"])
        cut = unrolled.stopped if not unrolled.is_complete else None
        found = [cut_short(verdict, cut, unrolled.judged) for verdict in run.verdicts] if cut else run.verdicts
        return replace(run, second=unrolled, command=command, verdicts=found)

    def prove(self, run: Run, traces: Traces) -> Run:
        """Look for proofs of what the search did not break; see whether it reaches what stands in their way."""
        exploration = run.exploration
        assert isinstance(exploration, Exploration)
        if exploration.stopped == "interrupt" or not exploration.has_begun:
            return run
        instance = exploration.instance
        progress = ProgressLine(text.title(instance))
        # The states are still held, so that they can be asked about.
        Memory.limit(max(0, self.options.limits.memory - exploration.bytes_used))
        proofs = Proofs(is_kept=True)
        for phase in Phase:
            proofs = proofs.joined(self._prove_phase(run, phase, proofs, self.budget.left, progress))
        progress.clear()
        refuse_contradictions(run.verdicts, proofs)
        proofs = resting(proofs, exploration)
        found = with_open_premise(with_proofs(run.verdicts, proofs), proofs, exploration)
        command = f"{run.command} --prove"
        proving = traces.write_counterexamples(exploration, proofs, command, run.show)
        proving = replace(proving, failing={v.prop.name: v.bare for v in run.verdicts if v.word in BROKEN})
        return replace(run, verdicts=found, command=command, proving=proving)

    def _prove_phase(
        self,
        run: Run,
        phase: Phase,
        before: Proofs,
        seconds: float | None,
        progress: ProgressLine,
        *,
        is_patient: bool = True,
    ) -> Proofs:
        """The proofs of one phase; none where those of the phase before were cut short."""
        began = time.monotonic()
        if before.stopped is not None:
            return Proofs(stopped=before.stopped)
        instance = run.exploration.instance
        return proved(
            instance,
            [prop for prop in instance.properties if prop.kind is not Kind.SOMETIMES],
            phase,
            failing=[verdict.prop.name for verdict in run.verdicts if verdict.word in BROKEN],
            known=before,
            sample=run.explored.reached.sample(SAMPLE) if run.explored.reached is not None else (),
            seconds=seconds,
            is_patient=is_patient,
            report=lambda what: progress.tell(what, time.monotonic() - began),
        )

    def prove_matrix(self, pairs: list[matrix.Pair]) -> tuple[list[matrix.Pair], bool]:
        """Look for proofs of what stands in the matrix, the quick ones first; says whether somebody interrupted it."""
        deadline = time.monotonic() + matrix.PROOF_SECONDS
        Memory.limit(self.options.limits.memory)
        found = {position: Proofs() for position, (record, _) in enumerate(pairs) if not record.name}
        for phase in (Phase.EVERY_LENGTH, Phase.WITHIN_BOUNDS):
            # The newest generation first: it has the most to prove.
            for position in reversed(found):
                record, run = pairs[position]
                progress = ProgressLine(record.title)
                left = self.budget.limits(Limits(seconds=deadline - time.monotonic())).seconds
                proofs = found[position]
                # A phase that was cut short does not keep the other one from the cache.
                before = replace(proofs, stopped=None)
                more = self._prove_phase(run, phase, before, left, progress, is_patient=False)
                found[position] = proofs.joined(more)
                progress.clear()
                if more.stopped == "interrupt":
                    return pairs, True
        return [
            (record, _with_proofs(run, found[position]) if position in found else run)
            for position, (record, run) in enumerate(pairs)
        ], False

    def from_one(self, instance: Instance, only: Sequence[str], initial: int, seconds: float) -> Exploration:
        """Search from one initial state, to see whether something is possible."""
        limits = replace(self.options.limits, depth=None, seconds=seconds)
        exploration = self.explored(instance, limits, only=only, initial=initial)
        if exploration.stopped == "interrupt":
            raise KeyboardInterrupt
        return exploration
