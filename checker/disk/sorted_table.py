"""The inner loops of the known states: a hash table whose order is the order of the sorted runs on disk.

In:  addresses of arrays, and numbers. A state is `words` words of 64 bits; states lie side by side.
Out: what each function writes into the arrays.

All of this is compiled (checker/compile/machine_code.py), so it is written in the subset of Python that
checker/compile/native.py knows.

A slot of the table holds the lower 32 bits of a state's hash (its tag), and the state's index plus 1; 0 is a free slot.
The upper 32 bits of the hash choose the slot, in ascending order: (upper bits - base) * scale / 2^32. Therefore a pass
over the slots yields the states in the order of their hashes, once each cluster (a sequence of occupied slots) is
sorted; and states that come in this order, from disk, are looked up in neighbouring slots. `base` and `scale` spread
the hashes of a range over the whole table.

An array of slots ends with slots that stay free: `end` is the first of them, and no probe goes on behind it.
"""

from __future__ import annotations

from isrcheck.checker.compile.hash_table import (
    AHEAD,
    LOW,
    STATE_AHEAD,
    TAG,
    copy_state,
    hash_of,
    is_same,
)
from isrcheck.checker.compile.primitives import (
    load_byte,
    load_half,
    load_word,
    prefetch,
    product,
    store_byte,
    store_half,
    store_word,
    unsigned_less,
    unsigned_shift,
)

UPWARD = 1 << 32

SLOTS_AHEAD = 32
"""How many slots ahead a state is prefetched in a pass over the table."""


def _home(mixed: int, base: int, scale: int) -> int:
    """The slot that a hash chooses."""
    return unsigned_shift(product(unsigned_shift(mixed, 32) - base, scale), 32)


def hash_all(states: int, words: int, kept: int, size: int, hashes: int) -> None:
    """Write the hashes of the states at the positions kept[0..size-1] to `hashes`."""
    for k in range(size):
        store_word(hashes + 8 * k, hash_of(states + 8 * words * load_half(kept + 4 * k), words))


def absorb(
    table: int,
    base: int,
    scale: int,
    end: int,
    store: int,
    words: int,
    counted: int,
    room: int,
    states: int,
    from_states: int,
    by_steps: int,
    offset: int,
    kept: int,
    hashes: int,
    first: int,
    last: int,
    parents: int,
    steps: int,
) -> int:
    """Append those of the states at kept[first..last-1] that are new to `store`, up to `room` states in all.

    Returns the next position. The number of states in `store` is read from, and written to, the address `counted`. For
    the state that gets the index i, from_states + offset and by_steps go to the places i of `parents` and `steps`.
    """
    count = load_word(counted)
    for k in range(first, min(first + AHEAD, last)):
        prefetch(table + 8 * _home(load_word(hashes + 8 * k), base, scale))
    for k in range(first, last):
        if k + AHEAD < last:
            prefetch(table + 8 * _home(load_word(hashes + 8 * (k + AHEAD)), base, scale))
        if k + STATE_AHEAD < last:
            entry = load_word(table + 8 * _home(load_word(hashes + 8 * (k + STATE_AHEAD)), base, scale))
            if entry != 0:
                prefetch(store + 8 * words * ((entry & LOW) - 1))
        i = load_half(kept + 4 * k)
        state = states + 8 * words * i
        mixed = load_word(hashes + 8 * k)
        tag = product(mixed, UPWARD)
        slot = _home(mixed, base, scale)
        while True:
            entry = load_word(table + 8 * slot)
            if entry == 0:
                if count >= room or slot >= end:
                    store_word(counted, count)
                    return k
                copy_state(state, store + 8 * words * count, words)
                store_half(parents + 4 * count, load_half(from_states + 4 * i) + offset)
                store_half(steps + 4 * count, load_half(by_steps + 4 * i))
                count += 1
                store_word(table + 8 * slot, tag | count)
                break
            if (entry ^ tag) & TAG == 0 and is_same(store + 8 * words * ((entry & LOW) - 1), state, words):
                break
            slot += 1
    store_word(counted, count)
    return last


def enter(table: int, base: int, scale: int, end: int, store: int, words: int, size: int) -> int:
    """Enter the states 0..size-1 of `store`, all different, in an empty table; returns how many it had room for."""
    for i in range(size):
        if i + AHEAD < size:
            prefetch(table + 8 * _home(hash_of(store + 8 * words * (i + AHEAD), words), base, scale))
        mixed = hash_of(store + 8 * words * i, words)
        slot = _home(mixed, base, scale)
        while load_word(table + 8 * slot) != 0:
            slot += 1
        if slot >= end:
            return i
        store_word(table + 8 * slot, product(mixed, UPWARD) | (i + 1))
    return size


def drain(
    table: int,
    end: int,
    slot: int,
    store: int,
    words: int,
    low: int,
    high: int,
    marks: int,
    drained: int,
    numbers: int,
    hashes: int,
    room: int,
    counted: int,
) -> int:
    """Write states low..high-1 without a mark to `drained` in the order of their hashes, and mark them.

    Begins at a slot, ends where the next cluster might exceed `room` states, and returns the next slot. `numbers` gets
    index - low of each state, `hashes` its hash, and the address `counted` how many states were written.
    """
    count = 0
    while slot < end:
        after = slot
        while load_word(table + 8 * after) != 0:
            later = load_word(table + 8 * (after + SLOTS_AHEAD))
            if later != 0:
                prefetch(store + 8 * words * ((later & LOW) - 1))
            after += 1
        if count + after - slot > room:
            break
        first = count
        for there in range(slot, after):
            index = (load_word(table + 8 * there) & LOW) - 1
            if index >= low and index < high and load_byte(marks + index) == 0:
                state = store + 8 * words * index
                mixed = hash_of(state, words)
                place = count
                while place > first and unsigned_less(mixed, load_word(hashes + 8 * (place - 1))):
                    copy_state(drained + 8 * words * (place - 1), drained + 8 * words * place, words)
                    store_word(hashes + 8 * place, load_word(hashes + 8 * (place - 1)))
                    store_half(numbers + 4 * place, load_half(numbers + 4 * (place - 1)))
                    place -= 1
                copy_state(state, drained + 8 * words * place, words)
                store_word(hashes + 8 * place, mixed)
                store_half(numbers + 4 * place, index - low)
                store_byte(marks + index, 1)
                count += 1
        slot = after + 1
    store_word(counted, count)
    return slot


def strike(
    table: int,
    base: int,
    scale: int,
    end: int,
    store: int,
    words: int,
    low: int,
    marks: int,
    states: int,
    size: int,
) -> int:
    """Mark the states from index `low` on that equal one of `size` other states; returns how many got a mark."""
    struck = 0
    for i in range(size):
        state = states + 8 * words * i
        mixed = hash_of(state, words)
        tag = product(mixed, UPWARD)
        slot = _home(mixed, base, scale)
        while 0 <= slot < end:  # a hash outside the range of the table leads to no slot, or to one of another hash
            entry = load_word(table + 8 * slot)
            if entry == 0:
                break
            index = (entry & LOW) - 1
            if (entry ^ tag) & TAG == 0 and index >= low and is_same(store + 8 * words * index, state, words):
                struck += 1 - load_byte(marks + index)
                store_byte(marks + index, 1)
                break
            slot += 1
    return struck


def cover(states: int, words: int, size: int, regions: int, shift: int) -> None:
    """Set the byte of every region of hashes in which one of the states lies: region = hash >> shift."""
    for i in range(size):
        store_byte(regions + unsigned_shift(hash_of(states + 8 * words * i, words), shift), 1)
