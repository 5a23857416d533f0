"""A group or share coordinator: its state in memory, the records that it writes to a partition, and that partition.

One partition of `__consumer_offsets` with one group, or of `__share_group_state` with one share-partition. Each broker
that leads the partition has a coordinator. A write operation changes the coordinator's state in memory at once, and its
record joins an open batch. A flush appends the batch to the leader's log. The coordinator listens to the high
watermark, and answers the client once the record is below it. A coordinator whose broker no longer leads is unloaded by
an event in its queue, some time later; the new leader loads the state from its log.

Kafka: CoordinatorRuntime, CoordinatorPartitionWriter, CoordinatorLoaderImpl (KIP-848, KIP-932).

Left out: the replication itself, which the model `kafka` has. Here every replica stays in the ISR, so every replica has
all committed records and may be elected; in one step, a follower cuts its log where the leader's log differs.
Also left out: several groups of a partition; transactional offset commits; an operation whose records do not fit into
one batch and go into several (non-atomic writes); read operations; expiry and compaction; an operation that fails after
it has changed the state (the operation's callback reverts the change); errors of an append other than
NOT_LEADER_OR_FOLLOWER; an unloading that fails (KAFKA-20115). A client that repeats a failed request makes a new write.
"""

import sys
from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    action,
    always,
    between,
    bound,
    budget,
    field,
    initial,
    optional,
    require,
    setting,
    sometimes,
    switch,
    terminal,
)
from isrcheck.models.language.model import assemble


class Service(IntEnum):
    """The service that uses the coordinator runtime: consumer groups or share groups."""

    GROUP = 0
    SHARE = 1


class Kind(IntEnum):
    """The content of a record.

    COMMIT: an offset commit of the group, or the state of a share-partition (which records are acknowledged). MEMBER: a
    record of a consumer group (KIP-848), valid only while the group is a consumer group. CLASSIC: the group becomes a
    classic group, because the last member of the new protocol has left (ConsumerGroupMigrationPolicy).
    """

    NONE = 0
    COMMIT = 1
    MEMBER = 2
    CLASSIC = 3


class Answer(IntEnum):
    """The answer to the client of a write. FAILED: NOT_COORDINATOR; the client sends the write again."""

    NONE = 0
    ACKNOWLEDGED = 1
    FAILED = 2


class Configuration:
    replicas = bound(2, "replicas of the partition, all in the ISR", least=2, most=4, option="--replicas")
    writes = bound(3, "write operations of clients", least=1, most=5, option="--writes")
    elections = budget(1, "how often leadership moves", shapes=True, most=4, option="--elections")
    service = setting(Service.GROUP, "which service: groups, or share groups", values=Service, option="--service")
    LISTENS_AS_FOLLOWER = switch(False, "the coordinator hears the high watermark of a follower (KAFKA-20634)")
    FLUSHES_EMPTY_BATCH = switch(False, "large records flush the empty batch allocated for them (KAFKA-20845)")
    APPENDS_IN_ITS_EPOCH = switch(False, "a flush fails unless the broker leads in the epoch of the load (no release)")


class Replica(Domain, size="replicas"):
    """A replica of the partition, and its broker."""


class Write(Domain, size="writes", letters=True):
    """A write operation, and its record."""


class Offset(Domain, size="writes"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.writes + 1):
    pass


class Epoch(Domain, size=lambda configuration: configuration.elections + 1):
    """A leader epoch."""


class State:
    # The controller's decision, and how much of it each broker has applied.
    leader = field(values=Replica)
    leader_epoch = field(values=Epoch)
    known_epoch = field(Replica, values=Epoch)
    leads = field(Replica, values=Flag)

    # The partition.
    log = field(Replica, Offset, values=optional(Write), initially=NONE)
    log_end_offset = field(Replica, values=EndOffset)
    high_watermark = field(Replica, values=EndOffset)

    # The coordinator of each broker: its state in memory is the result of the writes that it has applied, in their
    # order.
    is_active = field(Replica, values=Flag)
    loaded_in = field(Replica, values=Epoch)
    applied = field(Replica, Write, values=Flag)
    batch = field(Replica, Write, values=Flag)  # records of the open batch
    last_written_offset = field(Replica, values=EndOffset)
    unload_is_queued = field(Replica, values=Flag)
    is_listening = field(Replica, values=Flag)
    heard_high_watermark = field(Replica, values=EndOffset)  # not handled yet; 0: nothing waits

    # Each write: its record, the broker that handles it, the offset that the high watermark has to reach, and the
    # answer.
    next_write = field(values=between(0, "writes"))
    kind = field(Write, values=Kind)
    handled_by = field(Write, values=optional(Replica), initially=NONE)
    awaited_offset = field(Write, values=EndOffset)  # 0: its record has not been flushed, or no client waits
    answer = field(Write, values=Answer)


