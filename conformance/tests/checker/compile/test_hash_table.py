"""The hash table of the visited set: compiled, it does what a dictionary does; hashes, arrays and unsigned numbers."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isrcheck.checker.compile import hash_table, machine_code, staging
from isrcheck.checker.compile.machine_code import as_machine_code
from isrcheck.checker.compile.staging import Build, Bytes, Code, Halves, Operation, Value, Words
from isrcheck.checker.explicit import visited_set
from isrcheck.checker.explicit.threads import Lane, Shards
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet

ALL = (1 << 64) - 1
NUMBERS = (0, 1, 2, 5, 63, -1, -2, 255, 256, 1 << 31, (1 << 32) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))


def compiled(build: Build, parameters: int) -> Callable[..., int]:
    with staging.new_module() as module:
        module.define("f", [Value] * parameters, build, is_exported=True)
        assembly = module.assembly()
    return machine_code.load(machine_code.machine_code(assembly), {"f": parameters})["f"]


UNSIGNED: dict[str, tuple[Operation, Callable[[int, int], int]]] = {
    "shift": (staging.unsigned_shift, lambda left, right: (left & ALL) >> right),
    "remainder": (staging.unsigned_remainder, lambda left, right: (left & ALL) % (right & ALL)),
    "less": (staging.unsigned_less, lambda left, right: (left & ALL) < (right & ALL)),
}


@pytest.mark.parametrize("name", UNSIGNED)
def test_an_operation_on_unsigned_numbers_means_the_same_as_in_python(name: str) -> None:
    operation, in_python = UNSIGNED[name]
    function = compiled(lambda code, left, right: code.return_(operation(left, right)), 2)
    for left in NUMBERS:
        for right in NUMBERS:
            if (name != "shift" or 0 <= right < 64) and (name != "remainder" or right):
                expected = ctypes.c_int64(in_python(left, right)).value
                assert (left, right, function(left, right)) == (left, right, expected)


@pytest.mark.parametrize(("kind", "numpys"), [(Words, np.int64), (Halves, np.uint32), (Bytes, np.uint8)])
def test_an_array_means_the_same_as_in_numpy(kind: type[Words], numpys: Any) -> None:
    def exchange(code: Code, address: Value, place: Value, number: Value) -> None:
        array = kind(code, address.operand)
        old = array[place]
        array[place] = number
        code.return_(old)

    function = compiled(exchange, 3)
    for number in NUMBERS:
        array = np.array([number ^ 0x55, number, number ^ 0x55], np.int64).astype(numpys)
        expected = array.copy()
        expected[1] = np.int64(number ^ 7).astype(numpys)
        assert function(array.ctypes.data, 1, number ^ 7) == array.dtype.type(np.int64(number).astype(numpys))
        assert array.tolist() == expected.tolist()


def test_an_array_has_no_end_that_python_knows() -> None:
    with pytest.raises(TypeError, match="'Halves' object is not iterable"):
        compiled(lambda code, address: code.return_(sum(Halves(code, address.operand))), 1)


def test_a_quarter_is_an_unsigned_number_of_16_bits() -> None:
    def exchange(code: Code, address: Value, number: Value) -> None:
        old = staging.LOAD[2](address)
        staging.STORE[2](address, number)
        code.return_(old)

    before, after = 0xFFFE, -3 & 0xFFFF
    array = np.array([5, before, 5], np.uint16)
    assert compiled(exchange, 2)(array.ctypes.data + 2, -3) == before
    assert array.tolist() == [5, after, 5]


def test_a_prefetch_may_be_outside_of_all_memory() -> None:
    assert compiled(lambda code, address: code.return_(staging.prefetch(address)), 1)(8) == 0


HASHES = {
    (): 0xDF442D24346930AF,
    (0,): 0x352CD682A12810AF,
    (1,): 0x6F1BF43E8264C33E,
    (ALL,): 0xF0367F6A497F570B,
    (1, 2, 3): 0x5FBAEFA031808364,
    (0x0123456789ABCDEF, 0xFEDCBA9876543210): 0x5F39390EB4C744C0,
}
"""Files on disk are sorted by these."""


@pytest.mark.parametrize("state", HASHES, ids=str)
def test_hashes_stay(state: tuple[int, ...]) -> None:
    array = np.array([*state, 5], np.uint64)
    mixed = as_machine_code(hash_table.hash_of)(array.ctypes.data, len(state)) & ALL
    assert mixed == hash_in_python(state) == HASHES[state]


def hash_in_python(state: tuple[int, ...]) -> int:
    multiplier = 0x9E3779B97F4A7C15
    mixed = multiplier
    for word in state:
        mixed = (mixed ^ word) * multiplier & ALL
        mixed ^= mixed >> 32
    mixed = mixed * multiplier & ALL
    return mixed ^ mixed >> 29


def random_batch(chance: random.Random, size: int, words: int, different: int) -> Batch:
    """Successors among which many are equal."""
    batch = Batch.of(size, words)
    known = [[chance.getrandbits(64) for _ in range(words)] for _ in range(different)]
    batch.states[:] = [word for _ in range(size) for word in chance.choice(known)]
    batch.parents[:] = [chance.getrandbits(32) for _ in range(size)]
    batch.steps[:] = [chance.randrange(40) for _ in range(size)]
    return batch


def filled(words: int, steps: int, seed: int) -> tuple[VisitedSet, list[Batch]]:
    """A visited set after several batches, whose table has grown from two slots."""
    chance = random.Random(seed)
    visited = VisitedSet(words, steps, 1 << 24)
    batches = [random_batch(chance, size, words, 2 * size) for size in (1, 5, 20, 120, 400)]
    for batch in batches:
        visited.add(batch, len(batch.parents))
        visited.add(batch, len(batch.parents))
    return visited, batches


def contents(visited: VisitedSet) -> list[Any]:
    count = visited.count
    states = visited.states[: count * visited.words]
    return [visited.bits, *(array.tolist() for array in (states, visited.parents[:count], visited.steps[:count]))]


def rows(states: NDArray[np.uint64], words: int) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in states.reshape(-1, words)]


@pytest.fixture
def small_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visited_set, "FIRST_TABLE_BITS", 1)
    monkeypatch.setattr(visited_set, "RECENT_BITS", 3)


@pytest.mark.parametrize(("words", "steps"), [(1, 40), (3, 1 << 16), (5, (1 << 16) + 1)])
def test_states_are_kept_once_and_in_order(small_table: None, words: int, steps: int) -> None:
    visited, batches = filled(words, steps, words)
    expected: dict[tuple[int, ...], tuple[int, int]] = {}
    for batch in batches:
        found = zip(rows(batch.states, words), batch.parents.tolist(), batch.steps.tolist(), strict=True)
        for state, parent, step in found:
            expected.setdefault(state, (parent, step))
    states, parents, taken = contents(visited)[1:]
    assert rows(np.array(states, np.uint64), words) == list(expected)
    assert list(zip(parents, taken, strict=True)) == list(expected.values())
    other = random_batch(random.Random(0), 30, words, 30).states
    looked_up = np.concatenate([other, *(batch.states for batch in batches)])
    places = {state: place for place, state in enumerate(expected)}
    assert visited.places_of(looked_up).tolist() == [places.get(state, -1) for state in rows(looked_up, words)]


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 3), (5, 4)])
def test_shards_hold_the_states_of_one_set_in_its_order(small_table: None, words: int, count: int) -> None:
    """A level of states is spread over shards, numbered, and gathered from its fourth state on."""
    size, first = 400, 3
    lane, visited = Lane.of(words, size, size, count), Shards(words, 40, 1 << 24, count)
    batch = random_batch(random.Random(count), size, words, 300)
    lane.batch.states[:] = batch.states
    lane.batch.parents[:] = sorted(batch.parents.tolist())
    lane.batch.steps[:] = sorted(batch.steps.tolist())
    lane.sort(size)
    for shard, store in enumerate(visited.stores):
        store.insert(lane.routed, int(lane.bounds[shard]), int(lane.bounds[shard + 1]))
    visited.close_level()
    visited.number_level()
    visited.gather(lane.chunk, first, visited.count, visited.locals_at(first, 0, [0] * count))
    successors = rows(batch.states, words)
    in_order = list(dict.fromkeys(successors))
    shards = {state: hash_in_python(state) % (1 << 32) % count for state in in_order}
    assert rows(lane.chunk[: (visited.count - first) * words], words) == in_order[first:]
    assert visited.owners[: visited.count].tolist() == [shards[state] for state in in_order]
    assert set(shards.values()) == set(range(count))
    kept = lane.routed.kept[: int(lane.bounds[-1])].tolist()
    by_shard = [kept[low:high] for low, high in pairwise(lane.bounds.tolist())]
    assert by_shard == [[one for one in sorted(kept) if shards[successors[one]] == shard] for shard in range(count)]
