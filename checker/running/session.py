"""Runs one engine on one instance, derives the verdicts and writes the traces; every form of `check` uses it.

Out: a `Run` for each instance (checker/results/run.py); trace files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isrcheck.checker.compile.kernel import Kernel, Kernels
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.disk.engine import cleared_before, explore_on_disk
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.explicit.causes import distinct_causes
from isrcheck.checker.explicit.explore import explore, first_states
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.explicit.reduced_search import Found, kept_or_found
from isrcheck.checker.explicit.visited_set import Full
from isrcheck.checker.proofs.premises import with_established_premise, with_open_premise
from isrcheck.checker.proofs.proof_cache import proved, solver_version
from isrcheck.checker.reductions.find import reduction_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.limits import Budget, Interrupts, Limits, Memory, Spent
from isrcheck.checker.results.causes import Causes
from isrcheck.checker.results.exploration import BmcResult, Exploration, Findings, Progress
from isrcheck.checker.results.instance_facts import command_of, title
from isrcheck.checker.results.proofs import Phase, Proofs
from isrcheck.checker.results.run import Part, Run, Z3Agreement
from isrcheck.checker.results.terminal import ProgressLine, human_bytes
from isrcheck.checker.results.verdict import (
    WHY_STOPPED,
    Word,
    cut_short,
    differences,
    refuse_contradictions,
    verdicts,
    with_proofs,
)
from isrcheck.checker.running.trace_writer import SAMPLE, TraceWriter
from isrcheck.checker.spark.request import SparkRequest
from isrcheck.models.language.declarations import INDUCTIVE, WHOLE
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from isrcheck.checker.spark.session import Session

BROKEN = (Word.VIOLATED, Word.PERMITTED)
"""The verdicts of failing properties, for which no proof is attempted."""

Report = Callable[[Progress], None]

Search = Callable[[Kernel, Limits, Report], Exploration]
"""Searches with a kernel within limits, and reports its progress."""

# --------------------------------------------------------------------------------------------- preparing a search

QUIET = 1.0
"""Progress is reported only after this many seconds."""

Compile = Callable[[Instance, Callable[[str], None]], Kernel]
"""Returns the kernel of an instance; before it compiles one, it calls its second argument with a message."""


@dataclass(frozen=True)
class Beginning:
    """What `begin` returns when a search can start: the kernel, and how long enumerating the initial states took."""

    kernel: Kernel
    seconds: float
    """The time of enumerating the initial states."""
    says: str = ""
    """Why a reduction was not possible, for a report."""


def begin(instance: Instance, budget: Budget, compiled: Compile, progress: ProgressLine | None = None) -> Beginning:
    """Enumerate the initial states and get a kernel from `compiled`. Raises Spent; ModelError if a state is invalid."""
    seconds = enumerate_initial_states(instance, budget, progress)
    with _kept(budget):
        kernel = compiled(instance, progress.announce if progress else lambda message: None)
    return Beginning(kernel, seconds)


@contextmanager
def _kept(budget: Budget) -> Iterator[None]:
    """Raise Spent within this context when the time or the memory of the command is used up."""
    try:
        with budget.kept(), compiling_within(budget.left):
            yield
    except OutOfTimeError:
        raise Spent("seconds") from None
    except Full:
        raise Spent("memory") from None


def enumerate_initial_states(instance: Instance, budget: Budget, progress: ProgressLine | None = None) -> float:
    """Enumerate the initial states; returns the time taken, in seconds. Raises Spent, ModelError."""
    began = time.monotonic()
    is_announced = False

    def watch(count: int, size: int) -> None:
        nonlocal is_announced
        budget.look(size)
        seconds = time.monotonic() - began
        if progress is None or seconds < QUIET:
            return
        if not is_announced:
            progress.announce(f"{progress.subject}: enumerating the initial states")
            is_announced = True
        progress.tell(f"{count:,} initial states, {human_bytes(size)}", seconds)

    with _kept(budget):
        if instance.model.generators:
            generate_initial_states(instance, budget.memory, watch)
        else:
            instance.enumerated(watch)
    return time.monotonic() - began


# ------------------------------------------------------------------------------------------------------- a session


@dataclass(frozen=True)
class AskedReduction:
    """The reduction that the user's options request: whether a search visits fewer states, and by which means."""

    is_sought: bool = False
    symmetry: bool = False
    """Whether every symmetric domain is used; otherwise, those that the model declares."""
    whole: str = ""
    """Why the search must visit every state; empty: it need not."""
    words: str = ""
    """The options of the command."""
    dead: bool = True
    """Whether dead cells are cleared."""


