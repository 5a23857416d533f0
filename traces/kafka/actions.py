"""Kafka's replication, action by action: each step in plain words, its messages, and what it does to records.

The row of an action in ACTIONS has everything that is shown about the action, such as a clause in the present tense:
`broker 0 answers the fetch of broker 2`. The effects of a step (a log is truncated, a record is acknowledged) are found
by comparing the states before and after it (EFFECTS), so they are shown for actions without a row, too.

An announcement of the controller, a response to a fetch, or an answer to AlterPartition is late if the controller has
changed the leader or the ISR between the sending and the arrival of the message. A fetch is late if its leader leads in
a later epoch than the follower knows. A lost message is not late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.state.values import AlterPartition, Fetch, TransactionState
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.states import spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace, arguments_of, name_entry, name_transaction, spell_entry
from isrcheck.traces.kafka import model
from isrcheck.traces.kafka.lanes import (
    alters_partitions,
    epoch_answer,
    has_kraft,
    is_pending,
    known_by_controller,
    requested_isr,
    spell_divergence,
    spell_flags,
)
from isrcheck.traces.kafka.model import Flags
from isrcheck.traces.lanes.scene import (
    ELECTION,
    FAULT,
    LOST,
    RESPONSE,
    ActionView,
    Events,
    MessageFinder,
    Participant,
    StepContext,
    befalls,
    in_turn,
    listed,
    sent,
)


def brokers(numbers: list[int]) -> str:
    """Return several brokers as a part of a sentence: `broker 1`, `brokers 1 and 2`."""
    return f"broker{'s' * (len(numbers) != 1)} {listed(map(str, numbers))}"


def members(s: State, flags: Flags) -> list[int]:
    """Return the brokers that belong to a set, which `flags` stores as one truth value per broker."""
    return [r for r in range(s.replicas) if flags[r]]


# ------------------------------------------------------------------------------------------------------------ producers


def _next(s: State) -> str:
    return spell_element(s.next_record)


def _append(s: State, leader: int) -> str:
    return f"the producer sends record {_next(s)} to broker {leader}, which appends it"


def _append_marker(s: State, leader: int, transaction: int) -> str:
    is_commit = s.transaction_state[transaction] == TransactionState.COMMITTED
    kind = "commit" if is_commit else "abort"
    return f"broker {leader} appends the {kind} marker of {_the_transaction(s, transaction)}"


def _the_transaction(s: State, transaction: int) -> str:
    return name_transaction(s, transaction) if s.transactions > 1 else "the transaction"


def _produce(context: StepContext) -> Events:
    sender = "transaction" if "transaction" in context.arguments else "producer"
    yield context.arrow(sender, "leader", f"produce {_next(context.before)}")


def _retry(context: StepContext) -> Events:
    again = " again" if context.record < context.before.next_record else ""
    yield context.arrow("producer", "leader", f"produce {spell_element(context.record)}{again}")


def _decision(context: StepContext) -> str:
    return TransactionState(context.after.transaction_state[context.transaction]).name.lower()


def _marker(context: StepContext) -> str:
    return f"marker: {name_transaction(context.after, context.transaction)} {_decision(context)}"


# ------------------------------------------------------------------------------------------------------------ consumers


def _consumer_fetch(context: StepContext) -> str:
    return f"consumer {context.consumer} fetches from {context.before.position[context.consumer]}"


def _validation(context: StepContext) -> str:
    s, consumer = context.before, context.consumer
    if s.consumed_epoch[consumer] == NONE:
        return f"consumer {consumer}: epoch {s.leader_epoch[context.leader]}"
    return f"consumer {consumer}: where does e{s.consumed_epoch[consumer]} end?"


# ---------------------------------------------------------------------------------------------------------- replication


def _fetch(s: State, leader: int, follower: int) -> str:
    asks = f"broker {follower} fetches from broker {leader}"
    if alters_partitions(s) and model.diverges(s, leader, follower, model.latest_epoch(s, follower)):
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
    slow = brokers(members(s, removed))
    if alters_partitions(s):
        return f"broker {leader} asks the controller to take {slow} out of the ISR"
    return f"broker {leader} takes {slow} out of the ISR"


def _fetch_from(context: StepContext) -> str:
    return f"fetch from {context.before.log_end_offset[context.follower]}"


def _late_offset(context: StepContext) -> str:
    return f"late fetch from {context.before.late_fetch_offset[context.leader][context.follower]}"


def _fetches(context: StepContext) -> Events:
    yield context.arrow("follower", "leader", _fetch_from(context))
    if context.after.fetch[context.follower][context.leader] == Fetch.PARKED:
        yield context.mark("leader", "fetch parked")
    else:
        yield context.arrow("leader", "follower", _content(context, context.after), RESPONSE)


def _answers_parked(context: StepContext) -> Events:
    if context.after.fetch[context.follower][context.leader] == Fetch.ANSWERED:
        yield context.arrow("leader", "follower", _content(context, context.after), RESPONSE)
    else:
        yield context.arrow("leader", "follower", "OFFSET_OUT_OF_RANGE")


def _content(context: StepContext, s: State) -> str:
    """The content of the fetch response in flight, as text: entries and high watermark, or where the logs diverge."""
    follower, leader = context.follower, context.leader
    if s.fetch[follower][leader] == Fetch.DIVERGING:
        return spell_divergence(s, follower, leader)
    entries = [
        spell_entry(s, s.response_record[follower][leader][o], s.response_epoch[follower][leader][o])
        for o in range(s.log_size)
        if s.response_record[follower][leader][o] != NONE
    ]
    return f"{' '.join(entries) or 'nothing new'}, HW {s.response_high_watermark[follower][leader]}"


def _reconciles(context: StepContext) -> Events:
    s, follower, leader = context.before, context.follower, context.leader
    epoch = model.latest_epoch(s, follower)
    if epoch == NONE and not model.is_answered(s, leader, epoch):
        yield context.mark("follower", "knows no epoch")
        return
    question = "my log has no epoch" if epoch == NONE else f"where does e{epoch} end?"
    yield context.arrow("follower", "leader", question)
    answer = epoch_answer(s, follower) or f"no epoch until {model.end_offset_for(s, leader, epoch)}"
    yield context.arrow("leader", "follower", answer)


def _is_out_of_range(context: StepContext) -> Events:
    yield context.arrow("follower", "leader", _fetch_from(context))
    yield context.arrow("leader", "follower", "OFFSET_OUT_OF_RANGE")
    if not context.after.is_up[context.follower]:
        yield context.mark("follower", "halts", FAULT)


def _divergence(context: StepContext) -> str:
    return spell_divergence(context.before, context.follower, context.leader)


def _takes_high_watermark(context: StepContext) -> Events:
    high_watermark = context.before.response_high_watermark[context.follower][context.leader]
    yield context.arrow("leader", "follower", f"{_divergence(context)}, HW {high_watermark}")
    yield context.mark("follower", f"takes HW {context.after.high_watermark[context.follower]}")


# ------------------------------------------------------------------------------------------------------- the controller


def _fail_over(s: State, elected: int) -> str:
    former = s.controller_leader
    if s.is_up[former]:
        return f"the controller takes broker {former} for dead, and elects broker {elected}"
    return f"the controller elects broker {elected}, because broker {former} is down"


def _fence(s: State, broker: int) -> str:
    return f"the controller gives up on broker {broker}, which {'still runs' if s.is_up[broker] else 'is down'}"


def _handle_change(s: State, leader: int) -> str:
    if model.is_refused(s, leader) or model.has_ineligible_member(s, leader):
        return f"the controller refuses the ISR that broker {leader} asks for"
    is_complete = model.is_complete_with_request(s, leader)
    removed = members(s, s.is_removing) if is_complete else []
    isr = [r for r in members(s, s.requested_isr[leader]) if r not in removed]
    change = f"the controller makes {brokers(isr)} the ISR, as broker {leader} asks"
    if not is_complete:
        return change
    return f"{change}, and removes {brokers(removed)}" if removed else f"{change}, which ends the reassignment"


def _reassign(s: State, target: Flags) -> str:
    end = ", which is complete at once" if model.is_complete_at_once(s, target) else ""
    return f"an operator reassigns the partition to {brokers(members(s, target))}{end}"


def _decides(text: Callable[[StepContext], str] | str) -> MessageFinder:
    """Return a function that marks a step in the controller's lane with `text`, and with the elected leader, if any."""

    def decide(context: StepContext) -> Events:
        said = text if isinstance(text, str) else text(context)
        yield context.mark("controller", f"{said.format(**context.spelled)}{_elected(context)}", ELECTION)

    return decide


