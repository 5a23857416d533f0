"""Recorded runs of the cluster are behaviours of the model; other runs are rejected with a reason."""

from __future__ import annotations

import errno
import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import exhaustive, sampled
from conformance.tests.support.follow import (
    bridged,
    followed,
    lines_of,
    only_follows,
    recorded,
    table,
    text_of,
    without_line,
)
from conformance.tests.support.replay import GENERATIONS, KRAFT
from isrcheck.commands.exit_codes import NOTHING, UNDECIDED
from isrcheck.conformance.cluster.log.storage import FileStorage, StorageError
from isrcheck.conformance.follow.recorder.plan import ModelGap, Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.runs import EXIT_CODES, MOST_MISSING, Outcome, Verdict
from isrcheck.models.messages import UsageError

pytestmark = pytest.mark.sampled

Said = dict[str, Any]


OF_KRAFT = {
    "controller_fences_broker",
    "controller_fences_leader",
    "controller_unfences_broker",
    "broker_applies_metadata",
    "leader_asks_to_shut_down",
    "broker_shuts_down",
}
"""What happens in every run with a KRaft controller, and in no other."""


@pytest.mark.parametrize("seed", sampled([0, 6], lambda seed: seed == 0, last=lambda seed: seed == 6))
@pytest.mark.parametrize(
    "protocol",
    sampled(
        GENERATIONS,
        lambda protocol: protocol in ("0.10", "2.1", "2.8"),
        last=lambda protocol: protocol != "4.1",
    ),
)
def test_recorded_runs_follow_the_model(tmp_path: Path, protocol: str, seed: int) -> None:
    text = recorded(Plan(protocol, seed, events=1_000))
    only_follows(tmp_path, text, 1_000)
    taken = {line["action"] for line in lines_of(text) if "action" in line}
    fetches = {"leader_handles_fetch", "leader_answers_parked_fetch", "follower_applies_response"}
    faults = {"response_is_lost", "broker_crashes", "broker_restarts"}
    assert taken >= {"producer_appends", "controller_elects_preferred", *fetches, *faults}
    elected = {"controller_fails_over", "broker_becomes_leader", "broker_becomes_follower"}
    assert taken & {*elected, *OF_KRAFT} == (OF_KRAFT if protocol in KRAFT else elected)
    assert ("follower_reconciles" in taken) == (protocol in ("0.11", "2.0", "2.1", "2.4"))
    since_2_8 = {"controller_handles_alter_partition", "leader_hears_answer", "follower_truncates"}
    has_them = protocol in ("2.8", *KRAFT)
    assert taken & {"broker_bounces", *since_2_8} == (since_2_8 if has_them else {"broker_bounces"})
    assert ("follower_takes_high_watermark_first" in taken) == (protocol in ("2.8", "3.3"))


@pytest.mark.parametrize(
    "more",
    [
        {"acks": "1"},
        {"acks": "0", "min_insync_replicas": 1},
        {"replicas": 2, "min_insync_replicas": 1, "seed": 1},  # all brokers are down for a moment
        exhaustive({"replicas": 4, "records": 6, "elections": 5}),
        {"given": {"EXPAND_EPOCH_START": "off", "OUT_OF_RANGE_HALTS": "on"}},
        exhaustive({"protocol": "0.11", "given": {"HW_CLAMPED_AT_TRUNCATION": "on"}}),
    ],
    ids=lambda more: ",".join(more),
)
def test_other_configurations_follow_too(tmp_path: Path, more: Said) -> None:
    only_follows(tmp_path, recorded(Plan(**{"seed": 3, "events": 800, **more})), is_complete=False)


@pytest.mark.recorded
def test_rare_events_happen_too() -> None:
    text = recorded(Plan("0.10", 3, events=1_200, min_insync_replicas=3)) + recorded(Plan(events=300, acks="0"))
    taken = {line["action"] for line in lines_of(text) if "action" in line}
    of_brokers = {"follower_is_out_of_range", "controller_removes_dead_follower", "leader_shrinks_isr"}
    assert taken >= {*of_brokers, "producer_is_refused", "send_is_lost"}


