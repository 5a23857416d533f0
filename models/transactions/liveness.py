"""Liveness: what must eventually happen to a transaction. `MODEL` has state, actions and generations of `transactions`.

A search for loops takes longer than a search that judges the promises. So `check transactions` does not check the
properties of this module; `check transactions_liveness` does, with the `MODEL` of this module.

Weak fairness is assumed: a running coordinator and a running leader eventually do their work, and an application that
began a transaction ends it or stops. Faults need not happen. The answer to a marker can still be lost again and again,
for ever. Such a network delivers nothing, so a behaviour that repeats this loss is permitted.
"""

import sys

from isrcheck.models.language import leads_to, weak_fairness
from isrcheck.models.language.model import assemble
from isrcheck.models.transactions import state
from isrcheck.models.transactions.coordinator import (
    coordinator_completes_transaction,
    coordinator_handles_end_txn,
    coordinator_learns_of_marker,
    coordinator_sends_marker,
    coordinator_times_out_transaction,
    leader_appends_marker,
    leader_refuses_marker,
    transaction_log_is_replicated,
)
from isrcheck.models.transactions.generations import ACTIONS, STAND_INS
from isrcheck.models.transactions.generations import MODEL as SAFE
from isrcheck.models.transactions.log import is_prepared, nothing_is_held_back
from isrcheck.models.transactions.partition import followers_fetch
from isrcheck.models.transactions.producer import application_stops, producer_aborts, producer_commits
from isrcheck.models.transactions.values import Marker

WORK = [
    transaction_log_is_replicated,
    coordinator_handles_end_txn,
    coordinator_times_out_transaction,
    coordinator_completes_transaction,
    weak_fairness(coordinator_sends_marker, each="partition"),
    weak_fairness(leader_appends_marker, leader_refuses_marker, each="partition"),
    weak_fairness(coordinator_learns_of_marker, each="partition"),
    weak_fairness(followers_fetch, each="partition"),
    weak_fairness(producer_commits, producer_aborts, application_stops),
]
"""The steps that are eventually taken if they stay possible."""


def something_is_held_back(s):
    return not all(nothing_is_held_back(s, p) for p in range(s.partitions))


def an_answer_is_under_way(s):
    return any(s.marker[p] == Marker.APPENDED for p in range(s.partitions))


@leads_to(when=something_is_held_back, fair=WORK, permitted=an_answer_is_under_way)
def lso_advances(s):
    """The transaction that holds the last stable offset back is eventually decided: no transaction hangs."""
    return not something_is_held_back(s)


@leads_to(when=is_prepared, fair=WORK, permitted=an_answer_is_under_way)
def prepared_transactions_complete(s):
    """A transaction whose end the coordinator has prepared is eventually completed."""
    return not is_prepared(s)


MODEL = assemble(
    "transactions_liveness",
    [state, sys.modules[__name__]],
    {name: (ACTIONS, dict(protocol.switches)) for name, protocol in SAFE.protocols.items()},
    STAND_INS,
)
