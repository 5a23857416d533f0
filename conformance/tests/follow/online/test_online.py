"""Recordings that are followed online: the verdicts are those of the search for a history, and the window moves."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.follow import expect
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import DIVERGED
from isrcheck.conformance.follow.online import follow
from isrcheck.conformance.follow.online import follow as stream
from isrcheck.conformance.follow.online.chunk import Past
from isrcheck.conformance.follow.online.follow import (
    Followed,
    OnlineOutcome,
    RejectedOnline,
    UndecidedOnline,
    follow_online,
    stream_of,
)
from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Disk,
    HighWatermark,
    Line,
    LogEnd,
    Metadata,
    Read,
)
from isrcheck.conformance.follow.recorded.window import FalseLine, Move, Short, UnfitLine, Window
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import ObservedRun
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import wire_observations

pytestmark = pytest.mark.sampled

WIRE = RECORDINGS / "wire"
FAULT_INTERVAL = 150_000
CHANGED = {"log_end": "log_end_offset", "high_watermark": "high_watermark"}


def observed(seed: int, count: int) -> list[dict]:
    return list(ObservedRun(Plan(protocol="2.4", seed=seed), FAULT_INTERVAL).lines(count))


def written(path: Path, lines: list[dict]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def online(path: Path, protocol: str = "2.4", **values: int) -> OnlineOutcome:
    return follow_online(path, stream_of(path), protocol, values)


LINES = 239
"""The lines of a run of 240 without the header."""

NEAR_THE_END = 190


@pytest.mark.recorded
def test_a_run_of_the_cluster_is_followed_in_moving_windows(tmp_path) -> None:
    found = expect(Followed, online(written(tmp_path / "run.ndjson", observed(5, 240))))
    cost = found.cost
    assert (cost.lines, cost.of, cost.states, cost.most, cost.windows) == (LINES, LINES, 38392, 2485, 5)
    assert (found.unchecked, found.left_out) == (0, None)


def one_later(line: dict) -> dict:
    return {**line, "log_end_offset": line["log_end_offset"] + 1}


def higher(line: dict) -> dict:
    return {**line, "high_watermark": line["high_watermark"] + 3}


def at_the_end(line: dict) -> dict:
    (offset, value), *others = line["records"]
    return {**line, "records": [[offset, others[-1][1]], *others[:-1], [others[-1][0], value]]}


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("seed", "kind", "change"),
    [
        (1, "log_end", one_later),
        exhaustive((1, "high_watermark", higher)),
        exhaustive((7, "client_read", at_the_end)),
    ],
)
def test_a_wrong_line_near_the_end_is_rejected_there(tmp_path, seed: int, kind: str, change) -> None:
    lines = observed(seed, 240)
    at = max(position for position, line in enumerate(lines) if line["kind"] == kind)
    assert at > NEAR_THE_END
    lines[at] = change(lines[at])
    found = expect(RejectedOnline, online(written(tmp_path / "run.ndjson", lines)))
    assert found.line.number == at + 1
    assert found.cost.windows > 0
    assert found.unmet or found.why


@pytest.mark.recorded
def test_nothing_is_rejected_after_a_record_that_perhaps_reached_nobody(tmp_path) -> None:
    lines = observed(6, 240)
    at = max(position for position, line in enumerate(lines) if line["kind"] == "log_end")
    lines[at] = one_later(lines[at])
    found = expect(UndecidedOnline, online(written(tmp_path / "run.ndjson", lines)))
    assert found.line.number == at + 1
    assert "no line shows the record of line 226 after it was sent" in str(found.why)


@pytest.mark.parametrize(
    ("name", "protocol", "values"),
    [
        ("steady", "3.7", {}),
        ("below_min_isr", "2.4", {}),
        ("missed_demotion_frozen", "2.4", {}),
        recorded(("missed_demotion_frozen", "2.4", {"REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0})),
        recorded(("missed_demotion", "2.4", {})),
        recorded(("missed_demotion", "2.4", {"REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0})),
        exhaustive(("below_min_isr", "3.5", {})),
        exhaustive(("below_min_isr", "3.7", {"HW_MINISR_GATE": 0})),
        exhaustive(("follower_frozen", "3.5", {})),
        recorded(("leader_killed", "3.7", {})),
        recorded(("stale_record", "3.7", {})),
        recorded(("stale_record", "3.7", {"EQUAL_PARTITION_EPOCH_REPLACES": 0})),
        recorded(("stale_record", "2.4", {})),
        recorded(("stale_record_three_controllers", "3.7", {})),
        recorded(("stale_record_control", "3.7", {})),
        recorded(("missed_demotion_control", "3.7", {})),
    ],
)
def test_a_real_kafka_has_the_verdict_of_the_search_for_a_history(monkeypatch, name, protocol, values) -> None:
    monkeypatch.setattr(follow, "LEAST_RECORDS", 6)
    path = WIRE / name / "wire.ndjson"
    found = online(path, protocol, **values)
    exact = follow_recording(path, protocol, values, objects=wire_observations(path))
    if isinstance(exact, Explained):
        assert isinstance(found, Followed)
        assert found.exit_code == (12 if exact.fail_all else 0)
        assert (found.lost is not None) == exact.fail_all
    else:
        assert isinstance(exact, Rejected)
        assert isinstance(found, RejectedOnline)
        assert found.line.spot == exact.line.spot


LOST_AT_THE_END = (27, 29, 30, 37, 38)
"""In these runs no line shows a record after it was sent."""


@pytest.mark.parametrize("seed", [20, *(recorded(seed) for seed in range(21, 40))])
def test_a_changed_run_has_the_verdict_of_the_search_for_a_history(monkeypatch, tmp_path, seed: int) -> None:
    """One number in the second half of a run with faults is changed by one; the window is as small as can be."""
    monkeypatch.setattr(follow, "LEAST_RECORDS", 8)
    random = Random(seed)
    lines = observed(seed, 60)
    at = random.choice([at for at, line in enumerate(lines) if at > 30 and line["kind"] in CHANGED])
    key = CHANGED[lines[at]["kind"]]
    lines[at] = {**lines[at], key: max(0, lines[at][key] + random.choice([-1, 1]))}
    path = written(tmp_path / "run.ndjson", lines)
    exact, found = follow_recording(path, "2.4", seconds=300), online(path)
    if isinstance(found, UndecidedOnline):
        assert seed in LOST_AT_THE_END
        assert "behaviours in which it reaches nobody are left out" in str(found.why)
    elif isinstance(exact, Explained):
        assert isinstance(found, Followed)
    else:
        assert isinstance(exact, Rejected)
        assert isinstance(found, RejectedOnline)
        assert found.line.number == exact.line.number


@pytest.mark.recorded
def test_records_that_no_line_sends_are_sent_shortly_before_they_are_shown() -> None:
    """Markers of transactions are such records. Perhaps a behaviour is left out, so nothing is rejected."""
    found = expect(Followed, online(WIRE / "transactions" / "wire.ndjson", "3.7"))
    assert found.left_out is not None
    assert "they are assumed to be sent only shortly before a line shows them" in found.left_out
    changed = online(WIRE / "transactions" / "wire.ndjson", "3.7", HW_MINISR_GATE=0, EXPAND_EPOCH_START=0)
    assert not isinstance(changed, RejectedOnline)


@pytest.mark.recorded
def test_a_recording_in_one_window_needs_no_line_that_sends() -> None:
    found = expect(RejectedOnline, online(RECORDINGS / "kafka-0.10.2-kip101_loss.ndjson", "2.1"))
    assert (found.line.number, found.possible) == (17, 689)


def test_a_limit_leaves_it_undecided(tmp_path) -> None:
    path = written(tmp_path / "run.ndjson", observed(5, 240))
    found = expect(UndecidedOnline, follow_online(path, stream_of(path), "2.4", seconds=0.3))
    assert found.why == "seconds"
    assert found.cost.lines < LINES


# ------------------------------------------------------------------------------------------------------ the command


def test_only_long_recordings_are_followed_online(conform, monkeypatch, tmp_path) -> None:
    path = written(tmp_path / "run.ndjson", observed(5, 30))
    head = f"{path}: followed online: a verdict, no history; --history searches for one"
    assert not stream.is_long(path, stream_of(path))
    code, out, _ = conform("follow", path, "--online")
    assert (code, " ".join(out.split()).startswith(head)) == (0, True)
    assert "FOLLOWED: a behaviour of 2.4 explains all 29 lines, and does not violate acked_not_lost." in out
    monkeypatch.setattr(stream, "LONG", 20)
    assert stream.is_long(path, stream_of(path))
    code, out, _ = conform("follow", path)
    assert (code, " ".join(out.split()).startswith(head)) == (0, True)
    code, out, _ = conform("follow", path, "--history")
    assert (code, out.startswith("EXPLAINED: ")) == (0, True)


def test_a_rejection_says_the_line_as_it_was_recorded(conform, tmp_path) -> None:
    lines = observed(5, 60)
    at = next(position for position in range(50, 60) if lines[position]["kind"] == "log_end")
    lines[at] = one_later(lines[at])
    code, out, _ = conform("follow", written(tmp_path / "run.ndjson", lines), "--online")
    assert code == DIVERGED
    told = " ".join(out.split())
    assert f"run.ndjson:{at + 1}: the log of broker {lines[at]['broker']} ends at {lines[at]['log_end_offset']}" in told


def test_retries_need_the_whole_recording(conform, tmp_path) -> None:
    path = written(tmp_path / "run.ndjson", observed(5, 30))
    refused = f"conform: {path}: retries cannot be set when a recording is followed online; add --history\n"
    assert conform("follow", path, "--online", "--set", "retries=2") == (2, "", refused)


# ------------------------------------------------------ the window that moves along a recording, and lines in its terms


BROKERS = (1, 2, 3)


@pytest.fixture
def window() -> Window:
    """A window behind the records a, b and c; broker 3 has only a. The epoch of c is 5, and 4 is counted as 0."""
    found = Window(BROKERS, 3, 10)
    found.values = ["a", "b", "c", "d"]
    found.move(Move(2, 2, 1, 7, (0, 1, 2), (0, 0, 2), {2: Short(1, 1)}, {}, (True, True, None)))
    return found


def disk(broker: int, log: str, epochs: tuple[int, ...] | None = None) -> Disk:
    return Disk(1, 1, broker, tuple(log), epochs, None, None)


def test_the_window_begins_with_the_last_settled_record(window) -> None:
    assert (window.offset, window.epoch, window.partition_epoch, window.values) == (2, 4, 7, ["c", "d"])
    metadata = expect(Metadata, Metadata(1, 1, 1, frozenset(BROKERS), 5, 9, None, frozenset(), None).in_window(window))
    assert (metadata.leader_epoch, metadata.partition_epoch) == (5, 2)


def test_a_request_from_before_it_counts_as_the_first_ones_do(window) -> None:
    past = Past(
        requests={1: AlterRequest(1, 1, 1, frozenset(BROKERS), 3, 2), 2: AlterRequest(1, 1, 2, frozenset(), 6, 9)}
    )
    requests = [line for line in past.lines(window, 0, ()) if isinstance(line, AlterRequest)]
    assert [(line.leader_epoch, line.partition_epoch) for line in requests] == [(window.epoch, 0), (6, 2)]


def test_lines_are_counted_from_it(window) -> None:
    assert disk(1, "abcd", (3, 3, 5, 5)).in_window(window) == disk(1, "cd", (5, 5))
    assert disk(3, "a", (3,)).in_window(window) == disk(3, "", ())
    assert HighWatermark(1, 1, 1, 3).in_window(window) == HighWatermark(1, 1, 1, 1)
    assert HighWatermark(1, 1, 3, 1).in_window(window) == HighWatermark(1, 1, 3, 0)
    assert LogEnd(1, 1, 2, 4, 5).in_window(window) == LogEnd(1, 1, 2, 2, 5)
    assert LogEnd(1, 1, 3, 1, 3).in_window(window) == LogEnd(1, 1, 3, 0, None)
    assert Read(1, 1, ("b", "c", "d"), (1, 2, 3)).in_window(window) == Read(1, 1, ("c", "d"), (0, 1))
    assert Acked(1, 1, "b", 1, None).in_window(window) is None
    assert window.unchecked == 0


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (disk(1, "axcd"), "no log has these records at the offsets below 3"),
        (disk(1, "abcd", (3, 4, 5, 5)), "no log has these leader epochs at the offsets below 3"),
        (disk(1, "ab"), "the log of broker 1 has more than 2 records"),
        (disk(3, "ab"), "the log of broker 3 has 1 records"),
        (disk(3, "b"), "no log has these records at the offsets below 1"),
        (HighWatermark(1, 1, 3, 0), "the high watermark of broker 3 is 1"),
        (LogEnd(1, 1, 1, 2, 3), "the log of broker 1 has more than 2 records"),
        (LogEnd(1, 1, 2, 3, 4), "the epoch of the record at offset 2 is 5"),
        (LogEnd(1, 1, 3, 2, 3), "the log of broker 3 ends at 1"),
        (Read(1, 1, ("a", "c"), (1, 2)), "the record at offset 1 is b, in every log"),
        (Acked(1, 1, "b", 0, None), "b is at offset 1"),
        (Acked(1, 1, "d", 1, None), "d is in no log at offset 1"),
    ],
)
def test_a_line_that_contradicts_the_window_says_why(window, line: Line, why: str) -> None:
    with pytest.raises(FalseLine) as caught:
        line.in_window(window)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (disk(1, "abcdx"), "x is on disk before a line sends it"),
        (Acked(1, 1, "c", 2, None), "c was acknowledged in only some states, and in which is no longer known"),
    ],
)
def test_a_line_about_records_outside_the_window_is_undecided(window, line: Line, why: str) -> None:
    with pytest.raises(UnfitLine) as caught:
        line.in_window(window)
    assert str(caught.value) == why


def test_what_cannot_be_compared_is_counted(window) -> None:
    line = HighWatermark(1, 1, 1, 1)
    assert line.in_window(window) == HighWatermark(1, 1, 1, 0)
    window.pass_line(line.number)
    assert window.unchecked == 1