@pytest.mark.recorded
def test_the_same_plan_gives_the_same_log_with_any_storage(tmp_path: Path) -> None:
    plan, stream = Plan(seed=5, events=300, missing=0.1, unseen=0.1, untold=0.1), io.StringIO()
    assert record(plan, stream, "log", tmp_path) == stream.getvalue().count("\n")
    assert stream.getvalue() == recorded(plan)
    assert (tmp_path / "run-5.1" / "broker-0").is_dir()
    assert recorded(Plan(seed=6, events=300)) != recorded(Plan(seed=5, events=300))


@pytest.mark.parametrize(
    "protocol",
    sampled(
        GENERATIONS,
        lambda protocol: protocol in ("0.11", "2.4", "3.3"),
        last=lambda protocol: protocol not in ("2.8", "3.7"),
    ),
)
def test_missing_events_are_bridged(tmp_path: Path, protocol: str) -> None:
    bridged(tmp_path, recorded(Plan(protocol, seed=2, events=250, missing=0.03, unseen=0.3, untold=0.3)))


def test_actions_without_arguments_and_states_suffice(tmp_path: Path) -> None:
    """Without arguments and observations, there are more possibilities."""
    lines = lines_of(recorded(Plan(seed=2, events=14)))
    for line in lines[1:]:
        line.update(arguments={}, state={})
    (outcome,) = only_follows(tmp_path, text_of(lines), is_complete=False)
    assert outcome.largest > 1


def changed(folder: Path, change: Callable[[list[Said]], object], **limits: int) -> Outcome:
    """The outcome of a run of 20 events with a change of its lines."""
    lines = lines_of(recorded(Plan(seed=2, events=20)))
    change(lines)
    (outcome,) = followed(folder, text_of(lines), **limits)
    return outcome


def test_an_event_without_an_action_is_any_step(tmp_path: Path) -> None:
    outcome = changed(tmp_path, lambda lines: lines[4].update(action=None, arguments={}))
    assert (outcome.verdict, outcome.events, outcome.possible) == (Verdict.FOLLOWED, 20, 1)


IDEMPOTENT = {"enable_idempotence": "on"}
MANY_ELECTIONS = IDEMPOTENT | {"elections": "20", "preferred_elections": "20"}

TAKEN = """\
0.11 enable_idempotence=on
  broker_saves_producer_state:26 producer_appends:23 producer_resends:12 request_fails:9
0.11 enable_idempotence=on delete_records=4
  broker_saves_producer_state:14 follower_starts_over:1 leader_deletes_records:9 producer_appends:18
  producer_begins_new_epoch:6 producer_resends:13 request_fails:11
2.1 enable_idempotence=on min_insync_replicas=3
  broker_saves_producer_state:17 producer_appends:19 producer_begins_new_epoch:1 producer_is_refused:2
  producer_resends:22 request_fails:20
2.4 enable_idempotence=on CLIENT_BUMPS_EPOCH=on delete_records=4
  broker_saves_producer_state:22 leader_deletes_records:10 producer_appends:17 producer_begins_new_epoch:7
  producer_resends:20 request_fails:19
2.1 consumers=1 delete_records=6 auto_offset_reset=earliest
  consumer_fetches:23 consumer_finds_nothing:2 consumer_is_out_of_range:2 leader_deletes_records:12
  producer_appends:24
2.4 consumers=2 delete_records=4 follower_fetching=on
  consumer_fetches:30 consumer_finds_nothing:6 consumer_follows_new_leader:15 consumer_is_out_of_range:8
  consumer_is_sent_to_follower:8 consumer_returns_to_leader:4 leader_deletes_records:10 producer_appends:24
2.4 enable_idempotence=on CLIENT_BUMPS_EPOCH=on consumers=1 delete_records=4 auto_offset_reset=none \
isolation_level=read_committed
  broker_saves_producer_state:10 consumer_fetches:24 consumer_finds_nothing:1 consumer_follows_new_leader:10
  leader_deletes_records:11 producer_appends:13 producer_begins_new_epoch:2 producer_resends:22 request_fails:21
"""
"""How often the steps of clients occur in a run of this generation, with these entries of the configuration."""


