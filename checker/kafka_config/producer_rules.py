"""The settings in effect for a producer: defaults that depend on other settings, and combinations that Kafka refuses.

In:  `Settings`, and the version of Kafka.
Out: a `Producer`, or a PropertiesError if Kafka refuses the settings (as KafkaProducer and ProducerConfig do).

A producer that is idempotent, or that has a transactional.id, needs acks=all, retries, and few requests in flight. If
idempotence is only the default (since 3.0.1, 3.1.1 and 3.2), a conflicting setting disables it; if it was requested,
the client refuses the conflicting setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.kafka_config.versions import Versions
from isrcheck.checker.kafka_settings.cluster_settings import (
    MOST,
    GivenSetting,
    Setting,
    Settings,
    UnderstoodSetting,
    default_of,
)
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.kafka_settings.properties_file import PropertiesError
from isrcheck.checker.kafka_settings.releases import Version
from isrcheck.checker.kafka_settings.role_settings import RoleSettings
from isrcheck.models.kafka.state.values import UnknownProducer

MOST_IN_FLIGHT = 5
"""The most requests in flight of an idempotent producer since Kafka 1.0; in 0.11 the limit is 1."""

ACKS = "acks"
RETRIES = "retries"
IN_FLIGHT = "max.in.flight.requests.per.connection"
IDEMPOTENCE = "enable.idempotence"
TRANSACTIONAL_ID = "transactional.id"
DELIVERY_TIMEOUT = "delivery.timeout.ms"


@dataclass(frozen=True)
class Producer:
    """The settings in effect for a producer, and whether it is idempotent and uses transactions.

    `numbering` holds the model's entries for what its release does with sequence numbers, at the client and at brokers.
    """

    acks: Setting[str]
    retries: Setting[int]
    in_flight: Setting[int]
    is_idempotent: Setting[bool]
    has_transactions: Setting[bool]
    numbering: Mapping[str, int]
    understood: tuple[UnderstoodSetting, ...]

    @property
    def defaults(self) -> tuple[UnderstoodSetting, ...]:
        """The settings that count, and have the default of a Java client."""
        decide = {ACKS, IDEMPOTENCE, *(() if self.is_idempotent.value else (RETRIES, IN_FLIGHT))}
        return tuple(one for one in self.understood if one.key in decide and one.is_default)


def read_producer(settings: Settings, versions: Versions) -> Producer:
    """Return the producer with these settings. Raises PropertiesError if Kafka refuses the settings."""
    rules = _Rules(settings, versions)
    idempotence, wants = rules.idempotence()
    acks = rules.setting_for(ACKS, "all" if wants else None, wants)
    retries = rules.setting_for(RETRIES, MOST if wants else None, wants)
    is_first = wants is not None and not versions.release.has("1.0")
    in_flight = rules.setting_for(IN_FLIGHT, 1 if is_first else None, wants)
    identified = rules.given(TRANSACTIONAL_ID)
    lines = [
        rules.line(ACKS, acks, _ACKS_MEAN[acks.value]),
        rules.line(RETRIES, retries, _retries_mean(retries.value, acks.value, idempotence.value)),
        rules.line(IN_FLIGHT, in_flight, _in_flight_means(in_flight.value)),
    ]
    if rules.knows(IDEMPOTENCE):
        meaning = (
            "a leader recognises a resend by its sequence number"
            if idempotence.value
            else "a leader appends a resend as a new record"
        )
        lines.append(rules.line(IDEMPOTENCE, idempotence, meaning))
    if identified:
        lines.append(
            UnderstoodSetting(
                TRANSACTIONAL_ID, identified.text, f"records belong to transactions{identified.note}", identified.source
            )
        )
    lines += rules.delivery_timeout()
    transactions = Setting(identified is not None, identified.source if identified else "")
    return Producer(acks, retries, in_flight, idempotence, transactions, _numbering(versions.release), tuple(lines))


def _numbering(release: Version) -> Mapping[str, int]:
    has_kip_360 = release.has("2.5")
    before = UnknownProducer.SEQUENCE_ZERO if release.has("1.0") else UnknownProducer.ZERO_OR_OUT_OF_ORDER
    return {
        "remembered_batches": MOST_IN_FLIGHT if release.has("1.0") else 1,
        "STALE_METADATA_IGNORED": release.has("2.2"),
        "UNKNOWN_PID_POLICY": UnknownProducer.ANY_SEQUENCE if has_kip_360 else before,
        "CLIENT_BUMPS_EPOCH": has_kip_360,
        "PRODUCER_STATE_KEPT": has_kip_360,
    }


@dataclass(frozen=True)
class _Obstacle:
    """A given setting that conflicts with idempotence, the value that idempotence needs, and the cure."""

    given: GivenSetting
    need: str
    cure: str


class _Rules(RoleSettings):
    """The rules of one Kafka release, applied to the given settings of producers."""

    def __init__(self, settings: Settings, versions: Versions) -> None:
        super().__init__(settings, versions.release, Role.PRODUCER)
        self.gives_way = self.release.has_patch("3.0.1") and not self._is_3_1_0()

    def _is_3_1_0(self) -> bool:
        return self.release.has("3.1") and not self.release.has_patch("3.1.1")

    def setting_for(self, key: str, becomes: Any, wants: GivenSetting | None) -> Setting[Any]:
        """Return the value of a key; one that is not given becomes `becomes`, if the setting `wants` needs that."""
        usual = self.setting(key)
        if wants is not None and becomes is not None and becomes != usual.value and self.given(key) is None:
            return Setting(becomes, f"becomes {becomes} because of {wants.spelled} in {wants.source}")
        return usual

    def idempotence(self) -> tuple[Setting[bool], GivenSetting | None]:
        """Return whether the producer is idempotent, and the setting that requests idempotence, if any."""
        explicit, identified = self.given(IDEMPOTENCE), self.given(TRANSACTIONAL_ID)
        if explicit and not explicit.value:
            if identified:
                raise self._refusal(
                    explicit,
                    f"{identified.spelled} ({identified.source}) needs enable.idempotence=true",
                    "write enable.idempotence=true, or leave transactional.id out",
                )
            return Setting(False, explicit.source), None
        usual = default_of(self.release)
        if self.gives_way and not explicit:
            return self._idempotence_by_default(identified), identified
        wants = explicit or identified
        if wants is None:
            if self.release.has("3.0"):
                usual += ", true, has no effect (KAFKA-13598)"
            return Setting(False, usual), None
        for obstacle in self._obstacles():
            if wants is explicit:
                because, undo = f"{wants.spelled} ({wants.source})", "write enable.idempotence=false"
            else:
                because = f"{wants.spelled} ({wants.source}), which enables idempotence,"
                undo = "leave transactional.id out"
            raise self._refusal(obstacle.given, f"{because} needs {obstacle.need}", f"{obstacle.cure}, or {undo}")
        if wants is explicit:
            return Setting(True, explicit.source), wants
        return Setting(True, f"becomes true because of {wants.spelled} in {wants.source}"), wants

    def _idempotence_by_default(self, identified: GivenSetting | None) -> Setting[bool]:
        """Return the default idempotence: a conflicting setting disables it, or is refused with a transactional.id.

        Since 4.0 too many requests in flight are refused, also if another setting disables it (KAFKA-17927)."""
        obstacles = list(self._obstacles())
        for one in obstacles:
            if one.given.key == IN_FLIGHT and self.release.has("4.0"):
                because = f"enable.idempotence=true ({default_of(self.release)}) needs {one.need}"
                undo = "" if identified else ", or write enable.idempotence=false"
                raise self._refusal(one.given, because, one.cure + undo)
        if not obstacles:
            return Setting(True, default_of(self.release))
        obstacle = obstacles[0]
        if identified:
            raise self._refusal(
                obstacle.given,
                f"it disables idempotence, which {identified.spelled} ({identified.source}) needs",
                f"{obstacle.cure}, or leave transactional.id out",
            )
        return Setting(False, f"disabled because of {obstacle.given.spelled} in {obstacle.given.source}")

    def _obstacles(self) -> Iterator[_Obstacle]:
        """Yield the given settings that conflict with idempotence."""
        retries, acks, in_flight = (self.given(key) for key in (RETRIES, ACKS, IN_FLIGHT))
        if retries and retries.value == 0:
            yield _Obstacle(retries, "retries above 0", "leave retries out")
        if acks and acks.value != "all":
            yield _Obstacle(acks, "acks=all", "write acks=all")
        if in_flight and not self.release.has("1.0") and in_flight.value != 1:
            yield _Obstacle(in_flight, f"{IN_FLIGHT}=1", f"write {IN_FLIGHT}=1")
        elif in_flight and isinstance(in_flight.value, int) and in_flight.value > MOST_IN_FLIGHT:
            most = f"{IN_FLIGHT} of at most {MOST_IN_FLIGHT}"
            yield _Obstacle(in_flight, most, f"write {IN_FLIGHT}={MOST_IN_FLIGHT}")

    def _refusal(self, given: GivenSetting, because: str, cure: str) -> PropertiesError:
        return PropertiesError(
            f"{given.source}: {given.spelled}: a producer of Kafka {self.release} refuses to start with it, "
            f"because {because}; {cure}"
        )

    def delivery_timeout(self) -> Sequence[UnderstoodSetting]:
        """Return the delivery timeout (since 2.1), if given. Raises PropertiesError if it is shorter than a request."""
        given = self.given(DELIVERY_TIMEOUT)
        if given is None:
            return []
        linger, request = (self.setting(key).value for key in ("linger.ms", "request.timeout.ms"))
        assert isinstance(given.value, int)
        if given.value < min(linger + request, MOST):
            raise self._refusal(
                given,
                f"it has to be at least linger.ms + request.timeout.ms, {linger} + {request}",
                f"write {DELIVERY_TIMEOUT}={linger + request} or more",
            )
        meaning = f"limits the resends of a record; the model has no clock, so any resend can be the last{given.note}"
        return [UnderstoodSetting(DELIVERY_TIMEOUT, given.text, meaning, given.source)]


_ACKS_MEAN = {
    "0": "the producer waits for no acknowledgement",
    "1": "the leader acknowledges a record without waiting for followers",
    "all": "a record is acknowledged once the whole ISR has it",
}


def _retries_mean(count: int, acks: str, is_idempotent: bool) -> str:
    if count and acks == "0":
        return "with acks=0 the producer learns of no failure and resends nothing"
    searched = "two resends are" if is_idempotent else "one resend is"
    return f"a failed request is sent again ({searched} searched)" if count else "a failed request is not sent again"


def _in_flight_means(count: int) -> str:
    return "one request at a time" if count == 1 else f"up to {count} requests of a producer at a time"
