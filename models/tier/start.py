"""The beginning: empty logs, and replica 0 leads. Configurations that make no sense, and where behaviours may end."""

from isrcheck.models.language import contradiction, terminal


@terminal
def bounds_are_used_up(s):
    """Records, elections and faults are numbered, so that a behaviour may end anywhere."""
    return True


@contradiction
def no_segment_is_ever_full(configuration):
    """No segment is ever full, and so nothing is uploaded: raise --log-size to --segment-size or more."""
    return configuration.log_size < configuration.segment_size


@contradiction
def too_few_replicas(configuration):
    """min.insync.replicas is larger than the number of replicas, and so nothing is committed: raise --brokers."""
    return configuration.min_insync_replicas > configuration.brokers
