"""The columns of brokers and clients in views of Kafka traces, symbol by symbol, and their notes on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from conformance.tests.support.trace import (
    COMMITTED,
    IN_TRANSACTION,
    INELIGIBLE,
    LAST_KNOWN_LEADER,
    LATE_FETCH,
    MISSED_DEMOTION,
    READ_TWICE,
    ROUND,
    SENT_AGAIN,
    STALE_RECORD,
    STALE_RESTART,
    TRANSACTION,
    WHOLE,
    WITHOUT_MARKER,
    copy_to,
    election_of,
    fast_fail_over,
    follow_on,
    kafka,
    replicate_to,
    restart_of,
)
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import Stop
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import HOLDS, Trace
from isrcheck.traces.kafka import lanes
from isrcheck.traces.kafka.lanes import is_kafka, legend, rows, shown_fields, titles
from isrcheck.traces.lanes.scene import Cell, Fate
from isrcheck.traces.lanes.table import WIDTH, lay_out, widest
from isrcheck.traces.terminal.show import full_state, view


def lane(trace: Trace, broker: int, stacked: int = 0) -> dict[int, str]:
    """The contents of a broker's column, by step."""
    return {row.number: "\n".join(row.cells[1 + broker]) for row in rows(trace, stacked) if row.cells[1 + broker]}


def news(trace: Trace) -> dict[int, str]:
    """The contents of the clients' column, by step."""
    return {row.number: row.cells[-1][0] for row in rows(trace) if row.cells[-1]}


def changed(trace: Trace, fields: Mapping[str, Mapping[int, int]]) -> Trace:
    """The last state with other values in some cells of some fields."""
    cells = list(trace.states[-1])
    for name, values in fields.items():
        for index, value in values.items():
            cells[trace.instance.layouts[name].offset + index] = value
    return replace(trace, states=(*trace.states[:-1], tuple(cells)))


SIGNS = {
    "t": "follows in epoch 1, Truncating",
    ":": "last stable offset",
    "C": "commit marker (1C0: of transaction 1)",
    "A": "abort marker (1A0: of transaction 1)",
    ".": "deleted",
    "-": "an offset below the high watermark that is not in the log",
    "?": "a missing entry or epoch within the log",
    "[": "an entry beyond the end of the log",
    "{": "leader epoch cache, if it differs from the log: epoch 1 starts at 2 (-: no entry)",
}


def signs(trace: Trace) -> str:
    """The symbols in the legend of a trace."""
    meanings = [line.split("  ", 2)[2].strip() for line in legend(trace)]
    return "".join(sign for sign, meaning in SIGNS.items() if meaning in meanings)


def test_an_unreachable_log_is_shown_unchanged() -> None:
    """In a counterexample to induction, the first state can have gaps in a log, and entries beyond its end."""
    trace = kafka(("producer_appends at 0",), None)
    found = changed(trace, {"log_record": {0: -1, 3: 1}, "log_epoch": {0: -1, 3: -1}})
    assert lane(found, 0)[1] == "L0 |?"
    assert lane(found, 1)[1] == "f0 |[b?]"
    assert signs(found) == "?["
    moment = scene_of(found).moments[1]
    assert moment.lanes[1].cells == (Cell("?", None, "missing"), Cell("", None, "free"))
    assert moment.lanes[2].cells == (Cell("", None, "free"), Cell("[b?]", None, "missing"))
    assert moment.fates == (Fate("a", (("sent", 1), ("on no broker", 1))), Fate("b", (("never sent", 1),)))
    assert moment.lanes[4].notes == ("a: on no broker", "b: never sent")


# ------------------------------------------------------------------------------------- Truncating, and what is answered


def test_a_follower_is_truncating_until_its_response() -> None:
    # KIP-279: asked for epoch 1, of which it knows nothing, the leader names the start of epoch 2.
    found = fast_fail_over("log_matching")
    assert lane(found, 1) == {
        0: "f0 a0|",
        6: "L1 a0| (isr 01)",
        7: "L1 a0|d1 (isr 01)",
        8: "t2 a0|d1",
        9: "f2 a0|d1 (e1 until 2)",
        11: "f2 a0 d1 c2|",
    }
    assert signs(found) == "t"


ELECTED = ("producer_appends at 0", *election_of(1, 1))


