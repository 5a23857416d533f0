"""States that must be reachable, to show that the model is not vacuous: what transactions have to be able to do."""

from isrcheck.models.language import sometimes
from isrcheck.models.transactions.readers import is_aborted, is_visible, last_stable_offset
from isrcheck.models.transactions.values import Outcome


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
    """A new instance of the producer commits the input after the one that an older instance committed."""
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
