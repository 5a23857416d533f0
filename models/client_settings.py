"""Settings of Kafka's clients, for the models that have clients."""

from enum import IntEnum


class Acks(IntEnum):
    """When a producer regards a record as written: `acks`."""

    ALL = -1
    ZERO = 0
    ONE = 1

    @property
    def spelling(self) -> str:
        """The value, as a properties file has it."""
        return "all" if self is Acks.ALL else str(int(self))
