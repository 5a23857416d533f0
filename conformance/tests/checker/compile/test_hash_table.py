"""The hash table of the visited set: compiled, it does what plain Python does, and what a dictionary does."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isrcheck.checker.compile import native, primitives
from isrcheck.checker.compile.staging import instructions
from isrcheck.checker.explicit import shards, visited_set
from isrcheck.checker.explicit.shards import Lane, Shards
from isrcheck.checker.explicit.visited_set import Batch, VisitedSet

PRIMITIVES = {name: one for name, one in vars(primitives).items() if isinstance(one, FunctionType)}
ON_NUMBERS = ("product", "unsigned_shift", "unsigned_remainder", "unsigned_less")
NUMBERS = (0, 1, 2, 5, 63, -1, -2, 255, 256, 1 << 31, (1 << 32) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))


def instruction(name: str) -> Callable[..., int]:
    """A compiled function that does nothing but the instruction of this name."""
    names = PRIMITIVES[name].__code__.co_varnames[: PRIMITIVES[name].__code__.co_argcount]
    text = f"def f({', '.join(names)}):\n    return {name}({', '.join(names)})"
    code = native.object_code(text, {name: getattr(instructions, name)}, ("f",))
    return native.load(code, {"f": len(names)})["f"]


@pytest.mark.parametrize("name", ON_NUMBERS)
def test_an_operation_means_the_same_to_python_and_to_the_processor(name: str) -> None:
    compiled = instruction(name)
    for left in NUMBERS:
        for right in NUMBERS:
            if (name != "unsigned_shift" or 0 <= right < 64) and (name != "unsigned_remainder" or right):
                assert (left, right, compiled(left, right)) == (left, right, int(PRIMITIVES[name](left, right)))


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name not in ON_NUMBERS])
def test_an_access_means_the_same_to_python_and_to_the_processor(name: str) -> None:
    compiled = instruction(name)
    for value in NUMBERS:
        memories = [np.full(3, value ^ 0x55, np.int64) for _ in range(2)]
        rest = (value,) if name.startswith("store") else ()
        one, other = (
            function(memory.ctypes.data + 8, *rest)
            for function, memory in zip((compiled, PRIMITIVES[name]), memories, strict=True)
        )
        assert (one, memories[0].tolist()) == (other or 0, memories[1].tolist())


def test_a_prefetch_may_be_outside_of_all_memory() -> None:
    assert instruction("prefetch")(8) == 0


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


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Run plain Python from now on."""

    def undo() -> None:
        for module in (visited_set, shards):
            monkeypatch.setattr(module, "as_machine_code", lambda function: function)

    return undo


@pytest.mark.parametrize(("words", "steps"), [(1, 40), (3, 1 << 16), (5, (1 << 16) + 1)])
def test_states_are_kept_once_and_in_order(
    small_table: None, uncompiled: Callable[[], None], words: int, steps: int
) -> None:
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
    asked = np.concatenate([other, *(batch.states for batch in batches)])
    places = {state: place for place, state in enumerate(expected)}
    compiled_places = visited.places_of(asked).tolist()
    assert compiled_places == [places.get(state, -1) for state in rows(asked, words)]
    uncompiled()
    again, _ = filled(words, steps, words)
    assert contents(again) == contents(visited)
    assert again.places_of(asked).tolist() == compiled_places


def sharded(words: int, count: int) -> tuple[list[int], list[int], list[Any], list[int]]:
    """A level of states, spread over shards, numbered and gathered."""
    lane = Lane.of(words, 400, 400, count)
    chance = random.Random(count)
    successors = random_batch(chance, 400, words, 300)
    visited = Shards(words, 40, 1 << 24, count)
    lane.batch.states[:] = successors.states
    lane.batch.parents[:] = sorted(successors.parents.tolist())
    lane.batch.steps[:] = sorted(successors.steps.tolist())
    lane.sort(400)
    for shard, store in enumerate(visited.stores):
        store.insert(lane.routed, int(lane.bounds[shard]), int(lane.bounds[shard + 1]))
    visited.close_level()
    visited.number_level()
    visited.gather(lane.chunk, 3, visited.count, visited.locals_at(3, 0, [0] * count))
    gathered = lane.chunk[: (visited.count - 3) * words].tolist()
    kept = lane.routed.kept[: int(lane.bounds[-1])].tolist()
    return lane.bounds.tolist(), kept, gathered, visited.owners[: visited.count].tolist()


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 3), (5, 4)])
def test_shards_hold_the_states_of_one_set_in_its_order(
    small_table: None, uncompiled: Callable[[], None], words: int, count: int
) -> None:
    bounds, kept, gathered, owners = sharded(words, count)
    successors = random_batch(random.Random(count), 400, words, 300).states
    in_order = list(dict.fromkeys(rows(successors, words)))
    assert rows(np.array(gathered, np.uint64), words) == in_order[3:]
    assert sorted(set(owners)) == list(range(count))
    assert all(kept[low:high] == sorted(kept[low:high]) for low, high in pairwise(bounds))
    uncompiled()
    assert sharded(words, count) == (bounds, kept, gathered, owners)
