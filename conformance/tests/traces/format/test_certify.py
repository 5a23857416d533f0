"""Certification: any change of a true trace is found, with its position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conformance.tests.support.golden import read_step
from conformance.tests.support.trace import CLASSIC, WEAK_ISR, kafka, trace, weak_isr
from conformance.tests.traces.stories import Story, stories, title_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model, Step
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.traces.format.certify import NotCertifiedError, behaviour, certify, from_steps
from isrcheck.traces.format.trace import HOLDS, PERMITTED, REACHED, VERDICTS, VIOLATED, Trace

TRUE = weak_isr()
BOTH = pytest.mark.parametrize("true", [TRUE, kafka(CLASSIC, "acked_not_lost")], ids=["published", "kafka"])


def refused(tampered: Trace) -> str:
    with pytest.raises(UsageError) as refusal:
        certify(tampered)
    message = str(refusal.value)
    assert "\n" not in message
    assert "edited" not in message  # only who has read a file says that
    return message


def with_cell(true: Trace, state: int, cell: int, value: int) -> Trace:
    cells = list(true.states[state])
    cells[cell] = value
    return replace(true, states=(*true.states[:state], tuple(cells), *true.states[state + 1 :]))


def with_step(position: int, step: Step) -> Trace:
    return replace(TRUE, steps=(*TRUE.steps[: position - 1], step, *TRUE.steps[position:]))


@pytest.mark.sampled
@BOTH
def test_a_change_of_any_cell_is_found(true: Trace) -> None:
    certify(true)
    for state in range(len(true.states)):
        for cell in range(true.instance.cells):
            message = refused(with_cell(true, state, cell, true.states[state][cell] + 1))
            if state:
                step = true.instance.spell_step(true.steps[state - 1])
                assert message.startswith(f"step {state} ({step}) leads to another state: ")


@pytest.mark.parametrize(
    ("state", "field", "index", "value", "message"),
    [
        (4, "log_record", 0, -1, "step 4 (leader_writes 0) leads to another state: log_record[0][0] is a,{} none"),
        (8, "isr", 3, 99, "step 8 (become_follower 1 1) leads to another state: isr[1][1] is false,{} 99"),
        (0, "quorum_isr", 1, 0, "state 0 is not an initial state: quorum_isr[1] is true,{} false"),
    ],
)
def test_a_change_of_a_cell_is_named(state: int, field: str, index: int, value: int, message: str) -> None:
    cell = TRUE.instance.layouts[field].offset + index
    assert refused(with_cell(TRUE, state, cell, value)) == message.format(" but the trace says")


def test_an_initial_state_is_compared_with_the_one_most_like_it() -> None:
    true = kafka(CLASSIC, "acked_not_lost")
    places = true.instance.layouts
    assert len(true.instance.initial_states) == 3
    smaller = "state 0 is not an initial state: controller_isr[2] is false, but the trace says true"
    one_more = with_cell(true, 0, places["controller_isr"].offset + 2, 1)
    assert refused(one_more) == smaller
    other_start = with_cell(one_more, 0, places["isr"].offset + 2, 1)
    assert refused(other_start).startswith("step 1 (producer_appends at 0) leads to another state: ")
    assert refused(with_cell(other_start, 0, places["high_watermark"].offset, 1)) == (
        "state 0 is not an initial state: high_watermark[0] is 0, but the trace says 1"
    )


@BOTH
def test_a_dropped_step_is_found(true: Trace) -> None:
    for dropped in range(true.length):
        steps = true.steps[:dropped] + true.steps[dropped + 1 :]
        states = true.states[: dropped + 1] + true.states[dropped + 2 :]
        refused(replace(true, steps=steps, states=states))
        assert refused(replace(true, steps=steps)).endswith(f"states, which do not fit {true.length - 1} steps")


@pytest.mark.sampled
@BOTH
def test_any_other_step_is_found(true: Trace) -> None:
    for position in range(true.length):
        for other in true.instance.steps:
            if other != true.steps[position]:
                steps = (*true.steps[:position], other, *true.steps[position + 1 :])
                assert refused(replace(true, steps=steps)).startswith(f"step {position + 1} (")


LACKING = TRUE.instance.step(TRUE.instance.first_steps[TRUE.instance.alternatives.index(None)])
"""A step of an action that the protocol lacks."""


@pytest.mark.parametrize(
    ("tampered", "message"),
    [
        (
            replace(TRUE, steps=TRUE.steps[1:], states=TRUE.states[1:]),
            "state 0 is not an initial state: quorum_leader is none, but the trace says 0",
        ),
        (
            with_step(6, read_step(TRUE.instance, "follower_replicates 1 0")),
            "step 6 (follower_replicates 1 0) is not enabled:"
            " its guard `presumes_leadership(s, leader)` is false (s.leader[1] = 0)",
        ),
        (
            with_step(1, replace(TRUE.steps[0], ordinals=(7,))),
            "step 1: controller_elects_leader with [7] is not a step of the model",
        ),
        (
            with_step(1, replace(TRUE.steps[0], number=10_000)),  # more than the model has
            "step 1: controller_elects_leader with [0] is not a step of the model",
        ),
        (
            with_step(1, LACKING),
            f"step 1 ({TRUE.instance.spell_step(LACKING)}) is not enabled:"
            f" protocol truncate_to_high_watermark has no action {LACKING.action}",
        ),
        (
            replace(TRUE, states=(*TRUE.states[:-1], TRUE.states[-1][:-1])),
            "state 8 has 30 cells instead of 31",
        ),
    ],
    ids=["first state", "arguments", "an argument", "number", "protocol", "size"],
)
def test_other_changes_are_found(tampered: Trace, message: str) -> None:
    assert refused(tampered) == message


AT_THE_END = "at step 8 (become_follower 1 1), but the trace says"


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("strong_isr", VIOLATED, f'strong_isr is not broken {AT_THE_END} "VIOLATED"'),
        ("log_matching", VIOLATED, f'log_matching is not broken {AT_THE_END} "VIOLATED"'),
        ("leader_in_isr", VIOLATED, f'leader_in_isr is not broken {AT_THE_END} "VIOLATED"'),
        ("weak_is", VIOLATED, "published has no property weak_is; did you mean weak_isr?"),
        (None, VIOLATED, "it has a property without a verdict, or a verdict without a property"),
        ("weak_isr", PERMITTED, f'weak_isr is VIOLATED {AT_THE_END} "PERMITTED"'),
        ("weak_isr", REACHED, f'weak_isr is VIOLATED {AT_THE_END} "REACHED"'),
        ("weak_isr", HOLDS, f'weak_isr is VIOLATED {AT_THE_END} "HOLDS ON THIS PATH"'),
        ("weak_isr", "SAFE", f"unknown verdict SAFE; the verdicts are: {', '.join(VERDICTS)}"),
        ("weak_isr", None, "it has a property without a verdict, or a verdict without a property"),
    ],
)
def test_another_property_or_verdict_is_found(name: str | None, verdict: str | None, message: str) -> None:
    assert refused(replace(TRUE, property_name=name, verdict=verdict)) == message


# ------------------------------------------------------------------------------------------- where and how a trace ends


ENDINGS = """
# A permitted failure: acks=1 acked_not_lost
producer_appends at 0; controller_fails_over to 1
  PERMITTED

