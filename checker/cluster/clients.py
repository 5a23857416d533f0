"""The settings in effect for producers, consumers and transactions: defaults that depend on other settings, and
combinations that Kafka refuses.

KafkaProducer, ProducerConfig and the coordinator refuse these combinations.

A producer that is idempotent, or that has a transactional.id, needs acks=all, retries, and few requests in flight. If
idempotence is only the default (since 3.0.1, 3.1.1 and 3.2), a conflicting setting disables it; if a file requests it,
the client refuses the conflicting setting.

Other libraries have rules of their own (`libraries` names the sources). kafka-python since 3.0 has Kafka's rules since
3.0.1. librdkafka is idempotent only if a file requests it; it then sets what is not given, and refuses what conflicts.
Sarama sets nothing: it refuses an idempotent producer unless acks, retries and requests in flight are given, and it
allows only one request. In aiokafka, a transactional.id overrides enable_idempotence=False.

Two kinds of values of auto.offset.reset are not known to every release: `smallest` and `largest`, words of the old
Scala consumer, which 2.0 removed; and `by_duration:...`, which came with 4.0 (KIP-1106) and is not modelled.

The coordinator refuses a transaction.timeout.ms of 0 or less, or of more than the brokers' transaction.max.timeout.ms
(TransactionStateManager.validateTransactionTimeoutMs); it does not compare the time-out with delivery.timeout.ms. An
upgraded cluster is assumed to have transaction.version=0 as long as its metadata.version is older than 4.0.
The combination of transaction.partition.verification.enable=false and transaction.version=2 is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.cluster.generation import FIRST_TV2_BY_DEFAULT, has_new_epochs, transactions_generation
from isrcheck.checker.cluster.libraries import EXACTLY_ONCE_SOURCE, GUARANTEE, ClientLibrary
from isrcheck.checker.cluster.property_files import BY_DURATION, MOST, Layer, PropertiesError, Section
from isrcheck.checker.cluster.releases import Role, Version
from isrcheck.checker.cluster.settings import GivenSetting, RoleSettings, Setting, Settings, role_of
from isrcheck.checker.cluster.versions import Versions
from isrcheck.models.kafka.state.values import AutoOffsetReset, IsolationLevel, PositionCheck, UnknownProducer
from isrcheck.models.transactions.values import Verification

MOST_IN_FLIGHT = 5
"""The most requests in flight of an idempotent producer since Kafka 1.0; in 0.11 and in Sarama the limit is 1."""

ACKS = "acks"
RETRIES = "retries"
IN_FLIGHT = "max.in.flight.requests.per.connection"
IDEMPOTENCE = "enable.idempotence"
TRANSACTIONAL_ID = "transactional.id"
DELIVERY_TIMEOUT = "delivery.timeout.ms"


@dataclass(frozen=True)
class Producer:
    """The settings in effect for a producer, given or by default."""

    acks: Setting[str]
    retries: Setting[int]
    in_flight: Setting[int]
    is_idempotent: Setting[bool]
    has_transactions: bool
    numbering: Mapping[str, int]
    """The entries of the model that say how clients and brokers of this release handle sequence numbers."""
    understood: tuple[Setting[Any], ...]
    """The settings that the report shows."""
    library: ClientLibrary
    shown_by: str
    """The setting that shows the library, with its place; empty if no file shows one."""

    @property
    def defaults(self) -> tuple[Setting[Any], ...]:
        """The settings that affect the answer and have the default of the client, because no file gives them."""
        decide = {ACKS, IDEMPOTENCE, *(() if self.is_idempotent.value else (RETRIES, IN_FLIGHT))}
        return tuple(setting for setting in self.understood if setting.key in decide and setting.is_default)


def read_producer(settings: Settings, versions: Versions) -> Producer:
    """Return the settings in effect for the producers. Raises PropertiesError if Kafka refuses the settings."""
    rules = _Rules(settings, versions.release, Role.PRODUCER)
    rules.refuse_removed_guarantee()
    idempotence, wants = rules.idempotence()
    acks, retries = rules.derived(ACKS, "all", wants), rules.derived(RETRIES, MOST, wants)
    in_flight = rules.derived(IN_FLIGHT, min(rules.most_in_flight, rules.default(IN_FLIGHT).value), wants)
    identified = rules.given(TRANSACTIONAL_ID)
    searched = "two resends are" if idempotence.value else "one resend is"
    resends = f"a failed request is sent again ({searched} searched)"
    if not retries.value:
        resends = "a failed request is not sent again"
    elif acks.value == "0":
        resends = "with acks=0 the producer learns of no failure and resends nothing"
    requests = "one request" if in_flight.value == 1 else f"up to {in_flight.value} requests of a producer"
    understood: list[Setting[Any]] = [
        acks.means(_ACKS_MEAN[acks.value]),
        retries.means(resends),
        in_flight.means(f"{requests} at a time"),
    ]
    if rules.knows(IDEMPOTENCE):
        does = "recognises a resend by its sequence number" if idempotence.value else "appends a resend as a new record"
        understood.append(idempotence.means(f"a leader {does}"))
    if identified:
        understood.append(identified.in_effect.means("records belong to transactions"))
    understood += rules.delivery_timeout()
    return Producer(
        acks,
        retries,
        in_flight,
        idempotence,
        has_transactions=bool(identified),
        numbering=_numbering(versions.release),
        understood=tuple(understood),
        library=rules.library,
        shown_by=settings.library(Role.PRODUCER)[1],
    )


def weakest_clients(sections: Sequence[Section], versions: Versions) -> tuple[list[Section], tuple[str, ...]]:
    """Return the sections with only the weakest of the producers and the weakest of the consumers, and remarks that
    name the other clients. The Java clients that only property files describe count as one client. If no file shows a
    library, the sections stay as they are."""
    remarks: list[str] = []
    for role in (Role.PRODUCER, Role.CONSUMER):
        of_role = [part for part in sections if (part.role or role_of(part.properties, part.member)) is role]
        alone = [[part] for part in of_role if part.library is not None]
        shared = [part for part in of_role if part.library is None]
        clients = [*alone, *([shared] if shared else [])]
        if len(clients) < 2:
            continue
        others = [part for part in sections if part not in of_role]
        ranked = [(*_strength(role, Settings([*others, *client]), versions), client) for client in clients]
        (least, says, weakest), *stronger = sorted(ranked, key=lambda each: each[0])
        if any((strength, text) != (least, says) for strength, text, _ in stronger):
            of_others = "; ".join(f"{_members(client)}: {text}" for _, text, client in stronger[:MOST_NAMED])
            more = f"; and {len(stronger) - MOST_NAMED} more" if len(stronger) > MOST_NAMED else ""
            remarks.append(
                f"{_members(weakest)}: the answer is for this {role.value}, the weakest of {len(clients)} ({says});"
                f" the others are {of_others}{more}"
            )
        sections = [*others, *weakest]
    return list(sections), tuple(remarks)


def _members(client: Sequence[Section]) -> str:
    return ", ".join(part.member for part in client)


MOST_NAMED = 4
"""The most clients that a remark names other than the weakest."""


def _strength(role: Role, settings: Settings, versions: Versions) -> tuple[tuple[Any, ...], str]:
    """Return how strong a client's promises are, as a tuple to compare, and in words the settings that decide it."""
    if role is Role.CONSUMER:
        consumer = read_consumer(settings, versions)
        level = consumer.isolation_level
        return (level.value == "read_committed",), f"{level.key}={level.value}"
    producer = read_producer(settings, versions)
    acks, idempotence = producer.acks.value, producer.is_idempotent.value
    strength = (acks == "all", acks == "1", idempotence, -producer.retries.value, -producer.in_flight.value)
    described = f"acks={acks}, {IDEMPOTENCE}={str(idempotence).lower()}"
    if not idempotence:
        described += f", {RETRIES}={producer.retries.value}, {IN_FLIGHT}={producer.in_flight.value}"
    return (*strength, producer.has_transactions), described + (", transactions" if producer.has_transactions else "")


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