@pytest.mark.parametrize(
    ("case", "counts"),
    sampled(
        [(" ".join(words), counts) for words, counts in table(TAKEN)],
        lambda row: "min_insync_replicas" in row[0] or "follower_fetching" in row[0],
    ),
    ids=lambda value: value.partition(":")[0],
)
def test_runs_with_clients_follow_the_model(tmp_path: Path, case: str, counts: str) -> None:
    protocol, *entries = case.split()
    given = dict(entry.split("=") for entry in entries)
    text = recorded(Plan(protocol, seed=1, events=400, given=given))
    only_follows(tmp_path, text)
    assert " ".join(f"{action}:{count}" for action, count in count_of(text, CLIENTS).items()) == counts


CLIENTS = ("producer", "request", "consumer", "broker_saves", "leader_deletes", "leader_mistakes", "follower_starts")

MISTAKEN = IDEMPOTENT | {"delete_records": "4"}
NUMBERED_AGAIN = [
    ("2.0", MANY_ELECTIONS, 13, 101, {"producer_begins_new_epoch": 1}),  # the first records wait for an answer
    ("2.1", MISTAKEN, 7, 57, {"leader_mistakes_request": 1, "producer_begins_from_zero": 1}),
]


@pytest.mark.parametrize(("protocol", "given", "seed", "events", "counts"), NUMBERED_AGAIN)
def test_runs_in_which_a_new_record_is_refused_follow_the_model(
    tmp_path: Path, protocol: str, given: Said, seed: int, events: int, counts: dict[str, int]
) -> None:
    text = recorded(Plan(protocol, seed=seed, events=events, given=given))
    only_follows(tmp_path, text, is_complete=False)
    assert count_of(text, ("producer_begins", "leader_mistakes")) == counts


def count_of(text: str, first_words: tuple[str, ...]) -> dict[str, int]:
    """How often a log has each of the actions that begin with these words."""
    actions = Counter(line["action"] for line in lines_of(text) if line.get("action", "").startswith(first_words))
    return dict(sorted(actions.items()))


GAP_ROWS = """\
CHECKPOINT_ABOVE_HIGH_WATERMARK 0.11 1 1.5 736
  broker_bounces 0 checkpoint 1: models/kafka/actions/bounces.py: its guard `checkpoint <= s.high_watermark[broker]`
  is false (s.high_watermark[0] = 0)
PARKED_FETCH_OF_REELECTED_LEADER 2.0 2 2.2 160
  broker_becomes_leader 1 in epoch 3: it leads to fetch[0][1] = "NONE", but "PARKED" was observed
FETCH_OF_AN_EARLIER_STAY 0.10 1 1.7 857
  broker_becomes_follower 0 in epoch 3: it leads to fetch[0][2] = "NONE", but "PARKED" was observed
FROZEN_BROKER_TAKEN_FOR_DEAD 2.1 3 3.11 1188
  controller_removes_dead_follower 1: models/kafka/actions/zookeeper.py: its guard `not s.is_up[follower]` is false
  (s.is_up[1] = true)
ANSWER_IS_LOST 2.1 1 1.1 21
  producer_resends c at 0: models/kafka/actions/clients.py: its guard `is_first_in_flight(s,
  record)` is false (s.has_sequence[c] = true, s.acknowledged[c] = true)
REQUEST_IS_LATE 2.1 4 4.1 35
  producer_resends f at 0: models/kafka/actions/clients.py: its guard `is_first_in_flight(s,
  record)` is false
MISTAKEN_REQUEST_WAITS 2.1 5 5.2 231
  leader_mistakes_request k at 2: models/kafka/actions/clients.py: its guard `offset <
  s.high_watermark[leader]` is false
TRUNCATION_WITHOUT_LEADER 2.1 4 4.2 288
  follower_reconciles 0 with 1: models/kafka/actions/reconciliation.py: its guard `can_ask(s, follower, leader)` is
  false (s.leader[1] = none)
INELIGIBLE_FOLLOWER 3.7 0 0.1 21
  leader_handles_fetch 0 from 2: it leads to proposed_isr[0][0] = true, but false was observed
HEARTBEAT_OUTLIVES_PROCESS 3.7 2 2.1 13
  controller_unfences_broker 0: models/kafka/actions/kraft.py: its guard `s.is_up[broker]` is false
  (s.is_up[0] = false)
LOG_START_NOT_CHECKPOINTED 2.1 0 0.1 16 | broker_crashes 0: it leads to log_record[0][0] = null, but 0 was observed
"""
GIVEN = {
    ModelGap.ANSWER_IS_LOST: IDEMPOTENT,
    ModelGap.REQUEST_IS_LATE: IDEMPOTENT,
    ModelGap.MISTAKEN_REQUEST_WAITS: MISTAKEN,
    ModelGap.TRUNCATION_WITHOUT_LEADER: {"delete_records": "6"},
    ModelGap.LOG_START_NOT_CHECKPOINTED: {"delete_records": "6"},
}
GAPS = {
    ModelGap[name]: (protocol, int(seed), run, int(line), why)
    for (name, protocol, seed, run, line), why in table(GAP_ROWS)
}
"""Gap -> a run in which it is allowed (with what `GIVEN` has), the line that is rejected then, and why."""

