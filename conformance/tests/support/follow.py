"""Shared by the tests of event logs: recorded runs, a folder with a log of every kind and what is said of it."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.record import record
from isrcheck.conformance.follow.recorder.transactions import TransactionsPlan
from isrcheck.conformance.follow.runs import Outcome, Verdict, follow_log

LOSS = RECORDINGS / "kafka-0.10.2-kip101_loss.ndjson"


def expect(kind: type, outcome: Any) -> Any:
    """The outcome, which has to be of this kind."""
    assert isinstance(outcome, kind), f"{type(outcome).__name__} is no {kind.__name__}"
    return outcome


def recorded(plan: Plan | TransactionsPlan) -> str:
    """The log of the runs of a plan."""
    stream = io.StringIO()
    record(plan, stream, "log")
    return stream.getvalue()


def followed(folder: Path, text: str, **limits: int) -> list[Outcome]:
    """The outcome of each run in a log with this text."""
    path = folder / "log.ndjson"
    path.write_text(text, encoding="utf-8")
    return list(follow_log(path, **limits))


def only_follows(folder: Path, text: str, events: int | None = None, *, is_complete: bool = True) -> list[Outcome]:
    """The outcomes of the runs in a log with this text, which all follow; what is observed of a complete log leaves one
    possibility open, and never more."""
    outcomes = followed(folder, text)
    assert [outcome.spell() for outcome in outcomes if outcome.verdict is not Verdict.FOLLOWED] == []
    assert events in (None, sum(outcome.events for outcome in outcomes))
    if is_complete:
        assert {(outcome.possible, outcome.largest, outcome.missing) for outcome in outcomes} == {(1, 1, 0)}
    return outcomes


def bridged(folder: Path, text: str) -> None:
    """The log follows although it lacks events, with several possibilities."""
    outcomes = only_follows(folder, text, is_complete=False)
    assert sum(outcome.missing for outcome in outcomes) > 0
    assert max(outcome.largest for outcome in outcomes) > 1


def first_rejection(folder: Path, text: str) -> tuple[int, str]:
    """The rejected event of a log, counted from 1 through all runs, and the reason without line numbers.

    The runs before it follow, and there is no run after it.
    """
    *earlier, outcome = followed(folder, text)
    assert {run.verdict for run in earlier} <= {Verdict.FOLLOWED}
    assert outcome.verdict is Verdict.REJECTED
    return sum(run.events for run in earlier) + outcome.events + 1, without_line(str(outcome.candidates[0]))


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def text_of(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def without_line(text: str) -> str:
    """Replace the line number of a guard, which changes with every comment in the model."""
    return re.sub(r"\.py:\d+:", ".py:", text)


def run_log(path: Path, seed: int, events: int, bug: str | None = None) -> Path:
    """The log of a random run of the cluster."""
    with path.open("w", encoding="utf-8") as stream:
        record(Plan("2.1", seed, events=events, bug=bug), stream, str(path))
    return path


def gap_log(path: Path, seed: int = 0) -> Path:
    """A log that lacks all but the last of 40 events: too many possibilities for any machine."""
    lines = run_log(path, seed, 40).read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0] + lines[-1], encoding="utf-8")
    return path


def every_kind(folder: Path) -> Path:
    """Create a folder with a log of every kind, for which the options `ASKED` print `OUT` and `ERR`."""
    folder.mkdir()
    run_log(folder / "a.ndjson", 1, 40)
    (folder / "b-binary.ndjson").write_bytes(bytes(range(128, 256)) * 9)
    run_log(folder / "c-bug.ndjson", 7, 200, "hw_off_by_one")
    cut = run_log(folder / "d-cut.ndjson", 2, 30)
    cut.write_bytes(cut.read_bytes()[:-5])
    (folder / "e-empty.ndjson").write_bytes(b"")
    gap_log(folder / "f-gap.ndjson")
    shutil.copy(LOSS, folder / "g-kafka.ndjson")
    damaged = run_log(folder / "h-bug-then-damage.ndjson", 7, 200, "hw_off_by_one")
    with damaged.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"run": "7.2"}) + "\n")
    run_log(folder / "i.ndjson", 3, 300)
    return folder


def produce(n: int, value: str, index: int = 0, **topic: str) -> dict[str, Any]:
    """A Produce request in a wire recording, with one record for a partition of a topic."""
    batch = {"leader_epoch": -1, "control": False, "records": [{"offset": 0, "value": value}]}
    body = {"acks": -1, "topic_data": [{**topic, "partition_data": [{"index": index, "records": [batch]}]}]}
    line = {"n": n, "t": 0, "kind": "request", "client": "p", "broker": 1, "api": "Produce", "correlation": n}
    return line | {"body": body}


def without_times(out: str) -> str:
    """The output without the time that it took, and without the place."""
    return re.sub(r"; [0-9.]+ s( on \S+, which took [0-9.]+ s to start)?$", "; TIME", out, flags=re.MULTILINE)


ASKED = "--protocol 2.1 --most-states 30"
OUT = f"""\
FOLLOWED   logs/a.ndjson: 1 run, 40 events
REJECTED   logs/c-bug.ndjson:4: run 7.1: no step of the model leads to the observed state (so 2 of 2 runs)
NOTHING    logs/e-empty.ndjson: nothing to follow, there is no event
UNDECIDED  logs/f-gap.ndjson:2: run 0.1: more than 30 states are possible; raise --most-states, or record more
REJECTED   logs/g-kafka.ndjson:17: broker 2 has m0 m1 m2 on disk, checkpointed high watermark 2
FOLLOWED   logs/i.ndjson: 3 runs, 300 events