class _Rules(RoleSettings):
    """The settings of the producers, with the rules of their library on idempotence."""

    @property
    def most_in_flight(self) -> int:
        """The most requests in flight that an idempotent producer may have."""
        is_one = not self.release.has("1.0") if self.library.has_java_clients else self.library is ClientLibrary.SARAMA
        return 1 if is_one else MOST_IN_FLIGHT

    @property
    def gives_way(self) -> bool:
        """Whether idempotence is on by default, and a conflicting setting disables it."""
        is_repaired = not self.library.has_java_clients or self.release.has_repair(("3.0.1", "3.1.1", "3.2"))
        return is_repaired and self.knows(IDEMPOTENCE) and bool(self.default(IDEMPOTENCE).value)

    def refuse_removed_guarantee(self) -> None:
        """Raise PropertiesError for a processing.guarantee of Kafka Streams that 4.0 removed: exactly_once and
        exactly_once_beta (KAFKA-16331)."""
        given = self.given(IDEMPOTENCE)
        if given is None or self.library is not ClientLibrary.STREAMS or not self.release.has("4.0"):
            return
        name, _, guarantee = given.spelled.partition("=")
        if name.endswith(GUARANTEE) and guarantee != "exactly_once_v2":
            because = "4.0 removed this value (KAFKA-16331)"
            raise self._refusal(given, because, f"write {name}=exactly_once_v2, which Kafka Streams has since 3.0")

    def derived(self, key: str, needed: Any, wants: GivenSetting | None) -> Setting[Any]:
        """Return the given value of a key; else `needed`, if a setting (`wants`) requires it; else the default."""
        usual = self.setting(key)
        if wants is not None and self.adapts and needed != usual.value and self.given(key) is None:
            return Setting(needed, f"becomes {needed} because of {wants.spelled} in {wants.source}", key, str(needed))
        return usual

    def idempotence(self) -> tuple[Setting[bool], GivenSetting | None]:
        """Return whether the producer is idempotent, and the setting that requests idempotence, if any."""
        explicit, identified = self.given(IDEMPOTENCE), self.given(TRANSACTIONAL_ID)
        library, usual = self.library, self.default(IDEMPOTENCE)
        on = library.spelled(IDEMPOTENCE, "true")
        no_transactions = f"leave {_name_in_file(identified)} out" if identified else ""
        is_off = not explicit.value if explicit else library in (ClientLibrary.CONNECT, ClientLibrary.SARAMA)
        if identified and is_off and library is not ClientLibrary.AIOKAFKA:
            because = f"{identified.spelled} ({identified.source}) needs {on}"
            write = f"write {self._beside(identified, IDEMPOTENCE, 'true')}"
            raise self._refusal(explicit or identified, because, f"{write}, or {no_transactions}")
        if explicit and not explicit.value and not identified:
            return explicit.in_effect, None
        if not explicit and self.gives_way:
            return self._idempotence_by_default(identified), identified
        wants = identified if explicit is None or not explicit.value else explicit
        if wants is None:
            note = ", true, has no effect (KAFKA-13598)" if usual.value and self.release.has("3.0") else ""
            return _idempotence(False, usual.source + note), None
        for given, need, cure in self._obstacles():
            if wants is explicit:
                because, undo = (
                    f"{wants.spelled} ({wants.source})",
                    f"write {self._beside(wants, IDEMPOTENCE, 'false')}",
                )
                if library is ClientLibrary.STREAMS and wants.written:
                    undo = f"leave {wants.written} out"
                elif _name_in_file(wants) == EXACTLY_ONCE_SOURCE:  # Kafka Connect overrides enable.idempotence
                    undo = f"write {EXACTLY_ONCE_SOURCE}=disabled"
            else:
                because = f"{wants.spelled} ({wants.source}), which enables idempotence,"
                undo = no_transactions
            raise self._refusal(given, f"{because} needs {need}", f"{cure}, or {undo}", wants)
        if wants is explicit:
            return wants.in_effect, wants
        return _idempotence(True, f"becomes true because of {wants.spelled} in {wants.source}"), wants

    def _idempotence_by_default(self, identified: GivenSetting | None) -> Setting[bool]:
        """Return whether idempotence is on by default: a conflicting setting disables idempotence, or is an error if a
        transactional.id is given.

        Since 4.0 too many requests in flight are refused, even if another setting disables idempotence (KAFKA-17927).
        """
        usual = self.default(IDEMPOTENCE).source
        obstacles = list(self._obstacles())
        for given, need, cure in obstacles:
            if given.key == IN_FLIGHT and self.release.has("4.0") and self.library.has_java_clients:
                because = f"enable.idempotence=true ({usual}) needs {need}"
                undo = "" if identified else ", or write enable.idempotence=false"
                raise self._refusal(given, because, cure + undo)
        if not obstacles:
            return _idempotence(True, usual)
        given, _, cure = obstacles[0]
        if identified:
            because = f"it disables idempotence, which {identified.spelled} ({identified.source}) needs"
            raise self._refusal(given, because, f"{cure}, or leave {_name_in_file(identified)} out", identified)
        where = f"in {given.source}" if given.members else f"({given.source})"
        return _idempotence(False, f"disabled because of {given.spelled} {where}")

    def _obstacles(self) -> Iterator[tuple[GivenSetting, str, str]]:
        """Yield the settings that conflict with idempotence, each with what idempotence needs, and the cure."""
        retries, acks, in_flight = (self._stated(key) for key in (RETRIES, ACKS, IN_FLIGHT))
        if retries and retries.value == 0:
            is_in_file = bool(retries.members)  # and not the library's default
            cure = (
                f"leave {_name_in_file(retries)} out"
                if is_in_file
                else f"write {self.library.spelled(RETRIES, str(MOST))}"
            )
            yield retries, f"{self.named(RETRIES)} above 0", cure
        if acks and acks.value != "all":
            all_of_them = self.library.spelled(ACKS, "all")
            yield acks, all_of_them, f"write {self._beside(acks, ACKS, 'all')}"
        most = self.most_in_flight
        if in_flight and in_flight.value > most:
            need = self.library.spelled(IN_FLIGHT, "1") if most == 1 else f"{self.named(IN_FLIGHT)} of at most {most}"
            yield in_flight, need, f"write {self._beside(in_flight, IN_FLIGHT, str(most))}"

    def _stated(self, key: str) -> GivenSetting | None:
        """Return the given setting of a key. If the library does not adapt its own defaults to idempotence, they count
        as given: Sarama compares them, and Spring Cloud Stream and SmallRye hand them to the Java client."""
        usual, given = self.default(key), self.given(key)
        if given is not None or self.adapts or usual.source != self.default_of_library:
            return given
        written, places = self.library.spelled(key, usual.text), (usual.source,)
        return GivenSetting(self.role, key, usual.text, usual.value, places, self.role, Layer.FILE, (), written=written)

    @property
    def adapts(self) -> bool:
        """Whether the library adapts its own defaults to idempotence."""
        return self.library not in (ClientLibrary.SARAMA, ClientLibrary.BINDER, ClientLibrary.SMALLRYE)

    def _beside(self, given: GivenSetting, key: str, value: str) -> str:
        """Return a setting as the file of a given setting would have it, with the same prefix: producer.acks=all."""
        name = _name_in_file(given)
        prefix = name.removesuffix(given.key) if name.endswith(f".{given.key}") else ""
        return prefix + self.library.spelled(key, value)

    def named(self, key: str) -> str:
        """Return the library's own name of a key."""
        return self.library.spelled(key, "").removesuffix("=")

    def _refusal(
        self, given: GivenSetting, because: str, cure: str, wants: GivenSetting | None = None
    ) -> PropertiesError:
        """Return the error for a setting that is refused. A default of the library has no place in a file: its error is
        placed at `wants`, the setting with which it conflicts."""
        if wants is not None and not given.members:
            given = replace(given, places=wants.places, written=f"{given.spelled}, {given.source}")
        whose = f"Kafka {self.release}" if self.library is ClientLibrary.JAVA else self.library.value
        refuses = f"a producer of {whose} refuses to start with it"
        return PropertiesError(f"{given.source}: {given.spelled}: {refuses}, because {because}; {cure}")

    def delivery_timeout(self) -> Iterator[Setting[Any]]:
        """Yield delivery.timeout.ms (since 2.1) if it is given. Raises PropertiesError if it is too short for a Java
        client; other libraries accept any value."""
        given = self.given(DELIVERY_TIMEOUT)
        if given is None:
            return
        linger, request = (self.setting(key).value for key in ("linger.ms", "request.timeout.ms"))
        if self.library.has_java_clients and given.value < min(linger + request, MOST):
            because = f"it has to be at least linger.ms + request.timeout.ms, {linger} + {request}"
            raise self._refusal(given, because, f"write {DELIVERY_TIMEOUT}={linger + request} or more")
        yield given.in_effect.means(
            "limits the resends of a record; the model has no clock, so any resend can be the last"
        )


