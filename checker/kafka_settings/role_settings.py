"""The settings of one role in one release of Kafka: what is given, and the defaults of the release.

In:  `Settings`, a release, and a role.
Out: a `Setting` for each key, and its line for the report.
"""

from __future__ import annotations

from typing import Any

from isrcheck.checker.kafka_settings.cluster_settings import (
    READERS,
    GivenSetting,
    Setting,
    Settings,
    UnderstoodSetting,
    default_of,
)
from isrcheck.checker.kafka_settings.keys import Role, default, knows
from isrcheck.checker.kafka_settings.releases import Version


class RoleSettings:
    """The given settings of one role, read as one Kafka release reads them."""

    def __init__(self, settings: Settings, release: Version, role: Role) -> None:
        self.settings = settings
        self.release = release
        self.role = role

    def knows(self, key: str) -> bool:
        """Whether this release has the key."""
        return knows(self.release, self.role, key)

    def given(self, key: str) -> GivenSetting | None:
        """Return the given setting of a key; None if it is not given, or if this release does not have the key."""
        return self.settings.get(self.role, key) if self.knows(key) else None

    def setting(self, key: str) -> Setting[Any]:
        """Return the value of a key: the given value, else the default of the release."""
        if found := self.given(key):
            return Setting(found.value, found.source)
        return Setting(READERS[key](default(key, self.release)), default_of(self.release))

    def line(self, key: str, setting: Setting[Any], meaning: str) -> UnderstoodSetting:
        """Return a setting with its meaning for the report; a given value is shown as it was written."""
        given = self.given(key)
        is_as_written = given is not None and setting.source == given.source
        text = given.text if given and is_as_written else str(setting.value)
        if isinstance(setting.value, bool) and not is_as_written:
            text = text.lower()
        return UnderstoodSetting(key, text, meaning + (given.note if given and is_as_written else ""), setting.source)
