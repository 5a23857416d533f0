"""The reason for a false condition: the false operand, the binding, and the values, for every form of the language."""

from __future__ import annotations

import pytest

from conformance.tests.support.golden import read_step
from conformance.tests.support.small_models import write_model
from conformance.tests.support.trace import own_model, trace, weak_isr
from conformance.tests.traces.stories import Story, history, steps_of, stories, title_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.format.why_false import MOST_READINGS, Binding, Reason, false_guard, why_broken
from isrcheck.traces.lanes.table import WIDTH, fitted

LAMPS = """
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

def brightness(s, least):
    total = 0
    for lamp in range(s.size):
        total += 1 if s.is_lit[lamp] else 0
    total -= least
    return total

@always
def dark(s):
    return all(not s.is_lit[lamp] for lamp in range(s.size) if is_large(s))

@always
def dim(s):
    return all(not s.is_lit[lamp] for lamp in range(s.size) if is_large(s) and is_odd(s, lamp))

@always
def some_light(s):
    return brightness(s, 0) > 0

@always
def bright(s):
    return sum(1 for lamp in range(s.size) if s.is_lit[lamp]) >= min(3, s.size) and NONE < 0
"""

SETS = """
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

BOXES = """
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
def instances(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Instance]:
    """The users' models, by the names of their files."""
    folder = tmp_path_factory.mktemp("models")
    own_model(folder)
    for name, text in {"lamps": LAMPS, "sets": SETS, "boxes": BOXES}.items():
        write_model(folder / f"{name}.py", text)
    return {path.stem: registry.load_file(path).instance() for path in folder.glob("*.py")}


def why(found: Trace) -> list[str]:
    return fitted(why_broken(found).lines(), 118)


REASONS = """
# The member of the ISR that lacks a record: isr_is_complete
COMMITTED; CLASSIC[4]
  isr_is_complete is false
    s.log_record[member][offset] == s.exposed_record[offset] is false for member = 1, offset = 0
      given s.controller_isr[member] and s.exposed_record[offset] != NONE and offset >= s.deleted_before
      s.log_record[1][0] = none, s.exposed_record[0] = a

# A condition on all elements of a set: sets
grow b {c}
  by_all is false
    m == 0 or m in s.live is false for r = b, m = c
      given m in s.broker[r].isr
      m == 0 is false
      m in s.live is false
        s.live = {a}

# A condition on some element of a set: sets
grow b {c}
  by_condition is false
    m != 0 is true for r = b, m = c
      given m in s.broker[r].isr and m not in s.live

# A loop over a set: sets
grow b {c}
  by_loop is false
    first_of(s, r) is false for r = b
      member not in s.live is true for member = c
        s.live = {a}

# Two loops over a set: sets
grow b {c}
  by_loops is false
    one_of_two(s, r) is false for r = b
      member not in s.live is true for member = c
        s.live = {a}

# The variable of a generator is not the local of the same name: boxes
hand_opens a
  none_open is false
    b > 2 or sum(1 for b in Box if s.is_open[b]) == 0 is false
      b > 2 is false
        b = 0
      sum(1 for b in Box if s.is_open[b]) == 0 is false
        s.is_open[a] = true, s.is_open[b] = false, s.is_open[c] = false

# The return that counts, with two parcels of which one is lost: parcels
clerk_shelves {a,b} 0; clerk_loses a
  nothing_is_lost is false
    number == s.count is false
      number = 1, s.count = 2

# An earlier return: parcels
clerk_shelves {a} 0; clerk_loses a
  nothing_is_lost is false
    s.count == 0 is false
      s.count = 1

# A helper that returns from a loop: parcels
clerk_shelves {b} 0
  every_parcel_stays is false
    is_somewhere(s, parcel) is false for parcel = a
      given parcel < s.count
      s.lies[a][0] = false, s.lies[a][1] = false

# A constant, by the condition around it: parcels
clerk_shelves {b,c} 1
  in_order is false
    s.lies[parcel][shelf] and is_below(s, shelf, parcel) is true for shelf = 1, parcel = b
      s.lies[parcel][shelf] is true
        s.lies[b][1] = true
      is_below(s, shelf, parcel) is true
        s.top[where] > other is true for where = 1, other = b
          s.top[1] = c

# A constant, by a condition with a local: parcels
clerk_shelves {b} 1
  nothing_is_busy is false
    calm == 1 is true
      calm = 1

# The operand of a conjunction: parcels
clerk_shelves {a,b} 0
  all_three is false
    s.count != 2 or s.last != NONE is false
      s.count != 2 is false
        s.count = 2
      s.last != NONE is false
        s.last = none

# The branch of a conditional: parcels
clerk_shelves {a} 0; clerk_loses a
  all_three is false
    s.last == NONE is false
      s.last = 1

# The other branch: parcels
clerk_shelves {a,b,c} 0
  all_three is false
    s.count > 5 is false
      s.count = 3

# A false `not any` names its binding: parcels
clerk_shelves {b,c} 1
  either is false
    s.count == 0 or not any(s.lies[p][x] for p in range(s.parcels) for x in range(s.shelves) if x == 1) is false
      s.count == 0 is false
        s.count = 2
      s.lies[p][x] is true for p = b, x = 1
        given x == 1
        s.lies[b][1] = true

# A property of transitions shows both states: parcels
clerk_shelves {b} 0
  count_stays is false
    taken != clerk_shelves or after.count == before.count is false
      taken != clerk_shelves is false
      after.count == before.count is false
        after.count = 1, before.count = 0
"""


