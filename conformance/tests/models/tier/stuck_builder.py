"""A wrong way to repair tiered storage: a follower that knows by its epochs that it has to build its state again, and
that keeps its old fetch offset as well, waits for an answer about an offset where nobody asks."""

from isrcheck.models.language import action, require
from isrcheck.models.tier import Replica, can_build, fetch_offset, fetch_start_offset, truncate_for_remote_state


@action(shows="{follower}")
def follower_fails_to_fetch_epochs(s, follower: Replica):
    require(s.remote_failures_so_far < s.remote_failures)
    require(can_build(s, follower))
    failed_offset = fetch_offset(s, follower)
    truncate_for_remote_state(s, follower, fetch_start_offset(s, follower))
    s.retry_offset[follower] = failed_offset
    s.remote_failures_so_far += 1