def _name_in_file(given: GivenSetting) -> str:
    """Return the key of a setting as its file has it: producer.acks."""
    return given.spelled.partition("=")[0]


def _idempotence(value: bool, source: str) -> Setting[bool]:
    return Setting(value, source, IDEMPOTENCE, str(value).lower())


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

_WORDS_OF_THE_OLD_CONSUMER = {"smallest": "earliest", "largest": "latest"}

CLIENT_KEYS = (
    *((Role.PRODUCER, key) for key in (ACKS, RETRIES, IN_FLIGHT, IDEMPOTENCE, TRANSACTIONAL_ID, DELIVERY_TIMEOUT)),
    *((Role.CONSUMER, key) for key in (ISOLATION_LEVEL, OFFSET_RESET, CLIENT_RACK)),
    (Role.BROKER, REPLICA_SELECTOR),
)
"""The keys on which the settings of a producer and of a consumer depend."""


@dataclass(frozen=True)
class Consumer:
    """The settings in effect for a consumer, given or by default."""

    isolation_level: Setting[str]
    offset_reset: Setting[str]
    reads_followers: bool
    is_given: bool
    """Whether the files give any setting of a consumer."""
    why_unsearched: str | None
    """The reason why the model cannot represent this consumer, or None."""
    release: Version
    understood: tuple[Setting[Any], ...]
    """The settings that the report shows."""

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
    """Return the settings in effect for the consumers. Raises PropertiesError if Kafka refuses the settings."""
    own = RoleSettings(settings, versions.release, Role.CONSUMER)
    is_given = any(setting.role is Role.CONSUMER and own.knows(setting.key) for setting in settings)
    level, reset = own.setting(ISOLATION_LEVEL), _offset_reset(own)
    understood = []
    if own.knows(ISOLATION_LEVEL):
        understood.append(level.means(_LEVEL_MEANS[level.value]))
    why = f"{OFFSET_RESET}={reset.value} is not modelled" if reset.value.startswith(BY_DURATION) else None
    if is_given:
        understood.append(reset.means(_RESET_MEANS.get(reset.value, "not modelled: consumers are not searched")))
    reads_followers, selectors = _reads_followers(settings, versions)
    return Consumer(level, reset, reads_followers, is_given, why, versions.release, (*understood, *selectors))


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
    policy, why = _WORDS_OF_THE_OLD_CONSUMER.get(setting.value, setting.value), ""
    if policy != setting.value and own.release.has("2.0"):
        why = f"only the old consumers before 2.0 knew that value; write {OFFSET_RESET}={policy}"
    elif setting.value.startswith(BY_DURATION) and not own.release.has("4.0"):
        why = f"{BY_DURATION} came with 4.0; write earliest, latest or none"
    if why:
        refuses = f"a consumer of Kafka {own.release} refuses to start with it"
        raise PropertiesError(f"{given.source}: {given.spelled}: {refuses}, because {why}")
    return replace(setting, value=policy)


