"""States and steps that must be reachable, to show that the model is not vacuous."""

from isrcheck.models.language import NONE, sometimes
from isrcheck.models.tier.building import follower_builds_state
from isrcheck.models.tier.expiration import leader_expires_segments
from isrcheck.models.tier.log import is_covered, segment_of
from isrcheck.models.tier.promises import is_retained
from isrcheck.models.tier.remote_storage import is_remote


@sometimes
def a_record_is_only_remote(s):
    """Every replica has deleted its copy of an uploaded segment."""
    return is_remote(s, 0) and all(
        s.log_start_offset[r] == 0 and s.local_log_start_offset[r] > 0 for r in range(s.brokers)
    )


@sometimes(applies=lambda c: c.retention_size < c.log_size)
def retention_deletes_a_segment(before, after, taken):
    """Nothing of it is inside retention."""
    return (
        taken == leader_expires_segments
        and after.log_start_offset[after.leader] > before.log_start_offset[before.leader]
        and not is_retained(before, after.log_start_offset[after.leader] - 1)
    )


@sometimes
def a_follower_builds_its_state(before, after, taken):
    return taken == follower_builds_state


@sometimes(applies=lambda c: c.elections > 0)
def a_built_follower_leads(s):
    """The leader never had its first records in its log, and yet knows their epochs."""
    return (
        s.restarts_so_far == 0
        and s.log_start_offset[s.leader] == 0
        and s.local_log_start_offset[s.leader] > 0
        and s.highest_offset_in_remote_storage[s.leader] == NONE
        and is_covered(s, s.leader)
    )


@sometimes(applies=lambda c: c.elections > 0)
def a_later_leader_uploads(s):
    """A remote segment has a record of a later epoch."""
    return any(is_remote(s, segment_of(s, offset)) and s.committed_epoch[offset] > 0 for offset in range(s.log_size))
