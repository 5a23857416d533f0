"""What a KRaft cluster does in each release and at each feature level: the table of all of them, from 3.3 to 4.5.

In:  the release of the brokers, their metadata.version, and whether the controllers keep eligible leader replicas (ELR,
     KIP-966).
Out: the generation of the model `kafka`, with the switches in which the cluster differs from it; the generation of the
     model `transactions`; and the metadata versions that allow a feature, and that enable it in new clusters.

A release has the generation of the last release before it that replicates otherwise. What does not depend on the
release alone is a row of _RULES: a repair in several branches, a metadata.version, or a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isrcheck.checker.kafka_settings.releases import Version

OLDEST_KRAFT = "3.3"
_GENERATIONS = ("4.3", "4.1", "4.0", "3.7", "3.5", OLDEST_KRAFT)
"""The generations with KRaft, newest first, each named after its first release."""

FIRST_ELR, FIRST_ELR_BY_DEFAULT = "4.0-IV1", "4.1-IV0"
"""The metadata versions that allow eligible leader replicas, and that enable them in new clusters
(EligibleLeaderReplicasVersion). An upgrade enables them if it raises every feature (kafka-features upgrade
--release-version), and leaves them off if it raises metadata.version alone (--metadata)."""

FIRST_TV2_BY_DEFAULT = "4.0-IV2"
"""The metadata version that enables transaction.version=2 in new clusters; none is needed to allow it
(TransactionVersion)."""

RESPONSE_EPOCH_MATCHED_SINCE = ("3.9.1", "4.0.1", "4.1")
"""The first release of each branch in which a fetch response of another epoch is dropped (KAFKA-18991)."""

_NEW_EPOCHS = 2
"""The transaction.version with which every transaction ends with a new epoch (KIP-890)."""

_TRANSACTIONS_OF_NEW_EPOCHS = (("4.4", "4.4"), ("4.3", "4.3"), ("4.2", "4.2"), ("4.0.1", "4.1"), ("4.0", "4.0"))
_TRANSACTIONS = (("3.8", "3.8"), ("3.7", "3.7"), ("3.6", "3.6"), ("2.5", "2.5"), ("0.11.0", "0.11"))
"""The first release of each generation of the model `transactions`, newest first. A fence raises the epoch twice in
4.0.0 only (KAFKA-19367)."""


@dataclass(frozen=True)
class _Rule:
    """A switch, its values without and with the rule, the first generation that has the rule, and whether a cluster
    has it: by its release, its metadata.version, and whether it has ELR."""

    switch: str
    values: tuple[str, str]
    first_generation: str
    is_kept: Callable[[Version, Version, bool], bool]


_RULES = (
    # A fetch carries the broker's epoch (KIP-903).
    _Rule("BROKER_STATE_CHECK", ("FENCED", "BROKER_EPOCH"), "3.5", lambda _, metadata, __: metadata.has("3.5-IV1")),
    # A smaller ISR begins no new leader epoch (KAFKA-15021).
    _Rule("EPOCH_BUMP_ON_SHRINK", ("on", "off"), "3.7", lambda _, metadata, __: metadata.has("3.6-IV0")),
    _Rule(
        "RESPONSE_EPOCH_MATCHED",
        ("off", "on"),
        "4.0",
        lambda release, _, __: release.has_repair(RESPONSE_EPOCH_MATCHED_SINCE),
    ),
    # Off after an upgrade of metadata.version alone; in 4.0 on only if somebody has turned it on.
    _Rule("ELR", ("off", "on"), "4.1", lambda _, __, has_elr: has_elr),
)


def kraft_generation(release: Version, metadata: Version, *, has_elr: bool) -> tuple[str, Mapping[str, str]]:
    """Return the generation of a cluster, and the switches in which it differs from it."""
    protocol = next((one for one in _GENERATIONS if release.has(one)), OLDEST_KRAFT)
    switches = {}
    for rule in _RULES:
        is_kept = rule.is_kept(release, metadata, has_elr)
        is_of_generation = _GENERATIONS.index(protocol) <= _GENERATIONS.index(rule.first_generation)
        if is_kept != is_of_generation:
            switches[rule.switch] = rule.values[is_kept]
    return protocol, switches


def transactions_generation(release: Version, level: int) -> str:
    """Return the generation of the model `transactions`, also for a release with ZooKeeper; `level` is the level of
    transaction.version. 1 changes only how the coordinator's records are written."""
    generations = _TRANSACTIONS_OF_NEW_EPOCHS if has_new_epochs(level) else _TRANSACTIONS
    return next((one for first, one in generations if release.has_patch(first)), generations[-1][1])


def has_new_epochs(level: int) -> bool:
    """Whether every transaction ends with a new epoch at this level of transaction.version."""
    return level >= _NEW_EPOCHS
