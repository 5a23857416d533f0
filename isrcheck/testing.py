"""Tests of a system against a model, with Hypothesis; docs/api.md shows how to use it. Needs `isrcheck[testing]`.

Strategies draw configurations of a model, walks through the model, and walks with a verdict on a property; they shrink
towards the default configuration, and towards few steps. A `RuleBasedStateMachine` with one rule for each action runs a
model and a system side by side. A `System` (`begin`, `take`, `observe`) drives the system: after each step, the
observed state has to equal the state of the model, and the watched properties have to hold. `find` runs a machine and
returns the shrunk failure; `must_agree`, and the machine's `TestCase` in a test run, also save the failure as a trace.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeGuard
from unittest import TestCase

try:
    from hypothesis import Phase, assume, reject, settings
    from hypothesis import strategies as st
    from hypothesis.stateful import (
        RuleBasedStateMachine,
        initialize,
        invariant,
        precondition,
        rule,
        run_state_machine_as_test,
    )
except ModuleNotFoundError:
    what = "isrcheck.testing needs Hypothesis, which is not installed"
    raise ImportError(f"{what}; pip install 'isrcheck[testing]'") from None

from isrcheck.certified_trace import Trace
from isrcheck.conformance.replay.compare import Divergence, compared
from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.replay.system import UserSystem as System
from isrcheck.conformance.replay.walks import Enabled
from isrcheck.loading import Value, values_of
from isrcheck.models import run
from isrcheck.models.language.declarations import WHOLE, Entry, Kind
from isrcheck.models.language.model import Instance, Model, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format import trace as certified
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.files import DEFAULT, is_built_in
from isrcheck.traces.format.trace import HOLDS, property_of

__all__ = [
    "Failure",
    "ModelAndSystem",
    "StepRefusedError",
    "System",
    "configurations",
    "find",
    "judged_walks",
    "must_agree",
    "state_machine",
    "walks",
]


# ----------------------------------------------------------------------------------------------------------- strategies


STEPS = 30
"""The default for the largest number of steps of a walk."""


def configurations(model: Model, protocol: str | None = None, **fixed: Value) -> st.SearchStrategy[Instance]:
    """Return a strategy for instances of a model: every configuration entry that is not in `fixed` is drawn, and
    shrinks to its default.

    Values are drawn up to one above the default, so that state spaces stay small. If `protocol` is None, the protocol
    is drawn too. An entry whose drawn value contradicts the other values keeps its default; a protocol that contradicts
    `fixed` is drawn again. Raises UsageError for an unknown entry or protocol.
    """
    values = values_of(model, fixed)
    protocols = sorted(model.protocols) if protocol is None else [model.protocol(protocol).name]

    @st.composite
    def drawn(draw: st.DrawFn) -> Instance:
        chosen = model.protocol(draw(st.sampled_from(protocols), label="protocol"))
        wanted = {
            name: draw(_values(entry), label=name)
            for name, entry in model.entries.items()
            if name not in values and name not in chosen.switches
        }
        try:
            instance = model.instance(chosen.name, legal_values(model, chosen.name, values, wanted))
            assume(instance.layouts and instance.first_steps)
        except UsageError:
            reject()
        return instance

    return drawn()


def legal_values(
    model: Model,
    protocol: str,
    fixed: Mapping[str, int],
    wanted: Mapping[str, int],
    swaps: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Return the `fixed` values, extended by the `wanted` values one after another: a wanted value that contradicts the
    values so far is left out."""
    values = dict(fixed)
    for name, value in wanted.items():
        try:
            model.instance(protocol, values | {name: value}, swaps)
        except UsageError:
            continue
        values[name] = value
    return values


def _values(entry: Entry) -> st.SearchStrategy[int]:
    most = entry.default + 1 if entry.values is None else entry.default
    if entry.most is not None:
        most = entry.most if entry.values is not None else min(most, entry.most)
    return st.just(entry.default) | st.integers(entry.least, most)


def walks(instance: Instance, steps: int = STEPS) -> st.SearchStrategy[Trace]:
    """Return a strategy for traces without a property: walks of at most `steps` steps that the model allows."""
    starts = instance.initial_states

    @st.composite
    def drawn(draw: st.DrawFn) -> Trace:
        states = [starts[draw(st.integers(0, len(starts) - 1), label="initial state")]]
        taken = []
        for _ in range(draw(st.integers(0, steps), label="steps")):
            possible = list(run.successors(instance, states[-1]))
            if not possible:
                break
            step, after = possible[draw(st.integers(0, len(possible) - 1), label="step")]
            states.append(after)
            taken.append(step)
        return Trace(certified.Trace(instance, tuple(states), tuple(taken), None, None, ""))

    return drawn()


