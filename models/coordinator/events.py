"""What happens to a coordinator, and in the partition below it."""

from isrcheck.models.coordinator.state import Answer, Kind, Replica, Service, has_open_batch, holds, is_classic
from isrcheck.models.language import NONE, action, require

# --------------------------------------------------------------------------------------------------------------- events
#
# The events of a coordinator: each is handled alone, in the order of its queue.
#
# Unloading waits in the queue while leadership moves again. An event with the high watermark, or with a flush that the
# linger time asks for, is put at the front of the queue, so it may come before. Kafka: CoordinatorRuntime.


def take_write(s, broker, kind):
    """The next write operation: its record joins the open batch, which is allocated if there is none."""
    for write in range(s.writes):
        if write == s.next_write:
            s.kind[write] = kind
            s.handled_by[write] = broker
            s.batch[broker][write] = True
            s.applied[broker][write] = True
    s.next_write += 1


@action
def coordinator_handles_commit(s, broker: Replica):
    """OffsetCommit, or WriteShareGroupState: the record is replayed, which changes the state, and joins the batch."""
    require(s.is_active[broker])
    require(s.next_write < s.writes)
    take_write(s, broker, Kind.COMMIT)


@action
def coordinator_handles_member(s, broker: Replica):
    """ConsumerGroupHeartbeat: a record of a consumer group. By the state in memory, the group is one."""
    require(s.service == Service.GROUP)
    require(s.is_active[broker])
    require(s.next_write < s.writes)
    require(not is_classic(s, broker))
    take_write(s, broker, Kind.MEMBER)


@action
def coordinator_converts_group(s, broker: Replica):
    """The consumer group becomes a classic group. The records, of all members, are large, so they need an own batch.

    The state in memory is changed first, and the records are not replayed. With KAFKA-20845 the empty batch that is
    allocated for them is flushed, which fails and reverts the state to the last written offset; they are then put in
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
    """The state in memory is given up, and everything that waits for an answer fails with NOT_COORDINATOR."""
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
    """The leader appends the batch; its writes wait for the offset at its end."""
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
    """A flush that fails reverts the state to where the batch began. Kafka: CoordinatorContext.failCurrentBatch."""
    for write in range(s.writes):
        if s.batch[broker][write]:
            s.answer[write] = Answer.FAILED
            s.applied[broker][write] = False
            s.batch[broker][write] = False


def may_append(s, broker):
    """The partition accepts an append of its leader, in whatever epoch the coordinator was loaded."""
    return s.leads[broker] and (not s.APPENDS_IN_ITS_EPOCH or s.loaded_in[broker] == s.known_epoch[broker])


@action
def coordinator_flushes_batch(s, broker: Replica):
    """The batch is appended, or refused because the broker does not lead (NOT_LEADER_OR_FOLLOWER).

    If the log ends elsewhere than the coordinator expects, it gives up its state and is loaded again; the records stay
    in the log. Kafka: CoordinatorContext.flushCurrentBatch.
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
    """Writes up to the high watermark are acknowledged. One beyond what was written is refused with an error.

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
    """The event that the loss of leadership has put in the queue. Kafka: CoordinatorRuntime.scheduleUnloadOperation."""
    require(s.unload_is_queued[broker])
    s.unload_is_queued[broker] = False
    forget(s, broker)


@action
def coordinator_loads(s, broker: Replica):
    """The coordinator of the leader replays its log to the end, and listens. Kafka: CoordinatorLoaderImpl.load."""
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
    """A leader that leads again, and has applied nothing in between, keeps its coordinator, in the new epoch.

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
    """The broker applies the controller's last record, and skips those before it.

    A coordinator of a broker that becomes follower gets an event that unloads it; since KAFKA-20634, it does not hear
    the high watermark from here on. Kafka: BrokerMetadataPublisher, GroupCoordinatorService.onResignation;
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
    """Both brokers have applied the last record of the controller."""
    return (
        follower != s.leader and s.known_epoch[follower] == s.leader_epoch and s.known_epoch[s.leader] == s.leader_epoch
    )


def diverges(s, follower, offset):
    """At this offset, the follower has a record that the leader does not have there."""
    return s.log[follower][offset] != NONE and s.log[follower][offset] != s.log[s.leader][offset]


@action
def follower_truncates(s, follower: Replica):
    """The follower cuts its log to what it shares with the leader's. The high watermark goes down with it, silently."""
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
    """The coordinator, if it listens, notes the high watermark; it replaces what was noted and not handled.

    Kafka: CoordinatorRuntime.HighWatermarkListener.onHighWatermarkUpdated.
    """
    if s.is_active[broker] and s.is_listening[broker]:
        s.heard_high_watermark[broker] = s.high_watermark[broker]


@action
def follower_fetches(s, follower: Replica):
    """The follower appends the next record, and takes over the leader's high watermark as far as its log goes."""
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
    """Every replica follows this leader and has the next record. A stale leader has lost its followers."""
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
