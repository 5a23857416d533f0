"""The initial state: an empty log everywhere, and the first instance of the producer initialised with epoch 0."""

from isrcheck.models.language import NONE, contradiction, initial, terminal
from isrcheck.models.transactions.values import Phase, Verification


@initial
def a_producer_is_ready(configuration):
    """The first instance has its epoch; the coordinator is in Empty."""
    others = configuration.producers - 1
    yield {
        "phase": [Phase.READY] + others * [Phase.NOT_STARTED],
        "epoch": [0] + others * [NONE],
        "timeouts_left": configuration.timeouts,
        "late_markers_left": configuration.late_markers,
        "late_requests_left": configuration.late_requests,
        "late_answers_left": [configuration.late_answers] * (configuration.late_answers > 0),
        "expirations_left": configuration.expirations,
    }


@terminal
def work_is_done(s):
    """Inputs, instances of the producer and faults are numbered, so that every behaviour ends. What must not remain
    open at its end, such as a marker that is refused for ever, is a property of its own."""
    return True


@contradiction
def logs_are_too_short(configuration):
    """A log has to hold a record and a marker for each transaction; raise --log-size, or lower --transactions."""
    return configuration.log_size < 2 * configuration.transactions


@contradiction
def expirations_without_the_bug(configuration):
    """Producer states expire too early only with PRODUCER_STATE_EXPIRES_EARLY=on (KAFKA-9144); switch it on, or set
    --expirations 0."""
    return configuration.expirations > 0 and not configuration.PRODUCER_STATE_EXPIRES_EARLY


@contradiction
def tv2_without_offset_commits(configuration):
    """With TXN_VERIFY=TV2, a leader adds its partition to the transaction when it asks: switch OFFSET_COMMITS_VERIFIED
    on, or choose --protocol 3.6."""
    return configuration.TXN_VERIFY == Verification.TV2 and not configuration.OFFSET_COMMITS_VERIFIED


@contradiction
def marker_rules_without_tv2(configuration):
    """MARKER_EPOCH_STRICT is a rule for TXN_VERIFY=TV2, in which every marker has its own epoch; switch it off, or
    choose --protocol 4.1 or 4.2."""
    return configuration.MARKER_EPOCH_STRICT and configuration.TXN_VERIFY != Verification.TV2


@contradiction
def second_epoch_without_tv2(configuration):
    """FENCE_RAISES_EPOCH_TWICE is about TXN_VERIFY=TV2, in which an abort raises the epoch; switch it off, or choose
    --protocol 4.0."""
    return configuration.FENCE_RAISES_EPOCH_TWICE and configuration.TXN_VERIFY != Verification.TV2


@contradiction
def next_id_without_tv2(configuration):
    """FENCE_TAKES_NEXT_ID and NEXT_ID_IS_LOGGED are about TXN_VERIFY=TV2, in which the end of a transaction can exhaust
    a producer id; switch them off, or choose --protocol 4.3 or 4.4."""
    return (
        configuration.FENCE_TAKES_NEXT_ID or configuration.NEXT_ID_IS_LOGGED
    ) and configuration.TXN_VERIFY != Verification.TV2
