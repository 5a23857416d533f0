"""Which offsets a consumer commits automatically, and where it begins: does it get each record at least once?

One partition, one consumer of a group, enable.auto.commit=true. A background thread fetches records into a buffer. A
call of poll() collects records from the buffer, which moves the position, and returns them. When the application calls
poll() again, it has processed the returned records. A consumer that crashes starts again from the committed offset,
or, if no offset is committed, where auto.offset.reset says.

Kafka: ClassicKafkaConsumer, ConsumerCoordinator.maybeAutoCommitOffsetsAsync; AsyncKafkaConsumer, FetchCollector,
CommitRequestManager, SubscriptionState.allConsumed, OffsetsRequestManager (KIP-848, KIP-1327).

Left out: rebalances (the commit before a revocation follows the same rule), close(), commits that the application asks
for, an offset commit on its way (it takes effect at once, or never), several partitions, retention, a committed offset
that is out of range, transactional records, `by_duration` and `none`. The partition itself loses nothing, and the
group's coordinator keeps what it has acknowledged: see `kafka` and `coordinator`.
"""

import sys

from isrcheck.models.client_settings import Spelled
from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    action,
    always,
    between,
    bound,
    budget,
    contradiction,
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


class Reset(Spelled):
    """The values of `auto.offset.reset`: where a consumer begins if no offset is committed."""

    EARLIEST = 0
    LATEST = 1


class Configuration:
    records = bound(2, "records that are produced", least=1, most=6, option="--records")
    restarts = budget(1, "crashes of the consumer, after which it starts again", shapes=True, option="--restarts")
    auto_offset_reset = setting(Reset.EARLIEST, "auto.offset.reset", values=Reset, option="--auto-offset-reset")
    partition_is_added = setting(False, "the partition is added after the group subscribed", values=bool)
    new_partitions_from_start = setting(False, "auto.offset.reset.new.partitions=earliest (KIP-1327)", values=bool)
    COMMITS_AT_ANY_TIME = switch(False, "auto-commit takes the position at any time (KAFKA-18641)")
    NEW_PARTITIONS_ARE_TOLD = switch(False, "the group coordinator tells which partitions are new (KAFKA-20539)")


class Offset(Domain, size="records"):
    pass


class EndOffset(Domain, size=lambda configuration: configuration.records + 1):
    pass


class State:
    # The partition and the group.
    exists = field(values=Flag)
    log_end_offset = field(values=EndOffset)
    committed_offset = field(values=optional(EndOffset), initially=NONE)
    first_offset = field(values=optional(EndOffset), initially=NONE)  # where the group began; NONE: not yet

    # The consumer: what it has fetched, collected and returned so far; NONE: it has no position yet.
    fetched_offset = field(values=EndOffset)
    position = field(values=optional(EndOffset), initially=NONE)
    returned_offset = field(values=EndOffset)
    is_polling = field(values=Flag)

    # What became of each record, in the life of the group.
    was_returned = field(Offset, values=Flag)
    was_processed = field(Offset, values=Flag)
    was_passed_over = field(Offset, values=Flag)  # by a reset to the end of the log
    restarts_left = field(values=between(0, "restarts"))


@initial
def group_subscribes(configuration):
    """A group subscribes to a partition that is empty, or that is added later (`partition_is_added`); in the second
    case, the group must read the partition from its start."""
    yield {
        "exists": not configuration.partition_is_added,
        "first_offset": 0 if configuration.partition_is_added else NONE,
        "restarts_left": configuration.restarts,
    }


@terminal
def work_is_done(s):
    """Records and crashes are limited in number, so a behaviour may end in every state."""
    return True


@contradiction
def new_partitions_are_not_told(configuration):
    """auto.offset.reset.new.partitions needs the group protocol `consumer` of 4.4: choose --protocol 4.4."""
    return configuration.new_partitions_from_start and not configuration.NEW_PARTITIONS_ARE_TOLD


@action
def partition_is_created(s):
    """The topic gets another partition; producers may find it before consumers do (metadata.max.age.ms)."""
    require(not s.exists)
    s.exists = True


@action
def producer_appends(s):
    require(s.exists)
    require(s.log_end_offset < s.records)
    s.log_end_offset += 1


def begins_at_start(s):
    """Without a committed offset, the consumer begins at offset 0: auto.offset.reset is `earliest`, or the partition is
    added later and auto.offset.reset.new.partitions is `earliest`."""
    return s.auto_offset_reset == Reset.EARLIEST or (s.partition_is_added and s.new_partitions_from_start)


