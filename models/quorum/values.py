"""The named values of switches and fields."""

from enum import IntEnum


class Role(IntEnum):
    """What a replica is in its epoch. A FOLLOWER without a leader is what KRaft calls Unattached, Voted or Resigned.

    PROSPECTIVE: it asks whether it would win an election, before it begins one (pre-vote; KRaft's Prospective).
    """

    FOLLOWER = 0
    PROSPECTIVE = 1
    CANDIDATE = 2
    LEADER = 3


class VoteRule(IntEnum):
    """VOTE_RULE: which candidates a voter votes for.

    NEWEST_LOG: those whose last entry has a later epoch than its own, or the same epoch and no smaller offset (Raft).
    LONGEST_LOG: those whose log is no shorter. ANY_LOG: everyone. The last two are mistakes.
    """

    NEWEST_LOG = 0
    LONGEST_LOG = 1
    ANY_LOG = 2
