"""Measures how a recording of the traffic of clients is followed online: the whole of it, and its first half.

Run: python -m benchmarks.recorded_traffic [SECONDS]

A real producer sends a record after the other, with acks=all, through `conform record` to `conform serve --protocol
2.4`. The recording has requests and answers of the producer only: the brokers of `conform serve` have no connections
between them. Memory that grew with the recording would be larger for the whole than for the half.

Measured on 2 shared cores, beside tests, 112 seconds: 3,565 lines in 19.6 s of processor time and 123 MiB; the first
1,780 of them in 11.0 s and 123 MiB.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

HOST, SERVED, ADVERTISED, BROKERS = "127.0.0.1", 29700, 29600, 3
PAUSE = 0.06
CONFORM = (sys.executable, "-m", "isrcheck.conformance")


def produce(seconds: float) -> int:
    """Send records for a time; return how many were acknowledged."""
    acknowledged = 0

    def told(error: object, _: object) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    producer = Producer({"bootstrap.servers": f"{HOST}:{ADVERTISED}", "acks": "all", "retries": 0, "linger.ms": 0})
    ends, number = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        producer.produce("topic", value=f"v{number}", on_delivery=told)
        producer.flush()
        number += 1
        time.sleep(PAUSE)
    return acknowledged


def started(*words: str) -> subprocess.Popen[bytes]:
    """A command that runs beside, and prints nothing."""
    return subprocess.Popen([*CONFORM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record(folder: Path, seconds: float) -> None:
    """Record the traffic between a producer and a cluster."""
    nodes = [f"{each + 1}={ADVERTISED + each}:{HOST}:{SERVED + each}" for each in range(BROKERS)]
    words = [word for node in nodes for word in ("--node", node)]
    serving = started("serve", "--protocol", "2.4", "--port", str(SERVED), "--advertise", str(ADVERTISED))
    recording = started("record", *words, "-o", str(folder))
    try:
        time.sleep(3)
        print(f"{produce(seconds):,} records acknowledged")
    finally:
        for one in (recording, serving):
            one.send_signal(signal.SIGINT)
            one.wait()


def follow(folder: Path) -> None:
    """Follow a recording, and print the verdict and what the process used."""
    words = ["follow", str(folder), "--protocol", "2.4", "--online"]
    with subprocess.Popen([*CONFORM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        verdict = next(line.strip() for line in running.stdout if line.split(":")[0].isupper())
        running.stdout.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    print(f"{verdict}\n  {used.ru_utime:.1f} s of processor time, {used.ru_maxrss >> 10} MiB")


def main(seconds: float) -> None:
    """Record for a time, then follow the first half and the whole."""
    with tempfile.TemporaryDirectory() as name:
        whole, half = Path(name, "whole"), Path(name, "half")
        record(whole, seconds)
        lines = (whole / "wire.ndjson").read_bytes().splitlines(keepends=True)
        half.mkdir()
        (half / "wire.ndjson").write_bytes(b"".join(lines[: len(lines) // 2]))
        follow(half)
        follow(whole)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 112)
