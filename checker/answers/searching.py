"""Answers questions by search: in this process, or in several processes at the same time.

Plain Python confirms each failure that a search finds. Stderr shows the depth to which a search found no failure.

Independent searches share nothing, so several processes with one thread each use two cores better than one search with
two threads, whose threads have to wait for each other at the end of every level.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import FrameType

from isrcheck.checker.answers.findings import FAILS, GRAVITY, Finding, Result, Search, assembled, without_search
from isrcheck.checker.answers.planning import of_instance, planned, with_power
from isrcheck.checker.answers.questions import Case, Question, Topic
from isrcheck.checker.resources.limits import UNLIMITED, Budget, Limits
from isrcheck.checker.results.exploration import Exploration, Progress
from isrcheck.checker.results.instance_facts import command_to_show
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import Verdict, Word, verdicts
from isrcheck.checker.running.session import EVERY_STATE, AskedReduction, SearchSession
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.certify import from_steps

Searching = Callable[[Search, Limits], Result]
"""A function that makes a search within limits. After Ctrl-C it returns the result so far; later calls raise
KeyboardInterrupt."""

AS_THEY_ARE = (Topic.WRITES, Topic.READS, Topic.SURVIVES)
"""Questions whose searches have no faults except brokers that are down: `--set` raises no budget in them."""


class Searcher:
    """Answers questions by search, with at least the fault budgets in `least`, as from `--set crashes=2`. Budgets that
    the model of a search lacks are ignored, and so is `least` for the topics in AS_THEY_ARE."""

    def __init__(self, search: Searching, least: Mapping[str, int] | None = None) -> None:
        self.search = search
        self.least = least or {}
        self.held: dict[tuple[str, int | None], Result] = {}
        """The results of finished searches for a record lost with power, if they found nothing, by identity and
        depth."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Answer a question by searches, which share the seconds in `limits`; each may go to the depth in `limits`.
        After Ctrl-C the finding uses the results so far, and later questions raise KeyboardInterrupt."""
        searches = self.plan(case, question)
        if isinstance(searches, str):
            return without_search(Word.NOT_APPLICABLE, searches)
        spent = 0.0

        def result_of(position: int) -> Result:
            nonlocal spent
            left = len(searches) - position
            share = None if limits.seconds is None else max(0.0, limits.seconds - spent) / left
            began = time.monotonic()
            try:
                return self.result(searches[position], replace(limits, seconds=share))
            except KeyboardInterrupt:
                if not position:
                    raise
                return Result.not_begun(searches[position].prop, "interrupt")
            finally:
                spent += time.monotonic() - began

        finding = assembled(searches, result_of)
        assert finding is not None, "every search has a result"
        return finding

    def plan(self, case: Case, question: Question) -> Sequence[Search] | str:
        """The searches of a question, or the reason why no model can answer it."""
        searches = planned(case, question)
        if isinstance(searches, str) or question.topic in AS_THEY_ARE:
            return searches
        return [self._raised(search) for search in searches]

    def _raised(self, search: Search) -> Search:
        if not self.least:
            return search
        instance = search.instance
        values = dict(instance.configuration.items())
        larger = {name: count for name, count in self.least.items() if name in values and count > values[name]}
        if not larger:
            return search
        says = ", ".join([search.says, *(f"{name}={count}" for name, count in larger.items())])
        return of_instance(search, instance.model.instance(instance.protocol.name, values | larger), says=says)

    def result(self, search: Search, limits: Limits) -> Result:
        """The result of a search, perhaps that of an equivalent earlier search (rule ONE_ENTRY in questions.py)."""
        as_power = with_power(search)
        if as_power is None:
            return self.search(search, limits)
        key = as_power.identity, limits.depth
        if key in self.held:
            return self.held[key]
        result = self.search(search, limits)
        if result.word not in FAILS and result.stopped is None:
            self.held[key] = result
        return result


class InThisProcess:
    """Makes searches within the budget of a session, one after the other."""

    def __init__(self, session: SearchSession) -> None:
        self.session = session

    def __call__(self, search: Search, limits: Limits) -> Result:
        """The result of a search. After Ctrl-C it is the result so far, and later calls raise KeyboardInterrupt."""
        if self.session.seen:
            raise KeyboardInterrupt
        if limits.seconds == 0:
            return Result.not_begun(search.prop, "seconds")
        return result_from(search, self.explore(search, limits))

    def explore(self, search: Search, limits: Limits) -> Exploration:
        """Make one search, and return the explored states."""
        prop = next((prop for prop in search.instance.properties if prop.name == search.prop), None)
        # A state that is stuck, and a loop, show only in the whole state space.
        is_whole = not search.is_witness and (prop is None or prop.kind in WHOLE)
        depths = [] if is_whole else [depth for depth in (search.depth, limits.depth) if depth is not None]
        within = replace(limits, depth=min(depths, default=None), deadlock=False)
        goals = tuple(prop.name for prop in search.instance.properties if prop.kind is Kind.SOMETIMES)
        only = (search.prop,) if search.prop else goals if search.is_witness else ()

        def explored(reduction: AskedReduction) -> Exploration:
            return self.session.explore(
                search.instance,
                within,
                only=only,
                subject=search.says,
                reduction=reduction,
                initial=search.initial,
                want_permitted=search.is_permitted,
            )

        if not _is_worth_reducing(search):
            return explored(EVERY_STATE)
        try:
            return explored(_SYMMETRIC)
        except UsageError:  # no two elements can be exchanged
            return explored(_UNPERMUTED)


_SYMMETRIC, _UNPERMUTED = AskedReduction(is_sought=True, symmetry=True), AskedReduction(is_sought=True)


def _is_worth_reducing(search: Search) -> bool:
    """Return whether a search may take longer than compiling the kernel that a reduction by symmetry needs. The
    reduction exchanges followers, so it needs at least two of them. A search for a failure that the settings permit is
    short without the reduction, unless the release claims to survive the faults."""
    configuration = dict(search.instance.configuration.items())
    if configuration.get("replicas", 0) <= _FEW or search.initial is not None or search.is_witness:
        return False
    return not search.is_permitted or _claims_to_survive(configuration)


def _claims_to_survive(configuration: Mapping[str, int]) -> bool:
    """Whether eligible leader replicas (KIP-966) are meant to preserve records through every loss of power or disk."""
    losses = configuration.get("power_losses", 0) + configuration.get("disk_losses", 0)
    least = min(configuration.get("min_insync_replicas", 0), configuration["replicas"])
    is_durable = configuration.get("acks") == Acks.ALL and not configuration.get("unclean_elections")
    return bool(configuration.get("ELR")) and is_durable and 0 < losses < least


_FEW = 2


def result_from(search: Search, exploration: Exploration) -> Result:
    """The result of a finished search. Raises NotCertifiedError if plain Python does not confirm a failure."""
    judged = list(_judged(exploration, search))
    verdict = min(judged, key=lambda verdict: (GRAVITY.index(verdict.word), verdict.depth or 0))
    is_ended = exploration.is_complete or verdict.word is Word.REACHED  # then nothing else is sought
    result = Result(
        prop=verdict.prop.name,
        word=verdict.word,
        depth=verdict.depth,
        judged=exploration.judged,
        is_exhausted=exploration.exhausted,
        states=exploration.distinct,
        stopped=None if is_ended else exploration.stopped,
    )
    if verdict.word not in FAILS:
        return result
    instance = search.instance
    _, path, word = next(failing for failing in verdict.failing_paths if failing[2] == verdict.word.value)
    command = command_to_show(instance.model.name, instance, verdict.prop, path.depth)
    trace = from_steps(instance, path.initial, path.steps, verdict.prop.name, command, word, path.loop)
    steps = tuple(instance.spell_step(step) for step in trace.every_step)
    return replace(result, start=path.initial, steps=steps, loop=path.loop)


def _judged(exploration: Exploration, search: Search) -> Iterator[Verdict]:
    """Yield the verdicts that count for a search. For a witness (a search that must reach its goals) these are the
    verdicts on the goals. For every other search they are the verdict on its property (on all promises, if it names no
    property) and the verdict on values out of range."""
    for verdict in verdicts(exploration):
        is_goal = verdict.prop.kind is Kind.SOMETIMES
        if search.is_witness:
            if is_goal and verdict.word is not Word.NOT_APPLICABLE:
                yield verdict
        elif verdict.prop is IN_RANGE or (
            verdict.prop.name == search.prop if search.prop else verdict.prop is not DEADLOCK and not is_goal
        ):
            yield verdict


@cache
def searcher_of(limits: Limits) -> Searcher:
    """Return a searcher; `limits` hold for each search, not for all. Calls in one process share kernels."""
    return Searcher(InThisProcess(SearchSession(limits, UNLIMITED, [])))


def search_on_executor(search: Search, limits: Limits) -> Result:
    """Make a search of the atlas in an executor of Spark, and return its result."""
    return searcher_of(limits).result(search, limits)


class EarlyAnswer(ProgressLine):
    """The progress line of a search for an answer: it says to which depth no failure was found so far."""

    def report(self, progress: Progress) -> None:
        """Report the progress of a search."""
        judged = max(progress.depth - 1, 0)
        self.tell(f"so far: no failure to depth {judged}, {progress.distinct:,} states", progress.seconds)


# --- Several searches side by side ---

SECONDS_TO_STOP = 5.0
"""How many seconds a search may take to end after Ctrl-C."""


@dataclass(eq=False)
class _Task:
    """A waiting, running or ended search; `weight` sets its share of the remaining time (0: it has its own limits)."""

    search: Search
    limits: Limits
    weight: float = 0.0
    outcome: Result | Exception | None = None


class _Worker:
    """A child process, and the search that it runs now, if any."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # otherwise it is started below, and lets Ctrl-C through again
        self.pipe, its_end = context.Pipe()
        self.process = context.Process(target=serve, args=(its_end,), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        its_end.close()
        self.task: _Task | None = None

    def begin(self, task: _Task, limits: Limits, left: float | None) -> None:
        """Send the search to the process; if the process has died, `end` notices that when it takes the outcome."""
        self.task = task
        with suppress(OSError):
            self.pipe.send((task.search, limits, left))

    def end(self, why_lost: str) -> bool:
        """Take the outcome of the search, and return whether the process still lives; if it has died, the search counts
        as stopped by `why_lost`."""
        assert self.task is not None
        try:
            self.task.outcome = self.pipe.recv()
        except (EOFError, OSError):
            self.task.outcome = Result.not_begun(self.task.search.prop, why_lost)
            return False
        finally:
            self.task = None
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class SideBySide:
    """Makes searches in `count` processes, each of which runs `serve`; `left` returns the seconds that the command has
    left (None: no limit). Call `close` at the end."""

    def __init__(self, count: int, left: Callable[[], float | None]) -> None:
        self.left = left
        self.workers = [_Worker() for _ in range(count)]
        self.is_interrupted = False
        self._tasks: dict[str, _Task] = {}
        self.waiting: list[_Task] = []
        self._reserve = 0.0
        self._part = 1.0

    def expect(
        self, searches: Sequence[tuple[Search, float]], limits: Limits, reserve: float = 0.0, part: float = 1.0
    ) -> None:
        """Announce searches, each with a weight, and begin them in this order. Searches that an earlier call announced
        and that have not begun are dropped. The searches share the fraction `part` of the command's remaining time with
        later questions, whose total weight is `reserve`. The share of a search is proportional to its weight."""
        self._tasks = {key: task for key, task in self._tasks.items() if task not in self.waiting}
        self.waiting, self._reserve, self._part = [], reserve, part
        for search, weight in searches:
            key = search.identity
            if key not in self._tasks:
                self._tasks[key] = _Task(search, limits, weight)
                self.waiting.append(self._tasks[key])
        self._begin()

    def __call__(self, search: Search, limits: Limits) -> Result:
        """The result of a search. After Ctrl-C it is the result so far; raises KeyboardInterrupt if the search has not
        begun. Raises the error that ended the search."""
        key = search.identity
        task = self._tasks.setdefault(key, _Task(search, limits))
        is_running = any(worker.task is task for worker in self.workers)
        if task.outcome is None and not is_running:
            if limits.seconds == 0:
                return Result.not_begun(search.prop, "seconds")
            self.waiting = [task, *(other for other in self.waiting if other is not task)]
        try:
            while task.outcome is None and not self.is_interrupted:
                self._begin()
                self._take()
        except KeyboardInterrupt:
            self._interrupt()
        if task.outcome is None:
            raise KeyboardInterrupt
        if isinstance(task.outcome, Exception):
            raise task.outcome
        if task.outcome.stopped is not None:
            del self._tasks[key]  # with more time, the answer may differ
        return task.outcome

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.kill()
        self.workers = []

    def _seconds(self, task: _Task) -> float | None:
        """The time limit, in seconds, of a waiting search that begins now."""
        left = self.left()
        if not task.weight or left is None:
            return task.limits.seconds
        total = self._reserve + sum(waiting.weight for waiting in self.waiting)
        return left * self._part * min(1.0, len(self.workers) * task.weight / total)

    def _begin(self) -> None:
        """Give each idle process a waiting search."""
        for worker in self.workers:
            if worker.task is None and self.waiting:
                task = self.waiting[0]
                seconds = self._seconds(task)
                self.waiting = self.waiting[1:]
                # A search that has the machine for itself uses all of it.
                is_alone = not self.waiting and all(other.task is None for other in self.workers)
                threads = task.limits.threads if is_alone else max(1, task.limits.threads // len(self.workers))
                memory = task.limits.memory // len(self.workers)
                worker.begin(task, replace(task.limits, seconds=seconds, threads=threads, memory=memory), self.left())

    def _take(self) -> None:
        """Wait until a search has ended; take the outcome of every search that has ended."""
        busy = [worker for worker in self.workers if worker.task is not None]
        ready = wait([worker.pipe for worker in busy])
        for worker in busy:
            # As a rule, a process is killed because the system is out of memory.
            if worker.pipe in ready and not worker.end("memory"):
                worker.kill()
                self.workers[self.workers.index(worker)] = _Worker()

    def _interrupt(self) -> None:
        """Interrupt the running searches, and take their results so far."""
        self.is_interrupted = True
        for worker in self.workers:
            worker.process.terminate()
        deadline = time.monotonic() + SECONDS_TO_STOP
        for worker in self.workers:
            if worker.task is not None and worker.pipe.poll(max(0.0, deadline - time.monotonic())):
                worker.end("interrupt")


# --- A process that makes searches, one after the other, as its parent asks for them ---
# A terminal sends Ctrl-C to all processes of a command. This one ignores it: its parent terminates it instead, once,
# and the search that runs then ends with what it has found.


def serve(pipe: Connection) -> None:
    """Make the searches that arrive on the pipe; answer each with its `Result` or the error that ended it. Each search
    arrives with its limits and with the command's remaining seconds, which also limit the time to compile kernels.
    Returns when the parent closes the pipe or has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals: list[int] = []
    session = SearchSession(Limits(), Budget(None, Limits().memory), signals, progress_line=EarlyAnswer)
    make = InThisProcess(session)
    with suppress(EOFError, OSError):
        while not signals:
            search, limits, left = pipe.recv()
            session.budget = Budget(left, limits.memory)
            pipe.send(_answer(make, search, limits, signals))


def _answer(make: InThisProcess, search: Search, limits: Limits, signals: list[int]) -> Result | Exception:
    try:
        with _interruptible(signals):
            return make(search, limits)
    except KeyboardInterrupt:
        return Result.not_begun(search.prop, "interrupt")
    except Exception as error:
        return error


@contextmanager
def _interruptible(signals: list[int]) -> Iterator[None]:
    """Within this context, the first signal to terminate raises KeyboardInterrupt, and later signals do nothing."""

    def note(number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signals.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN if signals else before)