@initial
def a_coordinator_is_active(configuration):
    """Replica 0 leads an empty partition, and its coordinator is loaded."""
    others = configuration.replicas - 1
    yield {"leads": [True] + others * [False], "is_active": [True] + others * [False]} | {
        "is_listening": [True] + others * [False]
    }


@terminal
def work_is_done(s):
    """Writes and elections are limited in number, so every behaviour ends."""
    return True


def holds(s, replica, write):
    """The replica's log has the record of this write."""
    return any(s.log[replica][offset] == write for offset in range(s.writes))


def has_open_batch(s, broker):
    return any(s.batch[broker][write] for write in range(s.writes))


def is_classic(s, broker):
    """In the coordinator's memory, the group is a classic group."""
    return any(s.applied[broker][write] and s.kind[write] == Kind.CLASSIC for write in range(s.writes))


def is_coordinator(s, broker):
    """The coordinator of `broker` is active, the broker leads in the current epoch, and no unloading is queued."""
    return (
        s.is_active[broker]
        and s.leads[broker]
        and s.known_epoch[broker] == s.leader_epoch
        and not s.unload_is_queued[broker]
    )


# --------------------------------------------------------------------------------------------------------------- events
#
# The events of a coordinator: each is handled alone, in the order of its queue.
#
# Unloading waits in the queue while leadership moves again. An event with the high watermark, or with a flush that the
# linger time asks for, is put at the front of the queue, so it may come before. Kafka: CoordinatorRuntime.


def take_write(s, broker, kind):
    """The coordinator carries out the next write operation: it changes its state in memory, and adds the operation's
    record, of this `kind`, to the open batch, which is allocated if necessary."""
    for write in range(s.writes):
        if write == s.next_write:
            s.kind[write] = kind
            s.handled_by[write] = broker
            s.batch[broker][write] = True
            s.applied[broker][write] = True
    s.next_write += 1


@action
def coordinator_handles_commit(s, broker: Replica):
    """The coordinator replays the record of an OffsetCommit or WriteShareGroupState, and adds it to the open batch."""
    require(s.is_active[broker])
    require(s.next_write < s.writes)
    take_write(s, broker, Kind.COMMIT)


@action
def coordinator_handles_member(s, broker: Replica):
    """The coordinator handles a ConsumerGroupHeartbeat of a consumer group: a MEMBER record joins the open batch."""
    require(s.service == Service.GROUP)
    require(s.is_active[broker])
    require(s.next_write < s.writes)
    require(not is_classic(s, broker))
    take_write(s, broker, Kind.MEMBER)


@action
def coordinator_converts_group(s, broker: Replica):
    """The consumer group becomes a classic group. The records of all members are large, so they need their own batch.

    The state in memory is changed first, without a replay of the records. With KAFKA-20845, the empty batch allocated
    for the records is flushed; the flush fails and reverts the state to the last written offset, but the records join
    another batch. Kafka: GroupMetadataManager.convertToClassicGroup, CoordinatorRuntime.append (KAFKA-19760).
    """
    require(s.service == Service.GROUP)
    require(s.is_active[broker])
    require(s.next_write < s.writes)
    require(not is_classic(s, broker))
    require(not has_open_batch(s, broker))
    take_write(s, broker, Kind.CLASSIC)
    if s.FLUSHES_EMPTY_BATCH:
        for write in range(s.writes):
            if s.batch[broker][write]:
                s.applied[broker][write] = False


def is_unanswered(s, broker, write):
    return s.handled_by[write] == broker and s.answer[write] == Answer.NONE


