"""What Kafka promises about transactions."""

from isrcheck.models.language import NONE, always, always_possible, always_step, sometimes
from isrcheck.models.transactions.log import (
    holds,
    holds_offsets,
    is_aborted,
    is_over,
    is_prepared,
    is_visible,
    last_stable_offset,
    nothing_is_held_back,
    record_of,
)
from isrcheck.models.transactions.values import Outcome, Phase


def shows_only_committed(s):
    return all(
        s.outcome[transaction] == Outcome.COMMITTED or not is_visible(s, p, transaction)
        for transaction in range(s.transactions)
        for p in range(s.partitions)
    )


def keeps_all_committed(s):
    return all(
        holds(s, p, transaction) and not is_aborted(s, p, transaction)
        for transaction in range(s.transactions)
        for p in range(s.partitions)
        if s.outcome[transaction] == Outcome.COMMITTED and s.was_sent[p][transaction]
    )


@always
def read_committed_is_atomic(s):
    """A read_committed reader receives all records of a committed transaction, and none of any other.

    Partitions learn of a decision one after the other, so the property is about what readers eventually receive. The
    next two properties are its two halves.
    """
    return shows_only_committed(s) and keeps_all_committed(s)


@always
def no_aborted_reads(s):
    """No record of a transaction that was not committed is visible to read_committed readers."""
    return shows_only_committed(s)


@always
def no_lost_commits(s):
    """Every record of a committed transaction is in its log, and no marker there aborts it."""
    return keeps_all_committed(s)


@always
def committed_on_request(s):
    """A transaction is committed only if its producer has requested that."""
    return all(
        s.commit_requested[transaction] or s.outcome[transaction] != Outcome.COMMITTED
        for transaction in range(s.transactions)
    )


def is_fenced(s, transaction):
    """After the instance that began the transaction, a newer instance of the producer has been initialised."""
    return any(s.begun_by[transaction] < i and s.epoch[i] != NONE for i in range(s.producers))


@always_step
def no_zombie_commits(before, after):
    """Once a newer instance is initialised, no transaction of an older one is committed, and none becomes visible.

    The exception is a transaction that was committed before: it may become visible later.
    """
    return not any(
        before.begun_by[transaction] != NONE
        and is_fenced(before, transaction)
        and before.outcome[transaction] != Outcome.COMMITTED
        and (
            after.outcome[transaction] == Outcome.COMMITTED
            or any(
                is_visible(after, p, transaction) and not is_visible(before, p, transaction)
                for p in range(before.partitions)
            )
        )
        for transaction in range(before.transactions)
    )


@always(applies=lambda configuration: configuration.partitions > 1)
def processed_exactly_once(s):
    """No partition shows the output of one input twice to read_committed readers. An offset may be committed twice, as
    the second commit changes nothing.
    """
    return not any(
        is_visible(s, p, a) and is_visible(s, p, b) and s.processed_input[a] == s.processed_input[b]
        for a in range(s.transactions)
        for b in range(s.transactions)
        if a < b
        for p in range(s.partitions)
        if not holds_offsets(s, p)
    )


@always
def no_input_is_skipped(s):
    """If an input has a committed output, so has the input before it."""
    return all(
        any(
            s.outcome[earlier] == Outcome.COMMITTED and s.processed_input[earlier] + 1 == s.processed_input[later]
            for earlier in range(s.transactions)
        )
        for later in range(s.transactions)
        if s.processed_input[later] > 0 and s.outcome[later] == Outcome.COMMITTED
    )


@always(applies=lambda configuration: configuration.transactions > 1 and configuration.partitions > 1)
def order_preserved(s):
    """In a partition of the output, the records of one producer instance, late records included, are in the order in
    which they were sent."""
    return not any(
        s.log_record[p][offset] == record_of(s, later) and s.log_record[p][behind] == record_of(s, earlier)
        for p in range(s.partitions)
        if not holds_offsets(s, p)
        for earlier in range(s.transactions)
        for later in range(s.transactions)
        if earlier < later and s.begun_by[earlier] == s.begun_by[later]
        for offset in range(s.log_size)
        for behind in range(s.log_size)
        if offset < behind
    )


@always(applies=lambda configuration: configuration.producer_epochs > 0)
def fenced_only_by_another(s):
    """If only one instance has started, and it has no transaction, its epoch is that of the coordinator."""
    return not any(
        s.phase[i] == Phase.READY
        and s.epoch[i] != s.producer_epoch
        and is_over(s)
        and all(s.phase[other] == Phase.NOT_STARTED for other in range(s.producers) if other != i)
        for i in range(s.producers)
    )


@always_possible
def lso_is_not_stuck(s):
    """From every state, the last stable offset of every partition can still reach the end of its log."""
    return all(nothing_is_held_back(s, p) for p in range(s.partitions))


@always_possible
def coordinator_is_not_stuck(s):
    """From every state, the coordinator can still finish what it has prepared."""
    return not is_prepared(s)


# ---------------------------------------------------------------------------------------------------------------- goals
#
# States that must be reachable, to show that the model is not vacuous: what transactions have to be able to do.


@sometimes
def a_transaction_is_committed_everywhere(s):
    return any(all(is_visible(s, p, t) for p in range(s.partitions)) for t in range(s.transactions))


@sometimes
def a_transaction_is_aborted_everywhere(s):
    return any(all(is_aborted(s, p, t) for p in range(s.partitions)) for t in range(s.transactions))


@sometimes(applies=lambda configuration: configuration.partitions > 1)
def partitions_learn_one_after_the_other(s):
    """A committed transaction is visible at one partition, and not yet at another."""
    return any(
        s.outcome[t] == Outcome.COMMITTED and is_visible(s, p, t) and not is_visible(s, q, t)
        for t in range(s.transactions)
        for p in range(s.partitions)
        for q in range(s.partitions)
    )


@sometimes
def an_open_transaction_holds_readers_back(s):
    return any(last_stable_offset(s, p) < s.high_watermark[p] for p in range(s.partitions))


@sometimes(applies=lambda configuration: configuration.transactions > 1)
def an_input_is_processed_again(s):
    """After an abort, another transaction processes the same input and commits."""
    return any(
        s.outcome[a] == Outcome.ABORTED
        and s.outcome[b] == Outcome.COMMITTED
        and s.processed_input[a] == s.processed_input[b]
        for a in range(s.transactions)
        for b in range(s.transactions)
        if a < b
    )


@sometimes(applies=lambda configuration: configuration.transactions > 1 and configuration.producers > 1)
def another_instance_goes_on(s):
    """After an older instance committed an input, a new instance of the producer commits the next input."""
    return any(
        s.outcome[a] == Outcome.COMMITTED
        and s.outcome[b] == Outcome.COMMITTED
        and s.begun_by[a] < s.begun_by[b]
        and s.processed_input[a] + 1 == s.processed_input[b]
        for a in range(s.transactions)
        for b in range(s.transactions)
        if a < b
    )


@sometimes(applies=lambda configuration: configuration.failovers > 0)
def a_new_coordinator_sends_markers(s):
    return any(s.known_coordinator_epoch[p] > 0 for p in range(s.partitions))
