"""The visited set's inner loops: hashing, looking up and inserting packed states, and sharing them among shards.

In:  addresses of arrays, and numbers. A state is `words` words of 64 bits; states lie side by side.
Out: what each function writes into the arrays.

All of this is compiled (checker/compile/machine_code.py), so it is written in the subset of Python that
checker/compile/native.py knows.

An open-addressing hash table holds one word per slot: the upper 32 bits of a state's hash (its tag), and the state's
index plus 1; 0 is a free slot. The slot is given by the top bits of the hash.
"""

from __future__ import annotations

from isrcheck.checker.compile.primitives import (
    load_byte,
    load_half,
    load_word,
    prefetch,
    product,
    store_byte,
    store_half,
    store_quarter,
    store_word,
    unsigned_less,
    unsigned_remainder,
    unsigned_shift,
)

MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)
LOW = (1 << 32) - 1
TAG = -1 << 32
TOP = -1 << 63

AHEAD = 12
"""How many successors ahead a table slot is prefetched."""

STATE_AHEAD = 6
"""How many successors ahead the candidate's state is prefetched."""


def hash_of(state: int, words: int) -> int:
    """The 64-bit hash of a state. Files on disk are sorted by it, so it belongs to their format."""
    mixed = MULTIPLIER
    for word in range(words):
        mixed = product(mixed ^ load_word(state + 8 * word), MULTIPLIER)
        mixed ^= unsigned_shift(mixed, 32)
    mixed = product(mixed, MULTIPLIER)
    return mixed ^ unsigned_shift(mixed, 29)


def is_same(one: int, other: int, words: int) -> bool:
    """Whether two states are equal."""
    for word in range(words):  # noqa: SIM110 - nothing but loops is compiled
        if load_word(one + 8 * word) != load_word(other + 8 * word):
            return False
    return True


def copy_state(source: int, target: int, words: int) -> None:
    """Copy a state."""
    for word in range(words):
        store_word(target + 8 * word, load_word(source + 8 * word))


def sift(states: int, words: int, size: int, recent: int, mask: int, kept: int, hashes: int) -> int:
    """Remove successors that equal a recent one: more than half of all repetitions, with one cache access for each.

    `recent` holds, by hash, the last state with that hash, in `mask` + 1 entries. The positions of the remaining
    successors are written to `kept`, in order, and their hashes to `hashes`; returns their number.
    """
    count = 0
    for i in range(size):
        state = states + 8 * words * i
        mixed = hash_of(state, words)
        entry = recent + 8 * (words + 1) * (mixed & mask)
        # Bit 63 is not part of the place; it is set in every entry that is not empty.
        mark = mixed | TOP
        difference = load_word(entry) ^ mark
        store_word(entry, mark)
        for word in range(words):
            place = entry + 8 + 8 * word
            value = load_word(state + 8 * word)
            difference |= load_word(place) ^ value
            store_word(place, value)
        # Written without a branch, because the processor could not predict it.
        store_half(kept + 4 * count, i)
        store_word(hashes + 8 * count, mixed)
        count += difference != 0
    return count


def merge(
    table: int,
    bits: int,
    store: int,
    words: int,
    counted: int,
    parents: int,
    steps: int,
    step_bytes: int,
    states: int,
    from_states: int,
    by_steps: int,
    kept: int,
    hashes: int,
    first: int,
    last: int,
    room: int,
) -> int:
    """Insert those successors at kept[first..last-1] that are new, up to `room` states; returns the next position.

    The number of states in `store` is read from, and written to, the address `counted`.
    """
    count = load_word(counted)
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)
    for k in range(first, min(first + AHEAD, last)):
        prefetch(table + 8 * unsigned_shift(load_word(hashes + 8 * k), shift))
    for k in range(first, last):
        if k + AHEAD < last:
            prefetch(table + 8 * unsigned_shift(load_word(hashes + 8 * (k + AHEAD)), shift))
        if k + STATE_AHEAD < last:
            entry = load_word(table + 8 * unsigned_shift(load_word(hashes + 8 * (k + STATE_AHEAD)), shift))
            if entry != 0:
                prefetch(store + 8 * words * ((entry & LOW) - 1))
        i = load_half(kept + 4 * k)
        state = states + 8 * words * i
        mixed = load_word(hashes + 8 * k)
        slot = unsigned_shift(mixed, shift)
        while True:
            entry = load_word(table + 8 * slot)
            if entry == 0:
                if count >= room:
                    store_word(counted, count)
                    return k
                copy_state(state, store + 8 * words * count, words)
                store_half(parents + 4 * count, load_half(from_states + 4 * i))
                if step_bytes == 2:
                    store_quarter(steps + 2 * count, load_half(by_steps + 4 * i))
                else:
                    store_half(steps + 4 * count, load_half(by_steps + 4 * i))
                count += 1
                store_word(table + 8 * slot, mixed & TAG | count)
                break
            if (entry ^ mixed) & TAG == 0 and is_same(store + 8 * words * ((entry & LOW) - 1), state, words):
                break
            slot = (slot + 1) & mask
    store_word(counted, count)
    return last


