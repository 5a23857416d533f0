"""Settings of Kafka's clients and brokers, for the models that have them."""

from enum import IntEnum


class Spelled(IntEnum):
    """A setting whose values a properties file has in lower case."""

    @property
    def spelling(self) -> str:
        """The value, as a properties file has it."""
        return self.name.lower()


class Acks(IntEnum):
    """When a producer regards a record as written: `acks`."""

    ALL = -1
    ZERO = 0
    ONE = 1

    @property
    def spelling(self) -> str:
        """The value, as a properties file has it."""
        return "all" if self is Acks.ALL else str(int(self))


class Truth(Spelled):
    """A Boolean key of Kafka's."""

    FALSE = 0
    TRUE = 1
