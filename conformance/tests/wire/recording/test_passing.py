"""The proxy passes every byte on: of frames that it knows, and of anything else."""

import random
import socket
import struct
import threading
from pathlib import Path

import pytest

from conformance.tests.wire.recording.proxying import (
    HOST,
    answer,
    answered,
    ask,
    echo,
    framed,
    heartbeat,
    node,
    passing,
    soon,
)
from conformance.tests.wire.serving import SECONDS
from isrcheck.conformance.wire.recording import frames, proxy
from isrcheck.conformance.wire.recording import frames as messages_module
from isrcheck.conformance.wire.recording.frames import MOST_FRAME, Conversation, Room, Splitter
from isrcheck.conformance.wire.recording.rules import read_script

NO_RULE = "hold any from client nobody until released"
"""With a rule, frames are judged one by one, even if none is held."""


def rules_of(folder: Path, *lines: str, nodes=(1,)):
    path = folder / "script.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_script(path, nodes)


def there_and_back(connection: socket.socket, data: bytes, chosen: random.Random) -> bytes:
    """Send bytes in pieces of random sizes, and end; everything that comes back."""

    def send() -> None:
        at = 0
        while at < len(data):
            count = chosen.choice((1, 3, 100, 5_000, 100_000))
            connection.sendall(data[at : at + count])
            at += count
        connection.shutdown(socket.SHUT_WR)

    sending = threading.Thread(target=send)
    sending.start()
    found = bytearray()
    while part := connection.recv(1 << 16):
        found += part
    sending.join()
    return bytes(found)


@pytest.mark.parametrize("lines", [(), (NO_RULE,)], ids=["passed at once", "judged"])
def test_every_byte_is_passed_on_in_order(lines, tmp_path):
    chosen = random.Random(3)
    good = [heartbeat(number, "me") for number in range(50)]
    long = [framed(chosen.randbytes(MOST_FRAME + 1)), framed(chosen.randbytes(300_000))]
    garbage = [framed(chosen.randbytes(chosen.randrange(200))) for _ in range(100)]
    mixed = [*good, *long, *garbage]
    chosen.shuffle(mixed)
    endings = (b"", struct.pack(">i", -7) + chosen.randbytes(5_000), heartbeat(1, "me")[:-3], b"\0\0")
    with node(echo) as port, passing({1: port}, rules_of(tmp_path, *lines)) as proxy:
        for ending in endings:
            data = b"".join(mixed) + ending if ending in (b"", b"\0\0") else b"".join(good) + ending
            with proxy.connect() as connection:
                assert there_and_back(connection, data, chosen) == data
        expected = 2 * (2 * len(mixed) + 2 * len(good) + 3)
        soon(lambda: len(messages(proxy)) >= expected)
    assert len(messages(proxy)) == expected


def messages(proxy):
    return [one for one in proxy.sink.lines if one["kind"] in ("request", "response")]


def is_closed(connection: socket.socket) -> bool:
    """Wait until the other side closes a connection."""
    connection.settimeout(SECONDS)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


