"""Turns a trace into a scene: with the lanes of Kafka for Kafka's models, with generic lanes for any other model.

In:  a trace.
Out: a `Scene` for drawing.py, page.py and sequence.py.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

from isrcheck.models.language.model import Instance
from isrcheck.traces.drawing import generic_scene
from isrcheck.traces.explaining.presentation import headline, is_transactions, steps_in_words
from isrcheck.traces.format.trace import Trace, back, heading
from isrcheck.traces.kafka import scene
from isrcheck.traces.kafka.lanes import is_kafka, shown_fields
from isrcheck.traces.lanes.scene import Scene


def scene_of(trace: Trace) -> Scene:
    """Return the scene of a trace."""
    instance = trace.instance
    fields = shown_fields(instance)
    teller = _teller(instance)
    words = steps_in_words(trace)
    moments = tuple(
        replace(
            moment,
            variables=tuple(generic_scene.variable_parts(instance, place, cells) for place in fields),
            words=told,
        )
        for moment, cells, told in zip(teller.moments(trace), trace.states, words, strict=False)
    )
    if trace.erring is not None:
        # An erring step has no successor: the state before the step is shown again.
        moments += (replace(moments[-1], step=trace.spell_row(trace.length), words=words[-1], arrows=(), marks=()),)
    if trace.loop is not None:
        last = moments[-1]
        ends = replace(last, step=f"{last.step}, {back(trace)}", words=f"{last.words} ({back(trace)})")
        moments = (*moments[:-1], ends)
    names = tuple(one.name for one in fields)
    lanes = teller.lane_titles(trace)
    return Scene(headline(trace), _caption(trace), heading(trace.instance), lanes, names, moments, trace.loop)


def _teller(instance: Instance) -> ModuleType:
    """The module that tells the lanes of a model."""
    if is_transactions(instance):
        from isrcheck.traces.transactions import lanes as scene_of_transactions

        return scene_of_transactions
    return scene if is_kafka(instance) else generic_scene


def _caption(trace: Trace) -> str:
    """The property, and how many steps break it or show it."""
    steps = f"{trace.length} step{'s' * (trace.length != 1)}"
    return steps if trace.property_name is None else f"{trace.property_name}, {steps}"
