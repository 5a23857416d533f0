"""The named values of switches and fields."""

from enum import IntEnum


class Verification(IntEnum):
    """TXN_VERIFY: what the leader of a partition asks the coordinator before a transaction's first append (KIP-890).

    OFF: nothing. PART_1: whether the transaction is ongoing and contains the partition. TV2: to add the partition; with
    TV2, every end of a transaction also has an epoch of its own (transaction.version=2).
    """

    OFF = 0
    PART_1 = 1
    TV2 = 2


class TransactionState(IntEnum):
    """The state of a transactional.id at its coordinator. NOTHING: no transition is pending. Dead is left out."""

    NOTHING = 0
    EMPTY = 1
    ONGOING = 2
    PREPARE_COMMIT = 3
    PREPARE_ABORT = 4
    COMPLETE_COMMIT = 5
    COMPLETE_ABORT = 6


class Outcome(IntEnum):
    """What the coordinator has decided about a transaction, durably and irrevocably; OPEN: nothing yet."""

    OPEN = 0
    COMMITTED = 1
    ABORTED = 2


class Phase(IntEnum):
    """What an instance of the producer is doing."""

    NOT_STARTED = 0
    INITIALISING = 1
    READY = 2
    IN_TRANSACTION = 3
    COMMITTING = 4
    ABORTING = 5
    STOPPED = 6


class Request(IntEnum):
    """The outcome that an EndTxn or a marker asks for, if there is one."""

    NOTHING = 0
    COMMIT = 1
    ABORT = 2


class Marker(IntEnum):
    """The stage of the coordinator's marker at one partition.

    APPENDED: the partition answers when the marker is below its high watermark. DROPPED: the partition has refused the
    marker for good, or the marker was cancelled because another partition has refused its own.
    """

    NOT_SENT = 0
    SENT = 1
    APPENDED = 2
    ANSWERED = 3
    DROPPED = 4


class LateAnswer(IntEnum):
    """The state of an answer to a marker of an earlier coordinator epoch, whose receiver is the coordinator again.

    REMOVED_ENTRY: the answer made the broker remove its entry for the transaction with pending markers.
    """

    NONE = 0
    UNDER_WAY = 1
    REMOVED_ENTRY = 2


class Entry(IntEnum):
    """A cell of a log: empty, a marker, or the record of a transaction (A: the first one that began)."""

    EMPTY = 0
    COMMIT = 1
    ABORT = 2
    A = 3
    B = 4
    C = 5
    D = 6
