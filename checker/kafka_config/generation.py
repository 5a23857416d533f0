"""Determines the modelled generation of a cluster's replication protocol, and how the cluster differs from it.

In:  `Settings`, and the version of the brokers if it is given.
Out: a `Generation`: the modelled generation, the switches in which the cluster differs from it, and, if the cluster is
     not modelled, the reason why only the nearest generation can be searched.

If no version is given, the newest modelled release is assumed, or the first release that has all given settings if that
release is newer.

Two versions matter: that of the binaries (`--kafka-version`) decides the defaults and most of the brokers' behaviour;
`inter.broker.protocol.version` and the record format decide how followers truncate. If only one of the two versions is
given, it is used for both. A release without a patch number means its first patch: 2.0 is 2.0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from isrcheck.checker.kafka_config.cluster_settings import GivenSetting, Setting, Settings, UnderstoodSetting
from isrcheck.checker.kafka_config.keys import Role, first_release
from isrcheck.checker.kafka_config.properties_file import PropertiesError
from isrcheck.checker.kafka_config.releases import Version, version_of_binaries, version_of_inter_broker_protocol

NEWEST_MODELLED = "2.1"
"""The newest modelled release, which is assumed if no version is given."""

NEAREST_TO_OLDER, NEAREST_TO_NEWER = "0.10", "2.1"

_INTER_BROKER_PROTOCOL = (Role.BROKER, "inter.broker.protocol.version")
_TOPIC_FORMAT = (Role.TOPIC, "message.format.version")
_BROKER_FORMAT = (Role.BROKER, "log.message.format.version")

# Each of these keys makes a cluster keep its metadata in a quorum of controllers.
_KRAFT = (
    (Role.BROKER, "process.roles"),
    (Role.BROKER, "controller.quorum.voters"),
    (Role.BROKER, "controller.quorum.bootstrap.servers"),
)

# How followers truncate, oldest first: the switch, the first inter-broker protocol, the generation, and in words.
_TRUNCATIONS = (
    ("HW", "0.8.0", "0.10", "followers truncate to the high watermark"),
    ("KIP101", "0.11.0-IV2", "0.11", "followers reconcile by leader epochs as in 0.11 (KIP-101)"),
    ("KIP279", "2.0-IV0", "2.0", "followers reconcile by leader epochs as in 2.0 (KIP-279), without fencing"),
    ("KIP320", "2.1-IV2", "2.1", ""),
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

_REPAIRED_IN_2_0_1 = "the fixes of 2.0.1 (KAFKA-7128, KAFKA-7164, KAFKA-7414, KAFKA-7415)"

# Releases whose patch number matters for the model, or for the defaults of a producer.
_PATCH_MATTERS = ("2.0", "3.0", "3.1")


@dataclass(frozen=True)
class Versions:
    """The versions of the binaries and of the inter-broker protocol; `is_given` is False if they are assumed."""

    binaries: Setting[Version]
    protocol: Setting[Version]
    is_given: bool

    @property
    def release(self) -> Version:
        """The version of the binaries."""
        return self.binaries.value


@dataclass(frozen=True)
class Generation:
    """A modelled generation, with switches (name -> value, as on the command line).

    If `why_undecided` is not None, it is the reason why the cluster is not modelled; `protocol` is then the nearest
    generation."""

    protocol: str
    switches: Mapping[str, str]
    why_undecided: str | None


def read_versions(settings: Settings, kafka_version: str | None, evidence: Iterable[Setting[str]] = ()) -> Versions:
    """Determine the versions; `evidence` are versions that the `--describe` output shows. Raises PropertiesError."""
    binaries = protocol = None
    if kafka_version is not None:
        try:
            binaries = Setting(version_of_binaries(kafka_version), "--kafka-version")
        except ValueError as error:
            raise PropertiesError(f"--kafka-version: {error}") from None
    if found := settings.get(*_INTER_BROKER_PROTOCOL):
        protocol = Setting(version_of_inter_broker_protocol(found.text), found.source)
    if binaries and protocol and protocol.value.is_newer_than(binaries.value):
        raise PropertiesError(
            f"{protocol.source}: inter.broker.protocol.version: Kafka {binaries.value} refuses {protocol.value}, "
            f"which is newer; write {binaries.value.release_name} or older, or correct --kafka-version"
        )
    if binaries:
        return Versions(binaries, protocol or binaries, is_given=True)
    if protocol:
        release = Setting(version_of_binaries(protocol.value.release_name), protocol.source)
        return Versions(release, protocol, is_given=True)
    newest = Setting(version_of_binaries(NEWEST_MODELLED), "not given: the newest modelled version")
    for one in (*evidence, *_shown_by_keys(settings)):
        shown = Setting(version_of_binaries(one.value), one.source)
        if shown.value.is_newer_than(newest.value):
            newest = shown
    return Versions(newest, newest, is_given=newest.value.text != NEWEST_MODELLED)


def _shown_by_keys(settings: Settings) -> Iterator[Setting[str]]:
    """Yield, for each setting of brokers and topics, the first release that has the setting."""
    for each in settings:
        since = first_release(each.role, each.key)
        if each.role in (Role.BROKER, Role.TOPIC) and since is not None:
            yield Setting(since, f"{each.source}: {each.key} is new in {since}")


def read_generation(
    settings: Settings, versions: Versions, not_modelled: str | None = None
) -> tuple[Generation, list[UnderstoodSetting]]:
    """Return the generation, and the settings that determine it. Raises PropertiesError.

    `not_modelled` names a mechanism that the `--describe` output shows but the model lacks, if any.
    """
    release = versions.release
    protocol, why = _nearest(release)
    why = _why_kraft(settings) or not_modelled or why
    names = [name for name, *_ in _TRUNCATIONS]
    own = next(number for number, each in enumerate(_TRUNCATIONS) if each[2] == protocol)
    agreed = max(number for number, each in enumerate(_TRUNCATIONS) if versions.protocol.value.has(each[1]))
    truncation = min(own, agreed)
    has_repairs = protocol == "2.0" and release.has_patch("2.0.1")
    meaning = f"the replication protocol is {protocol}" + (f", with {_REPAIRED_IN_2_0_1}" if has_repairs else "")
    if why:
        meaning = f"not modelled; the nearest generation is {protocol}"
    if truncation < own:
        meaning += f", but {_TRUNCATIONS[truncation][3]}"
    lines = [
        UnderstoodSetting("Kafka version", str(release), _decides(release), versions.binaries.source),
        UnderstoodSetting(
            "inter.broker.protocol.version", str(versions.protocol.value), meaning, versions.protocol.source
        ),
    ]
    keys, _ = format_keys(settings, versions)
    record_format = settings.first(keys)
    if record_format is not None:
        is_old = _has_old_format(record_format, versions)
        lines.append(_format_line(record_format, is_old))
        if is_old and truncation > 0:
            truncation = 0
            why = why or _why_inexact(record_format, release)
    switches = dict(_OF_2_0_1) if has_repairs else {}
    if truncation < own:
        switches["TRUNC"] = names[truncation]
    return Generation(protocol, switches, why), lines


def _nearest(release: Version) -> tuple[str, str | None]:
    """Return the generation of a release and None; if it is not modelled, the nearest generation and the reason."""
    why = f"the replication protocol of Kafka {release} is not modelled yet; only 0.10 to {NEWEST_MODELLED} are"
    if release.release[:2] < (0, 10):
        return NEAREST_TO_OLDER, why
    if release.is_newer_than(version_of_binaries(NEWEST_MODELLED)):
        return NEAREST_TO_NEWER, why
    for first, protocol in (("2.1", "2.1"), ("2.0", "2.0"), ("0.11.0", "0.11")):
        if release.has(first):
            return protocol, None
    return "0.10", None


def _why_kraft(settings: Settings) -> str | None:
    """Return why a KRaft cluster is not modelled; None if the cluster uses ZooKeeper."""
    given = next((found for key in _KRAFT if (found := settings.get(*key)) and found.text), None)
    if given is None:
        return None
    return f"{given.spelled} ({given.source}) makes this a KRaft cluster, and KRaft is not modelled yet"


def _decides(release: Version) -> str:
    if release.text in _PATCH_MATTERS:
        return f"decides the defaults; taken as {release.text}.0"
    return "decides the defaults"


# --- The record format ------------------------------------------------------------------------------------------------
# Records have leader epochs since 0.11.0. Kafka ignores a topic's format that is newer than the inter-broker protocol;
# a broker with such a format does not start. Since 3.0 every record has the newest format.


def format_keys(
    settings: Settings, versions: Versions
) -> tuple[Sequence[tuple[Role, str]], Mapping[tuple[Role, str], str]]:
    """Return the keys that determine the record format, and why other keys do not; the first given key decides.
    Raises PropertiesError for a format with which a broker would not start."""
    agreed = versions.protocol.value
    if agreed.release >= version_of_binaries("3.0").release:
        return (), dict.fromkeys(
            (_TOPIC_FORMAT, _BROKER_FORMAT), "Kafka ignores it since 3.0: every record has the newest format"
        )
    of_broker = settings.get(*_BROKER_FORMAT)
    if of_broker:
        _refuse_format(of_broker, versions)
    of_topic = settings.get(*_TOPIC_FORMAT)
    if of_topic and _version(of_topic).is_newer_than(agreed):
        return (_BROKER_FORMAT,), {
            _TOPIC_FORMAT: f"Kafka ignores it: newer than inter.broker.protocol.version {agreed}"
        }
    return (_TOPIC_FORMAT, _BROKER_FORMAT), {}


def _refuse_format(given: GivenSetting, versions: Versions) -> None:
    agreed = versions.protocol.value
    is_newer = _version(given).is_newer_than(agreed)
    if versions.release.has("1.1"):
        is_newer = _record_version(_version(given)) > _record_version(agreed)
    if is_newer:
        raise PropertiesError(
            f"{given.source}: {given.spelled}: a broker of Kafka {versions.release} refuses to start with it, because "
            f"inter.broker.protocol.version is {agreed} ({versions.protocol.source}); "
            f"write log.message.format.version={agreed}, or raise inter.broker.protocol.version"
        )


def _version(given: GivenSetting) -> Version:
    assert isinstance(given.value, Version)
    return given.value


def _record_version(version: Version) -> int:
    """Return Kafka's RecordVersion; 2 is the first one with leader epochs."""
    return int(version.has("0.10.0")) + int(version.has("0.11.0-IV0"))


