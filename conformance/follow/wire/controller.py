"""What the traffic has shown of the controller's state: leader, leader epoch, ISR and replicas, without outdated views.

The states come in the order in which the proxy saw the messages.

AlterPartition answers and records of the metadata log are ordered by partition epochs. A Metadata response has no
partition epoch, and its broker may lag behind: the state that it shows is news only if no earlier state can explain it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

NO_LEADER = -1

Change = tuple[int | None, tuple[int, ...] | None, tuple[int, ...] | None]
"""What a record of the metadata log has: leader, ISR and replicas (None: unchanged)."""


@dataclass(frozen=True)
class View:
    """The leader (-1: none), leader epoch and ISR that a message shows; and the replicas (None: not shown)."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int | None = None
    replicas: tuple[int, ...] | None = None

    @property
    def says(self) -> tuple[int, int, frozenset[int]]:
        """The part that any message can show: leader, leader epoch and ISR."""
        return self.leader, self.leader_epoch, self.members

    @property
    def keys(self) -> dict[str, Any]:
        """Leader, epochs and ISR as keys of an observation."""
        epochs = {"leader_epoch": self.leader_epoch, "isr": list(self.isr), "partition_epoch": self.partition_epoch}
        return {"leader": self.leader, **epochs}

    @property
    def members(self) -> frozenset[int]:
        return frozenset(self.isr)


@dataclass
class Controller:
    """The controller's state, as far as the messages so far have shown it."""

    views: list[View] = field(default_factory=list)
    newest_epoch: int = -1
    _partition_epoch: int = 0
    _logged: View | None = None
    _logged_epoch: int = 0
    _logged_offset: int = -1
    _at: dict[int, View] = field(default_factory=dict)
    _in_log: dict[int, tuple[int, Change]] = field(default_factory=dict)

    @property
    def last(self) -> View | None:
        return self.views[-1] if self.views else None

    def hears_of(self, leader_epoch: int) -> None:
        """Note that a message has shown that this leader epoch has begun."""
        self.newest_epoch = max(self.newest_epoch, leader_epoch)

    def answers(self, view: View, partition_epoch: int) -> View | None:
        """Note the controller's answer to an AlterPartition request; return the state if it is news, otherwise None."""
        if partition_epoch <= self._partition_epoch:
            return None
        self._partition_epoch = partition_epoch
        self._at[partition_epoch] = view
        return self._accept(replace(view, partition_epoch=partition_epoch))

    def denies(self, view: View, partition_epoch: int) -> bool:
        """Whether the state that is known for this partition epoch, if any, differs from `view`."""
        recorded = self._at.get(partition_epoch)
        return recorded is not None and view.says != recorded.says

    def rewrites(self, offset: int, *change: *Change) -> View | None:
        """The state after `change`, if the metadata log has shown a different change at this offset; otherwise None."""
        if offset not in self._in_log or self._in_log[offset][1] == change:
            return None
        epoch = self._in_log[offset][0]
        recorded = self._at.get(epoch)
        return None if recorded is None else _changed(recorded, change, recorded.leader_epoch, epoch)

    def logs(self, offset: int, *change: *Change) -> View | None:
        """Note a change of the partition in the metadata log; return the new state if it is news, otherwise None."""
        if self._logged is None or offset <= self._logged_offset:
            return None
        self._logged_offset = offset
        self._logged_epoch += 1
        before = self._logged
        self._at.setdefault(self._logged_epoch - 1, before)
        self._logged = _changed(before, change, before.leader_epoch + (change[0] is not None))
        self._in_log[offset] = self._logged_epoch, change
        recorded = self._at.setdefault(self._logged_epoch, self._logged)
        return self.answers(recorded, self._logged_epoch)

    def position_of(self, view: View) -> int | None:
        """The smallest partition epoch that has this state; None if the traffic does not determine which epoch that is.

        Each change alters the state, so if an epoch has this state, the epoch directly before it does not.
        """
        epochs_of_state = [epoch for epoch, recorded in self._at.items() if recorded.says == view.says]
        for epoch in range(min(epochs_of_state, default=0)):
            if epoch not in self._at and epoch + 1 not in epochs_of_state:
                return None
        return min(epochs_of_state, default=None)

    def is_seen(self, view: View) -> View | None:
        """Note that a broker shows this state to a client; return the state if it is news, otherwise None."""
        if not self.views and view.leader_epoch == 0:
            self._logged = view
        if self._logged_epoch or not self._is_news(view):
            return None
        return self._accept(view)

    def contradicts(self, view: View) -> bool:
        """Whether this view of a broker is wrong, and not only outdated.

        The view is wrong if earlier views name a different leader for its leader epoch; or if the metadata log is
        recorded, and never had the view's ISR in that epoch.
        """
        same = [earlier for earlier in self.views if earlier.leader_epoch == view.leader_epoch]
        if view.leader != NO_LEADER and {earlier.leader for earlier in same} - {NO_LEADER, view.leader}:
            return True
        return bool(self._logged_epoch) and all(earlier.members != view.members for earlier in same)

    def _is_news(self, view: View) -> bool:
        last = self.last
        if view.leader_epoch < self.newest_epoch:
            return False
        if last is None or view.leader_epoch > last.leader_epoch:
            return True
        earlier = [earlier_view for earlier_view in self.views if earlier_view.leader_epoch == last.leader_epoch]
        if view.says == last.says:
            # Within a leader epoch, replicas are only added.
            replica_sets = [set(earlier_view.replicas) for earlier_view in earlier if earlier_view.replicas]
            return bool(replica_sets) and all(earlier_view < set(view.replicas or ()) for earlier_view in replica_sets)
        if any(earlier_view.members == view.members and earlier_view.leader == view.leader for earlier_view in earlier):
            return False
        # Only AlterPartition adds members, and it is recorded; so an unseen change leaves a smaller ISR. Such an ISR
        # is later than the last one, unless it could also have come between the last two.
        is_smaller = view.members < last.members
        return is_smaller and (
            len(earlier) < 2 or not view.members <= earlier[-2].members or earlier[-2].members >= last.members
        )

    def _accept(self, view: View) -> View | None:
        if view.leader_epoch < self.newest_epoch and self.last is not None:
            return None
        self.newest_epoch = view.leader_epoch
        self.views.append(view)
        return view


def _changed(view: View, change: Change, leader_epoch: int, partition_epoch: int | None = None) -> View:
    pairs = zip(("leader", "isr", "replicas"), change, strict=True)
    shown: dict[str, Any] = {name: value for name, value in pairs if value is not None}
    return replace(view, leader_epoch=leader_epoch, partition_epoch=partition_epoch, **shown)
