"""The steps of a trace that nobody can bring about: a producer that learns of an answer that nobody sends.

In:  a trace of `transactions`.
Out: why no driver can bring it about, or None.

In the model, a producer learns of the outcome as soon as it is decided, and if it was not its own request that was
carried out, then by one that it sends again. Kafka answers such a request with CONCURRENT_TRANSACTIONS until every
partition has its marker and the coordinator has written that (TransactionCoordinator.endTransaction).
"""

from __future__ import annotations

from isrcheck.models.run import State
from isrcheck.models.transactions.values import Phase, Request, TransactionState
from isrcheck.traces.format.trace import Trace

LEARNS = ("producer_learns_of_commit", "producer_learns_of_abort")
WAITS_FOR = {Phase.COMMITTING: Request.COMMIT, Phase.ABORTING: Request.ABORT}
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def why_nobody_answers(trace: Trace) -> str | None:
    """The first step in which a producer learns of an outcome before anybody tells it, as a reason; None if none is."""
    handled: int | None = None
    answered: set[int] = set()
    for position, step in enumerate(trace.steps, start=1):
        before = State(trace.instance, trace.states[position - 1])
        if step.action == "coordinator_handles_end_txn":
            (handled,) = step.ordinals
        elif step.action == "coordinator_handles_late_end_txn":
            handled = next((i for i in range(before.producers) if _waits_for_same(before, i)), None)
        elif step.action in ("transaction_log_is_replicated", "coordinator_fails_over_after_append"):
            answered |= set() if handled is None else {handled}
            handled = None
        elif step.action == "coordinator_fails_over":
            handled = None
        elif step.action in LEARNS:
            (producer,) = step.ordinals
            is_written = before.transaction_state in COMPLETE and before.pending_state == TransactionState.NOTHING
            if producer not in answered and not is_written:
                return (
                    f"in step {position}, producer {producer} learns of an outcome that another request has brought"
                    " about, before it is complete; Kafka tells it CONCURRENT_TRANSACTIONS until then"
                )
            answered.discard(producer)
    return None


def _waits_for_same(state: State, producer: int) -> bool:
    """Whether the late EndTxn is one that this producer has sent, and awaits the answer to."""
    asked = WAITS_FOR.get(state.phase[producer])
    return bool(asked == state.late_end_txn and state.epoch[producer] == state.late_end_txn_epoch)