def _reads_followers(settings: Settings, versions: Versions) -> tuple[bool, list[Setting[Any]]]:
    """Return whether consumers read from followers (KIP-392), and the settings that decide this."""
    selector = RoleSettings(settings, versions.release, Role.BROKER).given(REPLICA_SELECTOR)
    rack = RoleSettings(settings, versions.release, Role.CONSUMER).given(CLIENT_RACK)
    selects = selector is not None and selector.text != "" and not selector.text.endswith(".LeaderSelector")
    has_rack = rack is not None and rack.text != ""
    reads = selects and has_rack
    meaning = "consumers may read from followers" if reads else "consumers read from the leader"
    without_rack = "" if has_rack else f": no {CLIENT_RACK} is given"
    without_selector = "" if selects else f": no {REPLICA_SELECTOR} is given that selects followers"
    both = (selector, without_rack), (rack, without_selector)
    return reads, [given.in_effect.means(meaning + lacks) for given, lacks in both if given is not None]


# --- Transactions ---

TIMEOUT = "transaction.timeout.ms"
MOST_TIMEOUT = "transaction.max.timeout.ms"
LOG_REPLICAS = "transaction.state.log.replication.factor"
LOG_MIN_ISR = "transaction.state.log.min.isr"
VERIFICATION = "transaction.partition.verification.enable"
TRANSACTION_VERSION = "transaction.version"
BROKERS_KEYS_OF_TRANSACTIONS = (MOST_TIMEOUT, LOG_REPLICAS, LOG_MIN_ISR, VERIFICATION, TRANSACTION_VERSION)
_FIRST_WITH_TV2 = "4.0"


