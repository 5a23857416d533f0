"""How brokers hear of a changed ISR where leaders write it to ZooKeeper (0.9 to 2.6), in a model with a clock.

There is one partition. Its leader writes the ISR to ZooKeeper, by a conditional write, and notes that this change is
unreported. Every 2.5 seconds a thread of the leader's broker checks whether to report changes: if the ISR has not
changed for five seconds, or no notification was sent for a minute (KAFKA-2406, KAFKA-2722), the thread writes a
notification to ZooKeeper. The controller watches for notifications: it reads the ISR again, sends it to all brokers
(UpdateMetadata), and deletes the notification. A controller can fail between any two of these steps. Its successor
first deletes all notifications, then reads the ISR and sends it.

A tick is 2.5 seconds. A change happens between two ticks, so `n` ticks after a change, between `n - 1` and `n` times
2.5 seconds have passed. What takes milliseconds takes no tick: the thread, a controller that is up, and a broker that
has a request finish their work before the next tick.

Kafka: ReplicaManager.maybePropagateIsrChanges, KafkaController.processIsrChangeNotification, onControllerFailover. Left
out: several partitions; brokers that are slow or away; UpdateMetadata and LeaderAndIsr requests to a
broker before the latest such request, which replaces their content; elections, which announce the ISR as well.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    always_step,
    between,
    bound,
    budget,
    field,
    leads_to,
    require,
    sometimes,
    switch,
)


class Configuration:
    brokers = bound(2, "brokers that answer clients", least=1, most=4, option="--brokers")
    followers = bound(1, "followers that leave the ISR and rejoin it", least=1, most=3, option="--followers")
    quiet_ticks = bound(2, "ticks without a change, after which changes are reported (5 s)", least=1, most=8)
    latest_ticks = bound(24, "ticks without a notification, after which changes are reported (60 s)", least=1, most=40)
    failover_ticks = bound(3, "ticks until a new controller has begun", least=1, most=8)
    within_ticks = bound(28, "ticks within which every broker has heard of a change", least=1, most=60)
    controller_failures = budget(
        1, "how often the controller fails", shapes=True, most=3, option="--controller-failures"
    )
    controller_writes = budget(1, "how often the controller itself removes a follower", shapes=True, most=3)
    LATEST_AFTER_A_MINUTE = switch(True, "a change is reported after a minute, even if others follow (KAFKA-2722)")
    READS_AFTER_DELETING = switch(True, "a new controller deletes the notifications before it reads the ISR")


class Broker(Domain, size="brokers"):
    pass


class Follower(Domain, size="followers"):
    pass


class Watched(Domain, size=2):
    """Whether this change of the ISR is the watched change, whose age is measured."""


class Controller(IntEnum):
    """What the controller does next."""

    WATCHES = 0
    HAS_READ = 1
    HAS_SENT = 2
    FAILED = 3
    STARTS = 4
    HAS_PREPARED = 5


class State:
    isr = field(Follower, values=Flag, initially=True)  # in ZooKeeper, without the leader
    leader_has_version = field(values=Flag, initially=True)  # the leader knows the version that a write has to name
    leader_request = field(values=Flag)  # LeaderAndIsr with the current version
    has_news = field(values=Flag)  # the leader has changed the ISR, and not notified the controller
    ticks_since_change = field(values=between(0, lambda configuration: configuration.quiet_ticks + 1))
    ticks_since_notification = field(values=between(0, lambda configuration: configuration.latest_ticks + 1))
    thread_has_run = field(values=Flag)  # since the last tick
    notification = field(values=Flag)  # in ZooKeeper, and not read
    controller = field(values=Controller)
    ticks_without_controller = field(values=between(0, "failover_ticks"))
    read_isr = field(Follower, values=Flag)  # what the controller has read
    request = field(Broker, values=Flag)  # UpdateMetadata
    request_isr = field(Broker, Follower, values=Flag)
    shown_isr = field(Broker, Follower, values=Flag, initially=True)  # what the broker answers clients
    is_measured = field(values=Flag)  # the watched change has happened
    ticks_since_measured = field(values=between(0, lambda configuration: configuration.within_ticks + 1))
    read_has_heard = field(values=Flag)  # the controller has read the ISR after the watched change
    request_has_heard = field(Broker, values=Flag)
    has_heard = field(Broker, values=Flag)
    failures_so_far = field(values=between(0, "controller_failures"))
    writes_so_far = field(values=between(0, "controller_writes"))


# ----------------------------------------------------------------------------------------------------------- the leader


@action
def leader_changes_isr(s, follower: Follower, watched: Watched):
    """The follower falls behind and leaves the ISR, or has caught up and rejoins it.

    The write names the version that the leader knows. If the controller has written since, the write fails, and nothing
    changes until the leader gets the controller's request. Here the leader always gets this request; KAFKA-2729 is
    about a case in which the leader does not get it.
    """
    require(s.leader_has_version)
    require(watched == 0 or not s.is_measured)
    s.isr[follower] = not s.isr[follower]
    s.has_news = True
    s.ticks_since_change = 0
    begin_to_measure(s, watched)


def begin_to_measure(s, watched):
    """Start to measure the age of this change if `watched` is 1. Each change can be watched, so all are checked."""
    if watched == 1:
        s.is_measured = True


@action(fair=True)
def leader_gets_leader_and_isr(s):
    require(s.leader_request)
    s.leader_request = False
    s.leader_has_version = True


def is_to_be_told(s):
    """The thread isr-change-propagation has a change to report: it is 5 s old, or the last notification is 60 s old."""
    return s.has_news and (
        s.ticks_since_change > s.quiet_ticks
        or (s.LATEST_AFTER_A_MINUTE and s.ticks_since_notification > s.latest_ticks)
    )


@action(fair=True)
def thread_runs(s):
    """The thread of the leader's broker writes a notification, if one is due."""
    require(not s.thread_has_run)
    s.thread_has_run = True
    if is_to_be_told(s):
        s.has_news = False
        s.ticks_since_notification = 0
        s.notification = True


