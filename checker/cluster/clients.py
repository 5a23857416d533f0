"""The settings in effect for producers, consumers and transactions: defaults that depend on other settings, and
combinations that Kafka refuses.

In:  `Settings`, and the versions of the cluster.
Out: a `Producer`, a `Consumer`, `Transactions`; or a PropertiesError if Kafka refuses the settings (as KafkaProducer,
     ProducerConfig and the coordinator do).

A producer that is idempotent, or that has a transactional.id, needs acks=all, retries, and few requests in flight. If
idempotence is only the default (since 3.0.1, 3.1.1 and 3.2), a conflicting setting disables it; if it was requested,
the client refuses the conflicting setting.

The fact sheet of the models says nothing about two kinds of values of auto.offset.reset: `smallest` and `largest`,
words of the old Scala consumer, which 2.0 removed; and `by_duration:...`, which came with 4.0 (KIP-1106).

The coordinator refuses a transaction.timeout.ms that is not above 0, or above the brokers' transaction.max.timeout.ms
(TransactionStateManager.validateTransactionTimeoutMs). It is not compared with delivery.timeout.ms.
An upgraded cluster is taken to have transaction.version=0 as long as its metadata.version is older than 4.0.
transaction.partition.verification.enable=false beside transaction.version=2 is not searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.cluster.generation import FIRST_TV2_BY_DEFAULT, has_new_epochs, transactions_generation
from isrcheck.checker.cluster.property_files import BY_DURATION, MOST, PropertiesError
from isrcheck.checker.cluster.releases import Role, Version, knows
from isrcheck.checker.cluster.settings import (
    GivenSetting,
    RoleSettings,
    Setting,
    Settings,
    UnderstoodSetting,
    default_of,
)
from isrcheck.checker.cluster.versions import Versions
from isrcheck.models.kafka.state.values import AutoOffsetReset, IsolationLevel, PositionCheck, UnknownProducer
from isrcheck.models.transactions.values import Verification

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
    searched = "two resends are" if idempotence.value else "one resend is"
    resends = f"a failed request is sent again ({searched} searched)"
    if not retries.value:
        resends = "a failed request is not sent again"
    elif acks.value == "0":
        resends = "with acks=0 the producer learns of no failure and resends nothing"
    requests = f"up to {in_flight.value} requests of a producer at a time"
    if in_flight.value == 1:
        requests = "one request at a time"
    lines = [
        rules.line(ACKS, acks, _ACKS_MEAN[acks.value]),
        rules.line(RETRIES, retries, resends),
        rules.line(IN_FLIGHT, in_flight, requests),
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
        is_3_1_0 = self.release.has("3.1") and not self.release.has_patch("3.1.1")
        self.gives_way = self.release.has_patch("3.0.1") and not is_3_1_0

    def setting_for(self, key: str, becomes: Any, wants: GivenSetting | None) -> Setting[Any]:
        """Return the value of a key; an absent value becomes `becomes`, if the setting `wants` needs that."""
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


# --- Consumers ---

ISOLATION_LEVEL = "isolation.level"
OFFSET_RESET = "auto.offset.reset"
CLIENT_RACK = "client.rack"
REPLICA_SELECTOR = "replica.selector.class"
_READS_THE_LEADER = ".LeaderSelector"

_WORDS_OF_THE_OLD_CONSUMER = {"smallest": "earliest", "largest": "latest"}


@dataclass(frozen=True)
class Consumer:
    """The settings in effect for a consumer.

    `is_given` says whether any setting of a consumer is given. `why_unsearched` is the reason why the model does not
    have this consumer, or None.
    """

    isolation_level: Setting[str]
    offset_reset: Setting[str]
    reads_followers: bool
    is_given: bool
    why_unsearched: str | None
    release: Version
    understood: tuple[UnderstoodSetting, ...]

    @property
    def values(self) -> Mapping[str, int]:
        """The model's configuration entries for this consumer."""
        policy = self.offset_reset.value.upper()
        check = PositionCheck.END_OFFSET if self.release.has("2.3") else PositionCheck.NONE
        return {
            "consumers": 1,
            "auto_offset_reset": AutoOffsetReset.NOTHING if policy == "NONE" else AutoOffsetReset[policy],
            "isolation_level": IsolationLevel[self.isolation_level.value.upper()],
            "follower_fetching": int(self.reads_followers),
            "POSITION_CHECK": check,
            "LATEST_OFFSET_AWAITS_EPOCH_START": int(self.release.has("2.2")),
            "READ_REPLICA_IN_ISR": int(self.release.has("3.4")),
        }