def forget(s, broker):
    """The coordinator drops its state in memory, and answers every write that still waits with NOT_COORDINATOR."""
    for write in range(s.writes):
        if is_unanswered(s, broker, write):
            s.answer[write] = Answer.FAILED
            s.awaited_offset[write] = 0
        s.applied[broker][write] = False
        s.batch[broker][write] = False
    s.is_active[broker] = False
    s.loaded_in[broker] = 0
    s.is_listening[broker] = False
    s.heard_high_watermark[broker] = 0
    s.last_written_offset[broker] = 0


def append_batch(s, broker):
    """The leader appends the open batch, whose writes then wait until the high watermark reaches the batch's end."""
    for write in range(s.writes):
        if s.batch[broker][write]:
            s.log[broker][s.log_end_offset[broker]] = write
            s.log_end_offset[broker] += 1
            s.last_written_offset[broker] += 1
    for write in range(s.writes):
        if s.batch[broker][write]:
            s.awaited_offset[write] = s.log_end_offset[broker]
            s.batch[broker][write] = False


def revert_batch(s, broker):
    """After a failed flush, the batch's writes are undone and answered FAILED (CoordinatorContext.failCurrentBatch)."""
    for write in range(s.writes):
        if s.batch[broker][write]:
            s.answer[write] = Answer.FAILED
            s.applied[broker][write] = False
            s.batch[broker][write] = False


def may_append(s, broker):
    """The partition accepts an append by the coordinator: `broker` leads and, with APPENDS_IN_ITS_EPOCH, the
    coordinator was loaded in the present epoch. Without that switch, it may have been loaded in an earlier epoch."""
    return s.leads[broker] and (not s.APPENDS_IN_ITS_EPOCH or s.loaded_in[broker] == s.known_epoch[broker])


@action
def coordinator_flushes_batch(s, broker: Replica):
    """The batch is appended, or refused because the broker does not lead (NOT_LEADER_OR_FOLLOWER).

    If the log ends elsewhere than the coordinator expects, the coordinator gives up its state and is loaded again; the
    records stay in the log. Kafka: CoordinatorContext.flushCurrentBatch.
    """
    require(has_open_batch(s, broker))
    if may_append(s, broker):
        append_batch(s, broker)
        if s.last_written_offset[broker] != s.log_end_offset[broker]:
            forget(s, broker)
            s.unload_is_queued[broker] = False
    else:
        revert_batch(s, broker)


@action
def coordinator_handles_high_watermark(s, broker: Replica):
    """Writes below the high watermark are acknowledged. A high watermark above the last written offset is refused.

    Kafka: HighWatermarkUpdate; SnapshottableCoordinator.updateLastCommittedOffset, DeferredEventQueue.completeUpTo.
    """
    require(s.heard_high_watermark[broker] > 0)
    if s.heard_high_watermark[broker] <= s.last_written_offset[broker]:
        for write in range(s.writes):
            if (
                is_unanswered(s, broker, write)
                and s.awaited_offset[write] > 0
                and s.awaited_offset[write] <= s.heard_high_watermark[broker]
            ):
                s.answer[write] = Answer.ACKNOWLEDGED
                s.awaited_offset[write] = 0
    s.heard_high_watermark[broker] = 0


@action
def coordinator_unloads(s, broker: Replica):
    """The coordinator handles the event that was queued when its broker lost leadership, and drops its state. Kafka:
    CoordinatorRuntime.scheduleUnloadOperation."""
    require(s.unload_is_queued[broker])
    s.unload_is_queued[broker] = False
    forget(s, broker)


@action
def coordinator_loads(s, broker: Replica):
    """The leader's coordinator replays the log and then listens to the high watermark (CoordinatorLoaderImpl.load)."""
    require(s.leads[broker])
    require(not s.is_active[broker])
    s.is_active[broker] = True
    s.is_listening[broker] = True
    s.loaded_in[broker] = s.known_epoch[broker]
    s.last_written_offset[broker] = s.log_end_offset[broker]
    for write in range(s.writes):
        s.applied[broker][write] = holds(s, broker, write)


@action
def coordinator_stays(s, broker: Replica):
    """A broker that leads again, and applied none of the elections in between, keeps its coordinator in the new epoch.

    Kafka: CoordinatorRuntime.scheduleLoadOperation, "is already active".
    """
    require(s.is_active[broker] and not s.unload_is_queued[broker])
    require(s.loaded_in[broker] < s.known_epoch[broker])
    s.loaded_in[broker] = s.known_epoch[broker]


