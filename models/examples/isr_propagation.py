"""How brokers hear of a changed ISR where leaders write it to ZooKeeper (up to 2.6): in batches, and after a while.

One partition with one follower, which leaves the ISR and rejoins it. The leader notes each change, and a thread of the
leader's broker reports changes to the controller by a notification in ZooKeeper. The controller then reads the ISR, and
sends it to all brokers (UpdateMetadata). Clients and tools see the ISR that a broker knows.

KAFKA-2722: the thread waits until the ISR has not changed for five seconds, but no longer than a minute. The minute is
the switch LATEST_AFTER_A_MINUTE: without it, an ISR that changes again and again (`unstable`) is never reported. Clocks
are flags here: time passes eventually, and each change restarts the five seconds. Kafka:
ReplicaManager.maybePropagateIsrChanges, KafkaController.processIsrChangeNotification.

Left out: elections, which announce the ISR as well; a controller that fails; and an UpdateMetadata request that is not
the latest one of its broker, because a later one replaces it.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    between,
    bound,
    budget,
    field,
    leads_to,
    require,
    setting,
    sometimes,
    switch,
)


class Configuration:
    brokers = bound(2, "brokers that answer clients", least=1, option="--brokers")
    changes = budget(3, "changes of the ISR, if it is not unstable", shapes=True, option="--changes")
    unstable = setting(False, "the ISR changes again and again, for ever", values=bool, option="--unstable")
    LATEST_AFTER_A_MINUTE = switch(True, "a change is reported after a minute, even if others follow (KAFKA-2722)")


class Broker(Domain, size="brokers"):
    pass


class Request(IntEnum):
    NONE = 0
    OUT = 1
    IN = 2


class State:
    is_in_sync = field(values=Flag, initially=True)  # the follower is in the ISR that ZooKeeper has
    has_news = field(values=Flag)  # the leader has changed the ISR, and not notified the controller
    is_quiet = field(values=Flag)  # five seconds have passed since the last change
    minute_has_passed = field(values=Flag)  # since the last notification
    has_notification = field(values=Flag)
    request = field(Broker, values=Request)
    is_shown = field(Broker, values=Flag, initially=True)  # the follower is in the ISR that the broker knows
    changes_so_far = field(values=between(0, "changes"))


@action
def leader_changes_isr(s):
    """The follower falls behind and leaves the ISR, or has caught up and rejoins it."""
    require(s.unstable or s.changes_so_far < s.changes)
    s.changes_so_far += 0 if s.unstable else 1
    s.is_in_sync = not s.is_in_sync
    s.has_news = True
    s.is_quiet = False


@action(fair=True)
def five_seconds_pass(s):
    s.is_quiet = True


@action(fair=True)
def minute_passes(s):
    s.minute_has_passed = True


@action(fair=True)
def leader_notifies_controller(s):
    require(s.has_news)
    require(s.is_quiet or (s.LATEST_AFTER_A_MINUTE and s.minute_has_passed))
    s.has_news = False
    s.minute_has_passed = False
    s.has_notification = True


@action(fair=True)
def controller_sends_update_metadata(s):
    """The controller deletes the notification, reads the ISR, and sends it to all brokers."""
    require(s.has_notification)
    s.has_notification = False
    for broker in range(s.brokers):
        s.request[broker] = Request.IN if s.is_in_sync else Request.OUT


@action(fair="broker")
def broker_updates_metadata(s, broker: Broker):
    require(s.request[broker] != Request.NONE)
    s.is_shown[broker] = s.request[broker] == Request.IN
    s.request[broker] = Request.NONE


def is_untold(s):
    return s.has_news


@leads_to(when=is_untold)
def changes_are_told(s):
    """The controller eventually hears that the ISR has changed."""
    return not is_untold(s)


def some_broker_is_behind(s):
    return any(s.is_shown[broker] != s.is_in_sync for broker in range(s.brokers))


@leads_to(when=some_broker_is_behind)
def brokers_show_the_isr(s):
    """All brokers eventually show the ISR as it is. An unstable ISR may change before they show it."""
    return not some_broker_is_behind(s)


@sometimes
def a_broker_shows_a_smaller_isr(s):
    return any(not s.is_shown[broker] for broker in range(s.brokers))
