"""The columns of brokers and clients in views of Kafka traces, symbol by symbol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.tests.support.trace import (
    COMMITTED,
    IN_TRANSACTION,
    MISSED_DEMOTION,
    READ_TWICE,
    ROUND,
    SENT_AGAIN,
    STALE_RESTART,
    TRANSACTION,
    WHOLE,
    WITHOUT_MARKER,
    fast_fail_over,
    kafka,
)
from isrcheck.models import registry
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.trace import HOLDS, Trace
from isrcheck.traces.kafka import lanes
from isrcheck.traces.kafka.lanes import legend, rows
from isrcheck.traces.kafka.model import is_kafka
from isrcheck.traces.lanes.scene import Cell, Fate
from isrcheck.traces.lanes.table import WIDTH, lay_out
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


ELECTED = ("producer_appends at 0", "controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")


def test_a_response_may_be_about_an_older_epoch_or_missing() -> None:
    # The leader has no entry, and in 2.1 it has entered its own epoch: epoch 0 ends where that starts.
    steps = [*ELECTED, "broker_becomes_follower 0 in epoch 1", "follower_reconciles 0 with 1"]
    assert lane(kafka(steps, None, None, "2.0"), 0)[5] == "f1 | (e0 unknown)"
    assert lane(kafka(steps, None, None, "2.1"), 0)[5] == "f1 | (e0 until 0)"
    # Broker 1, which led in epoch 1, asks broker 2, which never heard of that.
    steps = [
        *("producer_appends at 0", "leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2"),
        *("follower_applies_response 1 from 0", "follower_applies_response 2 from 0", "controller_fails_over to 1"),
        *("broker_becomes_leader 1 in epoch 1", "controller_fails_over to 2", "broker_becomes_leader 2 in epoch 2"),
        *("broker_becomes_follower 1 in epoch 2", "follower_reconciles 1 with 2"),
    ]
    found = lane(kafka(steps, None, None, "2.1", WHOLE), 1)
    assert (found[10], found[11]) == ("t2 |a0 {1@1}", "f2 |a0 {1@1} (e0 until 1)")


def test_a_follower_without_response_shows_none() -> None:
    steps = [*ELECTED, "broker_becomes_follower 0 in epoch 1", "broker_becomes_follower 2 in epoch 1"]
    assert 5 not in lane(kafka(steps, None, None, "2.1", WHOLE), 0)
    elected = [
        *(*COMMITTED[:3], "controller_fails_over to 2", "broker_becomes_leader 2 in epoch 1"),
        *("broker_becomes_follower 1 in epoch 1", "controller_fails_over to 1", "broker_becomes_leader 1 in epoch 2"),
    ]
    found = lane(kafka(elected, None, None, "2.1", WHOLE), 1)
    assert (found[6], found[8]) == ("t1 |a0", "L2 a0|")


def test_an_empty_follower_sends_no_epoch_request() -> None:
    steps = ["controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1", "broker_becomes_follower 2 in epoch 1"]
    found = kafka([*steps, "follower_reconciles 2 with 1"], None, None, "2.1")
    assert lane(found, 2) == {0: "f0 |", 3: "t1 |", 4: "f1 |"}


# -------------------------------------------------------------------------------------------------- leader epoch caches


MISSED_AND_DEMOTED = (
    "controller_fails_over to 1",
    "broker_becomes_leader 1 in epoch 1",
    "controller_fails_over to 2",
    "broker_becomes_follower 1 in epoch 2",
)


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
        *("controller_elects_preferred 1", "controller_fails_over to 0", "broker_becomes_leader 0 in epoch 2"),
        *("producer_appends at 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0"),
        *("broker_becomes_leader 1 in epoch 1", "producer_appends at 1"),
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
        *("producer_appends at 0", "leader_shrinks_isr 0 by {1}", "leader_deletes_records at 0 before 1"),
        *("follower_starts_over 1 at 0", "producer_appends at 0"),
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
    steps = [
        *SENT_AGAIN,
        *("broker_becomes_follower 2 in epoch 1", "follower_reconciles 2 with 1", "leader_handles_fetch 1 from 2"),
        *("follower_applies_response 2 from 1", "leader_handles_fetch 1 from 2"),
    ]
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
        return [line for line in full_state(trace, trace.length) if line.startswith("log_record")]

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
