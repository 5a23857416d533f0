"""Clean elections and clean restarts, each of which ends fetch states of followers."""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.tier.building import begin_anew
from isrcheck.models.tier.fields import Replica


def begin_epoch(s):
    """Every follower begins at its log end (ReplicaManager.applyLocalFollowersDelta, initialFetchOffset)."""
    s.leader_epoch += 1
    for replica in range(s.brokers):
        s.retry_offset[replica] = NONE


@action(shows="{replica}")
def controller_elects(s, replica: Replica):
    """The leader's session is over, or it stops in order: a member of the ISR is elected.

    The tasks of the new leader begin at once, in thread pools of their own (RemoteLogManager.doHandleLeaderPartition).
    """
    require(s.elections_so_far < s.elections)
    require(replica != s.leader)
    require(s.isr[replica])
    s.isr[s.leader] = False
    s.leader = replica
    s.copy_task_has_begun = False
    s.elections_so_far += 1
    begin_epoch(s)


@action(shows="{replica}")
def broker_restarts(s, replica: Replica):
    """A clean restart: of a follower, which leaves the ISR, or of a leader alone in the ISR, which is elected again.

    The log and the high watermark stay; the highest remote offset is only in memory.
    """
    require(s.restarts_so_far < s.restarts)
    require(replica != s.leader or all(other == replica or not s.isr[other] for other in range(s.brokers)))
    s.restarts_so_far += 1
    begin_anew(s, replica)
    if replica == s.leader:
        s.copy_task_has_begun = False
        begin_epoch(s)
    else:
        s.isr[replica] = False
