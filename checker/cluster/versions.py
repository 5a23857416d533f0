"""Determines the versions of a cluster's brokers, and whether ZooKeeper or KRaft controllers keep its metadata.

The version of the binaries (`--kafka-version`) decides the defaults and most of the brokers' behaviour. The version
that the brokers have agreed on decides the rest: inter.broker.protocol.version with ZooKeeper, metadata.version with
KRaft. If only one version is given, it is used for both. Without any, the release is assumed to be the newest that fits
everything else that the files and options give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import (
    FEATURES,
    FIRST_METADATA_VERSION,
    LAST_WITH_ZOOKEEPER,
    NEWEST_RELEASE,
    UNRELEASED,
    Role,
    Version,
    first_release,
    releases,
    version_of_binaries,
    version_of_metadata,
)
from isrcheck.checker.cluster.settings import GivenSetting, Setting, Settings

KAFKA_VERSION, METADATA_VERSION_GIVEN = "--kafka-version", "--metadata-version"
LAST_BEFORE_ELR = "3.7"
"""The last release whose brokers do not answer requests for eligible leader replicas."""
FIRST_WITH_KRAFT, FIRST_PRODUCTION_KRAFT, FIRST_WITHOUT_ZOOKEEPER = "2.8", "3.3", "4.0"
OLDEST_METADATA_OF_4_0 = "3.3-IV3"

INTER_BROKER_PROTOCOL = (Role.BROKER, "inter.broker.protocol.version")
METADATA_VERSION = (Role.BROKER, "metadata.version")
ELR_VERSION = (Role.BROKER, "eligible.leader.replicas.version")
TRANSACTION_VERSION = (Role.BROKER, "transaction.version")
_PROCESS_ROLES = (Role.BROKER, "process.roles")
_ZOOKEEPER = (Role.BROKER, "zookeeper.connect")
_MIGRATION = (Role.BROKER, "zookeeper.metadata.migration.enable")

ASSUMED = "assumed: "
"""The beginning of the source of a mode that is only assumed."""

_ONLY_MODE = "the only mode"
"""The beginning of the source of a mode that the release determines."""

# The keys that ended with ZooKeeper: 4.0 does not know them.
_ENDED = (_ZOOKEEPER, _MIGRATION, INTER_BROKER_PROTOCOL)

# Each of these keys, unless it is empty, belongs to a cluster with KRaft controllers.
_KRAFT = (
    _PROCESS_ROLES,
    (Role.BROKER, "controller.quorum.voters"),
    (Role.BROKER, "controller.quorum.bootstrap.servers"),
    METADATA_VERSION,
    ELR_VERSION,
)


class Mode(Enum):
    """Who keeps the metadata of a cluster."""

    ZOOKEEPER = "ZooKeeper"
    KRAFT = "KRaft"


@dataclass(frozen=True)
class Evidence:
    """What the output of a tool shows of the brokers: their mode, and the first and last release that fit it."""

    shown: str
    since: str | None = None
    until: str | None = None
    """The last release of the tool; the brokers may be newer."""
    mode: Mode | None = None
    """The mode of the brokers (ZooKeeper or KRaft), if the output shows it."""
    lacks: str = ""
    """In words, what the output lacks although the output of a release after `until` has it."""
    newest: str | None = None
    """The newest release that the binaries can have, if the output shows it."""
    needs_zookeeper_since: str | None = None
    """The release since which only brokers with ZooKeeper answer in this way."""
    tool: str = "kafka-topics"


@dataclass(frozen=True)
class Versions:
    """The versions of a cluster, and its mode: whether ZooKeeper or KRaft controllers keep the metadata."""

    binaries: Setting[Version]
    protocol: Setting[Version]
    """The version that the brokers have agreed on."""
    mode: Setting[Mode]
    is_given: bool
    """Whether the release of the brokers is given; False if it is assumed."""
    decisive: Sequence[GivenSetting] = field(default=(), repr=False)
    """The settings that show the mode or a version."""
    migration: GivenSetting | None = None
    """The setting that makes the brokers migrate from ZooKeeper to KRaft, if it is given."""
    assumed: Sequence[str] = ()
    """What the files do not show of release, mode and agreed version, and what to give; and which output of a tool fits
    the release and the mode only in a rare case."""

    @property
    def release(self) -> Version:
        """The version of the binaries."""
        return self.binaries.value

    @property
    def has_kraft(self) -> bool:
        """Whether KRaft controllers keep the metadata."""
        return self.mode.value is Mode.KRAFT

    @property
    def protocol_key(self) -> str:
        """The key of the agreed version: metadata.version or inter.broker.protocol.version."""
        return METADATA_VERSION[1] if self.has_kraft else INTER_BROKER_PROTOCOL[1]

    @property
    def ignored(self) -> Mapping[tuple[Role, str], str]:
        """The keys that state a version but have no effect in this mode (ZooKeeper or KRaft), each with the reason."""
        return {INTER_BROKER_PROTOCOL: "a KRaft cluster has metadata.version instead"} if self.has_kraft else {}


def read_versions(
    settings: Settings,
    kafka_version: str | None,
    metadata_version: str | None = None,
    evidence: Sequence[Evidence] = (),
    named: Setting[Version] | None = None,
) -> Versions:
    """Determine the versions and the mode of a cluster; `named` is the release that a file names (the version of a
    Strimzi resource). Raises PropertiesError if two sources contradict each other."""
    option = _option(KAFKA_VERSION, kafka_version, version_of_binaries) or named
    metadata = _metadata(settings, metadata_version)
    inter_broker = of_file.in_effect if (of_file := settings.get(*INTER_BROKER_PROTOCOL)) else None
    shown = _mode_shown(settings, metadata, evidence)
    inter_broker_counts = inter_broker
    if shown and shown.value is Mode.KRAFT and inter_broker:
        inter_broker_counts = None
        is_production = option is None or option.value.has(FIRST_PRODUCTION_KRAFT)
        if is_production and not inter_broker.value.has(FIRST_METADATA_VERSION):
            raise PropertiesError(
                f"{inter_broker.source}: inter.broker.protocol.version: a KRaft broker refuses {inter_broker.value},"
                f" which is older than {FIRST_METADATA_VERSION}; leave it out, and give {METADATA_VERSION_GIVEN} if you"
                " know it"
            )
    agreed = metadata or inter_broker_counts
    is_mode_shown = shown is not None or any(output.mode is Mode.ZOOKEEPER for output in evidence)
    shown = shown or _zookeeper_shown(settings, option, agreed, evidence)
    binaries = option or _assumed(settings, shown, inter_broker, evidence)
    if option is None and agreed is not None:
        implied = Setting(version_of_binaries(agreed.value.release_name), agreed.source)
        binaries = _raised(implied, _shown_by_outputs(evidence))
    mode = shown or _usual_mode(binaries.value, inter_broker_counts, evidence)
    _refuse_wrong_release(binaries, mode, evidence)
    migration = _migration(settings, binaries)
    level = settings.get(*TRANSACTION_VERSION)  # it needs no metadata.version
    if level and level.value and option and not option.value.has(first := FEATURES[level.key]):
        raise PropertiesError(
            f"{level.source}: {level.spelled} needs Kafka {first} or newer, but it is {option.value} ({option.source});"
            " correct one of them"
        )
    for key, given in ((METADATA_VERSION, metadata), (INTER_BROKER_PROTOCOL, inter_broker)):
        if given and given.value.is_newer_than(binaries.value):
            raise PropertiesError(
                f"{given.source}: {key[1]}: Kafka {binaries.value} refuses {given.value}, which is newer; write "
                f"{binaries.value.release_name} or older, or correct {KAFKA_VERSION}"
            )
    if metadata and binaries.value.has(FIRST_WITHOUT_ZOOKEEPER) and not metadata.value.has(OLDEST_METADATA_OF_4_0):
        raise PropertiesError(
            f"{metadata.source}: metadata.version: Kafka {binaries.value} refuses {metadata.value}, which is older "
            f"than {OLDEST_METADATA_OF_4_0}; raise metadata.version, or correct {KAFKA_VERSION}"
        )
    has_kraft = mode.value is Mode.KRAFT
    counts = agreed if agreed and has_kraft == (agreed is metadata) else None
    return Versions(
        binaries,
        counts or binaries,
        mode,
        is_given=option is not None or agreed is not None,
        decisive=_decisive(settings, binaries.value, has_kraft=has_kraft),
        migration=migration,
        assumed=(
            *_in_words(settings, option, agreed, counts, binaries, mode, is_mode_shown=is_mode_shown),
            *_doubt(binaries.value, mode, evidence),
        ),
    )


def _in_words(
    settings: Settings,
    option: Setting[Version] | None,
    agreed: Setting[Version] | None,
    counts: Setting[Version] | None,
    binaries: Setting[Version],
    mode: Setting[Mode],
    *,
    is_mode_shown: bool,
) -> Iterator[str]:
    """Yield a text on what is only assumed (release, mode, agreed version) and what to give, unless all is known."""
    parts, cures = [], []
    has_kraft = mode.value is Mode.KRAFT
    if option is None:
        source = binaries.source
        if agreed is not None and source == agreed.source:
            key = (METADATA_VERSION if has_kraft else INTER_BROKER_PROTOCOL)[1]
            source = f"{key} {agreed.value}, {source}; the binaries may be newer"
        parts.append(f"Kafka {binaries.value} ({source})")
        cures.append(KAFKA_VERSION)
    if not is_mode_shown and not mode.source.startswith(_ONLY_MODE):
        why = "" if mode.source.startswith(ASSUMED) else f" ({mode.source})"
        parts.append(f"{'KRaft controllers' if has_kraft else 'ZooKeeper'}{why}")
        other = "zookeeper.connect in a broker's file if it uses ZooKeeper"
        cures.append(other if has_kraft else "process.roles in a broker's file if it uses KRaft")
    if counts is None and has_kraft and binaries.value.has("3.5"):  # since then replication depends on metadata.version
        parts.append(f"the metadata.version of {binaries.value}")
        cures.append(METADATA_VERSION_GIVEN)
    elif counts is None and not has_kraft and not settings.has_members(Role.BROKER):
        parts.append(f"the inter.broker.protocol.version of {binaries.value}")
        cures.append("a broker's file")
    if parts:
        yield f"{', '.join(parts)}; give {', or '.join(cures)}"


# --- What is given ----------------------------------------------------------------------------------------------------


def _option(name: str, text: str | None, read: Callable[[str], Version]) -> Setting[Version] | None:
    if text is None:
        return None
    try:
        return Setting(read(text), name)
    except ValueError as error:
        raise PropertiesError(f"{name}: {error}") from None


def _metadata(settings: Settings, text: str | None) -> Setting[Version] | None:
    """Return metadata.version from the command line (`text`) or from a file; None if neither has it."""
    option = _option(METADATA_VERSION_GIVEN, text, version_of_metadata)
    in_file = given.in_effect if (given := settings.get(*METADATA_VERSION)) else None
    if option and in_file and option.value != in_file.value:
        raise PropertiesError(
            f"{in_file.source}: metadata.version={in_file.value} contradicts {METADATA_VERSION_GIVEN} {option.value}; "
            "a cluster has one metadata.version: keep one of them"
        )
    return option or in_file


def _decisive(settings: Settings, release: Version, *, has_kraft: bool) -> Sequence[GivenSetting]:
    """Return the given settings that show the mode or a version; zookeeper.connect shows the mode only since 2.8."""
    with_zookeeper = [INTER_BROKER_PROTOCOL, *([_ZOOKEEPER] if release.has(FIRST_WITH_KRAFT) else [])]
    return _given(settings, _KRAFT if has_kraft else with_zookeeper)


def _given(settings: Settings, keys: Sequence[tuple[Role, str]]) -> Sequence[GivenSetting]:
    """Return the settings in effect for these keys, if they are given and not empty."""
    return [given for key in keys if (given := settings.get(*key)) and given.text]


# --- ZooKeeper or KRaft -----------------------------------------------------------------------------------------------


def _mode_shown(
    settings: Settings, metadata: Setting[Version] | None, evidence: Sequence[Evidence]
) -> Setting[Mode] | None:
    """Return the mode that settings or outputs show; None if they show none. Raises PropertiesError for two modes."""
    signs = [f"{given.spelled} in {given.source}" for given in _given(settings, _KRAFT)]
    signs += [METADATA_VERSION_GIVEN] if metadata and metadata.source == METADATA_VERSION_GIVEN else []
    signs += [f"{output.tool} {output.shown}" for output in evidence if output.mode is Mode.KRAFT]
    zookeeper = settings.get(*_ZOOKEEPER)
    if zookeeper is None or not zookeeper.text:
        return Setting(Mode.KRAFT, signs[0]) if signs else None
    sign = f"{zookeeper.spelled} in {zookeeper.source}"
    migration, roles = settings.get(*_MIGRATION), settings.get(*_PROCESS_ROLES)
    if signs and migration and migration.text.lower() == "true":
        return Setting(Mode.KRAFT, signs[0]) if roles and roles.text else Setting(Mode.ZOOKEEPER, sign)
    if signs:
        raise PropertiesError(
            f"{zookeeper.source}: {zookeeper.spelled} contradicts KRaft ({signs[0]}): either ZooKeeper or KRaft "
            "controllers keep the metadata of a cluster; leave one of them out"
        )
    return Setting(Mode.ZOOKEEPER, sign)


def _doubt(release: Version, mode: Setting[Mode], evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield a warning if a tool's output is rare for brokers of this release and mode."""
    if mode.value is Mode.KRAFT and (output := _of_zookeeper(release, evidence)):
        yield (
            f"topics were described by their ids: otherwise {output.tool} {output.shown} only for ZooKeeper, or for"
            f" brokers before {output.needs_zookeeper_since}; correct {KAFKA_VERSION}"
        )


