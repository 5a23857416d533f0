"""The log of a run: one JSON object per line (NDJSON), schema version 1. First a header, then one event per line.

In:  nothing.
Out: `Header` and `Event`, and the lines that they are (`line_of_header`, `line_of_event`); reading.py reads them back.

A header says which run it is and of what, so that a log can be followed without knowing where it comes from:

    {"schema": 1, "run": "7.1", "seed": 7, "protocol": "2.1", "switches": {"EXPAND_EPOCH_START": "off"},
     "configuration": {"replicas": 3, "records": 12, "acks": "all", ...}, "state": {"controller_isr": [true, ...]}}

- `schema`: 1. Another version is refused.
- `run`: the name of the run, a text that every line of it repeats; no two runs in a file have the same.
- `seed`: the number that brings the run about again; may be absent.
- `protocol`: a generation of the model; `switches`: those that differ from it, spelled as on the command line.
- `configuration`: the model's other entries by name, bounds and budgets included: numbers, or names such as "all". What
  is absent has the model's default. The bounds have to suffice for the run: an event that does not fit is refused.
- `state`: what was seen of the situation in which the run starts; may be absent. The start is an elected one.

An event says what happened, where, and what was seen afterwards:

    {"run": "7.1", "number": 3, "broker": 0, "action": "leader_handles_fetch",
     "arguments": {"leader": 0, "follower": 2}, "state": {"high_watermark[0]": 1, "fetch[2][0]": "PARKED"}}

- `number`: 1, 2, 3, ... without a break, if nothing is missing. A gap means that as many events were lost.
- `broker`: where it happened; null for what the controller or a client did, and where it is not known.
- `action`: the name of an action of the model; null where it is not known what happened, only that something did (at
  this broker, if one is named).
- `arguments`: by the action's own names: numbers counted from 0 (brokers, offsets, epochs, records), or a list of
  numbers for a set. What is absent or null is not known; everything that it could have been is tried.
- `state`: variables of the model as they were seen after the event. A key is a variable, or a part of one:
  `controller_epoch`, `high_watermark[1]`, `log_record[1]`; the value is a number, true or false, the name of a member
  ("PARKED"), null for none, or a list of these, nested like the indices that the key leaves open. Offsets above a log's
  end hold null, records are numbered in the order in which they reached a broker. What is absent was not seen.

Every line may have a `note`, a text for people that nothing reads. Any other key is refused: whoever wrote it may have
meant something by it. A log can hold several runs, one after the other; lines of two runs do not mix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA = 1

Value = int | bool | str | None | list["Value"]
"""What a variable, or a part of it, is written as."""

ACTORS = {
    "leader": "leader",
    "follower": "follower",
    "response": "follower",
    "broker": "broker",
    "producer": "leader",
    "answer": "leader",
}
"""The first word of an action's name -> its parameter that names the broker at which it happens."""


@dataclass(frozen=True)
class Header:
    """The first line of a run; see the module."""

    run: str
    protocol: str
    configuration: Mapping[str, int | str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, Value] = field(default_factory=dict)
    seed: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Event:
    """One event of a run; see the module."""

    run: str
    number: int
    broker: int | None
    action: str | None
    arguments: Mapping[str, int | list[int] | None] = field(default_factory=dict)
    state: Mapping[str, Value] = field(default_factory=dict)
    note: str = ""

    def __str__(self) -> str:
        """The event as a person reads it, without what was seen."""
        told = [f"{name}={value}" for name, value in self.arguments.items()]
        where = "" if self.broker is None else f" at broker {self.broker}"
        return f"event {self.number}{where}: {' '.join([self.action or 'something', *told])}"


def actor_of(action: str) -> str | None:
    """The parameter of an action that is the broker at which it happens; None for the controller and for clients."""
    return ACTORS.get(action.partition("_")[0])


def line_of_header(header: Header) -> str:
    """The header as a line of a log, with its newline."""
    said: dict[str, object] = {"schema": SCHEMA, "run": header.run}
    if header.seed is not None:
        said["seed"] = header.seed
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
