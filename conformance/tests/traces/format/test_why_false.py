"""The reason for a false condition: the false operand, the binding, and the values, for every form of the language."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from conformance.tests.support.golden import read_step
from conformance.tests.support.trace import (
    CLASSIC,
    SENT_AGAIN,
    STALE_RECORD,
    WHOLE,
    WITHOUT_MARKER,
    fast_fail_over,
    kafka,
    trace,
    weak_isr,
)
from isrcheck.language import NONE, Domain, Flag, action, always, bound, field
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model, assemble
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.format.why_false import MOST_READINGS, Binding, Reason, false_guard, why_broken
from isrcheck.traces.lanes.table import WIDTH, fitted


def why(found: Trace) -> list[str]:
    return fitted(why_broken(found).lines())


def test_the_member_of_the_isr_that_lacks_a_record_is_named() -> None:
    assert why(kafka(CLASSIC[:-1], "isr_is_complete")) == [
        "isr_is_complete is false",
        "  s.log_record[member][offset] == s.exposed_record[offset] is false for member = 1, offset = 0",
        "    given s.controller_isr[member] and s.exposed_record[offset] != NONE and offset >= s.deleted_before",
        "    s.log_record[1][0] = none, s.exposed_record[0] = a",
    ]


def test_what_the_configuration_settles_is_not_given() -> None:
    """With ZooKeeper every leader is judged; with KRaft it depends on how the leader has stopped."""
    settled, asked = kafka(CLASSIC, "acked_not_lost"), kafka(STALE_RECORD, "acked_not_lost", None, "3.7", WHOLE)
    assert [why_broken(one).deeper[0].conditions for one in (settled, asked)] == [
        ("s.acknowledged[record] and s.controller_leader != NONE",),
        ("s.acknowledged[record] and s.controller_leader != NONE and is_judged(s, s.controller_leader)",),
    ]
    # What a helper says of its argument is given, even though the helper reads no cell.
    repeated = why_broken(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1))
    assert "    given offset < later and is_record(s, s.log_record[r][offset])" in [
        line.replace("      given", "    given") for line in repeated.lines()
    ]


SWITCHES = """
from isrcheck.language import Domain, Flag, action, always, bound, field

class Configuration:
    size = bound(2, "lamps")

class Lamp(Domain, size="size"):
    pass

class State:
    is_lit = field(Lamp, values=Flag)

@action
def hand_lights(s, lamp: Lamp):
    s.is_lit[lamp] = True

def is_large(s):
    return s.size > 1

def is_odd(s, lamp):
    return is_large(s) and lamp > 0

@always
def dark(s):
    return all(not s.is_lit[lamp] for lamp in range(s.size) if is_large(s))

@always
def dim(s):
    return all(not s.is_lit[lamp] for lamp in range(s.size) if is_large(s) and is_odd(s, lamp))
"""


SETS = """
from isrcheck.language import Domain, Record, Set, Subset, action, always, field, require

class Replica(Domain, size=3, letters=True):
    pass

class Replicas(Subset, of=Replica):
    pass

class Broker(Record):
    isr = field(values=Set(of=Replica), initially={0})

class State:
    broker = field(Replica, values=Broker)
    live = field(values=Set(of=Replica), initially={0})

def first_of(s, r):
    for member in s.broker[r].isr:
        if member not in s.live:
            return False
    return True

def one_of_two(s, r):
    for member in s.broker[r].isr:
        if member == 3:
            return False
    for member in s.broker[r].isr:
        if member not in s.live:
            return False
    return True

@action
def grow(s, r: Replica, chosen: Replicas):
    require(all(m != 0 for m in chosen))
    for m in chosen:
        s.broker[r].isr.add(m)

@always
def by_all(s):
    return all(m == 0 or m in s.live for r in Replica for m in s.broker[r].isr)

@always
def by_condition(s):
    return not any(m != 0 for r in Replica for m in s.broker[r].isr if m not in s.live)

@always
def by_loop(s):
    return all(first_of(s, r) for r in Replica)

@always
def by_loops(s):
    return all(one_of_two(s, r) for r in Replica)