def _reassigns(context: StepContext) -> str:
    return f"reassigns to {spell_flags(context.before, context.target)}"


def _decides_at_most(end: Callable[[StepContext], str]) -> MessageFinder:
    """Return a function that marks a step in the controller's lane with the text of `end`, unless the text is empty."""

    def decide(context: StepContext) -> Events:
        if text := end(context):
            yield context.mark("controller", text.removeprefix(", "), ELECTION)

    return decide


def _elected(context: StepContext) -> str:
    """The election by the controller in this step, as the end of a sentence: `, elects 1`, `, no leader` or ""."""
    before, after = context.before, context.after
    if after.controller_leader == before.controller_leader:
        return ""
    return ", no leader" if after.controller_leader == NONE else f", elects {after.controller_leader}"


def _forgotten(context: StepContext) -> str:
    """The end of a sentence, if the controller forgets the ELR or the last known leader in this step; otherwise ""."""
    before, after = known_by_controller(context.before), known_by_controller(context.after)
    names = {"elr": "the ELR", "last": "the last known leader"}
    forgotten = [name for sign, name in names.items() if sign in before and sign not in after]
    return f", forgets {' and '.join(forgotten)}" if forgotten else ""


# ------------------------------------------------------------------------------------------------------- AlterPartition


def _hear_answer(s: State, leader: int) -> str:
    granted = "granted" if s.alter_partition[leader] == AlterPartition.ACCEPTED else "refused"
    late = "" if is_pending(s, leader) else ", but no longer waits for it"
    return f"broker {leader} hears that its change of the ISR is {granted}{late}"


