"""The steps of Kafka's replication in plain words, for readers who do not know the model.

In:  a step of Kafka's model: its action, its arguments, and the state before it.
Out: a clause in the present tense, such as `broker 0 answers the fetch of broker 2`.

A clause says who does what to whom. What follows from it (a high watermark moves, a record is acknowledged) is left to
the drawing, which finds it by comparing the states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isrcheck.models.kafka.actions import alter_partition
from isrcheck.models.kafka.actions.kraft import brokers as metadata
from isrcheck.models.kafka.actions.kraft import controller as kraft_controller
from isrcheck.models.kafka.state import controller as assignment
from isrcheck.models.kafka.state import controller as requests
from isrcheck.models.kafka.state.values import AlterPartition, TransactionState
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import name_entry, name_transaction
from isrcheck.traces.kafka.model import latest_epoch
from isrcheck.traces.kafka.partition_state import alters_partitions, is_pending
from isrcheck.traces.lanes.words import listed, words_for

Flags = Any

diverges: Callable[[State, int, int, int], bool] = alter_partition.diverges
is_refused: Callable[[State, int], bool] = requests.is_refused
has_ineligible_member: Callable[[State, int], bool] = requests.has_ineligible_member
can_lead_alone: Callable[[State, int], bool] = kraft_controller.can_lead_alone
is_new_replica: Callable[[State, int], bool] = metadata.is_new_replica
is_complete_at_once: Callable[[State, Flags], bool] = assignment.is_complete_at_once
is_complete_with_request: Callable[[State, int], bool] = assignment.is_complete_with_request


def step_in_words(instance: Instance, step: Step, s: State) -> str | None:
    """Return a step in words; `s` is the state before it. None for an action that this module does not know."""
    return words_for(PLAIN, BY_STATE, instance, step, s)


def brokers(numbers: list[int]) -> str:
    """Return several brokers as a part of a sentence: `broker 1`, `brokers 1 and 2`."""
    return f"broker{'s' * (len(numbers) != 1)} {listed(map(str, numbers))}"


# ------------------------------------------------------------------------------------------------------------ producers


def _append(s: State, leader: int) -> str:
    return f"the producer sends record {spell_element(s.next_record)} to broker {leader}, which appends it"


def _refuse(s: State, leader: int) -> str:
    record = spell_element(s.next_record)
    return f"broker {leader} refuses record {record}, because too few brokers are in sync"


def _lose_request(s: State) -> str:
    return f"the producer sends record {spell_element(s.next_record)}, which never arrives"


def _lose_answer(s: State, leader: int) -> str:
    return f"broker {leader} appends record {spell_element(s.next_record)}, and its answer is lost"


def _append_in_transaction(s: State, leader: int, transaction: int) -> str:
    return f"{_append(s, leader)}, as a part of {_the_transaction(s, transaction)}"


def _append_marker(s: State, leader: int, transaction: int) -> str:
    is_commit = s.transaction_state[transaction] == TransactionState.COMMITTED
    kind = "commit" if is_commit else "abort"
    return f"broker {leader} appends the {kind} marker of {_the_transaction(s, transaction)}"


def _decide(word: str) -> Callable[..., str]:
    def decide(s: State, transaction: int) -> str:
        return f"the coordinator {word} {_the_transaction(s, transaction)}"

    return decide


def _the_transaction(s: State, transaction: int) -> str:
    return name_transaction(s, transaction) if s.transactions > 1 else "the transaction"


# ---------------------------------------------------------------------------------------------------------- replication


def _fetch(s: State, leader: int, follower: int) -> str:
    asks = f"broker {follower} fetches from broker {leader}"
    if alters_partitions(s) and diverges(s, leader, follower, latest_epoch(s, follower)):
        return f"{asks}, which answers where their logs part"
    if s.log_end_offset[follower] < s.log_end_offset[leader]:
        return f"broker {leader} answers the fetch of broker {follower}"
    return f"broker {follower} asks broker {leader} for more, and so tells it how far it has come"


def _apply(s: State, follower: int, leader: int) -> str:
    entries = [
        name_entry(s, s.response_record[follower][leader][offset])
        for offset in range(s.log_size)
        if s.response_record[follower][leader][offset] != NONE
    ]
    if not entries:
        return f"broker {follower} takes over the high watermark of broker {leader}"
    return f"broker {follower} appends {listed(entries)} from the answer of broker {leader}"


def _out_of_range(s: State, follower: int, leader: int) -> str:
    end = "stops" if s.OUT_OF_RANGE_HALTS and s.unclean_elections == 0 else "cuts it"
    return f"broker {follower} finds that its log is longer than that of broker {leader}, and {end}"


def _shrink(s: State, leader: int, removed: Flags) -> str:
    slow = brokers([r for r in range(s.replicas) if removed[r]])
    if alters_partitions(s):
        return f"broker {leader} asks the controller to take {slow} out of the ISR"
    return f"broker {leader} takes {slow} out of the ISR"


# ------------------------------------------------------------------------------------------------------- the controller


def _is(s: State, r: int) -> str:
    return "which still runs" if s.is_up[r] else "which is down"


def _fail_over(s: State, elected: int) -> str:
    former = s.controller_leader
    if s.is_up[former]:
        return f"the controller takes broker {former} for dead, and elects broker {elected}"
    return f"the controller elects broker {elected}, because broker {former} is down"


def _fence(s: State, broker: int) -> str:
    return f"the controller gives up on broker {broker}, {_is(s, broker)}"


def _fence_leader(s: State, broker: int, elected: int) -> str:
    return f"{_fence(s, broker)}, and elects broker {elected}"


def _fence_last(s: State, broker: int) -> str:
    return f"{_fence(s, broker)}, and nobody is left to lead"


def _unfence(s: State, broker: int) -> str:
    elected = ", and elects it" if can_lead_alone(s, broker) else ""
    return f"the controller takes broker {broker} back{elected}"


def _handle_change(s: State, leader: int) -> str:
    if is_refused(s, leader) or has_ineligible_member(s, leader):
        return f"the controller refuses the ISR that broker {leader} asks for"
    is_complete = is_complete_with_request(s, leader)
    removed = [r for r in range(s.replicas) if is_complete and s.is_removing[r]]
    members = [r for r in range(s.replicas) if s.requested_isr[leader][r] and r not in removed]
    told = f"the controller makes {brokers(members)} the ISR, as broker {leader} asks"
    if not is_complete:
        return told
    return f"{told}, and removes {brokers(removed)}" if removed else f"{told}, which ends the reassignment"


def _complete(s: State, leader: int, elected: int) -> str:
    return f"{_handle_change(s, leader)}, and elects broker {elected}"


def _reassign(s: State, target: Flags) -> str:
    end = ", which is complete at once" if is_complete_at_once(s, target) else ""
    return f"an operator reassigns the partition to {brokers([r for r in range(s.replicas) if target[r]])}{end}"


def _reassign_without_leader(s: State, target: Flags, elected: int) -> str:
    return f"{_reassign(s, target)}, and the controller elects broker {elected}"


def _hear_answer(s: State, leader: int) -> str:
    granted = "granted" if s.alter_partition[leader] == AlterPartition.ACCEPTED else "refused"
    late = "" if is_pending(s, leader) else ", but no longer waits for it"
    return f"broker {leader} hears that its change of the ISR is {granted}{late}"


def _follow(s: State, broker: int, epoch: int) -> str:
    return f"broker {broker} hears that broker {s.metadata_leader[epoch]} leads, in epoch {epoch}"


def _apply_metadata(s: State, broker: int, partition_epoch: int) -> str:
    leader, epoch = s.metadata_leader[partition_epoch], s.metadata_leader_epoch[partition_epoch]
    members = [r for r in range(s.replicas) if s.metadata_isr[partition_epoch][r]]
    if s.reassignments > 0 and not s.metadata_assigned[partition_epoch][broker]:
        return f"broker {broker} hears that it is no longer a replica, and deletes its log"
    if epoch == s.leader_epoch[broker] and not is_new_replica(s, broker):
        return f"broker {broker} reads in the metadata that the ISR is {brokers(members)}"
    if leader == NONE:
        return f"broker {broker} hears that nobody leads, in epoch {epoch}"
    return f"broker {broker} hears that {'it' if leader == broker else f'broker {leader}'} leads, in epoch {epoch}"


def _read_configuration(s: State, broker: int) -> str:
    minimum = s.changed_min_isr[s.min_isr_changes_read[broker]]
    return f"broker {broker} reads that min.insync.replicas is {minimum}"


# --------------------------------------------------------------------------------------------------------------- faults


def _lose_power(s: State, broker: int, kept: int) -> str:
    lost = [name_entry(s, s.log_record[broker][offset]) for offset in range(kept, s.log_end_offset[broker])]
    return f"broker {broker} loses power" + (f", and with it {listed(lost)}" if lost else "")


PLAIN: Mapping[str, str] = {
    "producer_retries": "the producer sends record {record} again to broker {leader}, which appends it",
    "producer_resends": "the producer sends record {record} again to broker {leader}",
    "request_fails": "the request with record {record} fails, and nothing is appended",
    "producer_begins_new_epoch": "broker {leader} refuses record {record}, and the producer takes a new epoch",
    "producer_begins_from_zero": "broker {leader} has forgotten the producer, which numbers record {record} from 0",
    "leader_mistakes_request": "broker {leader} takes record {record} for an older one, and appends nothing",
    "broker_saves_producer_state": "broker {broker} saves what it knows of its producers",
    "consumer_is_sent_to_follower": "broker {leader} sends consumer {consumer} to broker {follower}",
    "consumer_returns_to_leader": "consumer {consumer} goes back to the leader",
    "consumer_fetches": "consumer {consumer} reads the next entry from broker {broker}",
    "consumer_finds_nothing": "consumer {consumer} finds nothing new at broker {broker}",
    "consumer_follows_new_leader": "consumer {consumer} learns that broker {leader} leads, and checks its position",
    "consumer_is_out_of_range": "broker {leader} does not have the position of consumer {consumer}, which resets it",
    "leader_admits_fetch": "broker {leader} finds the fetch of broker {follower} to be of its epoch",
    "leader_counts_fetch": "broker {leader} counts the fetch of broker {follower}, which it has checked before",
    "follower_checks_diverging_answer": (
        "broker {follower} finds the answer to be of its epoch in which broker {leader} says where their logs part"
    ),
    "follower_truncates_as_noted": "broker {follower} cuts its log, as the answer says that it has checked before",
    "leader_answers_parked_fetch": "broker {leader} answers the waiting fetch of broker {follower}",
    "leader_deletes_records": "a client deletes everything before offset {offset} at broker {leader}",
    "follower_falls_behind": "broker {follower} no longer counts as caught up with broker {leader}",
    "follower_reconciles": "broker {follower} asks broker {leader} where their logs part",
    "response_is_lost": "the answer of broker {leader} to broker {follower} is lost",
    "response_no_longer_fits": "broker {follower} drops an old answer of broker {leader}",
    "follower_starts_over": "broker {follower} drops its log, and starts where the log of broker {leader} starts",
    "follower_takes_high_watermark_first": "broker {follower} takes over the high watermark of broker {leader}",
    "follower_truncates": "broker {follower} cuts its log, as broker {leader} told it",
    "controller_removes_dead_follower": "the controller takes broker {follower}, which is down, out of the ISR",
    "controller_elects_preferred": "the controller moves the leadership to broker {elected}, in a preferred election",
    "controller_elects_unclean": "the controller elects broker {elected}, which is not in sync, in an unclean election",
    "broker_becomes_leader": "broker {broker} hears that it leads, in epoch {epoch}",
    "broker_bounces": "broker {broker} restarts so quickly that the controller does not notice",
    "broker_crashes": "broker {broker} crashes",
    "broker_restarts": "broker {broker} starts again",
    "broker_loses_disk": "broker {broker} stops, and its disk is lost",
    "broker_crashes_while_it_fetches": "broker {follower} crashes while its fetch is on its way to broker {leader}",
    "broker_loses_disk_while_it_fetches": (
        "broker {follower} stops and loses its disk while its fetch is on its way to broker {leader}"
    ),
    "leader_handles_late_fetch": "broker {leader} handles a fetch that broker {follower} sent before it restarted",
    "late_fetch_is_lost": "a fetch that broker {follower} sent before it restarted is lost",
    "answer_to_leader_is_lost": "the controller's answer to broker {leader} is lost",
    "broker_asks_to_shut_down": "broker {broker} announces that it will shut down",
    "leader_asks_to_shut_down": (
        "broker {broker} announces that it will shut down, and the controller elects broker {elected}"
    ),
    "last_leader_asks_to_shut_down": "broker {broker} announces that it will shut down, and nobody is left to lead",
    "broker_shuts_down": "broker {broker} shuts down in order",
    "controller_cancels_reassignment": "an operator cancels the reassignment",
    "controller_cancels_without_leader": (
        "an operator cancels the reassignment, and the controller elects broker {elected}"
    ),
    "operator_changes_min_insync_replicas": "an operator sets min.insync.replicas to {minimum}",
    "controller_unregisters_broker": "an operator unregisters broker {broker}, which is down",
    "operator_deletes_replica_folder": (
        "an operator deletes the folder of the replica on broker {broker}, which was shut down in order"
    ),
    "broker_reports_directory": "broker {broker} reports in which directory its replica is",
    "broker_drops_metadata": "broker {broker} fails to apply the metadata up to partition epoch {partition_epoch}",
    "leader_answers_deletion": "broker {leader} answers that the records are deleted",
}
"""The actions for which the arguments say everything."""

BY_STATE: Mapping[str, Callable[..., str]] = {
    "producer_appends": _append,
    "producer_is_refused": _refuse,
    "send_is_lost": _lose_request,
    "answer_is_lost": _lose_answer,
    "producer_appends_in_transaction": _append_in_transaction,
    "coordinator_commits": _decide("commits"),
    "coordinator_aborts": _decide("aborts"),
    "leader_appends_marker": _append_marker,
    "leader_handles_fetch": _fetch,
    "follower_applies_response": _apply,
    "follower_is_out_of_range": _out_of_range,
    "leader_shrinks_isr": _shrink,
    "controller_fails_over": _fail_over,
    "controller_fences_broker": _fence,
    "controller_fences_leader": _fence_leader,
    "controller_fences_last_leader": _fence_last,
    "controller_unfences_broker": _unfence,
    "controller_handles_alter_partition": _handle_change,
    "controller_begins_reassignment": _reassign,
    "controller_reassigns_without_leader": _reassign_without_leader,
    "controller_completes_reassignment": _complete,
    "leader_hears_answer": _hear_answer,
    "broker_becomes_follower": _follow,
    "broker_applies_metadata": _apply_metadata,
    "broker_reads_configuration": _read_configuration,
    "broker_loses_power": _lose_power,
}
"""The actions for which the state before the step says what is done, or to whom."""