# A permitted failure is no violation: acks=1 acked_not_lost VIOLATED
producer_appends at 0; controller_fails_over to 1
  acked_not_lost is PERMITTED at step 2 (controller_fails_over to 1), but the trace says "VIOLATED"

# A violation: kafka acked_not_lost
CLASSIC
  VIOLATED

# A violation of another property: kafka isr_is_complete
COMMITTED; CLASSIC[4]
  VIOLATED

# A trace without a failure: kafka acked_not_lost HOLDS
COMMITTED
  HOLDS ON THIS PATH

# A property of transitions that holds: kafka high_watermark_monotonic HOLDS
COMMITTED
  HOLDS ON THIS PATH

# The property failed earlier: published weak_isr VIOLATED
WEAK_ISR; controller_shrinks_isr 0
  weak_isr is VIOLATED already at step 8 (become_follower 1 1), but the trace goes on to step 9

# An empty trace: kip_320 leader_in_isr
  VIOLATED

# The property failed in the initial state: kip_320 leader_in_isr VIOLATED
controller_shrinks_isr 0
  leader_in_isr is VIOLATED already at the initial state, but the trace goes on to step 1

# A goal that is reached: two_phase_commit all_abort
{0}; {1}; {2}
  REACHED

# A goal that is not reached: two_phase_commit all_abort
{0}; {1}
  after 2 steps all_abort is neither violated nor reached

# A goal that was reached earlier: two_phase_commit all_abort REACHED
{0}; {1}; {2}; manager_aborts
  all_abort is REACHED already at step 3 ({2}), but the trace goes on to step 4

