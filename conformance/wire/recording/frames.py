"""Finds the frames in a stream of bytes that may come in pieces of any size.

In:  the bytes of one direction of a connection, which may be anything.
Out: `Piece`s, which together are exactly these bytes; complete frames among them.

Memory is bounded: a frame of more than MOST_FRAME bytes is not kept, and all frames that are incomplete at one time
have together at most MOST_KEPT bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MOST_FRAME = 16 << 20
"""Bytes of the longest frame that is recorded. A follower's fetch has 10 MiB at most by default."""

MOST_KEPT = 256 << 20
SIZE = 4
UNDECODED = "nothing that follows on this connection is decoded"


@dataclass(frozen=True)
class Piece:
    """A part of a stream: its bytes, and the frame that they are if they are a complete one.

    `problem` says why the frame that begins here is not decoded; `size` is the one that it announces.
    """

    data: bytes
    frame: bytes | None = None
    problem: str | None = None
    size: int = 0


class Room:
    """The memory that all incomplete frames share."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._left = most

    def reserve(self, size: int) -> bool:
        """Take so many bytes if there are as many; returns whether there are."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        """Return bytes that were reserved."""
        self._left += size


class Splitter:
    """Splits one direction of a connection into frames: four bytes of size, and so many bytes."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._kept = bytearray()
        self._reserved = 0
        self._passing = 0
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces that are complete with these bytes. What is incomplete is kept, unless it is too long."""
        self._kept += data
        while self._kept:
            if self._is_lost or self._passing:
                count = len(self._kept) if self._is_lost else min(self._passing, len(self._kept))
                self._passing = max(0, self._passing - count)
                yield Piece(self._take(count))
                continue
            if len(self._kept) < SIZE:
                return
            size = int.from_bytes(self._kept[:SIZE], "big", signed=True)
            problem = self._problem(size)
            if problem is not None:
                self._is_lost, self._passing = size < 0, SIZE + size
                yield Piece(b"", problem=problem, size=size)
                continue
            if len(self._kept) < SIZE + size:
                return
            self._free()
            whole = self._take(SIZE + size)
            yield Piece(whole, frame=whole[SIZE:], size=size)

    def finish(self) -> Piece | None:
        """The bytes of an incomplete frame at the end of the stream; None if there are none."""
        self._free()
        if not self._kept:
            return None
        size, got = int.from_bytes(self._kept[:SIZE], "big", signed=True), len(self._kept)
        problem = f"the connection ends after {got - SIZE} of {size} bytes"
        if got < SIZE:
            problem, size = f"the connection ends after {got} of the {SIZE} bytes of a size", 0
        return Piece(self._take(got), problem=problem, size=size)

    def _problem(self, size: int) -> str | None:
        """Why a frame of this size is not kept."""
        if size < 0:
            return f"a frame of {size} bytes: {UNDECODED}"
        if size > MOST_FRAME:
            return f"a frame of {size} bytes; of more than {MOST_FRAME} none is decoded"
        if not self._reserved:
            if not self._room.reserve(SIZE + size):
                return f"a frame of {size} bytes, while the incomplete frames have {MOST_KEPT} bytes"
            self._reserved = SIZE + size
        return None

    def _free(self) -> None:
        self._room.give_back(self._reserved)
        self._reserved = 0

    def _take(self, count: int) -> bytes:
        found = bytes(self._kept[:count])
        del self._kept[:count]
        return found
