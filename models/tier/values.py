"""The named values of entries and fields: client and broker settings, and protocol switches."""

from enum import IntEnum


class Truth(IntEnum):
    """A Boolean key of Kafka's."""

    FALSE = 0
    TRUE = 1

    @property
    def spelling(self):
        return self.name.lower()


class Seeding(IntEnum):
    """SEEDING: what the leader's retention does about highestOffsetInRemoteStorage before it counts.

    NEVER: it takes the value as it is, -1 in a log that was just loaded. IF_UNKNOWN: it asks the remote log metadata
    if the value is -1 (KAFKA-20732). ALWAYS: it asks each time, so that an old value cannot be used.
    """

    NEVER = 0
    IF_UNKNOWN = 1
    ALWAYS = 2
