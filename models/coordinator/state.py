"""A coordinator: what it has in memory, what it has written, what is acknowledged; and the partition below it.

One partition of `__consumer_offsets` with one group, or of `__share_group_state` with one share-partition. Each broker
that leads the partition has a coordinator. A write operation changes the coordinator's state in memory at once, and its
record joins an open batch. A flush appends the batch to the leader's log. The client is answered once the high
watermark has passed the record: the coordinator listens to it. A coordinator whose broker no longer leads is unloaded
by an event in its queue, some time later; the new leader loads the state from its log.

Kafka: CoordinatorRuntime, CoordinatorPartitionWriter, CoordinatorLoaderImpl (KIP-848, KIP-932).

Left out: the replication itself, which the model `kafka` has. Here every replica stays in the ISR, so that each of them
may be elected, and holds what is committed; a follower cuts its log to what it shares with the leader's in one step.
Also left out: several groups of a partition; transactional offset commits; records of different operations in one
operation's batch that does not fit (non-atomic writes); read operations; expiry and compaction; an operation that fails
after it has changed the state (its own callback reverts that); errors of an append other than NOT_LEADER_OR_FOLLOWER;
an unloading that fails (KAFKA-20115); a client that repeats a failed request (that is another write).
"""

from enum import IntEnum

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    between,
    bound,
    budget,
    field,
    initial,
    optional,
    setting,
    switch,
    terminal,
)


class Service(IntEnum):
    """Which service the runtime serves."""

    GROUP = 0
    SHARE = 1


class Kind(IntEnum):
    """What a record says.

    COMMIT: an offset commit of the group, or the state of a share-partition (which records are acknowledged). MEMBER: a
    record of a consumer group (KIP-848), which is valid only as long as the group is one. CLASSIC: the group becomes a
    classic group, because the last member of the new protocol has left (ConsumerGroupMigrationPolicy).
    """

    NONE = 0
    COMMIT = 1
    MEMBER = 2
    CLASSIC = 3


class Answer(IntEnum):
    """What the client of a write has been told. FAILED: NOT_COORDINATOR, and it asks again."""

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
    """A replica of the partition, and the broker that has it."""


class Write(Domain, size="writes", letters=True):
    """A write operation, and its record."""


class Offset(Domain, size="writes"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.writes + 1):
    pass


class Epoch(Domain, size=lambda configuration: configuration.elections + 1):
    """A leader epoch."""


class State:
    # The controller's decision, and what each broker has applied of it.
    leader = field(values=Replica)
    leader_epoch = field(values=Epoch)
    known_epoch = field(Replica, values=Epoch)
    leads = field(Replica, values=Flag)

    # The partition.
    log = field(Replica, Offset, values=optional(Write), initially=NONE)
    log_end_offset = field(Replica, values=EndOffset)
    high_watermark = field(Replica, values=EndOffset)

    # The coordinator of each broker: its state in memory is what it has applied, in the order of the writes.
    is_active = field(Replica, values=Flag)
    loaded_in = field(Replica, values=Epoch)
    applied = field(Replica, Write, values=Flag)
    batch = field(Replica, Write, values=Flag)  # records of the open batch
    last_written_offset = field(Replica, values=EndOffset)
    unload_is_queued = field(Replica, values=Flag)
    is_listening = field(Replica, values=Flag)
    heard_high_watermark = field(Replica, values=EndOffset)  # not handled yet; 0: none

    # Each write: its record, who handles it, the offset that the high watermark has to reach, and the answer.
    next_write = field(values=between(0, "writes"))
    kind = field(Write, values=Kind)
    handled_by = field(Write, values=optional(Replica), initially=NONE)
    awaited_offset = field(Write, values=EndOffset)  # 0: its record has not been flushed, or nobody waits
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
    """Writes and elections are numbered, so that every behaviour ends."""
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
    """The coordinator is active, its broker leads in the current epoch, and nothing is to be unloaded."""
    return (
        s.is_active[broker]
        and s.leads[broker]
        and s.known_epoch[broker] == s.leader_epoch
        and not s.unload_is_queued[broker]
    )