def test_a_response_may_be_about_an_older_epoch_or_missing() -> None:
    # The leader has no entry, and in 2.1 it has entered its own epoch: epoch 0 ends where that starts.
    steps = [*ELECTED, *follow_on(0, 1, 1)]
    assert lane(kafka(steps, None, None, "2.0"), 0)[5] == "f1 | (e0 unknown)"
    assert lane(kafka(steps, None, None, "2.1"), 0)[5] == "f1 | (e0 until 0)"
    # Broker 1, which led in epoch 1, asks broker 2, which never heard of that.
    steps = [
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "leader_handles_fetch 0 from 2",
        "follower_applies_response 1 from 0",
        "follower_applies_response 2 from 0",
        *election_of(1, 1),
        *election_of(2, 2),
        *follow_on(1, 2, 2),
    ]
    found = lane(kafka(steps, None, None, "2.1", WHOLE), 1)
    assert (found[10], found[11]) == ("t2 |a0 {1@1}", "f2 |a0 {1@1} (e0 until 1)")


def test_a_follower_without_response_shows_none() -> None:
    steps = [*ELECTED, "broker_becomes_follower 0 in epoch 1", "broker_becomes_follower 2 in epoch 1"]
    assert 5 not in lane(kafka(steps, None, None, "2.1", WHOLE), 0)
    elected = [*COMMITTED[:3], *election_of(2, 1), "broker_becomes_follower 1 in epoch 1", *election_of(1, 2)]
    found = lane(kafka(elected, None, None, "2.1", WHOLE), 1)
    assert (found[6], found[8]) == ("t1 |a0", "L2 a0|")


def test_an_empty_follower_sends_no_epoch_request() -> None:
    steps = [*election_of(1, 1), "broker_becomes_follower 2 in epoch 1"]
    found = kafka([*steps, "follower_reconciles 2 with 1"], None, None, "2.1")
    assert lane(found, 2) == {0: "f0 |", 3: "t1 |", 4: "f1 |"}


# -------------------------------------------------------------------------------------------------- leader epoch caches


MISSED_AND_DEMOTED = (*election_of(1, 1), "controller_fails_over to 2", "broker_becomes_follower 1 in epoch 2")


def test_a_leaders_own_epoch_entry_shows_after_its_leadership() -> None:
    found = kafka(MISSED_AND_DEMOTED, None, None, "2.1", WHOLE)
    assert lane(found, 1) == {0: "f0 |", 2: "L1 |", 3: "L1 | (isr 12)", 4: "t2 | {1@0}"}
    assert signs(found) == "t{"
    assert lane(kafka(MISSED_AND_DEMOTED, None, None, "2.0", WHOLE), 1)[4] == "t2 |"
    # Where leaders should enter their epoch, one that has not says so.
    missing = changed(kafka(MISSED_AND_DEMOTED[:2], None, None, "2.1", WHOLE), {"epoch_cache": {4: -1}})
    assert lane(missing, 1)[2] == "L1 | {1@-}"


def test_an_epoch_in_the_log_that_the_cache_lacks_shows() -> None:
    steps = [
        "controller_elects_preferred 1",
        *election_of(0, 2),
        "producer_appends at 0",
        *copy_to(1),
        "broker_becomes_leader 1 in epoch 1",
        "producer_appends at 1",
    ]
    found = kafka(steps, None, None, "0.11", 1, min_insync_replicas=1, preferred_elections=1, replicas=2)
    # Up to 2.0 an entry that is older than the last one is not made.
    assert lane(found, 1) == {0: "f0 |", 6: "f0 a2|", 7: "L1 a2| (isr 01)", 8: "L1 a2|b1 {1@-} (isr 01)"}
    assert signs(found) == "{"


def test_before_leader_epochs_there_are_no_caches() -> None:
    found = kafka(["producer_appends at 0"], None)
    assert found.states[-1][found.instance.layouts["epoch_cache"].offset] == -1
    assert lane(found, 0)[1] == "L0 |a0"


# ---------------------------------------------------------------------------- transactions, deleted and missing entries


def test_a_transaction_blocks_readers_until_its_marker_is_committed() -> None:
    found = kafka(TRANSACTION, "offsets_ordered", HOLDS, "2.1", transactions=1)
    assert lane(found, 0) == {0: "L0 |", 1: "L0 |a0", 4: "L0 :a0|", 6: "L0 :a0|C0", 9: "L0 a0 C0|"}
    assert lane(found, 1) == {0: "f0 |", 3: "f0 |a0", 8: "f0 :a0|C0"}
    assert news(found) == {
        1: "sends a in transaction",
        4: "read_uncommitted reads a, acked a",
        5: "transaction committed",
        9: "read_committed reads a",
    }
    assert signs(found) == ":C"