@dataclass(frozen=True)
class Transactions:
    """The configuration with which the model `transactions` is searched for a cluster, and the settings behind it."""

    entries: Mapping[str, str]
    """The model's configuration entries by name, as text; among them the generation, as `protocol`."""
    why_unsearched: str | None
    """The reason why no generation of the model fits the cluster, or None."""
    why_none_begins: str | None
    """The reason why no transaction can begin, or None."""
    decisive: tuple[GivenSetting, ...]
    """The given settings that affect the answer."""
    understood: tuple[Setting[Any], ...]
    """The settings that the report shows."""
    assumed: str = ""
    """What is assumed of the cluster's features and of clients; empty if nothing is."""
    only_copy: str = ""
    """The setting that lets a record of the coordinators' log have only one copy; empty if no setting does."""


def read_transactions(settings: Settings, versions: Versions) -> Transactions:
    """Return the configuration for the model `transactions`. Raises PropertiesError if Kafka refuses a setting."""
    release = versions.release
    producers, brokers = (RoleSettings(settings, release, role) for role in (Role.PRODUCER, Role.BROKER))
    timeouts, (log, why_none_begins) = _timeout(producers, brokers), _transaction_log(brokers)
    understood = [*timeouts, *log]
    level, verifies = _transaction_version(brokers, versions), brokers.setting(VERIFICATION)
    has_tv2 = has_new_epochs(level.value)
    entries, why = {"protocol": transactions_generation(release, level.value)}, None
    if release.has("3.6"):
        if not verifies.value and has_tv2:
            why = f"{VERIFICATION}=false beside {TRANSACTION_VERSION}=2 is not modelled"
        elif not verifies.value:
            entries["TXN_VERIFY"] = Verification.OFF.name
        asks = "leaders ask the coordinator before the first append of a transaction"
        understood.append(verifies.means(asks if verifies.value else "leaders append without asking the coordinator"))
    assumed = ""
    if release.has(_FIRST_WITH_TV2):
        meaning = "every transaction ends with a new epoch" if has_tv2 else "transactions of a producer share an epoch"
        understood.append(level.means(meaning))
        assumed = _assumed(level, has_tv2=has_tv2, is_given=brokers.given(TRANSACTION_VERSION) is not None)
    keys = ((producers, TIMEOUT), *((brokers, key) for key in BROKERS_KEYS_OF_TRANSACTIONS))
    decisive = tuple(given for role, key in keys if (given := role.given(key)))
    only_copy = next((f"{key}=1" for key in (LOG_REPLICAS, LOG_MIN_ISR) if brokers.setting(key).value == 1), "")
    return Transactions(entries, why, why_none_begins, decisive, tuple(understood), assumed, only_copy)


