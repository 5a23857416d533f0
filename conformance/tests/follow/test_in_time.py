"""Explanations of real recordings keep to time: the executable cluster takes the same steps."""

from __future__ import annotations

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.observations import flat
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.conformance.cli import main
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import Explained, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations
from isrcheck.conformance.replay.on_cluster import why_not_taken

pytestmark = pytest.mark.sampled

BY_3_7 = (
    "steady leader_killed follower_frozen below_min_isr transactions idempotent_leader_killed stale_record"
    " stale_record_three_controllers stale_record_control missed_demotion_control missed_demotion"
    " missed_demotion_frozen"
)
EXPLAINED = [
    *((f"wire/{name}", "3.7") for name in BY_3_7.split()),
    ("wire/missed_demotion", "2.4"),
    ("wire/missed_demotion_frozen", "2.4"),
    ("kafka-0.10.2-kip101_loss.ndjson", "0.10"),
    ("kafka-3.9-missed_demotion.ndjson", "2.1"),
    ("kafka-3.9-missed_demotion_frozen.ndjson", "2.1"),
    ("kafka-3.9-missed_demotion_control.ndjson", "2.1"),
]
IN_MAKE_TEST = ("wire/below_min_isr", "wire/stale_record")


STALE_RECORD = RECORDINGS / "wire" / "stale_record" / "wire.ndjson"


def explained(name: str, protocol: str) -> Explained:
    path = RECORDINGS / name
    path = path / "wire.ndjson" if path.is_dir() else path
    outcome = follow_recording(path, protocol, objects=wire_observations(path), why_not_taken=why_not_taken)
    assert isinstance(outcome, Explained)
    return outcome


@pytest.mark.parametrize(
    ("name", "protocol"),
    sampled(EXPLAINED, lambda one: one[0] in IN_MAKE_TEST, last=lambda one: one[1] in ("2.1", "3.7")),
)
def test_an_explanation_replays_on_the_cluster(name, protocol):
    outcome = explained(name, protocol)
    assert outcome.untimely == ""
    assert why_not_taken(outcome.trace) == ""
    assert "It keeps to time: the executable cluster takes the same steps." in tell(outcome)


def test_the_first_path_for_a_recording_is_one_that_no_clock_allows():
    """Otherwise the further search would not be tested."""
    outcome = follow_recording(STALE_RECORD, "3.7", objects=wire_observations(STALE_RECORD))
    assert isinstance(outcome, Explained)
    assert outcome.untimely is None
    assert why_not_taken(outcome.trace).startswith("step 45 lets broker 2 propose broker 0 for the ISR; ")


def test_a_path_that_no_search_in_time_replaces_is_reported_as_such():
    found = wire_observations(STALE_RECORD)
    outcome = follow_recording(STALE_RECORD, "3.7", objects=found, why_not_taken=lambda trace: "step 1 is too early")
    assert isinstance(outcome, Explained)
    assert "keeps to time. The executable cluster does not take this one: step 1 is too early." in flat(outcome)


@pytest.mark.exhaustive
def test_the_written_trace_replays(tmp_path, capsys):
    kept = tmp_path / "kept"
    assert (
        main(["follow", str(RECORDINGS / "wire" / "stale_record"), "--protocol", "3.7", "--out", str(kept)]) == VIOLATED
    )
    assert main(["replay", str(kept)]) == 0
    assert "agree after every step" in capsys.readouterr().out
