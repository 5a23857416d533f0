"""The instance of the model that a recording needs: how many records, epochs and faults it has room for.

The instance has only those initial states in which all logs are empty, and all members of the ISR are replicas.

The model has far more initial states: with start=any their number grows with the third power of the records, because
logs may hold any of them. Enumerating them to choose a dozen took minutes and gigabytes for a hundred records. While
all logs are empty, all offsets are alike, and all records are alike. So the states are computed for the same
configuration with one record and one offset, and the values there are repeated for all records and offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import Fault
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.recorded.states import alters_partitions, has_kraft
from isrcheck.conformance.follow.search.script import changes_required, deaths, elections_required
from isrcheck.models import registry
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.model import Configuration, Instance
from isrcheck.models.language.states import Cells, Enumeration, FieldLayout
from isrcheck.models.messages import UsageError
from isrcheck.models.run import State

ONE_OF_EACH = {"records": 1, "log_size": 1}


def begin_empty(instance: Instance) -> Instance:
    """Keep only the initial states with empty logs, in the model's order, and return the instance."""
    if not instance.is_enumerated:
        enumeration = Enumeration(instance.model.place_of_start, instance.layouts)
        instance.start_from(enumeration.cells_of(_empty_clusters(instance), lambda count, size: None))
    return instance


def _empty_clusters(instance: Instance) -> Iterator[Cells]:
    small = replace(instance, configuration=Configuration(dict(instance.configuration.items()) | ONE_OF_EACH))
    places = [place for name, layout in instance.layouts.items() for place in _places(layout, small.layouts[name])]
    for cells in small.initial_states:
        s = State(small, cells)
        has_stranger = s.reassignments > 0 and any(s.controller_isr[r] > s.is_assigned[r] for r in range(s.replicas))
        if not has_stranger and not any(s.log_end_offset[r] for r in range(s.replicas)):
            yield tuple(cells[place] for place in places)


def _places(layout: FieldLayout, small: FieldLayout) -> Iterator[int]:
    """Yield, for each value of a variable, the position of its source: a value in a state with the layout `small`."""
    for index in layout.indices():
        yield small.position([min(position, size - 1) for position, size in zip(index, small.sizes, strict=True)])


AT_THE_START = ("start", "start_isr", "common_records", "brokers_down")
ROOM = ("replicas", "records", "log_size", "elections", "partition_changes", "delete_records", "transactions")
FAULTS_SEEN = ("crashes", "bounces", "preferred_elections", "power_losses", "disk_losses", "fencings", "shutdowns")
FROM_THE_RECORDING = ROOM + FAULTS_SEEN + ("reassignments", "late_fetches", "start_assignment", *AT_THE_START)
"""The configuration entries that only the recording determines; it may also determine `acks`."""

FENCINGS_OF_A_FREEZE = 3
"""How often the sessions of living brokers expire at most, for each broker that freezes, or is cut off from the
controller."""


@dataclass(frozen=True)
class Size:
    """The bounds of an instance, and the settings that the recording shows (None: not shown)."""

    replicas: int
    records: int
    elections: int
    deaths: int
    changes: int
    """Upper bounds; the changes are those of leader and ISR."""

    faults: Counter[FaultKind]
    """The number of faults of each kind."""

    min_insync_replicas: int | None
    unclean_election: bool | None
    acks: Acks | None

    asks_unclean: bool = False
    """An administrator asks for an unclean election."""

    first_replicas: int = 0
    """How many of the brokers are replicas at the beginning, if the partition is reassigned; 0: it is not."""


def size_of(recording: Recording) -> Size:
    return Size(
        len(recording.brokers),
        max(1, len(recording.values)),
        elections_required(recording),
        deaths(recording),
        changes_required(recording),
        Counter(line.what for _, line in recording.claims(Fault)),
        recording.header.min_insync_replicas,
        recording.header.unclean_election,
        recording.acks,
        recording.asks_unclean,
        recording.first_replicas,
    )


def instance_for(size: Size, protocol: str, values: Mapping[str, int], sent_again: int | None = None) -> Instance:
    """The instance of the model for a recording of this size, which begins with empty logs. Raises UsageError.

    A log holds each record once, and up to `retries` copies if the producer is not idempotent. For an idempotent
    producer, `sent_again` is how often the producer may send a record again.
    """
    for name in values:
        if name in FROM_THE_RECORDING or (name == "acks" and size.acks is not None):
            raise UsageError(f"{name} cannot be set, because the recording determines it; leave it out")
    model = registry.load("kafka")[0]
    least, unclean = size.min_insync_replicas, size.unclean_election
    for name, recorded in (("min_insync_replicas", least), ("unclean_elections", unclean)):
        chosen = values.get(name)
        if recorded is not None and chosen is not None and type(recorded)(chosen) != recorded:
            raise UsageError(f"{name}={chosen} contradicts the header of the recording; leave it out")
    is_unclean = size.asks_unclean or (unclean if unclean is not None else values.get("unclean_elections", 0) > 0)
    instance = model.instance(
        protocol,
        {
            **({} if least is None else {"min_insync_replicas": least}),
            **values,
            "replicas": size.replicas,
            "records": size.records,
            "log_size": size.records + (values.get("retries", 0) if sent_again is None else 0),
            "elections": size.elections,
            "crashes": size.deaths,
            "bounces": 0,
            "preferred_elections": size.elections,
            **_newer_bounds(size, model.instance(protocol)),
            "unclean_elections": max(1, size.elections) if is_unclean else 0,
            "retries": values.get("retries", 0) if sent_again is None else sent_again,
            **({} if size.acks is None else {"acks": int(size.acks)}),
            "start": 1,
        },
    )
    return begin_empty(instance)


def _newer_bounds(size: Size, instance: Instance) -> dict[str, int]:
    """The bounds that 2.8 and KRaft introduced. Living brokers lose their sessions only while frozen or cut off."""
    if not alters_partitions(instance):
        return {}
    bounds = {"partition_changes": size.changes}
    if has_kraft(instance):
        fencings = FENCINGS_OF_A_FREEZE * (size.faults[FaultKind.FREEZE] + size.faults[FaultKind.CUT])
        bounds |= {"fencings": fencings, "shutdowns": size.faults[FaultKind.STOP]}
        if size.first_replicas:
            # Two requests at the same time can be taken more than once, each as a change.
            bounds |= {"reassignments": max(1, size.changes), "start_assignment": (1 << size.first_replicas) - 1}
    return bounds
