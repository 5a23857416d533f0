"""A trace as text: one line per step, one column per broker; then why the property fails, and who did what.

In:  a certified Trace.
Out: lines for a terminal or a pipe, without colours.
"""

from __future__ import annotations

from models.language.model import spell
from traces import attribution, generic_lanes, kafka_lanes
from traces.explain import why_broken
from traces.itf import label
from traces.kafka_model import is_kafka
from traces.table import WIDTH, lay_out, wrapped
from traces.trace import HOLDS, NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace


def view(trace: Trace, full: bool = False) -> list[str]:
    """The whole view; with `full` every field of every state instead of what changed."""
    return [*wrapped(heading(trace)), "", *(_states(trace) if full else _table(trace)), "", *_ending(trace)]


def heading(trace: Trace) -> str:
    """The model, and what of its configuration is not the default."""
    instance = trace.instance
    entries = instance.model.entries
    defaults = {name: entry.default for name, entry in entries.items()} | dict(instance.protocol.switches)
    changed = [
        f"{name}={spell(entries[name], value)}"
        for name, value in instance.configuration.items()
        if value != defaults[name]
    ]
    changed += [f"{action} of {origin}" for action, origin in instance.swaps.items()]
    return f"{label(instance)}, {' '.join(changed) or 'default configuration'}"


def _table(trace: Trace) -> list[str]:
    if not is_kafka(trace.instance):
        return lay_out(generic_lanes.titles(trace.instance), generic_lanes.rows(trace))
    titles = kafka_lanes.titles(trace.instance)
    for stacked in range(kafka_lanes.MOST_STACKED + 1):
        table = lay_out(titles, kafka_lanes.rows(trace, stacked))
        if max(map(len, table)) <= WIDTH:
            break
    legend = kafka_lanes.legend(trace)
    return [*table, *([""] if legend else []), *legend]


def _states(trace: Trace) -> list[str]:
    found = []
    for position, cells in enumerate(trace.states):
        step = trace.spell_row(position)
        found.append(f"  {position}  {step}")
        for line in generic_lanes.full_state(trace.instance, cells):
            found += wrapped(line, "       ")
    return found


def _ending(trace: Trace) -> list[str]:
    found = []
    prop = trace.prop
    if prop is not None:
        at = "" if trace.verdict == HOLDS else f" at step {trace.length}"
        found += wrapped(f"{trace.verdict}{at}: {prop.name}{says(prop.function.documentation)}")
        if trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
            found += why_broken(trace).lines()
        if trace.verdict == NOT_INDUCTIVE:
            found += wrapped(
                "The state that it starts from need not be reachable: it is one that the proof does not rule out."
            )
        found += attribution.lines(trace)
    if trace.command:
        found.append(f"reproduce: {trace.command}")
    return found


def says(documentation: str) -> str:
    """The first paragraph of a docstring behind a colon."""
    first = documentation.strip().split("\n\n")[0].replace("\n", " ")
    return f": {' '.join(first.split())}" if first else ""