ABORTED = (
    "producer_appends at 0",
    "producer_appends_in_transaction at 0 in 1",
    *COMMITTED[1:],
    "coordinator_aborts 1",
    "leader_appends_marker of 1 at 0",
    *ROUND,
    "leader_answers_parked_fetch 0 to 1",
    "leader_deletes_records at 0 before 2",
)


def test_several_transactions_are_numbered() -> None:
    found = kafka(ABORTED, None, None, "2.1", transactions=2, delete_records=1, log_size=3)
    assert lane(found, 0) == {
        0: "L0 |",
        1: "L0 |a0",
        2: "L0 |a0 b0",
        5: "L0 a0:b0|",
        7: "L0 a0:b0|1A0",
        10: "L0 a0 b0 1A0|",
        12: "L0 . . 1A0|",
    }
    assert news(found) == {
        2: "sends b in transaction 1",
        5: "reads a, read_uncommitted reads b, acked a, acked b",
        6: "transaction 1 aborted",
        10: "read_committed skips b",
    }
    assert signs(found) == ":A."


def test_a_log_that_was_deleted_shows_where_it_starts() -> None:
    steps = [
        "producer_appends at 0",
        "leader_shrinks_isr 0 by {1}",
        "leader_deletes_records at 0 before 1",
        "follower_starts_over 1 at 0",
        "producer_appends at 0",
    ]
    # The follower's high watermark stays below its log start until it hears from its leader.
    found = kafka(steps[:4], "offsets_ordered", None, "2.1", delete_records=1)
    assert lane(found, 0) == {0: "L0 |", 1: "L0 |a0", 2: "L0 a0|", 3: "L0 .|"}
    assert lane(found, 1) == {0: "f0 |", 4: "f0 |."}
    assert signs(found) == "."
    # The newest epoch stays in the cache of an empty log: up to 2.0 nothing else says so.
    assert lane(kafka(steps[:3], None, None, "2.0", delete_records=1), 0)[3] == "L0 .| {0@1}"


def test_a_high_watermark_above_the_log_end_shows_what_is_missing() -> None:
    found = kafka(IN_TRANSACTION, None, None, "2.1", transactions=1)
    # high_watermark of brokers 0 and 1 is 2, and so is the one of broker 2, which has nothing.
    found = changed(found, {"high_watermark": {0: 2, 1: 2, 2: 2}})
    assert [lane(found, broker)[4] for broker in range(3)] == ["L0 :a0 -|", "f0 :a0 -|", "f0 - -|"]
    assert signs(found) == ":-"


def test_letters_of_records_are_not_symbols() -> None:
    found = kafka(["producer_appends at 0"], None, records=26)
    letter = changed(found, {"log_record": {0: ord("t") - ord("a")}})
    assert lane(letter, 0)[1] == "L0 |t0"
    assert signs(letter) == ""


# ---------------------------------------------------------------------------------------------------------- the clients


def test_resent_and_reread_records() -> None:
    steps = [*SENT_AGAIN, *follow_on(2, 1, 1), *replicate_to(2, 1)]
    found = kafka(steps, None, None, "2.1", WHOLE, retries=1)
    assert news(found) == {6: "sends a again", 11: "reads a, reads a again, acked a"}


def test_records_readable_instead_of_the_first_read() -> None:
    assert news(kafka(READ_TWICE, None, None, "0.11")) == {4: "reads a, acked a", 11: "reads b instead of a"}
    read_committed = kafka(READ_TWICE, None, None, "0.11", transactions=1, isolation_level=1)
    assert news(read_committed)[11] == "reads b instead of a"
    # It is said once; and where nothing was noted as read there is nothing to compare with.
    assert news(kafka([*READ_TWICE, "broker_becomes_follower 1 in epoch 1"], None, None, "0.11")).keys() == {4, 11}
    assert news(changed(kafka(COMMITTED, None), {"exposed_record": {0: -1}})) == {4: "acked a"}
    # Record a, of an open transaction, was not read by those who read committed ones.
    mixed = kafka([*IN_TRANSACTION[:1], *READ_TWICE[1:]], None, None, "0.11", transactions=1)
    assert news(mixed)[11] == "read_committed reads b, reads b instead of a"
    # A marker where a record was: its own sentence, since readers get nothing there.
    steps = [*STALE_RESTART, "broker_becomes_leader 2 in epoch 1", "coordinator_aborts 0"]
    steps = [*IN_TRANSACTION[:1], *steps[1:], "leader_appends_marker of 0 at 2", "leader_shrinks_isr 2 by {1}"]
    found = kafka(steps, None, None, "0.11", transactions=1)
    assert news(found)[12] == "reads the abort marker instead of a"


