"""The plan of a recording: the protocol, the bounds, the frequency of events, and what the log leaves out.

In:  nothing.
Out: `Plan`, for record.py, with the instance of the model and the settings of the cluster for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from isrcheck.conformance.cluster.chances import Chances
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import NEWEST, Switches
from isrcheck.conformance.cluster.network.messages import Acks
from isrcheck.conformance.implemented import switches_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, nearest, parse
from isrcheck.models.messages.errors import UsageError

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
    max_in_flight_requests_per_connection=1_000,
)


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


FREEZE_INTERVAL = 6_000
"""The mean interval between freezes of a broker, if they are allowed, in milliseconds."""


@dataclass(frozen=True)
class Plan:
    """The plan of a recording. `events` is the number of events in all runs; the bounds are those of each run.

    `faults` is the budget of crashes, and also that of bounces; `acks` is "all", "1" or "0". `missing` is the share of
    events that the log leaves out; `unseen` and `untold` are the shares of variables and arguments left out. `bug` is a
    name in conformance/cluster/configuration/bugs.py; `allowed` are the behaviours missing in the model that may occur.
    """

    protocol: str = NEWEST
    seed: int = 0
    events: int = 1_000
    switches: Mapping[str, str] = field(default_factory=dict)
    bug: str | None = None
    replicas: int = 3
    records: int = 12
    elections: int = 8
    faults: int = 8
    acks: str = "all"
    min_insync_replicas: int = 2
    allowed: frozenset[ModelGap] = frozenset()
    missing: float = 0.0
    unseen: float = 0.0
    untold: float = 0.0

    def __post_init__(self) -> None:
        """Check the plan. Errors: UsageError for invalid shares, for values that the model does not know, and for
        protocols that the cluster does not implement.
        """
        for name in ("missing", "unseen", "untold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name}={getattr(self, name)}: a share is between 0 and 1")
        self.protocol_switches()  # first, because the bounds do not fit protocols that the cluster does not implement
        self.instance(start_isr=0, common_records=0)

    @property
    def budgets(self) -> Mapping[str, int]:
        """How often each of these actions may occur in one run; actions that are not named have no limit."""
        return {
            "broker_crashes": self.faults,
            "broker_bounces": self.faults,
            "controller_elects_preferred": self.elections,
        }

    def configuration(self, start_isr: int, common_records: int) -> dict[str, int | str]:
        """The configuration in the header of a run."""
        return {
            "replicas": self.replicas,
            "records": self.records,
            "log_size": self.records,
            "elections": self.elections,
            "bounces": self.faults,
            "crashes": self.faults,
            "preferred_elections": self.elections,
            "acks": self.acks,
            "min_insync_replicas": self.min_insync_replicas,
            "start_isr": start_isr,
            "common_records": common_records,
        }

    def instance(self, start_isr: int, common_records: int) -> Instance:
        """The instance of the model for a run. Raises UsageError."""
        return self._instance({**self.configuration(start_isr, common_records), **self.switches})

    def protocol_switches(self) -> Switches:
        """The protocol switches of the cluster. Raises UsageError."""
        instance = self._instance(self.switches)
        if instance.configuration.enable_idempotence or instance.configuration.consumers:
            raise UsageError(
                "recorded runs have no idempotent producer and no consumer with a position yet; leave out"
                " enable_idempotence and consumers, or replay walks: conform replay --walks 100"
            )
        return switches_of(instance)

    def _instance(self, given: Mapping[str, int | str]) -> Instance:
        model = registry.load("kafka")[0]
        values: dict[str, int] = {}
        for name in self.switches:
            if name not in model.entries:
                raise UsageError(f"no switch {name}; {nearest(name, [one for one in model.entries if one.isupper()])}")
        for name, value in given.items():
            values[name] = parse(name, model.entries[name], value) if isinstance(value, str) else value
        return model.instance(self.protocol, values)

    def settings(self) -> Settings:
        """The settings of the cluster."""
        configuration = self.instance(start_isr=0, common_records=0).configuration
        return replace(
            SETTINGS,
            min_insync_replicas=configuration.min_insync_replicas,
            replica_lag_max_messages=configuration.replica_lag_max_messages,
        )

    def chances(self) -> Chances:
        """The frequencies of random events in the recorded cluster."""
        freezes = ModelGap.FROZEN_BROKER_TAKEN_FOR_DEAD in self.allowed
        return replace(CHANCES, acks=(Acks(self.acks),), freeze_interval=FREEZE_INTERVAL if freezes else 0)