def _has_old_format(given: GivenSetting, versions: Versions) -> bool:
    return _record_version(_version(given)) < 2 and versions.release.has("0.11.0")


def _format_line(given: GivenSetting, is_old: bool) -> UnderstoodSetting:
    meaning = "records have leader epochs"
    if is_old:
        meaning = "records have no leader epochs: followers truncate to the high watermark"
    elif _record_version(_version(given)) < 2:
        meaning = "records have no leader epochs, which came with 0.11"
    return UnderstoodSetting(given.key, given.text, meaning + given.note, given.source)


def _why_inexact(given: GivenSetting, release: Version) -> str | None:
    """Return why the model is not exact for records without leader epochs in this release; None if it is exact."""
    if not release.has("1.0"):
        is_fixed = release.has_patch("0.11.0.3")
    elif not release.has("2.0"):
        is_fixed = release.has_patch("1.1.1") or (not release.has("1.1") and release.has_patch("1.0.2"))
    else:
        is_fixed = True
    if not is_fixed:
        return (
            f"with {given.spelled} a leader of Kafka {release} answers with its log end offset (KAFKA-6857), "
            "which is not modelled"
        )
    if release.has_patch("2.0.1") and not release.has_patch("2.1.1"):
        return (
            f"with {given.spelled} a leader of Kafka {release} still records its leader epoch (KAFKA-7897), "
            "which is not modelled"
        )
    return None
