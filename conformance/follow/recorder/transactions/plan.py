"""The plan of a recording of transactions: the protocol, the bounds, and what the log leaves out.

In:  nothing.
Out: `TransactionsPlan`, with the instance of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from isrcheck.conformance.follow.format.writing import LeftOut
from isrcheck.conformance.implemented import require_bug_of
from isrcheck.models.language.model import Instance, parse, spell
from isrcheck.models.messages import UsageError, nearest
from isrcheck.models.transactions.generations import MODEL

BOUNDS = {"producers": 3, "failovers": 3, "timeouts": 1, "late_markers": 3, "late_requests": 3}
"""Of a run, if no others are given. So are 4 transactions, logs for these, and 2 expirations if there can be any."""


class ModelGap(Enum):
    """A behaviour of Kafka and of the system that the model lacks; recordings avoid it unless the plan allows it."""

    ADD_PARTITIONS_IS_LATE = (
        "before TV2, a copy of AddPartitionsToTxn arrives after its transaction, and opens another one"
    )
    EPOCH_IS_ASKED_FOR_AGAIN = (
        "a producer asks for its epoch again, although the coordinator has taken its request, or has raised its epoch"
    )
    SECOND_LATE_END_TXN = "two copies of EndTxn are late at a time"
    SECOND_LATE_MARKER = "two copies of markers for one partition are late at a time"
    EMPTY_TRANSACTION_IS_ABORTED = (
        "a producer aborts a transaction without records of which the coordinator does not know, or not any more"
    )
    FENCED_PRODUCER_GOES_ON = (
        "a producer that was fenced asks for the end of its transaction or for an epoch, or, before TV2, begins a"
        " transaction, and is refused"
    )
    ANSWER_COMES_AFTER_FENCE = "a producer learns of an outcome after it was fenced"
    SENT_AFTER_END = (
        "before TV2, a producer sends a record whose partition the coordinator has added, after the coordinator has"
        " ended the transaction: the model sends it before, and it arrives late"
    )
    VERIFIED_WHILE_PENDING = (
        "in 3.6 to 3.9, the coordinator confirms a transaction to a leader while it appends a transition"
    )
    ANSWER_TO_LEADER_IS_LATE = (
        "a leader learns that a transaction is ongoing, or appends its record, after the coordinator has gone on or has"
        " confirmed another one"
    )
    ANSWER_TO_MARKER_IS_LATE = (
        "a coordinator hears that a marker is replicated, after the partition has appended a record that is not"
    )
    FORGOTTEN_COPY = "a copy of a record arrives that the log holds, and the partition has forgotten its producer"
    NEW_EPOCH_DESPITE_RECORD = (
        "a producer takes a new epoch because it lacks an answer to a record that is replicated nevertheless"
    )
    STARTED_WHILE_INITIALISING = "an instance of the producer starts while another one waits for its epoch"


@dataclass(frozen=True)
class TransactionsPlan:
    """The plan of a recording. `events` is the number of events in all runs; the bounds are those of each run.

    `given` are switches and other entries of the model's configuration, by name, as on the command line; they prevail.
    `bug` is a name in conformance/cluster/configuration/bugs.py; `allowed` are the behaviours missing in the model that
    may occur. `missing`, `unseen` and `untold` are the shares of events, variables and arguments that the log leaves
    out.
    """

    protocol: str = list(MODEL.protocols)[-1]
    seed: int = 0
    events: int = 1_000
    given: Mapping[str, str] = field(default_factory=dict)
    bug: str | None = None
    allowed: frozenset[ModelGap] = frozenset()
    missing: float = 0.0
    unseen: float = 0.0
    untold: float = 0.0

    def __post_init__(self) -> None:
        """Check the plan. Raises UsageError for invalid shares, and for values and bugs that there are not."""
        require_bug_of("transactions", self.bug)
        assert self.left_out  # which checks the shares
        assert self.instance  # which checks the values

    @cached_property
    def left_out(self) -> LeftOut:
        """The shares of what the log leaves out. Raises UsageError for invalid ones."""
        return LeftOut(self.seed, self.missing, self.unseen, self.untold)

    @cached_property
    def entries(self) -> dict[str, int]:
        """The values of the model's configuration that are not the protocol's own. Raises UsageError."""
        known = MODEL.entries
        if strange := [name for name in self.given if name not in known]:
            raise UsageError(f"transactions has no {strange[0]}; {nearest(strange[0], known)}")
        given = {name: parse(name, known[name], value) for name, value in self.given.items()}
        transactions = given.get("transactions", 4)
        bounds = {"transactions": transactions, "log_size": 2 * transactions, **BOUNDS, **given}
        may_expire = MODEL.instance(self.protocol, bounds).configuration.PRODUCER_STATE_EXPIRES_EARLY
        return {"expirations": 2 if may_expire else 0, **bounds}

    @cached_property
    def instance(self) -> Instance:
        """The instance of the model for every run. Raises UsageError."""
        return MODEL.instance(self.protocol, self.entries)

    @property
    def configuration(self) -> Any:
        """The values of the model's configuration."""
        return self.instance.configuration

    def spelled(self, *, is_switch: bool) -> dict[str, int | str]:
        """The switches, or the other entries, in the form that a header has for them."""
        return {
            name: value if MODEL.entries[name].values is None else spell(MODEL.entries[name], value)
            for name, value in self.entries.items()
            if name.isupper() == is_switch
        }
