"""The actions of the controller: it removes failed brokers and elects leaders. It never compares logs.

Each election starts a new leader epoch, and is announced to the brokers one by one (metadata.py). If the last member of
the ISR fails, no leader is elected: the failed broker stays the leader of record.
"""

from isrcheck.models.kafka.state.fields import Replica
from isrcheck.models.language import action, require


def announce_leader(s, leader):
    """Start a new epoch with this leader and the current ISR, and announce it."""
    s.controller_leader = leader
    s.controller_epoch += 1
    s.metadata_leader[s.controller_epoch] = leader
    for r in range(s.replicas):
        s.metadata_isr[s.controller_epoch][r] = s.controller_isr[r]


@action(shows="to {elected}")
def controller_fails_over(s, elected: Replica):
    """The controller stops trusting the leader, dead or not, and elects a running member of the ISR.

    Kafka: PartitionStateMachine, OfflinePartitionLeaderSelector. The old leader does not learn of it in this step.
    """
    require(s.controller_epoch < s.elections)
    require(elected != s.controller_leader)
    require(s.controller_isr[elected])
    require(s.is_up[elected])
    s.controller_isr[s.controller_leader] = False
    announce_leader(s, elected)


@action
def controller_removes_dead_follower(s, follower: Replica):
    """A follower that is down leaves the ISR; the leader stays, in a new epoch. Kafka: removeReplicaFromIsr.

    Not modelled: a follower that runs but is frozen until its session expires; its leader can drop it as well.
    """
    require(s.controller_epoch < s.elections)
    require(follower != s.controller_leader)
    require(s.controller_isr[follower])
    require(not s.is_up[follower])
    s.controller_isr[follower] = False
    announce_leader(s, s.controller_leader)


@action
def controller_elects_preferred(s, elected: Replica):
    """Leadership moves to another member of the ISR while the leader lives; the ISR does not change.

    Kafka: PreferredReplicaPartitionLeaderSelector.
    """
    require(s.preferred_elections_left > 0)
    require(s.controller_epoch < s.elections)
    require(s.is_up[s.controller_leader])
    require(elected != s.controller_leader)
    require(s.controller_isr[elected])
    require(s.is_up[elected])
    s.preferred_elections_left -= 1
    announce_leader(s, elected)


@action
def controller_elects_unclean(s, elected: Replica):
    """No member of the ISR runs: a broker outside the ISR is elected, and records that it lacks are lost.

    Kafka: unclean.leader.election.enable.
    """
    require(s.unclean_elections_left > 0)
    require(s.controller_epoch < s.elections)
    require(s.is_up[elected])
    require(not any(s.controller_isr[r] and s.is_up[r] for r in range(s.replicas)))
    s.unclean_elections_left -= 1
    for r in range(s.replicas):
        s.controller_isr[r] = r == elected
    announce_leader(s, elected)
