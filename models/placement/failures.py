"""What is lost when brokers or racks fail: leaders, the possibility to write, whole partitions.

The model has several partitions, whose replicas are all in sync at first. Every assignment of replicas that Kafka can
make (kafka_assignment.py) is an initial state. Brokers fail for good, alone or with their rack; the controller elects
the first of a partition's replicas that is up. Properties such as `leaders_move_rarely` count partitions, and compare
the count with a limit in the configuration: the smallest limit for which a property holds is the worst case. Without a
limit, the property does not apply.

The model leaves out how long an election takes, and replicas that are not in sync, which other models describe.
"""

from isrcheck.models.language import (
    NONE,
    Domain,
    Flag,
    action,
    always,
    always_step,
    between,
    bound,
    budget,
    contradiction,
    field,
    initial,
    optional,
    require,
    setting,
    switch,
    terminal,
)
from isrcheck.models.placement.kafka_assignment import assignment, rack_of

NO_LIMIT = 127


class Configuration:
    brokers = bound(6, "brokers", least=1, most=12, option="--brokers")
    partitions = bound(6, "partitions", least=1, most=24, option="--partitions")
    replication_factor = bound(3, "replicas of each partition", least=1, most=5, option="--replication-factor")
    racks = bound(3, "racks, each with brokers of successive numbers", least=1, most=6, option="--racks")
    min_insync_replicas = setting(2, "min.insync.replicas", least=1, most=5, option="--min-insync-replicas")
    broker_failures = budget(1, "brokers that fail", shapes=True, most=6, option="--broker-failures")
    rack_failures = budget(0, "racks that fail", shapes=True, most=6, option="--rack-failures")
    RACK_AWARE = switch(True, "replicas are spread over racks (KIP-36)")
    most_moved = setting(NO_LIMIT, "the limit of leaders_move_rarely; 127: none")
    most_readonly = setting(NO_LIMIT, "the limit of writes_stop_rarely; 127: none")
    most_offline = setting(NO_LIMIT, "the limit of partitions_are_rarely_offline; 127: none")
    most_led = setting(NO_LIMIT, "the limit of leaders_are_spread; 127: none")


class Broker(Domain, size="brokers"):
    pass


class Rack(Domain, size="racks"):
    pass


class Partition(Domain, size="partitions"):
    pass


class Place(Domain, size="replication_factor"):
    """A place in the list of a partition's replicas; the preferred leader has place 0."""


class State:
    replica = field(Partition, Place, values=Broker)
    rack = field(Broker, values=Rack)
    leader = field(Partition, values=optional(Broker))
    is_up = field(Broker, values=Flag, initially=True)
    broker_failures_so_far = field(values=between(0, "broker_failures"))
    rack_failures_so_far = field(values=between(0, "rack_failures"))


@contradiction
def more_replicas_than_brokers(c):
    """replication_factor: a partition has at most one replica on a broker; give more brokers or fewer replicas."""
    return c.replication_factor > c.brokers


@contradiction
def more_racks_than_brokers(c):
    """racks: each rack needs a broker; give more brokers or fewer racks."""
    return c.racks > c.brokers


@contradiction
def more_in_sync_than_replicas(c):
    """min_insync_replicas: no partition has so many replicas; give a smaller number, or more replicas."""
    return c.min_insync_replicas > c.replication_factor


@initial
def every_start_and_shift(configuration):
    """Yield an initial state for each `assignment` of replicas: Kafka chooses its start and shift at random."""
    c = configuration
    for start in range(c.brokers):
        for shift in range(c.brokers):
            sizes = c.brokers, c.partitions, c.replication_factor, c.racks
            replicas = assignment(*sizes, start=start, shift=shift, is_rack_aware=bool(c.RACK_AWARE))
            yield {
                "replica": replicas,
                "leader": [first for first, *_ in replicas],
                "rack": [rack_of(broker, c.brokers, c.racks) for broker in range(c.brokers)],
            }


