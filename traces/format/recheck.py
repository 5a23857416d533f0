"""Rechecks a recorded trace: is it still possible under the current version of its model?

In:  a trace file, and the user's own model file if the trace is not of a built-in model.
Out: whether the steps of the trace are still possible and end in the recorded verdict, and why. A UsageError if that
     cannot be decided.

A file written with exactly the same model is certified. With any other version of the model, only the initial state and
the steps of the file are used; its other states are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import IN_RANGE
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format import itf
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.erring import error_at_end
from isrcheck.traces.format.folder import certify_file, read_text
from isrcheck.traces.format.possibility import MOST_STATES, continuations
from isrcheck.traces.format.trace import NOT_INDUCTIVE, REACHED, VIOLATED, Trace
from isrcheck.traces.format.why_false import false_guard


@dataclass(frozen=True)
class Recheck:
    """Whether a trace is still possible, and why."""

    is_possible: bool
    says: str


def recheck(path: Path, model_file: Path | None = None) -> Recheck:
    """Take the steps of a trace again, and return whether it is still possible. The user's own model is loaded from
    `model_file`, which executes that file. Raises UsageError."""
    try:
        document = itf.parse_document(read_text(path))
        header = itf.read_header(document)
        if model_file is None and header.file is not None:
            raise UsageError(f"its model is the file {header.file}, which is not loaded automatically; pass its path")
        model = registry.load(header.model)[0] if model_file is None else registry.load_file(model_file)
        is_same = header.digest == model.digest
        document["#meta"]["isrcheck"]["model-digest"] = model.digest
        trace = itf.read_trace(document, model)
        if trace.prop is None or trace.prop.kind is Kind.SOMETIMES or trace.verdict in (None, REACHED, NOT_INDUCTIVE):
            raise UsageError("no trace of a violated property; give one written by check")
        if is_same:
            certify_file(trace)
        return _replayed(trace)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _replayed(trace: Trace) -> Recheck:
    instance, prop = trace.instance, trace.prop
    assert prop is not None
    if trace.states[0] not in instance.initial_states:
        return Recheck(False, "its first state is no longer an initial state")
    states = [trace.states[0]]
    for position, step in enumerate(trace.steps, 1):
        try:
            after = run.take(instance, states[-1], step)
        except ModelError as error:
            return Recheck(False, f"step {position} ({instance.spell_step(step)}) is no longer possible: {error}")
        if after is None:
            why = false_guard(instance, states[-1], step)
            return Recheck(False, f"step {position} ({instance.spell_step(step)}) is no longer possible: {why}")
        states.append(after)
    if prop is IN_RANGE:
        return _recheck_error(trace, states)
    if prop.kind is Kind.ALWAYS_POSSIBLE and continuations(instance, prop, states[-1]).is_possible is None:
        raise UsageError(
            f"more than {MOST_STATES:,} states can follow its steps, too many to search for one in which {prop.name} is"
            " true; search the model again with check"
        )
    found = judgements(instance, prop, states, trace.steps)
    if trace.verdict not in found and VIOLATED not in found:
        return Recheck(False, f"its steps are possible, but {prop.name} is no longer {trace.verdict} after them")
    return Recheck(True, f"the model allows it: {prop.name} is {trace.verdict} after {trace.length} steps")


def _recheck_error(trace: Trace, states: Sequence[Cells]) -> Recheck:
    """Whether the error still occurs at the end of the steps."""
    error = error_at_end(trace.instance, states, trace.steps, trace.erring)
    if error is None:
        return Recheck(False, "its steps are possible, but the error no longer occurs after them")
    return Recheck(True, f"the model allows it: {IN_RANGE.name} is {trace.verdict} after {trace.length} steps")
