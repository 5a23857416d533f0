"""The liveness properties of a quorum: what must happen eventually.

They are not part of the model `quorum`, because a search for loops needs every reachable state and its transitions.
`MODEL`, which `check quorum_liveness` searches, has the state and the actions of `quorum`, and bounds of its own. Only
voters that hear no leader time out, because elections without a reason prevent all progress.

All steps that replicas take by themselves are fair; faults and repairs are not. Epochs are bounded: a behaviour without
a leader is permitted if some voter has reached the last epoch, and so cannot begin an election.
"""

import sys

from isrcheck.models.language import always_eventually, leads_to, weak_fairness
from isrcheck.models.language.model import assemble
from isrcheck.models.quorum import actions, pull, push, state
from isrcheck.models.quorum.promises import is_healthy
from isrcheck.models.quorum.state import (
    LeaderEpoch,
    Voter,
    can_reach,
    is_answered_by_majority,
    is_leader,
    is_majority,
    may_get_vote_of,
)
from isrcheck.models.quorum.variants import KRAFT_SWITCHES

WORK = [
    weak_fairness("voter_times_out", each="voter"),
    weak_fairness("prospective_becomes_candidate", each="voter"),
    weak_fairness("voter_grants_vote", "voter_refuses_vote", each=("voter", "candidate")),
    weak_fairness("candidate_becomes_leader", each="candidate"),
    weak_fairness("leader_announces_itself", each=("leader", "follower")),
    weak_fairness("sender_learns_of_epoch", each="sender"),
    weak_fairness("leader_resigns", each="leader"),
    weak_fairness("leader_replicates", each=("leader", "follower")),
    weak_fairness("leader_commits", each="leader"),
    weak_fairness("only_voter_commits", each="leader"),
    weak_fairness("follower_fetches", "follower_truncates", each=("leader", "follower")),
]
"""The steps that are eventually taken if they stay possible."""


def no_epoch_is_left(s):
    """Some voter cannot begin an election, because the bound on epochs is reached."""
    return any(s.epoch[voter] + 1 not in LeaderEpoch for voter in Voter)


def a_leader_is_cut_off(s):
    return any(is_leader(s, leader) and not is_answered_by_majority(s, leader) for leader in Voter)


@leads_to(when=a_leader_is_cut_off, fair=WORK)
def cut_off_leader_resigns(s):
    """A leader that no majority answers eventually resigns, or a majority answers it again."""
    return not a_leader_is_cut_off(s)


def could_lead(s, voter):
    """`voter` can exchange messages with voters that may vote for its log and, with `voter` itself, are a majority."""
    return is_majority(
        s,
        sum(
            1 for other in Voter if other == voter or (can_reach(s, voter, other) and may_get_vote_of(s, voter, other))
        ),
    )


@always_eventually(fair=WORK, permitted=no_epoch_is_left)
def a_majority_has_a_leader(s):
    """Again and again, some leader reaches a majority that follows it, or no voter could win an election.

    KRaft.tla of KIP-996: EventuallyLeaderElected.
    """
    return any(is_healthy(s, leader) for leader in Voter) or not any(could_lead(s, voter) for voter in Voter)


@always_eventually(fair=WORK)
def healthy_leader_commits(s):
    """Again and again, every leader that reaches a majority has committed its whole log. KRaft.tla: ValuesNotStuck."""
    return not any(is_healthy(s, leader) and s.high_watermark[leader] < s.log_end_offset[leader] for leader in Voter)


BOUNDS = {"TIMEOUTS_NEED_SILENCE": True, "PRE_VOTE": True, "CHECK_QUORUM": True}
BOUNDS |= {"records": 1, "restarts": 0, "cuts": 2, "elections": 2}

MODEL = assemble(
    "quorum_liveness",
    [state, actions, sys.modules[__name__]],
    {
        "raft": (push, BOUNDS | {"log_size": 1}),
        "kraft": (pull, KRAFT_SWITCHES | BOUNDS | {"replicas": 3, "observers": 0}),
    },
)
