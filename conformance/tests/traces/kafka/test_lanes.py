"""The columns of brokers and clients in views of Kafka traces, symbol by symbol, and their notes on pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.tests.traces.stories import Story, history, stories, title_of
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import Stop
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import is_kafka, legend, rows, shown_fields, titles
from isrcheck.traces.lanes.scene import Cell, Fate
from isrcheck.traces.lanes.table import WIDTH, lay_out, widest
from isrcheck.traces.terminal.show import full_state, view


def column(trace: Trace, name: str) -> dict[int, str]:
    """The contents of a column, by step."""
    number = titles(trace.instance).index(name)
    return {int(row.number): "; ".join(row.cells[number]) for row in rows(trace) if row.cells[number]}


def examples(trace: Trace) -> str:
    """The signs that the legend of a trace explains, by their examples."""
    return ", ".join(line.split("  ")[1] for line in legend(trace))


def shown(trace: Trace, subject: str) -> str:
    """What a trace shows of a subject: `legend`, `broker 0`, `broker 0 at 3`, `notes of broker 0 at 3`."""
    if subject == "legend":
        return examples(trace)
    name, _, step = subject.removeprefix("notes of ").partition(" at ")
    if subject.startswith("notes of "):
        return "; ".join(scene_of(trace).moments[int(step)].lanes[titles(trace.instance).index(name)].notes)
    if step:
        return column(trace, name)[int(step)]
    return "; ".join(f"{number} {text}" for number, text in column(trace, name).items())


COLUMNS = """
# A down broker keeps its log, and broker 1 joins the ISR with its second fetch: min_insync_replicas=1
COMMITTED; broker_crashes 0; election_of 1 1; producer_appends at 1
  controller: 0 e0 leader 0 isr 0; 4 e0 leader 0 isr 01; 6 e1 leader 1 isr 1
  broker 0: 0 L0 |; 1 L0 a0|; 5 x  a0|
  broker 1: 0 f0 |; 3 f0 a0|; 7 L1 a0|; 8 L1 a0 b1|
  clients: 1 reads a, acked a; 8 reads b, acked b

# A leader with another ISR than the controller's: acked_not_lost
CLASSIC
  controller at 6: e1 leader 1 isr 1
  broker 0 at 6: L0 a0| (isr 01)

# KIP-279, asked for epoch 1, of which it knows nothing, the leader names the start of epoch 2: FAST log_matching
FAST_FAIL_OVER
  broker 1: 0 f0 a0|; 6 L1 a0| (isr 01); 7 L1 a0|d1 (isr 01); 8 t2 a0|d1; 9 f2 a0|d1 (e1 until 2); 11 f2 a0 d1 c2|
  legend: t1

# The leader has no entry: 2.0
producer_appends at 0; election_of 1 1; follow_on 0 1 1
  broker 0 at 5: f1 | (e0 unknown)

# The leader has entered its own epoch, and epoch 0 ends where that starts: 2.1
producer_appends at 0; election_of 1 1; follow_on 0 1 1
  broker 0 at 5: f1 | (e0 until 0)

# Broker 1, which led in epoch 1, asks broker 2, which never heard of that: 2.1 WHOLE
producer_appends at 0; leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2
follower_applies_response 1 from 0
follower_applies_response 2 from 0; election_of 1 1; election_of 2 2; follow_on 1 2 2
  broker 1 at 10: t2 |a0 {1@1}
  broker 1 at 11: f2 |a0 {1@1} (e0 until 1)

# A follower that has no answer yet: 2.1 WHOLE
producer_appends at 0; election_of 1 1; broker_becomes_follower 0 in epoch 1; broker_becomes_follower 2 in epoch 1
  broker 0: 0 L0 |; 1 L0 |a0; 2 L0 |a0 (isr 012); 4 t1 |a0

# A follower that becomes the leader before its answer: 2.1 WHOLE
COMMITTED[:3]; election_of 2 1; broker_becomes_follower 1 in epoch 1; election_of 1 2
  broker 1 at 6: t1 |a0
  broker 1 at 8: L2 a0|