def judged_walks(instance: Instance, property_name: str, steps: int = STEPS) -> st.SearchStrategy[Trace]:
    """Return a strategy for walks with a verdict on a property. A walk ends where the verdict is VIOLATED, PERMITTED
    or REACHED for the first time; the verdict on every other walk is HOLDS ON THIS PATH.

    If the property says that a state must be reachable, a walk that does not reach it shows nothing, and is drawn
    again. Walks that violate a property of another kind can be rare: `isrcheck.check` finds a shortest violation.
    Raises UsageError if the model has no such property.
    """
    prop = property_of(instance, property_name)

    def judged(walk: Trace) -> Trace | None:
        path = walk.certified
        verdicts = judgements(instance, prop, path.states, path.steps)
        end = next((position for position, verdict in enumerate(verdicts) if verdict is not None), None)
        if end is not None:
            return _trace(path.states[: end + 1], path.steps[:end], verdicts[end])
        return None if prop.kind is Kind.SOMETIMES else _trace(path.states, path.steps, HOLDS)

    def _trace(states: tuple[Cells, ...], taken: tuple[Step, ...], verdict: str | None) -> Trace:
        return Trace(certified.Trace(instance, states, taken, property_name, verdict, ""))

    return walks(instance, steps).map(judged).filter(_is_there)


def _is_there(trace: Trace | None) -> TypeGuard[Trace]:
    return trace is not None


# ---------------------------------------------------------------------------------------------------- the state machine


EXAMPLES = 100
"""The number of runs of a machine if the profile of Hypothesis does not set it."""

STATES = 1 << 14
"""The number of states for which the enabled steps are cached."""


@dataclass(frozen=True)
class Failure:
    """A failure of a machine: the trace that leads to the failure, and the broken property or the difference between
    system and model."""

    trace: Trace
    broken: str | None
    divergence: Divergence | None

    def lines(self) -> list[str]:
        """Return the failure as text: the model, the steps, and what is wrong after the last step."""
        steps = [f"{number:3}  {step}" for number, step in enumerate(self.trace.steps, start=1)]
        wrong = self.divergence.lines(self.trace.certified) if self.divergence else [f"{self.broken} is broken"]
        return [self.trace.model, *steps, *wrong]


class FailureFoundError(AssertionError):
    """Raised if a machine finds a failure. Hypothesis searches for a shorter run that raises it as well."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.broken or "the system differs from the model")
        self.failure = failure


class ModelAndSystem(RuleBasedStateMachine):
    """The state on which a machine's rules work: a trace of the model, and a system that has taken the same steps."""

    instance: Instance
    watched: Sequence[str]
    new_system: Callable[[], System]
    enabled: Enabled
    steps_of: Mapping[int, Sequence[Step]]

    def begin(self, start: int) -> None:
        """Put model and system into the initial state with the number `start`."""
        self.trace = certified.Trace(self.instance, (self.instance.initial_states[start],), (), None, None, "")
        self.system = type(self).new_system()
        self.begin_system()
        self.possible: dict[int, dict[Step, certified.Trace]] = {}
        self.refused = ""

    def begin_system(self) -> None:
        """Put the system into the first state of the trace."""
        self.system.begin(Trace(self.trace))

    def longer(self, slot: int) -> dict[Step, certified.Trace]:
        """Return the enabled steps of the action with the number `slot`, each with the trace extended by this step."""
        if slot not in self.possible:
            numbers = self.enabled(self.trace.states[-1])
            steps = [step for step in self.steps_of.get(slot, ()) if step.number in numbers]
            traces = {step: self.with_step(step) for step in steps}
            self.possible[slot] = {step: trace for step, trace in traces.items() if trace is not None}
        return self.possible[slot]

    @property
    def has_ended(self) -> bool:
        """Whether the model has no enabled step left."""
        return not any(self.longer(slot) for slot in self.steps_of)

    def with_step(self, step: Step) -> certified.Trace | None:
        """Return the trace with one more step, or None if the model does not allow the step."""
        after = run.take(self.instance, self.trace.states[-1], step)
        if after is None:
            return None
        return replace(self.trace, states=(*self.trace.states, after), steps=(*self.trace.steps, step))

    def take(self, step: Step) -> None:
        """Take one step in model and system. The run fails if the system refuses the step or raises an error."""
        self.trace = self.longer(step.action_index)[step]
        self.possible = {}
        try:
            self.take_in_system(step)
        except StepRefusedError as error:
            self.refused = str(error)
        except Exception as error:
            self.refused = f"{type(error).__name__}: {error}"

    def take_in_system(self, step: Step) -> None:
        """Take a step in the system; the model has already taken it as the last step of the trace."""
        self.system.take(step)

    def the_system_shows_what_the_model_says(self) -> None:
        """Check that every observable variable is equal in model and system. Raises FailureFoundError."""
        cells = self.trace.states[-1]
        position = self.trace.length
        divergence = Divergence(position, None, cells, self.refused) if self.refused else None
        if divergence is None:
            differing, observed = compared(self.instance, cells, self.system.observe())
            divergence = None if differing is None else Divergence(position, differing, observed)
        if divergence is not None:
            raise FailureFoundError(Failure(Trace(self.trace), None, divergence))

    def watched_properties_hold(self) -> None:
        """Check that every watched property holds in the last state. Raises FailureFoundError."""
        for prop in self.instance.properties:
            if prop.name not in self.watched or run.holds(self.instance, prop, self.trace.states[-1]):
                continue
            verdict = judgements(self.instance, prop, self.trace.states, self.trace.steps)[-1]
            # A property of what follows may be false here, as long as it can become true.
            if verdict is not None or prop.kind not in WHOLE:
                broken = replace(self.trace, property_name=prop.name, verdict=verdict)
                raise FailureFoundError(Failure(Trace(broken), prop.name, None))

    @classmethod
    def what_next(cls, path: Path) -> str:
        """Return a line that tells the user how to show the trace of a failure, which is in the file `path`."""
        model = cls.instance.model
        own = [] if is_built_in(model) else ["--model", model.path]
        return f"see it: {shlex.join(['trace', 'show', str(path), *own])}"


