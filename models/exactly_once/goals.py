"""States and steps that must be reachable, to show that the model is not vacuous."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.batches import is_delivered
from isrcheck.models.exactly_once.broker import broker_recognises_duplicate
from isrcheck.models.exactly_once.producer import application_resends, producer_receives_success
from isrcheck.models.exactly_once.values import Request, Resend, Retries
from isrcheck.models.language import sometimes


@sometimes(applies=lambda configuration: configuration.acks != Acks.ZERO)
def a_batch_is_acknowledged(before, after, taken):
    return taken == producer_receives_success


@sometimes
def every_record_is_delivered(s):
    return all(is_delivered(s, record) for record in range(s.records))


@sometimes(applies=lambda c: c.enable_idempotence > 0 and c.lost_connections > 0 and c.retries != Retries.NONE)
def a_duplicate_is_recognised(before, after, taken):
    return taken == broker_recognises_duplicate


@sometimes(
    applies=lambda c: (
        c.application_resends == Resend.UNKNOWN
        and c.acks != Acks.ZERO
        and c.lost_connections > 0
        and c.delivery_timeouts > 0
        and c.batches > 1
    )
)
def an_application_resends(before, after, taken):
    return taken == application_resends


@sometimes(applies=lambda c: c.restarts > 0)
def a_request_outlives_its_session(before, after):
    """A leader appends a request of an earlier session of the producer."""
    return any(
        before.request[b] == Request.LATE
        and before.batch_session[b] < before.session
        and after.request[b] == Request.NONE
        and any(after.log_batch[p][o] == b for p in range(after.partitions) for o in range(after.log_size))
        for b in range(before.batches)
    )


@sometimes(
    applies=lambda c: (
        c.EPOCH_BUMP
        and c.enable_idempotence > 0
        and c.epoch_bumps > 0
        and c.delivery_timeouts > 0
        and c.lost_connections > 0
    )
)
def an_epoch_is_bumped(s):
    return s.producer_epoch > 0
