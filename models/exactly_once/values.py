"""The named values of entries and fields: client settings, protocol switches, and stages of batches and requests."""

from enum import IntEnum


class Truth(IntEnum):
    """A Boolean key of Kafka's."""

    FALSE = 0
    TRUE = 1

    @property
    def spelling(self):
        return self.name.lower()


class Retries(IntEnum):
    """`retries`: none (the default up to 2.0), or as many as fit into delivery.timeout.ms (2147483647, since 2.1).

    A finite number is left out: the batch then fails, and its sequence number is neither taken back nor unresolved.
    """

    NONE = 0
    MOST = 1

    @property
    def spelling(self):
        return "0" if self is Retries.NONE else "2147483647"


class Partitioner(IntEnum):
    """How the partition of a batch is chosen, once for each call of send().

    STICKY is the default for records without a key since 2.4: any partition, since the application does not control
    when it changes (KIP-480, KIP-794). BY_KEY: any partition, but always the same for a record.
    """

    STICKY = 0
    ROUND_ROBIN = 1
    BY_KEY = 2

    @property
    def spelling(self):
        return self.name.lower()


class Resend(IntEnum):
    """Which records the application sends again: none, or those that it does not know to be delivered."""

    NEVER = 0
    UNKNOWN = 1

    @property
    def spelling(self):
        return self.name.lower()


class UnknownProducer(IntEnum):
    """UNKNOWN_PID_POLICY: which sequence number a partition accepts from a producer that it does not know.

    OUT_OF_ORDER (0.11): 0, else OUT_OF_ORDER_SEQUENCE_NUMBER; REJECT (1.0): 0, else UNKNOWN_PRODUCER_ID; ACCEPT (2.5,
    KIP-360): any; ACCEPT_UNLESS_EMPTY (4.5, KAFKA-15591): any, but 0 in an empty log.
    """

    OUT_OF_ORDER = 0
    REJECT = 1
    ACCEPT = 2
    ACCEPT_UNLESS_EMPTY = 3


class BatchState(IntEnum):
    """A batch, as the producer sees it: not sent yet, a request is under way, waiting to be sent again, or done.

    DELIVERED: the callback reported success, or acks=0. FAILED: it reported a time-out or an error, or the producer
    restarted, and the application does not know what became of the record. REFUSED: it reported a sequence error
    (OutOfOrderSequenceException, or UnknownProducerIdException, which extends it).
    """

    NEW = 0
    IN_FLIGHT = 1
    WAITING = 2
    DELIVERED = 3
    FAILED = 4
    REFUSED = 5


class Request(IntEnum):
    """The request of a batch: none, on its way, late, or answered with success or an error that is on its way back.

    LATE: left behind on a connection that the producer has closed; it arrives late, or never, and requests of later
    connections overtake it.
    """

    NONE = 0
    ON_ITS_WAY = 1
    LATE = 2
    SUCCESS = 3
    NOT_LEADER = 4
    OUT_OF_ORDER_SEQUENCE = 5
    UNKNOWN_PRODUCER_ID = 6
