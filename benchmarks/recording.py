"""Measures the time that `conform record` adds to a round trip.

Run: python -m benchmarks.recording [ROUND_TRIPS]

A client sends requests one after the other to a node that answers at once: directly, through the proxy, and through
the proxy with a rule that fits none of them, so that every frame is judged. Requests are Heartbeats of 30 bytes, and
Produce requests with 100 records of 150 bytes. The four processes (client, node, proxy, and a fourth that decodes and
writes) share the cores. The added time is the difference of the medians, and of the 99th percentiles.

Measured on 2 shared cores (load 3 to 4), 2,000 round trips: Heartbeats take 0.017 ms directly, and 0.044 ms more
through the proxy (judged 0.049); Produce requests 0.107 ms, and 0.287 ms more (judged 0.255). The 99th percentiles were
those of the busy machine: 0.1 to 2.8 ms directly, up to 2.9 ms more through the proxy, and less in one of four.
"""

from __future__ import annotations

import io
import multiprocessing
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

HOST = "127.0.0.1"
RULE = "hold any from client nobody until released\n"
PAUSE = 0.005
"""Seconds between two Produce requests: decoding their 100 records takes longer than passing them on."""

RECORDS, RECORD_BYTES = 100, 150


def framed(data: bytes) -> bytes:
    """A frame: its size, and its bytes."""
    return struct.pack(">i", len(data)) + data


def heartbeat() -> bytes:
    """A Heartbeat of version 0."""
    return framed(struct.pack(">hhih5sh1sih1s", 12, 0, 1, 5, b"bench", 1, b"g", 7, 1, b"m"))


def produce() -> bytes:
    """A Produce request of version 3."""
    now = TZAwareMicros.parse(datetime(2020, 1, 1, tzinfo=UTC))
    records = tuple(
        Record(attributes=i8(0), timestamp=now, offset=i64(each), key=None, value=bytes(RECORD_BYTES), headers=())
        for each in range(RECORDS)
    )
    with io.BytesIO() as buffer:
        write_new_batch(
            buffer,
            NewRecordBatch(
                producer_id=i64(-1), producer_epoch=i16(-1), base_sequence=i32(-1), records=records, attributes=i16(0)
            ),
        )
        batch = buffer.getvalue()
    head = struct.pack(">hhih5shhiih1sii", 0, 3, 1, 5, b"bench", -1, -1, 1000, 1, 1, b"t", 1, 0)
    return framed(head + struct.pack(">i", len(batch)) + batch)


def serve(server: socket.socket) -> None:
    """Answer every request of every connection, one connection after the other."""
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            while size := connection.recv(4, socket.MSG_WAITALL):
                connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
                connection.sendall(framed(struct.pack(">ih", 1, 0)))


@contextmanager
def proxy(port: int, *words: str) -> Iterator[int]:
    """`conform record` before a port; yields its own port."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.txt")
        script.write_text(RULE, encoding="utf-8")
        more = ["--script", str(script)] if words else []
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "isrcheck.conformance",
                "record",
                "--node",
                f"1=0:{HOST}:{port}",
                "-o",
                folder,
                *more,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        line = next(one for one in process.stdout if "must advertise" in one)
        try:
            yield int(line.partition(":")[2].partition(",")[0])
        finally:
            process.terminate()
            process.communicate()


def round_trips(port: int, request: bytes, count: int, pause: float) -> list[float]:
    """The milliseconds of each of these round trips, after some that are not counted, and a pause before each."""
    times = []
    with socket.create_connection((HOST, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(count + count // 10):
            time.sleep(pause)
            began = time.perf_counter()
            connection.sendall(request)
            connection.recv(10, socket.MSG_WAITALL)
            if number >= count // 10:
                times.append((time.perf_counter() - began) * 1000)
    return times


def figures(times: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def main(count: int) -> None:
    """Print the median and the 99th percentile of each way, and what the proxy adds to them."""
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        node = multiprocessing.get_context("fork").Process(target=serve, args=(server,), daemon=True)
        node.start()
        for name, request, pause in (("heartbeat", heartbeat(), 0), ("produce", produce(), PAUSE)):
            direct = figures(round_trips(port, request, count, pause))
            print(f"{name:<10} {len(request):>6} bytes  direct        {direct[0]:.3f} ms, 99 % {direct[1]:.3f} ms")
            for way, words in (("proxy", ()), ("proxy, judged", (RULE,))):
                with proxy(port, *words) as through:
                    found = figures(round_trips(through, request, count, pause))
                added = [one - other for one, other in zip(found, direct, strict=True)]
                told = f"{found[0]:.3f} ms, 99 % {found[1]:.3f} ms: adds {added[0]:.3f} and {added[1]:.3f} ms"
                print(f"{'':<24}{way:<14}{told}")
        node.terminate()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
