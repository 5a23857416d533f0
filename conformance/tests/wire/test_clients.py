"""Real clients (confluent-kafka) on the executable cluster: the results that they get, and what they read."""

from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from kio.schema.errors import ErrorCode

from conformance.tests.wire.serving import SECONDS, TOPIC, producer, read, running, send, until
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.wire.driving.backend import Membership
from isrcheck.conformance.wire.format.protocol import VERSIONS, Api


def test_records_are_delivered_in_order_and_read():
    with running() as server, producer(server) as found:
        assert send(found, "a", "b", "c") == [(None, 0), (None, 1), (None, 2)]
        told = []
        for value in "defgh":
            found.produce(TOPIC, value, on_delivery=lambda _, message: told.append(message.offset()))
        found.flush(SECONDS)
        assert told == [3, 4, 5, 6, 7]
        assert read(server) == list(enumerate("abcdefgh"))


def test_a_batch_keeps_its_keys_headers_and_times():
    with running() as server, producer(server, linger_ms=20) as found:
        for value in "ab":
            found.produce(TOPIC, value, key="k", headers=[("h", b"\xff")], timestamp=1_700_000_000_123)
        found.flush(SECONDS)
        assert [line for line in server.lines if "offset" in line] == ["rdkafka sends a b to broker 0: offset 0"]
        assert read(server) == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("protocol", [name for name, one in GENERATIONS.items() if not one.has_kraft])
def test_every_release_serves(protocol):
    with running(protocol) as server, producer(server, acks="1") as found:
        assert send(found, "a") == [(None, 0)]
        assert read(server) == [(0, "a")]


def test_compressed_batches_are_refused_in_one_line():
    with running() as server, producer(server, compression_type="gzip") as found:
        assert send(found, "a" * 1000) == [("UNSUPPORTED_COMPRESSION_TYPE", None)]
        assert read(server) == []


# ---------------------------------------------------------------------------------------------------------- faults


def test_a_producer_finds_the_new_leader_and_loses_nothing():
    with running() as server, producer(server) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("crash 0")
        assert send(found, "b") == [(None, 1)]
        assert [line for line in server.lines if "leads" in line] == ["broker 1 leads in epoch 1"]
        server.do("restart 0", "elect 0")
        assert [line for line in server.lines if "leads" in line][-1] == "broker 0 leads in epoch 2"
        assert read(server) == [(0, "a"), (1, "b")]


def test_a_former_leader_redirects_its_producer():
    with running() as server, producer(server) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("elect 2")
        assert send(found, "b") == [(None, 1)]
        sent = [line for line in server.lines if line.startswith("rdkafka sends b")]
        assert sent[1] == "rdkafka sends b to broker 0: NOT_LEADER_OR_FOLLOWER"
        assert sent[-1] == "rdkafka sends b to broker 2: offset 1"
        assert read(server) == [(0, "a"), (1, "b")]


def test_a_frozen_leader_does_not_answer_until_it_is_thawed():
    with running(session_timeout=10**9) as server, producer(server) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("freeze 0")
        told = []
        found.produce(TOPIC, "b", on_delivery=lambda error, message: told.append((error, message.offset())))
        assert found.flush(0.2) == 1
        server.do("thaw 0")
        assert found.flush(SECONDS) == 0
        assert told == [(None, 1)]


def test_acks_all_waits_for_the_minimum_of_in_sync_replicas():
    with running(min_insync_replicas=3) as server, producer(server, message_timeout_ms=300) as found:
        server.do("crash 2")
        assert send(found, "a") == [("_MSG_TIMED_OUT", None)]
        assert "rdkafka sends a to broker 0: NOT_ENOUGH_REPLICAS" in server.lines
        server.do("restart 2")
        assert send(found, "b") == [(None, 0)]


@pytest.mark.parametrize(("idempotent", "copies"), [(False, ["a", "b", "b"]), (True, ["a", "b"])])
def test_a_retry_is_recognised_only_if_the_producer_is_idempotent(idempotent, copies):
    """The answer to the first attempt is lost; the record is in the log, and is sent again."""
    with running() as server, producer(server, enable_idempotence=idempotent) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("lose answer")
        assert send(found, "b") == [(None, 1 if idempotent else 2)]
        assert "the answer of broker 0 to a producer is lost" in server.lines
        assert [value for _, value in read(server)] == copies


