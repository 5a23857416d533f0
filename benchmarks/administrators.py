"""Measures how long a served cluster takes to answer the questions of an administrator.

Run: python -m benchmarks.administrators [TOPICS [PARTITIONS]]

A process serves 9 brokers in 3 racks, with the further topics (default: 1,000 with 10 partitions each). An AdminClient
of confluent-kafka asks for all topics, for their settings, and for their descriptions, each twice. The times include
the client's work.

Measured on 2 shared cores (load 8), 10,001 partitions: all topics in 0.4 to 0.5 s, 8,008 settings in 0.5 to 0.6 s, all
descriptions in 1.5 to 1.7 s. The server had 54 MB of memory at most.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

SECONDS = 60.0
SERVE = (sys.executable, "-m", "isrcheck.conformance", "serve", "--protocol", "4.1", "--replicas", "9", "--racks", "3")


def timed(name: str, ask: Callable[[], int]) -> None:
    """Print how long each of two calls takes, and how many things they answer with."""
    for _ in range(2):
        began = time.perf_counter()
        count = ask()
        print(f"{name:20} {count:7,} in {time.perf_counter() - began:.2f} s")


def main(topics: str = "1000", partitions: str = "10") -> None:
    """Measure."""
    words = (*SERVE, "--topics", topics, "--partitions", partitions)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            addresses = served.stdout.readline().strip().removeprefix("bootstrap.servers=")
            client = AdminClient({"bootstrap.servers": addresses, "log_level": 0})
            names = list(client.list_topics(timeout=SECONDS).topics)

            def partitions_of_all() -> int:
                found = client.list_topics(timeout=SECONDS).topics.values()
                return sum(len(each.partitions) for each in found)

            def settings_of_all() -> int:
                asked = [ConfigResource(ResourceType.TOPIC, each) for each in names]
                answers = client.describe_configs(asked, request_timeout=SECONDS).values()
                return sum(len(each.result(SECONDS)) for each in answers)

            def descriptions_of_all() -> int:
                answers = client.describe_topics(TopicCollection(names), request_timeout=SECONDS).values()
                return sum(len(each.result(SECONDS).partitions) for each in answers)

            timed("partitions listed", partitions_of_all)
            timed("settings", settings_of_all)
            timed("partitions described", descriptions_of_all)
        finally:
            served.terminate()
            _, status, used = os.wait4(served.pid, 0)
            served.returncode = os.waitstatus_to_exitcode(status)
            print(f"memory of the server {used.ru_maxrss / 1024:,.0f} MiB at most")


if __name__ == "__main__":
    main(*sys.argv[1:])
