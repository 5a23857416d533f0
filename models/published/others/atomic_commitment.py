"""Atomic commitment with a coordinator that can fail, after Babaoglu and Toueg (1993).

After specifications/acp/ACP_SB.tla and ACP_NB.tla by Michel Charpentier (github.com/tlaplus/Examples, MIT license).
Model files: ACP_SB_TLC.cfg, with three participants, and ACP_NB_TLC.cfg, with two. `FORWARDS` chooses between the
two protocols. With `FORWARDS` (ACP_NB), every participant forwards a decision to all others before it decides, so that
no living participant waits for ever. Without `FORWARDS` (ACP_SB), the broadcast of a coordinator that dies may reach
only some participants.

As in the original, a message is a variable of its sender that the receiver reads, and all processes know at once who is
dead. The model has every state and step of the original. It leaves out `alive`, which is always `not faulty`, as well
as fairness and liveness, and has an action for each decision of the coordinator.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    Subset,
    action,
    always,
    always_step,
    bound,
    field,
    initial,
    require,
    sometimes,
    switch,
    terminal,
)


class Configuration:
    participants = bound(3, "participants", least=1, option="--participants")
    FORWARDS = switch(False, "a participant forwards a decision to all others before it decides")


class Participant(Domain, size="participants"):
    pass


class ParticipantSet(Subset, of=Participant):
    pass


class Decision(IntEnum):
    NONE = 0  # undecided, or not sent
    COMMIT = 1
    ABORT = 2


class Recorded(IntEnum):
    """The values of a vote as the coordinator has recorded it."""

    WAITING = 0
    YES = 1
    NO = 2


class State:
    votes_yes = field(Participant, values=Flag)
    is_faulty = field(Participant, values=Flag)
    has_sent_vote = field(Participant, values=Flag)
    decision = field(Participant, values=Decision)
    forwarded = field(Participant, Participant, values=Decision)  # forwarded[p][p]: what p received and has to forward
    coordinator_is_faulty = field(values=Flag)
    coordinator_decision = field(values=Decision)
    requested = field(Participant, values=Flag)
    recorded_vote = field(Participant, values=Recorded)
    broadcast = field(Participant, values=Decision)


@initial
def every_participant_has_a_vote(s, yes: ParticipantSet):
    for p in Participant:
        s.votes_yes[p] = yes[p]


def all_are_asked(s):
    return all(s.requested[p] for p in Participant)


@action
def coordinator_requests_vote(s, p: Participant):
    require(not s.coordinator_is_faulty)
    require(not s.requested[p])
    s.requested[p] = True


@action
def coordinator_records_vote(s, p: Participant):
    require(not s.coordinator_is_faulty)
    require(s.coordinator_decision == Decision.NONE)
    require(all_are_asked(s))
    require(s.recorded_vote[p] == Recorded.WAITING)
    require(s.has_sent_vote[p])
    s.recorded_vote[p] = Recorded.YES if s.votes_yes[p] else Recorded.NO


@action
def coordinator_detects_fault(s, p: Participant):
    """A participant died before it sent its vote: the coordinator decides to abort."""
    require(not s.coordinator_is_faulty)
    require(s.coordinator_decision == Decision.NONE)
    require(all_are_asked(s))
    require(s.recorded_vote[p] == Recorded.WAITING)
    require(s.is_faulty[p])
    require(not s.has_sent_vote[p])
    s.coordinator_decision = Decision.ABORT


@action
def coordinator_decides_to_commit(s):
    require(not s.coordinator_is_faulty)
    require(s.coordinator_decision == Decision.NONE)
    require(all(s.recorded_vote[p] == Recorded.YES for p in Participant))
    s.coordinator_decision = Decision.COMMIT


@action(shows="because of {p}")
def coordinator_decides_to_abort(s, p: Participant):
    require(not s.coordinator_is_faulty)
    require(s.coordinator_decision == Decision.NONE)
    require(all(s.recorded_vote[other] != Recorded.WAITING for other in Participant))
    require(s.recorded_vote[p] == Recorded.NO)
    s.coordinator_decision = Decision.ABORT


@action
def coordinator_broadcasts(s, p: Participant):
    """The coordinator sends its decision to `p`, to one participant in each step."""
    require(not s.coordinator_is_faulty)
    require(s.coordinator_decision != Decision.NONE)
    require(s.broadcast[p] == Decision.NONE)
    s.broadcast[p] = s.coordinator_decision


@action
def coordinator_dies(s):
    require(not s.coordinator_is_faulty)
    s.coordinator_is_faulty = True


@action
def participant_sends_vote(s, p: Participant):
    """A participant sends its vote, perhaps not for the first time."""
    require(not s.is_faulty[p])
    require(s.requested[p])
    s.has_sent_vote[p] = True


@action
def participant_aborts_on_its_vote(s, p: Participant):
    require(not s.is_faulty[p])
    require(s.decision[p] == Decision.NONE)
    require(s.has_sent_vote[p])
    require(not s.votes_yes[p])
    s.decision[p] = Decision.ABORT


@action
def participant_aborts_unasked(s, p: Participant):
    """The coordinator died before it asked this participant, which decides to abort."""
    require(not s.is_faulty[p])
    require(s.decision[p] == Decision.NONE)
    require(s.coordinator_is_faulty)
    require(not s.requested[p])
    s.decision[p] = Decision.ABORT


@action
def participant_decides(s, p: Participant):
    """Without FORWARDS, a participant receives the coordinator's decision, and decides the same."""
    require(not s.FORWARDS)
    require(not s.is_faulty[p])
    require(s.decision[p] == Decision.NONE)
    require(s.broadcast[p] != Decision.NONE)
    s.decision[p] = s.broadcast[p]


