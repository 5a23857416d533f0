"""Certification: any change of a true trace is found, with its position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conformance.tests.support.golden import read_step
from conformance.tests.support.trace import CLASSIC, COMMITTED, WEAK_ISR, kafka, trace, weak_isr
from isrcheck.models import registry
from isrcheck.models.language.model import Model
from isrcheck.models.messages import ModelError, UsageError
from isrcheck.traces.format.certify import NotCertifiedError, behaviour, certify, from_steps
from isrcheck.traces.format.trace import HOLDS, PERMITTED, REACHED, VERDICTS, VIOLATED, Trace


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
    states = list(true.states)
    states[state] = tuple(cells)
    return replace(true, states=tuple(states))


@pytest.mark.parametrize("true", [weak_isr(), kafka(CLASSIC, "acked_not_lost")], ids=["published", "kafka"])
def test_a_change_of_any_cell_is_found(true: Trace) -> None:
    certify(true)
    for state in range(len(true.states)):
        for cell in range(true.instance.cells):
            message = refused(with_cell(true, state, cell, true.states[state][cell] + 1))
            if state:
                assert message.startswith(
                    f"step {state} ({true.instance.spell_step(true.steps[state - 1])}) leads to ano"
                )


def test_a_change_of_a_cell_is_named() -> None:
    true = weak_isr()
    places = true.instance.layouts
    assert refused(with_cell(true, 4, places["log_record"].offset, -1)) == (
        "step 4 (leader_writes 0) leads to another state: log_record[0][0] is a, but the trace says none"
    )
    assert refused(with_cell(true, 8, places["isr"].offset + 3, 99)) == (
        "step 8 (become_follower 1 1) leads to another state: isr[1][1] is false, but the trace says 99"
    )
    assert refused(with_cell(true, 0, places["quorum_isr"].offset + 1, 0)) == (
        "state 0 is not an initial state: quorum_isr[1] is true, but the trace says false"
    )


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


@pytest.mark.parametrize("true", [weak_isr(), kafka(CLASSIC, "acked_not_lost")], ids=["published", "kafka"])
def test_a_dropped_step_is_found(true: Trace) -> None:
    for dropped in range(true.length):
        steps = true.steps[:dropped] + true.steps[dropped + 1 :]
        states = true.states[: dropped + 1] + true.states[dropped + 2 :]
        refused(replace(true, steps=steps, states=states))
        assert refused(replace(true, steps=steps)).endswith(f"states do not fit {true.length - 1} steps")


def test_a_removed_first_state_is_found() -> None:
    true = weak_isr()
    message = refused(replace(true, steps=true.steps[1:], states=true.states[1:]))
    assert message == "state 0 is not an initial state: quorum_leader is none, but the trace says 0"


@pytest.mark.parametrize("true", [weak_isr(), kafka(CLASSIC, "acked_not_lost")], ids=["published", "kafka"])
def test_any_other_step_is_found(true: Trace) -> None:
    for position in range(true.length):
        for other in true.instance.steps:
            if other != true.steps[position]:
                steps = (*true.steps[:position], other, *true.steps[position + 1 :])
                assert refused(replace(true, steps=steps)).startswith(f"step {position + 1} (")


def test_swapped_arguments_are_found_by_the_guard() -> None:
    true = weak_isr()
    other = read_step(true.instance, "follower_replicates 1 0")
    steps = (*true.steps[:5], other, *true.steps[6:])
    assert refused(replace(true, steps=steps)) == (
        "step 6 (follower_replicates 1 0) is not enabled:"
        " its guard `presumes_leadership(s, leader)` is false (s.leader[1] = 0)"
    )


def test_a_step_with_other_arguments_is_found() -> None:
    true = weak_isr()
    wrong = replace(true.steps[0], ordinals=(7,))
    assert refused(replace(true, steps=(wrong, *true.steps[1:]))) == (
        "step 1: controller_elects_leader with [7] is not a step of the model"
    )
    wrong = replace(true.steps[0], number=10_000)
    assert refused(replace(true, steps=(wrong, *true.steps[1:]))).endswith("is not a step of the model")


def test_an_action_that_the_protocol_lacks_is_found() -> None:
    true = weak_isr()
    lacking = [slot for slot, choice in enumerate(true.instance.alternatives) if choice is None]
    step = true.instance.step(true.instance.first_steps[lacking[0]])
    assert refused(replace(true, steps=(step, *true.steps[1:]))).endswith(
        f"is not enabled: protocol truncate_to_high_watermark has no action {step.action}"
    )


def test_a_state_of_another_size_is_found() -> None:
    true = weak_isr()
    states = (*true.states[:-1], true.states[-1][:-1])
    assert refused(replace(true, states=states)) == "state 8 has 30 cells instead of 31"


AT_THE_END = "at step 8 (become_follower 1 1), but the trace says"


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("strong_isr", VIOLATED, f"strong_isr is not broken {AT_THE_END} VIOLATED"),
        ("log_matching", VIOLATED, f"log_matching is not broken {AT_THE_END} VIOLATED"),
        ("leader_in_isr", VIOLATED, f"leader_in_isr is not broken {AT_THE_END} VIOLATED"),
        ("weak_is", VIOLATED, "published has no property weak_is; did you mean weak_isr?"),
        (None, VIOLATED, "it has a property without a verdict, or a verdict without a property"),
        ("weak_isr", PERMITTED, f"weak_isr is VIOLATED {AT_THE_END} PERMITTED"),
        ("weak_isr", REACHED, f"weak_isr is VIOLATED {AT_THE_END} REACHED"),
        ("weak_isr", HOLDS, f"weak_isr is VIOLATED {AT_THE_END} HOLDS ON THIS PATH"),
        ("weak_isr", "SAFE", f"unknown verdict SAFE; there are: {', '.join(VERDICTS)}"),
        ("weak_isr", None, "it has a property without a verdict, or a verdict without a property"),
    ],
)
def test_another_property_or_verdict_is_found(name: str | None, verdict: str | None, message: str) -> None:
    assert refused(replace(weak_isr(), property_name=name, verdict=verdict)) == message


def test_a_trace_ends_where_the_property_fails_first() -> None:
    model, protocol = registry.load("published/truncate_to_high_watermark")
    instance = model.instance(protocol, {"replicas": 2, "log_size": 1, "records": 1})
    with pytest.raises(
        UsageError, match=r"^weak_isr is VIOLATED already at step 8 \(become_follower 1 1\), but the trace go"
    ):
        trace(instance, (*WEAK_ISR, "controller_shrinks_isr 0"), "weak_isr", VIOLATED)


def test_a_trace_can_be_empty() -> None:
    model, protocol = registry.load("published/kip_320")
    found = trace(model.instance(protocol), [], "leader_in_isr")
    assert (found.length, found.verdict) == (0, VIOLATED)
    with pytest.raises(
        UsageError, match=r"^leader_in_isr is VIOLATED already at the initial state, but the trace goes on to"
    ):
        trace(model.instance(protocol), ["controller_shrinks_isr 0"], "leader_in_isr", VIOLATED)


def test_a_permitted_failure_is_distinguished_from_a_violation() -> None:
    steps = ["producer_appends at 0", "controller_fails_over to 1"]
    assert kafka(steps, "acked_not_lost", acks=1).verdict == PERMITTED
    with pytest.raises(
        UsageError, match=r"^acked_not_lost is PERMITTED at step 2 \(controller_fails_over to 1\), but the trace s"
    ):
        kafka(steps, "acked_not_lost", VIOLATED, acks=1)
    assert kafka(CLASSIC, "acked_not_lost").verdict == VIOLATED
    assert kafka(CLASSIC[:-1], "isr_is_complete").verdict == VIOLATED


def test_a_trace_without_failure_is_certified() -> None:
    assert kafka(COMMITTED, "acked_not_lost", HOLDS).verdict == HOLDS
    assert kafka(COMMITTED, "high_watermark_monotonic", HOLDS).verdict == HOLDS


def test_a_goal_is_reached_for_the_first_time() -> None:
    instance = registry.load("examples/two_phase_commit")[0].instance()
    all_abort = [f"resource_manager_chooses_to_abort {rm}" for rm in range(3)]
    assert trace(instance, all_abort, "all_abort").verdict == REACHED
    with pytest.raises(UsageError, match=r"^after 2 steps all_abort is neither violated nor reached"):
        trace(instance, all_abort[:2], "all_abort")
    with pytest.raises(
        UsageError, match=r"^all_abort is REACHED already at step 3 \(resource_manager_chooses_to_abort 2\)"
    ):
        trace(instance, [*all_abort, "manager_aborts"], "all_abort", REACHED)
    with pytest.raises(UsageError, match=r"^all_abort can only be REACHED, but the trace says HOLDS"):
        trace(instance, all_abort[:2], "all_abort", HOLDS)


def test_a_disabled_property_is_refused(own: Model) -> None:
    with pytest.raises(
        UsageError,
        match=r"^full does not apply to this configuration; change the configuration, or choose a property that appl",
    ):
        trace(own.instance(None, {"LOCKED": 1}), [], "full")


def test_step_properties_are_judged_on_their_transition(own: Model) -> None:
    found = trace(own.instance(), ["clerk_shelves {b} 0"], "count_stays")
    assert (found.length, found.verdict) == (1, VIOLATED)
    with pytest.raises(UsageError, match=r"^count_stays is VIOLATED already at step 1 \(clerk_shelves \{b\} 0\)"):
        trace(own.instance(), ["clerk_shelves {b} 0", "clerk_shelves {a} 0"], "count_stays", VIOLATED)


# ------------------------------------------------------------------------------------------ what an engine hands over


def numbers(steps: Sequence[str]) -> list[int]:
    return [read_step(weak_isr().instance, step).number for step in steps]


def test_a_path_becomes_a_certified_trace() -> None:
    true = weak_isr()
    found = from_steps(true.instance, 0, [step.number for step in true.steps], "weak_isr", "check it")
    assert (found.states, found.steps, found.verdict, found.command) == (true.states, true.steps, VIOLATED, "check it")


@pytest.mark.parametrize(
    ("initial", "steps", "name", "verdict", "message"),
    [
        (1, WEAK_ISR, "weak_isr", None, "there is no initial state 1; the initial states are 0..0"),
        (0, WEAK_ISR[1:], "weak_isr", None, "step 2 (become_leader 0) is not enabled: its guard"),
        (0, WEAK_ISR[:-1], "weak_isr", None, "after 7 steps weak_isr is neither violated nor reached"),
        (
            0,
            WEAK_ISR,
            "weak_isr",
            PERMITTED,
            "weak_isr is VIOLATED at step 8 (become_follower 1 1), but the trace says PER",
        ),
        (0, WEAK_ISR, "weak", None, "published has no property weak; "),
    ],
)
def test_a_path_that_the_reference_does_not_confirm_is_an_internal_error(
    initial: int, steps: Sequence[str], name: str, verdict: str | None, message: str
) -> None:
    with pytest.raises(NotCertifiedError) as refusal:
        from_steps(weak_isr().instance, initial, numbers(steps), name, "check it", verdict)
    assert not isinstance(refusal.value, UsageError)
    assert str(refusal.value).startswith(f"plain Python does not confirm the path that the engine found: {message}")
    assert str(refusal.value).endswith("(reproduce: check it)")


def test_a_step_number_out_of_range_is_an_internal_error() -> None:
    with pytest.raises(NotCertifiedError):
        from_steps(weak_isr().instance, 0, [10_000], "weak_isr", "check it")


def test_a_range_error_of_the_model_stays_the_users_error(own: Model) -> None:
    instance = own.instance(None, {"parcels": 5})
    steps = ["clerk_shelves {a,b,c,d,e} 0", *(f"clerk_loses {parcel}" for parcel in "abcde")]
    chosen = [read_step(instance, step) for step in (*steps, steps[0])]
    with pytest.raises(ModelError, match=r"10 is written to count, whose values are 0..9"):
        behaviour(instance, 0, chosen, None, "")
    with pytest.raises(ModelError):
        from_steps(instance, 0, [step.number for step in chosen], None, "")
