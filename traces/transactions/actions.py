"""Kafka's transactions, action by action: each step in plain words, with its messages; and what goes wrong in a trace.

ACTIONS describes each action, as in kafka/actions.py. A record is late if it arrives after the coordinator has decided
its transaction. The model's budgets count late copies of other requests, so `rare_events` leaves these copies out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log, promises
from isrcheck.models.transactions.values import Outcome, Phase, Request, TransactionState
from isrcheck.traces.format.trace import Trace, arguments_of
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.lanes.scene import (
    ELECTION,
    FAULT,
    LOST,
    RESPONSE,
    ActionView,
    Events,
    StepContext,
    befalls,
    in_turn,
    listed,
    sent,
)

is_over: Callable[[State], bool] = log.is_over
decided_request: Callable[[State], int] = log.decided_request
holds: Callable[[State, int, int], bool] = log.holds
shows_only_committed: Callable[[State], bool] = promises.shows_only_committed


def name_of(value: IntEnum) -> str:
    """Return the name of a state as Kafka writes it, such as PrepareCommit."""
    return "".join(word.capitalize() for word in value.name.split("_"))


# --------------------------------------------------------------------------------------------------- words and messages


def _kind(request: int) -> str:
    return "commit" if request == Request.COMMIT else "abort"


def _marker(s: State) -> str:
    return f"{_kind(decided_request(s))} marker"


def _end(s: State, producer: int) -> str:
    """The decision that a producer has requested with EndTxn, while it waits for the response: `commit` or `abort`."""
    return "commit" if s.phase[producer] == Phase.COMMITTING else "abort"


def _latest(s: State, producer: int, otherwise: str) -> str:
    """The letter of the transaction that a producer has begun last; `otherwise` if it has begun none."""
    begun = [t for t in range(s.transactions) if s.begun_by[t] == producer]
    return spell_element(begun[-1]) if begun else otherwise


def _replicate(s: State) -> str:
    news = {
        TransactionState.EMPTY: f"producer {s.pending_producer} has epoch {s.pending_epoch}",
        TransactionState.ONGOING: f"partition {s.pending_partition} belongs to the transaction",
        TransactionState.PREPARE_COMMIT: "the transaction is to be committed",
        TransactionState.PREPARE_ABORT: "the transaction is to be aborted",
        TransactionState.COMPLETE_COMMIT: "the transaction is committed everywhere",
        TransactionState.COMPLETE_ABORT: "the transaction is aborted everywhere",
    }
    return f"the coordinator's log now says that {news[TransactionState(s.pending_state)]}"


def _initialise(s: State, producer: int) -> str:
    then = "gives it the next one" if is_over(s) else "first aborts the open transaction"
    return f"producer {producer} asks for its epoch, and the coordinator {then}"


def _append(s: State, partition: int, transaction: int) -> str:
    late = "" if s.outcome[transaction] == Outcome.OPEN else ", which arrives late"
    return f"partition {partition} appends the record of transaction {spell_element(transaction)}{late}"


def _send(s: State, producer: int, partition: int) -> str:
    latest = _latest(s, producer, "")
    record = f"the record of transaction {latest}" if latest else "a record"
    return f"producer {producer} sends {record} to partition {partition}"


def _fail_over_after_append(s: State) -> str:
    entry = "new epoch" if s.pending_producer != NONE else "last decision"
    return f"another broker becomes the coordinator, and finds the {entry} in its log"


def _appends(context: StepContext) -> Events:
    s, record = context.before, f"record {context.spelled.get('transaction')}"
    if (sender := s.begun_by[context.transaction]) != NONE:
        yield context.arrow(("producer", sender), "partition", record)
    if s.outcome[context.transaction] != Outcome.OPEN:
        yield context.mark("partition", f"{record} is late", FAULT)


def _replicates(context: StepContext) -> Events:
    s = context.before
    yield context.mark("coordinator", f"{name_of(TransactionState(s.pending_state))} is in the log", ELECTION)
    if s.pending_producer != NONE:
        yield context.arrow("coordinator", ("producer", s.pending_producer), f"epoch {s.pending_epoch}")


def _stops(context: StepContext) -> Events:
    for i in range(context.before.producers):
        yield context.mark(("producer", i), "stops", FAULT)


def _sent_marker(context: StepContext) -> str:
    return _marker(context.before)


def _sent_end(context: StepContext) -> str:
    return f"EndTxn {_end(context.before, context.producer)}"


ACTIONS: Mapping[str, ActionView] = {
    "producer_starts": ActionView(
        "producer {producer} starts, with the same transactional.id",
        sent("producer", "coordinator", "InitProducerId", RESPONSE),
    ),
    "producer_asks_for_new_epoch": ActionView(
        "producer {producer} asks for a new epoch", sent("producer", "coordinator", "InitProducerId", RESPONSE)
    ),
    "producer_begins_transaction": ActionView(
        lambda s, producer: f"producer {producer} begins transaction {spell_element(s.next_transaction)}"
    ),
    "producer_adds_partition": ActionView(
        "producer {producer} adds partition {partition} to its transaction",
        sent("producer", "coordinator", "add partition {partition}"),
    ),
    "producer_sends_record": ActionView(
        _send,
        sent(
            "producer",
            "partition",
            lambda context: f"record {_latest(context.before, context.producer, '')}".rstrip(),
            RESPONSE,
        ),
    ),
    "producer_commits": ActionView(
        "producer {producer} asks to commit", sent("producer", "coordinator", "EndTxn commit", RESPONSE)
    ),
    "producer_aborts": ActionView(
        "producer {producer} asks to abort", sent("producer", "coordinator", "EndTxn abort", RESPONSE)
    ),
    "producer_learns_of_commit": ActionView(
        "producer {producer} hears that its transaction is committed", sent("coordinator", "producer", "committed")
    ),
    "producer_learns_of_abort": ActionView(
        "producer {producer} hears that its transaction is aborted", sent("coordinator", "producer", "aborted")
    ),
    "application_stops": ActionView("the application stops", _stops),
    "producer_state_expires": ActionView(
        "partition {partition} forgets the producer", befalls("partition", "forgets the producer", FAULT)
    ),
    "transaction_log_is_replicated": ActionView(_replicate, _replicates),
    "coordinator_handles_init_producer_id": ActionView(_initialise, sent("producer", "coordinator", "InitProducerId")),
    "coordinator_handles_end_txn": ActionView(
        lambda s, producer: f"the coordinator takes the {_end(s, producer)} request of producer {producer}",
        sent("producer", "coordinator", _sent_end),
    ),
    "end_txn_is_sent_again": ActionView(
        lambda s, producer: (
            f"producer {producer} sends its {_end(s, producer)} request again, and one of the copies is late"
        ),
        sent("producer", "coordinator", lambda context: f"{_sent_end(context)} again", RESPONSE),
    ),
    "coordinator_handles_late_end_txn": ActionView(
        lambda s: f"a late copy of a {_kind(s.late_end_txn)} request reaches the coordinator",
        befalls("coordinator", "a late EndTxn", FAULT),
    ),
    "coordinator_times_out_transaction": ActionView(
        "the transaction takes too long, and the coordinator aborts it", befalls("coordinator", "time-out", FAULT)
    ),
    "coordinator_completes_transaction": ActionView(
        "all partitions have their markers, and the coordinator ends the transaction",
        befalls("coordinator", "all markers are there"),
    ),
    "coordinator_fails_over": ActionView(
        "another broker becomes the coordinator", befalls("coordinator", "moves to another broker", FAULT)
    ),
    "coordinator_fails_over_after_append": ActionView(
        _fail_over_after_append, befalls("coordinator", "moves to another broker", FAULT)
    ),
    "coordinator_sends_marker": ActionView(
        lambda s, partition: f"the coordinator sends the {_marker(s)} to partition {partition}",
        sent("coordinator", "partition", _sent_marker, RESPONSE),
    ),
    "marker_is_sent_again": ActionView(
        lambda s, partition: (
            f"the coordinator sends the {_marker(s)} to partition {partition} again, and one of the copies is late"
        ),
        sent("coordinator", "partition", lambda context: f"{_sent_marker(context)} again", RESPONSE),
    ),
    "leader_appends_marker": ActionView(
        lambda s, partition: f"partition {partition} takes the {_marker(s)}",
        sent("coordinator", "partition", _sent_marker),
    ),
    "leader_refuses_marker": ActionView(
        lambda s, partition: f"partition {partition} refuses the {_marker(s)}",
        in_turn(sent("coordinator", "partition", _sent_marker), sent("partition", "coordinator", "refused")),
    ),
    "leader_appends_late_marker": ActionView(
        lambda s, partition: f"a late copy of a {_kind(s.late_marker[partition])} marker reaches partition {partition}",
        in_turn(
            sent(
                "coordinator",
                "partition",
                lambda context: f"{_kind(context.before.late_marker[context.partition])} marker",
            ),
            befalls("partition", "a late marker", FAULT),
        ),
    ),
    "coordinator_learns_of_marker": ActionView(
        "the coordinator hears that partition {partition} has its marker",
        sent("partition", "coordinator", "marker appended"),
    ),
    "coordinator_learns_of_earlier_marker": ActionView(
        "the coordinator hears of a marker of an earlier coordinator epoch",
        befalls("coordinator", "a late answer to an earlier marker", FAULT),
    ),
    "answer_to_marker_is_lost": ActionView(
        "the answer of partition {partition} to its marker is lost",
        sent("partition", "coordinator", "marker appended", LOST),
        loses_message=True,
    ),
    "leader_adds_partition": ActionView(
        "partition {partition} asks to belong to transaction {transaction}",
        sent("partition", "coordinator", "add me to {transaction}"),
    ),
    "leader_verifies_transaction": ActionView(
        "partition {partition} hears that transaction {transaction} is open",
        in_turn(sent("partition", "coordinator", "is {transaction} open?"), sent("coordinator", "partition", "yes")),
    ),
    "leader_appends_record": ActionView(_append, _appends),
    "followers_fetch": ActionView(
        "the followers of partition {partition} fetch everything", befalls("partition", "replicated")
    ),
}
"""Everything shown about each action; a producer begins a transaction without any message."""


def rare_events(trace: Trace) -> dict[str, int]:
    """Return how many records arrive after their transaction was decided, and how often the coordinator epoch rose."""
    late = sum(1 for _ in _late_records(trace))
    return {"late messages": late, "fail-overs": int(trace.named_states[-1].coordinator_epoch)}


def _late_records(trace: Trace) -> Iterator[dict[str, Any]]:
    """The arguments of each step in which a partition appends a record after its transaction was decided."""
    for s, step in zip(trace.named_states, trace.steps, strict=False):
        arguments = arguments_of(trace.instance, step)
        if step.action == "leader_appends_record" and s.outcome[arguments["transaction"]] != Outcome.OPEN:
            yield arguments


# ------------------------------------------------------------------------------------------------------ what goes wrong

WRONG: Mapping[str, str] = {
    "committed_on_request": "transaction {transaction} is committed, although its producer never asked for it",
    "no_zombie_commits": "transaction {transaction} of an old producer counts, after a new producer has taken over",
    "processed_exactly_once": "the output of one input is read twice, from transactions {a} and {b}",
    "no_input_is_skipped": "transaction {later} is committed, but the input before its own is skipped",
    "order_preserved": (
        "records change places: the record of transaction {later} comes before that of transaction {earlier}"
    ),
    "fenced_only_by_another": "producer {i} is refused, although nobody has fenced it",
    "lso_is_not_stuck": "readers of partition {p} hang for ever",
    "coordinator_is_not_stuck": "the coordinator can never finish a transaction",
    "lso_advances": "readers hang for ever",
    "prepared_transactions_complete": "a decided transaction is never completed",
}
"""What goes wrong if a property fails, with the values of the property's variables."""