def _of_zookeeper(release: Version, evidence: Sequence[Evidence]) -> Evidence | None:
    """Return the first output that brokers of this release give only with ZooKeeper, or None."""
    return next((one for one in evidence if (since := one.needs_zookeeper_since) and release.has(since)), None)


def _zookeeper_shown(
    settings: Settings,
    option: Setting[Version] | None,
    agreed: Setting[Version] | None,
    evidence: Sequence[Evidence],
) -> Setting[Mode] | None:
    """Return the mode ZooKeeper if a broker's file has zookeeper.* keys, or if an output shows it, and the release can
    use it; otherwise None."""
    if any(version and version.value.has(FIRST_WITHOUT_ZOOKEEPER) for version in (option, agreed)):
        return None
    for given in settings:
        key = given.role, given.key
        if given.role is Role.BROKER and given.key.startswith("zookeeper.") and given.text and key != _MIGRATION:
            return Setting(Mode.ZOOKEEPER, f"{given.key} in {given.source}")
    shown = next((output for output in evidence if output.mode is Mode.ZOOKEEPER), None)
    return None if shown is None else Setting(Mode.ZOOKEEPER, f"{shown.tool} {shown.shown}")


def _usual_mode(release: Version, inter_broker: Setting[Version] | None, evidence: Sequence[Evidence]) -> Setting[Mode]:
    """Return the mode to assume if no input shows it: usually KRaft since 3.3, when it became ready for production."""
    if release.has(FIRST_WITHOUT_ZOOKEEPER):
        return Setting(Mode.KRAFT, f"{_ONLY_MODE} since {FIRST_WITHOUT_ZOOKEEPER}")
    if not release.has(FIRST_WITH_KRAFT):
        return Setting(Mode.ZOOKEEPER, f"{_ONLY_MODE} before {FIRST_WITH_KRAFT}")
    if inter_broker:
        return Setting(Mode.ZOOKEEPER, f"inter.broker.protocol.version in {inter_broker.source} is not for KRaft")
    if output := _of_zookeeper(release, evidence):
        since = output.needs_zookeeper_since
        return Setting(Mode.ZOOKEEPER, f"{output.tool} {output.shown}: KRaft brokers since {since} answer otherwise")
    if not release.has(FIRST_PRODUCTION_KRAFT):
        return Setting(Mode.ZOOKEEPER, f"{ASSUMED}KRaft was a preview before {FIRST_PRODUCTION_KRAFT}")
    return Setting(Mode.KRAFT, f"{ASSUMED}give zookeeper.connect in a broker's file if it uses ZooKeeper")