def _request(s: State, leader: int) -> str:
    return f"AlterPartition p{s.requested_partition_epoch[leader]}: ISR {requested_isr(s, leader)}"


def _answer(s: State, leader: int) -> str:
    if s.alter_partition[leader] == AlterPartition.INELIGIBLE:
        return "INELIGIBLE_REPLICA"
    return f"answer p{s.requested_partition_epoch[leader] + 1}: ISR {requested_isr(s, leader)}"


def _handles_request(context: StepContext) -> Events:
    before, after, leader = context.before, context.after, context.leader
    yield context.arrow("leader", "controller", _request(before, leader))
    if after.controller_leader != before.controller_leader:
        yield context.arrow("controller", "leader", "NEW_LEADER_ELECTED")
    elif after.alter_partition[leader] != AlterPartition.NONE:
        yield context.arrow("controller", "leader", _answer(after, leader), RESPONSE)
    elif after.controller_partition_epoch > before.controller_partition_epoch:
        answer = f"answer p{after.controller_partition_epoch}: e{after.controller_epoch} begins"
        yield context.arrow("controller", "leader", answer)
    else:
        yield context.arrow("controller", "leader", _refusal(before, leader))
    is_new = after.controller_partition_epoch > before.controller_partition_epoch
    if is_new and model.is_complete_with_request(before, leader):
        removed = "".join(map(str, members(before, before.is_removing)))
        text = f"removes {removed}" if removed else "the reassignment is complete"
        yield context.mark("controller", f"{text}{_elected(context)}", ELECTION)


def _refusal(s: State, leader: int) -> str:
    """The error for an AlterPartition request with an old leader or partition epoch, or a member that is no replica."""
    if s.requested_leader_epoch[leader] < s.controller_epoch:
        return "FENCED_LEADER_EPOCH"
    is_new = s.requested_partition_epoch[leader] == s.controller_partition_epoch
    return "INVALID_REQUEST" if is_new and model.names_no_replica(s, leader) else "INVALID_UPDATE_VERSION"


def _hears_answer(context: StepContext) -> Events:
    yield context.arrow("controller", "leader", _answer(context.before, context.leader))
    if not is_pending(context.before, context.leader):
        yield context.mark("leader", "nothing is pending: ignored")


# ------------------------------------------------------------------------------------------------------------- metadata


def _apply_metadata(s: State, broker: int, partition_epoch: int) -> str:
    leader, epoch = s.metadata_leader[partition_epoch], s.metadata_leader_epoch[partition_epoch]
    if s.reassignments > 0 and not s.metadata_assigned[partition_epoch][broker]:
        return f"broker {broker} hears that it is no longer a replica, and deletes its log"
    if epoch == s.leader_epoch[broker] and not model.is_new_replica(s, broker):
        isr = brokers(members(s, s.metadata_isr[partition_epoch]))
        return f"broker {broker} reads in the metadata that the ISR is {isr}"
    if leader == NONE:
        return f"broker {broker} hears that nobody leads, in epoch {epoch}"
    return f"broker {broker} hears that {'it' if leader == broker else f'broker {leader}'} leads, in epoch {epoch}"


def _leader_and_isr(context: StepContext) -> str:
    s, epoch = context.before, context.epoch
    isr = "".join(map(str, members(s, s.metadata_isr[epoch])))
    return f"epoch {epoch}: leader {s.metadata_leader[epoch]}, ISR {isr}"


