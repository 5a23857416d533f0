"""Records runs of the executable cluster under random faults, as a log that can be followed (events.py).

In:  a `Plan`.
Out: lines of NDJSON. The same plan gives the same lines, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.configuration.switches import SwitchError
from isrcheck.conformance.cluster.log.storage import StorageError
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.recorded_run import RecordedRun
from isrcheck.conformance.follow.recorder.writing import Writer
from isrcheck.models.messages.errors import UsageError


def record(
    plan: Plan,
    stream: TextIO,
    name: str,
    directory: Path | None = None,
    report: Callable[[int], None] = lambda events: None,
) -> int:
    """Writes runs to a stream, which `name` names in errors; how many lines. With a directory, brokers' logs are files.

    `report` is told after every run how many events there were so far. Raises UsageError for what the plan asks for and
    does not exist, and where a disk is full. What was written by then is a log that ends too early, or in the middle of
    a line; the latter is refused when it is read.
    """
    writer = Writer(plan, stream, name)
    try:
        while writer.events < plan.events:
            RecordedRun(plan, writer, directory).go()
            report(writer.events)
        writer.close()
    except (ClusterError, SwitchError) as error:
        raise UsageError(str(error)) from None
    except StorageError as error:
        raise UsageError(f"{name}:{writer.lines + 1}: the cluster halted: {error}") from None
    return writer.lines