RARE_GAP = ModelGap.TRUNCATION_WITHOUT_LEADER


@pytest.mark.parametrize(
    "gap", [exhaustive(gap) if gap is RARE_GAP else gap for gap in ModelGap], ids=lambda gap: gap.name
)
def test_allowed_model_gaps_lead_to_rejections(tmp_path: Path, gap: ModelGap) -> None:
    """If this test fails, the model may now have the behaviour; then remove the gap from plan.py."""
    protocol, seed, run, line, why = GAPS[gap]
    plan = Plan(protocol, seed, events=line, given=GIVEN.get(gap, {}), allowed=frozenset([gap]))
    (outcome,) = [outcome for outcome in followed(tmp_path, recorded(plan)) if outcome.run == run]
    assert (outcome.verdict, outcome.line, len(outcome.candidates)) == (Verdict.REJECTED, line, 1)
    assert without_line(str(outcome.candidates[0])).startswith(why)


# -------------------------------------------------------------------------------------------------- what it says


def test_a_rejection_names_the_line_the_candidates_and_the_guards(tmp_path: Path) -> None:
    other = {"arguments": {}, "action": "leader_answers_parked_fetch", "state": {}, "broker": 0}
    outcome = changed(tmp_path, lambda lines: lines[1].update(other))
    assert outcome.verdict is Verdict.REJECTED
    assert [*outcome.spell()[:3], without_line(outcome.spell()[3])] == [
        f"{tmp_path / 'log.ndjson'}:2: run 2.1 is rejected: no step of the model leads to the observed state",
        "  event 1 at broker 0: leader_answers_parked_fetch",
        "  after 0 events, with 1 possible state",
        "  leader_answers_parked_fetch 0 to 0: models/kafka/actions/leader.py: its guard"
        " `s.fetch[follower][leader] == Fetch.PARKED` is false (s.fetch[0][0] = NONE)",
    ]


def test_a_rejection_names_the_first_variable_that_differs(tmp_path: Path) -> None:
    outcome = changed(tmp_path, lambda lines: lines[5]["state"].update({"log_end_offset[0]": 9}))
    assert (outcome.verdict, outcome.line, outcome.events) == (Verdict.REJECTED, 6, 4)
    (candidate,) = outcome.candidates
    assert re.fullmatch(r"it leads to log_end_offset\[0\] = [0-3], but 9 was observed", candidate.reason)


def test_an_impossible_start_is_rejected_at_the_header(tmp_path: Path) -> None:
    outcome = changed(tmp_path, lambda lines: lines[0]["state"].update(controller_leader=1))
    assert (outcome.verdict, outcome.line, outcome.events) == (Verdict.REJECTED, 1, 0)
    assert outcome.spell()[1:] == ["  initially: it leads to controller_leader = 0, but 1 was observed"]


