"""The items that the generations since 2.8 add to the columns, and their notes on pages, mechanism by mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conformance.tests.support.trace import (
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    LATE_FETCH,
    STALE_RECORD,
    WHOLE,
    kafka,
)
from isrcheck.models.kafka.state.values import Stop
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.lanes import legend, rows
from isrcheck.traces.kafka.model import shown_fields
from isrcheck.traces.lanes.table import WIDTH, lay_out, widest
from isrcheck.traces.terminal.show import lane_titles, view


def column(trace: Trace, number: int, stacked: int = 0) -> dict[int, str]:
    """The contents of the controller's column (0) or of a broker's (1 and on), by step."""
    return {row.number: "\n".join(row.cells[number]) for row in rows(trace, stacked) if row.cells[number]}


def examples(trace: Trace) -> list[str]:
    """The signs that the legend of a trace explains, by their examples."""
    return [line.split("  ")[1] for line in legend(trace)]


def notes(trace: Trace, lane: int, position: int = -1) -> tuple[str, ...]:
    return scene_of(trace).moments[position].lanes[lane].notes


def stale_record(protocol: str = "3.7", length: int = 12) -> Trace:
    return kafka(STALE_RECORD[:length], None, None, protocol, WHOLE)


# ------------------------------------------------------------------------------------- AlterPartition and metadata


def test_the_columns_of_a_stale_record() -> None:
    found = stale_record()
    assert column(found, 0) == {
        0: "e0 p0 leader 0 isr 012",
        5: "e0 p1 leader 0 isr 01",
        9: "e0 p2 leader 0 isr 012",
        12: "e1 p3 leader 2 isr 12 fenced 0",
    }
    assert column(found, 1) == {
        0: "L0 |",
        1: "L0 |a0",
        3: "L0 |a0 (isr 012-2>)",
        5: "L0 |a0 p0 (isr 012-2<)",
        6: "L0 |a0 m0",
        7: "L0 |a0 m0 (isr 01+2>)",
        9: "L0 |a0 p1 m0 (isr 01+2<)",
        10: "L0 a0| p1 (isr 01) p2<012",
        11: "x  a0|",
    }
    assert column(found, 2) == {0: "f0 |", 4: "f0 |a0", 5: "f0 |a0 p0"}
    assert column(found, 3) == {0: "f0 |", 5: "f0 | p0"}
    assert examples(found) == ["p1", "m0", "fenced 2", "(isr 01+2>)", "(isr 01+2<)", "p2<012"]


def test_with_zookeeper_only_a_leader_is_behind() -> None:
    found = stale_record("2.8", 9)
    assert column(found, 0)[9] == "e0 p2 leader 0 isr 012"
    assert column(found, 1)[6] == "L0 |a0"
    assert column(found, 1)[9] == "L0 |a0 p1 (isr 01+2<)"
    assert column(found, 3) == {0: "f0 |"}


def test_up_to_2_4_there_are_no_partition_epochs() -> None:
    found = kafka(STALE_RECORD[:2], None, None, "2.4", WHOLE)
    assert column(found, 0) == {0: "e0 leader 0 isr 012"}
    assert examples(found) == []
    assert not any(line.startswith("controller_partition_epoch") for line in view(found, full=True))
    assert {"proposed_isr", "last_known_leader", "fencings_left"}.isdisjoint(
        one.name for one in shown_fields(found.instance)
    )


REFUSED = (*STALE_RECORD[:1], STALE_RECORD[2], "controller_elects_preferred 1", STALE_RECORD[4])


def test_a_refused_change_stays_pending() -> None:
    found = kafka(REFUSED, None, None, "3.7", WHOLE, preferred_elections=1)
    assert column(found, 1)[4] == "L0 |a0 p0 (isr 012-2?)"
    assert examples(found) == ["p1", "(isr 01+2>)", "(isr 01+2?)"]
    assert notes(found, 1)[3:] == ("proposes ISR 01", "waits for newer metadata", "knows partition epoch 0")


def test_an_ineligible_member() -> None:
    found = kafka([*INELIGIBLE, STALE_RECORD[9]], None, None, "3.7", WHOLE, fencings=1)
    assert column(found, 0)[6] == "e0 p1 leader 0 isr 01 fenced 2"
    assert column(found, 1)[7] == "L0 |a0 m0 (isr 01+2!)"
    assert column(found, 1)[8] == "L0 |a0 p1!012"
    assert examples(found)[-2:] == ["(isr 01+2!)", "p1!012"]
    assert notes(found, 1)[3:] == ("dropped: ISR 012", "INELIGIBLE_REPLICA, answer under way")


def test_a_request_outlives_its_sender() -> None:
    found = kafka([*REFUSED[:2], "broker_crashes 0"], None, None, "3.7", WHOLE)
    assert column(found, 1)[3] == "x  |a0 p0>01"
    assert examples(found) == ["p1", "(isr 01+2>)", "p1>012"]
    assert notes(found, 1) == ("dropped: ISR 01", "request under way")


def test_a_request_names_an_earlier_process() -> None:
    steps = ["leader_handles_fetch 0 from 2", "broker_crashes 2", "broker_crashes 0", "broker_restarts 2 checkpoint 0"]
    found = kafka(steps, None, None, "3.7", crashes=2)
    assert column(found, 1)[4] == "x  | {0@0} p0>012'"
    assert examples(found)[-2:] == ["p1>012", "2'"]
    assert notes(found, 1) == ("epoch cache 0@0", "dropped: ISR 012'", "request under way")


def test_an_unreachable_state_is_shown_unchanged() -> None:
    """In a counterexample to induction, a request need not be about the pending change."""
    found = kafka(REFUSED[:2], None, None, "3.7", WHOLE)
    cells = list(found.states[-1])
    layouts = found.instance.layouts
    cells[layouts["requested_isr"].offset + 1] = 0
    cells[layouts["stopped_by"].offset] = Stop.SHUTDOWN  # without a meaning while the broker runs
    changed = replace(found, states=(*found.states[:-1], tuple(cells)))
    assert column(changed, 1)[2] == "L0 |a0 (isr 012-2?) p0>0"


# ---------------------------------------------------------------------------------------------- lives of brokers, ELR


def test_elr_and_last_known_leader() -> None:
    values = {"power_losses": 1, "partition_changes": 4, "elections": 2}
    found = kafka(LAST_KNOWN_LEADER, None, None, "4.1", **values)
    assert column(found, 0) == {
        0: "e0 p0 leader 0 isr 01",
        7: "e0 p1 leader 0 isr 0 elr 1 fenced 1",
        8: "e1 p2 no leader isr - last 0 elr 01 fenced 01",
        9: "e1 p3 no leader isr - last 0 elr 1 fenced 01",
        10: "e1 p3 no leader isr - last 0 elr 1 fenced 1",
        11: "e2 p4 leader 0 isr 0 fenced 1",
    }
    assert column(found, 1) == {0: "L0 |", 1: "L0 |a0", 4: "L0 a0|", 6: "x  | cut", 9: "n1 |", 11: "n1 | p3"}
    assert examples(found) == ["p1", "elr 2", "last 0", "fenced 2", "n1", "cut"]
    assert notes(found, 0, 9) == ("no leader", "ISR -", "last known leader 0", "ELR 1", "fenced: 01")
    assert notes(found, 1, 6) == ("lost a part of its log",)


def test_a_controlled_shutdown() -> None:
    metadata = [f"broker_applies_metadata {r} of partition epoch 1" for r in (0, 2)]
    steps = ["broker_asks_to_shut_down 1", *metadata, "broker_shuts_down 1"]
    found = kafka(steps, None, None, "4.1", shutdowns=1)
    assert column(found, 0)[1] == "e0 p1 leader 0 isr 0 elr 1 stopping 1"
    assert column(found, 0)[4] == "e0 p1 leader 0 isr 0 elr 1 fenced 1"
    assert column(found, 1) == {0: "L0 |", 1: "L0 | p0 (isr 01)", 2: "L0 |"}
    assert column(found, 2) == {0: "f0 |", 1: "f0 | p0", 4: "x  | clean"}
    assert examples(found) == ["p1", "elr 2", "fenced 2", "stopping 2", "clean"]
    assert notes(found, 0, 1)[-1] == "shutting down: 1"
    assert notes(found, 2) == ("shut down in order",)


def test_an_earlier_process_of_a_follower() -> None:
    steps = ["broker_crashes 1", "controller_fences_broker 1", "broker_restarts 1 checkpoint 0"]
    found = kafka(steps, None, None, "3.7")
    assert column(found, 1) == {0: "L0 |", 2: "L0 | p0 (isr 01)", 3: "L0 | p0 (isr 01')"}
    assert examples(found)[-1] == "2'"
    assert notes(found, 1)[-1] == "earlier process known: 1"
    # It is also what the leader asks about.
    steps = ["leader_handles_fetch 0 from 2", "broker_crashes 2", "broker_restarts 2 checkpoint 0"]
    assert column(kafka(steps, None, None, "3.7"), 1)[3] == "L0 | (isr 01+2'>)"


def test_replicas_that_are_removed_and_added() -> None:
    steps = ["controller_begins_reassignment to {0,1}", "controller_begins_reassignment to {0,1,2}"]
    found = kafka(steps, None, None, "3.7", reassignments=2)
    assert column(found, 0) == {
        0: "e0 p0 leader 0 isr 01",
        1: "e1 p1 leader 0 isr 01 replicas 01",
        2: "e1 p2 leader 0 isr 01 adding 2",
    }
    assert column(found, 1) == {
        0: "L0 |",
        1: "L0 | p0 (replicas 012)",
        2: "L0 | p0 (adding -)",
    }
    assert examples(found) == ["p1", "replicas 01", "adding 2", "(replicas 01)", "(adding 2)"]
    assert notes(found, 0, 1) == ("leader 0", "ISR 01", "replicas 01")
    assert notes(found, 0, 2) == ("leader 0", "ISR 01", "adding: 2")
    assert notes(found, 1, 1)[-2:] == ("knows replicas 012", "knows partition epoch 0")


def test_a_replica_is_marked_as_leaving() -> None:
    found = kafka(["controller_begins_reassignment to {2}"], None, None, "4.1", reassignments=1)
    assert column(found, 0)[1] == "e0 p1 leader 0 isr 01 removing 01"


def test_a_changed_minimum_and_an_unregistered_broker() -> None:
    steps = ["broker_crashes 1", "controller_fences_broker 1", "controller_unregisters_broker 1"]
    steps = [*steps, "operator_changes_min_insync_replicas to 1"]
    found = kafka(steps, None, None, "4.1", unregistrations=1, min_isr_changes=1)
    assert column(found, 0)[4] == "e0 p2 leader 0 isr 0 fenced 1 unregistered 1 min 1"
    assert column(found, 1)[4] == "L0 | p0 (isr 01) min 2"
    assert examples(found)[-2:] == ["unregistered 2", "min 1"]
    assert notes(found, 0, 4)[-2:] == ("unregistered: 1", "min.insync.replicas 1")
    assert notes(found, 1, 4)[-2:] == ("knows min.insync.replicas 2", "knows partition epoch 0")


def test_a_caught_up_follower_that_the_high_watermark_waits_for() -> None:
    steps = ["leader_handles_fetch 0 from 2", "controller_fences_broker 2", "controller_handles_alter_partition of 0"]
    steps = [*steps, "leader_hears_answer 0"]
    found = kafka(steps, None, None, "3.7", HW_WAIT=1, fencings=1)
    assert column(found, 1)[4] == "L0 | waits 2"
    assert examples(found)[-1] == "waits 2"
    assert notes(found, 1)[-1] == "HW waits for 2"


def test_a_log_that_is_flushed_in_part() -> None:
    found = kafka(["producer_appends at 0"], None, None, "3.7", common_records=1, records=2, log_size=2)
    assert column(found, 1) == {0: "L0 a0|", 1: "L0 a0|b0 flushed 1"}
    assert examples(found) == ["p1", "flushed 1"]
    assert notes(found, 1)[-1] == "flushed to 1"


def test_a_late_fetch() -> None:
    found = kafka(LATE_FETCH, None, None, "3.5", late_fetches=1)
    assert column(found, 1) == {0: "L0 |", 1: "L0 | late 2@0", 3: "L0 | (isr 01+2>)"}
    assert examples(found)[-1] == "late 2@1"
    assert notes(found, 1, 1)[-1] == "late fetch of 2 from 0"


DIVERGING = (
    *("producer_appends at 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0"),
    *("controller_elects_preferred 2", "broker_applies_metadata 1 of partition epoch 1"),
    *("broker_applies_metadata 2 of partition epoch 1", "leader_handles_fetch 2 from 1"),
)


@pytest.mark.parametrize(
    ("protocol", "steps", "expected"),
    [
        ("3.7", ["follower_truncates 1 from 2"], {7: "f1 |a0 2 says e0 until 0", 8: "f1 |"}),
        (
            "3.3",
            ["follower_takes_high_watermark_first 1 from 2", "follower_truncates 1 from 2"],
            {7: "f1 |a0 2 says e0 until 0", 8: "t1 |a0 2 says e0 until 0", 9: "f1 |"},
        ),
    ],
)
def test_a_diverging_response(protocol: str, steps: Sequence[str], expected: dict[int, str]) -> None:
    found = kafka([*DIVERGING, *steps], None, None, protocol, WHOLE, preferred_elections=1)
    assert column(found, 2) == {0: "f0 |", 3: "f0 |a0", 4: "f0 |a0 p0", 5: "f1 |a0", **expected}
    assert examples(found)[-1] == "0 says e1 until 2"
    assert notes(found, 2, 7) == ("fetch answered by 2", "2 says e0 until 0")


# --------------------------------------------------------------------------------------------------------------- width


def test_items_share_lines_where_the_table_is_narrow() -> None:
    found = stale_record()
    assert [rows(found, stacked)[10].cells[1] for stacked in range(5)] == [
        ("L0 a0| p1 (isr 01) p2<012",),
        ("L0 a0| p1 (isr 01)", "  p2<012"),
        *[("L0 a0| p1", "  (isr 01)", "  p2<012")] * 3,
    ]
    assert [rows(found, stacked)[12].cells[0] for stacked in range(5)] == [
        ("e1 p3 leader 2 isr 12 fenced 0",),
        *[("e1 p3 leader 2 isr 12", "  fenced 0")] * 2,
        ("e1 p3 leader 2", "  isr 12 fenced 0"),
        ("e1 p3 leader 2", "  isr 12", "  fenced 0"),
    ]
    tables = [lay_out(lane_titles(found.instance), rows(found, level)) for level in range(5)]
    assert [widest(table) <= WIDTH for table in tables] == [False, False, False, True, True]
    assert view(found)[2:][: len(tables[3])] == tables[3]