# ------------------------------------------------------------------------------------------------------- the controller


def read_isr_from_zookeeper(s):
    for follower in range(s.followers):
        s.read_isr[follower] = s.isr[follower]
    s.read_has_heard = s.is_measured


def send_update_metadata(s):
    for broker in range(s.brokers):
        s.request[broker] = True
        s.request_has_heard[broker] = s.read_has_heard
        for follower in range(s.followers):
            s.request_isr[broker][follower] = s.read_isr[follower]


def forget_what_was_read(s):
    for follower in range(s.followers):
        s.read_isr[follower] = False
    s.read_has_heard = False


@action(fair=True)
def controller_reads_isr(s):
    """The controller reads the notifications, then the ISR. A later notification fires the controller's watch again."""
    require(s.controller == Controller.WATCHES)
    require(s.notification)
    s.notification = False
    read_isr_from_zookeeper(s)
    s.controller = Controller.HAS_READ


@action(fair=True)
def controller_sends_update_metadata(s):
    require(s.controller == Controller.HAS_READ)
    send_update_metadata(s)
    forget_what_was_read(s)
    s.controller = Controller.HAS_SENT


@action(fair=True)
def controller_deletes_notifications(s):
    """The controller deletes the notifications that it has read."""
    require(s.controller == Controller.HAS_SENT)
    s.controller = Controller.WATCHES


@action
def controller_removes_follower(s, follower: Follower, watched: Watched):
    """The follower's broker has failed: the controller writes the ISR itself, and sends it to all brokers.

    Kafka: KafkaController.onBrokerFailure, ReplicaStateMachine.removeReplicasFromIsr.
    """
    require(s.controller == Controller.WATCHES)
    require(s.writes_so_far < s.controller_writes)
    require(s.isr[follower])
    require(watched == 0 or not s.is_measured)
    s.writes_so_far += 1
    s.isr[follower] = False
    s.leader_has_version = False
    begin_to_measure(s, watched)
    read_isr_from_zookeeper(s)
    send_update_metadata(s)
    forget_what_was_read(s)
    s.leader_request = True


@action
def controller_fails(s):
    """The controller fails. Its requests may still arrive; what it has read is lost; undeleted notifications stay."""
    require(s.failures_so_far < s.controller_failures)
    require(s.controller != Controller.FAILED)
    s.failures_so_far += 1
    s.controller = Controller.FAILED
    forget_what_was_read(s)


@action(fair=True)
def controller_is_elected(s):
    require(s.controller == Controller.FAILED)
    s.controller = Controller.STARTS
    s.ticks_without_controller = 0


@action(fair=True)
def new_controller_prepares(s):
    """The new controller deletes all notifications. The next step reads the ISR, so that no change in between is
    missed. (Without READS_AFTER_DELETING, this step reads the ISR, and the next step deletes the notifications.)"""
    require(s.controller == Controller.STARTS)
    if s.READS_AFTER_DELETING:
        s.notification = False
    else:
        read_isr_from_zookeeper(s)
    s.controller = Controller.HAS_PREPARED