# A goal does not hold: two_phase_commit all_abort HOLDS
{0}; {1}
  the verdict on all_abort can only be "REACHED", but the trace says "HOLDS ON THIS PATH"

# A property that does not apply: locked full
  full does not apply to this configuration; change the configuration, or choose a property that applies

# A property of transitions fails on its transition: own count_stays
clerk_shelves {{b}} 0
  VIOLATED

# A property of transitions failed on an earlier transition: own count_stays VIOLATED
clerk_shelves {{b}} 0; clerk_shelves {{a}} 0
  count_stays is VIOLATED already at step 1 (clerk_shelves {{b}} 0), but the trace goes on to step 2
""".format(*(f"resource_manager_chooses_to_abort {manager}" for manager in range(3)))


@pytest.fixture(scope="module")
def instances(own: Model) -> dict[str, Instance]:
    kafka_model = registry.load("kafka")[0]
    return {
        "kafka": kafka_model.instance("0.10"),
        "acks=1": kafka_model.instance("0.10", {"acks": 1}),
        "published": TRUE.instance,
        "kip_320": registry.load("published")[0].instance("kip_320"),
        "two_phase_commit": registry.load("examples/two_phase_commit")[0].instance(),
        "own": own.instance(),
        "locked": own.instance(None, {"LOCKED": 1}),
    }


@pytest.mark.parametrize("story", stories(ENDINGS), ids=title_of)
def test_a_trace_ends_where_its_property_fails_or_is_reached_first(
    story: Story, instances: dict[str, Instance]
) -> None:
    model, name, *words = story.settings.split()
    verdict = next((verdict for verdict in VERDICTS if words and verdict.startswith(words[0])), None)
    ((_, (ending,)),) = story.shown
    if ending in VERDICTS:
        assert trace(instances[model], story.steps, name, verdict).verdict == ending
    else:
        with pytest.raises(UsageError) as refusal:
            trace(instances[model], story.steps, name, verdict)
        assert str(refusal.value) == ending


# -------------------------------------------------------------------------------------------- what an engine hands over


def numbers(steps: Sequence[str]) -> list[int]:
    return [read_step(TRUE.instance, step).number for step in steps]


def test_a_path_becomes_a_certified_trace() -> None:
    found = from_steps(TRUE.instance, 0, numbers(WEAK_ISR), "weak_isr", "check it")
    assert (found.states, found.steps, found.verdict, found.command) == (TRUE.states, TRUE.steps, VIOLATED, "check it")


@pytest.mark.parametrize(
    ("initial", "steps", "name", "verdict", "message"),
    [
        (1, numbers(WEAK_ISR), "weak_isr", None, "there is no initial state 1; the initial states are 0..0"),
        (0, numbers(WEAK_ISR[1:]), "weak_isr", None, "step 2 (become_leader 0) is not enabled: its guard"),
        (0, numbers(WEAK_ISR[:-1]), "weak_isr", None, "after 7 steps weak_isr is neither violated nor reached"),
        (0, numbers(WEAK_ISR), "weak_isr", PERMITTED, f'weak_isr is VIOLATED {AT_THE_END} "PERMITTED"'),
        (0, numbers(WEAK_ISR), "weak", None, "published has no property weak; "),
        (0, [10_000], "weak_isr", None, ""),  # a number that no step has
    ],
)
def test_a_path_that_the_reference_does_not_confirm_is_an_internal_error(
    initial: int, steps: list[int], name: str, verdict: str | None, message: str
) -> None:
    with pytest.raises(NotCertifiedError) as refusal:
        from_steps(TRUE.instance, initial, steps, name, "check it", verdict)
    assert not isinstance(refusal.value, UsageError)
    assert str(refusal.value).startswith(f"plain Python does not confirm the path that the engine found: {message}")
    assert str(refusal.value).endswith("(reproduce: check it)")


def test_a_range_error_of_the_model_stays_the_users_error(own: Model) -> None:
    instance = own.instance(None, {"parcels": 5})
    steps = ["clerk_shelves {a,b,c,d,e} 0", *(f"clerk_loses {parcel}" for parcel in "abcde")]
    chosen = [read_step(instance, step) for step in (*steps, steps[0])]
    with pytest.raises(ModelError, match=r"10 is written to count, whose values are 0..9"):
        behaviour(instance, 0, chosen, None, "")
    with pytest.raises(ModelError):
        from_steps(instance, 0, [step.number for step in chosen], None, "")
