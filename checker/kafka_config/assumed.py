"""What an answer assumes because the files do not say it: nothing is assumed in silence.

In:  what was read of a cluster.
Out: a line for each group of assumptions, with what to give instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from isrcheck.checker.kafka_config.generation import Generation
from isrcheck.checker.kafka_config.least_isr import LeastIsr
from isrcheck.checker.kafka_config.producer_rules import Producer
from isrcheck.checker.kafka_config.transaction_rules import Transactions
from isrcheck.checker.kafka_config.versions import Versions
from isrcheck.checker.kafka_settings.cluster_settings import Settings, UnderstoodSetting
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.kafka_settings.releases import UNRELEASED

_ELR = (
    "eligible leader replicas, which a cluster has that was created with 4.1 or newer, or upgraded with kafka-features"
    " upgrade --release-version; give the output of kafka-features describe, or eligible.leader.replicas.version=0 in a"
    " broker's file if they are off"
)
_UNRELEASED = f"Kafka {UNRELEASED} as its source was in August 2026, before its release"
_BY_HAND = (
    "somebody who elects uncleanly by hand (kafka-leader-election): KRaft controllers act on"
    " unclean.leader.election.enable=true since 3.9 (KAFKA-12670)"
)


def assumptions(
    settings: Settings,
    versions: Versions,
    generation: Generation,
    least: LeastIsr,
    producer: Producer,
    transactions: Transactions | None,
    of_brokers: tuple[UnderstoodSetting, ...],
) -> Iterator[str]:
    """Yield the lines. `of_brokers` are the settings beside min.insync.replicas that a broker's file may give."""
    if versions.assumed:
        yield versions.assumed
    if versions.doubt:
        yield versions.doubt
    if versions.release.release_name == UNRELEASED:
        yield _UNRELEASED
    if generation.assumes_elr:
        yield _ELR
    if least.assumed:
        yield least.assumed
    if settings.brokers_alone and not settings.controllers:
        values = " and ".join(f"{one.key}={one.value}" for one in of_brokers)
        yield f"controllers with {values}, on which they act, and not brokers; give a controller's file"
    is_unclean = any((one.key, one.value) == ("unclean.leader.election.enable", "true") for one in of_brokers)
    if is_unclean and versions.has_kraft and not versions.release.has("3.9"):
        yield _BY_HAND
    if transactions and transactions.assumed:
        yield transactions.assumed
    yield _clients(versions, producer)
    if lacking := list(_defaults(settings, least, of_brokers)):
        yield f"Kafka's defaults of {' and of '.join(lacking)}"


def _clients(versions: Versions, producer: Producer) -> str:
    """Say which clients are meant: their files do not tell their release, and other clients have other defaults."""
    kind = f"producers are Java clients of Kafka {versions.release}"
    defaults = ", ".join(f"{one.key}={one.value}" for one in producer.defaults)
    return f"{kind}, by default with {defaults} (--producer FILE)" if defaults else kind


def _defaults(settings: Settings, least: LeastIsr, of_brokers: tuple[UnderstoodSetting, ...]) -> Iterator[str]:
    """Yield whose files are not there, with the defaults that are taken for them."""
    has_topic, has_brokers = (settings.has_members(role) for role in (Role.TOPIC, Role.BROKER))
    is_default = least.used is None and not least.why_not_the_brokers and not least.assumed
    minimum = f"{least.line.key}={least.line.value}" if is_default else ""
    if not has_topic:
        yield f"the topic ({minimum if minimum and not has_brokers else 'no settings of its own'}; --topic FILE)"
    if not has_brokers:
        values = [minimum] if minimum and has_topic else []
        values += [f"{one.key}={one.value}" for one in of_brokers if one.is_default]
        yield f"brokers ({', '.join(values) or 'no other settings'}; --broker FILE)"
