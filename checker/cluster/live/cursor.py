"""A position in the bytes of a message of Kafka: integers of fixed and of variable length, and lengths.

No length may exceed what is left of the bytes.
"""

from __future__ import annotations

import struct

MOST_VARINT_BYTES = 5


class MalformedError(Exception):
    """The bytes are not a message; the text of the error says what is wrong with them."""


class Cursor:
    """A position in the bytes of one frame, that is, of one message without its length."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises MalformedError if fewer are left."""
        if not 0 <= count <= self.left:
            raise MalformedError(f"the frame gives a length of {count}, but has only {self.left} bytes left")
        self._at += count
        return self._data[self._at - count : self._at]

    def peek(self, count: int) -> bytes:
        """The next bytes, which stay unread."""
        return self._data[self._at : self._at + count]

    def integer(self, form: str) -> int:
        """The next integer, in a format of `struct`."""
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def count(self, values: int) -> None:
        """Called with the number of elements of a list before the list is read. A subclass can raise MalformedError
        here, if it accepts only so many."""

    def varint(self) -> int:
        """The next unsigned integer of variable length."""
        value = 0
        for index in range(MOST_VARINT_BYTES):
            byte = self._data[self._at] if self._at < len(self._data) else self.take(1)[0]
            self._at += 1
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return value
        raise MalformedError("an integer of more than 5 bytes")

    def length(self, form: str, *, compact: bool) -> int | None:
        """Read the length of a string or an array; None for a null string or array. Raises MalformedError."""
        count = self.varint() - 1 if compact else self.integer(form)
        if not -1 <= count <= self.left:
            raise MalformedError(f"the frame gives a length of {count}, but has only {self.left} bytes left")
        return None if count < 0 else count