def read_consumer(settings: Settings, versions: Versions) -> Consumer:
    """Return the consumer with these settings. Raises PropertiesError if Kafka refuses the settings."""
    own = RoleSettings(settings, versions.release, Role.CONSUMER)
    is_given = any(each.role is Role.CONSUMER and knows(versions.release, each.role, each.key) for each in settings)
    level, reset = own.setting(ISOLATION_LEVEL), _offset_reset(own)
    lines = []
    if own.knows(ISOLATION_LEVEL):
        lines.append(own.line(ISOLATION_LEVEL, level, _LEVEL_MEANS[level.value]))
    why = None
    if reset.value.startswith(BY_DURATION):
        why = f"{OFFSET_RESET}={reset.value} is not modelled"
    if is_given:
        meaning = _RESET_MEANS.get(reset.value, "not modelled: consumers are not searched")
        lines.append(own.line(OFFSET_RESET, reset, meaning))
    reads_followers, selector_lines = _reads_followers(settings, versions)
    return Consumer(level, reset, reads_followers, is_given, why, versions.release, (*lines, *selector_lines))


_LEVEL_MEANS = {
    "read_uncommitted": "consumers read up to the high watermark",
    "read_committed": "consumers read up to the last stable offset",
}

_RESET_MEANS = {
    "earliest": "a consumer whose position does not exist continues at the start of the log",
    "latest": "a consumer whose position does not exist continues at the end of the log",
    "none": "a consumer whose position does not exist stops",
}


def _offset_reset(own: RoleSettings) -> Setting[str]:
    setting, given = own.setting(OFFSET_RESET), own.given(OFFSET_RESET)
    if given is None:
        return setting
    if setting.value in _WORDS_OF_THE_OLD_CONSUMER:
        policy = _WORDS_OF_THE_OLD_CONSUMER[setting.value]
        if own.release.has("2.0"):
            raise PropertiesError(
                f"{given.source}: {given.spelled}: a consumer of Kafka {own.release} refuses to start with it, because "
                f"only the old consumers before 2.0 knew that value; write {OFFSET_RESET}={policy}"
            )
        return Setting(policy, setting.source)
    if setting.value.startswith(BY_DURATION) and not own.release.has("4.0"):
        raise PropertiesError(
            f"{given.source}: {given.spelled}: a consumer of Kafka {own.release} refuses to start with it, because "
            f"{BY_DURATION} came with 4.0; write earliest, latest or none"
        )
    return setting


def _reads_followers(settings: Settings, versions: Versions) -> tuple[bool, list[UnderstoodSetting]]:
    """Return whether consumers read from followers (KIP-392), which takes a selector of brokers and a client's rack."""
    selector = RoleSettings(settings, versions.release, Role.BROKER).given(REPLICA_SELECTOR)
    rack = RoleSettings(settings, versions.release, Role.CONSUMER).given(CLIENT_RACK)
    selects = selector is not None and selector.text != "" and not selector.text.endswith(_READS_THE_LEADER)
    has_rack = rack is not None and rack.text != ""
    reads = selects and has_rack
    meaning = "consumers may read from followers" if reads else "consumers read from the leader"
    found = []
    for given, other, lacks in (
        (selector, has_rack, f"no {CLIENT_RACK} is given"),
        (rack, selects, f"no {REPLICA_SELECTOR} is given that selects followers"),
    ):
        if given is not None:
            why = "" if reads or other else f": {lacks}"
            found.append(UnderstoodSetting(given.key, given.text, f"{meaning}{why}{given.note}", given.source))
    return reads, found


