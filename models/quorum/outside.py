"""What comes from outside: records of clients; and faults, each with a budget: replicas restart, links break.

A disk keeps what it has.
"""

from isrcheck.models.language import NONE, action, require
from isrcheck.models.log import append_entry
from isrcheck.models.quorum.fields import Replica, Voter
from isrcheck.models.quorum.roles import become_follower, is_leader


@action
def leader_appends(s, leader: Voter):
    """With entries of its own ahead, a leader leaves room for them: bounds must not stop an election."""
    require(is_leader(s, leader))
    require(s.next_record < s.records)
    require(s.log_end_offset[leader] + (s.elections - s.epoch[leader] if s.LEADER_CHANGE_RECORD else 0) < s.log_size)
    append_entry(s, leader, s.next_record, s.epoch[leader])
    s.next_record += 1


@action
def replica_restarts(s, replica: Replica):
    """A crash and a restart. To be down is to take no step, which every replica may do for as long as it likes."""
    require(s.restarts_so_far < s.restarts)
    become_follower(s, replica, s.epoch[replica], NONE)
    s.high_watermark[replica] = 0
    if not s.VOTE_IS_DURABLE:
        s.voted_for[replica] = NONE
    s.restarts_so_far += 1


@action(shows="between {one} and {other}")
def link_breaks(s, one: Replica, other: Replica):
    require(one < other)
    require(not s.is_cut[one][other])
    require(s.cuts_so_far < s.cuts)
    s.is_cut[one][other] = True
    s.cuts_so_far += 1


@action(shows="between {one} and {other}")
def link_is_repaired(s, one: Replica, other: Replica):
    require(one < other)
    require(s.is_cut[one][other])
    s.is_cut[one][other] = False
