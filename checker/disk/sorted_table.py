"""Machine code for the hash table of the states that a search on disk keeps in memory.

Each function here builds a function of machine code, whose arguments are addresses and numbers, as in
checker/compile/hash_table.py.

A slot of the table holds the lower 32 bits of a state's hash (its tag), and the state's index plus 1; 0 is a free slot.
The upper 32 bits of the hash choose the slot: (upper bits - base) * scale / 2^32. So the table has the order of the
hashes, like the sorted runs on disk. A pass over the slots yields the states in this order, if the states of each
cluster (a sequence of occupied slots) are sorted; and states that are read from a run are looked up in neighbouring
slots. `base` and `scale` are chosen so that a range of hashes is spread over the whole table.

The array of slots ends with free slots: `end` is the position of the first of them, and no probe goes beyond it.
"""

from __future__ import annotations

from isrcheck.checker.compile.hash_table import AHEAD, LOW, TAG, copy_state, hash_of, held, is_same, looked_ahead
from isrcheck.checker.compile.staging import (
    Bytes,
    Code,
    Halves,
    Staged,
    Value,
    Words,
    load_word,
    prefetch,
    store_word,
    unsigned_less,
    unsigned_shift,
)

UPWARD = 1 << 32

SLOTS_AHEAD = 32
"""How many slots ahead a state is prefetched in a pass over the table."""


def _home(mixed: Value, base: Value, scale: Value) -> Value:
    return unsigned_shift((unsigned_shift(mixed, 32) - base) * scale, 32)


@Staged
def hash_all(code: Code, states: Value, words: Value, kept: Halves, size: Value, hashes: Words) -> None:
    """Write to `hashes` the hashes of the states at the positions kept[0..size-1] in the array `states`."""
    with code.loop(0, size) as k:
        hashes[k] = hash_of(states + 8 * words * kept[k], words)


@Staged
def absorb(
    code: Code,
    table: Words,
    base: Value,
    scale: Value,
    end: Value,
    store: Value,
    words: Value,
    counted: Value,
    room: Value,
    states: Value,
    from_states: Halves,
    by_steps: Halves,
    offset: Value,
    kept: Halves,
    hashes: Words,
    first: Value,
    last: Value,
    parents: Halves,
    steps: Halves,
) -> None:
    """Append to `store` the states at kept[first..last-1] that are not in the table, until `store` has `room` states.

    Returns the position in `kept` after the last state that was looked up. The address `counted` holds the number of
    states in `store`, before and after. For an appended state that gets the index i in `store`, parents[i] gets its
    predecessor (its entry of `from_states`, plus `offset`), and steps[i] gets its step (its entry of `by_steps`).
    """
    count, slot = code.variable(load_word(counted)), code.variable()

    def home(mixed: Value) -> Value:
        return _home(mixed, base, scale)

    with looked_ahead(code, table, home, store, words, hashes, first, last) as k:
        i = kept[k]
        state = states + 8 * words * i
        mixed = hashes[k]
        tag = mixed * UPWARD
        slot.set(home(mixed))
        with code.repeat():
            entry = table[slot]
            with code.when(entry == 0):
                with code.when(code.some(count >= room, slot >= end)):
                    store_word(counted, count)
                    code.return_(k)
                copy_state(state, store + 8 * words * count, words)
                parents[count] = from_states[i] + offset
                steps[count] = by_steps[i]
                count += 1
                table[slot] = tag | count
                code.leave()
            other = held(store, words, entry)
            with code.when(code.every((entry ^ tag) & TAG == 0, lambda: is_same(other, state, words))):
                code.leave()
            slot += 1
    store_word(counted, count)
    code.return_(last)


