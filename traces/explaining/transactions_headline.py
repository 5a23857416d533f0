"""What goes wrong in a trace of Kafka's transactions, and how, in one sentence.

In:  a trace of that model that breaks one of its properties, and the words of its last step.
Out: a sentence; None for a property that has no words here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.models.transactions import log as readers
from isrcheck.models.transactions import promises
from isrcheck.models.transactions.values import Outcome
from isrcheck.traces.format.trace import Trace, arguments_of
from isrcheck.traces.format.why_false import why_broken
from isrcheck.traces.lanes.words import listed

holds: Callable[[State, int, int], bool] = readers.holds
shows_only_committed: Callable[[State], bool] = promises.shows_only_committed

WRONG: Mapping[str, str] = {
    "committed_on_request": "transaction {transaction} is committed, although its producer never asked for it",
    "no_zombie_commits": "transaction {transaction} of an old producer counts, after a new one has taken over",
    "processed_exactly_once": "the output of one input is read twice, from transactions {a} and {b}",
    "no_input_is_skipped": "transaction {later} is committed, but the input before its own is skipped",
    "order_preserved": "records change places: that of transaction {later} comes before that of {earlier}",
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
    """Return what goes wrong; `how` is the last step in words, or what is repeated for ever."""
    numbers = why_broken(trace).numbers() if trace.loop is None else {}
    if trace.property_name in ("no_aborted_reads", "no_lost_commits", "read_committed_is_atomic"):
        return _torn(trace, numbers["transaction"], numbers["p"]) if {"transaction", "p"} <= numbers.keys() else None
    if trace.property_name == "no_zombie_commits" and "transaction" in numbers:
        how = _late_record(trace, numbers["transaction"]) or how
    named = {name: spell_element(one) if name in OF_TRANSACTIONS else one for name, one in numbers.items()}
    try:
        return f"{WRONG[trace.property_name or ''].format(**named)}: {how}"
    except KeyError:  # a property that is not told of, or whose variables have other names
        return None


def _torn(trace: Trace, transaction: int, partition: int) -> str:
    """What is wrong with the record of a transaction at a partition: it is read, or missing."""
    last = State(trace.instance, trace.states[-1])
    record = f"the record of transaction {spell_element(transaction)}"
    if not shows_only_committed(last):
        outcome = "aborted" if last.outcome[transaction] == Outcome.ABORTED else "open"
        late = "arrives late and " if _arrives_late(trace, transaction, partition) else ""
        return f"a record of an {outcome} transaction is read: {record} {late}is committed with another one"
    what = "a record of a committed transaction is lost"
    if not holds(last, partition, transaction):
        return f"{what}: partition {partition} does not have {record}"
    marker = "a late abort marker" if _was_ended_late(trace, partition) else "an abort marker"
    return f"{what}: {marker} at partition {partition} ends transaction {spell_element(transaction)}"


def _late_record(trace: Trace, transaction: int) -> str | None:
    """That the record of a transaction arrives late at a partition, if it does."""
    partitions = range(State(trace.instance, trace.states[-1]).partitions)
    late = [str(p) for p in partitions if _arrives_late(trace, transaction, p)]
    return f"its record arrives late at partition {listed(late)}, and joins the new one" if late else None


def _arrives_late(trace: Trace, transaction: int, partition: int) -> bool:
    """Whether a record arrives after its transaction was decided."""
    return any(
        step.action == "leader_appends_record"
        and arguments_of(trace.instance, step) == {"partition": partition, "transaction": transaction}
        and State(trace.instance, before).outcome[transaction] != Outcome.OPEN
        for step, before in zip(trace.steps, trace.states, strict=False)
    )


def _was_ended_late(trace: Trace, partition: int) -> bool:
    """Whether the last marker of a partition is a late copy."""
    markers = ("leader_appends_marker", "leader_appends_late_marker")
    found = [
        step.action
        for step in trace.steps
        if step.action in markers and arguments_of(trace.instance, step)["partition"] == partition
    ]
    return found[-1:] == ["leader_appends_late_marker"]
