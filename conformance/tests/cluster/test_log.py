"""The log of the executable cluster: epochs, truncation, offsets, producers. The figures are derived by hand from the
fact sheet, sections 1 and 5.3."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.configuration.protocol import (
    GENERATIONS,
    USUAL,
    SwitchError,
    Switches,
    Truncation,
    generation,
)
from isrcheck.conformance.cluster.log.epoch_cache import UNDEFINED_END, EpochEndOffset, EpochEntry, LeaderEpochFileCache
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import MemoryStorage
from isrcheck.conformance.cluster.network.messages import AbortedTransaction, Errors
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp

ENTRIES = (EpochEntry(1, 10), EpochEntry(3, 20), EpochEntry(4, 30))


def cache(protocol: str, *entries: EpochEntry) -> LeaderEpochFileCache:
    return LeaderEpochFileCache(entries, generation(protocol), None)


def log_of(*epochs: int, protocol: Switches | str = "2.1") -> Log:
    """A log with one record per epoch given, named a, b, c, ..."""
    switches = generation(protocol) if isinstance(protocol, str) else protocol
    log = Log(MemoryStorage(), switches, None)
    for offset, epoch in enumerate(epochs):
        log.append_as_leader("abcdefgh"[offset], epoch)
    return log


def said(log: Log) -> str:
    return "".join(each.payload for each in log.records)


@pytest.mark.parametrize(
    ("protocol", "asked", "answer"),
    [
        ("0.11", 4, (4, 40)),
        ("0.11", 3, (3, 30)),
        ("0.11", 2, (2, 20)),
        ("0.11", 0, (-1, -1)),
        ("0.11", 5, (-1, -1)),
        ("2.0", 4, (4, 40)),
        ("2.0", 3, (3, 30)),
        ("2.0", 2, (1, 20)),
        ("2.0", 0, (-1, -1)),
        ("2.0", 5, (-1, -1)),
        ("2.1", 4, (4, 40)),
        ("2.1", 3, (3, 30)),
        ("2.1", 2, (1, 20)),
        ("2.1", 0, (0, 10)),
        ("2.1", 5, (-1, -1)),
        ("0.11", -1, (-1, -1)),
        ("2.0", -1, (-1, -1)),
        ("2.1", -1, (-1, -1)),
    ],
)
def test_the_end_of_an_epoch(protocol: str, asked: int, answer: tuple[int, int]) -> None:
    assert cache(protocol, *ENTRIES).end_offset_for(asked, log_end_offset=40) == EpochEndOffset(*answer)


def test_two_empty_caches_agree_on_the_log_end_in_0_11_only() -> None:
    assert cache("0.11").end_offset_for(-1, 7) == EpochEndOffset(-1, 7)
    assert cache("2.0").end_offset_for(-1, 7) == UNDEFINED_END


@pytest.mark.parametrize(
    ("protocol", "epoch", "offset", "entries"),
    [
        ("2.0", 5, 30, (*ENTRIES, EpochEntry(5, 30))),
        ("2.0", 5, 29, ENTRIES),
        ("2.0", 4, 50, ENTRIES),
        ("2.0", 2, 50, ENTRIES),
        ("2.1", 5, 30, (*ENTRIES[:2], EpochEntry(5, 30))),
        ("2.1", 5, 31, (*ENTRIES, EpochEntry(5, 31))),
        ("2.1", 4, 50, ENTRIES),
        ("2.1", 4, 25, (*ENTRIES[:2], EpochEntry(4, 25))),
        ("2.1", 2, 15, (ENTRIES[0], EpochEntry(2, 15))),
        ("2.1", 1, 10, (EpochEntry(1, 10),)),
    ],
)
def test_an_epoch_is_assigned(protocol: str, epoch: int, offset: int, entries: tuple[EpochEntry, ...]) -> None:
    epochs = cache(protocol, *ENTRIES)
    assert epochs.assign(epoch, offset) is (entries != ENTRIES)
    assert epochs.entries == entries


def test_the_cache_is_truncated_at_both_ends() -> None:
    epochs = cache("2.1", *ENTRIES)
    epochs.truncate_from_end(30)
    assert epochs.entries == ENTRIES[:2]
    epochs.truncate_from_start(15)
    assert epochs.entries == (EpochEntry(1, 15), EpochEntry(3, 20))
    epochs.truncate_from_start(25)
    assert epochs.entries == (EpochEntry(3, 25),)
    epochs.truncate_from_start(24)
    assert epochs.entries == (EpochEntry(3, 25),)


def test_truncation_removes_records_and_epochs_together() -> None:
    log = log_of(0, 0, 1, 1, 2)
    log.truncate_to(3)
    assert (said(log), log.log_end_offset) == ("abc", 3)
    assert log.epoch_entries == (EpochEntry(0, 0), EpochEntry(1, 2))
    log.truncate_to(9)
    assert said(log) == "abc"


@pytest.mark.parametrize(("dropped", "left"), [("off", 2), ("on", 1)])
def test_an_epoch_entry_at_the_log_end_is_dropped_with_kafka_10706(dropped: str, left: int) -> None:
    log = log_of(0, protocol=generation("2.1").with_switch("EPOCH_ENTRY_AT_END_DROPPED", dropped))
    log.assign_epoch(1)
    log.truncate_to(1)
    assert len(log.epoch_entries) == left


@pytest.mark.parametrize(("clamped", "high_watermark"), [("off", 3), ("on", 1)])
def test_truncation_below_the_high_watermark(clamped: str, high_watermark: int) -> None:
    log = log_of(0, 0, 0, protocol=generation("2.1").with_switch("HW_CLAMPED_AT_TRUNCATION", clamped))
    log.increment_high_watermark(3)
    log.truncate_to(1)
    assert (log.high_watermark, log.log_end_offset) == (high_watermark, 1)


@pytest.mark.parametrize(("clamped", "high_watermark"), [("off", 3), ("on", 7)])
def test_emptying_the_log_moves_the_high_watermark_only_in_later_releases(clamped: str, high_watermark: int) -> None:
    log = log_of(0, 0, 0, protocol=generation("2.1").with_switch("HW_CLAMPED_AT_TRUNCATION", clamped))
    log.increment_high_watermark(3)
    log.truncate_fully_and_start_at(7)
    assert (log.high_watermark, log.log_end_offset) == (high_watermark, 7)


def test_the_high_watermark_of_a_follower_moves_up_and_down_within_its_log() -> None:
    log = log_of(0, 0, 0)
    log.update_high_watermark(9)
    assert log.high_watermark == 3
    log.update_high_watermark(1)
    assert log.high_watermark == 1
    assert log.increment_high_watermark(1) is False
    assert log.increment_high_watermark(2) is True


def test_the_log_start_moves_up_only() -> None:
    log = log_of(0, 0, 1)
    log.increment_high_watermark(3)
    assert log.increment_log_start(1) is True
    assert (said(log), log.epoch_entries) == ("bc", (EpochEntry(0, 1), EpochEntry(1, 2)))
    assert log.increment_log_start(1) is False
    assert log.read(0, 3) == log.records


def test_a_log_that_is_emptied_starts_at_the_given_offset() -> None:
    log = log_of(0, 0)
    log.truncate_fully_and_start_at(7)
    assert (log.log_start_offset, log.log_end_offset, log.records, log.epoch_entries) == (7, 7, (), ())
    assert log.append_as_leader("x", 3).offset == 7


def test_a_log_that_is_emptied_forgets_its_producers() -> None:
    log = log_of_sequences(0, 1)
    log.truncate_fully_and_start_at(7)
    assert log.producers.duplicate_of(stamp(1)) is None


def stamp(sequence: int, epoch: int = 0, transactional: bool = False) -> ProducerStamp:
    return ProducerStamp(1, epoch, sequence, transactional)


def log_of_sequences(*sequences: int) -> Log:
    log = Log(MemoryStorage(), GENERATIONS["2.1"], None)
    for sequence in sequences:
        log.append_as_leader("x", 0, stamp(sequence))
    return log


def test_five_batches_are_remembered_as_possible_duplicates() -> None:
    producers = log_of_sequences(0, 1, 2, 3, 4, 5).producers
    assert [producers.duplicate_of(stamp(each)) for each in range(7)] == [None, 1, 2, 3, 4, 5, None]
    assert producers.duplicate_of(stamp(5, epoch=1)) is None


@pytest.mark.parametrize(
    ("sequence", "epoch", "refusal"),
    [
        (2, 1, Errors.NONE),
        (3, 1, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (0, 2, Errors.NONE),
        (2, 2, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (2, 0, Errors.INVALID_PRODUCER_EPOCH),
    ],
)
def test_sequences_go_up_by_one(sequence: int, epoch: int, refusal: Errors) -> None:
    log = Log(MemoryStorage(), GENERATIONS["2.1"], None)
    assert log.producers.refusal_of(stamp(4)) is Errors.UNKNOWN_PRODUCER_ID
    for each in (0, 1):
        log.append_as_leader("x", 0, stamp(each, epoch=1))
    assert log.producers.refusal_of(stamp(sequence, epoch)) is refusal


def test_truncation_forgets_sequences_with_their_records() -> None:
    log = log_of_sequences(0, 1, 2)
    log.truncate_to(1)
    assert log.producers.duplicate_of(stamp(1)) is None
    assert log.producers.refusal_of(stamp(1)) is Errors.NONE


def test_an_open_transaction_outlives_the_deletion_of_its_first_records() -> None:
    """Since 2.5 (KAFKA-7190): what is left of it holds readers back still."""
    log = Log(MemoryStorage(), GENERATIONS["2.4"].with_switch("PRODUCER_STATE_KEPT", "on"), None)
    for sequence in (0, 1):
        log.append_as_leader("x", 0, stamp(sequence, transactional=True))
    log.increment_high_watermark(2)
    log.increment_log_start(1)
    assert log.last_stable_offset == 1
    assert log.producers.refusal_of(stamp(2)) is Errors.INVALID_TXN_STATE


def transactions() -> Log:
    """Records a of producer 1 and b of producer 2; then 1 aborts and 2 commits; the high watermark is 0."""
    log = Log(MemoryStorage(), GENERATIONS["2.1"], None)
    for producer, payload in ((1, "a"), (2, "b")):
        log.append_as_leader(payload, 0, ProducerStamp(producer, 0, 0, is_transactional=True))
    for producer, control in ((1, Control.ABORT), (2, Control.COMMIT)):
        log.append_as_leader(control.value, 0, ProducerStamp(producer, 0, -1, is_transactional=True), control)
    return log


@pytest.mark.parametrize(("high_watermark", "last_stable"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 4)])
def test_the_last_stable_offset_passes_a_transaction_once_its_marker_is_below_the_high_watermark(
    high_watermark: int, last_stable: int
) -> None:
    log = transactions()
    log.increment_high_watermark(high_watermark)
    assert log.last_stable_offset == last_stable


def test_only_aborted_transactions_are_indexed_and_truncation_opens_them_again() -> None:
    log = transactions()
    aborted = AbortedTransaction(producer_id=1, first_offset=0, last_offset=2)
    assert log.aborted_transactions(0, 4) == log.aborted_transactions(2, 4) == (aborted,)
    assert log.aborted_transactions(3, 4) == ()
    log.truncate_to(2)
    log.increment_high_watermark(2)
    assert (log.aborted_transactions(0, 2), log.last_stable_offset) == ((), 0)


def test_a_record_outside_the_open_transaction_of_its_producer_is_refused() -> None:
    log = Log(MemoryStorage(), GENERATIONS["2.1"], None)
    log.append_as_leader("a", 0, stamp(0, transactional=True))
    assert log.producers.refusal_of(stamp(1)) is Errors.INVALID_TXN_STATE
    assert log.producers.refusal_of(stamp(1, transactional=True)) is Errors.NONE


def test_the_generations_differ_as_in_the_fact_sheet() -> None:
    assert {name: each.TRUNC for name, each in GENERATIONS.items()} == {
        "0.8": Truncation.HW,
        "0.10": Truncation.HW,
        "0.11": Truncation.KIP101,
        "2.0": Truncation.KIP279,
        "2.1": Truncation.KIP320,
        "2.4": Truncation.KIP320,
        **dict.fromkeys(("2.8", "3.3", "3.5", "3.7", "4.0", "4.1", "4.3"), Truncation.ON_FETCH),
    }
    assert generation("0.10") == Switches()
    assert generation("0.8") == generation("0.10").with_switch("SHRINK_RULE", "LAG_MESSAGES")
    newer = generation("0.11")
    for name, value in (("TRUNC", "KIP279"), ("IDEMPOTENT_CACHE", "5"), ("UNKNOWN_PID_POLICY", "SEQUENCE_ZERO")):
        newer = newer.with_switch(name, value)
    assert newer == generation("2.0")
    for name, value in (
        ("TRUNC", "KIP320"),
        ("EPOCH_AT_BECOME_LEADER", "on"),
        ("EPOCH_CACHE_ASSIGN", "REPLACE_CONFLICTING"),
        ("EPOCH_BELOW_FIRST_ENTRY", "FIRST_START_OFFSET"),
        ("EXPAND_EPOCH_START", "on"),
        ("FOLLOWER_SKIP", "SAME_LEADER_AND_EPOCH"),
        ("OUT_OF_RANGE_HALTS", "off"),
        ("SHRINK_RULE", "EXEMPT_AT_LOG_END"),
    ):
        newer = newer.with_switch(name, value)
    assert newer == generation("2.1")
    for name, value in (
        ("HW_CLAMPED_AT_TRUNCATION", "on"),
        ("LATEST_OFFSET_AWAITS_EPOCH_START", "on"),
        ("POSITION_CHECK", "END_OFFSET"),
        ("STALE_METADATA_IGNORED", "on"),
    ):
        newer = newer.with_switch(name, value)
    assert generation("2.4") == newer
    for name, value in (
        ("TRUNC", "ON_FETCH"),
        ("ISR_CHANNEL", "ALTER_PARTITION"),
        ("CLIENT_BUMPS_EPOCH", "on"),
        ("EPOCH_ENTRY_AT_END_DROPPED", "on"),
        ("HW_FROM_DIVERGING_RESP", "on"),
        ("PRODUCER_STATE_KEPT", "on"),
        ("UNKNOWN_PID_POLICY", "ANY_SEQUENCE"),
    ):
        newer = newer.with_switch(name, value)
    assert generation("2.8") == newer
    assert USUAL == "2.4"


def test_a_switch_that_does_not_exist_is_refused_in_one_line() -> None:
    with pytest.raises(SwitchError, match=r"^there is no generation 5\.0; the generations are: 0\.8, 0\.10, 0\.11, 2"):
        generation("5.0")
    with pytest.raises(SwitchError, match=r"^there is no switch HW_WAIT; the switches are: APPENDS_IN_"):
        generation("2.1").with_switch("HW_WAIT", "on")
    with pytest.raises(SwitchError, match=r"^TRUNC cannot be KIP1; its values are: HW, KIP101, KIP279, KIP320, ON_F"):
        generation("2.1").with_switch("TRUNC", "KIP1")
    with pytest.raises(SwitchError, match=r"^EXPAND_EPOCH_START cannot be yes; its values are: on, off$"):
        generation("2.1").with_switch("EXPAND_EPOCH_START", "yes")
    with pytest.raises(SwitchError, match=r"^IDEMPOTENT_CACHE cannot be 6; its values are: 1, 2, 3, 4, 5$"):
        generation("2.1").with_switch("IDEMPOTENT_CACHE", "6")
