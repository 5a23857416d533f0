"""Frames that are no requests: one connection is closed, with one line, and the others go on."""

import io
import random
import socket
import struct
import sys
from contextlib import ExitStack, suppress
from dataclasses import fields
from datetime import timedelta
from typing import get_args, get_origin, get_type_hints

import pytest
from kio.index import load_request_schema
from kio.serial import entity_reader, entity_writer

from conformance.tests.wire.serving import TOPIC, producer, read, running, send, until
from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError
from isrcheck.checker.cluster.live.reading import read as read_entity
from isrcheck.conformance.kafka_format.record_batches import HEADER
from isrcheck.conformance.wire.format.batches import BatchError, batch_of, bytes_of
from isrcheck.conformance.wire.format.protocol import VERSIONS, Api, decode, versions_of
from isrcheck.conformance.wire.listening import server as server_module
from isrcheck.conformance.wire.listening.server import MOST_REQUEST

EVERY_VERSION = [(api, version) for api, (first, last) in VERSIONS.items() for version in range(first, last + 1)]


def exchange(address, data, *, ends=True):
    """Send bytes; what comes back until the server closes the connection."""
    with socket.create_connection(address, 10) as connection:
        found = b""
        with suppress(OSError):  # the server may have closed it already
            connection.sendall(data)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(4096):
                found += part
        return found


def frame(data):
    return struct.pack(">i", len(data)) + data


METADATA_V12 = struct.pack(">hhih", Api.METADATA, 12, 7, -1) + b"\0"
"""The header of a Metadata request without a client id."""

