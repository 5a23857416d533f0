"""Is a history of a file still possible? The steps are taken again by the model as it is today.

In:  a trace file, and the model of one's own that it is about, if it is. Out: whether the model still allows the
     history to end as the file says, and what is so or not so. What cannot be told is a UsageError.

A file that was written with the very same model is certified. With any other version of it the recorded states are not
looked at, but for the first: the steps are what counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models import registry, run
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.messages.errors import ModelError, UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format import itf
from isrcheck.traces.format.certify import certify, judgements
from isrcheck.traces.format.erring import error_at_end
from isrcheck.traces.format.folder import read_text
from isrcheck.traces.format.trace import NOT_INDUCTIVE, REACHED, VIOLATED, Trace
from isrcheck.traces.format.why_false import false_guard


@dataclass(frozen=True)
class Again:
    """Whether a history is still possible, and why."""

    is_possible: bool
    says: str


def again(path: Path, model_file: Path | None = None) -> Again:
    """Take a history's steps again; a model of one's own is loaded from `model_file`, which runs it. Raises
    UsageError."""
    try:
        document = itf.parse_document(read_text(path))
        header = itf.read_header(document)
        if model_file is None and header.file is not None:
            raise UsageError(
                f"its model is the file {header.file}, which is not loaded because a file says so; give it"
            )
        model = registry.load(header.model)[0] if model_file is None else registry.load_file(model_file)
        is_same = header.digest == model.digest
        document["#meta"]["isrcheck"]["model-digest"] = model.digest
        trace = itf.read_trace(document, model)
        if trace.prop is None or trace.prop.kind is Kind.SOMETIMES or trace.verdict in (None, REACHED, NOT_INDUCTIVE):
            raise UsageError("no history that breaks a property; give one that check wrote")
        if is_same:
            certify(trace)
        return _replayed(trace)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _replayed(trace: Trace) -> Again:
    instance, prop = trace.instance, trace.prop
    assert prop is not None
    if trace.states[0] not in instance.initial_states:
        return Again(False, "the state that it starts from is no initial state any more")
    states = [trace.states[0]]
    for position, step in enumerate(trace.steps, 1):
        try:
            after = run.take(instance, states[-1], step)
        except ModelError as error:
            return Again(False, f"step {position} ({instance.spell_step(step)}) is not possible any more: {error}")
        if after is None:
            why = false_guard(instance, states[-1], step)
            return Again(False, f"step {position} ({instance.spell_step(step)}) is not possible any more: {why}")
        states.append(after)
    if prop is IN_RANGE:
        return _errs_again(trace, states)
    found = judgements(instance, prop, states, trace.steps)
    if trace.verdict not in found and VIOLATED not in found:
        return Again(False, f"its steps are possible, and {prop.name} is not {trace.verdict} by them any more")
    return Again(True, f"the model allows it: {prop.name} is {trace.verdict} after {trace.length} steps")


def _errs_again(trace: Trace, states: Sequence[Cells]) -> Again:
    """Whether the model still leaves its declaration where the steps end."""
    error = error_at_end(trace.instance, states, trace.steps, trace.erring)
    if error is None:
        return Again(False, "its steps are possible, and the model does not leave its declaration behind them any more")
    return Again(True, f"the model allows it: {IN_RANGE.name} is {trace.verdict} after {trace.length} steps")
