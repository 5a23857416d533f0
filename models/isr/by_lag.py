"""Who leaves the ISR, in a model with a clock: whoever lacks many records (0.8), or is behind for long (0.9 on).

A leader and one follower; nobody else is in the ISR. A tick is the time between two fetches of the follower.
Each fetch takes at most `fetch_size` records, and tells the leader where the follower's log ended before it. Every
`check_ticks` ticks the leader checks whether the follower must leave; a fetch at the leader's log end lets it rejoin.

`replica.lag.max.messages` (0.8) limits how many records the follower lacks: a burst of writes removes a follower that
is never late, and its next fetch lets it rejoin. `replica.lag.time.max.ms` (the only limit since 0.9) limits the time
since the follower last caught up. It counts as caught up at the time of a fetch if, at the next fetch, it has all the
records that the leader had then. With a limit of two ticks or more, a burst does not matter, and a follower that is too
slow leaves and stays out. Kafka: Replica.updateFetchState, Partition.getOutOfSyncReplicas, maybeExpandIsr; KAFKA-1546.

Left out: a second follower, with which the high watermark can be lower than the end of the leader's log, so that a
follower rejoins earlier; the time that a change of the ISR takes.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    between,
    bound,
    contradiction,
    field,
    require,
    setting,
    sometimes,
    switch,
)


class ShrinkRule(IntEnum):
    MESSAGES = 0
    TIME = 1


class Configuration:
    burst = bound(4, "records that the producer may write between two ticks", least=1, most=8, option="--burst")
    least_writes = setting(0, "records that the producer writes at least between two ticks", most=8)
    fetch_size = setting(4, "records that a fetch takes at most", least=1, most=8, option="--fetch-size")
    lag_max_messages = setting(2, "replica.lag.max.messages", least=1, most=30, option="--lag-max-messages")
    lag_time_max_ticks = bound(4, "replica.lag.time.max.ms in ticks", least=1, most=8, option="--lag-time-max-ticks")
    check_ticks = bound(2, "ticks between two looks at the ISR", least=1, most=8)
    most_behind = bound(20, "a follower that lacks more records counts as one that lacks so many", least=1, most=60)
    stops = setting(False, "the follower may stop fetching", values=bool, option="--stops")
    SHRINK_RULE = switch(ShrinkRule.TIME, "who leaves the ISR")


class Written(Domain, size=lambda configuration: configuration.burst + 1):
    """A number of records that the producer writes at once."""


class State:
    behind = field(values=between(0, "most_behind"))  # records that the follower lacks
    known_behind = field(values=between(0, "most_behind"))  # records that it lacks, as far as the leader knows
    behind_last = field(values=between(0, "most_behind"))  # of the records at its last fetch, those that it lacks
    ticks_since_fetch = field(values=between(0, lambda configuration: configuration.lag_time_max_ticks + 1))
    ticks_since_caught_up = field(values=between(0, lambda configuration: configuration.lag_time_max_ticks + 1))
    is_in_isr = field(values=Flag, initially=True)
    has_stopped = field(values=Flag)
    ticks_since_check = field(values=between(0, "check_ticks"))
    written = field(values=between(-1, "burst"), initially=-1)  # since the last tick; -1: not yet
    has_fetched = field(values=Flag)  # since the last tick
    times_left = field(values=between(0, 2))  # how often the follower has left the ISR; 2 means often
    is_late = field(values=Flag)  # at some fetch, the follower lacked records of the fetch before


@contradiction
def more_is_written_than_may_be(c):
    """least_writes: the producer writes at most `burst` records between two ticks; give a larger burst."""
    return c.least_writes > c.burst


@contradiction
def a_fetch_takes_all(c):
    """fetch_size is not below most_behind, so every fetch takes all that a follower can lack; raise most_behind."""
    return c.fetch_size >= c.most_behind


@contradiction
def no_follower_lacks_so_many(c):
    """lag_max_messages is not below most_behind, so no follower can lack more; raise most_behind."""
    return c.SHRINK_RULE == ShrinkRule.MESSAGES and c.lag_max_messages >= c.most_behind


@action
def producer_writes(s, count: Written):
    """The producer writes `count` records at once, once between two ticks, before or after the follower's fetch."""
    require(s.written == -1)
    require(count >= s.least_writes)
    s.written = count
    s.behind = min(s.behind + count, s.most_behind)
    s.known_behind = min(s.known_behind + count, s.most_behind)


@action
def follower_fetches(s):
    """The follower fetches, which tells the leader its log end. If the follower lacks no record, it rejoins the ISR."""
    require(not s.has_fetched)
    require(not s.has_stopped)
    s.has_fetched = True
    if s.behind == 0:
        s.ticks_since_caught_up = 0
    elif s.behind_last == 0:
        s.ticks_since_caught_up = min(s.ticks_since_caught_up, s.ticks_since_fetch)
    else:
        s.is_late = True
    s.known_behind = s.behind
    if s.behind == 0:
        s.is_in_isr = True
    s.behind_last = max(s.behind - s.fetch_size, 0)
    s.behind = max(s.behind - s.fetch_size, 0)
    s.ticks_since_fetch = 0


@action
def follower_stops(s):
    require(s.stops)
    require(not s.has_stopped)
    s.has_stopped = True


def is_out_of_sync(s):
    if s.SHRINK_RULE == ShrinkRule.MESSAGES:
        return s.known_behind > s.lag_max_messages or s.ticks_since_fetch > s.lag_time_max_ticks
    return s.known_behind > 0 and s.ticks_since_caught_up > s.lag_time_max_ticks


@action
def leader_checks_isr(s):
    require(s.ticks_since_check == s.check_ticks)
    s.ticks_since_check = 0
    if s.is_in_isr and is_out_of_sync(s):
        s.is_in_isr = False
        s.times_left = min(s.times_left + 1, 2)


@action
def tick_passes(s):
    require(s.written != -1)
    require(s.has_fetched or s.has_stopped)
    require(s.ticks_since_check < s.check_ticks)
    s.written = -1
    s.has_fetched = False
    s.ticks_since_check += 1
    s.ticks_since_fetch = min(s.ticks_since_fetch + 1, s.lag_time_max_ticks + 1)
    s.ticks_since_caught_up = min(s.ticks_since_caught_up + 1, s.lag_time_max_ticks + 1)


def keeps_up(s):
    """The follower has not stopped, and at every fetch it had all records that the leader had at the previous fetch."""
    return not s.is_late and not s.has_stopped


@always
def a_follower_that_keeps_up_stays(s):
    """A follower that is never late never leaves the ISR."""
    return s.is_in_isr or not keeps_up(s)


@always
def the_isr_does_not_flap(s):
    """A follower that is never late does not leave the ISR repeatedly."""
    return s.times_left < 2 or not keeps_up(s)


@always(applies=lambda c: c.least_writes > c.fetch_size)
def a_slow_follower_stays_out(s):
    """A follower that fetches fewer records than the producer writes never rejoins the ISR once it has left it."""
    return not s.is_in_isr or s.times_left == 0


@sometimes(applies=lambda c: c.least_writes > c.fetch_size or c.stops)
def a_slow_follower_leaves(s):
    """A follower that fetches fewer records than the producer writes, or that stops, leaves the ISR."""
    return not s.is_in_isr and not keeps_up(s)


@sometimes(
    applies=lambda c: (
        c.SHRINK_RULE == ShrinkRule.MESSAGES and c.burst > c.lag_max_messages and c.least_writes <= c.fetch_size
    )
)
def a_follower_rejoins(s):
    return s.is_in_isr and s.times_left > 0