# An empty follower asks nothing: 2.1
election_of 1 1; follow_on 2 1 1
  broker 2: 0 f0 |; 3 t1 |; 4 f1 |

# A leader's own epoch entry shows after its leadership: 2.1 WHOLE
election_of 1 1; controller_fails_over to 2; broker_becomes_follower 1 in epoch 2
  broker 1: 0 f0 |; 2 L1 |; 3 L1 | (isr 12); 4 t2 | {1@0}
  legend: t1, {1@2}

# Up to 2.0 a leader enters its epoch with its first record: 2.0 WHOLE
election_of 1 1; controller_fails_over to 2; broker_becomes_follower 1 in epoch 2
  broker 1 at 4: t2 |

# Up to 2.0 no older entry is made: 0.11 start=1 min_insync_replicas=1 preferred_elections=1 replicas=2
controller_elects_preferred 1; election_of 0 2; producer_appends at 0; copy_to 1
broker_becomes_leader 1 in epoch 1; producer_appends at 1
  broker 1: 0 f0 |; 6 f0 a2|; 7 L1 a2| (isr 01); 8 L1 a2|b1 {1@-} (isr 01)
  legend: {1@2}

# A transaction blocks readers until its marker is committed: 2.1 offsets_ordered HOLDS transactions=1
TRANSACTION
  broker 0: 0 L0 |; 1 L0 |a0; 4 L0 :a0|; 6 L0 :a0|C0; 9 L0 a0 C0|
  broker 1: 0 f0 |; 3 f0 |a0; 8 f0 :a0|C0
  clients: 1 sends a in transaction; 4 read_uncommitted reads a, acked a; 5 transaction committed; 9 read_committed
    reads a
  legend: :, C0

# Several transactions are numbered: 2.1 transactions=2 delete_records=1 log_size=3
producer_appends at 0; producer_appends_in_transaction at 0 in 1; COMMITTED[1:]; coordinator_aborts 1
leader_appends_marker of 1 at 0
ROUND; leader_answers_parked_fetch 0 to 1; leader_deletes_records at 0 before 2
  broker 0: 0 L0 |; 1 L0 |a0; 2 L0 |a0 b0; 5 L0 a0:b0|; 7 L0 a0:b0|1A0; 10 L0 a0 b0 1A0|; 12 L0 . . 1A0|
  clients: 2 sends b in transaction 1; 5 reads a, read_uncommitted reads b, acked a, acked b; 6 transaction 1
    aborted; 10 read_committed skips b
  legend: :, A0, .

# The follower's high watermark stays below its log start until it hears from its leader: 2.1 delete_records=1
producer_appends at 0; leader_shrinks_isr 0 by {1}; leader_deletes_records at 0 before 1; follower_starts_over 1 at 0
  broker 0: 0 L0 |; 1 L0 |a0; 2 L0 a0|; 3 L0 .|
  broker 1: 0 f0 |; 4 f0 |.
  legend: .

# The newest epoch stays in the cache of an empty log, and up to 2.0 nothing else says so: 2.0 delete_records=1
producer_appends at 0; leader_shrinks_isr 0 by {1}; leader_deletes_records at 0 before 1
  broker 0 at 3: L0 .| {0@1}

# Records that are sent again and read again: 2.1 WHOLE retries=1
SENT_AGAIN; follow_on 2 1 1; replicate_to 2 1
  clients: 6 sends a again; 11 reads a, reads a again, acked a

# Records that are readable instead of those that were read first are reported once: 0.11
READ_TWICE; broker_becomes_follower 1 in epoch 1
  clients: 4 reads a, acked a; 11 reads b instead of a

# The same with transactions: 0.11 transactions=1 isolation_level=1
READ_TWICE
  clients at 11: reads b instead of a

# A record of an open transaction was not read by readers of committed records: 0.11 transactions=1
IN_TRANSACTION[0]; READ_TWICE[1:]
  clients at 11: read_committed reads b, reads b instead of a