def test_a_batch_of_several_records_is_recognised_as_a_whole():
    with running() as server, producer(server, enable_idempotence=True, linger_ms=20) as found:
        send(found, "a")
        server.do("lose answer")
        told = []
        for value in "bcdefghi":  # more records than the five batches that a leader remembers
            found.produce(TOPIC, value, on_delivery=lambda _, message: told.append(message.offset()))
        assert found.flush(SECONDS) == 0
        assert told == [1, 2, 3, 4, 5, 6, 7, 8]
        assert [value for _, value in read(server)] == list("abcdefghi")


def test_a_new_leader_recognises_a_retry_from_its_log():
    with running() as server, producer(server, enable_idempotence=True) as found:
        assert send(found, "a") == [(None, 0)]
        server.do("lose answer")
        told = []
        found.produce(TOPIC, "b", on_delivery=lambda error, message: told.append((error, message.offset())))
        until(lambda: "the answer of broker 0 to a producer is lost" in server.lines, lambda: found.poll(0.001))
        server.do("elect 1")
        assert found.flush(SECONDS) == 0
        assert told == [(None, 1)]
        assert [value for _, value in read(server)] == ["a", "b"]


# ---------------------------------------------------------------------------------------------------- transactions


def test_aborted_records_are_read_only_uncommitted():
    with running() as server, producer(server, transactional_id="t") as found:
        found.init_transactions(SECONDS)
        for value, end in (("a", found.commit_transaction), ("b", found.abort_transaction)):
            found.begin_transaction()
            send(found, value)
            end(SECONDS)
        found.begin_transaction()
        send(found, "c")
        assert read(server) == [(0, "a"), (2, "b"), (4, "c")]
        assert read(server, "read_committed") == [(0, "a")]
        found.commit_transaction(SECONDS)
        assert read(server, "read_committed") == [(0, "a"), (4, "c")]


def test_a_second_instance_fences_the_first_and_aborts_its_transaction():
    with running() as server, producer(server, transactional_id="t") as first:
        first.init_transactions(SECONDS)
        first.begin_transaction()
        send(first, "a")
        with producer(server, transactional_id="t") as second:
            second.init_transactions(SECONDS)
            with pytest.raises(KafkaException) as fenced:
                first.commit_transaction(SECONDS)
            assert fenced.value.args[0].name() == "_FENCED"
            second.begin_transaction()
            send(second, "b")
            second.commit_transaction(SECONDS)
        assert [value for _, value in read(server)] == ["a", "b"]
        assert [value for _, value in read(server, "read_committed")] == ["b"]


def test_a_transaction_survives_its_leader():
    with running() as server, producer(server, transactional_id="t") as found:
        found.init_transactions(SECONDS)
        found.begin_transaction()
        send(found, "a")
        server.do("elect 1")
        send(found, "b")
        found.commit_transaction(SECONDS)
        assert [value for _, value in read(server, "read_committed")] == ["a", "b"]


def test_the_coordinator_ends_a_transaction_that_is_open_for_too_long():
    with running() as server, producer(server, transactional_id="t", transaction_timeout_ms=1000) as found:
        found.init_transactions(SECONDS)
        found.begin_transaction()
        send(found, "a")
        assert read(server, "read_committed") == []
        cluster = server.server.backend.cluster
        server.call(lambda: cluster.advance(20_000))
        until(lambda: server.call(lambda: dict(cluster.coordinator.transactions)["t"].state.value) == "CompleteAbort")
        assert [control for _, control in cluster.coordinator.decided] == [Control.ABORT]
        with pytest.raises(KafkaException) as fenced:
            found.commit_transaction(SECONDS)
        assert fenced.value.args[0].name() == "_FENCED"


# --------------------------------------------------------------------------------------------------------- offsets


def test_offsets_of_a_group_are_kept_and_belong_to_transactions():
    with running() as server, producer(server, transactional_id="t") as found:
        consumer = Consumer({"bootstrap.servers": server.bootstrap, "group.id": "g", "log_level": 0})
        at = TopicPartition(TOPIC, 0)

        def committed():
            return [one.offset for one in consumer.committed([at], SECONDS)]

        assert committed() == [-1001]
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 3)], asynchronous=False)
        assert committed() == [3]
        found.init_transactions(SECONDS)
        for offset, end in ((5, found.abort_transaction), (7, found.commit_transaction)):
            found.begin_transaction()
            group = consumer.consumer_group_metadata()
            found.send_offsets_to_transaction([TopicPartition(TOPIC, 0, offset)], group, SECONDS)
            assert committed() == [3]
            end(SECONDS)
        assert committed() == [7]
        consumer.close()