def test_records_known_from_the_start() -> None:
    for transactions in (0, 1):
        found = kafka([], None, None, "2.1", common_records=2, transactions=transactions)
        assert news(found) == {0: "reads a, reads b, acked a, acked b"}


# ---------------------------------------------------------------------------------------------------------------- width


def test_stacked_lanes_take_more_lines() -> None:
    found = kafka(MISSED_DEMOTION, "isr_is_complete", None, "2.1", elections=3, preferred_elections=1)
    assert [rows(found, stacked)[8].cells[2] for stacked in range(5)] == [
        ("L1 | (isr 012)",),
        *[("L1 |", "  (isr 012)")] * 4,
    ]
    assert [rows(found, stacked)[7].cells[-1] for stacked in range(5)] == [
        *[("reads a, acked a",)] * 2,
        *[("reads a", "acked a")] * 3,
    ]
    assert [rows(found, stacked)[6].cells[0] for stacked in range(5)] == [
        *[("e2 leader 0 isr 02",)] * 3,
        *[("e2 leader 0", "  isr 02")] * 2,
    ]
    told = kafka(IN_TRANSACTION, None, None, "2.1", transactions=2)
    assert [(rows(told, stacked)[1].cells[-1], rows(told, stacked)[4].cells[-1]) for stacked in (1, 3, 4)] == [
        (("sends a in transaction 0",), ("read_uncommitted reads a, acked a",)),
        (("sends a in transaction 0",), ("read_uncommitted reads a", "acked a")),
        (("sends a in", "  transaction 0"), ("read_uncommitted", "  reads a", "acked a")),
    ]


@pytest.mark.parametrize(
    ("found", "stacked"),
    [
        (kafka(COMMITTED, None), 0),
        (fast_fail_over(None), 1),
        (kafka(MISSED_DEMOTION, None, None, "2.1", elections=3, preferred_elections=1), 2),
        (kafka(WITHOUT_MARKER, None, None, "0.11", transactions=1), 3),
        (kafka([*WITHOUT_MARKER, "controller_fails_over to 2"], None, None, "0.11", transactions=2), 4),
    ],
)
def test_a_table_is_stacked_where_it_would_not_fit(found: Trace, stacked: int) -> None:
    tables = [lay_out(lanes.titles(found.instance), rows(found, level)) for level in range(5)]
    fits = [max(map(len, table)) <= WIDTH for table in tables]
    assert fits.index(True) == stacked
    shown = view(found)[2:-2]
    assert shown[: len(tables[stacked])] == tables[stacked]
    signs = legend(found)
    assert shown[len(tables[stacked]) :][: len(signs) + 1] == (["", *signs] if signs else [])


def test_a_table_that_cannot_fit_is_shown_nevertheless() -> None:
    found = kafka(COMMITTED, None, replicas=7)
    table = lay_out(lanes.titles(found.instance), rows(found, 4))
    assert max(map(len, table)) > WIDTH
    assert view(found)[2:-2] == table


# ------------------------------------------------------------------------------------------------ cells, field by field


def test_only_models_with_all_shown_variables_count_as_kafka() -> None:
    model, _ = registry.load("kafka")
    assert is_kafka(model.instance("2.1"))
    assert is_kafka(registry.load("kafka_liveness")[0].instance("3.1"))
    assert all(is_kafka(registry.load("kafka_scenarios")[0].instance(one)) for one in model.protocols)
    lacking = [
        {name: field for name, field in model.fields.items() if name != one}
        for one in ("retries_left", "proposed_isr", "fencings_left")
    ]
    # Without its functions, which ask about every field.
    without = replace(model, actions=(), properties=(), lemmas=())
    assert is_kafka(without.instance("2.1"))
    assert not any(is_kafka(replace(without, fields=fields).instance("2.1")) for fields in lacking)
    entries = {name: entry for name, entry in model.entries.items() if name != "TRUNC"}
    assert not is_kafka(replace(without, entries=entries).instance("2.1"))