@pytest.mark.parametrize("story", stories(REASONS), ids=title_of)
def test_why_a_property_is_false(story: Story, instances: dict[str, Instance]) -> None:
    ((_, lines),) = story.shown
    instance, name = instances.get(story.settings), lines[0].removesuffix(" is false")
    false = story.trace() if instance is None else trace(instance, story.steps, name)
    assert why(false) == [*lines]


def test_a_marker_is_not_shown_as_letter() -> None:
    missing = history("WITHOUT_MARKER", "0.11 isr_is_complete transactions=1")
    assert why(missing)[-1] == "    s.log_record[2][1] = none, s.exposed_record[1] = marker"


def test_a_false_any_shows_the_values_read() -> None:
    model, protocol = registry.load("published/kip_320")
    assert why(trace(model.instance(protocol, {"replicas": 2}), [], "leader_in_isr")) == [
        "leader_in_isr is false",
        "  any(s.quorum_isr[r] for r in range(s.replicas) if s.quorum_leader == r) is false",
        "    s.quorum_leader = none",
    ]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("some_light", "brightness(s, 0) > 0"),
        ("bright", "sum(1 for lamp in range(s.size) if s.is_lit[lamp]) >= min(3, s.size)"),
    ],
)
def test_long_lists_of_cells_are_truncated(instances: dict[str, Instance], name: str, source: str) -> None:
    lamps = instances["lamps"].model.instance(None, {"size": 20})
    first, second, *cells = fitted(why_broken(trace(lamps, [], name)).lines())
    assert (first, second) == (f"{name} is false", f"  {source} is false")
    shown = ", ".join(f"s.is_lit[{lamp}] = false" for lamp in range(MOST_READINGS))
    assert " ".join(map(str.strip, cells)) == f"{shown}, and {20 - MOST_READINGS} more cells"
    assert [len(line) - len(line.lstrip()) for line in cells] == [4, 8, 8]
    assert max(map(len, cells)) <= WIDTH


# ------------------------------------------------------------------------------------------------- conditions and names