def _applies_metadata(context: StepContext) -> Events:
    s, broker, epoch = context.before, context.broker, context.partition_epoch
    leader = s.metadata_leader[epoch]
    isr = spell_flags(s, s.metadata_isr[epoch])
    content = f"{'no leader' if leader == NONE else f'leader {leader}'}, ISR {isr}"
    if s.reassignments > 0:
        content += f", replicas {spell_flags(s, s.metadata_assigned[epoch])}"
        if any(s.metadata_adding[epoch][r] for r in range(s.replicas)):
            content += f", adding {spell_flags(s, s.metadata_adding[epoch])}"
    yield context.arrow("controller", "broker", f"metadata p{epoch} e{s.metadata_leader_epoch[epoch]}: {content}")
    if skipped := [f"p{number}" for number in range(s.metadata_position[broker] + 1, epoch)]:
        yield context.mark("broker", f"skips {' '.join(skipped)}")
    if epoch < s.partition_epoch[broker]:
        yield context.mark("broker", f"knows p{s.partition_epoch[broker]} already")
    elif is_pending(s, broker) and not is_pending(context.after, broker):
        text = f"drops its pending ISR {spell_flags(s, s.proposed_isr[broker])}"
        if epoch == s.partition_epoch[broker]:
            yield context.mark("broker", f"{text}, by a p{epoch} that it knew", FAULT)
        else:
            yield context.mark("broker", text)
    yield from _reads_configuration(context)


def _reads_configuration(context: StepContext) -> Events:
    """The values of min.insync.replicas that a broker reads from the metadata in this step, each as a message."""
    before, after, broker = context.before, context.after, context.broker
    if before.min_isr_changes > 0:
        for change in range(before.min_isr_changes_read[broker], after.min_isr_changes_read[broker]):
            yield context.arrow("controller", "broker", f"min.insync.replicas {before.changed_min_isr[change]}")


# --------------------------------------------------------------------------------------------------------------- faults


def _lose_power(s: State, broker: int, kept: int) -> str:
    lost = [name_entry(s, s.log_record[broker][offset]) for offset in range(kept, s.log_end_offset[broker])]
    return f"broker {broker} loses power" + (f", and with it {listed(lost)}" if lost else "")


def _stops_while_it_fetches(word: str) -> MessageFinder:
    return in_turn(sent("follower", "leader", _fetch_from, RESPONSE), befalls("follower", word, FAULT))


# ---------------------------------------------------------------------------------------------------------- the actions

RESPONSE_KEY = ("leader", "follower")
"""The names of the arguments that identify a response to a fetch."""

SHUTDOWN = in_turn(sent("broker", "controller", "controlled shutdown"), _decides_at_most(_elected))