# A marker where a record was has its own phrase, since readers get nothing there: 0.11 transactions=1
IN_TRANSACTION[0]; STALE_RESTART[1:]; broker_becomes_leader 2 in epoch 1; coordinator_aborts 0
leader_appends_marker of 0 at 2; leader_shrinks_isr 2 by {1}
  clients at 12: reads the abort marker instead of a

# Records known from the start: 2.1 common_records=2
  clients: 0 reads a, reads b, acked a, acked b

# Records known from the start with transactions: 2.1 common_records=2 transactions=1
  clients: 0 reads a, reads b, acked a, acked b

# With ZooKeeper only a leader is behind: 2.8 WHOLE
STALE_RECORD[:9]
  controller at 9: e0 p2 leader 0 isr 012
  broker 0 at 6: L0 |a0
  broker 0 at 9: L0 |a0 p1 (isr 01+2<)
  broker 2: 0 f0 |

# Up to 2.4 there are no partition epochs: 2.4 WHOLE
STALE_RECORD[:2]
  controller: 0 e0 leader 0 isr 012
  legend:

# A refused change stays pending: 3.7 WHOLE preferred_elections=1
STALE_RECORD[0]; STALE_RECORD[2]; controller_elects_preferred 1; STALE_RECORD[4]
  broker 0 at 4: L0 |a0 p0 (isr 012-2?)
  legend: p1, (isr 01+2>), (isr 01+2?)
  notes of broker 0 at 4: ISR 012; followers at 1:0 2:0; acks=all waits: a; proposes ISR 01; waits for newer
    metadata; knows partition epoch 0

# An ineligible member: 3.7 WHOLE fencings=1
INELIGIBLE; STALE_RECORD[9]
  controller at 6: e0 p1 leader 0 isr 01 fenced 2
  broker 0 at 7: L0 |a0 m0 (isr 01+2!)
  broker 0 at 8: L0 |a0 p1!012
  legend: p1, m0, fenced 2, (isr 01+2>), (isr 01+2<), (isr 01+2!), p1!012
  notes of broker 0 at 8: ISR 01; followers at 1:0 2:0; acks=all waits: a; dropped: ISR 012; INELIGIBLE_REPLICA,
    answer under way

# A request outlives its sender: 3.7 WHOLE
STALE_RECORD[0]; STALE_RECORD[2]; broker_crashes 0
  broker 0 at 3: x  |a0 p0>01
  legend: p1, (isr 01+2>), p1>012
  notes of broker 0 at 3: dropped: ISR 01; request under way

# A request names an earlier process: 3.7 crashes=2
leader_handles_fetch 0 from 2; broker_crashes 2; broker_crashes 0; broker_restarts 2 checkpoint 0
  broker 0 at 4: x  | {0@0} p0>012'
  legend: {1@2}, p1, fenced 2, (isr 01+2>), p1>012, 2'
  notes of broker 0 at 4: epoch cache 0@0; dropped: ISR 012'; request under way

# ELR and last known leader: 4.1 UNCLEAN
LAST_KNOWN_LEADER
  controller: 0 e0 p0 leader 0 isr 01; 7 e0 p1 leader 0 isr 0 elr 1 fenced 1; 8 e1 p2 no leader isr - last 0 elr 01
    fenced 01; 9 e1 p3 no leader isr - last 0 elr 1 fenced 01; 10 e1 p3 no leader isr - last 0 elr 1 fenced 1; 11 e2
    p4 leader 0 isr 0 fenced 1
  broker 0: 0 L0 |; 1 L0 |a0; 4 L0 a0|; 6 x  | cut; 9 n1 |; 11 n1 | p3
  legend: p1, elr 2, last 0, fenced 2, n1, cut
  notes of controller at 9: no leader; ISR -; last known leader 0; ELR 1; fenced: 01
  notes of broker 0 at 6: lost a part of its log