def subscriber(server):
    settings = {"bootstrap.servers": server.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    found = Consumer({**settings, "fetch.wait.max.ms": 5, "heartbeat.interval.ms": 50, "log_level": 0})
    found.subscribe([TOPIC])
    return found


def test_a_group_has_one_member_which_goes_on_where_the_last_one_ended():
    with running() as server, producer(server) as found:
        send(found, "a", "b")
        first = subscriber(server)
        assert [first.poll(SECONDS).value() for _ in "ab"] == [b"a", b"b"]
        with closing(subscriber(server)) as second:
            until(lambda: "rdkafka joins group g: group_max_size_reached" in server.lines, lambda: second.poll(0.01))
        first.close()  # commits, and leaves
        send(found, "c")
        with closing(subscriber(server)) as third:
            assert third.poll(SECONDS).value() == b"c"


def test_the_members_of_a_group():
    members = Membership()
    code, one = members.join("g", "", 100, now=0)
    assert (code, one.name, one.generation) == (ErrorCode.none, "member-1", 1)
    assert members.join("g", "", 100, now=100) == (ErrorCode.group_max_size_reached, None)
    assert members.sync("g", "member-1", 1, {"member-1": b"x"}, now=50) == (ErrorCode.none, b"x")
    assert members.heartbeat("g", "member-1", 2, now=60) is ErrorCode.illegal_generation
    assert members.heartbeat("g", "member-2", 1, now=60) is ErrorCode.unknown_member_id
    assert members.join("g", "member-1", 100, now=60)[1].generation == 2
    assert members.heartbeat("g", "member-1", 2, now=60) is ErrorCode.none
    assert members.join("g", "", 100, now=161)[1].name == "member-2"  # the session of the first has ended
    assert members.join("g", "member-1", 100, now=300) == (ErrorCode.unknown_member_id, None)
    assert members.leave("g", "member-1") is ErrorCode.unknown_member_id
    assert members.leave("g", "member-2") is ErrorCode.none


# ------------------------------------------------------------------------------------------------------- seeded bugs


def copies_after_a_retry(server):
    with producer(server, enable_idempotence=True) as found:
        server.do("lose answer")
        send(found, "a")
    return [value for _, value in read(server)]


def copies_after_a_retry_at_a_new_leader(server):
    with producer(server, enable_idempotence=True) as found:
        server.do("lose answer")
        found.produce(TOPIC, "a")
        until(lambda: "the answer of broker 0 to a producer is lost" in server.lines, lambda: found.poll(0.001))
        server.do("elect 1")
        found.flush(SECONDS)
    return [value for _, value in read(server)]


def committed_after_an_abort(server):
    with producer(server, transactional_id="t") as found:
        found.init_transactions(SECONDS)
        found.begin_transaction()
        send(found, "a")
        found.abort_transaction(SECONDS)
    return [value for _, value in read(server, "read_committed")]


def committed_of_an_open_transaction(server):
    with producer(server, transactional_id="t") as found:
        found.init_transactions(SECONDS)
        found.begin_transaction()
        send(found, "a")
        return [value for _, value in read(server, "read_committed")]


@pytest.mark.parametrize(
    ("bug", "seen", "wrong"),
    [
        ("duplicate_appended", copies_after_a_retry, ["a", "a"]),
        ("producers_not_replicated", copies_after_a_retry_at_a_new_leader, ["a", "a"]),
        ("abort_not_indexed", committed_after_an_abort, ["a"]),
        ("open_transaction_read", committed_of_an_open_transaction, ["a"]),
    ],
)
def test_real_clients_notice_bugs_of_producers_and_transactions(bug, seen, wrong):
    """The tests above show what clients see without the bug."""
    with running(bug=bug) as server:
        assert seen(server) == wrong


def test_every_api_has_a_handler():
    with running() as server:
        assert {*server.server.handlers, Api.API_VERSIONS} == set(VERSIONS) == set(Api)