@action
def broker_fails(s, broker: Broker):
    require(s.broker_failures_so_far < s.broker_failures)
    require(s.is_up[broker])
    s.broker_failures_so_far += 1
    s.is_up[broker] = False


@action
def rack_fails(s, rack: Rack):
    require(s.rack_failures_so_far < s.rack_failures)
    require(any(s.is_up[broker] and s.rack[broker] == rack for broker in range(s.brokers)))
    s.rack_failures_so_far += 1
    for broker in range(s.brokers):
        if s.rack[broker] == rack:
            s.is_up[broker] = False


def is_led(s, partition):
    return s.leader[partition] != NONE and s.is_up[s.leader[partition]]


@action
def controller_elects(s, partition: Partition, place: Place):
    """If the partition's leader is down, the first of the partition's replicas that is up becomes the leader."""
    require(not is_led(s, partition))
    require(s.is_up[s.replica[partition][place]])
    require(
        all(not s.is_up[s.replica[partition][earlier]] for earlier in range(s.replication_factor) if earlier < place)
    )
    s.leader[partition] = s.replica[partition][place]


@terminal
def nothing_more_happens(s):
    """Every state can be the last state of a behaviour, since failures and elections are limited in number."""
    return True


def up(s, partition):
    return sum(1 for place in range(s.replication_factor) if s.is_up[s.replica[partition][place]])


@always(applies=lambda c: c.most_moved < NO_LIMIT)
def leaders_move_rarely(s):
    """At most `most_moved` partitions lose their first leader."""
    return sum(1 for p in range(s.partitions) if not s.is_up[s.replica[p][0]]) <= s.most_moved


@always(applies=lambda c: c.most_readonly < NO_LIMIT)
def writes_stop_rarely(s):
    """At most `most_readonly` partitions have running replicas, but fewer than min.insync.replicas."""
    return sum(1 for p in range(s.partitions) if up(s, p) > 0 and up(s, p) < s.min_insync_replicas) <= s.most_readonly


@always(applies=lambda c: c.most_offline < NO_LIMIT)
def partitions_are_rarely_offline(s):
    """At most `most_offline` partitions have no running replica."""
    return sum(1 for p in range(s.partitions) if up(s, p) == 0) <= s.most_offline


@always(applies=lambda c: c.most_led < NO_LIMIT)
def leaders_are_spread(s):
    """No broker leads more than `most_led` partitions, also after elections."""
    return all(
        sum(1 for p in range(s.partitions) if s.leader[p] == broker) <= s.most_led
        for broker in range(s.brokers)
        if s.is_up[broker]
    )


@always
def the_first_replica_that_is_up_leads(s):
    """Each leader that is up is the first of its partition's replicas that are up. Failed brokers do not return."""
    return all(
        not is_led(s, p)
        or all(
            s.replica[p][place] == s.leader[p]
            or not s.is_up[s.replica[p][place]]
            or any(s.replica[p][earlier] == s.leader[p] for earlier in range(s.replication_factor) if earlier < place)
            for place in range(s.replication_factor)
        )
        for p in range(s.partitions)
    )


@always_step
def who_is_elected_is_up(before, after):
    return all(after.leader[p] == before.leader[p] or after.is_up[after.leader[p]] for p in range(before.partitions))


@always
def replicas_are_on_different_brokers(s):
    return all(
        s.replica[p][a] != s.replica[p][b]
        for p in range(s.partitions)
        for a in range(s.replication_factor)
        for b in range(s.replication_factor)
        if a < b
    )


@always(applies=lambda c: bool(c.RACK_AWARE))
def racks_are_used(s):
    """Each partition has replicas on as many racks as possible."""
    return all(
        sum(
            1
            for rack in range(s.racks)
            if any(s.rack[s.replica[p][place]] == rack for place in range(s.replication_factor))
        )
        == min(s.racks, s.replication_factor)
        for p in range(s.partitions)
    )