# -------------------------------------------------------------------------------------------------------- the partition
#
# The partition below the coordinator: elections, replication, and the high watermark that the coordinator hears.
#
# Simplified where `kafka` is exact: every replica stays in the ISR. Kafka: ReplicaManager.applyDelta,
# Partition.makeLeader and makeFollower, PartitionListener.


@action
def controller_elects(s, elected: Replica):
    """Leadership moves to another member of the ISR, such as the preferred leader."""
    require(s.leader_epoch < s.elections)
    require(elected != s.leader)
    s.leader = elected
    s.leader_epoch += 1


@action
def broker_applies_leadership(s, broker: Replica):
    """The broker applies the record of the controller's last election, and skips the records of earlier elections.

    If the broker becomes follower, its coordinator gets an event that unloads it, and since KAFKA-20634 the coordinator
    stops listening to the high watermark. Kafka: BrokerMetadataPublisher, GroupCoordinatorService.onResignation;
    CoordinatorPartitionWriter.ListenerAdapter.
    """
    require(s.known_epoch[broker] < s.leader_epoch)
    s.known_epoch[broker] = s.leader_epoch
    s.leads[broker] = s.leader == broker
    if s.is_active[broker] and s.leader != broker:
        s.unload_is_queued[broker] = True
        if not s.LISTENS_AS_FOLLOWER:
            s.is_listening[broker] = False


def follows_the_leader(s, follower):
    """Both the follower and the leader have applied the controller's last election."""
    return (
        follower != s.leader and s.known_epoch[follower] == s.leader_epoch and s.known_epoch[s.leader] == s.leader_epoch
    )


def diverges(s, follower, offset):
    """At this offset, the follower has a record that the leader does not have there."""
    return s.log[follower][offset] != NONE and s.log[follower][offset] != s.log[s.leader][offset]


@action
def follower_truncates(s, follower: Replica):
    """The follower cuts its log where the leader's differs. Coordinators do not hear that its high watermark falls."""
    require(follows_the_leader(s, follower))
    require(any(diverges(s, follower, offset) for offset in range(s.writes)))
    for offset in range(s.writes):
        if s.log_end_offset[follower] > offset and diverges(s, follower, offset):
            s.log_end_offset[follower] = offset
    for offset in range(s.writes):
        if offset >= s.log_end_offset[follower]:
            s.log[follower][offset] = NONE
    s.high_watermark[follower] = min(s.high_watermark[follower], s.log_end_offset[follower])


def tell_high_watermark(s, broker):
    """If the coordinator of `broker` listens, it notes the broker's high watermark, replacing a value not yet handled.

    Kafka: CoordinatorRuntime.HighWatermarkListener.onHighWatermarkUpdated.
    """
    if s.is_active[broker] and s.is_listening[broker]:
        s.heard_high_watermark[broker] = s.high_watermark[broker]


@action
def follower_fetches(s, follower: Replica):
    """The follower appends the next record, and takes over the leader's high watermark, up to its own log end."""
    require(follows_the_leader(s, follower))
    require(not any(diverges(s, follower, offset) for offset in range(s.writes)))
    require(
        s.log_end_offset[follower] < s.log_end_offset[s.leader]
        or s.high_watermark[follower] < s.high_watermark[s.leader]
    )
    if s.log_end_offset[follower] < s.log_end_offset[s.leader]:
        s.log[follower][s.log_end_offset[follower]] = s.log[s.leader][s.log_end_offset[follower]]
        s.log_end_offset[follower] += 1
    if s.high_watermark[follower] < min(s.high_watermark[s.leader], s.log_end_offset[follower]):
        s.high_watermark[follower] = min(s.high_watermark[s.leader], s.log_end_offset[follower])
        tell_high_watermark(s, follower)


@action
def leader_advances_high_watermark(s):
    """The leader commits a record that every replica has. A stale leader commits none: it has lost its followers."""
    require(s.high_watermark[s.leader] < s.log_end_offset[s.leader])
    require(
        all(
            s.known_epoch[replica] == s.leader_epoch
            and s.log[replica][s.high_watermark[s.leader]] == s.log[s.leader][s.high_watermark[s.leader]]
            for replica in range(s.replicas)
        )
    )
    s.high_watermark[s.leader] += 1
    tell_high_watermark(s, s.leader)