HOSTILE = {
    "negative size": (struct.pack(">i", -5) + b"abc", "a frame of -5 bytes: nothing that follows on this", -5),
    "2 GiB": (
        struct.pack(">i", 2**31 - 1) + b"abc",
        "a frame of 2147483647 bytes; frames of more than 16777216 bytes",
        2**31 - 1,
    ),
    "half a frame": (struct.pack(">i", 100) + b"abc", "the connection ends after 3 of the 100 bytes of a frame", 100),
    "half a size": (b"\0\0", "the connection ends after 2 of the 4 bytes that give the size of a frame", 0),
    "text": (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes; frames of more than", 1195725856),
    "no header": (framed(b"\0\3"), "it is shorter than a header", 2),
    "unknown api": (framed(struct.pack(">hhi", 999, 0, 1)), "kio has no request of api 999 in version 0", 8),
    "unknown version": (framed(struct.pack(">hhi", 3, 99, 1)), "kio has no request of Metadata in version 99", 8),
    "huge array": (
        framed(struct.pack(">hhih", 3, 12, 7, -1) + b"\0\xff\xff\xff\xff\x0f"),
        "the frame gives a length of 4294967294, but has only 0 bytes left",
        16,
    ),
    "secrets": (framed(struct.pack(">hhih", 36, 2, 7, -1) + b"\0\5pass\0"), "SaslAuthenticate may contain secrets", 17),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_frame_is_one_line_and_ends_nothing_but_its_connection(name):
    data, reason, size = HOSTILE[name]
    reached = []

    def keep(connection: socket.socket) -> None:
        while part := connection.recv(100):
            reached.append(part)

    with node(keep) as port, node(answer) as good, passing({1: port, 2: good}) as proxy:
        with proxy.connect(2) as other:
            ask(other, 1, "me")
            assert answered(other) == 1
            with proxy.connect(1) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(1) == b""
            ask(other, 2, "me")
            assert answered(other) == 2
        lines = [one for one in proxy.sink.lines if one["broker"] == 1]
    assert b"".join(reached) == data
    (line,) = lines
    assert (line["kind"], line["body"], line["size"]) == ("request", None, size)
    assert line["undecoded"].startswith(reason)


def test_requests_and_responses_are_recorded_in_the_format_of_the_recordings():
    with node(answer) as port, passing({"controller": port}) as proxy, proxy.connect("controller") as connection:
        ask(connection, 5, "broker-2-fetcher-0")
        assert answered(connection) == 5
        soon(lambda: len(proxy.sink.lines) == 2)
    common = {
        "client": "broker-2-fetcher-0",
        "broker": "controller",
        "api": "Heartbeat",
        "version": 0,
        "correlation": 5,
    }
    body = {"group_id": "g", "generation_id": 7, "member_id": "m"}
    assert proxy.sink.lines == [
        {"kind": "request", **common, "body": body},
        {"kind": "response", **common, "body": {"error_code": "none"}},
    ]
    assert list(proxy.sink.lines[0]) == ["kind", "client", "broker", "api", "version", "correlation", "body"]


def test_a_response_has_the_client_of_its_request():
    conversation = Conversation(1)
    for number, client in ((1, "first"), (2, "second")):
        conversation.request(heartbeat(number, client)[4:])
    answers = [conversation.response(struct.pack(">ih", number, 0)) for number in (1, 2, 1)]
    assert [(one.client, one.key, one.correlation) for one in answers] == [
        ("first", 12, 1),
        ("second", 12, 2),
        ("second", None, 1),
    ]


def test_requests_that_are_never_answered_are_forgotten(monkeypatch):
    monkeypatch.setattr(messages_module, "MOST_UNANSWERED", 2)
    conversation = Conversation(1)
    for number in (1, 2, 3):
        conversation.request(heartbeat(number, "me")[4:])
    keys = [conversation.response(struct.pack(">ih", number, 0)).key for number in (1, 2, 3)]
    assert keys == [None, 12, 12]


def test_a_response_to_no_request_is_passed_on_and_says_so():
    def talk(connection: socket.socket) -> None:
        connection.sendall(framed(b"\0\0\0\x09abc"))
        connection.recv(1)

    with node(talk) as port, passing({1: port}) as proxy, proxy.connect() as connection:
        assert connection.recv(11, socket.MSG_WAITALL) == framed(b"\0\0\0\x09abc")
        soon(lambda: proxy.sink.lines != [])
    (line,) = proxy.sink.lines
    assert (line["kind"], line["api"], line["correlation"], line["size"]) == ("response", None, 9, 7)
    assert line["undecoded"] == "it answers no request that was seen on this connection"


def test_a_node_that_is_down_refuses_the_client_and_is_recorded():
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    with passing({1: port}) as proxy:
        with proxy.connect() as connection:
            assert is_closed(connection)
        assert proxy.sink.lines == [{"kind": "fault", "what": "refused", "broker": 1, "text": "Connection refused"}]


def test_there_is_a_most_of_connections(monkeypatch):
    monkeypatch.setattr(proxy, "MOST_CONNECTIONS", 1)
    with node(answer) as port, passing({1: port}) as running, running.connect() as first:
        ask(first, 1, "me")
        assert answered(first) == 1
        with running.connect() as second:
            assert is_closed(second)
        ask(first, 2, "me")
        assert answered(first) == 2
        assert running.told == ["1: a connection is closed: there are 1 already"]


def test_incomplete_frames_share_a_bounded_memory(monkeypatch):
    monkeypatch.setattr(frames, "MOST_KEPT", 1_000)
    room = Room(1_000)
    first, second = Splitter(room), Splitter(room)
    half = framed(bytes(600))[:300]
    assert list(first.feed(half)) == []
    refused = list(second.feed(half))
    assert [one.problem for one in refused] == [
        "no room for a frame of 600 bytes: all incomplete frames together may have 1000 bytes",
        None,
    ]
    assert refused[1].data == half
    assert [one.frame for one in first.feed(bytes(304))] == [bytes(600)]
    assert [one.data for one in second.feed(bytes(304) + half)] == [bytes(304)]
    assert [one.frame for one in second.feed(bytes(304))] == [bytes(600)]
    assert room.reserve(1_000)


def test_a_splitter_loses_nothing_whatever_the_pieces():
    chosen = random.Random(5)
    data = b"".join(framed(chosen.randbytes(chosen.randrange(50))) for _ in range(200)) + b"\0\0\0\x09abc"
    for size in (1, 2, 7, 1_000_000):
        splitter = Splitter(Room())
        pieces = [one for at in range(0, len(data), size) for one in splitter.feed(data[at : at + size])]
        rest = splitter.finish()
        assert rest is not None
        assert b"".join(one.data for one in [*pieces, rest]) == data
        assert (len(pieces), rest.problem) == (200, "the connection ends after 3 of the 9 bytes of a frame")