"""


def test_what_goes_through_a_set_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "sets.py"
    path.write_text(SETS, encoding="utf-8")
    instance = registry.load_file(path).instance()
    assert [
        why(trace(instance, ["grow b {c}"], name)) for name in ("by_all", "by_condition", "by_loop", "by_loops")
    ] == [
        [
            "by_all is false",
            "  m == 0 or m in s.live is false for r = b, m = c",
            "    given m in s.broker[r].isr",
            "    m == 0 is false",
            "    m in s.live is false",
            "      s.live = {a}",
        ],
        [
            "by_condition is false",
            "  m != 0 is true for r = b, m = c",
            "    given m in s.broker[r].isr and m not in s.live",
        ],
        [
            "by_loop is false",
            "  first_of(s, r) is false for r = b",
            "    member not in s.live is true for member = c",
            "      s.live = {a}",
        ],
        [
            "by_loops is false",
            "  one_of_two(s, r) is false for r = b",
            "    member not in s.live is true for member = c",
            "      s.live = {a}",
        ],
    ]
    refused = false_guard(instance, instance.initial_states[0], read_step(instance, "grow b {a}"))
    assert refused == "its guard `all(m != 0 for m in chosen)` is false"


def test_a_condition_that_is_wholly_settled_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "lamps.py"
    path.write_text(SWITCHES, encoding="utf-8")
    instance = registry.load_file(path).instance()
    given = [why_broken(trace(instance, ["hand_lights 1"], name)).deeper[0].conditions for name in ("dark", "dim")]
    assert given == [(), ("is_odd(s, lamp)",)]


def test_the_false_binding_is_that_of_the_property_itself() -> None:
    assert why_broken(kafka(CLASSIC, "acked_not_lost")).numbers() == {"record": 0, "r": 1}
    # `offset` is bound again deeper, by the helper that is asked about `below`.
    assert why_broken(fast_fail_over("log_matching")).numbers() == {"a": 0, "b": 1, "offset": 2, "below": 1}
    twice = (Binding("n", 1, "n = 1"), Binding("n", 2, "n = 2"))
    assert Reason("outer", False, bindings=twice[:1], deeper=(Reason("inner", False, bindings=twice),)).numbers() == {
        "n": 1
    }
    assert Reason("inner", False, bindings=twice).numbers() == {"n": 1}
    assert why_broken(kafka(SENT_AGAIN, "no_duplicates", None, "2.1", WHOLE, retries=1)).numbers() == {
        "r": 1,
        "offset": 0,
        "later": 1,
    }


def test_a_marker_is_not_shown_as_letter() -> None:
    found = kafka(WITHOUT_MARKER, "isr_is_complete", None, "0.11", transactions=1)
    assert why(found)[-1] == "    s.log_record[2][1] = none, s.exposed_record[1] = marker"


def test_a_false_any_shows_the_values_read() -> None:
    model, protocol = registry.load("published/kip_320")
    assert why(trace(model.instance(protocol, {"replicas": 2}), [], "leader_in_isr")) == [
        "leader_in_isr is false",
        "  any(s.quorum_isr[r] for r in range(s.replicas) if s.quorum_leader == r) is false",
        "    s.quorum_leader = none",
    ]


ANY = "any(s.lies[p][x] for p in range(s.parcels) for x in range(s.shelves) if x == 1)"

REASONS: dict[str, tuple[list[str], list[str]]] = {
    "the return that counts: two parcels, one lost": (
        ["clerk_shelves {a,b} 0", "clerk_loses a"],
        ["nothing_is_lost is false", "  number == s.count is false", "    number = 1, s.count = 2"],
    ),
    "an earlier return": (
        ["clerk_shelves {a} 0", "clerk_loses a"],
        ["nothing_is_lost is false", "  s.count == 0 is false", "    s.count = 1"],
    ),
    "a helper that returns from a loop": (
        ["clerk_shelves {b} 0"],
        [
            "every_parcel_stays is false",
            "  is_somewhere(s, parcel) is false for parcel = a",
            "    given parcel < s.count",
            "    s.lies[a][0] = false, s.lies[a][1] = false",
        ],
    ),
    "a constant, by the condition around it": (
        ["clerk_shelves {b,c} 1"],
        [
            "in_order is false",
            "  s.lies[parcel][shelf] and is_below(s, shelf, parcel) is true for shelf = 1, parcel = b",
            "    s.lies[parcel][shelf] is true",
            "      s.lies[b][1] = true",
            "    is_below(s, shelf, parcel) is true",
            "      s.top[where] > other is true for where = 1, other = b",
            "        s.top[1] = c",
        ],
    ),
    "a constant, by a condition with a local": (
        ["clerk_shelves {b} 1"],
        ["nothing_is_busy is false", "  calm == 1 is true", "    calm = 1"],
    ),
    "the operand of a conjunction": (
        ["clerk_shelves {a,b} 0"],
        [
            "all_three is false",
            "  s.count != 2 or s.last != NONE is false",
            "    s.count != 2 is false",
            "      s.count = 2",
            "    s.last != NONE is false",
            "      s.last = none",
        ],
    ),
    "the branch of a conditional": (
        ["clerk_shelves {a} 0", "clerk_loses a"],
        ["all_three is false", "  s.last == NONE is false", "    s.last = 1"],
    ),
    "the other branch": (
        ["clerk_shelves {a,b,c} 0"],
        ["all_three is false", "  s.count > 5 is false", "    s.count = 3"],
    ),
    "a false `not any` names its binding": (
        ["clerk_shelves {b,c} 1"],
        [
            "either is false",
            f"  s.count == 0 or not {ANY} is false",
            "    s.count == 0 is false",
            "      s.count = 2",
            "    s.lies[p][x] is true for p = b, x = 1",
            "      given x == 1",
            "      s.lies[b][1] = true",
        ],
    ),
    "a property of transitions shows both states": (
        ["clerk_shelves {b} 0"],
        [
            "count_stays is false",
            "  taken != clerk_shelves or after.count == before.count is false",
            "    taken != clerk_shelves is false",
            "    after.count == before.count is false",
            "      after.count = 1, before.count = 0",
        ],
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_each_form_of_the_language_is_explained(own: Model, case: str) -> None:
    steps, reason = REASONS[case]
    name = reason[0].removesuffix(" is false")
    assert why(trace(own.instance(), steps, name)) == reason


# ---------------------------------------------------------------------------------------------------------- guards


SET_GUARD = "not any(s.lies[p][x] for p in range(s.parcels) if chosen[p] for x in range(s.shelves))"


@pytest.mark.parametrize(
    ("steps", "refused", "guard", "readings"),
    [
        ([], "clerk_shelves {} 0", "any(chosen[p] for p in range(s.parcels))", ""),
        (
            ["clerk_shelves {b} 1"],
            "clerk_shelves {a,b} 0",
            SET_GUARD,
            " (s.lies[a][0] = false, s.lies[a][1] = false, s.lies[b][0] = false, s.lies[b][1] = true)",
        ),
        (
            [],
            "clerk_loses c",
            "any(s.lies[parcel][x] for x in range(s.shelves))",
            " (s.lies[c][0] = false, s.lies[c][1] = false)",
        ),
    ],
)
def test_the_first_false_guard_is_named(own: Model, steps: list[str], refused: str, guard: str, readings: str) -> None:
    instance = own.instance()
    cells = trace(instance, steps, None).states[-1]
    assert false_guard(instance, cells, read_step(instance, refused)) == f"its guard `{guard}` is false{readings}"


def test_a_guard_over_several_lines_is_found() -> None:
    instance = weak_isr().instance
    cells = trace(instance, ["controller_elects_leader 0", "become_leader 0"], None).states[-1]
    assert false_guard(instance, cells, read_step(instance, "leader_raises_high_watermark 0")) == (
        "its guard `all(follows(s, member, leader) and has_entry(s, member, s.high_watermark[leader])"
        " for member in range(s.replicas) if s.isr[leader][member])` is false"
        " (s.isr[0][0] = true, s.leader[0] = 0, s.high_watermark[0] = 0, s.log_end_offset[0] = 0)"
    )


BOXES = """
from isrcheck.language import Domain, Flag, Queue, action, always, between, field, require