@action
def participant_dies(s, p: Participant):
    require(not s.is_faulty[p])
    s.is_faulty[p] = True


@action(shows="{p} to {other}")
def participant_forwards(s, p: Participant, other: Participant):
    require(s.FORWARDS)
    require(p != other)
    require(not s.is_faulty[p])
    require(s.forwarded[p][p] != Decision.NONE)
    require(s.forwarded[p][other] == Decision.NONE)
    s.forwarded[p][other] = s.forwarded[p][p]


@action(shows="{p} from {other}")
def participant_receives_forwarded(s, p: Participant, other: Participant):
    require(s.FORWARDS)
    require(p != other)
    require(not s.is_faulty[p])
    require(s.forwarded[p][p] == Decision.NONE)
    require(s.forwarded[other][p] != Decision.NONE)
    s.forwarded[p][p] = s.forwarded[other][p]


@action
def participant_receives_broadcast(s, p: Participant):
    require(s.FORWARDS)
    require(not s.is_faulty[p])
    require(s.forwarded[p][p] == Decision.NONE)
    require(s.broadcast[p] != Decision.NONE)
    s.forwarded[p][p] = s.broadcast[p]


@action
def participant_decides_after_forwarding(s, p: Participant):
    require(s.FORWARDS)
    require(not s.is_faulty[p])
    require(all(s.forwarded[p][other] != Decision.NONE for other in Participant))
    s.decision[p] = s.forwarded[p][p]


@action
def participant_aborts_on_timeout(s, p: Participant):
    """`p` aborts, because neither the dead coordinator nor a dead participant has sent a decision to a living one."""
    require(s.FORWARDS)
    require(not s.is_faulty[p])
    require(s.decision[p] == Decision.NONE)
    require(s.coordinator_is_faulty)
    require(all(s.is_faulty[other] or s.broadcast[other] == Decision.NONE for other in Participant))
    require(
        all(
            not s.is_faulty[dead] or s.is_faulty[alive] or s.forwarded[dead][alive] == Decision.NONE
            for dead in Participant
            for alive in Participant
        )
    )
    s.decision[p] = Decision.ABORT


@terminal
def everybody_is_dead(s):
    """Everybody is dead; every other state has a step. The model files have CHECK_DEADLOCK FALSE."""
    return s.coordinator_is_faulty and all(s.is_faulty[p] for p in Participant)


@always
def participants_decide_alike(s):
    """AC1: all participants that decide reach the same decision."""
    return not any(
        s.decision[p] == Decision.COMMIT and s.decision[other] == Decision.ABORT
        for p in Participant
        for other in Participant
    )


@always
def commits_only_if_all_vote_yes(s):
    """AC2: a participant commits only if all participants vote yes."""
    return not any(s.decision[p] == Decision.COMMIT for p in Participant) or all(s.votes_yes[p] for p in Participant)


@always
def aborts_only_for_a_reason(s):
    """AC3_1: if a participant aborts, somebody voted no, or somebody is faulty."""
    return (
        not any(s.decision[p] == Decision.ABORT for p in Participant)
        or any(not s.votes_yes[p] or s.is_faulty[p] for p in Participant)
        or s.coordinator_is_faulty
    )


@always_step
def decides_at_most_once(before, after):
    """AC4: a participant that has decided never changes its decision."""
    return all(before.decision[p] == Decision.NONE or before.decision[p] == after.decision[p] for p in Participant)


@sometimes
def everybody_commits(s):
    return all(s.decision[p] == Decision.COMMIT for p in Participant)