EVERY_STATE = AskedReduction()


def reduction_for(
    needs: Iterable[tuple[str, bool, str]], symmetry: str, *, is_symmetric: bool, is_off: bool, visits_states: bool
) -> AskedReduction:
    """Return the reduction that the user's options request. Raises UsageError for symmetry with an option of `needs`.

    `needs` has the options for which every state must be visited: for each option, how the user writes it, whether it
    is chosen, and what it does. `symmetry` is how the user writes the option for symmetry, `is_symmetric` whether it is
    chosen, `is_off` whether all reductions are off, and `visits_states` whether the engine visits states one by one.
    """
    option, does = next(((option, does) for option, is_chosen, does in needs if is_chosen), ("", ""))
    if is_symmetric and option:
        raise UsageError(f"{symmetry} does not go with {option}, which {does}; leave one of them out")
    if is_off:
        return AskedReduction(words=" --no-reduction")
    if not visits_states:
        return EVERY_STATE
    return AskedReduction(True, is_symmetric, f"{option} {does}".strip(), " --symmetry" if is_symmetric else "")


class CutShortError(Exception):
    """A limit ended a search before it did what was requested; the message says which limit."""


class SearchSession:
    """Runs searches and proofs one after the other, within the remaining budget of the command.

    With `count_all`, a search counts all violating states. `spark` describes how a search on Spark is divided;
    `progress_line` makes a progress line from its subject. `seen` is a list that gets an entry for each Ctrl-C.
    """

    def __init__(
        self,
        limits: Limits,
        budget: Budget,
        seen: list[int],
        *,
        count_all: bool = False,
        spark: SparkRequest | None = None,
        progress_line: Callable[[str], ProgressLine] = ProgressLine,
    ) -> None:
        self.limits = limits
        self.budget = budget
        self.count_all = count_all
        self.spark = spark
        self.seen = seen
        self.progress_line = progress_line
        Interrupts.listen(seen)
        self.kernels = Kernels()

    def run(
        self,
        instance: Instance,
        target: str,
        traces: TraceWriter,
        *,
        limits: Limits,
        count_all: bool = False,
        reduction: AskedReduction = EVERY_STATE,
        **more: Any,
    ) -> Run:
        """Search an instance of the model `target`, derive verdicts on its properties, and write traces of failures.

        `more` are further arguments of `explore` (checker/explicit/explore.py), such as `only` and `want_permitted`.
        """
        count_all = count_all or self.count_all
        exploration = self.explore(instance, limits, count_all=count_all, reduction=reduction, **more)
        command = _command(target, instance, limits, reduction.words)
        return _judged(exploration, target, command, traces, counted_all=count_all)

    def explore(
        self,
        instance: Instance,
        limits: Limits,
        *,
        only: Sequence[str] = (),
        subject: str = "",
        reduction: AskedReduction = EVERY_STATE,
        **more: Any,
    ) -> Exploration:
        """Search an instance, without verdicts and traces. If a limit ends the preparations, the result is empty."""

        def search(kernel: Kernel, within: Limits, report: Report) -> Exploration:
            return explore(instance, within, only=only, kernel=kernel, report=report, **more)

        return self._search(instance, limits, search, only=only, subject=subject, reduction=reduction)

    def _search(
        self,
        instance: Instance,
        limits: Limits,
        search: Search,
        *,
        only: Sequence[str] = (),
        subject: str = "",
        reduction: AskedReduction = EVERY_STATE,
        cleared: Container[tuple[str, str]] | None = None,
    ) -> Exploration:
        """Prepare a search and run it. If a limit is reached during the preparations, the result has no states."""
        progress = self.progress_line(subject or title(instance))
        try:
            beginning = self.begin(instance, progress, reduction, cleared)
        except Spent as spent:
            exploration = Exploration.without_beginning(instance, limits, spent.why, only)
        else:
            exploration = search(beginning.kernel, self.budget.limits(limits), progress.report)
            exploration.seconds += beginning.seconds
            exploration.limits = limits
            exploration.reduction = "; ".join(filter(None, (exploration.reduction, beginning.says)))
        progress.clear()
        return exploration

    def explore_whole(self, instance: Instance, limits: Limits, **more: Any) -> Exploration:
        """Search an instance as `explore` does. Raises CutShortError at a limit, and KeyboardInterrupt after Ctrl-C."""
        exploration = self.explore(instance, limits, **more)
        if exploration.stopped == "interrupt":
            raise KeyboardInterrupt
        if not exploration.is_complete:
            raise CutShortError(WHY_STOPPED[exploration.stopped or ""])
        return exploration

    def begin(
        self,
        instance: Instance,
        progress: ProgressLine,
        wanted: AskedReduction = EVERY_STATE,
        cleared_before: Container[tuple[str, str]] | None = None,
    ) -> Beginning:
        """Enumerate the initial states, find a reduction and get a kernel. A search that continues a checkpoint clears
        the same dead cells, `cleared_before`. Raises Spent, KeyboardInterrupt, UsageError (`wanted` is refused)."""
        compiled, says = self._compiled(None), ""
        if wanted.is_sought:
            enumerate_initial_states(instance, self.budget, progress)
            if cleared_before is None:
                reduction, says = kept_or_found(
                    instance,
                    f"{wanted.symmetry} {wanted.dead} {wanted.whole}",
                    lambda: self._reduction(instance, wanted, progress),
                    lambda: self.budget.left != 0,
                )
            else:
                reduction, says = reduction_of(instance, symmetry=wanted.symmetry, whole=wanted.whole)
                reduction = None if reduction is None else reduction.clearing(cleared_before)
            compiled = self._compiled(reduction)
        beginning = begin(instance, self.budget, compiled, progress)
        if self.seen:
            raise KeyboardInterrupt
        return replace(beginning, says=says)

    def _reduction(self, instance: Instance, wanted: AskedReduction, progress: ProgressLine) -> Found:
        """Return the reduction of a search, and a reason for the report if the declared symmetry cannot be used (else
        ''). Dead (unread) cells are cleared only where this makes first states equal."""
        reduction, says = reduction_of(instance, symmetry=wanted.symmetry, dead=wanted.dead, whole=wanted.whole)
        if reduction is not None and reduction.dead:
            # Another kernel is compiled only if that pays: the clearings must reduce the number of the first states.
            before = begin(instance, self.budget, self._compiled(replace(reduction, dead=())), progress)
            reduction = reduction.worthwhile(first_states(instance, self.budget.limits(self.limits), before.kernel))
        return reduction, says

    def _compiled(self, reduction: Reduction | None) -> Compile:
        return partial(self.kernels.of, reduction=None if reduction == Reduction() else reduction)

    def find_distinct_causes(self, run: Run, most: int, target: str, traces: TraceWriter) -> Run:
        """For each failing property, find at most `most` counterexamples with different causes, and write traces."""
        instance, limits = run.exploration.instance, self.limits
        if run.exploration.stopped == "interrupt" or not run.explored.has_begun:
            return run
        command = _command(target, instance, limits, f" --counterexamples {most}")
        of_failures = []
        # A value outside its declared range has no false expression, and so no cause that could be compared. Whether a
        # path with fewer steps ends in a stuck state, plain Python can decide only in small models. Loops and
        # deadlocks have no cause.
        failing = [v for v in run.verdicts if v.prop not in (IN_RANGE, DEADLOCK) and v.prop.kind not in WHOLE]
        for prop, word in [(verdict.prop, word) for verdict in failing for _, _, word in verdict.failing_paths]:
            progress = self.progress_line(f"{title(instance)}, causes of {prop.name}")
            kernel = self.begin(instance, progress).kernel
            within = self.budget.limits(limits)
            reports = progress.report, progress.tell
            causes = distinct_causes(instance, prop, Word(word), most, within, kernel, command, *reports)
            progress.clear()
            of_failures.append(traces.write_different(causes, run.traces))
            if causes.stopped == "interrupt":
                break
        return replace(run, command=command, parts=(*run.parts, Causes(tuple(of_failures))))

    def run_on_disk(
        self,
        request: DiskRequest,
        instance: Instance,
        target: str,
        traces: TraceWriter,
        reduction: AskedReduction = EVERY_STATE,
    ) -> Run:
        """Search with the states on disk; derive verdicts and write traces as `run` does. Raises UsageError."""
        cleared, explore = cleared_before(request), partial(explore_on_disk, request)
        return self._run_with_part(explore, instance, target, traces, reduction, reduction.words, cleared)

    def run_on_spark(
        self,
        session: Session,
        instance: Instance,
        target: str,
        traces: TraceWriter,
        reduction: AskedReduction = EVERY_STATE,
    ) -> Run:
        """Search on Spark; derive verdicts and write traces as `run` does."""
        from isrcheck.checker.spark.engine import explore_on_spark  # imported here because it needs Spark's packages

        assert self.spark is not None, "the command asks for Spark"
        words, explore = reduction.words + self.spark.words, partial(explore_on_spark, session, self.spark)
        return self._run_with_part(explore, instance, target, traces, reduction, words)

    def _run_with_part(
        self,
        explore: Callable[..., tuple[Exploration, Part]],
        instance: Instance,
        target: str,
        traces: TraceWriter,
        reduction: AskedReduction,
        words: str,
        cleared: Container[tuple[str, str]] | None = None,
    ) -> Run:
        """Search with the engine `explore`, which also returns a part of the run (its own results); derive verdicts and
        write traces as `run` does. `words` are the options for reduction and engine in the run's command."""

        parts: list[Part] = []

        def search(kernel: Kernel, within: Limits, report: Report) -> Exploration:
            exploration, part = explore(instance, within, kernel, count_all=self.count_all, report=report)
            parts.append(part)
            return exploration

        exploration = self._search(instance, self.limits, search, reduction=reduction, cleared=cleared)
        command = _command(target, instance, self.limits, words)
        return _judged(exploration, target, command, traces, counted_all=self.count_all, parts=tuple(parts))

    def _ask_z3(self, instance: Instance) -> BmcResult:
        from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth  # here, because it imports Z3

        progress = self.progress_line(title(instance))
        Memory.limit(self.limits.memory)
        try:
            enumerate_initial_states(instance, self.budget, progress)
        except Spent as spent:
            findings = {prop.name: Findings() for prop in instance.properties}
            bmc_result = BmcResult(instance, self.limits, stopped=spent.why, findings=findings)
        else:
            bmc_result = ask_to_depth(
                instance,
                self.budget.limits(self.limits),
                report=lambda depth, seconds, nodes: progress.tell(f"Z3 at depth {depth}, {nodes:,} nodes", seconds),
            )
        progress.clear()
        bmc_result.solver = f"Z3 {solver_version()}"
        return bmc_result

    def run_z3(self, instance: Instance, target: str, traces: TraceWriter) -> Run:
        """Check an instance with Z3 (bounded model checking); derive verdicts and write traces as `run` does."""
        bmc_result = self._ask_z3(instance)
        return _judged(bmc_result, target, _command(target, instance, self.limits, " --engine z3"), traces)

    def compare_with_z3(self, run: Run) -> Run:
        """Check a run's instance with Z3; return the run with both results. Raises AssertionError if they disagree."""
        assert isinstance(run.exploration, Exploration)
        if run.exploration.stopped == "interrupt" or not run.exploration.has_begun:
            return run
        instance, command = run.exploration.instance, f"{run.command} --engine all"
        bmc_result = self._ask_z3(instance)
        differing = differences(run.exploration, bmc_result)
        assert not differing, "; ".join([*differing, f"reproduce: {command}"])
        judged = run.verdicts
        if bmc_result.stopped is not None and not bmc_result.is_complete:
            judged = [cut_short(verdict, bmc_result.stopped, bmc_result.judged) for verdict in judged]
        return replace(run, command=command, verdicts=judged, parts=(*run.parts, Z3Agreement(bmc_result)))

    def prove(self, run: Run, traces: TraceWriter) -> Run:
        """Try to prove the properties of a run, and return the run with the proofs. For each failed attempt, the run
        also says whether the search reached the state of the counterexample to induction."""
        exploration = run.exploration
        assert isinstance(exploration, Exploration)
        if exploration.stopped == "interrupt" or not exploration.has_begun:
            return run
        instance = exploration.instance
        progress = self.progress_line(title(instance))
        # The explored states stay in memory, because lemmas and CTIs are checked against them.
        Memory.limit(max(0, self.limits.memory - exploration.bytes_used))
        proofs = Proofs(is_kept=True)
        for phase in Phase:
            proofs = proofs.joined(self.prove_phase(run, phase, proofs, self.budget.left, progress))
        progress.clear()
        refuse_contradictions(run.verdicts, proofs)
        proofs = with_established_premise(proofs, exploration)
        judged = with_open_premise(with_proofs(run.verdicts, proofs), proofs, exploration)
        command = f"{run.command} --prove"
        proving = traces.write_counterexamples(exploration, proofs, command, run.show)
        proving = replace(proving, failing={v.prop.name: v.bare for v in run.verdicts if v.word in BROKEN})
        return replace(run, verdicts=judged, command=command, parts=(*run.parts, proving))

    def prove_phase(
        self,
        run: Run,
        phase: Phase,
        before: Proofs,
        seconds: float | None,
        progress: ProgressLine,
        *,
        is_patient: bool = True,
    ) -> Proofs:
        """Return the proofs that a phase finds in `seconds`; no proofs if an earlier phase (`before`) was cut short."""
        began = time.monotonic()
        if before.stopped is not None:
            return Proofs(stopped=before.stopped)
        instance = run.exploration.instance
        return proved(
            instance,
            [prop for prop in instance.properties if prop.kind in INDUCTIVE],
            phase,
            failing=[verdict.prop.name for verdict in run.verdicts if verdict.word in BROKEN],
            known=before,
            sample=run.explored.reached.sample(SAMPLE) if run.explored.reached is not None else (),
            seconds=seconds,
            is_patient=is_patient,
            report=lambda what: progress.tell(what, time.monotonic() - began),
        )


def _judged(exploration: Exploration | BmcResult, target: str, command: str, traces: TraceWriter, **more: Any) -> Run:
    judged = verdicts(exploration)
    files = traces.write(target, exploration.instance, judged)
    keys = [key for verdict in judged for key, _, _ in verdict.failing_paths]
    histories = {key: traces.shortest[key] for key in keys if key in traces.shortest}
    return Run(exploration, judged, command, traces=files, histories=histories, **more)


def _command(target: str, instance: Instance, limits: Limits, options: str = "") -> str:
    return command_of(target, instance, limits.depth, deadlock=limits.deadlock) + options
