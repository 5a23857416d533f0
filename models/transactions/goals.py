"""States and steps that must be reachable, to show that the model is not vacuous."""

from isrcheck.models.language import sometimes
from isrcheck.models.transactions.readers import is_aborted, is_visible, last_stable_offset
from isrcheck.models.transactions.values import Marker, Outcome, Request


@sometimes
def a_transaction_is_committed_everywhere(s):
    return any(all(is_visible(s, p, t) for p in range(s.partitions)) for t in range(s.transactions))


@sometimes(applies=lambda c: c.partitions > 1)
def a_transaction_is_aborted_everywhere(s):
    return any(all(is_aborted(s, p, t) for p in range(s.partitions)) for t in range(s.transactions))


@sometimes(applies=lambda c: c.partitions > 1)
def partitions_learn_one_after_the_other(s):
    """A committed transaction is visible at one partition and not yet at another."""
    return any(
        s.outcome[t] == Outcome.COMMITTED and is_visible(s, p, t) and not is_visible(s, q, t)
        for t in range(s.transactions)
        for p in range(s.partitions)
        for q in range(s.partitions)
    )


@sometimes
def an_open_transaction_holds_readers_back(s):
    return any(last_stable_offset(s, p) < s.high_watermark[p] for p in range(s.partitions))
