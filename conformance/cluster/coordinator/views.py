"""What can be observed of a cluster with group coordinators, beside what can be of any cluster: immutable views.

In:  nothing.
Out: the classes of the views, which system.py fills.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.conformance.cluster.coordinator.group import Group, RecordKind
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.views import ClusterView


@dataclass(frozen=True)
class CoordinatorView:
    """An active coordinator: the leader epoch that it was loaded in; its state in memory; the writes in its open batch;
    those that wait for the high watermark, each with the offset that it awaits; whether an event that unloads it waits;
    whether it hears the high watermark, and the last one that it has heard and not handled, or None.
    """

    epoch: int
    group: Group
    batch: tuple[str, ...]
    deferred: tuple[tuple[str, int], ...]
    last_written_offset: int
    unload_is_queued: bool
    is_listening: bool
    noted_high_watermark: int | None


@dataclass(frozen=True)
class HandledWrite:
    """A write operation that the coordinator of a broker has handled, and its answer; None if there is none yet."""

    name: str
    kind: RecordKind
    broker: int
    answer: Errors | None = None


@dataclass(frozen=True)
class CoordinatedView:
    """A cluster with its coordinators, by broker, None for one that is not active; and the writes in order."""

    cluster: ClusterView
    coordinators: Mapping[int, CoordinatorView | None]
    writes: tuple[HandledWrite, ...]
