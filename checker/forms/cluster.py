"""`check --config` and `check --describe`: run the searches for a cluster.

In:  `Options`, and a session.
Out: a `CommandResult` whose `found` is an `Answer`, or the `ClusterPlan` if the cluster itself was not searched.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isrcheck.checker.command.form import Options
from isrcheck.checker.kafka_config import answer
from isrcheck.checker.kafka_config.availability import AVAILABILITY_SHARE, search_availability
from isrcheck.checker.kafka_config.cluster_plan import (
    PATIENCE,
    PROMISE,
    ClusterPlan,
    PlannedSearch,
    read_plan,
)
from isrcheck.checker.outcome.exit_codes import UNDECIDED
from isrcheck.checker.session.command_result import CommandResult, was_interrupted
from isrcheck.checker.session.session import SearchSession
from isrcheck.checker.session.trace_writer import TraceWriter
from isrcheck.traces.terminal.show import view


def run(options: Options, session: SearchSession) -> CommandResult:
    """Run the searches that decide the verdict, and the side searches, which do not. Raises UsageError."""
    question = read_plan(
        options.files, options.kafka_version, options.describe, options.topic_name, options.metadata_version
    )
    is_limited = options.seconds is not None or options.bound is not None
    traces, transaction_traces, aside_traces = (TraceWriter(options.out) for _ in range(3))
    if question.protocol is None:
        return _refused(question, traces, stopped=False)
    main_part, *other_parts = question.deciding()
    # The main search comes last and gets all remaining time; the other searches leave it at least a tenth.
    seconds = session.budget.left or 0.0
    seconds *= min(
        1.0, 0.9 / (AVAILABILITY_SHARE + sum(one.share for one in (*question.side_searches(), *other_parts)))
    )

    def search(part: PlannedSearch, into: TraceWriter, share: float | None, **more: Any) -> answer.FinishedSearch:
        # The steps of another model are not those that --bound counts, and whether a state is stuck takes all states.
        within = replace(options.limits, seconds=share, depth=None if part.is_of_transactions else options.limits.depth)
        found = session.run(part.instance, part.instance.model.name, into, limits=within, only=part.only, **more)
        if part is not main_part and found.exploration.stopped == "interrupt":
            raise KeyboardInterrupt
        return part, found

    try:
        asides = [
            search(one, aside_traces, one.share * seconds, want_permitted=PROMISE in one.only)
            for one in question.side_searches()
        ]
        availability = search_availability(question, session.from_one, seconds * AVAILABILITY_SHARE)
        others = [
            search(one, transaction_traces if one.is_of_transactions else traces, one.share * seconds)
            for one in other_parts
        ]
    except KeyboardInterrupt:
        cut = replace(question, protocol=None, why_undecided="interrupted before the cluster itself was searched")
        return _refused(cut, traces, stopped=True)
    main_run = search(main_part, traces, None, patience={} if is_limited else {PROMISE: PATIENCE})
    found = answer.Answer(question, [main_run, *others], asides, availability)
    failing = (
        writer.shortest[name]
        for writer, promises in ((traces, found.promises), (transaction_traces, found.transaction_promises))
        for name in found.decisive_properties(promises)
        if name in writer.shortest
    )
    told = next(failing, None)
    history = "" if told is None else "\n".join(view(told))
    return CommandResult(
        answer.text(found, history),
        answer.answer_object(found),
        found.code(strict=options.strict),
        traces.failure or transaction_traces.failure or aside_traces.failure,
        was_interrupted([main_run[1].exploration]),
        found,
    )


def _refused(question: ClusterPlan, traces: TraceWriter, *, stopped: bool) -> CommandResult:
    """Return the result for a cluster that was not searched; `stopped` means that Ctrl-C was the reason."""
    text, content = answer.refusal(question), answer.refusal_object(question)
    return CommandResult(text, content, UNDECIDED, traces.failure, stopped, question)