# A controlled shutdown: 4.1 shutdowns=1
broker_asks_to_shut_down 1; broker_applies_metadata 0 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; broker_shuts_down 1
  controller: 0 e0 p0 leader 0 isr 01; 1 e0 p1 leader 0 isr 0 elr 1 stopping 1; 4 e0 p1 leader 0 isr 0 elr 1 fenced 1
  broker 0: 0 L0 |; 1 L0 | p0 (isr 01); 2 L0 |
  broker 1: 0 f0 |; 1 f0 | p0; 4 x  | clean
  legend: p1, elr 2, fenced 2, stopping 2, clean
  notes of controller at 1: leader 0; ISR 0; ELR 1; shutting down: 1
  notes of broker 1 at 4: shut down in order

# An earlier process of a follower: 3.7
broker_crashes 1; controller_fences_broker 1; broker_restarts 1 checkpoint 0
  broker 0: 0 L0 |; 2 L0 | p0 (isr 01); 3 L0 | p0 (isr 01')
  legend: p1, fenced 2, 2'
  notes of broker 0 at 3: ISR 01; followers at 1:0 2:0; knows partition epoch 0; earlier process known: 1

# A leader asks for an earlier process to join: 3.7
leader_handles_fetch 0 from 2; restart_of 2
  broker 0 at 3: L0 | (isr 01+2'>)

# Replicas that are removed and added: 3.7 reassignments=2
controller_begins_reassignment to {0,1}; controller_begins_reassignment to {0,1,2}
  controller: 0 e0 p0 leader 0 isr 01; 1 e1 p1 leader 0 isr 01 replicas 01; 2 e1 p2 leader 0 isr 01 adding 2
  broker 0: 0 L0 |; 1 L0 | p0 (replicas 012); 2 L0 | p0 (adding -)
  legend: p1, replicas 01, adding 2, (replicas 01), (adding 2)
  notes of controller at 1: leader 0; ISR 01; replicas 01
  notes of controller at 2: leader 0; ISR 01; adding: 2
  notes of broker 0 at 1: elected for epoch 1; ISR 01; followers at 1:0 2:0; knows replicas 012; knows partition
    epoch 0

# A replica that is to leave: 4.1 reassignments=1
controller_begins_reassignment to {2}
  controller at 1: e0 p1 leader 0 isr 01 removing 01

# A changed minimum and an unregistered broker: 4.1 unregistrations=1 min_isr_changes=1
broker_crashes 1; controller_fences_broker 1; controller_unregisters_broker 1
operator_changes_min_insync_replicas to 1
  controller at 4: e0 p2 leader 0 isr 0 fenced 1 unregistered 1 min 1
  broker 0 at 4: L0 | p0 (isr 01) min 2
  legend: p1, elr 2, fenced 2, unregistered 2, min 1
  notes of controller at 4: leader 0; ISR 0; fenced: 1; unregistered: 1; min.insync.replicas 1
  notes of broker 0 at 4: ISR 01; followers at 1:0 2:0; knows min.insync.replicas 2; knows partition epoch 0

# A caught-up follower that the high watermark waits for: 3.7 HW_WAIT=CAUGHT_UP fencings=1
leader_handles_fetch 0 from 2; controller_fences_broker 2; controller_handles_alter_partition of 0
leader_hears_answer 0
  broker 0 at 4: L0 | waits 2
  legend: p1, fenced 2, (isr 01+2>), (isr 01+2!), waits 2
  notes of broker 0 at 4: ISR 01; followers at 1:0 2:0; HW waits for 2

# A log that is flushed in part: 3.7 common_records=1 records=2 log_size=2
producer_appends at 0
  broker 0: 0 L0 a0|; 1 L0 a0|b0 flushed 1
  legend: p1, flushed 1
  notes of broker 0 at 1: ISR 01; followers at 1:1 2:1; acks=all waits: b; flushed to 1

# A late fetch: 3.5 late_fetches=1
LATE_FETCH
  broker 0: 0 L0 |; 1 L0 | late 2@0; 3 L0 | (isr 01+2>)
  legend: p1, fenced 2, (isr 01+2>), late 2@1
  notes of broker 0 at 1: ISR 01; followers at 1:0 2:0; late fetch of 2 from 0

# A diverging response: 3.7 WHOLE preferred_elections=1
producer_appends at 0; copy_to 1; controller_elects_preferred 2; broker_applies_metadata 1 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; leader_handles_fetch 2 from 1; follower_truncates 1 from 2
  broker 1: 0 f0 |; 3 f0 |a0; 4 f0 |a0 p0; 5 f1 |a0; 7 f1 |a0 2 says e0 until 0; 8 f1 |
  legend: p1, 0 says e1 until 2
  notes of broker 1 at 7: fetch answered by 2; 2 says e0 until 0

# A follower that takes the high watermark before it truncates: 3.3 WHOLE preferred_elections=1
producer_appends at 0; copy_to 1; controller_elects_preferred 2; broker_applies_metadata 1 of partition epoch 1
broker_applies_metadata 2 of partition epoch 1; leader_handles_fetch 2 from 1
follower_takes_high_watermark_first 1 from 2; follower_truncates 1 from 2
  broker 1: 0 f0 |; 3 f0 |a0; 4 f0 |a0 p0; 5 f1 |a0; 7 f1 |a0 2 says e0 until 0; 8 t1 |a0 2 says e0 until 0; 9 f1 |
  legend: t1, p1, 0 says e1 until 2
  notes of broker 1 at 7: fetch answered by 2; 2 says e0 until 0
"""
"""Of each history, what the steps show: whole columns, each content with the number of its step, or single contents."""


@pytest.mark.parametrize("story", stories(COLUMNS), ids=title_of)
def test_columns_legends_and_notes(story: Story) -> None:
    trace, ((_, lines),) = story.trace(), story.shown
    for line in "\n".join(lines).replace("\n  ", " ").splitlines():
        subject, _, expected = line.partition(":")
        assert shown(trace, subject) == expected.strip(), subject


# --------------------------------------------------------------------------------------------------- unreachable states


def changed(trace: Trace, fields: Mapping[str, Mapping[int, int]]) -> Trace:
    """The trace with other values in some cells of some fields of its last state."""
    cells = list(trace.states[-1])
    for name, values in fields.items():
        for index, value in values.items():
            cells[trace.instance.layouts[name].offset + index] = value
    return replace(trace, states=(*trace.states[:-1], tuple(cells)))


def test_an_unreachable_log_is_shown_unchanged() -> None:
    """In a counterexample to induction, the first state can have gaps in a log, and entries beyond its end."""
    trace = changed(history("producer_appends at 0"), {"log_record": {0: -1, 3: 1}, "log_epoch": {0: -1, 3: -1}})
    assert (column(trace, "broker 0")[1], column(trace, "broker 1")[1]) == ("L0 |?", "f0 |[b?]")
    assert examples(trace) == "?, [a0]"
    moment = scene_of(trace).moments[1]
    assert moment.lanes[1].cells == (Cell("?", None, "missing"), Cell("", None, "free"))
    assert moment.lanes[2].cells == (Cell("", None, "free"), Cell("[b?]", None, "missing"))
    assert moment.fates == (Fate("a", (("sent", 1), ("on no broker", 1))), Fate("b", (("never sent", 1),)))
    assert moment.lanes[4].notes == ("a: on no broker", "b: never sent")


def test_a_request_need_not_be_about_the_pending_change() -> None:
    requested = history("STALE_RECORD[0]; STALE_RECORD[2]", "3.7 WHOLE")
    # How the broker stopped has no meaning while it runs.
    trace = changed(requested, {"requested_isr": {1: 0}, "stopped_by": {0: Stop.SHUTDOWN}})
    assert column(trace, "broker 0")[2] == "L0 |a0 (isr 012-2?) p0>0"


def test_a_leader_that_has_not_entered_its_epoch_says_so() -> None:
    missing = changed(history("election_of 1 1", "2.1 WHOLE"), {"epoch_cache": {4: -1}})
    assert column(missing, "broker 1")[2] == "L1 | {1@-}"


def test_a_high_watermark_above_the_log_end_shows_what_is_missing() -> None:
    trace = changed(history("IN_TRANSACTION", "2.1 transactions=1"), {"high_watermark": {0: 2, 1: 2, 2: 2}})
    assert [column(trace, f"broker {r}")[4] for r in range(3)] == ["L0 :a0 -|", "f0 :a0 -|", "f0 - -|"]
    assert examples(trace) == ":, -"


def test_letters_of_records_are_not_symbols() -> None:
    letter = changed(history("producer_appends at 0", "records=26"), {"log_record": {0: ord("t") - ord("a")}})
    assert (column(letter, "broker 0")[1], examples(letter)) == ("L0 |t0", "")


def test_a_record_that_was_never_noted_as_read_contradicts_nothing() -> None:
    assert column(changed(history("COMMITTED"), {"exposed_record": {0: -1}}), "clients") == {4: "acked a"}


def test_before_leader_epochs_there_are_no_caches() -> None:
    trace = history("producer_appends at 0")
    assert trace.states[-1][trace.instance.layouts["epoch_cache"].offset] == -1
    assert column(trace, "broker 0")[1] == "L0 |a0"


# ---------------------------------------------------------------------------------------------------------------- width


def cells_of(trace: Trace, step: int, number: int) -> list[tuple[str, ...]]:
    """The lines of a cell in each layout of the table."""
    return [rows(trace, stacked)[step].cells[number] for stacked in range(5)]


def test_stacked_lanes_take_more_lines() -> None:
    trace = history("MISSED_DEMOTION", "2.1 isr_is_complete elections=3 preferred_elections=1")
    assert cells_of(trace, 8, 2) == [("L1 | (isr 012)",), *[("L1 |", "  (isr 012)")] * 4]
    assert cells_of(trace, 7, -1) == [*[("reads a, acked a",)] * 2, *[("reads a", "acked a")] * 3]
    assert cells_of(trace, 6, 0) == [*[("e2 leader 0 isr 02",)] * 3, *[("e2 leader 0", "  isr 02")] * 2]
    in_transaction = history("IN_TRANSACTION", "2.1 transactions=2")
    assert cells_of(in_transaction, 1, -1) == [
        *[("sends a in transaction 0",)] * 4,
        ("sends a in", "  transaction 0"),
    ]
    assert cells_of(in_transaction, 4, -1) == [
        *[("read_uncommitted reads a, acked a",)] * 2,
        *[("read_uncommitted reads a", "acked a")] * 2,
        ("read_uncommitted", "  reads a", "acked a"),
    ]


def test_items_share_lines_where_the_table_is_narrow() -> None:
    trace = history("STALE_RECORD", "3.7 WHOLE")
    assert cells_of(trace, 10, 1) == [
        ("L0 a0| p1 (isr 01) p2<012",),
        ("L0 a0| p1 (isr 01)", "  p2<012"),
        *[("L0 a0| p1", "  (isr 01)", "  p2<012")] * 3,
    ]
    assert cells_of(trace, 12, 0) == [
        ("e1 p3 leader 2 isr 12 fenced 0",),
        *[("e1 p3 leader 2 isr 12", "  fenced 0")] * 2,
        ("e1 p3 leader 2", "  isr 12 fenced 0"),
        ("e1 p3 leader 2", "  isr 12", "  fenced 0"),
    ]


@pytest.mark.parametrize(
    ("steps", "settings", "stacked"),
    [
        ("COMMITTED", "", 0),
        ("FAST_FAIL_OVER", "FAST", 1),
        ("MISSED_DEMOTION", "2.1 elections=3 preferred_elections=1", 2),
        ("WITHOUT_MARKER", "0.11 transactions=1", 3),
        ("STALE_RECORD", "3.7 WHOLE", 3),
        ("WITHOUT_MARKER; controller_fails_over to 2", "0.11 transactions=2", 4),
    ],
)
def test_a_table_is_stacked_where_it_would_not_fit(steps: str, settings: str, stacked: int) -> None:
    trace = history(steps, settings)
    tables = [lay_out(titles(trace.instance), rows(trace, level)) for level in range(5)]
    assert [widest(table) <= WIDTH for table in tables] == [level >= stacked for level in range(5)]
    lines = view(trace)[2:-2]
    assert lines[: len(tables[stacked])] == tables[stacked]
    signs = legend(trace)
    assert lines[len(tables[stacked]) :][: len(signs) + 1] == (["", *signs] if signs else [])


def test_a_table_that_cannot_fit_is_shown_nevertheless() -> None:
    trace = history("COMMITTED", "replicas=7")
    table = lay_out(titles(trace.instance), rows(trace, 4))
    assert max(map(len, table)) > WIDTH
    assert view(trace)[2:-2] == table


# ------------------------------------------------------------------------------------------------ cells, field by field


def test_only_models_with_all_shown_variables_count_as_kafka() -> None:
    model, _ = registry.load("kafka")
    assert is_kafka(model.instance("2.1"))
    assert is_kafka(registry.load("kafka_liveness")[0].instance("3.1"))
    assert all(is_kafka(registry.load("kafka_scenarios")[0].instance(protocol)) for protocol in model.protocols)
    # Without its functions, which need every field.
    without = replace(model, actions=(), properties=(), lemmas=())
    assert is_kafka(without.instance("2.1"))
    for lacking in ("retries_left", "proposed_isr", "fencings_left"):
        fields = {name: field for name, field in model.fields.items() if name != lacking}
        assert not is_kafka(replace(without, fields=fields).instance("2.1"))
    entries = {name: entry for name, entry in model.entries.items() if name != "TRUNC"}
    assert not is_kafka(replace(without, entries=entries).instance("2.1"))


def test_fields_that_a_generation_does_not_have_are_not_shown() -> None:
    instance = history("STALE_RECORD[:2]", "2.4 WHOLE").instance
    lacking = {"controller_partition_epoch", "proposed_isr", "last_known_leader", "fencings_left"}
    assert lacking.isdisjoint(field.name for field in shown_fields(instance))


@pytest.mark.parametrize(
    ("steps", "settings", "log"),
    [
        ("TRANSACTION[:6]", "2.1 transactions=1", "[[a marker] [a none] [none none]]"),
        (
            "producer_appends at 0; producer_appends_in_transaction at 0 in 1; COMMITTED[1:]; coordinator_aborts 1;"
            " leader_appends_marker of 1 at 0; ROUND",
            "2.1 transactions=2 log_size=3",
            "[[a b marker1] [a b marker1] [none none none]]",
        ),
    ],
)
def test_markers_are_not_letters_in_fields_either(steps: str, settings: str, log: str) -> None:
    trace = history(steps, settings)
    assert f"log_record                 {log}" in full_state(trace.instance, trace.states[-1])


def test_the_heading_fits_too() -> None:
    bounds = "2.1 replicas=2 records=4 log_size=3 elections=3 crashes=0"
    assert view(history("", f"{bounds} retries=1 transactions=1"))[:3] == [
        "kafka/2.1, replicas=2 records=4 log_size=3 elections=3 crashes=0 retries=1 transactions=1",
        "",
        "  #  step       controller          broker 0  broker 1  clients",
    ]
    more = "min_insync_replicas=1 common_records=1 max_in_flight_requests=1 delete_records=1"
    assert view(history("", f"{bounds} {more}"))[:2] == [
        "kafka/2.1, replicas=2 records=4 log_size=3 elections=3 crashes=0 delete_records=1 min_insync_replicas=1",
        "    max_in_flight_requests=1 common_records=1",
    ]


def test_the_full_view_fits_too() -> None:
    assert widest(view(history("TRANSACTION", "2.1 transactions=1"), full=True)) <= WIDTH
