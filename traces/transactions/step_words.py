"""The steps of Kafka's transactions in plain words, for readers who do not know the model.

In:  a step of that model: its action, its arguments, and the state before it.
Out: a clause in the present tense, such as `the coordinator sends the commit marker to partition 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log as transaction_log
from isrcheck.models.transactions.values import Outcome, Phase, Request, TransactionState
from isrcheck.traces.lanes.words import words_for

is_over: Callable[[State], bool] = transaction_log.is_over
decided_request: Callable[[State], int] = transaction_log.decided_request


def step_in_words(instance: Instance, step: Step, s: State) -> str | None:
    """Return a step in words; `s` is the state before it. None for an action that this module does not know."""
    return words_for(PLAIN, BY_STATE, instance, step, s)


def _kind(request: int) -> str:
    return "commit" if request == Request.COMMIT else "abort"


def _marker(s: State) -> str:
    return f"the {_kind(decided_request(s))} marker"


def _replicate(s: State) -> str:
    known = {
        TransactionState.EMPTY: f"producer {s.pending_producer} has epoch {s.pending_epoch}",
        TransactionState.ONGOING: f"partition {s.pending_partition} belongs to the transaction",
        TransactionState.PREPARE_COMMIT: "the transaction is to be committed",
        TransactionState.PREPARE_ABORT: "the transaction is to be aborted",
        TransactionState.COMPLETE_COMMIT: "the transaction is committed everywhere",
        TransactionState.COMPLETE_ABORT: "the transaction is aborted everywhere",
    }
    return f"the coordinator's log now says that {known[TransactionState(s.pending_state)]}"


def _init(s: State, producer: int) -> str:
    asks = f"producer {producer} asks for its epoch"
    if is_over(s):
        return f"{asks}, and the coordinator gives it the next one"
    return f"{asks}, and the coordinator first aborts the open transaction"


def _end(s: State, producer: int) -> str:
    kind = "commit" if s.phase[producer] == Phase.COMMITTING else "abort"
    return f"the coordinator takes the {kind} request of producer {producer}"


def _late_end(s: State) -> str:
    return f"a late copy of a {_kind(s.late_end_txn)} request reaches the coordinator"


def _end_again(s: State, producer: int) -> str:
    kind = "commit" if s.phase[producer] == Phase.COMMITTING else "abort"
    return f"producer {producer} sends its {kind} request again, and one of the copies is late"


def _send_marker(s: State, partition: int) -> str:
    return f"the coordinator sends {_marker(s)} to partition {partition}"


def _send_marker_again(s: State, partition: int) -> str:
    return f"the coordinator sends {_marker(s)} to partition {partition} again, and one of the copies is late"


def _append_marker(s: State, partition: int) -> str:
    return f"partition {partition} takes {_marker(s)}"


def _refuse_marker(s: State, partition: int) -> str:
    return f"partition {partition} refuses {_marker(s)}"


def _append_late_marker(s: State, partition: int) -> str:
    return f"a late copy of a {_kind(s.late_marker[partition])} marker reaches partition {partition}"


def _append(s: State, partition: int, transaction: int) -> str:
    late = "" if s.outcome[transaction] == Outcome.OPEN else ", which arrives late"
    return f"partition {partition} appends the record of transaction {spell_element(transaction)}{late}"


def _begin(s: State, producer: int) -> str:
    return f"producer {producer} begins transaction {spell_element(s.next_transaction)}"


def _send(s: State, producer: int, partition: int) -> str:
    latest = [t for t in range(s.transactions) if s.begun_by[t] == producer]
    name = f"the record of transaction {spell_element(latest[-1])}" if latest else "a record"
    return f"producer {producer} sends {name} to partition {partition}"


def _fail_over_after_append(s: State) -> str:
    if s.pending_producer != NONE:
        return "another broker becomes the coordinator, and finds the new epoch in its log"
    return "another broker becomes the coordinator, and finds the last decision in its log"


PLAIN: Mapping[str, str] = {
    "coordinator_times_out_transaction": "the transaction takes too long, and the coordinator aborts it",
    "coordinator_completes_transaction": "all partitions have their markers, and the coordinator ends the transaction",
    "coordinator_fails_over": "another broker becomes the coordinator",
    "coordinator_learns_of_marker": "the coordinator hears that partition {partition} has its marker",
    "coordinator_learns_of_earlier_marker": "the coordinator hears of a marker of an earlier coordinator epoch",
    "answer_to_marker_is_lost": "the answer of partition {partition} to its marker is lost",
    "leader_adds_partition": "partition {partition} asks to belong to transaction {transaction}",
    "leader_verifies_transaction": "partition {partition} hears that transaction {transaction} is open",
    "followers_fetch": "the followers of partition {partition} fetch everything",
    "producer_state_expires": "partition {partition} forgets the producer",
    "producer_starts": "producer {producer} starts, with the same transactional.id",
    "producer_asks_for_new_epoch": "producer {producer} asks for a new epoch",
    "producer_adds_partition": "producer {producer} adds partition {partition} to its transaction",
    "producer_commits": "producer {producer} asks to commit",
    "producer_aborts": "producer {producer} asks to abort",
    "producer_learns_of_commit": "producer {producer} hears that its transaction is committed",
    "producer_learns_of_abort": "producer {producer} hears that its transaction is aborted",
    "application_stops": "the application stops",
}
"""The actions for which the arguments say everything."""

BY_STATE: Mapping[str, Callable[..., str]] = {
    "transaction_log_is_replicated": _replicate,
    "coordinator_handles_init_producer_id": _init,
    "coordinator_handles_end_txn": _end,
    "coordinator_handles_late_end_txn": _late_end,
    "coordinator_fails_over_after_append": _fail_over_after_append,
    "coordinator_sends_marker": _send_marker,
    "leader_appends_marker": _append_marker,
    "leader_refuses_marker": _refuse_marker,
    "leader_appends_late_marker": _append_late_marker,
    "marker_is_sent_again": _send_marker_again,
    "end_txn_is_sent_again": _end_again,
    "leader_appends_record": _append,
    "producer_begins_transaction": _begin,
    "producer_sends_record": _send,
}
"""The actions for which the state before the step says what is done, or to whom."""
