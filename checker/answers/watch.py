"""`isrcheck doctor --bootstrap-server ... --watch SECONDS`: reads a cluster again and again, until Ctrl-C.

Each reading gives a line with the answer, and a line for each topic with partitions at risk. With --metrics-port, the
newest reading is also served in Prometheus' text format. A reading that fails gives a line, too: the metrics then say
that nothing is known, and the next reading follows. The command ends only if the first reading fails.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NoReturn

from isrcheck.checker.answers.answer import Answer, Kind, code_of
from isrcheck.checker.answers.report import rows_of
from isrcheck.checker.cluster.cluster import UNREAD, Reading
from isrcheck.checker.cluster.contents import Partition
from isrcheck.checker.cluster.live.address import Address
from isrcheck.checker.command.forms import LiveRequest
from isrcheck.checker.command.options import Options
from isrcheck.checker.results.terminal import counted, grouped
from isrcheck.commands.exit_codes import INTERRUPTED, UNDECIDED, UndecidedError
from isrcheck.commands.program import print_lines
from isrcheck.models.messages import UsageError, escaped

MOST_TOPICS_SHOWN = 10
"""The most topics in the text of one reading, worst first; the metrics and --json have all."""


@dataclass(frozen=True)
class Risk:
    """How many partitions of a topic are at risk now. A partition is counted once, by the gravest of its states."""

    partitions: int = 0
    without_leader: int = 0
    """Nothing can be written or read."""
    under_min_isr: int = 0
    """Writes with acks=all are refused."""
    at_min_isr: int = 0
    """If one more replica is lost, writes with acks=all are refused; if the ISR has one member, nobody leads then."""
    under_replicated: int = 0
    """Not every replica is in sync, but more than min.insync.replicas asks for."""

    @property
    def gravity(self) -> tuple[int, ...]:
        """The numbers by which topics are sorted, gravest first."""
        return self.without_leader, self.under_min_isr, self.at_min_isr, self.under_replicated


SAYS = {
    "without_leader": "without a leader",
    "under_min_isr": "under min.insync.replicas (writes with acks=all are refused)",
    "at_min_isr": "at min.insync.replicas (one more loss away from refused writes, or from having no leader)",
    "under_replicated": "with fewer replicas in sync than replicas",
}
"""What each number of `Risk` counts."""


@dataclass(frozen=True)
class Watched:
    """The result of one reading."""

    at: str
    """When the reading ended, in UTC (ISO 8601)."""
    seconds: float
    """How long the reading took."""
    code: int
    """The exit code that the command would have after this reading alone."""
    headline: str
    """The first line of the worst topic's answer; or why nothing is known."""
    is_read: bool = True
    """Whether the cluster was read; if not, the next fields are empty."""
    kinds: Mapping[Kind, int] = field(default_factory=dict)
    """How many topics have an answer of each kind."""
    topics: Mapping[str, Risk] = field(default_factory=dict)
    unknown: int = 0
    """How many facts could not be read."""

    def lines(self) -> Iterator[str]:
        """Yield the text of the reading."""
        total = sum(sum(risk.gravity) for risk in self.topics.values())
        yield f"{self.at}  {self.headline}" + (f"; {counted(total, 'partition')} at risk now" if self.is_read else "")
        by_name = sorted((name, risk) for name, risk in self.topics.items() if any(risk.gravity))
        risky = sorted(by_name, key=lambda topic: topic[1].gravity, reverse=True)
        for name, risk in risky[:MOST_TOPICS_SHOWN]:
            states = [f"{count:,} {SAYS[key]}" for key, count in vars(risk).items() if key in SAYS and count]
            yield f"  {name}: {'; '.join(states)}"
        if len(risky) > MOST_TOPICS_SHOWN:
            yield f"  and {len(risky) - MOST_TOPICS_SHOWN:,} more topics"

    def as_object(self) -> dict[str, object]:
        """Return the reading as an object for --json, which docs/json.md describes."""
        return {
            "at": self.at,
            "seconds": round(self.seconds, 3),
            "exit_code": self.code,
            "headline": self.headline,
            "is_read": self.is_read,
            "unknown": self.unknown,
            "topics": {name: asdict(risk) for name, risk in self.topics.items()},
        }

    def metrics(self) -> str:
        """Return the reading in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._metrics())

    def _metrics(self) -> Iterator[str]:
        yield from _metric("isrcheck_up", "Whether the last reading of the cluster succeeded.", {"": int(self.is_read)})
        yield from _metric("isrcheck_reading_seconds", "How long the last reading took.", {"": round(self.seconds, 3)})
        ended = datetime.fromisoformat(self.at).timestamp()
        yield from _metric("isrcheck_reading_timestamp_seconds", "When the last reading ended.", {"": int(ended)})
        yield from _metric(
            "isrcheck_exit_code", "The exit code: 0 no broken promise, 12 a broken one, 3 unknown.", {"": self.code}
        )
        if not self.is_read:
            return
        kinds = {f'{{kind="{kind.value}"}}': self.kinds.get(kind, 0) for kind in Kind}
        yield from _metric("isrcheck_topics", "Topics by the kind of their answer.", kinds)
        yield from _metric("isrcheck_unknown_facts", "What could not be read.", {"": self.unknown})
        names = {"partitions": "Partitions"} | {key: f"Partitions {says}" for key, says in SAYS.items()}
        for key, says in names.items():
            name = "isrcheck_partitions" if key == "partitions" else f"isrcheck_partitions_{key}"
            values = {f'{{topic="{_label(topic)}"}}': getattr(risk, key) for topic, risk in self.topics.items()}
            yield from _metric(name, f"{says}.", values)


def _metric(name: str, says: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} gauge"
    yield from (f"{name}{labels} {value}" for labels, value in values.items())


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def risk_of(partitions: Sequence[Partition], least: int) -> Risk:
    """Count the partitions of a topic by the gravest state of each; `least` is min.insync.replicas, 0 if it is
    unknown."""
    counts = dict.fromkeys(SAYS, 0)
    for partition in partitions:
        needed = min(least, len(partition.replicas))
        if partition.leader is None:
            counts["without_leader"] += 1
        elif len(partition.isr) < needed:
            counts["under_min_isr"] += 1
        elif len(partition.isr) == needed:
            counts["at_min_isr"] += 1
        elif not {*partition.target} <= {*partition.isr}:
            counts["under_replicated"] += 1
    return Risk(len(partitions), **counts)


def watched_of(reading: Reading, answers: Sequence[Answer], code: int, began: float) -> Watched:
    """Return the result of a reading that began at `began` (time.monotonic())."""
    kinds, topics = Counter[Kind](), dict[str, Risk]()
    for answer in answers:
        cluster = answer.cluster
        kinds[answer.kind] += len(cluster.topics)
        partitions = grouped((partition.topic, partition) for partition in cluster.partitions)
        least = 0 if cluster.min_insync_replicas.text == UNREAD else cluster.min_insync_replicas.value
        topics |= {name: risk_of(partitions.get(name, ()), least) for name in cluster.topics}
    unknown = sum(remark.startswith("not known: ") for remark in reading.remarks)
    headline = rows_of(answers)[0].first.headline
    return Watched(_now(), time.monotonic() - began, code, headline, True, kinds, dict(sorted(topics.items())), unknown)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def watch(
    options: Options,
    request: LiveRequest,
    read: Callable[[], Reading],
    answers_of: Callable[[Reading], Sequence[Answer]],
) -> NoReturn:
    """Read the cluster again and again until Ctrl-C, and print each result; then end the command (SystemExit). Raises
    UsageError or UndecidedError if the first reading fails."""
    assert request.every is not None
    count, pause = 0, threading.Event()
    newest: Watched | None = None
    with ExitStack() as stack:
        metrics = stack.enter_context(Metrics(request.metrics)) if request.metrics is not None else None
        try:
            while True:
                began = time.monotonic()
                try:
                    reading = read()
                    answers = answers_of(reading)
                    code = code_of(answers, options.cluster.fail_on or (), strict=options.output.strict)
                    newest = watched_of(reading, answers, code, began)
                except (UsageError, UndecidedError) as error:
                    if newest is None:
                        raise
                    newest = Watched(_now(), time.monotonic() - began, UNDECIDED, f"Unknown: {error}", is_read=False)
                count += 1
                if metrics is not None:
                    metrics.text = newest.metrics()
                as_text = [escaped(line) for line in newest.lines()]
                print_lines([json.dumps(newest.as_object())] if options.output.as_json else as_text)
                pause.wait(max(request.every - (time.monotonic() - began), 0))
        except KeyboardInterrupt:
            print(f"check: interrupted after {counted(count, 'reading')}", file=sys.stderr)
    raise SystemExit(INTERRUPTED)


class Metrics:
    """A server for Prometheus: GET /metrics returns `text`. It serves only within a `with` statement."""

    def __init__(self, address: Address) -> None:
        """Begin to listen. Raises UsageError if the port is in use or not allowed."""
        self.text = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Answer with the metrics; any other path is unknown."""
                is_there = self.path.partition("?")[0] in ("/", "/metrics")
                body = (outer.text if is_there else "see /metrics\n").encode()
                self.send_response(200 if is_there else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep quiet: the terminal is for the answers."""

        try:
            self.server = ThreadingHTTPServer((address.host, address.port), Handler)
        except OSError as error:
            raise UsageError(f"--metrics-port {address}: {error.strerror}; give another port") from None

    def __enter__(self) -> Metrics:
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
