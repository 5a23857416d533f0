"""Hypothesis strategies for a model: its configurations, walks through it, and traces of a property.

In:  a model, or an instance of one.
Out: strategies. They shrink towards the default configuration, and towards few steps.
"""

from __future__ import annotations

from hypothesis import assume, reject
from hypothesis import strategies as st

from isrcheck.certified_trace import Trace
from isrcheck.loading import Value, values_of
from isrcheck.models import run
from isrcheck.models.language.declare import Entry, Kind
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.format import trace as certified
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.trace import HOLDS, property_of

STEPS = 30
"""The steps of a walk, unless more or fewer are asked for."""


@st.composite
def configurations(draw: st.DrawFn, /, model: Model, protocol: str | None = None, **fixed: Value) -> Instance:
    """Instances of a model: every configuration entry that is not `fixed` is drawn, the default first.

    The values of an entry end one above its default, so that state spaces stay small. Without `protocol` it is drawn.
    What the model calls a contradiction is drawn again.
    """
    chosen = model.protocol(protocol or draw(st.sampled_from(sorted(model.protocols)), label="protocol"))
    values = values_of(model, fixed)
    for name, entry in model.entries.items():
        if name not in values and name not in chosen.switches:
            values[name] = draw(_values(entry), label=name)
    try:
        instance = model.instance(chosen.name, values)
        assume(instance.initial_states)
    except UsageError:
        reject()
    return instance


def _values(entry: Entry) -> st.SearchStrategy[int]:
    most = entry.default + 1 if entry.values is None else entry.default
    if entry.most is not None:
        most = entry.most if entry.values is not None else min(most, entry.most)
    return st.just(entry.default) | st.integers(entry.least, most)


@st.composite
def walks(draw: st.DrawFn, instance: Instance, steps: int = STEPS) -> Trace:
    """Traces without a property: at most so many steps, each of them one that the model allows there."""
    states = [instance.initial_states[draw(st.integers(0, len(instance.initial_states) - 1), label="initial state")]]
    taken = []
    for _ in range(draw(st.integers(0, steps), label="steps")):
        possible = list(run.successors(instance, states[-1]))
        if not possible:
            break
        step, after = draw(st.sampled_from(possible))
        states.append(after)
        taken.append(step)
    return Trace(certified.Trace(instance, tuple(states), tuple(taken), None, None, ""))


@st.composite
def traces(draw: st.DrawFn, instance: Instance, property_name: str, steps: int = STEPS) -> Trace:
    """Traces of a property: walks that end where it is VIOLATED, PERMITTED or REACHED for the first time.

    Other walks show that a property HOLDS ON THIS PATH; of what has to be reachable they show nothing, and are drawn
    again. Raises UsageError where the model has no such property.
    """
    prop = property_of(instance, property_name)
    walk = draw(walks(instance, steps)).certified
    found = judgements(instance, prop, walk.states, walk.steps)
    end = next((position for position, verdict in enumerate(found) if verdict is not None), None)
    if end is None:
        assume(prop.kind is not Kind.SOMETIMES)
        return Trace(certified.Trace(instance, walk.states, walk.steps, property_name, HOLDS, ""))
    return Trace(certified.Trace(instance, walk.states[: end + 1], walk.steps[:end], property_name, found[end], ""))