def locate(table: int, bits: int, store: int, words: int, states: int, size: int, hashes: int, places: int) -> None:
    """Write to `places` the index of each of `size` states in the visited set; -1 for a state that is not in it.

    `hashes` has room for AHEAD words.
    """
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)
    for i in range(min(AHEAD, size)):
        mixed = hash_of(states + 8 * words * i, words)
        store_word(hashes + 8 * i, mixed)
        prefetch(table + 8 * unsigned_shift(mixed, shift))
    turn = hashes
    for i in range(size):
        state = states + 8 * words * i
        mixed = load_word(turn)
        if i + AHEAD < size:
            later = hash_of(state + 8 * words * AHEAD, words)
            store_word(turn, later)
            prefetch(table + 8 * unsigned_shift(later, shift))
        turn += 8
        if turn == hashes + 8 * AHEAD:
            turn = hashes
        slot = unsigned_shift(mixed, shift)
        found = -1
        while True:
            entry = load_word(table + 8 * slot)
            if entry == 0:
                break
            place = (entry & LOW) - 1
            if (entry ^ mixed) & TAG == 0 and is_same(store + 8 * words * place, state, words):
                found = place
                break
            slot = (slot + 1) & mask
        store_word(places + 8 * i, found)


def move(old: int, size: int, new: int, bits: int) -> None:
    """Move the entries of a table of `size` slots to a larger one, whose slots are the top `bits` bits of the hash."""
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)
    for at in range(size):
        entry = load_word(old + 8 * at)
        if entry != 0:
            # The table never has more than 2^32 slots, so the stored 32 bits are enough.
            slot = unsigned_shift(entry & TAG, shift)
            while load_word(new + 8 * slot) != 0:
                slot = (slot + 1) & mask
            store_word(new + 8 * slot, entry)


def route(kept: int, hashes: int, size: int, shards: int, routed: int, routed_hashes: int, bounds: int) -> None:
    """Sort the positions `kept` of successors by shard, stably: shard s gets routed[bounds[s]..bounds[s+1]-1]."""
    for shard in range(shards + 1):
        store_word(bounds + 8 * shard, 0)
    for i in range(size):
        bound = bounds + 8 * unsigned_remainder(load_word(hashes + 8 * i) & LOW, shards) + 8
        store_word(bound, load_word(bound) + 1)
    for shard in range(shards):
        bound = bounds + 8 * shard
        store_word(bound + 8, load_word(bound + 8) + load_word(bound))
    for i in range(size):
        mixed = load_word(hashes + 8 * i)
        bound = bounds + 8 * unsigned_remainder(mixed & LOW, shards)
        at = load_word(bound)
        store_half(routed + 4 * at, load_half(kept + 4 * i))
        store_word(routed_hashes + 8 * at, mixed)
        store_word(bound, at + 1)
    below = 0
    for shard in range(shards + 1):
        bound = bounds + 8 * shard
        end = load_word(bound)
        store_word(bound, below)
        below = end


def pick(states: int, words: int, local: int, owners: int, first: int, last: int, shard: int, chunk: int) -> None:
    """Copy those of states first..last-1 that are in a shard, from its position `local` on, into a chunk."""
    for number in range(first, last):
        if load_byte(owners + number) == shard:
            copy_state(states + 8 * words * local, chunk + 8 * words * (number - first), words)
            local += 1


def interleave(keys: int, heads: int, ends: int, shards: int, owners: int, count: int) -> None:
    """Merge `count` sorted unsigned keys (of shard s: keys[heads[s]..ends[s]-1]); write the shard of each to `owners`.

    Afterwards `heads` equals `ends`.
    """
    for at in range(count):
        least = -1
        least_key = 0
        for shard in range(shards):
            head = load_word(heads + 8 * shard)
            if head < load_word(ends + 8 * shard):
                key = load_word(keys + 8 * head)
                if least < 0 or unsigned_less(key, least_key):
                    least = shard
                    least_key = key
        store_byte(owners + at, least)
        store_word(heads + 8 * least, load_word(heads + 8 * least) + 1)