class Box(Domain, size=3, letters=True):
    pass

class State:
    is_open = field(Box, values=Flag)
    waiting = field(values=Queue(of=Box, most=3))
    count = field(values=between(0, 4))

def is_calm(s):
    if s.count == 0:
        return True
    return False

@action
def hand_opens(s, box: Box):
    total = 0
    for b in Box:
        if s.is_open[b]:
            total += 1
            require(total < 2)
    s.is_open[box] = True

@action
def hand_serves(s):
    require(s.waiting[s.count] != len(s.waiting) - 1)
    s.waiting.popleft()

@action
def hand_queues(s, box: Box):
    s.waiting.append(box)

@always
def closed(s):
    return all(not s.is_open[b] for b in Box if is_calm(s))

@always
def none_open(s):
    b = s.count
    return b > 2 or sum(1 for b in Box if s.is_open[b]) == 0
"""


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    path = tmp_path_factory.mktemp("boxes") / "boxes.py"
    path.write_text(BOXES, encoding="utf-8")
    return registry.load_file(path).instance()


def test_a_helper_that_asks_the_state_before_it_returns_a_constant_is_given(boxes: Instance) -> None:
    assert why_broken(trace(boxes, ["hand_opens a"], "closed")).deeper[0].conditions == ("is_calm(s)",)


def test_the_variable_of_a_generator_is_not_the_local_of_the_same_name(boxes: Instance) -> None:
    assert why(trace(boxes, ["hand_opens a"], "none_open"))[-2:] == [
        "    sum(1 for b in Box if s.is_open[b]) == 0 is false",
        "      s.is_open[a] = true, s.is_open[b] = false, s.is_open[c] = false",
    ]


@pytest.mark.parametrize(
    ("steps", "refused", "refusal"),
    [
        (["hand_opens a", "hand_opens b"], "hand_opens c", "`total < 2` is false (total = 2)"),
        (
            ["hand_queues b", "hand_queues c"],
            "hand_serves",
            "`s.waiting[s.count] != len(s.waiting) - 1` is false (s.waiting = [b, c], s.count = 0)",
        ),
    ],
)
def test_a_guard_shows_locals_and_whole_queues(boxes: Instance, steps: list[str], refused: str, refusal: str) -> None:
    cells = trace(boxes, steps, None).states[-1]
    assert false_guard(boxes, cells, read_step(boxes, refused)) == f"its guard {refusal}"


# ------------------------------------------------------------------------------------------- a model with many cells


class Configuration:
    size = bound(20, "lamps")


class Lamp(Domain, size="size"):
    pass


class State:
    is_lit = field(Lamp, values=Flag)
    chosen = field(values=Lamp)


@action
def hand_moves(s, lamp: Lamp):
    s.chosen = lamp


def brightness(s, least):
    total = 0
    for lamp in range(s.size):
        total += 1 if s.is_lit[lamp] else 0
    total -= least
    return total


@always
def some_light(s):
    return brightness(s, 0) > 0


@always
def bright(s):
    return sum(1 for lamp in range(s.size) if s.is_lit[lamp]) >= min(3, s.size) and NONE < 0


@pytest.fixture(scope="module")
def lamps() -> Instance:
    module = ModuleType("lamps")
    for name in ("Configuration", "State", "hand_moves", "some_light", "bright"):
        setattr(module, name, globals()[name])
    module.__file__ = __file__
    return assemble("lamps", module).instance()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("some_light", "brightness(s, 0) > 0"),
        ("bright", "sum(1 for lamp in range(s.size) if s.is_lit[lamp]) >= min(3, s.size)"),
    ],
)
def test_long_lists_of_cells_are_truncated(lamps: Instance, name: str, source: str) -> None:
    found = why(trace(lamps, [], name))
    assert found[:2] == [f"{name} is false", f"  {source} is false"]
    shown = ", ".join(f"s.is_lit[{lamp}] = false" for lamp in range(MOST_READINGS))
    text = f"{shown}, and {20 - MOST_READINGS} more cells"
    assert " ".join(line.strip() for line in found[2:]) == text
    assert [len(line) - len(line.lstrip()) for line in found[2:]] == [4, 8, 8]
    assert max(map(len, found)) <= WIDTH