def state_machine(
    instance: Instance,
    driver: Callable[[], System],
    *,
    properties: Sequence[str] = (),
    out: Path = DEFAULT,
    steps: int = STEPS,
    enabled: Enabled | None = None,
    base: type[ModelAndSystem] = ModelAndSystem,
) -> type[ModelAndSystem]:
    """Make a machine that compares a system with an instance of a model; its `TestCase` is a test for pytest.

    `driver` makes a system for each run: usually it is a class with `begin`, `take` and `observe`. `properties` names
    properties of states to watch in the model. `out` is the folder for the trace of a failure, and `steps` the largest
    number of steps of a run. `enabled` is a function that returns the numbers of the enabled steps in a state (None:
    plain Python computes them). `base` is ModelAndSystem or a subclass that overrides its methods. Raises
    UsageError for an unknown property, or a property of transitions.
    """
    for name in properties:
        if property_of(instance, name).of_steps:
            raise UsageError(f"{name} is a property of transitions; give properties of states")
    # Shrinking reaches the same states many times.
    cached = lru_cache(maxsize=STATES)(enabled or partial(_enabled, instance))
    members: dict[str, Any] = {
        "instance": instance,
        "watched": tuple(properties),
        "new_system": staticmethod(driver),
        "enabled": staticmethod(cached),  # a function in a class would take `self`
        "steps_of": {
            slot: list(steps_of_slot) for slot, steps_of_slot in groupby(instance.steps, key=attrgetter("action_index"))
        },
        "begin": initialize(start=st.integers(0, len(instance.initial_states) - 1))(base.begin),
        "the_system_shows_what_the_model_says": invariant()(base.the_system_shows_what_the_model_says),
        "watched_properties_hold": invariant()(base.watched_properties_hold),
        "the_model_has_ended": precondition(lambda self: self.has_ended)(rule(data=st.data())(zz_the_model_has_ended)),
    }
    for number in members["steps_of"]:  # an action without steps can never be taken
        members[instance.model.actions[number].name] = _rule(number)

    class ModelAndSystemTestCase(TestCase):
        def runTest(self) -> None:  # noqa: N802 - the name is unittest's
            """Run the machine as a test."""
            must_agree(made, settings.default.max_examples if settings.default else EXAMPLES, steps, out)

    members["TestCase"] = ModelAndSystemTestCase  # instead of Hypothesis' own
    made: type[ModelAndSystem] = type("ModelAndSystemOfThisInstance", (base,), members)
    return made


def _enabled(instance: Instance, cells: Cells) -> frozenset[int]:
    return frozenset(step.number for step, _ in run.successors(instance, cells))


def zz_the_model_has_ended(self: ModelAndSystem, data: st.DataObject) -> None:
    """Do nothing. Hypothesis needs a rule for every state, and for a state without an enabled step this is the rule.

    Hypothesis orders rules by their arguments and names, and shrinks towards the first rule: this rule has to be the
    last.
    """


def _rule(slot: int) -> Callable[..., None]:

    def take_one(self: ModelAndSystem, data: st.DataObject) -> None:
        self.take(data.draw(st.sampled_from(list(self.longer(slot)))))

    made: Callable[..., None] = rule(data=st.data())(take_one)
    return precondition(lambda self: bool(self.longer(slot)))(made)


def find(machine: type[ModelAndSystem], examples: int = EXAMPLES, steps: int = STEPS) -> Failure | None:
    """Run a machine `examples` times with at most `steps` steps. Return the shrunk failure, or None."""
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                derandomize=True,
                database=None,
                deadline=None,
                print_blob=False,
                report_multiple_bugs=False,
                phases=[Phase.generate, Phase.shrink],
            ),
        )
    except FailureFoundError as found:
        return found.failure
    return None


def must_agree(
    machine: type[ModelAndSystem], examples: int = EXAMPLES, steps: int = STEPS, out: Path = DEFAULT
) -> None:
    """Run `find`; save the trace of a failure in `out`, and raise AssertionError with the shrunk steps and the path."""
    failure = find(machine, examples, steps)
    if failure is None:
        return
    try:
        path = failure.trace.save(out)
        last = [f"written: {path}", machine.what_next(path)]
    except UsageError as error:
        last = [str(error)]
    raise AssertionError("\n".join([*failure.lines(), *last]))