logs/c-bug.ndjson:4: run 7.1 is rejected: no step of the model leads to the observed state
  event 3 at broker 0: producer_appends leader=0
  producer_appends at 0: it leads to pending[1] = 0, but null was observed, and 3 more cells differ

logs/c-bug.ndjson:183: run 7.2 is rejected: no step of the model leads to the observed state
  event 27 at broker 2: producer_appends leader=2
  producer_appends at 2: it leads to pending[3] = 2, but null was observed, and 3 more cells differ
  the full report: conform follow logs/c-bug.ndjson {ASKED}

logs/g-kafka.ndjson:17: it is rejected: broker 2 has m0 m1 m2 on disk, checkpointed high watermark 2
  the log of broker 2 is m0 m1 m2: true in 0 of 689 states, instead: m0 m1 m2 PRECIOUS (689)
  it has had the high watermark 2, not before the last observed checkpoint: true in 689 of 689 states
  the full report: conform follow logs/g-kafka.ndjson {ASKED}

logs/h-bug-then-damage.ndjson:4: run 7.1 is rejected: no step of the model leads to the observed state
  event 3 at broker 0: producer_appends leader=0
  producer_appends at 0: it leads to pending[1] = 0, but null was observed, and 3 more cells differ
  the full report: conform follow logs/h-bug-then-damage.ndjson {ASKED}

9 logs: 2 FOLLOWED, 2 REJECTED, 1 UNDECIDED, 1 NOTHING, 3 UNREADABLE; TIME
"""
ERR = """\
conform: logs/b-binary.ndjson:1: the file ends in the middle of this line; get the rest, or remove the line
conform: logs/d-cut.ndjson:31: the file ends in the middle of this line; get the rest, or remove the line
conform: logs/h-bug-then-damage.ndjson:203: "number" is missing; docs/conformance.md describes the lines of a log
"""


def table(text: str) -> list[tuple[list[str], str]]:
    """Rows of words and a sentence: `words | sentence`, or with the sentence in indented lines; # begins a comment."""
    rows: list[tuple[list[str], str]] = []
    for line in text.splitlines():
        if line.startswith(" "):
            words, sentence = rows.pop()
            rows.append((words, f"{sentence} {line.strip()}".strip()))
        elif not line.startswith("#"):
            words_of_line, _, sentence = line.partition(" | ")
            rows.append((words_of_line.split(), sentence))
    return rows
