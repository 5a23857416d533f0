"""What the clients of a partition did and saw in a trace of the model `cap`, for checkers of consistency.

Each line of JSON is one event, in the notation of Jepsen and Knossos.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isrcheck.models.language.declarations import NONE
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import Trace, arguments_of

MODEL = "cap"
WRITES, READS = ("client_writes", "client_writes_in_vain"), "client_reads"


@dataclass(frozen=True)
class Operation:
    """An operation of a client: the write of one record; or a read and the records that it returned, in log order."""

    client: int
    is_read: bool
    records: tuple[int, ...]
    invoked: int
    """The step with which it begins."""
    answered: int | None
    """The step with which it ends; None: the client never got an answer."""


def operations_of(trace: Trace) -> list[Operation]:
    """Return the operations in the order in which they were invoked. Raises UsageError for a trace of another model."""
    if (name := trace.instance.model.name) != MODEL:
        raise UsageError(f"a trace of {name} has no reads of clients; give a trace of the model {MODEL}")
    operations, layouts = [], trace.instance.layouts
    for position, step in enumerate(trace.steps, start=1):
        arguments = arguments_of(trace.instance, step)
        if step.action in WRITES:
            record = trace.states[position - 1][layouts["next_record"].offset]
            cell = layouts["is_acknowledged"].position((record,))
            answered = next((at for at, state in enumerate(trace.states) if state[cell]), None)
            operations.append(Operation(arguments["client"], False, (record,), position, answered))
        elif step.action == READS:
            shown = tuple(_shown(trace, trace.states[position], arguments["broker"]))
            operations.append(Operation(arguments["client"], True, shown, position, position))
    return operations


def events(operations: Sequence[Operation]) -> list[str]:
    """Return the history as lines of JSON: an event `invoke` per operation, and `ok` if the client got an answer."""
    history = []
    for number, operation in enumerate(operations):
        f, value = ("read", list(operation.records)) if operation.is_read else ("append", operation.records[0])
        event = {"process": operation.client, "type": "invoke", "f": f, "value": None if operation.is_read else value}
        history.append((operation.invoked, 0, number, event))
        if operation.answered is not None:
            history.append((operation.answered, 1, number, event | {"type": "ok", "value": value}))
    ordered = sorted(history, key=lambda entry: entry[:3])
    return [json.dumps({"index": index, "step": step, **event}) for index, (step, *_, event) in enumerate(ordered)]


def _shown(trace: Trace, state: Cells, broker: int) -> Iterator[int]:
    """The records below the high watermark of a broker."""
    layouts = trace.instance.layouts
    for offset in range(state[layouts["high_watermark"].position((broker,))]):
        record = state[layouts["log_record"].position((broker, offset))]
        if record != NONE:
            yield record
