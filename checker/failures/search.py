"""Searches known failures: the mistake in its smallest bounds, and each change that ends the failure.

In:  a `Failure` of the library, and a session.
Out: a `Searched` failure (found.py).
"""

from __future__ import annotations

from isrcheck.checker.failures.found import Ended, Searched
from isrcheck.checker.outcome.verdict import Verdict, Word
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.text import Run
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.models.kafka.failures.catalogue import Failure, History
from isrcheck.models.language.declarations import WHOLE
from isrcheck.traces.explaining.rarity import rarity


def search(failure: Failure, session: SearchSession, limits: Limits, traces: TraceWriter) -> Searched:
    """Search a failure and all changes that end it; write its trace. Raises KeyboardInterrupt."""
    history = failure.history
    if history is None:
        return Searched(failure)
    # That a state is stuck, or that a loop breaks a property, shows only in the whole state space.
    prop = next(one for one in history.instance.properties if one.name == history.property_name)
    depth = None if prop.kind in WHOLE else history.depth
    run, verdict = _run(session, history, "", depth, limits, traces)
    trace = traces.shortest.get(history.property_name)
    ended: list[Ended] = []
    if trace is not None:
        for change in failure.changes:
            of_change, told = _run(session, history, change.change, change.explored, limits, TraceWriter(None))
            ended.append(Ended(change, of_change, told, history.verdict == Word.PERMITTED.value))
            if told.word is Word.UNDECIDED:
                break
    return Searched(failure, run, verdict, trace, None if trace is None else rarity(trace), ended)


def _run(
    session: SearchSession, history: History, change: str, depth: int | None, limits: Limits, traces: TraceWriter
) -> tuple[Run, Verdict]:
    instance = history.changed(change) if change else history.instance
    run = session.run(
        instance,
        history.model,
        traces,
        limits=Limits(depth, limits.memory, limits.seconds, limits.threads),
        only=[history.property_name],
        want_permitted=history.verdict == Word.PERMITTED.value,
    )
    return run, next(one for one in run.verdicts if one.prop.name == history.property_name)
