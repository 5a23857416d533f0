"""A leader asks the controller to change the ISR, and waits for the answer (AlterPartition, first called AlterIsr).

One partition with a leader that stays, and its followers. A follower that stops falls behind, leaves the ISR, and
rejoins it once it has caught up. While a request is pending, the leader asks for nothing else. The answer carries the
controller's partition epoch, which counts the changes; all that matters here is whether the leader has this epoch yet.

KAFKA-12751 is the switch EQUAL_EPOCH_IS_IGNORED: the leader ignores an answer whose epoch it has already. If the
controller has the requested ISR already, it does not raise the epoch, so the request stays pending for ever, and the
ISR never changes again. Here, the leader learns of its own change in another way before the answer arrives;
this represents every way in which a real leader can ask for an ISR that the controller has already.

Left out: records and offsets, elections, and a controller that changes the ISR by itself.
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
    sometimes,
    switch,
)


class Configuration:
    followers = bound(2, "followers of the leader", least=1, option="--followers")
    stops = budget(2, "how often followers stop", shapes=True, option="--stops")
    losses = budget(1, "how often an answer of the controller is lost", shapes=True, option="--losses")
    EQUAL_EPOCH_IS_IGNORED = switch(False, "an answer whose epoch the leader knows already is ignored (KAFKA-12751)")


class Follower(Domain, size="followers"):
    pass


class Request(IntEnum):
    NONE = 0
    SENT = 1
    ANSWERED = 2
    IGNORED = 3


class State:
    is_up = field(Follower, values=Flag, initially=True)
    has_caught_up = field(Follower, values=Flag, initially=True)
    controller_isr = field(Follower, values=Flag, initially=True)
    leader_isr = field(Follower, values=Flag, initially=True)
    asked_isr = field(Follower, values=Flag)
    request = field(values=Request)
    epoch_is_behind = field(values=Flag)  # the leader does not know the controller's partition epoch
    stops_so_far = field(values=between(0, "stops"))
    losses_so_far = field(values=between(0, "losses"))


@action
def follower_stops(s, follower: Follower):
    require(s.is_up[follower])
    require(s.stops_so_far < s.stops)
    s.is_up[follower] = False
    s.has_caught_up[follower] = False
    s.stops_so_far += 1


@action
def follower_starts(s, follower: Follower):
    require(not s.is_up[follower])
    s.is_up[follower] = True


@action(fair="follower")
def follower_catches_up(s, follower: Follower):
    require(s.is_up[follower])
    s.has_caught_up[follower] = True


def ask(s, follower, joins):
    for f in range(s.followers):
        s.asked_isr[f] = joins if f == follower else s.leader_isr[f]
    s.request = Request.SENT


@action(fair="follower")
def leader_asks_to_shrink(s, follower: Follower):
    require(s.request == Request.NONE)
    require(s.leader_isr[follower] and not s.has_caught_up[follower])
    ask(s, follower, False)


@action(fair="follower")
def leader_asks_to_expand(s, follower: Follower):
    require(s.request == Request.NONE)
    require(not s.leader_isr[follower] and s.has_caught_up[follower])
    ask(s, follower, True)


def asks_for_what_is(s):
    return all(s.asked_isr[f] == s.controller_isr[f] for f in range(s.followers))


@action(fair=True)
def controller_answers(s):
    """The controller answers; it changes the ISR unless the request has an older epoch, or asks for the present ISR."""
    require(s.request == Request.SENT)
    changes = not s.epoch_is_behind and not asks_for_what_is(s)
    for f in range(s.followers):
        s.controller_isr[f] = s.asked_isr[f] if changes else s.controller_isr[f]
    s.epoch_is_behind = s.epoch_is_behind or changes
    s.request = Request.ANSWERED


@action
def answer_is_lost(s):
    """The answer is lost: the request times out, and the leader sends it again."""
    require(s.request == Request.ANSWERED)
    require(s.losses_so_far < s.losses)
    s.request = Request.SENT
    s.losses_so_far += 1


def learn(s):
    for f in range(s.followers):
        s.leader_isr[f] = s.controller_isr[f]
    s.epoch_is_behind = False


@action
def controller_tells_the_leader(s):
    """The leader learns the ISR in another way than by the answer, and its request stays pending."""
    require(s.epoch_is_behind)
    learn(s)


@action(fair=True)
def leader_takes_answer(s):
    require(s.request == Request.ANSWERED)
    is_ignored = s.EQUAL_EPOCH_IS_IGNORED and not s.epoch_is_behind
    s.request = Request.IGNORED if is_ignored else Request.NONE
    learn(s)


def a_change_is_pending(s):
    return s.request != Request.NONE


@leads_to(when=a_change_is_pending)
def isr_changes_complete(s):
    """A change of the ISR that the leader has asked for is eventually completed or given up."""
    return not a_change_is_pending(s)


def a_follower_is_up_and_out(s):
    return any(s.is_up[f] and not s.controller_isr[f] for f in range(s.followers))


@leads_to(when=a_follower_is_up_and_out)
def followers_rejoin_the_isr(s):
    """A follower that is up and outside the ISR eventually rejoins it, or stops again."""
    return not a_follower_is_up_and_out(s)


@sometimes
def a_follower_has_left_the_isr(s):
    return any(not s.controller_isr[f] for f in range(s.followers))
