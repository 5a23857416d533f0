"""`trace walk`: the enabled steps, their effects, the false guards, and the saved trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.support.small_models import write_model
from conformance.tests.support.trace import CLASSIC, COMMAND, kafka, own_model, weak_isr
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import NOT_INDUCTIVE, PERMITTED, REACHED, VIOLATED, Trace
from isrcheck.traces.terminal.walk import BROKEN, NOT_JUDGED_AHEAD, Option, Walk, turn_text


def of_kafka(**values: int) -> Instance:
    return registry.load("kafka")[0].instance("0.10", values)


def take(walk: Walk, *texts: str) -> Walk:
    for text in texts:
        walk.take(option_of(walk, text))
    return walk


def begun(**values: int) -> Walk:
    return take(Walk(of_kafka(**values), COMMAND), "initial state 0")


def classic() -> Walk:
    return take(begun(), *CLASSIC)


def through(model: Path) -> Walk:
    return Walk(registry.load_file(model).instance(), COMMAND)


def option_of(walk: Walk, text: str) -> Option:
    return {option.text: option for option in walk.options()}[text]


LOST = [("acked_not_lost", VIOLATED, 6), ("isr_is_complete", VIOLATED, 5)]


def told(walk: Walk) -> list[tuple[str, str | None, int]]:
    return [(one.prop.name, one.verdict, one.first) for one in walk.statuses() if one.verdict in BROKEN]


def test_a_walk_begins_with_the_choice_of_an_initial_state() -> None:
    walk = Walk(of_kafka(), COMMAND)
    assert [option.text for option in walk.options()] == ["initial state 0", "initial state 1", "initial state 2"]
    assert not walk.has_begun
    assert walk.statuses() == []
    assert not walk.back()
    with pytest.raises(UsageError, match="nothing to save yet; choose an initial state"):
        walk.save(Path("none"))
    take(walk, "initial state 1")
    assert walk.has_begun
    assert walk.position == 0
    assert walk.cells == walk.instance.initial_states[1]
    assert walk.back()
    assert not walk.has_begun


def test_a_single_initial_state_needs_no_choice() -> None:
    walk = Walk(registry.load("examples/two_phase_commit")[0].instance(None), COMMAND)
    assert walk.has_begun
    assert not walk.back()


def test_the_options_are_the_enabled_steps_in_their_order() -> None:
    assert [option.text for option in begun().options()] == [
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "leader_handles_fetch 0 from 2",
        "leader_shrinks_isr 0 by {1}",
        "controller_fails_over to 1",
        "broker_bounces 1 checkpoint 0",
        "broker_bounces 2 checkpoint 0",
        "broker_crashes 0",
        "broker_crashes 1",
        "broker_crashes 2",
    ]


def test_the_changes_of_an_option() -> None:
    walk = begun()
    assert walk.changes(option_of(walk, "producer_appends at 0")) == [
        "log_record[0][0]: none -> a",
        "log_epoch[0][0]: none -> 0",
        "log_end_offset[0]: 0 -> 1",
        "next_record: 0 -> 1",
        "pending[a]: none -> 0",
    ]
    assert walk.position == 0


def test_a_known_counterexample_makes_properties_false_in_order() -> None:
    walk = classic()
    assert walk.position == 6
    assert told(walk) == LOST
    turned = walk.turned()
    assert turned is not None
    assert turned.prop.name == "acked_not_lost"
    assert walk.why(turned)[:2] == [
        "acked_not_lost is false",
        "  holds_record(s, s.controller_leader, record) or was_deleted(s, record) is false for record = a",
    ]
    assert walk.back()
    assert told(walk) == [("isr_is_complete", VIOLATED, 5)]
    assert walk.back()
    assert told(walk) == []
    assert walk.turned() is None
    reached = {one.prop.name: one.first for one in walk.statuses() if one.verdict == REACHED}
    assert reached == {"a_record_is_exposed": 4, "a_write_is_acknowledged": 4, "a_committed_record_is_read": 4}
    assert walk.forward()
    assert walk.forward()
    assert not walk.forward()
    assert told(walk) == LOST


def turning(walk: Walk) -> dict[str, list[tuple[str, str | None, int]]]:
    """For each option that would make properties false: these, with the verdict and the step."""
    found = {option.text: walk.turning(option) for option in walk.options()}
    return {
        text: [(one.prop.name, one.verdict, one.first) for one in turned] for text, turned in found.items() if turned
    }


def test_what_an_option_would_make_false_is_what_taking_it_makes_false() -> None:
    walk = classic()
    for position, expected in ((5, {CLASSIC[5]: [LOST[0]]}), (4, {CLASSIC[4]: [LOST[1]]}), (3, {})):
        assert walk.go_to(position)
        assert turning(walk) == expected
    for option in walk.options():
        before = told(walk)
        expected_next = walk.turning(option)
        walk.take(option)
        assert [one for one in told(walk) if one not in before] == [
            (one.prop.name, one.verdict, one.first) for one in expected_next
        ]
        walk.back()
    walk = take(begun(acks=1), "producer_appends at 0")
    assert turning(walk)["controller_fails_over to 1"] == [("acked_not_lost", PERMITTED, 2)]


def test_a_property_that_cannot_be_evaluated_is_named_before_and_after_the_step(tmp_path: Path) -> None:
    walk = through(own_model(tmp_path, all_three="return s.top[s.count] < 9 and"))
    option = option_of(walk, "clerk_shelves {a,b} 0")
    (turned,) = (status for status in walk.turning(option) if status.problem)
    assert "index 2 of top is outside 0..1" in turned.problem
    assert turn_text(turned) == f"then all_three cannot be evaluated: {turned.problem}"
    walk.take(option)
    assert {status.prop.name: status.problem for status in walk.statuses() if status.problem} == {
        "all_three": turned.problem
    }
    again = walk.turning(option_of(walk, "clerk_shelves {c} 0"))
    assert "all_three" not in [status.prop.name for status in again], "it could not be evaluated before"


LATCH = """
class State:
    shut = field(values=Flag)

