"""Measures how long the doctor takes to answer an operator, and how much memory it needs.

Run: python -m benchmarks.operators

The questions are about one topic's file, about outputs of kafka-topics with 10,000 partitions and with 100 MB, and
about a running cluster of 10,001 partitions on 9 brokers, which another process serves. Each command runs in a process
of its own; the loop is an empty loop of 20 million rounds in plain Python, against which the ratios are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.administrators import SERVE

TOPIC = "replication.factor=3\nmin.insync.replicas=2\nacks=all\n"
BROKERS, PARTITIONS_OF_A_TOPIC = 9, 10
LARGE, VERY_LARGE = 10_000, 860_000
"""Partitions; the output about the larger number has about 100 MB."""


def described(partitions: int) -> Iterator[str]:
    """Yield the lines that kafka-topics prints for topics of 10 partitions, with three replicas in sync for each."""
    for number in range(partitions):
        topic, partition = divmod(number, PARTITIONS_OF_A_TOPIC)
        name = f"orders-of-region-{topic}"
        if partition == 0:
            counts = f"PartitionCount: {PARTITIONS_OF_A_TOPIC}\tReplicationFactor: 3"
            yield f"Topic: {name}\tTopicId: {topic:022}\t{counts}\tConfigs: min.insync.replicas=2\n"
        leader = number % BROKERS
        replicas = ",".join(str((leader + shift) % BROKERS) for shift in range(3))
        of_brokers = f"Leader: {leader}\tReplicas: {replicas}\tIsr: {replicas}\tElr: \tLastKnownElr: \n"
        yield f"\tTopic: {name}\tPartition: {partition}\t{of_brokers}"


def loop() -> float:
    """The seconds of processor time of the loop."""
    began = time.process_time()
    for _ in range(20_000_000):
        pass
    return time.process_time() - began


def measure(name: str, words: str, folder: Path, unit: float) -> None:
    """Run the doctor with these words, and print the time and the memory of its process."""
    command = [sys.executable, "-m", "isrcheck", "doctor", *words.split()]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds, processor = time.perf_counter() - began, used.ru_utime + used.ru_stime
    print(
        f"{name:44} {seconds:6.2f} s, {processor:6.2f} s of processor time ({processor / unit:5.2f} loops),"
        f" {used.ru_maxrss / 1024:4.0f} MiB, exit code {process.returncode}",
        flush=True,
    )


def main() -> None:
    """Measure."""
    unit = loop()
    print(f"the loop: {unit:.2f} s of processor time")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "topic.properties").write_text(TOPIC)
        for file, partitions in (("large.txt", LARGE), ("very_large.txt", VERY_LARGE)):
            with (folder / file).open("w") as output:
                output.writelines(described(partitions))
        size = (folder / "very_large.txt").stat().st_size / 1e6
        measure("a topic's file", "topic.properties --kafka-version 4.1", folder, unit)
        for what in ("", "--lose broker:3", "--roll"):
            measure(f"{LARGE:,} partitions {what}", f"large.txt --kafka-version 4.1 {what}", folder, unit)
        with subprocess.Popen(
            [*SERVE, "--topics", "1000", "--partitions", "10"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as served:
            try:
                assert served.stdout is not None
                addresses = served.stdout.readline().strip().removeprefix("bootstrap.servers=")
                for what in ("", "--lose broker:3"):
                    words = f"--bootstrap-server {addresses} --kafka-version 4.1 {what}"
                    measure(f"a running cluster of {LARGE + 1:,} {what}", words, folder, unit)
            finally:
                served.terminate()
        for what in ("", "--lose broker:3"):
            measure(f"{size:.0f} MB {what}", f"very_large.txt --kafka-version 4.1 {what}", folder, unit)


if __name__ == "__main__":
    main()
