"""One state of a trace in full: the step that led to it, the changes of that step, and the properties that are false.

In:  a certified Trace, and the number of a state; a negative number counts from the end.
Out: lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.models.language.declarations import LIVENESS, Kind
from isrcheck.models.language.model import IN_RANGE
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.traces.explaining.evaluate import StateExpression
from isrcheck.traces.format.certify import judge
from isrcheck.traces.format.lasso import back
from isrcheck.traces.format.spelling import changed_cells
from isrcheck.traces.format.trace import REACHED, Trace
from isrcheck.traces.format.why_false import why_false
from isrcheck.traces.lanes.heading import heading
from isrcheck.traces.lanes.table import fitted, wrapped
from isrcheck.traces.terminal.colour import PLAIN, Look
from isrcheck.traces.terminal.show import full_state


def view_step(trace: Trace, number: int, look: Look = PLAIN, expressions: Sequence[StateExpression] = ()) -> list[str]:
    """Return the lines of one state. Raises UsageError if the trace has no state of this number."""
    position = number if number >= 0 else number + trace.length + 1
    if not 0 <= position <= trace.length:
        raise UsageError(
            f"--step {number}: the trace has the states 0..{trace.length}; -1 is the last state, -2 the state before it"
        )
    step = f"step {position} of {trace.length}: {trace.spell_row(position)}"
    found = fitted([heading(trace.instance), "", step, ""], look.width)
    if position == trace.length and trace.erring is not None and trace.error is not None:
        told = f"the step causes an error, so no state follows it: {trace.error.message}"
        state = (f"  {line}" for line in full_state(trace, position - 1, expressions))
        return [*found, *wrapped(told, width=look.width), "", *fitted(["the state before:", *state], look.width)]
    if position == trace.length and trace.loop is not None:
        found += [*wrapped(back(trace), width=look.width), ""]
    if position:
        found += [*wrapped("changed:", width=look.width), *_changed(trace, position, look), ""]
    state = (f"  {line}" for line in full_state(trace, position, expressions))
    return [*found, *fitted(["the state:", *state, ""], look.width), *_judged(trace, position, look)]


def _changed(trace: Trace, position: int, look: Look) -> list[str]:
    cells = changed_cells(trace.instance, trace.states[position - 1], trace.states[position])
    if not cells:
        return wrapped("nothing", "  ", look.width)
    width = max(len(name) for name, _, _ in cells)
    found = []
    for name, old, new in cells:
        *lines, last = wrapped(f"{name:<{width}}  {old} -> {new}", "  ", look.width)
        # Only the new value is coloured.
        end = len(last) - len(new) if last.endswith(new) else len(last)
        found += [*lines, last[:end] + look.ink.changed(last[end:])]
    return found


def _judged(trace: Trace, position: int, look: Look) -> list[str]:
    """Lines about the properties that are false here, each with the reason, and those that are reached."""
    instance = trace.instance
    properties = list(instance.properties)
    if trace.prop is not None and trace.prop not in (IN_RANGE, *properties):
        properties.append(trace.prop)  # a lemma, or the implicit property `deadlock`
    first = max(0, position - 1)
    states, steps = trace.states[first : position + 1], trace.steps[first:position]
    before = states[0] if position else None
    step = steps[0] if steps else None
    broken: list[str] = []
    reached: list[str] = []
    for prop in properties:
        try:
            verdict = judge(instance, prop, states, steps, len(states) - 1)
            if verdict == REACHED:
                reached.append(prop.name)
            elif verdict is not None:
                reason = why_false(instance, prop, before, step, states[-1])
                lines = [f"  {line}" for line in reason.lines()]
                # The first line says that the property is false.
                name, *others = fitted([f"  {prop.name} ({verdict})"], look.width)
                broken += [look.ink.verdict(verdict, name), *others, *fitted(lines[1:], look.width)]
        except ModelError as error:
            broken += fitted([f"  {prop.name} cannot be evaluated here: {error}"], look.width)
    count = sum(1 for prop in properties if prop.kind not in (Kind.SOMETIMES, *LIVENESS))
    title = "false here:" if broken else f"false here: none of {count} properties"
    ending = [f"reached here: {', '.join(reached)}"] if reached else []
    return [*wrapped(title, width=look.width), *broken, *fitted(ending, look.width)]