def _migration(settings: Settings, binaries: Setting[Version]) -> GivenSetting | None:
    """Return the setting that makes the brokers migrate to KRaft (since 3.4); None if it is not given. Raises
    PropertiesError if it is given for Kafka 4.0 or newer, which has no ZooKeeper."""
    given = settings.get(*_MIGRATION)
    if given is None or given.text.lower() != "true" or not binaries.value.has("3.4"):
        return None
    if binaries.value.has(FIRST_WITHOUT_ZOOKEEPER):
        raise PropertiesError(
            f"{binaries.source}: Kafka {binaries.value} contradicts {given.spelled} in {given.source}: "
            f"{LAST_WITH_ZOOKEEPER} is the last release with ZooKeeper; correct {KAFKA_VERSION}, or leave that"
            " setting out"
        )
    return given


# --- The release ------------------------------------------------------------------------------------------------------


def _assumed(
    settings: Settings,
    mode: Setting[Mode] | None,
    inter_broker: Setting[Version] | None,
    evidence: Sequence[Evidence],
) -> Setting[Version]:
    """Return the newest release that fits the files and outputs; brokers may be newer than the tool of an output."""
    is_kraft = mode is not None and mode.value is Mode.KRAFT
    newest, why = version_of_binaries(NEWEST_RELEASE), "the newest release"
    if mode and mode.value is Mode.ZOOKEEPER:
        newest, why = version_of_binaries(LAST_WITH_ZOOKEEPER), "the last release with ZooKeeper"
    elif ended := _given(settings, _ENDED):
        newest = version_of_binaries(LAST_WITH_ZOOKEEPER)
        why = f"the last release that knows {ended[0].key} ({ended[0].source})"
    for output in evidence:
        until = LAST_BEFORE_ELR if output.needs_zookeeper_since and is_kraft else output.until
        if until and newest.is_newer_than(version_of_binaries(until)):
            newest, why = (
                version_of_binaries(until),
                f"the last release whose {output.tool} {output.shown}{output.lacks}",
            )
            if until != output.until:
                why = f"{output.tool} {output.shown}, as for KRaft brokers up to {until}"
    shown = _shown_by_outputs(evidence)
    for given in settings:
        if given.role in (Role.BROKER, Role.TOPIC) and (since := first_release(given.role, given.key)):
            shown.append(Setting(since, f"{given.source}: {given.key} is new in {since}"))
    if inter_broker is not None:
        key = INTER_BROKER_PROTOCOL[1]
        shown.append(Setting(inter_broker.value.release_name, f"{key}={inter_broker.value} in {inter_broker.source}"))
    return _raised(Setting(newest, f"not given: {why}"), shown)