def _assumed(level: Setting[int], *, has_tv2: bool, is_given: bool) -> str:
    """Return as text what is assumed: transaction.version, unless given; for version 2, clients since 4.0 (KIP-890)."""
    if not has_tv2:
        return "" if is_given else f"{TRANSACTION_VERSION}={level.value}, {level.source}"
    clients = f"clients of {_FIRST_WITH_TV2} or newer, without which {TRANSACTION_VERSION}=2 has no effect"
    return clients if is_given else f"{TRANSACTION_VERSION}=2, {level.source}; and {clients}"


def _timeout(producers: RoleSettings, brokers: RoleSettings) -> Iterator[Setting[Any]]:
    """Yield transaction.timeout.ms and its limit, each if given. Raises PropertiesError for a forbidden time-out."""
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
    if given:
        yield timeout.means("a longer transaction is aborted; the model has no clock, and searches no such time-out")
    if limit:
        yield most.means(f"the most that {TIMEOUT} may be")


def _transaction_log(brokers: RoleSettings) -> tuple[list[Setting[Any]], str | None]:
    """Return the given settings of __transaction_state, and why it accepts no records; None if it accepts them."""
    replicas, least = brokers.setting(LOG_REPLICAS), brokers.setting(LOG_MIN_ISR)
    needed = min(least.value, replicas.value) if brokers.release.has("3.7") else least.value
    why = f"{LOG_MIN_ISR}={needed} is more than {LOG_REPLICAS}={replicas.value}" if needed > replicas.value else None
    understood = []
    if brokers.given(LOG_REPLICAS):
        understood.append(replicas.means("replicas of the coordinators' log, which is assumed to lose nothing"))
    if brokers.given(LOG_MIN_ISR):
        none_begins = ": no transaction can begin" if why else ""
        understood.append(least.means(f"a step of a transaction needs {needed} of them in sync{none_begins}"))
    return understood, why


def _transaction_version(brokers: RoleSettings, versions: Versions) -> Setting[int]:
    if given := brokers.given(TRANSACTION_VERSION):
        return given.in_effect
    level, source = 0, f"off with metadata.version {versions.protocol.value}; give {TRANSACTION_VERSION}=2 if it is on"
    if not versions.release.has(_FIRST_WITH_TV2):
        source = f"new in {_FIRST_WITH_TV2}"
    elif versions.protocol.value.has(FIRST_TV2_BY_DEFAULT):
        level = 2
        source = f"the default of a cluster created with {_FIRST_WITH_TV2}; give {TRANSACTION_VERSION}=0 if not"
    return Setting(level, source, TRANSACTION_VERSION, str(level))
