"""Hypothesis strategies for a model: its configurations, walks through it, and walks that a property judges.

In:  a model, or an instance of one.
Out: strategies. They shrink towards the default configuration, and towards few steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from hypothesis import assume, reject
from hypothesis import strategies as st

from isrcheck.certified_trace import Trace
from isrcheck.loading import Value, values_of
from isrcheck.models import run
from isrcheck.models.language.declarations import Entry, Kind
from isrcheck.models.language.model import Instance, Model, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format import trace as certified
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.trace import HOLDS, property_of

STEPS = 30
"""The default for the largest number of steps of a walk."""


def configurations(model: Model, protocol: str | None = None, **fixed: Value) -> st.SearchStrategy[Instance]:
    """Instances of a model: every configuration entry that is not in `fixed` is drawn, and shrinks to its default.

    Values are drawn up to one above the default, so that state spaces stay small. Without `protocol`, it is drawn too.
    A drawn value that contradicts the others is left at its default; a protocol that contradicts `fixed` is drawn
    again. Raises UsageError for an unknown entry or protocol.
    """
    given = values_of(model, fixed)
    protocols = sorted(model.protocols) if protocol is None else [model.protocol(protocol).name]

    @st.composite
    def drawn(draw: st.DrawFn) -> Instance:
        chosen = model.protocol(draw(st.sampled_from(protocols), label="protocol"))
        wanted = {
            name: draw(_values(entry), label=name)
            for name, entry in model.entries.items()
            if name not in given and name not in chosen.switches
        }
        try:
            instance = model.instance(chosen.name, legal_values(model, chosen.name, given, wanted))
            assume(instance.layouts and instance.first_steps)
        except UsageError:
            reject()
        return instance

    return drawn()


def legal_values(
    model: Model,
    protocol: str,
    given: Mapping[str, int],
    wanted: Mapping[str, int],
    swaps: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """The given values, and all wanted ones that contradict neither them nor the wanted values before them."""
    values = dict(given)
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
    """Traces without a property: walks of at most this many steps, each of which the model allows."""
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
    """Walks with the verdict on a property: one ends where the property is VIOLATED, PERMITTED or REACHED for the first
    time; on every other walk, the property HOLDS ON THIS PATH.

    For a property that must be reachable, the other walks show nothing, and are drawn again. A walk that breaks a
    promise can be rare: `isrcheck.check` finds a shortest one. Raises UsageError if the model has no such property.
    """
    prop = property_of(instance, property_name)

    def judged(walk: Trace) -> Trace | None:
        path = walk.certified
        found = judgements(instance, prop, path.states, path.steps)
        end = next((position for position, verdict in enumerate(found) if verdict is not None), None)
        if end is not None:
            return _trace(path.states[: end + 1], path.steps[:end], found[end])
        return None if prop.kind is Kind.SOMETIMES else _trace(path.states, path.steps, HOLDS)

    def _trace(states: tuple[Cells, ...], taken: tuple[Step, ...], verdict: str | None) -> Trace:
        return Trace(certified.Trace(instance, states, taken, property_name, verdict, ""))

    return walks(instance, steps).map(judged).filter(_is_there)


def _is_there(trace: Trace | None) -> TypeGuard[Trace]:
    return trace is not None
