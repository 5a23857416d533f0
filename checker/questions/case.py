"""A case: the settings of one topic and its producers on which the answers to an operator's questions depend.

In:  nothing.
Out: `Case`, a value that can be looked up, changed in one setting, and written to a file.

Many topics share a case: their names, their partitions and all other settings make no difference to the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

WITH_ELR = ("4.1", "4.3")
"""The generations with eligible leader replicas (KIP-966), as in a new cluster, oldest first."""


@dataclass(frozen=True, order=True)
class Case:
    """The settings that matter.

    `protocol` is a generation of the model `kafka`; `switches` are the entries in which the cluster differs from it, as
    on the command line, sorted by name. `acks` is "0", "1" or "all". `min_insync_replicas` is at most
    `replication_factor` + 1: every larger number has the same effect. `leader_rebalance` is
    auto.leader.rebalance.enable; `flushes_every_message` is log.flush.interval.messages=1; `max_in_flight_requests` is
    1 or 5, because more make no difference for the few records of a search. `numbering` are the model's entries for
    what the release of the clients and brokers does with sequence numbers. `transactions` are the generation of the
    model `transactions`, as the entry `protocol`, and its entries; or nothing if no producer has transactions.
    """

    protocol: str
    switches: tuple[tuple[str, str], ...] = ()
    acks: str = "all"
    replication_factor: int = 3
    min_insync_replicas: int = 1
    unclean_election: bool = False
    leader_rebalance: bool = True
    flushes_every_message: bool = False
    enable_idempotence: bool = True
    retries: bool = True
    max_in_flight_requests: int = 5
    numbering: tuple[tuple[str, int], ...] = ()
    transactions: tuple[tuple[str, str], ...] = ()

    @property
    def has_record_epochs(self) -> bool:
        """Whether records have the format of 0.11, which idempotence and transactions require."""
        return self.protocol not in ("0.8", "0.10") and dict(self.switches).get("TRUNC") != "HW"

    @property
    def has_elr(self) -> bool:
        """Whether the controllers keep eligible leader replicas: since 4.1, unless a switch says otherwise."""
        own = "on" if self.protocol in WITH_ELR else "off"
        return dict(self.switches).get("ELR", own) == "on"

    def as_object(self) -> dict[str, Any]:
        """The case as a JSON object: every setting by its name."""
        pairs = {name: dict(getattr(self, name)) for name in PAIRS}
        return asdict(self) | pairs

    @staticmethod
    def of_object(content: Mapping[str, Any]) -> Case:
        """The case that `as_object` has written. Raises TypeError for unknown settings."""
        pairs = {name: tuple(sorted(content.get(name, {}).items())) for name in PAIRS}
        return Case(**{**content, **pairs})


PAIRS = ("switches", "numbering", "transactions")
"""The settings that are several entries of a model."""