def _raised(least: Setting[Version], shown: Sequence[Setting[str]]) -> Setting[Version]:
    """Return `least`, or the newest of the releases that are `shown`, if it is newer."""
    for release in shown:
        if version_of_binaries(release.value).is_newer_than(least.value):
            least = Setting(version_of_binaries(release.value), release.source)
    return least


def _shown_by_outputs(evidence: Sequence[Evidence]) -> list[Setting[str]]:
    return [Setting(one.since, f"{one.tool} {one.shown}: new in {one.since}") for one in evidence if one.since]


# --- Contradictions ---------------------------------------------------------------------------------------------------


def _refuse_wrong_release(binaries: Setting[Version], mode: Setting[Mode], evidence: Sequence[Evidence]) -> None:
    """Raise PropertiesError if the release cannot have the mode, or cannot give an output."""
    release, sign = binaries.value, f"{mode.value.value} ({mode.source})"
    contradictions, cure = [], f"correct {KAFKA_VERSION}"
    if mode.value is Mode.KRAFT and not release.has(FIRST_WITH_KRAFT):
        contradictions.append(f"{sign}: KRaft came with {FIRST_WITH_KRAFT}; {cure}, or leave out what says KRaft")
    if mode.value is Mode.ZOOKEEPER and release.has(FIRST_WITHOUT_ZOOKEEPER):
        why = f"{LAST_WITH_ZOOKEEPER} is the last release with ZooKeeper"
        contradictions.append(f"{sign}: {why}; {cure}, or leave out what says ZooKeeper")
    # A release that is not listed or not released may have no metadata.version of its own, but its predecessor's.
    is_listed = release.release_name in releases() and release.release_name != UNRELEASED
    for output in evidence:
        if output.since and not release.has(output.since):
            contradictions.append(f"{output.tool}, which {output.shown}, new in {output.since}; {cure}")
        if output.newest and release.is_newer_than(version_of_binaries(output.newest)) and is_listed:
            contradictions.append(f"{output.tool}, which {output.shown}, the newest of {output.newest}; {cure}")
    if contradictions:
        raise PropertiesError(f"{binaries.source}: Kafka {release} contradicts {contradictions[0]}")