@action(fair=True)
def new_controller_sends_everything(s):
    """The new controller reads the ISR, and sends it to all brokers and to the leader."""
    require(s.controller == Controller.HAS_PREPARED)
    if s.READS_AFTER_DELETING:
        read_isr_from_zookeeper(s)
    else:
        s.notification = False
    send_update_metadata(s)
    forget_what_was_read(s)
    s.leader_request = not s.leader_has_version
    s.controller = Controller.WATCHES


# ---------------------------------------------------------------------------------------------------------- the brokers


@action(fair="broker")
def broker_updates_metadata(s, broker: Broker):
    require(s.request[broker])
    for follower in range(s.followers):
        s.shown_isr[broker][follower] = s.request_isr[broker][follower]
        s.request_isr[broker][follower] = False
    if s.request_has_heard[broker]:
        s.has_heard[broker] = True
    s.request[broker] = False
    s.request_has_heard[broker] = False


# ------------------------------------------------------------------------------------------------------------ the clock


def nothing_is_left_to_do(s):
    """Everything that takes less than a tick is done, so a tick may pass. Electing a controller may take ticks."""
    return (
        s.thread_has_run
        and not s.leader_request
        and all(not s.request[broker] for broker in range(s.brokers))
        and (
            (s.controller == Controller.WATCHES and not s.notification)
            or (s.controller == Controller.FAILED and s.ticks_without_controller < s.failover_ticks)
        )
    )


@action(fair=True)
def tick_passes(s):
    require(nothing_is_left_to_do(s))
    s.thread_has_run = False
    s.ticks_since_change = min(s.ticks_since_change + 1, s.quiet_ticks + 1)
    s.ticks_since_notification = min(s.ticks_since_notification + 1, s.latest_ticks + 1)
    if s.controller == Controller.FAILED:
        s.ticks_without_controller += 1
    if s.is_measured and not everyone_has_heard(s):
        s.ticks_since_measured = min(s.ticks_since_measured + 1, s.within_ticks + 1)


# ----------------------------------------------------------------------------------------------------------- properties


def everyone_has_heard(s):
    return all(s.has_heard[broker] for broker in range(s.brokers))


@always
def changes_arrive_in_time(s):
    """Within `within_ticks` of a change, every broker has the ISR after the change, or a later one."""
    return s.ticks_since_measured <= s.within_ticks or everyone_has_heard(s)


def some_broker_is_behind(s):
    return any(s.shown_isr[b][f] != s.isr[f] for b in range(s.brokers) for f in range(s.followers))


def is_at_rest(s):
    """No message is on its way, and no change is unreported."""
    return (
        not s.has_news
        and not s.notification
        and s.controller == Controller.WATCHES
        and all(not s.request[broker] for broker in range(s.brokers))
    )


@always
def nothing_is_lost(s):
    """When all changes are reported, and no message is on its way, every broker shows the ISR as it is in ZooKeeper."""
    return not is_at_rest(s) or not some_broker_is_behind(s)


@always_step
def notifications_are_apart(before, after, taken):
    """However often the ISR changes, at least `quiet_ticks + 1` ticks pass between one notification and the next."""
    is_written = taken == thread_runs and before.has_news and not after.has_news
    return not is_written or before.ticks_since_notification > before.quiet_ticks


@always_step
def a_stale_write_changes_nothing(before, after, taken):
    """A leader that has not heard of the controller's write cannot undo it: its own write names an old version."""
    return (
        before.leader_has_version
        or taken == controller_removes_follower
        or all(after.isr[f] == before.isr[f] for f in range(before.followers))
    )


def is_untold(s):
    return s.has_news


@leads_to(when=is_untold)
def changes_are_told(s):
    """The controller eventually gets a notification that the ISR has changed, however often it changes."""
    return not is_untold(s)


def a_change_is_measured(s):
    return s.is_measured


@leads_to(when=a_change_is_measured)
def every_change_is_heard(s):
    """Every broker eventually hears of the watched change, which may be any change, or of a later change."""
    return everyone_has_heard(s)


@sometimes(applies=lambda c: bool(c.LATEST_AFTER_A_MINUTE))
def a_burst_is_told_after_a_minute(before, after, taken):
    """A change less than five seconds old is reported, because the last notification was sent over a minute ago."""
    is_written = taken == thread_runs and before.has_news and not after.has_news
    return is_written and before.ticks_since_change <= before.quiet_ticks


@sometimes(applies=lambda c: c.controller_failures > 0)
def a_notification_waits_for_a_new_controller(s):
    return s.notification and s.controller == Controller.FAILED