# ------------------------------------------------------------------------------------------------------------- promises
#
# What a coordinator promises, and states that must be reachable.


@always
def acknowledged_commit_is_kept(s):
    """The leader's log has every write that was acknowledged to a client."""
    return all(s.answer[write] != Answer.ACKNOWLEDGED or holds(s, s.leader, write) for write in range(s.writes))


@always
def state_agrees_with_log(s):
    """Apart from an open batch, the leader's coordinator has in memory exactly the writes that the leader's log has."""
    return all(
        not is_coordinator(s, broker)
        or all(
            s.batch[broker][write] or s.applied[broker][write] == holds(s, broker, write) for write in range(s.writes)
        )
        for broker in range(s.replicas)
    )


@always(applies=lambda configuration: configuration.service == Service.GROUP)
def log_is_valid(s):
    """The leader's log has no record of a consumer group after the record that makes it a classic group."""
    return not any(
        s.log[s.leader][earlier] != NONE
        and s.log[s.leader][later] != NONE
        and s.kind[s.log[s.leader][earlier]] == Kind.CLASSIC
        and s.kind[s.log[s.leader][later]] == Kind.MEMBER
        for earlier in range(s.writes)
        for later in range(s.writes)
        if earlier < later
    )


@sometimes
def a_commit_is_acknowledged(s):
    return any(s.answer[write] == Answer.ACKNOWLEDGED and s.kind[write] == Kind.COMMIT for write in range(s.writes))


@sometimes(applies=lambda configuration: configuration.elections > 0)
def a_write_fails(s):
    """Leadership moves before a write is committed, and the client gets an error."""
    return any(s.answer[write] == Answer.FAILED for write in range(s.writes))


@sometimes(applies=lambda configuration: configuration.elections > 0)
def another_coordinator_goes_on(s):
    """One broker's coordinator acknowledges a write, and another broker's coordinator acknowledges a later write."""
    return any(
        s.answer[earlier] == Answer.ACKNOWLEDGED
        and s.answer[later] == Answer.ACKNOWLEDGED
        and s.handled_by[earlier] != s.handled_by[later]
        for earlier in range(s.writes)
        for later in range(s.writes)
    )


@sometimes(applies=lambda configuration: configuration.writes > 1)
def a_batch_has_two_writes(s):
    return any(
        s.batch[broker][earlier] and s.batch[broker][later]
        for broker in range(s.replicas)
        for earlier in range(s.writes)
        for later in range(s.writes)
        if earlier < later
    )


@sometimes(applies=lambda configuration: configuration.service == Service.GROUP)
def a_group_is_converted(s):
    """The group is a classic group in memory, and in the log of every replica."""
    return is_classic(s, s.leader) and all(
        any(holds(s, replica, write) and s.kind[write] == Kind.CLASSIC for write in range(s.writes))
        for replica in range(s.replicas)
    )


@sometimes(applies=lambda configuration: configuration.elections > 0)
def a_stale_coordinator_has_a_batch(s):
    """A coordinator has an open batch that cannot be written, because its broker has become a follower."""
    return any(s.unload_is_queued[broker] and has_open_batch(s, broker) for broker in range(s.replicas))


# ---------------------------------------------------------------------------------------------------------- generations


GENERATION_4_0 = {"LISTENS_AS_FOLLOWER": True}
GENERATION_4_2 = GENERATION_4_0 | {"FLUSHES_EMPTY_BATCH": True}
GENERATION_4_4 = GENERATION_4_2 | {"LISTENS_AS_FOLLOWER": False, "FLUSHES_EMPTY_BATCH": False}

STAND_INS = {"4.1": "4.0 stands for it", "4.3": "4.2 stands for it", "4.5": "4.4 stands for it"}

MODEL = assemble(
    "coordinator",
    sys.modules[__name__],
    {"4.0": (None, GENERATION_4_0), "4.2": (None, GENERATION_4_2), "4.4": (None, GENERATION_4_4)},
    STAND_INS,
)
"""A generation is data: values of switches. docs/coordinator.md explains each switch, and why these generations."""
