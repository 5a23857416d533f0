"""Each step of a trace in plain words.

In:  a step of any model, and the state before it; or a whole trace.
Out: clauses. The steps of Kafka's replication and of its transactions have words of their own; any other action is its
     name with spaces for underscores, followed by its arguments.
"""

from __future__ import annotations

from isrcheck.models.language.model import Instance, Step
from isrcheck.models.run import Cells, State
from isrcheck.traces.format.trace import NOT_INDUCTIVE, Trace
from isrcheck.traces.kafka import step_words as words_of_kafka
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.transactions.columns import is_transactions


def step_in_words(instance: Instance, step: Step, before: Cells) -> str:
    """Return a step in words; `before` is the state before it."""
    s = State(instance, before)
    words = None
    if is_kafka(instance):
        words = words_of_kafka.step_in_words(instance, step, s)
    elif is_transactions(instance):
        from isrcheck.traces.transactions import step_words  # here, for others do without the model

        words = step_words.step_in_words(instance, step, s)
    return with_spaces(instance.spell_step(step)) if words is None else words


def steps_in_words(trace: Trace) -> list[str]:
    """Return each step of a trace in words; the first text is about the first state."""
    first = "some state, perhaps an unreachable one" if trace.verdict == NOT_INDUCTIVE else "the beginning"
    steps = zip(trace.every_step, trace.states, strict=False)  # an erring step has no state after it
    return [first, *(step_in_words(trace.instance, step, before) for step, before in steps)]


def with_spaces(step: str) -> str:
    """Return a step with spaces for the underscores of its action's name."""
    action, space, arguments = step.partition(" ")
    return f"{action.replace('_', ' ')}{space}{arguments}"
