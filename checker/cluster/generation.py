"""Determines the modelled generation of a cluster's replication protocol, and how the cluster differs from it.

If a cluster is not modelled, only the nearest generation can be searched. The model `transactions` has generations of
its own.

A release without a patch number means its first patch: 2.0 is 2.0.0. A KRaft release (3.3 to 4.5) that changed
replication has its own generation; any other has the generation of the last release before it that changed replication.
Some behaviour depends on more than the release: on a repair in several branches, on metadata.version, or on a feature.
With KRaft, each such behaviour is an entry of _RULES.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isrcheck.checker.cluster.property_files import Layer, PropertiesError
from isrcheck.checker.cluster.releases import UNRELEASED, Role, Version, version_of_binaries
from isrcheck.checker.cluster.settings import GivenSetting, Setting, Settings
from isrcheck.checker.cluster.versions import ELR_VERSION, FIRST_PRODUCTION_KRAFT, Versions

OLDEST_KRAFT = "3.3"
_GENERATIONS = ("4.3", "4.1", "4.0", "3.7", "3.5", OLDEST_KRAFT)
"""The generations with KRaft, newest first, each named after its first release."""

FIRST_ELR, FIRST_ELR_BY_DEFAULT = "4.0-IV1", "4.1-IV0"
"""The metadata versions that allow eligible leader replicas, and that enable them in new clusters
(EligibleLeaderReplicasVersion). An upgrade enables them if it raises every feature (kafka-features upgrade
--release-version), and leaves them off if it raises metadata.version alone (--metadata)."""

FIRST_TV2_BY_DEFAULT = "4.0-IV2"
"""The metadata version that enables transaction.version=2 in new clusters; no metadata version is needed to allow it
(TransactionVersion)."""

RESPONSE_EPOCH_MATCHED_SINCE = ("3.9.1", "4.0.1", "4.1")
"""The first release of each branch in which a fetch response of another epoch is dropped (KAFKA-18991)."""

_TRANSACTIONS_OF_NEW_EPOCHS = (("4.4", "4.4"), ("4.3", "4.3"), ("4.2", "4.2"), ("4.0.1", "4.1"), ("4.0", "4.0"))
_TRANSACTIONS = (("3.8", "3.8"), ("3.7", "3.7"), ("3.6", "3.6"), ("2.5", "2.5"), ("0.11.0", "0.11"))
"""The first release of each generation of the model `transactions`, newest first. 4.0.0 has a generation of its own:
only there does fencing a producer raise its epoch twice (KAFKA-19367)."""


@dataclass(frozen=True)
class _Rule:
    """A rule of the replication protocol in which a cluster can differ from its generation."""

    switch: str
    values: tuple[str, str]
    """The values of the switch without and with the rule."""
    first_generation: str
    """The first generation that has the rule."""
    feature: str = ""
    """The rule in words, with what turns it on, if an upgrade of the binaries alone does not; else empty."""


_RULES = (
    _Rule(
        "BROKER_STATE_CHECK",
        ("FENCED", "BROKER_EPOCH"),
        "3.5",
        "a fetch carries the broker's epoch (KIP-903): needs metadata.version 3.5-IV1",
    ),
    _Rule(
        "EPOCH_BUMP_ON_SHRINK",
        ("on", "off"),
        "3.7",
        "a smaller ISR begins no new leader epoch (KAFKA-15021): needs metadata.version 3.6-IV0",
    ),
    _Rule("RESPONSE_EPOCH_MATCHED", ("off", "on"), "4.0"),
    _Rule(
        "ELR",
        ("off", "on"),
        "4.1",
        f"eligible leader replicas (KIP-966): need metadata.version {FIRST_ELR} and {ELR_VERSION[1]}=1, which"
        " kafka-features upgrade --release-version raises together",
    ),
)

_TOPIC_FORMAT = (Role.TOPIC, "message.format.version")
_BROKER_FORMAT = (Role.BROKER, "log.message.format.version")

# The first release of each generation with ZooKeeper; from 2.7 on, the inter-broker protocol may choose 2.8 instead.
_WITH_ZOOKEEPER = (("2.4", "2.4"), ("2.1", "2.1"), ("2.0", "2.0"), ("0.11.0", "0.11"), ("0.9.0", "0.10"))

_ALTER_PARTITION = "2.7-IV2"
"""The first inter-broker protocol with which leaders ask the controller to change the ISR (KIP-497)."""

# How followers truncate, oldest first: the switch, the first inter-broker protocol, the generations, and in words.
_TRUNCATIONS = (
    ("HW", "0.8.0", ("0.8", "0.10"), "followers truncate to the high watermark"),
    ("KIP101", "0.11.0-IV2", ("0.11",), "followers reconcile by leader epochs as in 0.11 (KIP-101)"),
    ("KIP279", "2.0-IV0", ("2.0",), "followers reconcile by leader epochs as in 2.0 (KIP-279), without fencing"),
    ("KIP320", "2.1-IV2", ("2.1", "2.4"), ""),
)

# 2.0.1 has most fixes of 2.1 (KAFKA-7128, KAFKA-7164, KAFKA-7414, KAFKA-7415), but no fencing.
_OF_2_0_1 = {
    "EPOCH_AT_BECOME_LEADER": "on",
    "EPOCH_CACHE_ASSIGN": "REPLACE_CONFLICTING",
    "EPOCH_BELOW_FIRST_ENTRY": "FIRST_START_OFFSET",
    "EXPAND_EPOCH_START": "on",
    "FOLLOWER_SKIP": "SAME_LEADER_NEXT_EPOCH",
    "OUT_OF_RANGE_HALTS": "off",
}

# Releases whose patch number matters for the model, or for the defaults of a producer.
_PATCH_MATTERS = ("2.0", "2.8", "3.0", "3.1", "3.9", "4.0")

_Reading = tuple[str, dict[str, str], str | None]
"""A generation, the switches in which a cluster differs from it, and the reason why the cluster is not modelled."""


@dataclass(frozen=True)
class Generation:
    """The modelled generation of a cluster, and how the cluster differs from it."""

    protocol: str
    """The generation; the nearest one if the cluster is not modelled."""
    switches: Mapping[str, str]
    """The switches in which the cluster differs, with their values as on the command line."""
    why_undecided: str | None
    """The reason why the cluster is not modelled, or None."""
    taken: str = field(default="", compare=False)
    """Which generation was taken, and why, in one line."""
    has_elr: bool = field(default=False, compare=False)
    """Whether the controllers keep eligible leader replicas."""
    assumes_elr: bool = field(default=False, compare=False)
    """Whether eligible leader replicas are only assumed, because nothing in the files shows them."""


def features_off(generation: Generation) -> list[str]:
    """Return the rules of a generation, in words, that a cluster lacks until its features are raised."""
    return [
        rule.feature for rule in _RULES if rule.feature and generation.switches.get(rule.switch) == rule.values[False]
    ]


def read_generation(
    settings: Settings,
    versions: Versions,
    eligible_replicas: str | None = None,
    before: Versions | None = None,
) -> tuple[Generation, list[Setting[Any]]]:
    """Return the generation, and the settings that determine it. `eligible_replicas` is the place in the `--describe`
    output that names eligible leader replicas, or None. If the brokers have got another release, `before` has their
    versions before: they decide whether controllers keep eligible leader replicas. Raises PropertiesError if settings
    contradict each other."""
    release = versions.release
    elr = _elr(settings, before or versions, eligible_replicas) if versions.has_kraft else Setting(False, "")
    assumes_elr = elr.value and not eligible_replicas and settings.get(*ELR_VERSION) is None
    if versions.has_kraft:
        (protocol, switches, why), differs = _with_kraft(versions, has_elr=elr.value), ""
    else:
        (protocol, switches, why), differs = _with_zookeeper(versions)
    if versions.migration:
        why = f"{versions.migration.spelled} ({versions.migration.source}): a migration to KRaft is not modelled"
    meaning = "not modelled; the nearest generation is" if why else "the replication protocol is"
    patch = f"; taken as {release.text}.0" if release.text in _PATCH_MATTERS else ""
    agreed: Setting[Any] = versions.protocol
    understood = [
        Setting(release, versions.binaries.source, "Kafka version", release.text, f"decides the defaults{patch}"),
        replace(agreed, key=versions.protocol_key, text=agreed.value.text, meaning=f"{meaning} {protocol}{differs}"),
    ]
    keys, _ = format_keys(settings, versions)
    record_format = settings.first(keys)
    if record_format is not None:
        has_epochs = _record_version(record_format.value) == 2
        is_old = not has_epochs and release.has("0.11.0")
        lacks = ": followers truncate to the high watermark" if is_old else ", which came with 0.11"
        says = "records have leader epochs" if has_epochs else f"records have no leader epochs{lacks}"
        understood.append(record_format.in_effect.means(says))
        if is_old and protocol == "2.8":
            why = why or f"{record_format.spelled}: truncation on fetch without leader epochs is not modelled"
        elif is_old and switches.get("TRUNC") != "HW":
            switches["TRUNC"] = "HW"
            why = why or _why_inexact(record_format, release)
    taken = _taken(protocol, switches, versions, elr)
    return Generation(protocol, switches, why, taken, elr.value, assumes_elr), understood


def _taken(protocol: str, switches: Mapping[str, str], versions: Versions, elr: Setting[bool]) -> str:
    """Return which generation is taken, and why, in one line."""
    marked = of_elr = ""
    if _is_newer_than_modelled(versions):
        marked = ", the newest one modelled,"
    elif _is_kraft_preview(versions):
        marked = ", the oldest KRaft modelled,"
    if versions.has_kraft and versions.release.has(FIRST_ELR):
        of_elr = f", {'with' if elr.value else 'without'} eligible leader replicas ({elr.source})"
    differs = ", ".join(f"{name}={value}" for name, value in switches.items())
    return (
        f"Generation {protocol}{marked} is taken{f' with {differs}' if differs else ''}: "
        f"Kafka {versions.release} ({versions.binaries.source}) with {versions.mode.value.value} "
        f"({versions.mode.source}){of_elr}"
    )


# --- ZooKeeper --------------------------------------------------------------------------------------------------------


def _with_zookeeper(versions: Versions) -> tuple[_Reading, str]:
    """Return the `_Reading` for a cluster with ZooKeeper, and a text that says how it differs from the generation."""
    release, agreed = versions.release, versions.protocol.value
    if release.has("2.7") and agreed.has(_ALTER_PARTITION):
        differs = "" if release.has("2.8") else ", but followers truncate before they fetch"
        return ("2.8", _switches_of_2_8(release), None), differs
    protocol = next((generation for first, generation in _WITH_ZOOKEEPER if release.has(first)), "0.8")
    switches: dict[str, str] = {}
    differs, why = "", None
    if protocol == "2.0" and release.has_patch("2.0.1"):
        switches |= _OF_2_0_1
        differs = ", with the fixes of 2.0.1 (KAFKA-7128, KAFKA-7164, KAFKA-7414, KAFKA-7415)"
    if release.has("2.7"):
        switches["EPOCH_ENTRY_AT_END_DROPPED"] = "on"
        differs = f", in which leaders write the ISR themselves before {_ALTER_PARTITION}"
    if release.has("3.7"):
        switches["HW_MINISR_GATE"] = "on"
    if release.has("2.8") and agreed.has("2.7-IV1"):
        why = f"inter.broker.protocol.version {agreed}, truncation on fetch without AlterPartition, is not modelled"
    own = next(number for number, (*_, protocols, _) in enumerate(_TRUNCATIONS) if protocol in protocols)
    newest = max(number for number, (_, first, *_) in enumerate(_TRUNCATIONS) if agreed.has(first))
    if newest < own:
        switches["TRUNC"], _, _, in_words = _TRUNCATIONS[newest]
        differs += f", but {in_words}"
    return (protocol, switches, why), differs


def _switches_of_2_8(release: Version) -> dict[str, str]:
    """Return the switches in which a release from 2.7 to 3.9 with ZooKeeper differs from 2.8."""
    switches = {}
    if release.has("2.8") and not release.has_patch("2.8.1"):
        switches["DIVERGING_RESP_UPDATES_STATE"] = "on"  # KAFKA-13141
    if release.has("3.5") or not release.has("2.8"):
        switches["HW_FROM_DIVERGING_RESP"] = "off"  # KAFKA-14704; followers of 2.7 receive no such response
    if release.has("3.7"):
        switches["HW_MINISR_GATE"] = "on"  # KAFKA-15583
    if release.has_repair(RESPONSE_EPOCH_MATCHED_SINCE):
        switches["RESPONSE_EPOCH_MATCHED"] = "on"
    return switches


# --- KRaft ------------------------------------------------------------------------------------------------------------


def _is_newer_than_modelled(versions: Versions) -> bool:
    return versions.release.is_newer_than(version_of_binaries(UNRELEASED))


def _is_kraft_preview(versions: Versions) -> bool:
    return versions.has_kraft and not versions.release.has(FIRST_PRODUCTION_KRAFT)


def _with_kraft(versions: Versions, *, has_elr: bool) -> _Reading:
    release, metadata = versions.release, versions.protocol.value
    why = None
    if _is_newer_than_modelled(versions):
        why = f"the replication protocol of Kafka {release} is not modelled yet; {UNRELEASED} is the newest that is"
    elif _is_kraft_preview(versions):
        why = f"KRaft was a preview in Kafka {release}; {OLDEST_KRAFT} is the oldest KRaft that is modelled"
    protocol = next((generation for generation in _GENERATIONS if release.has(generation)), OLDEST_KRAFT)
    has_rule = {
        "BROKER_STATE_CHECK": metadata.has("3.5-IV1"),
        "EPOCH_BUMP_ON_SHRINK": metadata.has("3.6-IV0"),
        "RESPONSE_EPOCH_MATCHED": release.has_repair(RESPONSE_EPOCH_MATCHED_SINCE),
        "ELR": has_elr,
    }
    switches = {}
    for rule in _RULES:
        is_of_generation = _GENERATIONS.index(protocol) <= _GENERATIONS.index(rule.first_generation)
        if has_rule[rule.switch] != is_of_generation:
            switches[rule.switch] = rule.values[has_rule[rule.switch]]
    return protocol, switches, why


def _elr(settings: Settings, versions: Versions, eligible_replicas: str | None) -> Setting[bool]:
    """Return whether controllers keep eligible leader replicas, and why. Raises PropertiesError for conflicts."""
    given, metadata = settings.get(*ELR_VERSION), versions.protocol
    if not metadata.value.has(FIRST_ELR):
        is_older = f"{FIRST_ELR} or newer, but it is {metadata.value} ({metadata.source}); correct one of them"
        if given and given.value:
            raise PropertiesError(f"{given.source}: {given.spelled} needs metadata.version {is_older}")
        if eligible_replicas:
            raise PropertiesError(f"{eligible_replicas}: Elr names replicas, which needs metadata.version {is_older}")
    if eligible_replicas and given and not given.value:
        raise PropertiesError(
            f"{given.source}: {given.spelled} contradicts Elr in {eligible_replicas}, which names replicas; "
            "correct one of them"
        )
    minima = settings.every(Role.BROKER, "min.insync.replicas")
    own = next((setting for setting in minima if setting.layer is Layer.BROKER), None)
    if own and (eligible_replicas or (given and given.value)):
        shown = f"Elr in {eligible_replicas}" if eligible_replicas or given is None else given.source
        raise PropertiesError(
            f"{own.source}: {own.spelled} is a dynamic value of one broker, which a cluster with eligible leader "
            f"replicas refuses ({shown}); describe the cluster again"
        )
    if eligible_replicas:
        return Setting(True, f"Elr names replicas in {eligible_replicas}")
    if given:
        return Setting(bool(given.value), f"{given.spelled} in {given.source}")
    if own:
        return Setting(False, f"{own.spelled} in {own.source} is a dynamic value of one broker, which ELR would refuse")
    if metadata.value.has(FIRST_ELR_BY_DEFAULT):
        source = f"the default of a cluster created with 4.1 or newer; give {ELR_VERSION[1]}=0 if it is off"
        return Setting(True, source)
    return Setting(False, f"off by default before {FIRST_ELR_BY_DEFAULT}")


def transactions_generation(release: Version, level: int) -> str:
    """Return the generation of the model `transactions` for a release and a transaction.version (`level`). Level 1 has
    the generation of level 0, as it changes only how the coordinator's records are written. ZooKeeper and KRaft have
    the same generations."""
    generations = _TRANSACTIONS_OF_NEW_EPOCHS if has_new_epochs(level) else _TRANSACTIONS
    return next((generation for first, generation in generations if release.has_patch(first)), generations[-1][1])


def has_new_epochs(level: int) -> bool:
    """Whether every transaction ends with a new epoch at this level of transaction.version (KIP-890)."""
    return level >= 2


# --- The record format ------------------------------------------------------------------------------------------------
# Records have leader epochs since 0.11.0. Kafka ignores a topic's format that is newer than the inter-broker protocol;
# a broker with such a format does not start. Since 3.0 every record has the newest format.


def format_keys(
    settings: Settings, versions: Versions
) -> tuple[Sequence[tuple[Role, str]], Mapping[tuple[Role, str], str]]:
    """Return the keys that determine the record format (the first given key decides), and a map with the reasons why
    other keys do not decide. Raises PropertiesError for a format with which a broker would not start."""
    agreed = versions.protocol.value
    if versions.has_kraft or agreed.release >= version_of_binaries("3.0").release:
        return (), dict.fromkeys(
            (_TOPIC_FORMAT, _BROKER_FORMAT), "Kafka ignores it since 3.0: every record has the newest format"
        )
    of_broker = settings.get(*_BROKER_FORMAT)
    if of_broker:
        _refuse_format(of_broker, versions)
    of_topic = settings.get(*_TOPIC_FORMAT)
    if of_topic and of_topic.value.is_newer_than(agreed):
        why = f"Kafka ignores it: newer than inter.broker.protocol.version {agreed}"
        return (_BROKER_FORMAT,), {_TOPIC_FORMAT: why}
    return (_TOPIC_FORMAT, _BROKER_FORMAT), {}


def _refuse_format(given: GivenSetting, versions: Versions) -> None:
    agreed = versions.protocol.value
    is_newer = given.value.is_newer_than(agreed)
    if versions.release.has("1.1"):
        is_newer = _record_version(given.value) > _record_version(agreed)
    if is_newer:
        raise PropertiesError(
            f"{given.source}: {given.spelled}: a broker of Kafka {versions.release} refuses to start with it, because "
            f"inter.broker.protocol.version is {agreed} ({versions.protocol.source}); "
            f"write log.message.format.version={agreed}, or raise inter.broker.protocol.version"
        )


def _record_version(version: Version) -> int:
    """Return Kafka's RecordVersion (0, 1, 2) of a version; records of RecordVersion 2 have leader epochs."""
    return int(version.has("0.10.0")) + int(version.has("0.11.0-IV0"))


def _why_inexact(given: GivenSetting, release: Version) -> str | None:
    """Return why the model is not exact for records without leader epochs in this release; None if it is exact."""
    if not release.has_repair(("0.11.0.3", "1.0.2", "1.1.1", "2.0")):
        behaviour = "answers with its log end offset (KAFKA-6857)"
    elif release.has_patch("2.0.1") and not release.has_patch("2.1.1"):
        behaviour = "still records its leader epoch (KAFKA-7897)"
    else:
        return None
    return f"with {given.spelled} a leader of Kafka {release} {behaviour}, which is not modelled"
