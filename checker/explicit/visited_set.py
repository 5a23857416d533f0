"""The visited set: the states that a search has seen, packed, in order of discovery, each once.

In:  batches of packed successors, each with its predecessor and its step.
Out: the new ones are appended, so that the index of a state is its place in breadth-first order.

An open-addressing hash table holds 32 bits of each state's hash, and its index. A match of these 32 bits is only a
candidate: the full states are compared, so that no state is ever mistaken for another. The slot is given by the top
bits of the hash. This keeps the table sorted enough to double it in one pass from left to right.

Memory is reserved once and allocated by the system as it is touched, so that a search grows without copying states.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
SHIFT = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
ZERO, ONE = np.uint64(0), np.uint64(1)
TOP = np.uint64(1 << 63)
RECENT_BITS = 12
"""The last 2^RECENT_BITS states are remembered: few enough for the second-level cache."""

AHEAD = 12
"""A table slot is prefetched this many successors ahead; the state that it names, half as many."""

MOST_STATES = (1 << 32) - 2
FIRST_TABLE_BITS = 16
FULLNESS = 0.7


U64, U32, U16, INT = types.uint64[::1], types.uint32[::1], types.uint16[::1], types.int64
PAIR = types.UniTuple(types.int64, 2)
READ_ONLY = types.Array(types.uint64, 1, "C", readonly=True)


def compiled(*signatures: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a function with Numba for these signatures, and cache the machine code if Numba finds a folder for it."""

    def compile_one(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            made: Callable[..., Any] = njit(list(signatures), cache=True, nogil=True)(function)
        except Exception:
            # No writable cache, or a damaged one: compile for this run only.
            made = njit(list(signatures), nogil=True)(function)
        return made

    return compile_one


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of `array[index]`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(struct.data, [arguments[1]]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), i32, i32, i32])
        name = (
            "llvm.prefetch.p0i8"
            if not hasattr(pointer.type, "is_opaque") or not pointer.type.is_opaque
            else "llvm.prefetch.p0"
        )
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@njit(inline="always")
def hash_state(states: Any, first: Any, words: Any) -> Any:
    """The 64-bit hash of the state at states[first:first + words]."""
    mixed = MULTIPLIER
    for word in range(words):
        mixed = (mixed ^ states[first + word]) * MULTIPLIER
        mixed ^= mixed >> SHIFT
    mixed *= MULTIPLIER
    return mixed ^ (mixed >> np.uint64(29))


@njit(inline="always")
def same_state(store: Any, first: Any, states: Any, other: Any, words: Any) -> Any:
    """Whether two packed states are equal."""
    for word in range(words):  # noqa: SIM110 - Numba has no generators here
        if store[first + word] != states[other + word]:
            return False
    return True


