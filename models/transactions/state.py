"""Kafka's transactions: a coordinator, the instances of a producer, and the partitions that they write to."""

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    switch,
    terminal,
)
from isrcheck.models.transactions.values import (
    Entry,
    LateAnswer,
    Marker,
    Outcome,
    Phase,
    Request,
    TransactionState,
    Verification,
)


class Configuration:
    partitions = bound(2, "partitions that a transaction writes to", least=1, most=4, option="--partitions")
    transactions = bound(2, "transactions that can begin", least=1, most=4, option="--transactions")
    log_size = bound(4, "entries of a log: a record and a marker for each transaction", least=2, option="--log-size")
    producers = bound(2, "instances of the producer with one transactional.id", least=1, option="--producers")
    failovers = budget(1, "how often the coordinator moves", shapes=True, option="--failovers")
    timeouts = budget(0, "transactions of a live producer that time out", shapes=True, option="--timeouts")
    late_markers = budget(0, "markers that arrive after another coordinator has taken over", option="--late-markers")
    late_requests = budget(0, "EndTxn and markers that are sent again, with one copy late", option="--late-requests")
    late_answers = budget(
        0,
        "fail-overs back to the same broker that an answer to a marker survives",
        shapes=True,
        option="--late-answers",
    )
    producer_epochs = bound(
        0,
        "epochs of a producer id until the coordinator takes another (0: enough)",
        least=0,
        option="--producer-epochs",
    )
    expirations = budget(0, "producer states that expire too early (KAFKA-9144)", option="--expirations")
    TXN_VERIFY = switch(Verification.OFF, "what a leader asks before a transaction's first append (KIP-890)")
    OFFSET_COMMITS_VERIFIED = switch(False, "a leader asks before it appends offsets, too (KAFKA-15449)")
    UNKNOWN_PID_ACCEPTED = switch(False, "a partition without state of the producer accepts any sequence (KIP-360)")
    EPOCH_BUMP_BY_PRODUCER = switch(False, "a producer may take a new epoch after an abort (KIP-360)")
    PRODUCER_STATE_EXPIRES_EARLY = switch(True, "a marker does not keep the producer's state alive (KAFKA-9144)")
    ONGOING_PER_EPOCH = switch(False, "a record joins only an open transaction of its own epoch (KAFKA-18575)")
    FENCE_RAISES_EPOCH_TWICE = switch(False, "TV2: an abort that fences raises the epoch twice (KAFKA-19367)")
    MARKER_EPOCH_STRICT = switch(False, "TV2: a marker's epoch is above all that the partition has seen (KIP-1228)")
    EQUAL_MARKER_EPOCH_IS_RETRY = switch(False, "a marker that was already appended is acknowledged (KAFKA-19999)")
    MARKER_ANSWERS_CHECK_EPOCH = switch(False, "an answer to a marker ends only what its epoch began (KAFKA-16352)")
    FENCE_TAKES_NEXT_ID = switch(False, "TV2: a fence that exhausts a producer id takes the next one (KAFKA-20090)")
    NEXT_ID_IS_LOGGED = switch(False, "TV2: the coordinator's log has the next producer id (KAFKA-20310)")


class Partition(Domain, size="partitions"):
    """A partition that transactions write to. The last one belongs to `__consumer_offsets`."""


class Transaction(Domain, size="transactions", letters=True):
    """A transaction that a producer has begun. Its letter also names the record that it writes to each partition."""


class Producer(Domain, size="producers"):
    """An instance of the application's producer. All have the same transactional.id; lower numbers start earlier."""


class Offset(Domain, size="log_size"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.log_size + 1):
    pass


class CoordinatorEpoch(Domain, size=lambda configuration: configuration.failovers + 1):
    """The leader epoch of the partition of the transaction log."""


class ProducerEpoch(
    Domain, size=lambda c: 3 * c.producers + 2 * c.transactions + 2 * c.timeouts + 1 + 2 * (c.producer_epochs > 0)
):
    """An epoch of the producer; the domain is large enough for all steps that raise the epoch.

    The epochs of the next producer id are numbered after the epochs of the first id (coordinator.py).
    """


class RotatedId(Domain, size=lambda configuration: 1 if configuration.producer_epochs > 0 else 0):
    """The producer id that follows the first one."""


class SurvivingAnswer(Domain, size=lambda configuration: 1 if configuration.late_answers > 0 else 0):
    """A late answer to a marker: it survives fail-overs, and arrives when its receiver is the coordinator again."""