# --- Transactions ---

TIMEOUT = "transaction.timeout.ms"
MOST_TIMEOUT = "transaction.max.timeout.ms"
LOG_REPLICAS = "transaction.state.log.replication.factor"
LOG_MIN_ISR = "transaction.state.log.min.isr"
VERIFICATION = "transaction.partition.verification.enable"
TRANSACTION_VERSION = "transaction.version"
_OF_BROKERS = (MOST_TIMEOUT, LOG_REPLICAS, LOG_MIN_ISR, VERIFICATION, TRANSACTION_VERSION)

_FIRST_WITH_TV2 = "4.0"


@dataclass(frozen=True)
class Transactions:
    """The generation of the model `transactions` for a cluster, and its configuration entries."""

    protocol: str
    values: Mapping[str, int]
    why_unsearched: str | None
    """The reason why there is no generation, or None."""
    why_none_begins: str | None
    """The reason why no transaction can begin, or None."""
    decisive: tuple[GivenSetting, ...]
    """The given settings that count."""
    understood: tuple[UnderstoodSetting, ...]
    assumed: str = ""
    """What is assumed of the cluster's features and of clients; empty if nothing is."""
    only_copy: str = ""
    """The setting with which a record of the coordinators' log can have one copy; empty if there are more."""

    @property
    def entries(self) -> dict[str, str]:
        """The generation as the entry `protocol`, and the other entries, as on the command line."""
        return {"protocol": self.protocol} | {name: Verification(value).name for name, value in self.values.items()}


def read_transactions(settings: Settings, versions: Versions) -> Transactions:
    """Return the transactions of a producer with a transactional.id. Raises PropertiesError if they are refused."""
    release = versions.release
    producers = RoleSettings(settings, release, Role.PRODUCER)
    brokers = RoleSettings(settings, release, Role.BROKER)
    lines = _timeout(producers, brokers)
    log_lines, why_none_begins = _transaction_log(brokers)
    lines += log_lines
    level, verifies = _transaction_version(brokers, versions), brokers.setting(VERIFICATION)
    has_tv2 = has_new_epochs(level.value)
    protocol = transactions_generation(release, level.value)
    values, why = {}, None
    if release.has("3.6"):
        if not verifies.value and has_tv2:
            why = f"{VERIFICATION}=false beside {TRANSACTION_VERSION}=2 is not modelled"
        elif not verifies.value:
            values["TXN_VERIFY"] = int(Verification.OFF)
        meaning = (
            "leaders ask the coordinator before the first append of a transaction"
            if verifies.value
            else "leaders append without asking the coordinator"
        )
        lines.append(brokers.line(VERIFICATION, verifies, meaning))
    if release.has(_FIRST_WITH_TV2):
        meaning = "every transaction ends with a new epoch" if has_tv2 else "transactions of a producer share an epoch"
        lines.append(brokers.line(TRANSACTION_VERSION, level, meaning))
    keys = ((producers, TIMEOUT), *((brokers, key) for key in _OF_BROKERS))
    decisive = tuple(given for role, key in keys if (given := role.given(key)))
    only_copy = next((f"{key}=1" for key in (LOG_REPLICAS, LOG_MIN_ISR) if brokers.setting(key).value == 1), "")
    assumed = ""
    if release.has(_FIRST_WITH_TV2):
        assumed = _assumed(level, has_tv2=has_tv2, is_given=brokers.given(TRANSACTION_VERSION) is not None)
    return Transactions(protocol, values, why, why_none_begins, decisive, tuple(lines), assumed, only_copy)