@action
def consumer_finds_position(s):
    """The consumer begins at the committed offset or, without one, where auto.offset.reset says (ListOffsets)."""
    require(s.exists)
    require(s.position == NONE)
    if s.committed_offset != NONE:
        s.position = s.committed_offset
    elif begins_at_start(s):
        s.position = 0
    else:
        s.position = s.log_end_offset
        for offset in range(s.records):
            if offset < s.log_end_offset and not s.was_returned[offset]:
                s.was_passed_over[offset] = True
    if s.first_offset == NONE:
        s.first_offset = s.position
    s.fetched_offset = s.position
    s.returned_offset = s.position


@action
def background_fetches(s):
    require(s.position != NONE)
    require(s.fetched_offset < s.log_end_offset)
    s.fetched_offset += 1


@action
def application_polls(s):
    """The application calls poll(): it has processed the records that the previous call returned."""
    require(s.position != NONE and not s.is_polling)
    s.is_polling = True
    for offset in range(s.records):
        if s.was_returned[offset] and offset < s.returned_offset:
            s.was_processed[offset] = True


@action
def poll_collects(s):
    """The call of poll() takes a record from the buffer, and moves the position. Kafka: FetchCollector.collectFetch."""
    require(s.is_polling)
    require(s.position < s.fetched_offset)
    s.position += 1


@action
def poll_returns(s):
    """The call of poll() returns the records that it has collected, if any, to the application."""
    require(s.is_polling)
    for offset in range(s.records):
        if s.returned_offset <= offset < s.position:
            s.was_returned[offset] = True
    s.returned_offset = s.position
    s.is_polling = False


@action
def consumer_commits(s):
    """The consumer commits its position, because auto.commit.interval.ms is over.

    The classic consumer commits in poll(), before it collects records. The new consumer's background thread took the
    position even in the middle of poll(); since the repair of KAFKA-18641, poll() tells the thread when to take it.
    """
    require(s.position != NONE)
    require(s.COMMITS_AT_ANY_TIME or (s.is_polling and s.position == s.returned_offset))
    require(s.committed_offset != s.position)
    s.committed_offset = s.position


@action
def consumer_restarts(s):
    """The consumer crashes, and starts again without position and buffer."""
    require(s.restarts_left > 0)
    require(s.position != NONE)
    s.restarts_left -= 1
    s.position = NONE
    s.fetched_offset = 0
    s.returned_offset = 0
    s.is_polling = False


@always
def committed_records_were_returned(s):
    """The application got every record below the committed offset."""
    return all(
        s.was_returned[offset] or s.was_passed_over[offset] or s.committed_offset <= offset
        for offset in range(s.records)
    )


@always
def committed_records_were_processed(s):
    """The application has processed every record below the committed offset: it has called poll() again."""
    return all(
        s.was_processed[offset] or s.was_passed_over[offset] or s.committed_offset <= offset
        for offset in range(s.records)
    )


@always
def no_record_is_skipped(s):
    """At least once: no consumer begins after a record that the application never got. With `latest`, the records
    before the first position that the group found do not count, unless the partition was added later."""
    return s.position == NONE or all(
        s.was_returned[offset] or offset < s.first_offset or s.returned_offset <= offset for offset in range(s.records)
    )


@sometimes
def a_record_is_processed_and_committed(s):
    return any(s.was_processed[offset] and s.committed_offset > offset for offset in range(s.records))


@sometimes(applies=lambda configuration: configuration.restarts > 0)
def a_consumer_goes_on(s):
    """A consumer that has crashed begins again at the committed offset, which is above 0."""
    return s.restarts_left < s.restarts and s.position > 0 and s.position == s.committed_offset


@sometimes
def a_poll_has_collected_a_record(s):
    """poll() has collected a record, and has not returned it yet: the position is ahead of what the application has."""
    return s.is_polling and s.position > s.returned_offset


ASYNC = {"COMMITS_AT_ANY_TIME": True}
MODEL = assemble(
    "consumer_commits",
    sys.modules[__name__],
    {
        "classic": (None, {}),
        "3.9": (None, ASYNC),
        "4.1": (None, ASYNC | {"COMMITS_AT_ANY_TIME": False}),
        "4.4": (None, {"NEW_PARTITIONS_ARE_TOLD": True}),
    },
    {"3.7": "3.9 stands for it", "3.8": "3.9 stands for it", "4.2": "4.1 stands for it", "4.3": "4.1 stands for it"},
)
