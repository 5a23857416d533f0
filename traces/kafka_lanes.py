"""A history of Kafka's replication: one column for the controller, one per broker, one for the clients.

In:  a trace of a model with the fields of one partition.
Out: titles and rows for table.py.

A broker reads `L1 a0|b1`: it leads (f: follows, x: does not run) in leader epoch 1, and holds record a of epoch 0 below
its high watermark, and record b of epoch 1 above it. The ISR that a leader believes in is shown where the controller's
is another. What is on its way between brokers is left to --full.
"""

from __future__ import annotations

from models.language.declare import NONE
from models.language.model import Instance, spell_element
from models.run import State
from traces.table import Row
from traces.trace import Trace

FIELDS = (
    "acknowledged",
    "controller_epoch",
    "controller_isr",
    "controller_leader",
    "exposed_record",
    "high_watermark",
    "is_up",
    "isr",
    "leader",
    "leader_epoch",
    "log_end_offset",
    "log_epoch",
    "log_record",
)


def is_kafka(instance: Instance) -> bool:
    """Whether the model has what the columns show."""
    return all(name in instance.places for name in FIELDS)


def titles(instance: Instance) -> list[str]:
    """The columns after the step."""
    return ["controller", *(f"broker {r}" for r in range(instance.configuration.replicas)), "clients"]


def rows(trace: Trace) -> list[Row]:
    """One row per state, columns that did not change left empty."""
    found = []
    before: list[tuple[str, ...]] = []
    promised: list[str] = []
    for position, cells in enumerate(trace.states):
        s = State(trace.instance, cells)
        columns: list[tuple[str, ...]] = [(_controller(s),), *((_broker(s, r),) for r in range(s.replicas))]
        shown = [() if before and column == before[i] else column for i, column in enumerate(columns)]
        known, promised = promised, _promises(s)
        news = ", ".join(promise for promise in promised if promise not in known)
        step = trace.instance.spell_step(trace.steps[position - 1]) if position else "initially"
        found.append(Row(position, step, (*shown, (news,) if news else ())))
        before = columns
    return found


def _controller(s: State) -> str:
    leader = "no leader" if s.controller_leader == NONE else f"leader {s.controller_leader}"
    return f"e{s.controller_epoch} {leader} isr {_members(s.controller_isr, s.replicas)}"


def _members(flags: object, replicas: int) -> str:
    return "".join(str(r) for r in range(replicas) if flags[r]) or "-"  # type: ignore[index]


def _broker(s: State, r: int) -> str:
    lane = f"{_role(s, r):<2} {_log(s, r)}"
    if s.leader[r] == r:
        believed, recorded = _members(s.isr[r], s.replicas), _members(s.controller_isr, s.replicas)
        if believed != recorded:
            lane += f" (isr {believed})"
    return lane


def _role(s: State, r: int) -> str:
    if not s.is_up[r]:
        return "x"
    if s.leader[r] == NONE:
        return "-"
    return f"{'L' if s.leader[r] == r else 'f'}{s.leader_epoch[r]}"


def _log(s: State, r: int) -> str:
    """Entries from the first to the last; `|` before the first that is not known to be committed.

    A high watermark above the log end offset stands behind as many dashes as entries are missing.
    """
    end, high_watermark = s.log_end_offset[r], s.high_watermark[r]
    entries = [f"{spell_element(s.log_record[r][o])}{s.log_epoch[r][o]}" for o in range(end)]
    entries += ["-"] * (high_watermark - end)
    below, above = " ".join(entries[:high_watermark]), " ".join(entries[high_watermark:])
    return f"{below}|{above}"


def _promises(s: State) -> list[str]:
    """What clients were told so far."""
    exposed = [s.exposed_record[offset] for offset in range(s.log_size)]
    found = [f"reads {spell_element(record)}" for record in exposed if record != NONE]
    return found + [f"acked {spell_element(record)}" for record in range(s.records) if s.acknowledged[record]]
