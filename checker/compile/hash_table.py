"""The visited set's inner loops: packed states are hashed, looked up, inserted, and divided among shards.

Each `Staged` function here builds a function of machine code (checker/compile/machine_code.py). Its arguments are
addresses of arrays, and numbers. A state is `words` words of 64 bits; the states of an array lie side by side.

An open-addressing hash table holds one word per slot: the upper 32 bits of a state's hash (its tag), and the state's
index plus 1; 0 is a free slot. The slot is given by the top bits of the hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from isrcheck.checker.compile.staging import (
    STORE,
    Bytes,
    Code,
    Halves,
    Staged,
    Value,
    Words,
    load_word,
    prefetch,
    store_half,
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


@Staged
def hash_of(code: Code, state: Words, words: Value) -> None:
    """The 64-bit hash of a state. Files on disk are sorted by this hash, so a new hash needs a new file format."""
    mixed = code.variable(MULTIPLIER)
    with code.loop(0, words) as word:
        mixed.set((mixed ^ state[word]) * MULTIPLIER)
        mixed ^= unsigned_shift(mixed, 32)
    last = mixed * MULTIPLIER
    code.return_(last ^ unsigned_shift(last, 29))


@Staged
def is_same(code: Code, state: Words, other: Words, words: Value) -> None:
    """Whether two packed states are equal."""
    with code.loop(0, words) as word, code.when(state[word] != other[word]):
        code.return_(False)
    code.return_(True)


@Staged
def copy_state(code: Code, source: Words, target: Words, words: Value) -> None:
    """Copy a packed state from address `source` to address `target`."""
    with code.loop(0, words) as word:
        target[word] = source[word]


def held(store: Value, words: Value, entry: Value) -> Value:
    """The address, in the array `store`, of the state whose index is in this entry of the hash table."""
    return store + 8 * words * ((entry & LOW) - 1)


@contextmanager
def looked_ahead(
    code: Code,
    table: Words,
    home: Callable[[Value], Value],
    store: Value,
    words: Value,
    hashes: Words,
    first: Value,
    last: Value,
) -> Iterator[Value]:
    """Build a loop over successors first..last-1 that also prefetches memory for later successors. For a later
    successor, it prefetches the slot of its hash (`home` computes the slot), and then the state to which that slot
    refers."""
    with code.loop(first, code.extremum("<", first + AHEAD, last)) as k:
        prefetch(table + 8 * home(hashes[k]))
    with code.loop(first, last) as k:
        with code.when(k + AHEAD < last):
            prefetch(table + 8 * home(hashes[k + AHEAD]))
        with code.when(k + STATE_AHEAD < last):
            entry = table[home(hashes[k + STATE_AHEAD])]
            with code.when(entry != 0):
                prefetch(held(store, words, entry))
        yield k


@Staged
def sift(
    code: Code, states: Value, words: Value, size: Value, recent: Value, mask: Value, kept: Halves, hashes: Words
) -> None:
    """Remove successors that equal a recent successor, and return the number of remaining successors.

    This removes more than half of all repeated successors, with one access to `recent` for each successor. `recent`
    has `mask` + 1 entries. The lowest bits of a state's hash choose an entry, and each entry holds the last state that
    chose it. The positions of the remaining successors are written to `kept`, and their hashes to `hashes`.
    """
    count, difference = code.variable(0), code.variable()
    with code.loop(0, size) as i:
        state = states + 8 * words * i
        mixed = hash_of(state, words)
        entry = recent + 8 * (words + 1) * (mixed & mask)
        # Bit 63 is not part of the place; it is set in every entry that is not empty.
        mark = mixed | TOP
        difference.set(load_word(entry) ^ mark)
        store_word(entry, mark)
        with code.loop(0, words) as word:
            place = entry + 8 + 8 * word
            value = load_word(state + 8 * word)
            difference |= load_word(place) ^ value
            store_word(place, value)
        # Written without a branch, because the processor could not predict it.
        kept[count] = i
        hashes[count] = mixed
        count += difference != 0
    code.return_(count)


@Staged
def merge(
    code: Code,
    table: Words,
    bits: Value,
    store: Value,
    words: Value,
    counted: Value,
    parents: Halves,
    steps: Value,
    step_bytes: Value,
    states: Value,
    from_states: Halves,
    by_steps: Halves,
    kept: Halves,
    hashes: Words,
    first: Value,
    last: Value,
    room: Value,
) -> None:
    """Append the new states among successors kept[first..last-1] to the visited set, which holds at most `room` states.

    Returns the position in `kept` of the first successor that no longer fits, or `last` if all fit. The number of
    states in the visited set (`store`) is read from, and written to, the address `counted`.
    """
    count, slot = code.variable(load_word(counted)), code.variable()
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)

    def home(mixed: Value) -> Value:
        return unsigned_shift(mixed, shift)

    with looked_ahead(code, table, home, store, words, hashes, first, last) as k:
        i = kept[k]
        state = states + 8 * words * i
        mixed = hashes[k]
        slot.set(home(mixed))
        with code.repeat():
            entry = table[slot]
            with code.when(entry == 0):
                with code.when(count >= room):
                    store_word(counted, count)
                    code.return_(k)
                copy_state(state, store + 8 * words * count, words)
                parents[count] = from_states[i]
                with code.when(step_bytes == 2):
                    STORE[2](steps + 2 * count, by_steps[i])
                with code.otherwise():
                    store_half(steps + 4 * count, by_steps[i])
                count += 1
                table[slot] = mixed & TAG | count
                code.leave()
            other = held(store, words, entry)
            with code.when(code.every((entry ^ mixed) & TAG == 0, lambda: is_same(other, state, words))):
                code.leave()
            slot.set((slot + 1) & mask)
    store_word(counted, count)
    code.return_(last)


@Staged
def locate(
    code: Code,
    table: Words,
    bits: Value,
    store: Value,
    words: Value,
    states: Value,
    size: Value,
    hashes: Words,
    places: Words,
) -> None:
    """Write to `places` the index of each of `size` states in the visited set; -1 for a state that is not in it.
    `hashes` is scratch memory of AHEAD words."""
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)
    with code.loop(0, code.extremum("<", AHEAD, size)) as i:
        mixed = hash_of(states + 8 * words * i, words)
        hashes[i] = mixed
        prefetch(table + 8 * unsigned_shift(mixed, shift))
    turn, slot, index = code.variable(0), code.variable(), code.variable()
    with code.loop(0, size) as i:
        state = states + 8 * words * i
        mixed = hashes[turn]
        with code.when(i + AHEAD < size):
            later = hash_of(state + 8 * words * AHEAD, words)
            hashes[turn] = later
            prefetch(table + 8 * unsigned_shift(later, shift))
        turn += 1
        with code.when(turn == AHEAD):
            turn.set(0)
        slot.set(unsigned_shift(mixed, shift))
        index.set(-1)
        with code.repeat():
            entry = table[slot]
            with code.when(entry == 0):
                code.leave()
            place = (entry & LOW) - 1
            is_tagged = (entry ^ mixed) & TAG == 0
            with code.when(code.every(is_tagged, lambda: is_same(store + 8 * words * place, state, words))):
                index.set(place)
                code.leave()
            slot.set((slot + 1) & mask)
        places[i] = index


@Staged
def move(code: Code, old: Words, size: Value, new: Words, bits: Value) -> None:
    """Move the entries of a hash table of `size` slots to a larger hash table, which has 2^bits slots."""
    shift = 64 - bits
    mask = unsigned_shift(-1, shift)
    slot = code.variable()
    with code.loop(0, size) as at:
        entry = old[at]
        with code.when(entry != 0):
            # The table never has more than 2^32 slots, so the stored 32 bits are enough.
            slot.set(unsigned_shift(entry & TAG, shift))
            with code.repeat(lambda: new[slot] != 0):
                slot.set((slot + 1) & mask)
            new[slot] = entry


@Staged
def route(
    code: Code,
    kept: Halves,
    hashes: Words,
    size: Value,
    shards: Value,
    routed: Halves,
    routed_hashes: Words,
    bounds: Words,
) -> None:
    """Sort the positions and hashes of successors by shard, stably. From `kept`, the positions of the successors of
    shard s go to routed[bounds[s]..bounds[s+1]-1]; their hashes go to the same range of `routed_hashes`."""
    with code.loop(0, shards + 1) as shard:
        bounds[shard] = 0
    with code.loop(0, size) as i:
        bounds[unsigned_remainder(hashes[i] & LOW, shards) + 1] += 1
    with code.loop(0, shards) as shard:
        bounds[shard + 1] += bounds[shard]
    with code.loop(0, size) as i:
        mixed = hashes[i]
        shard = unsigned_remainder(mixed & LOW, shards)
        at = bounds[shard]
        routed[at] = kept[i]
        routed_hashes[at] = mixed
        bounds[shard] = at + 1
    below = code.variable(0)
    with code.loop(0, shards + 1) as shard:
        end = bounds[shard]
        bounds[shard] = below
        below.set(end)


@Staged
def pick(
    code: Code,
    states: Value,
    words: Value,
    local: Value,
    owners: Bytes,
    first: Value,
    last: Value,
    shard: Value,
    chunk: Value,
) -> None:
    """Copy to `chunk` the states that `shard` owns, among the states with numbers first..last-1. `owners` has the shard
    of each state. In `states`, the array of the shard, the states to copy begin at position `local`. State `first` + i
    goes to place i of `chunk`."""
    place = code.variable(local)
    with code.loop(first, last) as number, code.when(owners[number] == shard):
        copy_state(states + 8 * words * place, chunk + 8 * words * (number - first), words)
        place += 1


@Staged
def interleave(code: Code, keys: Words, heads: Words, ends: Words, shards: Value, owners: Bytes, count: Value) -> None:
    """Merge the shards' sorted lists of unsigned keys: write the shard of each key, in merged order, to `owners`. There
    are `count` keys in all; shard s has keys[heads[s]..ends[s]-1]. Afterwards `heads` equals `ends`."""
    least, least_key = code.variable(), code.variable()
    with code.loop(0, count) as at:
        least.set(-1)
        least_key.set(0)
        with code.loop(0, shards) as shard:
            head = heads[shard]
            with code.when(head < ends[shard]):
                key = keys[head]
                with code.when(code.some(least < 0, lambda: unsigned_less(key, least_key))):
                    least.set(shard)
                    least_key.set(key)
        owners[at] = least
        heads[least] += 1