@Staged
def enter(
    code: Code, table: Words, base: Value, scale: Value, end: Value, store: Value, words: Value, size: Value
) -> None:
    """Enter the states 0..size-1 of `store`, all different, in an empty table; returns how many states fit."""
    slot = code.variable()
    with code.loop(0, size) as i:
        with code.when(i + AHEAD < size):
            prefetch(table + 8 * _home(hash_of(store + 8 * words * (i + AHEAD), words), base, scale))
        mixed = hash_of(store + 8 * words * i, words)
        slot.set(_home(mixed, base, scale))
        with code.repeat(lambda: table[slot] != 0):
            slot += 1
        with code.when(slot >= end):
            code.return_(i)
        table[slot] = mixed * UPWARD | (i + 1)
    code.return_(size)


@Staged
def drain(
    code: Code,
    table: Words,
    end: Value,
    begin: Value,
    store: Value,
    words: Value,
    low: Value,
    high: Value,
    marks: Bytes,
    drained: Value,
    numbers: Halves,
    hashes: Words,
    room: Value,
    counted: Value,
) -> None:
    """Write the states low..high-1 that have no mark to `drained`, in the order of their hashes, and mark them.

    The function begins at slot `begin`, ends before the first cluster that might not fit in `room` states, and returns
    the slot to go on from. For each written state, `numbers` gets its index minus `low`, and `hashes` its hash. The
    number of written states goes to the address `counted`.
    """
    count, slot, after, place = code.variable(0), code.variable(begin), code.variable(), code.variable()
    with code.repeat(lambda: slot < end):
        after.set(slot)
        with code.repeat(lambda: table[after] != 0):
            later = table[after + SLOTS_AHEAD]
            with code.when(later != 0):
                prefetch(held(store, words, later))
            after += 1
        with code.when(count + after - slot > room):
            code.leave()
        first = code.variable(count)
        with code.loop(slot, after) as there:
            index = (table[there] & LOW) - 1
            with code.when(code.every(index >= low, index < high, lambda: marks[index] == 0)):
                state = store + 8 * words * index
                mixed = hash_of(state, words)
                place.set(count)
                with code.repeat(lambda: code.every(place > first, lambda: unsigned_less(mixed, hashes[place - 1]))):
                    copy_state(drained + 8 * words * (place - 1), drained + 8 * words * place, words)
                    hashes[place] = hashes[place - 1]
                    numbers[place] = numbers[place - 1]
                    place -= 1
                copy_state(state, drained + 8 * words * place, words)
                hashes[place] = mixed
                numbers[place] = index - low
                marks[index] = 1
                count += 1
        slot.set(after + 1)
    store_word(counted, count)
    code.return_(slot)


@Staged
def strike(
    code: Code,
    table: Words,
    base: Value,
    scale: Value,
    end: Value,
    store: Value,
    words: Value,
    low: Value,
    marks: Bytes,
    states: Value,
    size: Value,
) -> None:
    """Mark the states with index >= `low` that equal one of the `size` states at `states`; return the number marked."""
    struck, slot = code.variable(0), code.variable()
    with code.loop(0, size) as i:
        state = states + 8 * words * i
        mixed = hash_of(state, words)
        tag = mixed * UPWARD
        slot.set(_home(mixed, base, scale))
        # A hash outside the range of the table leads to no slot, or to one of another hash.
        with code.repeat(lambda: code.every(slot >= 0, slot < end)):
            entry = table[slot]
            with code.when(entry == 0):
                code.leave()
            index = (entry & LOW) - 1
            is_candidate = code.every((entry ^ tag) & TAG == 0, index >= low)
            with code.when(code.every(is_candidate, lambda: is_same(store + 8 * words * index, state, words))):
                struck += 1 - marks[index]
                marks[index] = 1
                code.leave()
            slot += 1
    code.return_(struck)


@Staged
def cover(code: Code, states: Value, words: Value, size: Value, regions: Bytes, shift: Value) -> None:
    """Set the byte of every region of hashes in which one of the states lies; a state's region is hash >> shift."""
    with code.loop(0, size) as i:
        regions[unsigned_shift(hash_of(states + 8 * words * i, words), shift)] = 1