def test_markers_are_not_letters_in_fields_either() -> None:
    def log(trace: Trace) -> list[str]:
        return [line for line in full_state(trace.instance, trace.states[-1]) if line.startswith("log_record")]

    one = kafka(TRANSACTION[:6], None, None, "2.1", transactions=1)
    assert log(one) == ["log_record                 [[a marker] [a none] [none none]]"]
    two = kafka(ABORTED, None, None, "2.1", transactions=2, delete_records=1, log_size=3)
    assert log(two) == ["log_record                 [[none none marker1] [a b marker1] [none none none]]"]


def test_the_heading_fits_too() -> None:
    found = kafka(
        [], None, None, "2.1", replicas=2, records=4, log_size=3, elections=3, retries=1, transactions=1, crashes=0
    )
    assert view(found)[:3] == [
        "kafka/2.1, replicas=2 records=4 log_size=3 elections=3 crashes=0 retries=1 transactions=1",
        "",
        "  #  step       controller          broker 0  broker 1  clients",
    ]
    settings = {"min_insync_replicas": 1, "common_records": 1, "max_in_flight_requests": 1, "delete_records": 1}
    found = kafka([], None, None, "2.1", 0, replicas=2, records=4, log_size=3, elections=3, crashes=0, **settings)
    assert view(found)[:2] == [
        "kafka/2.1, replicas=2 records=4 log_size=3 elections=3 crashes=0 delete_records=1 min_insync_replicas=1",
        "    max_in_flight_requests=1 common_records=1",
    ]


def test_the_full_view_fits_too() -> None:
    full = view(kafka(TRANSACTION, None, None, "2.1", transactions=1), full=True)
    assert max(map(len, full)) <= WIDTH


# ------------------------------------------------------------------------------------ since 2.8, mechanism by mechanism


def column(trace: Trace, number: int, stacked: int = 0) -> dict[int, str]:
    """The contents of the controller's column (0) or of a broker's (1 and on), by step."""
    return {row.number: "\n".join(row.cells[number]) for row in rows(trace, stacked) if row.cells[number]}


def examples(trace: Trace) -> list[str]:
    """The signs that the legend of a trace explains, by their examples."""
    return [line.split("  ")[1] for line in legend(trace)]


def notes_of(trace: Trace, lane: int, position: int = -1) -> tuple[str, ...]:
    return scene_of(trace).moments[position].lanes[lane].notes


def stale_record(protocol: str = "3.7", length: int = 12) -> Trace:
    return kafka(STALE_RECORD[:length], None, None, protocol, WHOLE)


# ------------------------------------------------------------------------------------- AlterPartition and metadata


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
    assert notes_of(found, 1)[3:] == ("proposes ISR 01", "waits for newer metadata", "knows partition epoch 0")


def test_an_ineligible_member() -> None:
    found = kafka([*INELIGIBLE, STALE_RECORD[9]], None, None, "3.7", WHOLE, fencings=1)
    assert column(found, 0)[6] == "e0 p1 leader 0 isr 01 fenced 2"
    assert column(found, 1)[7] == "L0 |a0 m0 (isr 01+2!)"
    assert column(found, 1)[8] == "L0 |a0 p1!012"
    assert examples(found)[-2:] == ["(isr 01+2!)", "p1!012"]
    assert notes_of(found, 1)[3:] == ("dropped: ISR 012", "INELIGIBLE_REPLICA, answer under way")


def test_a_request_outlives_its_sender() -> None:
    found = kafka([*REFUSED[:2], "broker_crashes 0"], None, None, "3.7", WHOLE)
    assert column(found, 1)[3] == "x  |a0 p0>01"
    assert examples(found) == ["p1", "(isr 01+2>)", "p1>012"]
    assert notes_of(found, 1) == ("dropped: ISR 01", "request under way")


def test_a_request_names_an_earlier_process() -> None:
    steps = ["leader_handles_fetch 0 from 2", "broker_crashes 2", "broker_crashes 0", "broker_restarts 2 checkpoint 0"]
    found = kafka(steps, None, None, "3.7", crashes=2)
    assert column(found, 1)[4] == "x  | {0@0} p0>012'"
    assert examples(found)[-2:] == ["p1>012", "2'"]
    assert notes_of(found, 1) == ("epoch cache 0@0", "dropped: ISR 012'", "request under way")


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
    assert notes_of(found, 0, 9) == ("no leader", "ISR -", "last known leader 0", "ELR 1", "fenced: 01")
    assert notes_of(found, 1, 6) == ("lost a part of its log",)