ACTIONS: Mapping[str, ActionView] = {
    "producer_appends": ActionView(_append, _produce),
    "producer_is_refused": ActionView(
        lambda s, leader: f"broker {leader} refuses record {_next(s)}, because too few brokers are in sync",
        in_turn(_produce, sent("leader", "producer", "NOT_ENOUGH_REPLICAS")),
    ),
    "send_is_lost": ActionView(
        lambda s: f"the producer sends record {_next(s)}, which never arrives",
        befalls("producer", lambda context: f"{_next(context.before)} sent, never arrives", FAULT),
        loses_message=True,
    ),
    "answer_is_lost": ActionView(
        lambda s, leader: f"broker {leader} appends record {_next(s)}, and its answer is lost",
        in_turn(_produce, sent("leader", "producer", "ack", LOST)),
        loses_message=True,
    ),
    "producer_retries": ActionView(
        "the producer sends record {record} again to broker {leader}, which appends it", _retry
    ),
    "producer_resends": ActionView("the producer sends record {record} again to broker {leader}", _retry),
    "request_fails": ActionView(
        "the request with record {record} fails, and nothing is appended",
        befalls("producer", lambda context: f"{_next(context.before)} sent, not appended", FAULT),
    ),
    "producer_begins_new_epoch": ActionView(
        "broker {leader} refuses record {record}, and the producer takes a new epoch",
        in_turn(
            _retry,
            sent("leader", "producer", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
            befalls("producer", lambda context: f"producer epoch {context.after.producer_epoch}", ELECTION),
        ),
    ),
    "producer_begins_from_zero": ActionView(
        "broker {leader} has forgotten the producer, which numbers record {record} from 0",
        in_turn(
            _retry, sent("leader", "producer", "UNKNOWN_PRODUCER_ID"), befalls("producer", "numbers from 0", ELECTION)
        ),
    ),
    "leader_mistakes_request": ActionView(
        "broker {leader} takes record {record} for an older one, and appends nothing", _retry
    ),
    "broker_saves_producer_state": ActionView(
        "broker {broker} saves what it knows of its producers", befalls("broker", "saves its producer state")
    ),
    "producer_appends_in_transaction": ActionView(
        lambda s, leader, transaction: f"{_append(s, leader)}, as a part of {_the_transaction(s, transaction)}",
        _produce,
    ),
    "coordinator_commits": ActionView(
        lambda s, transaction: f"the coordinator commits {_the_transaction(s, transaction)}",
        befalls("transaction", _decision, ELECTION),
    ),
    "coordinator_aborts": ActionView(
        lambda s, transaction: f"the coordinator aborts {_the_transaction(s, transaction)}",
        befalls("transaction", _decision, ELECTION),
    ),
    "leader_appends_marker": ActionView(_append_marker, sent("transaction", "leader", _marker)),
    "consumer_fetches": ActionView(
        "consumer {consumer} reads the next entry from broker {broker}", sent("consumer", "broker", _consumer_fetch)
    ),
    "consumer_finds_nothing": ActionView(
        "consumer {consumer} finds nothing new at broker {broker}", sent("consumer", "broker", _consumer_fetch)
    ),
    "consumer_is_sent_to_follower": ActionView(
        "broker {leader} sends consumer {consumer} to broker {follower}",
        sent("leader", "consumer", "consumer {consumer}: read from {follower}"),
    ),
    "consumer_returns_to_leader": ActionView(
        "consumer {consumer} goes back to the leader", befalls("consumer", "consumer {consumer} asks the leader again")
    ),
    "consumer_follows_new_leader": ActionView(
        "consumer {consumer} learns that broker {leader} leads, and checks its position",
        sent("consumer", "leader", _validation),
    ),
    "consumer_is_out_of_range": ActionView(
        "broker {leader} does not have the position of consumer {consumer}, which resets it",
        in_turn(sent("consumer", "leader", _consumer_fetch), sent("leader", "consumer", "OFFSET_OUT_OF_RANGE")),
    ),
    "leader_deletes_records": ActionView(
        "a client deletes everything before offset {offset} at broker {leader}",
        sent("producer", "leader", "delete records before {offset}"),
    ),
    "leader_answers_deletion": ActionView(
        "broker {leader} answers that the records are deleted",
        sent(
            "leader",
            "producer",
            lambda context: f"records before {context.after.answered_deletion} are deleted",
            RESPONSE,
        ),
    ),
    "leader_handles_fetch": ActionView(_fetch, _fetches, sends=RESPONSE_KEY),
    "leader_answers_parked_fetch": ActionView(
        "broker {leader} answers the waiting fetch of broker {follower}", _answers_parked, sends=RESPONSE_KEY
    ),
    "leader_admits_fetch": ActionView(
        "broker {leader} finds that the fetch of broker {follower} is of its epoch",
        in_turn(sent("follower", "leader", _fetch_from), befalls("leader", "fetch checked, not counted yet")),
    ),
    "leader_counts_fetch": ActionView(
        "broker {leader} counts the fetch of broker {follower}, which it has checked before",
        befalls(
            "leader",
            lambda context: (
                f"counts the fetch from {context.before.admitted_offset[context.leader][context.follower]}"
                f" of broker {context.follower}"
            ),
        ),
    ),
    "leader_handles_late_fetch": ActionView(
        "broker {leader} handles a fetch that broker {follower} sent before it restarted",
        sent("follower", "leader", _late_offset),
    ),
    "late_fetch_is_lost": ActionView(
        "a fetch that broker {follower} sent before it restarted is lost",
        sent("follower", "leader", _late_offset, LOST),
        loses_message=True,
    ),
    "leader_shrinks_isr": ActionView(_shrink),
    "follower_falls_behind": ActionView(
        "broker {follower} no longer counts as caught up with broker {leader}",
        befalls("leader", "{follower} is no longer caught up"),
    ),
    "follower_applies_response": ActionView(
        _apply,
        sent("leader", "follower", lambda context: _content(context, context.before)),
        removal="overwrites it with what broker {leader} sends",
        delivers=RESPONSE_KEY,
    ),
    "response_is_lost": ActionView(
        "the answer of broker {leader} to broker {follower} is lost",
        sent("leader", "follower", "response", LOST),
        loses_message=True,
    ),
    "response_no_longer_fits": ActionView("broker {follower} drops an old answer of broker {leader}"),
    "follower_reconciles": ActionView(
        "broker {follower} asks broker {leader} where their logs part",
        _reconciles,
        removal="cuts it from its log to match broker {leader}",
    ),
    "follower_takes_high_watermark_first": ActionView(
        "broker {follower} takes over the high watermark of broker {leader}", _takes_high_watermark
    ),
    "follower_truncates": ActionView(
        "broker {follower} cuts its log, as broker {leader} told it",
        sent("leader", "follower", _divergence),
        removal="cuts it from its log to match broker {leader}",
        delivers=RESPONSE_KEY,
    ),
    "follower_checks_diverging_answer": ActionView(
        "broker {follower} finds that the answer of broker {leader} about where their logs part is of its epoch",
        in_turn(sent("leader", "follower", _divergence), befalls("follower", "answer checked, not applied yet")),
    ),
    "follower_truncates_as_noted": ActionView(
        "broker {follower} cuts its log according to the answer that it has checked",
        befalls("follower", "applies the answer that it has checked"),
        removal="cuts it from its log because of an answer that it checked earlier",
    ),
    "follower_is_out_of_range": ActionView(
        _out_of_range,
        _is_out_of_range,
        removal="cuts it from its log, because its log is longer than that of broker {leader}",
    ),
    "follower_starts_over": ActionView(
        "broker {follower} drops its log, and starts where the log of broker {leader} starts",
        in_turn(
            _is_out_of_range,
            befalls(
                "follower",
                lambda context: f"starts its log over at {context.after.log_start_offset[context.follower]}",
                FAULT,
            ),
        ),
        removal="drops its log",
    ),
    "controller_fails_over": ActionView(_fail_over, befalls("controller", "elects {elected}", ELECTION)),
    "controller_elects_preferred": ActionView(
        "the controller moves the leadership to broker {elected}, in a preferred election",
        befalls("controller", "prefers {elected}", ELECTION),
    ),
    "controller_elects_unclean": ActionView(
        "the controller elects broker {elected}, which is not in sync, in an unclean election",
        befalls("controller", "unclean: elects {elected}", FAULT),
    ),
    "controller_removes_dead_follower": ActionView(
        "the controller takes broker {follower}, which is down, out of the ISR",
        befalls("controller", "gives up on {follower}", ELECTION),
    ),
    "controller_fences_broker": ActionView(_fence, _decides("fences {broker}")),
    "controller_fences_leader": ActionView(
        lambda s, broker, elected: f"{_fence(s, broker)}, and elects broker {elected}", _decides("fences {broker}")
    ),
    "controller_fences_last_leader": ActionView(
        lambda s, broker: f"{_fence(s, broker)}, and nobody is left to lead", _decides("fences {broker}")
    ),
    "controller_unfences_broker": ActionView(
        lambda s, broker: (
            f"the controller takes broker {broker} back{', and elects it' if model.can_lead_alone(s, broker) else ''}"
        ),
        _decides("unfences {broker}"),
    ),
    "controller_unregisters_broker": ActionView(
        "an operator unregisters broker {broker}, which is down", _decides("unregisters {broker}")
    ),
    "controller_begins_reassignment": ActionView(_reassign, _decides(_reassigns)),
    "controller_reassigns_without_leader": ActionView(
        lambda s, target, elected: f"{_reassign(s, target)}, and the controller elects broker {elected}",
        _decides(_reassigns),
    ),
    "controller_cancels_reassignment": ActionView(
        "an operator cancels the reassignment", _decides("cancels the reassignment")
    ),
    "controller_cancels_without_leader": ActionView(
        "an operator cancels the reassignment, and the controller elects broker {elected}",
        _decides("cancels the reassignment"),
    ),
    "controller_completes_reassignment": ActionView(
        lambda s, leader, elected: f"{_handle_change(s, leader)}, and elects broker {elected}", _handles_request
    ),
    "controller_handles_alter_partition": ActionView(_handle_change, _handles_request, sends=("leader",)),
    "leader_hears_answer": ActionView(_hear_answer, _hears_answer, delivers=("leader",)),
    "answer_to_leader_is_lost": ActionView(
        "the controller's answer to broker {leader} is lost",
        in_turn(
            sent("controller", "leader", lambda context: _answer(context.before, context.leader), LOST),
            sent("leader", "controller", lambda context: _request(context.after, context.leader), RESPONSE),
        ),
        loses_message=True,
    ),
    "operator_changes_min_insync_replicas": ActionView(
        "an operator sets min.insync.replicas to {minimum}",
        _decides(lambda context: f"min.insync.replicas {context.minimum}{_forgotten(context)}"),
    ),
    "operator_deletes_replica_folder": ActionView(
        "an operator deletes the folder of the replica on broker {broker}, which was shut down in order",
        befalls("broker", "its folder is deleted", FAULT),
        removal="loses it with the folder that an operator deletes",
    ),
    "broker_becomes_leader": ActionView(
        "broker {broker} hears that it leads, in epoch {epoch}", sent("controller", "broker", _leader_and_isr)
    ),
    "broker_becomes_follower": ActionView(
        lambda s, broker, epoch: (
            f"broker {broker} hears that broker {s.metadata_leader[epoch]} leads, in epoch {epoch}"
        ),
        sent("controller", "broker", _leader_and_isr),
        removal="cuts it from its log when it begins to follow",
    ),
    "broker_applies_metadata": ActionView(
        _apply_metadata, _applies_metadata, removal="deletes its log, because it is no longer a replica"
    ),
    "broker_drops_metadata": ActionView(
        "broker {broker} fails to apply the metadata up to partition epoch {partition_epoch}",
        befalls("broker", "fails to apply metadata up to {partition_epoch}", FAULT),
    ),
    "broker_reads_configuration": ActionView(
        lambda s, broker: (
            f"broker {broker} reads that min.insync.replicas is {s.changed_min_isr[s.min_isr_changes_read[broker]]}"
        ),
        _reads_configuration,
    ),
    "broker_reports_directory": ActionView(
        "broker {broker} reports in which directory its replica is",
        in_turn(sent("broker", "controller", "AssignReplicasToDirs"), _decides_at_most(_forgotten)),
    ),
    "broker_asks_to_shut_down": ActionView("broker {broker} announces that it will shut down", SHUTDOWN),
    "leader_asks_to_shut_down": ActionView(
        "broker {broker} announces that it will shut down, and the controller elects broker {elected}", SHUTDOWN
    ),
    "last_leader_asks_to_shut_down": ActionView(
        "broker {broker} announces that it will shut down, and nobody is left to lead", SHUTDOWN
    ),
    "broker_shuts_down": ActionView("broker {broker} shuts down in order", befalls("broker", "shuts down", ELECTION)),
    "broker_bounces": ActionView(
        "broker {broker} restarts so quickly that the controller does not notice",
        befalls("broker", "bounces", FAULT),
        removal="cuts it from its log when it restarts",
    ),
    "broker_crashes": ActionView("broker {broker} crashes", befalls("broker", "crashes", FAULT)),
    "broker_crashes_while_it_fetches": ActionView(
        "broker {follower} crashes while its fetch is on its way to broker {leader}",
        _stops_while_it_fetches("crashes"),
    ),
    "broker_restarts": ActionView(
        "broker {broker} starts again",
        in_turn(  # with KRaft, a broker that starts registers
            befalls("broker", "restarts", ELECTION),
            _decides_at_most(lambda context: _elected(context) if has_kraft(context.after) else ""),
        ),
        removal="cuts it from its log when it restarts",
    ),
    "broker_loses_power": ActionView(
        _lose_power, befalls("broker", "loses power", FAULT), removal="loses it in a loss of power"
    ),
    "broker_loses_disk": ActionView(
        "broker {broker} stops, and its disk is lost",
        befalls("broker", "loses its disk", FAULT),
        removal="loses it with its disk",
    ),
    "broker_loses_disk_while_it_fetches": ActionView(
        "broker {follower} stops and loses its disk while its fetch is on its way to broker {leader}",
        _stops_while_it_fetches("loses its disk"),
        removal="loses it with its disk",
    ),
}
"""Everything shown about each action. The message of `leader_shrinks_isr` (ISR write, AlterPartition) is an effect."""


# ---------------------------------------------------------------------------------------------------- effects of a step


def _is_elected(context: StepContext) -> Events:
    """A mark for the election of a broker, in the step of the controller's decision; the broker learns of it later."""
    elected = context.after.controller_leader
    if elected not in (NONE, context.before.controller_leader):
        yield context.mark(("broker", elected), "elected", ELECTION)


def _truncated(context: StepContext) -> Events:
    for r in range(context.after.replicas):
        old, new = context.before.log_end_offset[r], context.after.log_end_offset[r]
        if new < old:
            yield context.mark(("broker", r), f"truncates {old} to {new}", FAULT)


def _isr_written(context: StepContext) -> Events:
    """The message by which a leader writes a new ISR to ZooKeeper, in generations up to 2.4."""
    before, after = context.before, context.after
    is_same_epoch = before.controller_epoch == after.controller_epoch
    if "leader" in context.arguments and is_same_epoch and not alters_partitions(after):
        isr = members(after, after.controller_isr)
        if isr != members(before, before.controller_isr):
            yield context.arrow("leader", "controller", f"ISR {''.join(map(str, isr))}")


def _alter_partition_sent(context: StepContext) -> Events:
    """The AlterPartition requests that leaders have sent in this step; the controller gets them later."""
    before, after = context.before, context.after
    if not alters_partitions(after):
        return
    for leader in range(after.replicas):
        stages = before.alter_partition[leader], after.alter_partition[leader]
        if stages == (AlterPartition.NONE, AlterPartition.REQUESTED):
            yield context.arrow(("broker", leader), "controller", _request(after, leader), RESPONSE)


def _sender(s: State, record: int) -> Participant:
    transaction = s.transaction_of[record]
    return "producer" if transaction == NONE else ("transaction", transaction)


def _refused_after_append(context: StepContext) -> Events:
    """Error responses for records that a leader appended before its ISR became too small, unless it was demoted."""
    before, after = context.before, context.after
    for record in range(after.records):
        leader = before.pending[record]
        has_answered = leader != after.pending[record] == NONE and after.leader[leader] == leader
        if has_answered and not after.acknowledged[record]:
            text = f"{spell_element(record)}: NOT_ENOUGH_REPLICAS_AFTER_APPEND"
            yield context.arrow(("broker", leader), _sender(after, record), text)


def _answering(context: StepContext) -> str | None:
    """The name of the argument (`leader` or `broker`) with the broker that answers clients in this step; or None."""
    return next((name for name in ("leader", "broker") if name in context.arguments), None)


def _acknowledged(context: StepContext) -> Events:
    before, after, broker = context.before, context.after, _answering(context)
    if after.acks == Acks.ZERO or broker is None:
        return  # with acks=0 there is no answer: a record counts as written when it is sent
    for record in range(after.records):
        if after.acknowledged[record] and not before.acknowledged[record]:
            yield context.arrow(broker, _sender(after, record), f"ack {spell_element(record)}")


FIRST_READ = {
    "readers": ("exposed_record", model.is_exposed),
    "transaction_readers": ("read_committed_record", model.is_exposed_as_committed),
}
"""For each lane of readers: the field of the records that they read first, and whether a leader exposes an offset."""


def _read(context: StepContext) -> Events:
    """A message for each record that readers see for the first time at an offset."""
    before, after, broker = context.before, context.after, _answering(context)
    if broker is None:
        return
    for lane, (name, _) in FIRST_READ.items():
        for offset in range(after.log_size if context.lanes.groups[lane] else 0):
            entry = getattr(after, name)[offset]
            if entry != getattr(before, name)[offset] and entry < after.records:
                yield context.arrow(broker, lane, f"{spell_element(entry)} at {offset}")


def _read_otherwise(context: StepContext) -> Events:
    """A message for each record that a leader exposes at an offset at which another record was read before."""
    s = context.after
    for lane in FIRST_READ:
        for leader in range(s.replicas if context.lanes.groups[lane] else 0):
            for offset in range(s.log_size):
                entry = _contradiction(s, leader, offset, lane)
                if entry not in (NONE, _contradiction(context.before, leader, offset, lane)):
                    spelled = spell_entry(s, entry, s.log_epoch[leader][offset])
                    yield context.arrow(("broker", leader), lane, f"{spelled} at {offset}!")


def _contradiction(s: State, leader: int, offset: int, readers: str) -> int:
    """The record that a broker, if it presumes to lead, exposes where another record was read before; or NONE."""
    first_read, is_shown = FIRST_READ[readers]
    if s.leader[leader] != leader or not is_shown(s, leader, offset):
        return NONE
    entry: int = s.log_record[leader][offset]
    return NONE if getattr(s, first_read)[offset] in (NONE, entry) else entry


EFFECTS = (
    _is_elected,
    _truncated,
    _isr_written,
    _alter_partition_sent,
    _refused_after_append,
    _acknowledged,
    _read,
    _read_otherwise,
)
"""The effects of a step of any action."""


# ---------------------------------------------------------------------------------------------------------- rare events

ANNOUNCEMENTS = {
    "broker_becomes_leader": "epoch",
    "broker_becomes_follower": "epoch",
    "broker_applies_metadata": "partition_epoch",
}
"""The actions in which a broker hears from the controller, and the argument with the controller's epoch."""


def rare_events(trace: Trace) -> dict[str, int]:
    """Return how many leader epochs the controller has begun, and how many messages arrive late."""
    late, states = 0, trace.named_states
    sent_at: dict[object, tuple[int, int]] = {}
    for step, (before, after) in zip(trace.steps, pairwise(states), strict=True):
        view, arguments = ACTIONS.get(step.action, ActionView("")), arguments_of(trace.instance, step)
        if (epoch := ANNOUNCEMENTS.get(step.action)) is not None:
            late += arguments[epoch] < getattr(before, f"controller_{epoch}")
        if view.delivers:
            late += sent_at.get(tuple(arguments[name] for name in view.delivers), _moment(before)) != _moment(before)
        if step.action == "leader_handles_fetch":
            late += before.leader_epoch[arguments["follower"]] < before.leader_epoch[arguments["leader"]]
        if view.sends:
            sent_at[tuple(arguments[name] for name in view.sends)] = _moment(after)
    return {"elections": int(states[-1].controller_epoch - states[0].controller_epoch), "late messages": late}


def _moment(s: State) -> tuple[int, int]:
    """The controller's leader and partition epoch. A message is late if one of them changes while it is on its way."""
    return int(s.controller_epoch), int(s.controller_partition_epoch)