MALFORMED = {
    "size 0": (struct.pack(">i", 0), "a frame of 0 bytes; a frame may have 1 to 4194304"),
    "negative size": (struct.pack(">i", -5), "a frame of -5 bytes; a frame may have 1 to 4194304"),
    "huge size": (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes; a frame may have 1 to 4194304"),
    "text": (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes; a frame may have 1 to 4194304"),
    "truncated size": (b"\0\0", "the client closed the connection after 2 of 4 bytes of a frame"),
    "truncated frame": (
        struct.pack(">i", 100) + b"abc",
        "the client closed the connection after 3 of 100 bytes of a frame",
    ),
    "no header": (frame(b"\0"), "the frame gives a length of 2, but has only 1 bytes left"),
    "unknown api": (frame(struct.pack(">hhi", 999, 0, 1)), "a request with API key 999, version 0, which"),
    "unknown version": (frame(struct.pack(">hhi", 3, 99, 1)), "a request with API key 3, version 99, which"),
    # Twelve bytes in which kio's own reader allocates 32 GiB, which ends the process.
    "huge array": (
        frame(METADATA_V12 + b"\xff\xff\xff\xff\x0f"),
        "the frame gives a length of 4294967294, but has only 0 bytes left",
    ),
    "long integer": (frame(METADATA_V12 + b"\xff" * 9), "an integer of more than 5 bytes"),
    "trailing bytes": (
        frame(struct.pack(">hhih", Api.LIST_GROUPS, 0, 7, -1) + b"xyz"),
        "3 bytes after the end of the request, LIST_GROUPS",
    ),
    "no text": (frame(struct.pack(">hhih", Api.METADATA, 4, 7, 2) + b"\xff\xff"), "a string that is not UTF-8"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_frame_closes_its_connection_with_one_line(name):
    data, line = MALFORMED[name]
    with running() as server, producer(server) as found:
        assert send(found, "a") == [(None, 0)]
        before = len(server.lines)
        assert exchange(server.addresses[0], data) == b""
        (told,) = server.lines[before:]
        assert told.startswith(f"broker 0 closes a connection: {line}")
        assert send(found, "b") == [(None, 1)]


def test_random_bytes_end_nothing_but_their_connection():
    chosen = random.Random(7)
    with running() as server, producer(server) as found:
        for number in range(300):
            api, version = chosen.choice(EVERY_VERSION)
            start = struct.pack(">hhi", api, version, number)
            data = start + chosen.randbytes(chosen.randrange(60)) if number % 3 else chosen.randbytes(40)
            exchange(server.addresses[number % 3], frame(data))
        assert send(found, "a") == [(None, 0)]
        assert read(server) == [(0, "a")]


def test_a_broken_request_of_a_client_ends_only_that_client():
    """Every prefix of a good request, and every good request with one byte changed."""
    good = struct.pack(">hhih", Api.METADATA, 4, 7, -1) + struct.pack(">ih", 1, len(TOPIC)) + TOPIC.encode() + b"\1"
    with running() as server, producer(server) as found:
        answer = exchange(server.addresses[0], frame(good))
        assert TOPIC.encode() in answer
        for end in range(len(good)):
            assert exchange(server.addresses[0], frame(good[:end])) == b""
        for at in range(len(good)):
            exchange(server.addresses[0], frame(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]))
        assert send(found, "a") == [(None, 0)]


def test_there_is_a_most_of_connections(monkeypatch):
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 3)
    good = frame(struct.pack(">hhih", Api.METADATA, 4, 7, -1) + struct.pack(">i", -1) + b"\1")
    with running() as server, ExitStack() as held:
        for _ in range(3):
            one = held.enter_context(socket.create_connection(server.addresses[0], 10))
            one.sendall(good)
            assert one.recv(4096)
        assert exchange(server.addresses[0], good, ends=False) == b""
        assert server.lines == ["broker 0 closes a connection: there are 3 already"]
        held.close()
        until(lambda: exchange(server.addresses[0], good) != b"")


def test_the_port_of_a_broker_that_is_down_refuses_connections_and_is_kept():
    good = frame(struct.pack(">hhih", Api.METADATA, 4, 7, -1) + struct.pack(">i", -1) + b"\1")
    with running() as server, socket.create_connection(server.addresses[0], 10) as open_one:
        open_one.sendall(good)
        assert open_one.recv(4096)
        server.do("crash 0")
        with pytest.raises(ConnectionError):
            ended(open_one)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(server.addresses[0], 10)
        with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
            other.bind(server.addresses[0])
        server.do("restart 0")
        assert exchange(server.addresses[0], good)


def ended(connection):
    """Wait until the other side has ended a connection. Raises ConnectionError."""
    if not connection.recv(1):
        raise ConnectionAbortedError


def test_an_unknown_version_of_api_versions_is_answered_with_the_known_ones():
    """KIP-511: in version 0, with the error UNSUPPORTED_VERSION (35)."""
    with running() as server:
        answer = exchange(server.addresses[0], frame(struct.pack(">hhih", 18, 99, 5, -1)))
        size, correlation, error, count = struct.unpack_from(">iihi", answer)
        assert (size, correlation, error, count) == (len(answer) - 4, 5, 35, len(versions_of("2.4")))


def test_before_0_11_there_are_no_idempotent_producers():
    assert Api.INIT_PRODUCER_ID not in versions_of("0.10")
    assert Api.INIT_PRODUCER_ID in versions_of("0.11")


def test_before_2_1_consumers_do_not_validate_their_position():
    assert Api.OFFSET_FOR_LEADER_EPOCH not in versions_of("2.0")
    assert Api.OFFSET_FOR_LEADER_EPOCH in versions_of("2.1")


# ------------------------------------------------------------------------------------------- reading agrees with kio


def example(schema, chosen):
    """A random entity of a request; tagged fields keep their defaults."""
    hints = get_type_hints(schema)
    return schema(
        **{
            each.name: value_of(hints[each.name], each.metadata.get("kafka_type"), chosen)
            for each in fields(schema)
            if "tag" not in each.metadata
        }
    )


def value_of(hint, kind, chosen):
    inner = [each for each in get_args(hint) if each not in (type(None), Ellipsis)]
    if get_origin(hint) is tuple:
        return tuple(value_of(inner[0], kind, chosen) for _ in range(chosen.randrange(3)))
    if type(None) in get_args(hint):
        return None if kind == "uuid" or chosen.random() < 0.3 else value_of(inner[0], kind, chosen)
    if kind is None:
        return example(hint, chosen)
    if kind.startswith("timedelta"):
        return timedelta(milliseconds=chosen.randrange(1000))
    if kind == "bool":
        return chosen.random() < 0.5
    if kind in ("bytes", "records"):
        return chosen.randbytes(chosen.randrange(9))
    return "äb" * chosen.randrange(3) if kind == "string" else chosen.randrange(128)


@pytest.mark.sampled
@pytest.mark.parametrize(("api", "version"), EVERY_VERSION, ids=lambda one: getattr(one, "name", str(one)))
def test_requests_are_read_as_kio_reads_them(api, version):
    chosen = random.Random(1)
    schema = load_request_schema(api, version)
    header = schema.__header_schema__
    for _ in range(20):
        body = example(schema, chosen)
        with io.BytesIO() as buffer:
            given = {"request_api_key": api, "request_api_version": version, "correlation_id": 9, "client_id": "me"}
            entity_writer(header)(buffer, header(**given))
            start = buffer.tell()
            entity_writer(schema)(buffer, body)
            data = buffer.getvalue()
        request = decode(data, VERSIONS)
        assert (request.api, request.version, request.correlation_id, request.client_id) == (api, version, 9, "me")
        expected, size = entity_reader(schema)(data, start)
        assert size == len(data) - start
        assert in_milliseconds(request.body) == in_milliseconds(expected)
        for end in range(start, len(data)):
            with pytest.raises(MalformedError):
                decode(data[:end], VERSIONS)


def in_milliseconds(value):
    """A value with plain numbers for times."""
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: in_milliseconds(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return tuple(in_milliseconds(each) for each in value)
    if isinstance(value, timedelta):
        return round(value.total_seconds() * 1000)
    return value


def test_a_length_is_never_more_than_what_is_left():
    for data in (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x01"):
        with pytest.raises(MalformedError):
            Cursor(data).length(">i", compact=False)
    with pytest.raises(MalformedError):
        read_entity(load_request_schema(Api.METADATA, 12), Cursor(b"\xff\xff\xff\xff\x0f" + bytes(1000)))


# ------------------------------------------------------------------------------------------------------------ batches


@pytest.mark.parametrize("data", [None, b"", b"x" * HEADER.size, bytes(HEADER.size), bytes(16) + b"\2" + bytes(50)])
def test_bytes_that_are_no_batch_are_refused(data):
    with pytest.raises(BatchError, match="corrupt_message"):
        batch_of(data)


def test_a_changed_byte_is_noticed_by_the_checksum():
    with running() as server, producer(server) as found:
        send(found, "a")
        log = server.server.backend.cluster.observe_broker(0).log
    data = bytes_of(log, sys.maxsize)
    assert (batch_of(data).records, batch_of(data).values, batch_of(data).stamp) == (1, ("a",), None)
    for at in range(21, len(data)):
        with pytest.raises(BatchError):
            batch_of(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    with pytest.raises(BatchError, match="invalid_record"):
        batch_of(data + data)


def test_the_longest_request_is_longer_than_a_producer_sends_by_itself():
    assert MOST_REQUEST > 1_000_000 + 100
