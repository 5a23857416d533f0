"""Transactions as one partition sees them: records of a transaction, its markers, and what readers receive.

Each transaction has a producer of its own. The coordinator is not modelled: a transaction is open, committed or
aborted; once it is decided, a leader may append its marker, which is a log entry like a record. Since 0.11. Not
modelled: a second marker after a lost response (it changes nothing), and late requests that reopen a transaction.
"""

from isrcheck.models.kafka.actions.clients.producer import append_record
from isrcheck.models.kafka.state.broker.commit import advance_high_watermark, has_enough_replicas
from isrcheck.models.kafka.state.broker.log import append_to_log, holds_record
from isrcheck.models.kafka.state.broker.roles import presumes_leadership
from isrcheck.models.kafka.state.clients.readers import marker_of
from isrcheck.models.kafka.state.fields import Replica, Transaction
from isrcheck.models.kafka.state.values import TransactionState
from isrcheck.models.language import action, require


def continues_sequence(s, leader, transaction):
    """Whether the leader has every record of the transaction that was sent so far."""
    return all(
        holds_record(s, leader, record) for record in range(s.records) if s.transaction_of[record] == transaction
    )


@action(shows="at {leader} in {transaction}")
def producer_appends_in_transaction(s, leader: Replica, transaction: Transaction):
    """A leader appends the producer's next record, which is part of an open transaction.

    The producer is idempotent: a leader without the previous record refuses this one (UNKNOWN_PRODUCER_ID,
    OUT_OF_ORDER_SEQUENCE_NUMBER; ProducerAppendInfo.checkSequence).
    """
    require(presumes_leadership(s, leader))
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(s.log_end_offset[leader] < s.log_size)
    require(s.next_record < s.records)
    require(has_enough_replicas(s, leader))
    require(continues_sequence(s, leader, transaction))
    s.transaction_of[s.next_record] = transaction
    append_record(s, leader, s.next_record)
    s.next_record += 1


def was_begun(s, transaction):
    return any(s.transaction_of[record] == transaction for record in range(s.records))


@action(shows="{transaction}")
def coordinator_commits(s, transaction: Transaction):
    """The coordinator decides to commit, in its own replicated log; the marker follows. Kafka: PrepareCommit."""
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(was_begun(s, transaction))
    s.transaction_state[transaction] = TransactionState.COMMITTED


@action(shows="{transaction}")
def coordinator_aborts(s, transaction: Transaction):
    """The coordinator decides to abort, at the producer's request or after a timeout. Kafka: PrepareAbort."""
    require(s.transaction_state[transaction] == TransactionState.OPEN)
    require(was_begun(s, transaction))
    s.transaction_state[transaction] = TransactionState.ABORTED


@action(shows="of {transaction} at {leader}")
def leader_appends_marker(s, leader: Replica, transaction: Transaction):
    """A leader appends the coordinator's marker, acks=all. Kafka: KafkaApis.handleWriteTxnMarkersRequest."""
    require(presumes_leadership(s, leader))
    require(s.transaction_state[transaction] != TransactionState.OPEN)
    require(s.log_end_offset[leader] < s.log_size)
    require(has_enough_replicas(s, leader))
    require(not any(s.log_record[leader][offset] == marker_of(s, transaction) for offset in range(s.log_size)))
    append_to_log(s, leader, marker_of(s, transaction), s.leader_epoch[leader])
    advance_high_watermark(s, leader)