def test_a_controlled_shutdown() -> None:
    metadata = [f"broker_applies_metadata {r} of partition epoch 1" for r in (0, 2)]
    steps = ["broker_asks_to_shut_down 1", *metadata, "broker_shuts_down 1"]
    found = kafka(steps, None, None, "4.1", shutdowns=1)
    assert column(found, 0)[1] == "e0 p1 leader 0 isr 0 elr 1 stopping 1"
    assert column(found, 0)[4] == "e0 p1 leader 0 isr 0 elr 1 fenced 1"
    assert column(found, 1) == {0: "L0 |", 1: "L0 | p0 (isr 01)", 2: "L0 |"}
    assert column(found, 2) == {0: "f0 |", 1: "f0 | p0", 4: "x  | clean"}
    assert examples(found) == ["p1", "elr 2", "fenced 2", "stopping 2", "clean"]
    assert notes_of(found, 0, 1)[-1] == "shutting down: 1"
    assert notes_of(found, 2) == ("shut down in order",)


def test_an_earlier_process_of_a_follower() -> None:
    steps = ["broker_crashes 1", "controller_fences_broker 1", "broker_restarts 1 checkpoint 0"]
    found = kafka(steps, None, None, "3.7")
    assert column(found, 1) == {0: "L0 |", 2: "L0 | p0 (isr 01)", 3: "L0 | p0 (isr 01')"}
    assert examples(found)[-1] == "2'"
    assert notes_of(found, 1)[-1] == "earlier process known: 1"
    # It is also what the leader asks about.
    steps = ["leader_handles_fetch 0 from 2", *restart_of(2)]
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
    assert notes_of(found, 0, 1) == ("leader 0", "ISR 01", "replicas 01")
    assert notes_of(found, 0, 2) == ("leader 0", "ISR 01", "adding: 2")
    assert notes_of(found, 1, 1)[-2:] == ("knows replicas 012", "knows partition epoch 0")


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
    assert notes_of(found, 0, 4)[-2:] == ("unregistered: 1", "min.insync.replicas 1")
    assert notes_of(found, 1, 4)[-2:] == ("knows min.insync.replicas 2", "knows partition epoch 0")


def test_a_caught_up_follower_that_the_high_watermark_waits_for() -> None:
    steps = ["leader_handles_fetch 0 from 2", "controller_fences_broker 2", "controller_handles_alter_partition of 0"]
    steps = [*steps, "leader_hears_answer 0"]
    found = kafka(steps, None, None, "3.7", HW_WAIT=1, fencings=1)
    assert column(found, 1)[4] == "L0 | waits 2"
    assert examples(found)[-1] == "waits 2"
    assert notes_of(found, 1)[-1] == "HW waits for 2"


def test_a_log_that_is_flushed_in_part() -> None:
    found = kafka(["producer_appends at 0"], None, None, "3.7", common_records=1, records=2, log_size=2)
    assert column(found, 1) == {0: "L0 a0|", 1: "L0 a0|b0 flushed 1"}
    assert examples(found) == ["p1", "flushed 1"]
    assert notes_of(found, 1)[-1] == "flushed to 1"


def test_a_late_fetch() -> None:
    found = kafka(LATE_FETCH, None, None, "3.5", late_fetches=1)
    assert column(found, 1) == {0: "L0 |", 1: "L0 | late 2@0", 3: "L0 | (isr 01+2>)"}
    assert examples(found)[-1] == "late 2@1"
    assert notes_of(found, 1, 1)[-1] == "late fetch of 2 from 0"


DIVERGING = (
    "producer_appends at 0",
    *copy_to(1),
    "controller_elects_preferred 2",
    "broker_applies_metadata 1 of partition epoch 1",
    "broker_applies_metadata 2 of partition epoch 1",
    "leader_handles_fetch 2 from 1",
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
    assert notes_of(found, 2, 7) == ("fetch answered by 2", "2 says e0 until 0")


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
    tables = [lay_out(titles(found.instance), rows(found, level)) for level in range(5)]
    assert [widest(table) <= WIDTH for table in tables] == [False, False, False, True, True]
    assert view(found)[2:][: len(tables[3])] == tables[3]
