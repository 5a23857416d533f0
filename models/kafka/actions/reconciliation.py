"""How a follower finds the common part of its log and its leader's, from 0.11 to 2.6: by a request of its own."""

from isrcheck.models.kafka.state.broker import can_ask
from isrcheck.models.kafka.state.fields import Replica
from isrcheck.models.kafka.state.log import end_offset_for, epoch_for, is_answered, latest_epoch, truncate_log
from isrcheck.models.kafka.state.values import Truncation
from isrcheck.models.language import action, require


@action(shows="{follower} with {leader}")
def follower_reconciles(s, follower: Replica, leader: Replica):
    """The follower asks where its latest epoch ends in the leader's log (OffsetsForLeaderEpoch), and truncates its log.

    Without a usable answer, it truncates to its own high watermark. KIP-101 (0.11): it truncates to the offset in the
    answer. KIP-279 (2.0): the answer also names an epoch of the leader. A follower with this epoch truncates to where
    the epoch ends in both logs; otherwise it truncates to the end of its previous epoch, and asks again. KIP-320 (2.1):
    the leader refuses a follower of another epoch. Request and answer are one step; an answer that arrives in another
    epoch is dropped only since 2.1.1 (KAFKA-7786). Kafka: AbstractFetcherThread.maybeTruncate.
    """
    require(s.is_truncating[follower])
    require(can_ask(s, follower, leader))
    epoch = latest_epoch(s, follower)
    if not is_answered(s, leader, epoch):
        truncate_log(s, follower, s.high_watermark[follower])
        s.is_truncating[follower] = False
    else:
        end_offset = end_offset_for(s, leader, epoch)
        known_epoch = epoch_for(s, leader, epoch)
        if s.TRUNC == Truncation.KIP101 or not is_answered(s, follower, known_epoch):
            truncate_log(s, follower, end_offset)
            s.is_truncating[follower] = False
        elif epoch_for(s, follower, known_epoch) != known_epoch:
            truncate_log(s, follower, end_offset_for(s, follower, known_epoch))
        else:
            truncate_log(s, follower, min(end_offset, end_offset_for(s, follower, known_epoch)))
            s.is_truncating[follower] = False
