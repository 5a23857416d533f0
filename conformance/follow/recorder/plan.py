"""The plan of a recording: the protocol, the bounds, the frequency of events, and what the log leaves out.

`Plan` is for record.py; it also has the instance of the model and the settings of the cluster. A producer that is not
idempotent is part of the scheduler; an idempotent producer, consumers and an administrator are in clients.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from isrcheck.conformance.cluster.configuration.protocol import USUAL, Switches
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.scheduler import Chances
from isrcheck.conformance.follow.format.events import LeftOut
from isrcheck.conformance.follow.search.size import AT_THE_START
from isrcheck.conformance.implemented import ACKS, RESETS, switches_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, parse, spell
from isrcheck.models.messages import UsageError, nearest

FOR_EVER = 1 << 40
"""The time after which a request times out, in milliseconds."""

CHANCES = Chances(
    slow_share=0.1,
    slow_delay=4_000,
    loss_share=0.03,
    produce_interval=2_500,
    read_interval=0,
    crash_interval=12_000,
    freeze_interval=0,
    election_interval=4_000,
    retry_share=0,
)
"""In virtual time, a dozen records take half a minute, with a few elections and faults."""

SETTINGS = Settings(
    replica_lag_time_max_ms=3_000,
    replica_fetch_wait_max_ms=2_000,
    replica_fetch_backoff_ms=100,
    replica_socket_timeout_ms=FOR_EVER,
    request_timeout_ms=FOR_EVER,
    broker_session_timeout_ms=2_000,
)

UNLIMITED = 1_000
"""The requests in flight of a producer that stands for many."""


class ModelGap(Enum):
    """A behaviour of Kafka and of the cluster that the model lacks; recordings avoid it unless the plan allows it."""

    CHECKPOINT_ABOVE_HIGH_WATERMARK = (
        "a follower adopts a lower high watermark, and before the next checkpoint restarts with the higher one"
    )
    PARKED_FETCH_OF_REELECTED_LEADER = (
        "before 2.1, a leader that is elected again without learning of its demotion keeps the fetches that are"
        " parked at it"
    )
    FROZEN_BROKER_TAKEN_FOR_DEAD = "a frozen follower loses its session, and the controller drops it from the ISR"
    FETCH_OF_AN_EARLIER_STAY = (
        "in 0.10, a follower that follows a former leader again applies the response to a fetch from the first time"
    )
    ANSWER_IS_LOST = "the answer that a record of an idempotent producer is committed is lost, and it is sent again"
    REQUEST_IS_LATE = "a request of an idempotent producer arrives after the producer has given it up"
    MISTAKEN_REQUEST_WAITS = (
        "from 1.0 to 2.4, the answer to a request that a leader takes for an earlier record's waits until that is"
        " committed"
    )
    TRUNCATION_WITHOUT_LEADER = (
        "before 2.4, a follower whose log is empty and begins above its high watermark truncates it to that, before it"
        " has reached its leader"
    )
    INELIGIBLE_FOLLOWER = (
        "a leader that has read that a follower is fenced does not propose it for the ISR; the model's leader does, and"
        " is refused"
    )
    HEARTBEAT_OUTLIVES_PROCESS = (
        "the last heartbeat of a process that has ended unfences its broker; in the model, the process ends after it"
    )
    LOG_START_NOT_CHECKPOINTED = "a broker restarts with a log start from before the last deletion"


FREEZE_INTERVAL = 6_000
"""The mean interval between freezes of a broker, if they are allowed, in milliseconds."""

BOUNDS = {"retries": 40, "producer_epochs": 6, "producer_snapshots": 12}
"""The default values of a run with an idempotent producer."""

PARTITION_CHANGES = 30
"""The changes of leader and ISR in one run, where they are counted."""

FENCES_LIVING = "the controller fences a broker that lives"
SHUTS_DOWN = "a broker begins to shut down"
"""Steps with budgets that several actions share."""

LOSSES = ("unclean_elections", "power_losses", "disk_losses")
NOT_RECORDED = (*AT_THE_START, *LOSSES, "transactions", "reassignments", "late_fetches")
"""Entries of the model for which no run is recorded; the first ones are chosen at random for each run."""


@dataclass(frozen=True)
class RunsPlan:
    """The part of a recording's plan that is the same for all models."""

    protocol: str = USUAL
    seed: int = 0

    events: int = 1_000
    """The number of events in all runs."""

    given: Mapping[str, str] = field(default_factory=dict)
    """Switches and other entries of the model's configuration, by name, as on the command line; they prevail."""

    bug: str | None = None
    """The name of a seeded bug (conformance/cluster/configuration/bugs.py)."""

    allowed: frozenset[Enum] = frozenset()
    """The behaviours missing in the model, members of a `ModelGap`, that may occur."""

    missing: float = 0.0
    """The share of events that the log leaves out."""

    unseen: float = 0.0
    """The share of variables that events leave out."""

    untold: float = 0.0
    """The share of arguments that events leave out."""

    @cached_property
    def left_out(self) -> LeftOut:
        """The shares of events, variables and arguments that the log omits. Raises UsageError for invalid shares."""
        return LeftOut(self.seed, self.missing, self.unseen, self.untold)


