"""Configurations that Kafka's client refuses."""

from isrcheck.models.client_settings import Acks
from isrcheck.models.exactly_once.values import Retries, Truth
from isrcheck.models.language import contradiction


@contradiction
def idempotence_without_acks_all(configuration):
    """Kafka's client refuses to start: idempotence needs acks=all."""
    return configuration.enable_idempotence == Truth.TRUE and configuration.acks != Acks.ALL


@contradiction
def idempotence_without_retries(configuration):
    """Kafka's client refuses to start: idempotence needs retries."""
    return configuration.enable_idempotence == Truth.TRUE and configuration.retries == Retries.NONE


@contradiction
def more_in_flight_than_remembered(configuration):
    """Kafka's client refuses to start: idempotence allows as many requests in flight as batches are remembered."""
    return (
        configuration.enable_idempotence == Truth.TRUE
        and configuration.max_in_flight_requests_per_connection > configuration.idempotent_cache
    )
