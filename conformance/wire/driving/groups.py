"""The offsets that consumer groups have committed.

In:  offsets, some of them in transactions.
Out: the committed offsets.

They are kept in the memory of the server: the topic __consumer_offsets and its replication are left out.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.network.records import Control

At = tuple[str, str, int]
"""A group, a topic and a partition."""

Committed = tuple[int, str | None]
"""An offset and its metadata."""

NOTHING: Committed = (-1, "")


class Groups:
    """The committed offsets, and those of transactions that have not ended."""

    def __init__(self) -> None:
        self._committed: dict[At, Committed] = {}
        self._held: dict[tuple[int, int], dict[At, Committed]] = {}

    def commit(self, at: At, offset: int, metadata: str | None) -> None:
        """Commit an offset."""
        self._committed[at] = offset, metadata

    def committed(self, at: At) -> Committed:
        """The committed offset; -1 if there is none."""
        return self._committed.get(at, NOTHING)

    def partitions_of(self, group: str) -> dict[str, list[int]]:
        """The partitions of each topic for which a group has committed an offset."""
        found: dict[str, list[int]] = {}
        for name, topic, partition in self._committed:
            if name == group:
                found.setdefault(topic, []).append(partition)
        return found

    def hold(self, producer: tuple[int, int], at: At, offset: int, metadata: str | None) -> None:
        """Keep an offset until the transaction of this producer (id, epoch) ends."""
        self._held.setdefault(producer, {})[at] = offset, metadata

    def release(self, producer: tuple[int, int], control: Control) -> None:
        """The transaction of this producer has ended."""
        held = self._held.pop(producer, {})
        if control is Control.COMMIT:
            self._committed.update(held)