@dataclass(frozen=True)
class Plan(RunsPlan):
    """The plan of a recording of Kafka's replication. Bounds, such as `records`, apply to each run of the log."""

    replicas: int = 3
    records: int = 12
    elections: int = 8

    faults: int = 8
    """The budget of crashes, and also that of bounces."""

    acks: str = "all"
    """The acks of the producer: "all", "1" or "0"."""

    min_insync_replicas: int = 2

    def __post_init__(self) -> None:
        """Raise UsageError for invalid shares, for values that the model does not know, for entries that recorded runs
        cannot have, and for protocols that the cluster does not implement.
        """
        assert self.left_out  # which checks the shares
        if strange := [name for name in NOT_RECORDED if name in self.given]:
            raise UsageError(
                f"{strange[0]}={self.given[strange[0]]}: recorded runs cannot have this entry, or choose its value at"
                " random; leave it out, or give it to conform replay --walks 100"
            )
        self.protocol_switches()  # first, because the bounds do not fit protocols that the cluster does not implement
        self.instance(start_isr=0, common_records=0)

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration for the runs; each run only chooses its own initial state."""
        return self.instance(start_isr=0, common_records=0).configuration

    @property
    def budgets(self) -> Mapping[str, int]:
        """Return how often each action, or group of actions, with a limit may occur in one run."""
        has = self.configuration
        return {
            "broker_crashes": has.crashes,
            "broker_bounces": has.bounces,
            "controller_elects_preferred": has.preferred_elections,
            "producer_resends": has.retries,
            "producer_begins_new_epoch": has.producer_epochs - 1,
            "broker_saves_producer_state": has.producer_snapshots,
            "leader_deletes_records": has.delete_records,
            FENCES_LIVING: has.fencings,
            SHUTS_DOWN: has.shutdowns,
        }

    def entries(self, start_isr: int, common_records: int) -> dict[str, int | str]:
        """The configuration in the header of a run, without the switches."""
        return {
            "replicas": self.replicas,
            "records": self.records,
            "log_size": self.records,
            "elections": self.elections,
            **({"partition_changes": PARTITION_CHANGES} if self.asks_controller else {"bounces": self.faults}),
            **({"fencings": self.faults, "shutdowns": self.faults} if self.has_kraft else {}),
            "crashes": self.faults,
            "preferred_elections": self.elections,
            "acks": self.acks,
            "min_insync_replicas": self.min_insync_replicas,
            **self._given(is_switch=False),
            "start_isr": start_isr,
            "common_records": common_records,
        }

    @cached_property
    def asks_controller(self) -> bool:
        """Whether leaders ask the controller to change the ISR; then there are partition epochs, but no bounces
        (restarts before the controller notices the broker's absence)."""
        return self.protocol_switches().asks_controller

    @cached_property
    def has_kraft(self) -> bool:
        return self.protocol_switches().has_kraft

    @property
    def switches(self) -> dict[str, str]:
        """The switches in the header of a run."""
        return {name: str(value) for name, value in self._given(is_switch=True).items()}

    def instance(self, start_isr: int, common_records: int) -> Instance:
        """The instance of the model for a run. Raises UsageError."""
        return self._instance({**self.entries(start_isr, common_records), **self.switches})

    def protocol_switches(self) -> Switches:
        """The protocol switches of the cluster. Raises UsageError."""
        return switches_of(self._instance({**self._given(is_switch=False), **self.switches}))

    def _given(self, *, is_switch: bool) -> dict[str, int | str]:
        """Return the given entries (or switches, if `is_switch`) as a header writes them. An idempotent producer has
        more bounds; max_in_flight_requests is the number of batches that leaders remember (1 in 0.11, 5 since 1.0)."""
        entries = registry.load("kafka")[0].entries
        entries_given = {}
        for name, value in self.given.items():
            if name not in entries:
                raise UsageError(f"kafka has no entry or switch {name}; {nearest(name, entries)}")
            number = parse(name, entries[name], value)
            if name.isupper() == is_switch:
                entries_given[name] = number if entries[name].values is None else spell(entries[name], number)
        if not is_switch and entries_given.get("enable_idempotence") == "on":
            remembered = self._instance({}).configuration.remembered_batches
            in_flight = entries_given.get("remembered_batches", remembered)
            return {**BOUNDS, "max_in_flight_requests": in_flight, **entries_given}
        return entries_given

    def _instance(self, entries_set: Mapping[str, int | str]) -> Instance:
        model = registry.load("kafka")[0]
        values = {
            name: parse(name, model.entries[name], value) if isinstance(value, str) else value
            for name, value in entries_set.items()
        }
        return model.instance(self.protocol, values)

    def settings(self) -> Settings:
        has = self.configuration
        idempotent = bool(has.enable_idempotence)
        return replace(
            SETTINGS,
            min_insync_replicas=has.min_insync_replicas,
            replica_lag_max_messages=has.replica_lag_max_messages,
            idempotent=idempotent,
            max_in_flight_requests_per_connection=has.max_in_flight_requests if idempotent else UNLIMITED,
            auto_offset_reset=RESETS[has.auto_offset_reset],
            follower_fetching=bool(has.follower_fetching),
        )

    def chances(self) -> Chances:
        freezes = ModelGap.FROZEN_BROKER_TAKEN_FOR_DEAD in self.allowed
        return replace(
            CHANCES,
            acks=(ACKS[int(self.configuration.acks)],),
            freeze_interval=FREEZE_INTERVAL if freezes else 0,
            elections=(Election.PREFERRED,) if self.has_kraft else CHANCES.elections,
            session_interval=9_000 if self.has_kraft else 0,
            shutdown_interval=15_000 if self.has_kraft else 0,
            produce_interval=0 if self.configuration.enable_idempotence else CHANCES.produce_interval,
        )