@action
def door_shuts(s):
    s.shut = True

@always_possible
def can_be_open(s):
    return s.shut == False
"""


def latch(folder: Path) -> Walk:
    return through(write_model(folder / "latch.py", LATCH))


def test_an_always_possible_property_is_judged_only_once_the_step_is_taken(tmp_path: Path) -> None:
    walk = latch(tmp_path)
    assert Kind.ALWAYS_POSSIBLE in NOT_JUDGED_AHEAD
    assert turning(walk) == {}
    assert told(take(walk, "door_shuts")) == [("can_be_open", VIOLATED, 1)]


def path(trace: Trace) -> tuple[object, ...]:
    return trace.states, trace.steps, trace.property_name, trace.verdict


def test_a_walk_goes_to_any_of_its_states() -> None:
    walk = classic()
    assert (walk.first, walk.place, walk.last) == (-1, 6, 6)
    whole = path(walk.whole)
    for place in (2, 6, -1, 0):
        assert walk.go_to(place)
        assert (walk.place, walk.last, path(walk.whole)) == (place, 6, whole)
    for place in (-2, 7):
        assert not walk.go_to(place)
        assert walk.place == 0
    assert walk.trace.length == 0
    assert Walk(registry.load("examples/two_phase_commit")[0].instance(None), COMMAND).first == 0


def test_the_finding_is_about_the_property_that_turned_false_last() -> None:
    walk = classic()
    assert (walk.finding.property_name, walk.finding.verdict, walk.finding.length) == LOST[0]
    walk.go_to(4)
    assert path(walk.finding) == path(walk.trace)
    option = option_of(walk, CLASSIC[4])
    (turned,) = walk.turning(option)
    ahead = path(walk.trace_of(option, turned))
    walk.take(option)
    assert ahead == path(walk.finding)


def test_undone_steps_can_be_redone_until_another_step_is_taken() -> None:
    walk = classic()
    walk.back()
    walk.back()
    take(walk, CLASSIC[4])
    assert walk.forward()
    walk.back()
    walk.back()
    take(walk, "producer_appends at 0")
    assert not walk.forward()


def test_the_first_false_guard_of_every_disabled_step() -> None:
    walk = Walk(of_kafka(replicas=2), COMMAND)
    unanswered = "its guard `s.fetch[follower][leader] == Fetch.ANSWERED` is false (s.fetch[{}][0] = NONE)"
    leaderless = "its guard `follows(s, follower, leader)` is false (s.leader[{}] = {})"
    assert walk.guards("follower_applies_response") == [
        ("follower_applies_response 0 from 0", unanswered.format(0)),
        ("follower_applies_response 0 from 1", leaderless.format(0, 0)),
        ("follower_applies_response 1 from 0", unanswered.format(1)),
        ("follower_applies_response 1 from 1", leaderless.format(1, 0)),
    ]
    assert dict(walk.guards("leader_handles_fetch"))["leader_handles_fetch 0 from 1"] == ""
    assert walk.actions[0] == "producer_appends"


def test_a_walk_is_saved_as_a_trace_of_the_property_that_turned_false_last(tmp_path: Path) -> None:
    def saved() -> tuple[str | None, str | None, int]:
        found = files.read(walk.save(tmp_path))
        assert found.command == COMMAND
        return found.property_name, found.verdict, found.length

    walk = classic()
    for expected in (*LOST, (None, None, 4)):
        assert saved() == expected
        walk.back()
    walk = take(classic(), "broker_crashes 2")
    assert (walk.turned(), saved()) == (None, (None, None, 7)), "one step after a violation"
    walk = take(begun(acks=1), "producer_appends at 0", "controller_fails_over to 1")
    assert [saved()] == told(walk) == [("acked_not_lost", PERMITTED, 2)]


def test_of_several_new_failures_a_violation_is_saved(tmp_path: Path) -> None:
    permitted = "def ever(s):\n    return True\n\n\n@always(permitted=ever)\ndef nothing_is_lost(s):\n"
    walk = take(through(own_model(tmp_path, nothing_is_lost=permitted)), "clerk_shelves {a} 0", "clerk_loses a")
    assert told(walk)[:2] == [("nothing_is_lost", PERMITTED, 2), ("every_parcel_stays", VIOLATED, 2)]
    turned = walk.turned()
    assert turned is not None
    assert turned.prop.name == "every_parcel_stays"


def test_a_walk_continues_from_a_step_of_a_trace() -> None:
    found = kafka(CLASSIC, "acked_not_lost")
    assert Walk.along(found, None, COMMAND).position == 6
    walk = Walk.along(found, 4, COMMAND)
    assert walk.position == 4
    assert walk.cells == found.states[4]
    assert walk.forward()
    assert walk.forward()
    assert walk.trace.states == found.states
    assert Walk.along(weak_isr(), 0, COMMAND).position == 0
    for step in (7, -1):
        with pytest.raises(UsageError, match=f"--step {step}: no such step; the trace has the steps 0..6"):
            Walk.along(found, step, COMMAND)


def test_no_walk_starts_from_a_possibly_unreachable_state() -> None:
    found = kafka(CLASSIC, "acked_not_lost")
    with pytest.raises(UsageError, match="the trace starts in a state that may be unreachable"):
        Walk.along(Trace(found.instance, found.states[4:], found.steps[4:], "x", NOT_INDUCTIVE, ""), None, COMMAND)


def test_an_erring_step_is_shown_but_cannot_be_taken(tmp_path: Path) -> None:
    walk = through(own_model(tmp_path, count="count = field(values=between(0, 1))"))
    option = option_of(walk, "clerk_shelves {a,b} 0")
    assert option.after is None
    assert "2 is written to count, whose values are 0..1" in option.problem
    assert walk.changes(option) == []
    assert dict(walk.guards("clerk_shelves"))["clerk_shelves {a,b} 0"] == option.problem
    with pytest.raises(ModelError, match="2 is written to count"):
        walk.take(option)
    assert walk.position == 0
