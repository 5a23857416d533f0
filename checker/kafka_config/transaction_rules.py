"""The settings in effect for transactions, and the generation of the model `transactions` that stands for them.

In:  `Settings`, and the version of Kafka.
Out: `Transactions`, or a PropertiesError if the coordinator refuses the producer.

The coordinator refuses a transaction.timeout.ms that is not above 0, or above the brokers' transaction.max.timeout.ms
(TransactionStateManager.validateTransactionTimeoutMs). It is not compared with delivery.timeout.ms.
An upgraded cluster is taken to have transaction.version=0 as long as its metadata.version is older than 4.0.
transaction.partition.verification.enable=false beside transaction.version=2 is not searched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.checker.kafka_config.kraft_rules import FIRST_TV2_BY_DEFAULT, has_new_epochs, transactions_generation
from isrcheck.checker.kafka_config.versions import Versions
from isrcheck.checker.kafka_settings.cluster_settings import GivenSetting, Setting, Settings, UnderstoodSetting
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.kafka_settings.properties_file import PropertiesError
from isrcheck.checker.kafka_settings.role_settings import RoleSettings
from isrcheck.models.transactions.values import Verification

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
    """The generation of the model `transactions` for a cluster, and its configuration entries.

    If `why_unsearched` is not None, it is the reason why there is no generation. `why_none_begins` is the reason why no
    transaction can begin, if there is one. `decisive` are the given settings that count. `assumed` says what is assumed
    of the cluster's features and of clients; empty if nothing is. `only_copy` is the setting with which a record of the
    coordinators' log can have one copy; empty if there are more.
    """

    protocol: str
    values: Mapping[str, int]
    why_unsearched: str | None
    why_none_begins: str | None
    decisive: tuple[GivenSetting, ...]
    understood: tuple[UnderstoodSetting, ...]
    assumed: str = ""
    only_copy: str = ""


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
    assumed = ""
    if release.has(_FIRST_WITH_TV2):
        assumed = _assumed(level, has_tv2=has_tv2, is_given=brokers.given(TRANSACTION_VERSION) is not None)
    return Transactions(protocol, values, why, why_none_begins, decisive, tuple(lines), assumed, _only_copy(brokers))


def _only_copy(brokers: RoleSettings) -> str:
    found = (f"{key}=1" for key in (LOG_REPLICAS, LOG_MIN_ISR) if brokers.setting(key).value == 1)
    return next(found, "")


def _assumed(level: Setting[int], *, has_tv2: bool, is_given: bool) -> str:
    """Return what is assumed of transaction.version; only clients of 4.0 or newer use 2 (KIP-890)."""
    if not has_tv2:
        return "" if is_given else f"{TRANSACTION_VERSION}={level.value}, {level.source}"
    clients = f"clients of {_FIRST_WITH_TV2} or newer, without which {TRANSACTION_VERSION}=2 has no effect"
    return clients if is_given else f"{TRANSACTION_VERSION}=2, {level.source}; and {clients}"


def spelled(values: Mapping[str, int]) -> dict[str, str]:
    """Return the entries of `Transactions.values` as on the command line."""
    return {name: Verification(value).name for name, value in values.items()}


def _timeout(producers: RoleSettings, brokers: RoleSettings) -> list[UnderstoodSetting]:
    """Return the time-out of transactions and its limit, if given. Raises PropertiesError if they are refused."""
    timeout, most = producers.setting(TIMEOUT), brokers.setting(MOST_TIMEOUT)
    given, limit = producers.given(TIMEOUT), brokers.given(MOST_TIMEOUT)
    if not 0 < timeout.value <= most.value:
        found = given or limit
        assert found is not None, "Kafka's own defaults agree"
        cure = f"write {TIMEOUT}={most.value} or less" if timeout.value else f"write {TIMEOUT}={most.value}"
        raise PropertiesError(
            f"{found.source}: {found.spelled}: a coordinator of Kafka {producers.release} refuses the producer "
            f"(INVALID_TRANSACTION_TIMEOUT), because {TIMEOUT}={timeout.value} is not between 1 and "
            f"{MOST_TIMEOUT}={most.value}; {cure}{', or raise ' + MOST_TIMEOUT if timeout.value else ''}"
        )
    found_lines = []
    if given:
        meaning = "a longer transaction is aborted; the model has no clock, and searches no such time-out"
        found_lines.append(producers.line(TIMEOUT, timeout, meaning))
    if limit:
        found_lines.append(brokers.line(MOST_TIMEOUT, most, f"the most that {TIMEOUT} may be"))
    return found_lines


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
