"""What the leader of a partition knows of producers (ProducerStateManager): it follows from the log.

An entry for each producer id: its last epoch and sequence number, and its last batches, as many as `idempotent_cache`.
Everything before `forgotten_before` is forgotten. A leader that has loaded a snapshot knows only the last batch of each
producer from before `reloaded_before`.
"""

from isrcheck.models.language import NONE


def last_offset_of(s, partition, producer_id):
    """The offset of the last batch of a producer that the leader knows of, or NONE."""
    last = NONE
    for offset in range(s.log_size):
        if offset >= s.forgotten_before[partition] and s.log_producer_id[partition][offset] == producer_id:
            last = offset
    return last


def later_batches(s, partition, offset):
    """How many batches of the same producer follow in the log."""
    return sum(
        1
        for later in range(s.log_size)
        if later > offset and s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
    )


def is_remembered(s, partition, offset):
    """The entry at this offset is among the last batches of its producer that the leader remembers."""
    return (
        offset >= s.forgotten_before[partition]
        and later_batches(s, partition, offset) < s.idempotent_cache
        and not any(
            s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
            for later in range(s.log_size)
            if offset < later < s.reloaded_before[partition]
        )
        and not any(
            s.log_producer_id[partition][later] == s.log_producer_id[partition][offset]
            and s.log_epoch[partition][later] != s.log_epoch[partition][offset]
            for later in range(s.log_size)
            if later > offset
        )
    )


def is_duplicate(s, partition, producer_id, epoch, sequence):
    """The leader remembers a batch with these numbers. Kafka: ProducerStateEntry.findDuplicateBatch."""
    return any(
        is_remembered(s, partition, offset)
        and s.log_producer_id[partition][offset] == producer_id
        and s.log_epoch[partition][offset] == epoch
        and s.log_sequence[partition][offset] == sequence
        for offset in range(s.log_size)
    )


def follows_last(s, partition, last, epoch, sequence):
    """The sequence number is the next one after the batch at offset `last`, or 0 in a new epoch."""
    return (epoch == s.log_epoch[partition][last] and sequence == s.log_sequence[partition][last] + 1) or (
        epoch > s.log_epoch[partition][last] and sequence == 0
    )