@compiled(INT(U64, INT, INT, U64, U32, U64))
def sift(states: Any, words: Any, size: Any, recent: Any, kept: Any, hashes: Any) -> Any:
    """Remove successors that equal a recent one: more than half of all repetitions, at the cost of one cache access.

    `recent` holds, by hash, the last state with that hash. The positions of the remaining successors are written to
    `kept`, in order, and their hashes to `hashes`; returns their number.
    """
    entry_words = words + 1
    mask = np.uint64(len(recent) // entry_words - 1)
    count = 0
    for i in range(size):
        mixed = hash_state(states, i * words, words)
        at = np.int64(mixed & mask) * entry_words
        # Bit 63 is not part of the slot; it is set in every entry that is not empty.
        mark = mixed | TOP
        difference = recent[at] ^ mark
        recent[at] = mark
        for word in range(words):
            difference |= recent[at + 1 + word] ^ states[i * words + word]
            recent[at + 1 + word] = states[i * words + word]
        # Written without a branch, because the processor could not predict it.
        kept[count] = i
        hashes[count] = mixed
        count += difference != ZERO
    return count


@compiled(*(PAIR(U64, INT, U64, INT, INT, U32, steps, U64, U32, U32, U32, U64, INT, INT, INT) for steps in (U16, U32)))
def merge(
    table: Any,
    bits: Any,
    store: Any,
    words: Any,
    count: Any,
    parents: Any,
    steps: Any,
    states: Any,
    from_states: Any,
    by_steps: Any,
    kept: Any,
    hashes: Any,
    first: Any,
    last: Any,
    room: Any,
) -> Any:
    """Insert the new ones of the successors at kept[first..last-1], up to `room` states; returns (next, new count)."""
    shift = np.uint64(64 - bits)
    mask = np.int64(len(table) - 1)
    for k in range(first, min(first + AHEAD, last)):
        prefetch(table, np.int64(hashes[k] >> shift))
    for k in range(first, last):
        if k + AHEAD < last:
            prefetch(table, np.int64(hashes[k + AHEAD] >> shift))
        if k + AHEAD // 2 < last:
            entry = table[np.int64(hashes[k + AHEAD // 2] >> shift)]
            if entry != ZERO:
                prefetch(store, (np.int64(entry & LOW) - 1) * words)
        i = np.int64(kept[k])
        tag = hashes[k] >> SHIFT
        slot = np.int64(hashes[k] >> shift)
        while True:
            entry = table[slot]
            if entry == ZERO:
                if count >= room:
                    return k, count
                for word in range(words):
                    store[count * words + word] = states[i * words + word]
                parents[count] = from_states[i]
                steps[count] = by_steps[i]
                count += 1
                table[slot] = (tag << SHIFT) | np.uint64(count)
                break
            if entry >> SHIFT == tag and same_state(
                store, (np.int64(entry & LOW) - 1) * words, states, i * words, words
            ):
                break
            slot = (slot + 1) & mask
    return last, count


@compiled(types.void(U64, INT, U64, INT, READ_ONLY, INT, types.int64[::1]))
def locate(table: Any, bits: Any, store: Any, words: Any, states: Any, size: Any, places: Any) -> None:
    """Write the index of each of `size` states in the visited set, or -1, to `places`."""
    shift = np.uint64(64 - bits)
    mask = np.int64(len(table) - 1)
    hashes = np.empty(AHEAD, np.uint64)
    for i in range(min(AHEAD, size)):
        hashes[i] = hash_state(states, i * words, words)
        prefetch(table, np.int64(hashes[i] >> shift))
    for i in range(size):
        mixed = hashes[i % AHEAD]
        if i + AHEAD < size:
            hashes[i % AHEAD] = hash_state(states, (i + AHEAD) * words, words)
            prefetch(table, np.int64(hashes[i % AHEAD] >> shift))
        slot = np.int64(mixed >> shift)
        tag = mixed >> SHIFT
        places[i] = -1
        while table[slot] != ZERO:
            place = np.int64(table[slot] & LOW) - 1
            if table[slot] >> SHIFT == tag and same_state(store, place * words, states, i * words, words):
                places[i] = place
                break
            slot = (slot + 1) & mask


@compiled(types.void(U64, U64, INT))
def move(old: Any, new: Any, bits: Any) -> None:
    """Move the entries of a table to a larger one, whose slots are the top `bits` bits of the hash."""
    shift = np.uint64(64 - bits)
    mask = np.int64(len(new) - 1)
    for entry in old:
        if entry != ZERO:
            # The table never has more than 2^32 slots, so the stored 32 bits are enough.
            slot = np.int64((entry & ~LOW) >> shift)
            while new[slot] != ZERO:
                slot = (slot + 1) & mask
            new[slot] = entry


def reserve(count: int, kind: Any) -> NDArray[Any]:
    """An array of zeros whose memory is allocated as it is touched. Raises MemoryError.

    It uses pages of ordinary size: with large pages the search took 0.9 times as long if the system had them ready, and
    1.2 times if it had to create them.
    """
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(count, kind)
    size = max(1, count * np.dtype(kind).itemsize)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(error.strerror) from None
    return np.frombuffer(memory, kind, count)


def empty_table(bits: int) -> NDArray[np.uint64]:
    """A table of 2^bits free slots.

    It is written before it is read: memory that is read first is allocated twice, and the second allocation stops all
    threads of the process. With two threads, that took longer than everything else.
    """
    table = reserve(1 << bits, np.uint64)
    table.fill(0)
    return table


def recent_states(words: int) -> NDArray[np.uint64]:
    """An empty table of recent states, for `sift`."""
    return np.zeros((words + 1) << RECENT_BITS, np.uint64)


class Full(Exception):
    """The memory limit of the search is reached."""


@dataclass
class Batch:
    """Successors that a kernel has written, to be inserted into the visited set."""

    states: NDArray[np.uint64]
    parents: NDArray[np.uint32]
    steps: NDArray[np.uint32]
    kept: NDArray[np.uint32]
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, room: int, words: int) -> Batch:
        """An empty batch with room for `room` successors of `words` words each."""
        return cls(
            np.empty(room * words, np.uint64),
            np.empty(room, np.uint32),
            np.empty(room, np.uint32),
            np.empty(room, np.uint32),
            np.empty(room, np.uint64),
        )


class VisitedSet:
    """States in order of discovery, within a memory limit in bytes."""

    def __init__(self, words: int, steps: int, memory: int) -> None:
        self.words = words
        self.memory = memory
        step_type = np.uint16 if steps <= 1 << 16 else np.uint32
        self.bytes_of_state = 8 * words + 4 + np.dtype(step_type).itemsize
        self.room = max(1, min(MOST_STATES, memory // self.bytes_of_state))
        self.states: NDArray[np.uint64] = reserve(self.room * words, np.uint64)
        self.parents: NDArray[np.uint32] = reserve(self.room, np.uint32)
        self.steps: NDArray[Any] = reserve(self.room, step_type)
        self.bits = FIRST_TABLE_BITS
        self.table = empty_table(self.bits)
        self.recent = recent_states(words)
        self.count = 0

    @property
    def bytes_used(self) -> int:
        """The memory in use, in bytes: states, predecessors, steps and the table."""
        return self.count * self.bytes_of_state + self.table.nbytes

    def add(self, batch: Batch, size: int) -> None:
        """Insert a batch. Raises Full if the memory limit is reached; the states that fitted stay, in order."""
        rest = sift(batch.states, self.words, size, self.recent, batch.kept, batch.hashes)
        self.insert(batch, batch.kept, batch.hashes, 0, rest)

    def insert(self, batch: Batch, kept: NDArray[np.uint32], hashes: NDArray[np.uint64], first: int, last: int) -> None:
        """Insert the successors at kept[first..last-1] of a batch, which have these hashes. Raises Full, as `add`
        does."""
        done = first
        while done < last:
            # The memory of the table is not available for states.
            left = (self.memory - self.table.nbytes) // self.bytes_of_state
            room = min(self.room, int(FULLNESS * len(self.table)), max(1, left))
            done, self.count = merge(
                self.table,
                self.bits,
                self.states,
                self.words,
                self.count,
                self.parents,
                self.steps,
                batch.states,
                batch.parents,
                batch.steps,
                kept,
                hashes,
                done,
                last,
                room,
            )
            if done < last:
                self._grow()

    def _grow(self) -> None:
        # Both tables exist while entries are moved.
        needed = self.count * self.bytes_of_state + 3 * self.table.nbytes
        if self.count >= self.room or self.bits == 32 or needed > self.memory:
            raise Full
        table = empty_table(self.bits + 1)
        move(self.table, table, self.bits + 1)
        self.table = table
        self.bits += 1

    def places_of(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The index of each of these concatenated states; -1 for a state that is not in the set."""
        places = np.empty(len(states) // self.words, np.int64)
        locate(self.table, self.bits, self.states, self.words, states, len(places), places)
        return places

    def states_at(self, numbers: Iterable[int]) -> Iterator[NDArray[np.uint64]]:
        """The packed words of each of these states."""
        return map(self.state, numbers)

    def first_where(self, is_match: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int | None:
        """The index of the first state that matches; `is_match` gets packed states as rows."""
        matching = is_match(self.states[: self.count * self.words].reshape(-1, self.words))
        return int(np.argmax(matching)) if matching.any() else None

    def state(self, index: int) -> NDArray[np.uint64]:
        """The packed words of a state."""
        return self.states[index * self.words : (index + 1) * self.words]

    def found_by(self, first: int, steps: int) -> NDArray[np.int64]:
        """The number of states, from `first` on, that each step discovered."""
        return np.bincount(self.steps[first : self.count], minlength=steps)

    def path(self, index: int) -> tuple[int, list[int]]:
        """The path to a state: the index of its initial state, and the numbers of its steps."""
        steps = []
        while int(self.parents[index]) != index:
            steps.append(int(self.steps[index]))
            index = int(self.parents[index])
        return index, steps[::-1]