def _assumed(level: Setting[int], *, has_tv2: bool, is_given: bool) -> str:
    """Return what is assumed of transaction.version; only clients of 4.0 or newer use 2 (KIP-890)."""
    if not has_tv2:
        return "" if is_given else f"{TRANSACTION_VERSION}={level.value}, {level.source}"
    clients = f"clients of {_FIRST_WITH_TV2} or newer, without which {TRANSACTION_VERSION}=2 has no effect"
    return clients if is_given else f"{TRANSACTION_VERSION}=2, {level.source}; and {clients}"


def _timeout(producers: RoleSettings, brokers: RoleSettings) -> list[UnderstoodSetting]:
    """Return the time-out of transactions and its limit, if given. Raises PropertiesError if they are refused."""
    timeout, most = producers.setting(TIMEOUT), brokers.setting(MOST_TIMEOUT)
    given, limit = producers.given(TIMEOUT), brokers.given(MOST_TIMEOUT)
    if not 0 < timeout.value <= most.value:
        refused = given or limit
        assert refused is not None, "Kafka's own defaults agree"
        cure = f"write {TIMEOUT}={most.value} or less" if timeout.value else f"write {TIMEOUT}={most.value}"
        raise PropertiesError(
            f"{refused.source}: {refused.spelled}: a coordinator of Kafka {producers.release} refuses the producer "
            f"(INVALID_TRANSACTION_TIMEOUT), because {TIMEOUT}={timeout.value} is not between 1 and "
            f"{MOST_TIMEOUT}={most.value}; {cure}{', or raise ' + MOST_TIMEOUT if timeout.value else ''}"
        )
    lines = []
    if given:
        meaning = "a longer transaction is aborted; the model has no clock, and searches no such time-out"
        lines.append(producers.line(TIMEOUT, timeout, meaning))
    if limit:
        lines.append(brokers.line(MOST_TIMEOUT, most, f"the most that {TIMEOUT} may be"))
    return lines


def _transaction_log(brokers: RoleSettings) -> tuple[list[UnderstoodSetting], str | None]:
    """Return what is given about the coordinators' log, and the reason why nothing can be appended to it, or None."""
    replicas, least = brokers.setting(LOG_REPLICAS), brokers.setting(LOG_MIN_ISR)
    needed, why = least.value, None
    if needed > replicas.value and brokers.release.has("3.7"):
        needed = replicas.value
    if needed > replicas.value:
        why = f"{LOG_MIN_ISR}={needed} is more than {LOG_REPLICAS}={replicas.value}"
    lines = []
    if brokers.given(LOG_REPLICAS):
        meaning = "replicas of the coordinators' log, which is taken to lose nothing"
        lines.append(brokers.line(LOG_REPLICAS, replicas, meaning))
    if brokers.given(LOG_MIN_ISR):
        meaning = f"a step of a transaction needs {needed} of them in sync" + (": no transaction can begin" * bool(why))
        lines.append(brokers.line(LOG_MIN_ISR, least, meaning))
    return lines, why


def _transaction_version(brokers: RoleSettings, versions: Versions) -> Setting[int]:
    """Return the level of the feature `transaction.version`; new clusters have 2 since 4.0."""
    given = brokers.given(TRANSACTION_VERSION)
    if given:
        assert isinstance(given.value, int)
        return Setting(given.value, given.source)
    if not versions.release.has(_FIRST_WITH_TV2):
        return Setting(0, f"new in {_FIRST_WITH_TV2}")
    if versions.protocol.value.has(FIRST_TV2_BY_DEFAULT):
        return Setting(
            2, f"the default of a cluster created with {_FIRST_WITH_TV2}; give {TRANSACTION_VERSION}=0 if not"
        )
    return Setting(0, f"off with metadata.version {versions.protocol.value}; give {TRANSACTION_VERSION}=2 if it is on")