class State:
    # The coordinator: what its log says, and what it keeps in memory.
    coordinator_epoch = field(values=CoordinatorEpoch)
    transaction_state = field(values=TransactionState, initially=TransactionState.EMPTY)
    producer_epoch = field(values=ProducerEpoch)
    in_transaction = field(Partition, values=Flag)

    # The record that the coordinator is appending to its log: the next state and epoch, the partition that it adds,
    # the producer that is answered.
    pending_state = field(values=TransactionState)
    pending_epoch = field(values=ProducerEpoch)
    pending_partition = field(values=optional(Partition), initially=NONE)
    pending_producer = field(values=optional(Producer), initially=NONE)

    # Whether the coordinator knows the producer id with which what is prepared will be complete; once it is, the one
    # before.
    knows_other_id = field(RotatedId, values=Flag)

    # Markers on their way to the partitions: of this coordinator, and late copies.
    marker = field(Partition, values=Marker)
    late_marker = field(Partition, values=Request)
    late_marker_epoch = field(Partition, values=ProducerEpoch)
    late_marker_coordinator_epoch = field(Partition, values=CoordinatorEpoch)
    late_answer = field(SurvivingAnswer, values=LateAnswer)

    # Each partition: its log, what it knows of the producer (nothing of records below an offset, if its state has
    # expired), and which record it may append after verification.
    log_record = field(Partition, Offset, values=Entry)
    log_end_offset = field(Partition, values=EndOffset)
    high_watermark = field(Partition, values=EndOffset)
    known_epoch = field(Partition, values=optional(ProducerEpoch), initially=NONE)
    known_coordinator_epoch = field(Partition, values=optional(CoordinatorEpoch), initially=NONE)
    forgotten_below = field(Partition, values=EndOffset)
    verified = field(Partition, values=optional(Transaction), initially=NONE)
    was_sent = field(Partition, Transaction, values=Flag)

    # Each instance of the producer, and a late copy of its EndTxn. The first instance is ready from the start.
    phase = field(Producer, values=Phase)
    epoch = field(Producer, values=optional(ProducerEpoch), initially=NONE)
    position = field(Producer, values=between(0, "transactions"))
    late_end_txn = field(values=Request)
    late_end_txn_epoch = field(values=ProducerEpoch)

    # Each transaction: who began it, with which epoch, which input it processes, what was decided.
    next_transaction = field(values=between(0, "transactions"))
    begun_by = field(Transaction, values=optional(Producer), initially=NONE)
    begun_with_epoch = field(Transaction, values=optional(ProducerEpoch), initially=NONE)
    processed_input = field(Transaction, values=between(0, "transactions"))
    commit_requested = field(Transaction, values=Flag)
    outcome = field(Transaction, values=Outcome)

    timeouts_left = field(values=between(0, "timeouts"))
    late_markers_left = field(values=between(0, lambda configuration: max(3, configuration.late_markers)))
    late_requests_left = field(values=between(0, lambda configuration: max(3, configuration.late_requests)))
    late_answers_left = field(SurvivingAnswer, values=between(0, "late_answers"))
    expirations_left = field(values=between(0, lambda configuration: max(3, configuration.expirations)))


# ---------------------------------------------------------------------------------------------------------------- start
#
# The initial state: an empty log everywhere, and the first instance of the producer initialised with epoch 0.


@initial
def a_producer_is_ready(configuration):
    """The first instance of the producer has epoch 0; the coordinator is in the state Empty."""
    others = configuration.producers - 1
    yield {
        "phase": [Phase.READY] + others * [Phase.NOT_STARTED],
        "epoch": [0] + others * [NONE],
        "timeouts_left": configuration.timeouts,
        "late_markers_left": configuration.late_markers,
        "late_requests_left": configuration.late_requests,
        "late_answers_left": [configuration.late_answers] * (configuration.late_answers > 0),
        "expirations_left": configuration.expirations,
    }


@terminal
def work_is_done(s):
    """Accept every state as the last one: inputs, instances of the producer and faults are limited, so every behaviour
    ends. Separate properties say what must not remain open at the end, such as a marker that is refused for ever."""
    return True


@contradiction
def logs_are_too_short(configuration):
    """A log has to hold a record and a marker for each transaction; raise --log-size, or lower --transactions."""
    return configuration.log_size < 2 * configuration.transactions


@contradiction
def expirations_without_the_bug(configuration):
    """Producer states expire too early only with PRODUCER_STATE_EXPIRES_EARLY=on (KAFKA-9144); switch it on, or set
    --expirations 0."""
    return configuration.expirations > 0 and not configuration.PRODUCER_STATE_EXPIRES_EARLY


@contradiction
def tv2_without_offset_commits(configuration):
    """With TXN_VERIFY=TV2, a leader asks the coordinator to add the partition to the transaction, also for offset
    commits; switch OFFSET_COMMITS_VERIFIED on, or choose --protocol 3.6."""
    return configuration.TXN_VERIFY == Verification.TV2 and not configuration.OFFSET_COMMITS_VERIFIED


@contradiction
def marker_rules_without_tv2(configuration):
    """MARKER_EPOCH_STRICT is a rule for TXN_VERIFY=TV2, in which every marker has its own epoch; switch it off, or
    choose --protocol 4.1 or 4.2."""
    return configuration.MARKER_EPOCH_STRICT and configuration.TXN_VERIFY != Verification.TV2


@contradiction
def second_epoch_without_tv2(configuration):
    """FENCE_RAISES_EPOCH_TWICE is about TXN_VERIFY=TV2, in which an abort raises the epoch; switch it off, or choose
    --protocol 4.0."""
    return configuration.FENCE_RAISES_EPOCH_TWICE and configuration.TXN_VERIFY != Verification.TV2


@contradiction
def next_id_without_tv2(configuration):
    """FENCE_TAKES_NEXT_ID and NEXT_ID_IS_LOGGED are about TXN_VERIFY=TV2, in which the end of a transaction can exhaust
    a producer id; switch them off, or choose --protocol 4.3 or 4.4."""
    return (
        configuration.FENCE_TAKES_NEXT_ID or configuration.NEXT_ID_IS_LOGGED
    ) and configuration.TXN_VERIFY != Verification.TV2