OF_TRANSACTIONS = ("transaction", "a", "b", "earlier", "later")
"""The variables that stand for transactions, which have letters."""


def headline(trace: Trace, how: str) -> str | None:
    """Return a sentence that says what goes wrong, usually followed by `how` it happens; None if no sentence fits."""
    numbers = why_broken(trace).numbers() if trace.loop is None else {}
    if trace.property_name in ("no_aborted_reads", "no_lost_commits", "read_committed_is_atomic"):
        return _torn(trace, numbers["transaction"], numbers["p"]) if {"transaction", "p"} <= numbers.keys() else None
    if trace.property_name == "no_zombie_commits" and "transaction" in numbers:
        how = _late_record(trace, numbers["transaction"]) or how
    named = {name: spell_element(number) if name in OF_TRANSACTIONS else number for name, number in numbers.items()}
    try:
        return f"{WRONG[trace.property_name or ''].format(**named)}: {how}"
    except KeyError:  # a property without words, or whose variables have other names
        return None


def _torn(trace: Trace, transaction: int, partition: int) -> str:
    """A sentence about a transaction whose record at a partition is read without a commit, or lost after a commit."""
    last = trace.named_states[-1]
    record = f"the record of transaction {spell_element(transaction)}"
    if not shows_only_committed(last):
        outcome = "aborted" if last.outcome[transaction] == Outcome.ABORTED else "open"
        late = "arrives late and " if partition in _late_at(trace, transaction) else ""
        return f"a record of an {outcome} transaction is read: {record} {late}is committed with another transaction"
    lost = "a record of a committed transaction is lost"
    if not holds(last, partition, transaction):
        return f"{lost}: partition {partition} does not have {record}"
    marker = "a late abort marker" if _was_ended_late(trace, partition) else "an abort marker"
    return f"{lost}: {marker} at partition {partition} ends transaction {spell_element(transaction)}"


def _late_record(trace: Trace, transaction: int) -> str | None:
    """Return a phrase that names the partitions where a transaction's record arrives late, or None."""
    late = [*map(str, sorted(_late_at(trace, transaction)))]
    return f"its record arrives late at partition {listed(late)}, and joins the new transaction" if late else None


def _late_at(trace: Trace, transaction: int) -> set[int]:
    return {late["partition"] for late in _late_records(trace) if late["transaction"] == transaction}


def _was_ended_late(trace: Trace, partition: int) -> bool:
    markers = [step for step in trace.steps if step.action in (MARKER, LATE_MARKER)]
    ended_by = [step.action for step in markers if arguments_of(trace.instance, step)["partition"] == partition]
    return ended_by[-1:] == [LATE_MARKER]


MARKER, LATE_MARKER = "leader_appends_marker", "leader_appends_late_marker"
"""The actions by which a partition gets a marker, and a late copy of one."""
