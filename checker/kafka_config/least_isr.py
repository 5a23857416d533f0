"""The min.insync.replicas that counts: the topic's, the cluster's, or that of a broker's or a controller's file.

In:  `Settings`, the versions and the generation of the cluster, and whether the output of a tool shows the default.
Out: a `LeastIsr`: the value with its line for the report, what is assumed about it, and why other values do not count.

Without eligible leader replicas (ELR, KIP-966) each broker reads the topic's value, else its own. With them a value at
the level of the cluster always exists: Kafka writes it when the feature is turned on, from the static file of the
active controller, 1 if the key is not there (ActivationRecordsGenerator, ConfigurationControlManager), and it takes
precedence over the brokers' files. A value of one broker alone is refused (KAFKA-16540).
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.kafka_config.versions import Versions
from isrcheck.checker.kafka_settings.cluster_settings import (
    GivenSetting,
    Layer,
    Setting,
    Settings,
    UnderstoodSetting,
    default_of,
)
from isrcheck.checker.kafka_settings.keys import Role, default
from isrcheck.checker.kafka_settings.properties_file import PropertiesError

LEAST_ISR = "min.insync.replicas"
OF_TOPIC, OF_BROKER = (Role.TOPIC, LEAST_ISR), (Role.BROKER, LEAST_ISR)

_SHOWS_IT = "kafka-configs --describe --entity-type brokers --entity-default"


@dataclass(frozen=True)
class LeastIsr:
    """The value and its line; the given setting that it is, None if it is a default; what is assumed about it (empty:
    nothing); and, if it is a default, why the values of brokers do not count (empty: there are none)."""

    setting: Setting[int]
    line: UnderstoodSetting
    used: GivenSetting | None = None
    assumed: str = ""
    why_not_the_brokers: str = ""


def read_least_isr(settings: Settings, versions: Versions, *, has_elr: bool, shown_default: str | None) -> LeastIsr:
    """Return the value that counts. Raises PropertiesError if two values cannot both be true.

    `shown_default` is the place of a line of kafka-topics that would show another value than the default.
    """
    if (of_topic := settings.get(*OF_TOPIC)) is not None:
        return _given(of_topic)
    if shown_default is not None:
        return _of_described_topic(settings, versions, shown_default)
    if not has_elr:
        of_brokers = settings.get(*OF_BROKER)
        return _given(of_brokers) if of_brokers is not None else _of_default(versions)
    return _of_cluster(settings, versions)


def of_one_broker(settings: Settings) -> GivenSetting | None:
    """Return a dynamic value of one broker alone, which a cluster with eligible leader replicas refuses, or None."""
    return next((one for one in settings if (one.role, one.key) == OF_BROKER and one.layer is Layer.BROKER), None)


def meaning(value: int) -> str:
    """Return what the value means for replication."""
    return f"an acks=all write needs an ISR of at least {value}"


def _of_described_topic(settings: Settings, versions: Versions, place: str) -> LeastIsr:
    """Return the default: kafka-topics would show another value, also if the topic inherited it."""
    why = f"kafka-topics shows the values of brokers as well, and none in {place}"
    other = next((one for one in settings if (one.role, one.key) == OF_BROKER and one.value != 1), None)
    assumed = ""
    if other is not None:
        inherits = "kafka-topics shows what a topic inherits from brokers, and shows no value"
        assumed = f"{LEAST_ISR}=1, not {other.text} as in {other.source}: {inherits}"
    return _of_default(versions, f"{place} shows no other value", assumed, why)


def _of_cluster(settings: Settings, versions: Versions) -> LeastIsr:
    """Return the value at the level of the cluster, which hides those of brokers."""
    by_layer = {one.layer: one for one in settings if (one.role, one.key) == OF_BROKER}
    dynamic, running = by_layer.get(Layer.CLUSTER), by_layer.get(Layer.RUNNING)
    if dynamic and running and dynamic.value != running.value:
        raise PropertiesError(
            f"{running.source}: {running.spelled} contradicts {dynamic.spelled} in {dynamic.source}: with eligible "
            "leader replicas the value of the cluster is that of every broker; describe the cluster again"
        )
    if (shown := dynamic or running) is not None:
        return _given(shown)
    hides = "with eligible leader replicas the value of the cluster counts, which hides those of brokers"
    if settings.controllers:
        return _of_controllers(settings, versions, hides)
    of_brokers = by_layer.get(Layer.FILE)
    if of_brokers is None:
        return _of_default(versions)
    other = f", not {of_brokers.text} as in {of_brokers.source}" if of_brokers.value != 1 else ""
    assumed = (
        f"{LEAST_ISR}=1{other}: {hides}, and is 1 unless the controllers' files had another; give the output of "
        f"{_SHOWS_IT}, or a controller's file; to set it, while all replicas are in sync: kafka-configs --alter"
        f" --add-config {LEAST_ISR}=2 --entity-type brokers --entity-default"
    )
    return _of_default(versions, "1 unless a controller's file had another", assumed, hides)


def _of_controllers(settings: Settings, versions: Versions, hides: str) -> LeastIsr:
    """Return the value that the active controller wrote: it may be any of the controllers."""
    given = settings.of_controllers(*OF_BROKER)
    if len({one.value for one in given}) > 1:
        one, other = given[:2]
        raise PropertiesError(
            f"{other.source}: {other.spelled} contradicts {one.spelled} in {one.source}: with eligible leader replicas "
            f"that of the controller counts that was active; give the output of {_SHOWS_IT}"
        )
    lacking = [one for one in settings.controllers if not any(one in each.members for each in given)]
    if not given or lacking:
        says = f"{lacking[0]} does not give it"
        assumed = f"{LEAST_ISR}=1, as {says}: {hides}, and was written from a controller's file; {_SHOWS_IT} shows it"
        return _of_default(versions, f"1, as {says}", assumed, hides)
    (one,) = given
    assumed = (
        f"{LEAST_ISR}={one.text} for the cluster, written from {one.source} when eligible leader replicas were turned "
        f"on, and not changed since; {_SHOWS_IT} shows it"
    )
    return _given(one, assumed)


def _given(one: GivenSetting, assumed: str = "") -> LeastIsr:
    assert isinstance(one.value, int)
    line = UnderstoodSetting(LEAST_ISR, one.text, meaning(one.value) + one.note, one.source)
    return LeastIsr(Setting(one.value, one.source), line, one, assumed)


def _of_default(versions: Versions, source: str = "", assumed: str = "", why_not_the_brokers: str = "") -> LeastIsr:
    text = default(LEAST_ISR, versions.release)
    setting = Setting(int(text), source or default_of(versions.release))
    line = UnderstoodSetting(LEAST_ISR, text, meaning(setting.value), setting.source)
    return LeastIsr(setting, line, None, assumed, why_not_the_brokers)
