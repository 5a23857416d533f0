"""The settings in effect for a consumer, and whether it reads from followers.

In:  `Settings`, and the version of Kafka.
Out: a `Consumer`, or a PropertiesError if the consumer refuses the settings.

The fact sheet of the models says nothing about two kinds of values of auto.offset.reset: `smallest` and `largest`,
words of the old Scala consumer, which 2.0 removed; and `by_duration:...`, which came with 4.0 (KIP-1106).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.checker.kafka_config.versions import Versions
from isrcheck.checker.kafka_settings.cluster_settings import BY_DURATION, Setting, Settings, UnderstoodSetting
from isrcheck.checker.kafka_settings.keys import Role, knows
from isrcheck.checker.kafka_settings.properties_file import PropertiesError
from isrcheck.checker.kafka_settings.releases import Version
from isrcheck.checker.kafka_settings.role_settings import RoleSettings
from isrcheck.models.kafka.state.values import AutoOffsetReset, IsolationLevel, PositionCheck

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
