"""All fetchers of one broker process, by source broker. Kafka: ReplicaFetcherManager.

In:  the controller's announcement that the broker follows a leader, or none.
Out: the fetcher for that leader has the partition, and no other has.

Source: fact sheet, sections 3.3 to 3.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isrcheck.conformance.cluster.broker.fetcher import Ask, FetcherThread, Mode
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.settings import Settings
from isrcheck.conformance.cluster.configuration.switches import Switches, Truncation
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.clock import Clock
from isrcheck.conformance.cluster.network.records import UNDEFINED_EPOCH


class FetcherManager:
    """The fetchers; one has the partition while the broker follows a leader."""

    def __init__(
        self,
        broker: int,
        log: Log,
        ask: Ask,
        halt: Callable[[], None],
        clock: Clock,
        settings: Settings,
        switches: Switches,
        bug: Bug | None,
    ) -> None:
        self.broker = broker
        self._log = log
        self._switches = switches
        self._bug = bug
        self._given = (log, ask, halt, clock, settings, switches, bug)
        self._threads: dict[int, FetcherThread] = {}

    @property
    def threads(self) -> Mapping[int, FetcherThread]:
        """The fetchers by source broker."""
        return dict(self._threads)

    def start_over(self, leader: int, leader_epoch: int) -> None:
        """Follow this leader from now on. Kafka: ReplicaManager.makeFollowers; fact sheet 3.3 and 3.4.

        In 0.10 the log is truncated to its high watermark at once; later versions reconcile it before they fetch, and
        since 2.7 (ON_FETCH) by the fetch. Then only a log without any epoch is truncated here. (In Kafka, the thread
        does this before its first fetch.)
        """
        if self._bug is not Bug.FETCHER_NOT_CLEARED:
            self.remove_fetcher()
        on_fetch = self._switches.TRUNC is Truncation.ON_FETCH
        mode = Mode.FETCHING if on_fetch else Mode.TRUNCATING
        if self._switches.TRUNC is Truncation.HW or (on_fetch and self._log.latest_epoch == UNDEFINED_EPOCH):
            self._log.truncate_to(self._log.high_watermark)
            mode = Mode.FETCHING
        self._thread(leader).add_partition(leader_epoch, mode)

    def go_on(self, leader_epoch: int) -> None:
        """Keep the fetcher unchanged, because the leader is the same in a newer epoch (switch FOLLOWER_SKIP).

        No release both skips and fences epochs; with both switches on, the fetcher adopts the newer epoch.
        """
        for thread in self._threads.values():
            thread.adopt_epoch(leader_epoch)

    def start_fetching(self, leader: int, leader_epoch: int) -> None:
        """Set up as if the partition had reconciled with its leader. Called only at the start of a run (`Start`)."""
        self._thread(leader).add_partition(leader_epoch, Mode.FETCHING)

    def remove_fetcher(self) -> None:
        """Stop following any leader."""
        for thread in self._threads.values():
            thread.remove_partition()

    def _thread(self, source: int) -> FetcherThread:
        if source not in self._threads:
            self._threads[source] = FetcherThread(source, *self._given)
        return self._threads[source]
