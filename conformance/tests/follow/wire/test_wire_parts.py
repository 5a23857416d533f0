"""The parts of a conversion: fetch sessions, known logs, the controller's state, disks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.wire.beside import disks_in
from isrcheck.conformance.follow.wire.controller import Controller, View
from isrcheck.conformance.follow.wire.exchanges import Entry, FetchRequest, KnownLogs, Sessions
from isrcheck.conformance.follow.wire.messages import Happening, Message
from isrcheck.conformance.follow.wire.survey import Survey
from isrcheck.conformance.follow.wire.traffic import Traffic

SURVEY = Survey("t", "id", (1, 2, 3))
A, B, C = Entry(0, 0, "a"), Entry(1, 0, "b"), Entry(1, 1, "c")


def fetch(body: dict[str, Any], *, is_request: bool) -> Message:
    return Message(1, 0, 0.0, is_request, False, "broker-2-fetcher-0", 1, "Fetch", 0, body)


def request(*partitions: dict[str, Any], session: int = 7, epoch: int = 1, forgotten: tuple[Any, ...] = ()) -> Message:
    topics = [{"topic_id": "id", "partitions": list(partitions)}] if partitions else []
    state = {"replica_state": {"replica_id": 2}, "session_id": session, "session_epoch": epoch}
    return fetch({**state, "topics": topics, "forgotten_topics_data": list(forgotten)}, is_request=True)


def response(*partitions: dict[str, Any], **more: Any) -> Message:
    topics = [{"topic_id": "id", "partitions": list(partitions)}] if partitions else []
    return fetch({"error_code": "none", "responses": topics, **more}, is_request=False)


def test_a_session_completes_what_is_left_out() -> None:
    sessions = Sessions(SURVEY)
    at = {"partition": 0, "fetch_offset": 3, "last_fetched_epoch": 1, "current_leader_epoch": 2}
    assert sessions.ask(request(epoch=1)) is None
    assert sessions.ask(request(at, session=0, epoch=0)) == FetchRequest(2, 3, 1, 2)
    assert sessions.answer(response()) is None  # no response had a high watermark yet
    told = sessions.answer(response({"high_watermark": 2, "records": []}))
    assert told is not None and (told.high_watermark, told.entries, told.diverging_end) == (2, (), None)
    assert sessions.ask(request()) == FetchRequest(2, 3, 1, 2)
    again = sessions.answer(response())
    assert again is not None and again.high_watermark == 2
    assert sessions.answer(response(error_code="fetch_session_id_not_found")) is None
    assert sessions.answer(response({"error_code": "not_leader_or_follower"})) is None
    assert sessions.answer(response()) is None  # after an error, an unchanged high watermark says nothing
    assert sessions.ask(request(forgotten=({"topic_id": "id", "partitions": [0]},))) is None
    assert sessions.ask(request(session=0, epoch=0)) is None  # a new session begins with nothing


def test_a_response_shows_records_markers_and_where_logs_diverge() -> None:
    sessions = Sessions(SURVEY)
    sessions.ask(request({"partition": 0, "fetch_offset": 0}, session=0, epoch=0))
    plain = {
        "leader_epoch": 4,
        "control": False,
        "records": [{"offset": 0, "value": "a"}, {"offset": 1, "value": None}],
    }
    marker = {"leader_epoch": 5, "control": True, "records": [{"offset": 2, "value": None}]}
    told = sessions.answer(response({"high_watermark": 0, "records": [plain, marker]}))
    assert told is not None
    assert told.entries == (Entry(0, 4, "a"), Entry(1, 4, "(null)"), Entry(2, 5, "(marker 2)"))
    told = sessions.answer(response({"high_watermark": 0, "diverging_epoch": {"epoch": 3, "end_offset": 1}}))
    assert told is not None and told.diverging_end == 1


def test_an_offered_record_is_known_once_the_follower_fetches_behind_it() -> None:
    logs = KnownLogs()
    logs.offer(2, (A, B))
    assert logs.fetches(2, FetchRequest(2, 0, -1, 0)) == ()  # the answer did not arrive
    logs.offer(2, (A, B))
    assert logs.fetches(2, FetchRequest(2, 2, 0, 0)) == (("a", 0), ("b", 0))
    assert logs.fetches(2, FetchRequest(2, 1, 0, 1)) == (("a", 0),)  # truncated
    assert logs.fetches(2, FetchRequest(2, 2, 1, 1)) is None  # appended as a leader, unseen
    logs.offer(2, (C,))
    assert logs.fetches(2, FetchRequest(2, 2, 1, 1)) == (("a", 0), ("c", 1))
    assert logs.fetches(2, FetchRequest(2, 2, 3, 3)) is None  # replaced, unseen: the last epoch differs


def test_the_partition_epoch_orders_answers_and_the_metadata_log() -> None:
    controller = Controller()
    assert controller.is_seen(View(1, 0, (1, 2, 3))) == View(1, 0, (1, 2, 3))
    assert controller.logs(30, None, (1, 2), None) == View(1, 0, (1, 2), 1)
    assert controller.answers(View(1, 0, (1, 2)), 1) is None  # the same change
    assert controller.logs(30, None, (1, 2), None) is None  # seen by another broker
    assert controller.answers(View(1, 0, (1, 2, 3)), 2) == View(1, 0, (1, 2, 3), 2)
    assert controller.logs(33, None, (1, 2, 3), None) is None
    assert controller.logs(36, 3, (2, 3), None) == View(3, 1, (2, 3), 3)
    assert controller.is_seen(View(1, 0, (1, 2, 3))) is None
    assert controller.is_seen(View(3, 1, (3,))) is None  # the metadata log will tell


def test_the_metadata_log_shows_replicas() -> None:
    controller = Controller()
    controller.is_seen(View(1, 0, (1, 2), replicas=(1, 2)))
    assert controller.logs(30, None, None, (2, 3, 1)) == View(1, 0, (1, 2), 1, (2, 3, 1))
    assert controller.logs(31, 2, (2, 3), (2, 3)) == View(2, 1, (2, 3), 2, (2, 3))
    assert controller.rewrites(30, None, None, (2, 3, 1)) is None
    assert controller.rewrites(31, 2, (2, 3), (1, 2)) == View(2, 1, (2, 3), 2, (1, 2))


def test_replicas_are_news_if_they_are_more_than_before() -> None:
    """Within a leader epoch replicas are only added; a broker that shows fewer lags behind."""
    controller = Controller()
    assert controller.is_seen(View(1, 0, (1, 2), replicas=(1, 2))) is not None
    grown = View(1, 0, (1, 2), replicas=(1, 2, 3))
    assert controller.is_seen(grown) == grown
    assert controller.is_seen(View(1, 0, (1, 2), replicas=(1, 2))) is None
    assert controller.is_seen(View(1, 0, (1, 2))) is None
    assert controller.is_seen(grown) is None
    controller.answers(View(1, 0, (1, 2, 3)), 2)
    assert controller.is_seen(View(1, 0, (1, 2, 3), replicas=(1, 2, 3))) is None  # the same as before
    assert controller.is_seen(View(1, 1, (1, 2), replicas=(1, 2))) == View(1, 1, (1, 2), replicas=(1, 2))


def test_a_broker_may_show_the_past() -> None:
    controller = Controller()
    controller.is_seen(View(1, 0, (1, 2, 3)))
    controller.answers(View(1, 0, (1,)), 1)
    assert controller.is_seen(View(1, 0, (1, 2, 3))) is None  # before the last change
    assert controller.is_seen(View(1, 0, (1, 2))) is None  # between the two
    controller.answers(View(1, 0, (1, 2)), 2)
    assert controller.answers(View(1, 0, (1,)), 1) is None  # an answer that was held back
    controller.answers(View(1, 0, (1, 2, 3)), 3)
    assert controller.is_seen(View(1, 0, (1, 3))) == View(1, 0, (1, 3))  # it has a member that joined last
    controller.hears_of(2)
    assert controller.is_seen(View(2, 1, (2, 3))) is None  # a message has shown epoch 2
    assert controller.is_seen(View(3, 2, (3,))) == View(3, 2, (3,))
    controller = Controller()
    controller.hears_of(1)
    assert controller.is_seen(View(1, 0, (1, 2, 3))) is None


def metadata(client: str, correlation: int, isr: list[int] | None = None, offline: tuple[int, ...] = ()) -> Message:
    """A Metadata response of broker 1 with this ISR, or, without one, the request."""
    shown = {"leader_id": 1, "leader_epoch": 0, "isr_nodes": isr, "offline_replicas": list(offline)}
    body = {"topics": [{"name": "t", "partitions": [shown]}]} if isr else {}
    return Message(1, 0, 0.0, isr is None, False, client, 1, "Metadata", correlation, body)


def applied(*lines: Message) -> list[int]:
    """The partition epochs up to which a broker has applied the metadata, after the controller has begun epoch 1."""
    traffic = Traffic(SURVEY)
    traffic.controller.answers(View(1, 0, (1, 2)), 1)
    found = [said for line in lines for said in traffic.take(line)]
    return [said["partition_epoch"] for said in found if said["kind"] == "applied"]


def test_a_broker_that_shows_something_else_has_applied_what_it_showed_before() -> None:
    first, same, other = [1, 2], ("a", 1, [1, 2]), ("a", 1, [1, 2], (3,))
    begin = metadata("a", 0), metadata("a", 0, first)
    assert applied(*begin, metadata("a", 1), metadata(*other)) == [1]
    assert applied(*begin, metadata("a", 1), metadata(*same)) == []  # it may not have applied it yet
    assert applied(metadata("a", 1), *begin, metadata(*other)) == []  # it was asked before, so it may be older
    assert applied(*begin, metadata("a", 1), metadata("a", 1), metadata(*other)) == []  # two clients of one name
    unknown = metadata("a", 0), metadata("a", 0, [1])  # no message shows its partition epoch
    assert applied(*unknown, metadata("a", 1), metadata(*other)) == []


@pytest.mark.parametrize(
    ("asked", "answered", "at", "is_observed"),
    [
        ({}, {}, 0.4, True),
        ({}, {}, 0.6, False),
        ({"min_bytes": 0}, {}, 0.4, False),
        ({}, {"throttle_time": 1.0}, 0.4, False),
        ({}, {"responses": [{"name": "u", "partitions": []}]}, 0.4, False),
    ],
)
def test_an_answer_with_nothing_is_as_old_as_the_end_of_its_wait(
    asked: dict[str, Any], answered: dict[str, Any], at: float, is_observed: bool
) -> None:
    """Another observation, made at this time, comes before it; the fetch waits for half a second."""
    traffic = Traffic(SURVEY)
    first = request({"partition": 0, "fetch_offset": 3}, session=0, epoch=0)
    shown = response({"high_watermark": 2, "records": []})
    assert [said["broker"] for line in (first, shown) for said in traffic.take(line)] == [2, 1]
    waiting, empty = request(), response(throttle_time=0)
    waiting = replace(waiting, body=waiting.body | {"max_wait": 0.5, "min_bytes": 1} | asked)
    fault = Happening(1, 0, at, "freeze", {"broker": 3})
    lines = waiting, fault, replace(empty, body=empty.body | answered, t=0.7)
    found = [said for line in lines for said in traffic.take(line)]
    assert [said["high_watermark"] for said in found if said["broker"] == 1] == [2] * is_observed


def test_a_state_tells_the_partition_epoch_from_which_on_it_can_be() -> None:
    controller = Controller()
    first, second, third = View(1, 0, (1, 2, 3)), View(1, 0, (1, 2)), View(1, 0, (1,))
    controller.answers(second, 1)
    assert controller.position_of(second) == 1
    assert controller.position_of(first) is None  # never told with a partition epoch
    controller.answers(third, 4)
    assert controller.position_of(third) is None  # it can also be that of partition epoch 2
    controller.answers(second, 5)
    assert controller.position_of(second) == 1


def test_the_disks_of_transactions_have_markers() -> None:
    found = list(disks_in(RECORDINGS / "wire" / "transactions", "t"))
    assert [(disk.broker, disk.checkpoint) for disk in found] == [(1, 9), (2, 9), (3, 9)]
    values = ["a0", "a1", "(marker 2)", "b0", "b1", "(marker 5)", "plain0", "c0", "(marker 8)"]
    assert all([value for value, _ in disk.log] == values for disk in found)
    found = list(disks_in(RECORDINGS / "wire" / "missed_demotion", "t"))
    assert [epoch for _, epoch in found[0].log] == [0, 1, 1, 4]
