"""Settings of Kafka's clients and brokers, for the models that have them."""

from enum import IntEnum


class Spelled(IntEnum):
    """A setting whose values are written in lower case in a properties file."""

    @property
    def spelling(self) -> str:
        """The value as it is written in a properties file."""
        return self.name.lower()


class Acks(IntEnum):
    """The values of `acks`, which says when a producer regards a record as written."""

    ALL = -1
    ZERO = 0
    ONE = 1

    @property
    def spelling(self) -> str:
        """The value as it is written in a properties file."""
        return "all" if self is Acks.ALL else str(int(self))


class Truth(Spelled):
    """The values of a Boolean setting of Kafka, true and false."""

    FALSE = 0
    TRUE = 1
