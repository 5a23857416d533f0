"""The format of event logs, version 1: one JSON object per line (NDJSON); a run is a header and a line per event.

In:  nothing.
Out: `Header` and `Event`, and their lines (`line_of_header`, `line_of_event`); runs/reading.py reads them.

A header identifies the run and its model, so that a log can be followed without further information:

    {"schema": 1, "run": "7.1", "seed": 7, "protocol": "2.1", "switches": {"EXPAND_EPOCH_START": "off"},
     "configuration": {"replicas": 3, "records": 12, "acks": "all", ...}, "state": {"controller_isr": [true, ...]}}

- `schema`: 1. Any other version is refused. - `model`: "kafka" (which an absent one stands for) or "transactions". -
`run`: the name of the run, a text that every line of the run repeats;
runs in one file have different names. - `seed`: the seed that reproduces the run; optional. - `protocol`: a generation
of the model; `switches`: those that differ from it, spelled as on the command line. - `configuration`: the model's
other entries by name, including bounds and budgets: numbers, or names such as "all". Absent entries have the model's
default. The bounds have to suffice for the run: an event beyond them is refused. - `state`: the observed part of the
initial state; optional. The initial state of kafka is an elected cluster.

An event says what happened, where, and what was observed afterwards:

    {"run": "7.1", "number": 3, "broker": 0, "action": "leader_handles_fetch",
     "arguments": {"leader": 0, "follower": 2}, "state": {"high_watermark[0]": 1, "fetch[2][0]": "PARKED"}}

- `number`: 1, 2, 3, ... without gaps if nothing is missing. A gap means that this many events were lost. - `broker`:
the acting broker; null for events of the controller, of a client or of transactions, and if the broker is unknown. -
`action`: the name of an action of the model; null if it is unknown (if `broker` is given, an action of that broker). -
`arguments`: by the action's own names: numbers counted from 0 (brokers, offsets, epochs, records), or a list of numbers
for a set. An argument that is absent or null is unknown; all its possible values are tried. - `state`: variables of the
model as observed after the event. A key is a variable or a part of one: `controller_epoch`, `high_watermark[1]`,
`log_record[1]`. A value is a number, true or false, the name of a member ("PARKED"), null for none, or a list of these,
nested like the indices that the key leaves open. Offsets beyond a log's end hold null; records are numbered in the
order in which they reached a broker. Absent variables were not observed.

Every line may have a `note`, a text for people that no program reads. Any other key is refused: it may be a
mistyped one. A log can hold several runs, one after the other; lines of different runs do not mix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA = 1

MODELS = ("kafka", "transactions")
"""The models whose runs are recorded; a header that names none is of the first."""

Value = int | bool | str | None | list["Value"]
"""The JSON form of a variable or of a part of it."""

ACTORS = {
    "leader": "leader",
    "follower": "follower",
    "response": "follower",
    "broker": "broker",
    "producer": "leader",
    "answer": "leader",
    "late": "leader",
    "leader_asks_to_shut_down": "broker",
    "last_leader_asks_to_shut_down": "broker",
    "broker_crashes_while_it_fetches": "follower",
    "broker_loses_disk_while_it_fetches": "follower",
}
"""Maps an action's name, or its first word, to its parameter that names the acting broker."""


@dataclass(frozen=True)
class Header:
    """The first line of a run; the module describes the fields."""

    run: str
    protocol: str
    configuration: Mapping[str, int | str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Value] = field(default_factory=dict)
    seed: int | None = None
    note: str = ""
    model: str = MODELS[0]


@dataclass(frozen=True)
class Event:
    """One event of a run; the module describes the fields."""

    run: str
    number: int
    broker: int | None
    action: str | None
    arguments: Mapping[str, int | list[int] | None] = field(default_factory=dict)
    state: Mapping[str, Value] = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        """The event for a reader, without its observed state."""
        told = [f"{name}={value}" for name, value in self.arguments.items()]
        where = "" if self.broker is None else f" at broker {self.broker}"
        return f"event {self.number}{where}: {' '.join([self.action or 'something', *told])}"


def actor_of(action: str) -> str | None:
    """The parameter of an action that names the acting broker; None for the controller and for clients."""
    return ACTORS.get(action) or ACTORS.get(action.partition("_")[0])


def line_of_header(header: Header) -> str:
    """The header as a line of a log, with its newline."""
    said: dict[str, object] = {"schema": SCHEMA, "run": header.run}
    if header.seed is not None:
        said["seed"] = header.seed
    if header.model != MODELS[0]:
        said["model"] = header.model
    said |= {"protocol": header.protocol, "switches": dict(header.switches)}
    said |= {"configuration": dict(header.configuration), "state": dict(header.state)}
    return _line(said, header.note)


def line_of_event(event: Event) -> str:
    """The event as a line of a log, with its newline."""
    said: dict[str, object] = {"run": event.run, "number": event.number, "broker": event.broker}
    said |= {"action": event.action, "arguments": dict(event.arguments), "state": dict(event.state)}
    return _line(said, event.note)


def _line(said: dict[str, object], note: str) -> str:
    return json.dumps(said | ({"note": note} if note else {})) + "\n"