def test_a_limit_reached_first_is_undecided(tmp_path: Path) -> None:
    def without_two(lines: list[Said]) -> None:
        del lines[10:12]

    outcome = changed(tmp_path, without_two, most_states=10)
    assert (outcome.verdict, EXIT_CODES[outcome.verdict], outcome.line) == (Verdict.UNDECIDED, UNDECIDED, 11)
    assert "more than 10 states are possible" in outcome.spell()[0]
    outcome = changed(tmp_path, without_two)
    assert (outcome.verdict, outcome.missing) == (Verdict.FOLLOWED, 2)


def test_too_many_missing_events_are_undecided_at_once(tmp_path: Path) -> None:
    outcome = changed(tmp_path, lambda lines: lines[20].update(number=20 + MOST_MISSING + 1))
    assert (outcome.verdict, outcome.line) == (Verdict.UNDECIDED, 21)
    assert outcome.why == "101 events are missing before it, more than 100; record more events"


def test_an_empty_log_has_nothing_to_follow(tmp_path: Path) -> None:
    (outcome,) = followed(tmp_path, "")
    assert (outcome.verdict, EXIT_CODES[outcome.verdict]) == (Verdict.NOTHING, NOTHING)
    header = recorded(Plan(seed=2, events=1)).splitlines(keepends=True)[0]
    (outcome,) = followed(tmp_path, header)
    assert outcome.spell() == ["run 2.1: nothing to follow, there is no event"]


def test_a_log_holds_runs_one_after_the_other(tmp_path: Path) -> None:
    one, other = recorded(Plan(seed=2, events=20)), recorded(Plan(protocol="0.10", seed=3, events=30))
    outcomes = followed(tmp_path, one + other)
    assert [(outcome.run, outcome.events) for outcome in outcomes] == [("2.1", 20), ("3.1", 30)]
    assert outcomes[1].spell() == ["run 3.1 follows the model: 30 events; 1 possible state, 1 at most at one time"]


# ----------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"protocol": "3.0"}, "kafka has no protocol 3.0"),
        ({"bug": "no_such"}, "no bug no_such; the bugs are: hw_off_by_one"),
        ({"given": {"NO_SUCH": "on"}}, "kafka has no entry or switch NO_SUCH"),
        ({"given": {"transactions": "1"}}, "transactions=1: recorded runs cannot have this entry, or choose its value"),
        (
            {"protocol": "0.10", "given": {"enable_idempotence": "on"}},
            "Idempotent producers came with the record format",
        ),
        ({"acks": "2"}, "acks=2: no such value"),
        ({"missing": 1.5}, "missing=1.5: a share is between 0 and 1"),
        ({"replicas": 9}, "replicas=9 is impossible"),
    ],
)
def test_an_impossible_plan_is_refused(plan: Said, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        recorded(Plan(**plan))


class Full(io.StringIO):
    """A file on a disk with room for this number of characters."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > 20_000:
            super().write(text[: 20_000 - self.tell()])
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_full_disk_is_one_clear_line_and_leaves_no_acceptable_log(tmp_path: Path) -> None:
    stream = Full()
    with pytest.raises(UsageError) as error:
        record(Plan(events=300), stream, "runs.ndjson")
    line = stream.getvalue().count("\n") + 1
    assert str(error.value) == (
        f"runs.ndjson:{line}: cannot be written: No space left on device; free some space, or write elsewhere"
    )
    with pytest.raises(UsageError, match=rf"log\.ndjson:{line}: the file ends in the middle of this line"):
        followed(tmp_path, stream.getvalue())


def test_a_full_disk_of_a_broker_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> None:
        raise StorageError("00000000000000000000.log: no space left on the device; free some, or use another directory")

    monkeypatch.setattr(FileStorage, "append", full)
    with pytest.raises(
        UsageError, match=r"^runs\.ndjson:\d+: the cluster halted: 0{20}\.log: no space left on the dev"
    ):
        record(Plan(seed=1, events=300), io.StringIO(), "runs.ndjson", tmp_path)
