"""Records runs of the executable cluster under random faults, as a log that can be followed (format/events.py).

In:  a `Plan`, or a `TransactionsPlan`.
Out: lines of NDJSON. The same plan gives identical lines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from isrcheck.conformance.cluster.configuration.protocol import SwitchError
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.log.storage import StorageError
from isrcheck.conformance.follow.format.writing import Writer
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.recorded_run import RecordedRun
from isrcheck.conformance.follow.recorder.transactions.plan import TransactionsPlan
from isrcheck.conformance.follow.recorder.transactions.recorded_run import TransactionsRun
from isrcheck.models.messages.errors import UsageError


def record(
    plan: Plan | TransactionsPlan,
    stream: TextIO,
    name: str,
    directory: Path | None = None,
    report: Callable[[int], None] = lambda events: None,
) -> int:
    """Write runs to a stream, named `name` in errors; return the number of lines. With a directory, the logs of
    brokers are files.

    `report` is called after every run with the number of events so far. Raises UsageError for unknown names
    in the plan, and for a full disk. The lines written by then form a log that ends early; a cut last line is refused
    when the log is read.
    """
    writer = Writer(plan.left_out, stream, name)
    try:
        while writer.events < plan.events:
            if isinstance(plan, TransactionsPlan):
                TransactionsRun(plan, writer).go()
            else:
                RecordedRun(plan, writer, directory).go()
            report(writer.events)
        writer.close()
    except (ClusterError, SwitchError) as error:
        raise UsageError(str(error)) from None
    except StorageError as error:
        raise UsageError(f"{name}:{writer.lines + 1}: the cluster halted: {error}") from None
    return writer.lines
