"""The model's view of a cluster with group coordinators: each variable of the model, from what can be observed.

In:  the view of a cluster; how many writes the model has.
Out: a mapping from the names of variables to their values.
"""

from __future__ import annotations

from typing import Any

from isrcheck.conformance.cluster.coordinator.group import GroupRecord, RecordKind
from isrcheck.conformance.cluster.coordinator.views import CoordinatedView, CoordinatorView
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.views import BrokerView
from isrcheck.models.coordinator.runtime import Answer, Kind
from isrcheck.models.language import NONE

KINDS = {RecordKind.COMMIT: Kind.COMMIT, RecordKind.MEMBER: Kind.MEMBER, RecordKind.CLASSIC: Kind.CLASSIC}


def name_of(write: int) -> str:
    """The name of the model's write with that number: a letter."""
    return chr(ord("a") + write)


def number_of(name: str) -> int:
    """The number of the write with that name."""
    return ord(name) - ord("a")


def project(view: CoordinatedView, writes: int) -> dict[str, Any]:
    """The values of all variables of the model, which has so many writes."""
    controller, handled = view.cluster.controller, view.writes
    rest = writes - len(handled)
    active = [coordinator for coordinator in view.coordinators.values() if coordinator]
    awaited = {number_of(name): offset for one in active for name, offset in one.deferred}
    brokers = [
        _of_broker(broker, writes) | _of_coordinator(view.coordinators[broker.number], writes)
        for broker in view.cluster.brokers
    ]
    return {
        "leader": controller.leader,
        "leader_epoch": controller.leader_epoch,
        "next_write": len(handled),
        "kind": [KINDS[each.kind] for each in handled] + [Kind.NONE] * rest,
        "handled_by": [each.broker for each in handled] + [NONE] * rest,
        "answer": [_answer(each.answer) for each in handled] + [Answer.NONE] * rest,
        "awaited_offset": [awaited.get(write, 0) for write in range(writes)],
    } | {name: [broker[name] for broker in brokers] for name in brokers[0]}


def _answer(error: Errors | None) -> Answer:
    if error is None:
        return Answer.NONE
    return Answer.ACKNOWLEDGED if error is Errors.NONE else Answer.FAILED


def _of_broker(view: BrokerView, writes: int) -> dict[str, Any]:
    log = [number_of(GroupRecord.of(record.payload).name) for record in view.log]
    return {
        "known_epoch": view.leader_epoch,
        "leads": view.leadership is not None,
        "log": log + [NONE] * (writes - len(log)),
        "log_end_offset": view.log_end_offset,
        "high_watermark": view.high_watermark,
    }


def _of_coordinator(view: CoordinatorView | None, writes: int) -> dict[str, Any]:
    """The variables of a broker's coordinator; one that is not active knows nothing."""
    applied = {*view.group.commits, *view.group.members, view.group.converted_by} if view else set()
    batch = view.batch if view else ()
    return {
        "is_active": view is not None,
        "loaded_in": view.epoch if view else 0,
        "applied": [name_of(write) in applied for write in range(writes)],
        "batch": [name_of(write) in batch for write in range(writes)],
        "last_written_offset": view.last_written_offset if view else 0,
        "unload_is_queued": view is not None and view.unload_is_queued,
        "is_listening": view is not None and view.is_listening,
        "heard_high_watermark": (view.noted_high_watermark or 0) if view else 0,
    }
