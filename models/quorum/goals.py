"""States that must be reachable, to show that the model is not vacuous.

Where time-outs need a reason, elections need faults that a configuration may not have: there, nothing must be.
"""

from isrcheck.models.language import sometimes
from isrcheck.models.log import has_entry
from isrcheck.models.quorum.fields import Voter
from isrcheck.models.quorum.roles import holds_record, is_leader
from isrcheck.models.quorum.values import Role


def has_elections(configuration):
    """Anyone may begin an election, and somebody else can vote; with pre-vote, a leader only when it leads no more."""
    return (
        configuration.elections > 0
        and configuration.replicas - configuration.observers > 1
        and not configuration.TIMEOUTS_NEED_SILENCE
        and (
            not configuration.PRE_VOTE
            or configuration.replicas - configuration.observers > 2
            or configuration.CHECK_QUORUM
            or configuration.restarts > 0
        )
    )


def has_minorities(configuration):
    """One voter can be left out of an election."""
    return has_elections(configuration) and configuration.replicas - configuration.observers > 2


def has_conflicts(configuration):
    """Two leaders can append something. Of two voters, who lacks an entry of the other is not elected."""
    return has_minorities(configuration) and configuration.records > (0 if configuration.LEADER_CHANGE_RECORD else 1)


@sometimes(applies=lambda configuration: configuration.records > 0)
def a_record_is_acknowledged_and_everywhere(s):
    return any(
        s.acknowledged[record] and all(holds_record(s, r, record) for r in range(s.replicas))
        for record in range(s.records)
    )


@sometimes(applies=lambda configuration: has_elections(configuration) and configuration.records > 0)
def a_later_leader_has_committed(s):
    """A leader of a later epoch knows that a record of an earlier one is committed."""
    return any(
        is_leader(s, leader) and offset < s.high_watermark[leader] and s.log_epoch[leader][offset] < s.epoch[leader]
        for leader in Voter
        for offset in range(s.log_size)
        if has_entry(s, leader, offset)
    )


@sometimes(applies=has_conflicts)
def a_log_is_truncated(before, after):
    """A record that was not committed is taken out of a log."""
    return any(
        before.log_record[r][offset] < before.records and before.log_record[r][offset] != after.log_record[r][offset]
        for r in range(before.replicas)
        for offset in range(before.log_size)
        if has_entry(before, r, offset)
    )


@sometimes(applies=has_minorities)
def two_replicas_presume_leadership(s):
    """In different epochs: the earlier leader has not heard of the later one."""
    return any(is_leader(s, a) and is_leader(s, b) for a in Voter for b in Voter if a < b)


def has_two_candidates(configuration):
    """The first leader can be one of them, in a second epoch. Of two voters that ask before, one knows of the other."""
    return configuration.elections > 1 and (
        has_minorities(configuration) if configuration.PRE_VOTE else has_elections(configuration)
    )


@sometimes(applies=has_two_candidates)
def votes_are_split(s):
    """Two candidates of one epoch have votes of their own."""
    return any(
        s.role[a] == Role.CANDIDATE and s.role[b] == Role.CANDIDATE and s.epoch[a] == s.epoch[b]
        for a in Voter
        for b in Voter
        if a < b
    )
