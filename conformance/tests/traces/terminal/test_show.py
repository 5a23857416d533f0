"""The terminal view, compared exactly."""

from __future__ import annotations

from dataclasses import replace

from conformance.tests.support.trace import COMMAND, trace
from isrcheck.models import registry
from isrcheck.models.language.model import Model
from isrcheck.traces.format.trace import HOLDS
from isrcheck.traces.lanes import generic_lanes
from isrcheck.traces.lanes.table import StepRow, lay_out
from isrcheck.traces.terminal.show import view

OWN_VIEW = """\
parcels, shelves=3 mood=BUSY

  #  step                   shelf 0       shelf 1       shelf 2       global
  0  initially              top none      top none      top none      lies [{} {} {}]
                            mood_of CALM  mood_of CALM  mood_of CALM  is_lost {}
                                                                      count 0
                                                                      last none
  1  clerk_shelves {a,c} 1  ·             top c         ·             lies[a] {1}
                                          mood_of BUSY                lies[c] {1}
                                                                      count 2
  2  clerk_loses c          ·             top none      ·             lies[c] {}
                                                                      is_lost {c}
                                                                      last 2

VIOLATED at step 2: nothing_is_lost
nothing_is_lost is false
  number == s.count is false
    number = 1, s.count = 2
reproduce: check something --bound 8
"""


def test_any_other_model_gets_a_column_per_element(own: Model) -> None:
    instance = own.instance(None, {"shelves": 3, "mood": 1})
    found = trace(instance, ["clerk_shelves {a,c} 1", "clerk_loses c"], "nothing_is_lost")
    assert "\n".join(view(found)) + "\n" == OWN_VIEW


OWN_FULL = """\
parcels, default configuration

  0  initially
       top      [none none]
       lies     [{} {} {}]
       mood_of  [CALM CALM]
       is_lost  {}
       count    0
       last     none
  1  clerk_shelves {a} 0
       top      [a none]
       lies     [{0} {} {}]
       mood_of  [BUSY CALM]
       is_lost  {}
       count    1
       last     none

VIOLATED at step 1: count_stays
count_stays is false
  taken != clerk_shelves or after.count == before.count is false
    taken != clerk_shelves is false
    after.count == before.count is false
      after.count = 1, before.count = 0
reproduce: check something --bound 8
"""


def test_full_shows_every_field_of_every_state(own: Model) -> None:
    found = trace(own.instance(), ["clerk_shelves {a} 0"], "count_stays")
    assert "\n".join(view(found, full=True)) + "\n" == OWN_FULL


def test_the_verdicts_on_a_path_without_violation(own: Model) -> None:
    reached = view(trace(own.instance(), ["clerk_shelves {a,b,c} 0"], "full"))
    assert reached[-2:] == ["REACHED at step 1: full", f"reproduce: {COMMAND}"]
    holds = view(trace(own.instance(), ["clerk_shelves {a,b,c} 0"], "nothing_is_lost", HOLDS))
    assert holds[-2:] == ["HOLDS ON THIS PATH: nothing_is_lost", f"reproduce: {COMMAND}"]
    plain = view(trace(own.instance(), [], None))
    assert plain[-2:] == ["", f"reproduce: {COMMAND}"]


def test_entries_set_by_the_protocol_are_not_shown(own: Model) -> None:
    usual = own.protocols[""]
    model = replace(own, protocols={"shut": replace(usual, name="shut", switches={"LOCKED": 1})})
    assert view(trace(model.instance(), [], None))[0] == "parcels/shut, default configuration"
    assert view(trace(model.instance(None, {"LOCKED": 0}), [], None))[0] == "parcels/shut, LOCKED=off"


def test_swapped_actions_are_shown_in_the_heading() -> None:
    model = registry.load("published")[0]
    instance = model.instance("kip_320", {"replicas": 2}, {"become_follower": "kip_101"})
    assert view(trace(instance, [], None))[0] == "published/kip_320, replicas=2 become_follower of kip_101"


def test_the_columns_are_the_elements_of_the_most_used_domain() -> None:
    titles = {name: generic_lanes.titles(registry.load(name)[0].instance(protocol)) for name, protocol in MODELS}
    assert titles == {
        "published/kip_101": ["replica 0", "replica 1", "replica 2", "global"],
        "examples/two_phase_commit": ["resource manager 0", "resource manager 1", "resource manager 2", "global"],
    }


MODELS = [("published/kip_101", "kip_101"), ("examples/two_phase_commit", None)]


def test_a_table_is_as_narrow_as_its_contents() -> None:
    rows = [StepRow(0, "initially", (("x",), ("long", "er"))), StepRow(10, "go", ((), ()))]
    assert lay_out(["one", "b"], rows) == [
        "   #  step       one  b",
        "   0  initially  x    long",
        "                      er",
        "  10  go         ·    ·",
    ]