@pytest.mark.parametrize(
    ("model", "steps", "name", "conditions"),
    [
        # With ZooKeeper every leader is judged; with KRaft it depends on how the leader has stopped.
        ("", "CLASSIC", "acked_not_lost", ["s.acknowledged[record] and s.controller_leader != NONE"]),
        (
            "3.7 WHOLE",
            "STALE_RECORD",
            "acked_not_lost",
            ["s.acknowledged[record] and s.controller_leader != NONE and is_judged(s, s.controller_leader)"],
        ),
        ("lamps", "hand_lights 1", "dark", []),
        ("lamps", "hand_lights 1", "dim", ["is_odd(s, lamp)"]),
        ("boxes", "hand_opens a", "closed", ["is_calm(s)"]),  # a helper that returns constants
    ],
)
def test_what_the_configuration_settles_is_not_given(
    instances: dict[str, Instance], model: str, steps: str, name: str, conditions: list[str]
) -> None:
    instance = instances.get(model)
    false = history(steps, f"{model} {name}") if instance is None else trace(instance, steps_of(steps), name)
    assert [*why_broken(false).deeper[0].conditions] == conditions


REPEATED = history("SENT_AGAIN", "2.1 no_duplicates WHOLE retries=1")


def test_what_a_helper_says_of_its_argument_is_given_even_if_it_reads_no_cell() -> None:
    given = [line.strip() for line in why(REPEATED) if line.strip().startswith("given")]
    assert "given offset < later and is_record(s, s.log_record[r][offset])" in given


def test_the_false_binding_is_that_of_the_property_itself() -> None:
    assert why_broken(history("CLASSIC", "acked_not_lost")).numbers() == {"record": 0, "r": 1}
    # `offset` is bound again deeper, by the helper that is about `below`.
    parted = history("FAST_FAIL_OVER", "FAST log_matching")
    assert why_broken(parted).numbers() == {"a": 0, "b": 1, "offset": 2, "below": 1}
    assert why_broken(REPEATED).numbers() == {"r": 1, "offset": 0, "later": 1}
    twice = Reason("inner", False, bindings=(Binding("n", 1, "n = 1"), Binding("n", 2, "n = 2")))
    assert twice.numbers() == Reason("outer", False, bindings=twice.bindings[:1], deeper=(twice,)).numbers() == {"n": 1}


# --------------------------------------------------------------------------------------------------------------- guards


@pytest.mark.parametrize(
    ("model", "steps", "refused", "guard"),
    [
        ("parcels", "", "clerk_shelves {} 0", "`any(chosen[p] for p in range(s.parcels))` is false"),
        (
            "parcels",
            "clerk_shelves {b} 1",
            "clerk_shelves {a,b} 0",
            "`not any(s.lies[p][x] for p in range(s.parcels) if chosen[p] for x in range(s.shelves))` is false"
            " (s.lies[a][0] = false, s.lies[a][1] = false, s.lies[b][0] = false, s.lies[b][1] = true)",
        ),
        (
            "parcels",
            "",
            "clerk_loses c",
            "`any(s.lies[parcel][x] for x in range(s.shelves))` is false (s.lies[c][0] = false, s.lies[c][1] = false)",
        ),
        ("sets", "", "grow b {a}", "`all(m != 0 for m in chosen)` is false"),
        ("boxes", "hand_opens a; hand_opens b", "hand_opens c", "`total < 2` is false (total = 2)"),
        (
            "boxes",
            "hand_queues b; hand_queues c",
            "hand_serves",
            "`s.waiting[s.count] != len(s.waiting) - 1` is false (s.waiting = [b, c], s.count = 0)",
        ),
        (  # over several lines
            "published",
            "controller_elects_leader 0; become_leader 0",
            "leader_raises_high_watermark 0",
            "`all(follows(s, member, leader) and has_entry(s, member, s.high_watermark[leader])"
            " for member in range(s.replicas) if s.isr[leader][member])` is false"
            " (s.isr[0][0] = true, s.leader[0] = 0, s.high_watermark[0] = 0, s.log_end_offset[0] = 0)",
        ),
    ],
)
def test_the_first_false_guard_is_named(
    instances: dict[str, Instance], model: str, steps: str, refused: str, guard: str
) -> None:
    instance = weak_isr().instance if model == "published" else instances[model]
    cells = trace(instance, steps_of(steps), None).states[-1]
    assert false_guard(instance, cells, read_step(instance, refused)) == f"its guard {guard}"
