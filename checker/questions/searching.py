"""Answers questions by search.

In:  a `Case`, a `Question`, and the limits of its searches; what makes a search.
Out: a `Finding`. Every history in it was certified in plain Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from isrcheck.checker.questions.answering import FAILS, GRAVITY, Result, assembled, inexpressible
from isrcheck.checker.questions.case import Case
from isrcheck.checker.questions.finding import Finding
from isrcheck.checker.questions.planning import asked_of, planned
from isrcheck.checker.questions.question import Question
from isrcheck.checker.questions.scenarios import Scenario, with_power
from isrcheck.checker.resources.limits import UNLIMITED, Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.instance_facts import command_to_show
from isrcheck.checker.results.verdict import Verdict, Word, verdicts
from isrcheck.checker.running.session import EVERY_STATE, AskedReduction, SearchSession
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.certify import from_steps

Search = Callable[[Scenario, Limits], Result]
"""Makes a search within limits. After Ctrl-C it returns what it has found; from then on it raises KeyboardInterrupt."""


class Searcher:
    """Answers questions by search."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._held: dict[tuple[str, int | None], Result] = {}
        """Finished searches of a loss of power that found nothing, by identity and greatest depth."""

    def answer(self, case: Case, question: Question, limits: Limits) -> Finding:
        """Search a question; `limits` are those of all its searches together, and a depth limits each of them.

        After Ctrl-C the finding says what the searches so far have found, and later questions raise KeyboardInterrupt.
        """
        searches = self.plan(case, question)
        if isinstance(searches, str):
            return inexpressible(searches)
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

        found = assembled([asked_of(one) for one in searches], result_of)
        assert found is not None, "every search has a result"
        return found

    def plan(self, case: Case, question: Question) -> Sequence[Scenario] | str:
        """The searches of a question, or the reason why no model has what is asked."""
        return planned(case, question)

    def result(self, scenario: Scenario, limits: Limits) -> Result:
        """The result of one search; by the rule ONE_ENTRY (rules.py), perhaps that of another one of this session."""
        as_power = with_power(scenario)
        if as_power is None:
            return self.search(scenario, limits)
        key = asked_of(as_power).identity, limits.depth
        if key in self._held:
            return self._held[key]
        result = self.search(scenario, limits)
        if result.word not in FAILS and result.stopped is None:
            self._held[key] = result
        return result


class InThisProcess:
    """Makes searches within the budget of a session, one after the other."""

    def __init__(self, session: SearchSession) -> None:
        self.session = session

    def __call__(self, scenario: Scenario, limits: Limits) -> Result:
        """The result of a search. After Ctrl-C it is what was found so far, and later calls raise KeyboardInterrupt."""
        if self.session.seen:
            raise KeyboardInterrupt
        if limits.seconds == 0:
            return Result.not_begun(scenario.prop, "seconds")
        return result_from(scenario, self.explore(scenario, limits))

    def explore(self, scenario: Scenario, limits: Limits) -> Exploration:
        """Make one search."""
        prop = next((one for one in scenario.instance.properties if one.name == scenario.prop), None)
        # A state that is stuck, and a loop, show only in the whole state space.
        is_whole = not scenario.is_witness and (prop is None or prop.kind in WHOLE)
        depths = [] if is_whole else [one for one in (scenario.depth, limits.depth) if one is not None]
        within = replace(limits, depth=min(depths, default=None), deadlock=False)
        only = (scenario.prop,) if scenario.prop else _goals(scenario) if scenario.is_witness else ()

        def explored(reduction: AskedReduction) -> Exploration:
            return self.session.explore(
                *(scenario.instance, within),
                only=only,
                subject=scenario.says,
                reduction=reduction,
                initial=scenario.initial,
                want_permitted=scenario.is_permitted,
            )

        if not _is_worth_reducing(scenario):
            return explored(EVERY_STATE)
        try:
            return explored(_SYMMETRIC)
        except UsageError:  # no two elements can be exchanged
            return explored(_UNPERMUTED)


_SYMMETRIC, _UNPERMUTED = AskedReduction(is_sought=True, symmetry=True), AskedReduction(is_sought=True)


def _is_worth_reducing(scenario: Scenario) -> bool:
    """Whether a search may be long enough for a reduction, which needs a kernel of its own: with two followers, that
    are then alike, and if the settings do not permit what is asked, which is soon found. What the release claims to
    survive is not found soon, even if the settings permit it."""
    configuration = dict(scenario.instance.configuration.items())
    if configuration.get("replicas", 0) <= _FEW or scenario.initial is not None or scenario.is_witness:
        return False
    return not scenario.is_permitted or _claims_to_survive(configuration)


def _claims_to_survive(configuration: Mapping[str, int]) -> bool:
    """Whether eligible leader replicas are meant to survive all losses of power and disks of a search (KIP-966)."""
    losses = configuration.get("power_losses", 0) + configuration.get("disk_losses", 0)
    least = min(configuration.get("min_insync_replicas", 0), configuration["replicas"])
    is_durable = configuration.get("acks") == Acks.ALL and not configuration.get("unclean_elections")
    return bool(configuration.get("ELR")) and is_durable and 0 < losses < least


_FEW = 2


def result_from(scenario: Scenario, exploration: Exploration) -> Result:
    """The result of a finished search. Raises NotCertifiedError if plain Python does not confirm a failure."""
    judged = list(_judged(exploration, scenario))
    verdict = min(judged, key=lambda one: (GRAVITY.index(one.word), one.depth or 0))
    is_ended = exploration.is_complete or verdict.word is Word.REACHED  # nothing else is sought then
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
    instance = scenario.instance
    _, path, word = next(one for one in verdict.failing_paths if one[2] == verdict.word.value)
    command = command_to_show(instance.model.name, instance, verdict.prop, path.depth)
    trace = from_steps(instance, path.initial, path.steps, verdict.prop.name, command, word, path.loop)
    steps = tuple(instance.spell_step(step) for step in trace.every_step)
    return replace(result, start=path.initial, steps=steps, loop=path.loop)


def _goals(scenario: Scenario) -> tuple[str, ...]:
    """The names of the goals of a model that apply to an instance."""
    return tuple(one.name for one in scenario.instance.properties if one.kind is Kind.SOMETIMES)


def _judged(exploration: Exploration, scenario: Scenario) -> Iterator[Verdict]:
    """The verdicts on the property of a search, on all goals, or on all promises; and on steps out of a range."""
    for verdict in verdicts(exploration):
        is_goal = verdict.prop.kind is Kind.SOMETIMES
        if scenario.is_witness:
            if is_goal and verdict.word is not Word.NOT_APPLICABLE:
                yield verdict
        elif verdict.prop is IN_RANGE or (
            verdict.prop.name == scenario.prop if scenario.prop else verdict.prop is not DEADLOCK and not is_goal
        ):
            yield verdict


def search_on_executor(case: Case, question: Question, number: int, limits: Limits) -> Result:
    """The result of one of the searches of a question, by its number; later calls in the process reuse its kernels."""
    scenario = planned(case, question)[number]
    assert not isinstance(scenario, str), "a question that no model has needs no search"
    return _searcher(limits).result(scenario, limits)


@cache
def _searcher(limits: Limits) -> Searcher:
    return Searcher(InThisProcess(SearchSession(limits, UNLIMITED, [])))
