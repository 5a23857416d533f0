"""The headline of a trace: what goes wrong, and how, in one sentence for readers who do not know the model.

In:  a certified trace of any model.
Out: a sentence without a full stop, such as `An acknowledged record is lost: broker 1 is elected without it`.

The sentence is computed from the steps and states of the trace. What goes wrong is told for each property of Kafka's
replication and of its transactions; for any other property, it is the first sentence of its docstring. How it goes
wrong is the loss of a record, as attribution.py finds it, or else the last step.
"""

from __future__ import annotations

from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import DEADLOCK, Property
from isrcheck.traces.explaining import kafka_headline
from isrcheck.traces.explaining.step_words import step_in_words
from isrcheck.traces.format.trace import HOLDS, NOT_INDUCTIVE, REACHED, Trace
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.transactions.columns import is_transactions


def headline(trace: Trace) -> str:
    """Return the headline of a trace."""
    text = _headline(trace)
    return text[:1].upper() + text[1:]


def _headline(trace: Trace) -> str:
    prop = trace.prop
    if prop is None or trace.verdict is None:
        return f"a behaviour of {trace.length} step{'s' * (trace.length != 1)}"
    if trace.error is not None:
        return f"the model leaves its declared ranges: {_last_step(trace)}"
    if prop is DEADLOCK:
        return f"nothing can happen any more: {_last_step(trace)}"
    claim = claim_of(prop)
    if trace.verdict == REACHED:
        return f"this can happen: {claim}"
    if trace.verdict == HOLDS:
        return f"nothing goes wrong on this path: {claim}"
    if trace.verdict == NOT_INDUCTIVE:
        return f"false after a step from a state that may be unreachable: {claim}"
    return _wrong(trace) or _not_so(trace, prop, claim)


def _wrong(trace: Trace) -> str | None:
    """What goes wrong, and how; None for a model or a property without words of its own."""
    if is_kafka(trace.instance):
        return kafka_headline.headline(trace, _how(trace))
    if is_transactions(trace.instance):
        from isrcheck.traces.explaining import transactions_headline  # here, for others do without the model

        return transactions_headline.headline(trace, _how(trace))
    return None


def _not_so(trace: Trace, prop: Property, claim: str) -> str:
    if prop.kind in LIVENESS:
        return f"this never happens: {claim} ({_how(trace)})"
    if not trace.length:
        return f"not true from the beginning: {claim}"
    never = "no longer possible" if prop.kind is Kind.ALWAYS_POSSIBLE else "no longer true"
    return f"{never} after {_last_step(trace)}: {claim}"


def _how(trace: Trace) -> str:
    """How the failure comes about: by the last step, or by what is repeated for ever."""
    if trace.loop is None:
        return _last_step(trace)
    repeated = trace.length - trace.loop
    if not repeated:
        return f"{_last_step(trace)}, and nothing that has to happen changes it"
    return "the last step is repeated for ever" if repeated == 1 else f"the last {repeated} steps are repeated for ever"


def _last_step(trace: Trace) -> str:
    """The last step in words; for a trace without steps, that it is so from the beginning."""
    if not trace.length:
        return "from the beginning"
    return step_in_words(trace.instance, trace.every_step[-1], trace.states[len(trace.every_step) - 1])


def claim_of(prop: Property) -> str:
    """Return what a property says: the first sentence of its docstring, or its name with spaces."""
    paragraph = " ".join(prop.function.documentation.strip().split("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].removesuffix(".")
    return sentence or prop.name.replace("_", " ")
