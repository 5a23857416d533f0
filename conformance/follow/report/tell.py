"""Prints the outcome of following a recording.

In:  an outcome (explain.py).
Out: lines of text. Lines of the recording use its names of brokers and records, the trace uses the model's names; the
     first lines map the model's names to the recording's.
"""

from __future__ import annotations

from isrcheck.conformance.follow.recorded.lines import (
    Acked,
    AlterRequest,
    Applied,
    Disk,
    ElectRequest,
    Fault,
    HighWatermark,
    Holds,
    Line,
    LogEnd,
    Metadata,
    Read,
    Reassigned,
    Reassignment,
    Sent,
    View,
)
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.report.excluded import excluded
from isrcheck.conformance.follow.report.losses import losses
from isrcheck.conformance.follow.search.explain import (
    Effort,
    Explained,
    NothingToFollow,
    Outcome,
    Rejected,
    RejectedAfter,
    Undecided,
    UnmetClaim,
)
from isrcheck.conformance.follow.search.promises import lines as failure_lines
from isrcheck.conformance.follow.search.promises import summary
from isrcheck.conformance.follow.search.script import alters_partitions
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import spell_element
from isrcheck.traces.lanes.table import wrapped
from isrcheck.traces.terminal.show import view

WHY = {
    "memory": "the memory limit was reached; give more with --memory",
    "seconds": "the time limit was reached; give more with --seconds",
    "interrupt": "interrupted",
    "sends": "too many records are sent and never shown again, so that all ways in which they arrived cannot be tried;"
    " say of some whether they are acknowledged",
}
"""The reasons why a search ended without a decision."""

EVERY_PATH = "Every path that explains the recording violates a promise: there is no other one that keeps all of them."
PERHAPS_ANOTHER = "It is not decided whether another path explains the recording and keeps all promises."
"""What is known of other paths, if the path of the report violates a promise."""

FOLDED = "Records that the recording always shows together are one record of the trace."

RESTS_ON = (
    "The rejection assumes that producers send the records of the recording with acks={acks}, in the order in which"
    " they first appear, and nothing else (records sent again keep that order, unless `retries` is set); that brokers"
    " crash, freeze and start only where the recording says so; and that elections happen as its leaders require."
)


AND_ON = (
    "With AlterPartition, leader and ISR change only as often as the partition epochs and ISRs of its metadata require,"
    " and after the last of them at most once for each fault and each request; and a living broker's session expires"
    " only if the recording freezes one. If its header says `all_requests`,"
    " leaders send no request but those in its `alter_partition` lines."
)
"""What a rejection by 2.8 or later also assumes."""


LOST = "{values} reached nobody: no line shows them after they were sent, so both is possible."
"""What an explanation says of the records that it leaves out."""

TIMELY = "It keeps to time: the executable cluster takes the same steps."
UNTIMELY = (
    "No path was found that keeps to time. The executable cluster does not take this one: {why}. The model has no clock"
    " and allows it."
)


def tell(outcome: Outcome) -> list[str]:
    """The report on an outcome, as lines of text."""
    if isinstance(outcome, NothingToFollow):
        return [f"{outcome.path}: nothing to follow: no line describes a state or a fault"]
    if isinstance(outcome, Explained):
        return _explained(outcome)
    if isinstance(outcome, Rejected):
        return _rejected(outcome)
    if isinstance(outcome, RejectedAfter):
        return _rejected_after(outcome)
    return _undecided(outcome)


def _explained(outcome: Explained) -> list[str]:
    recording, trace = outcome.recording, outcome.trace
    found = wrapped(
        f"EXPLAINED: {recording.path} is a behaviour of {trace.instance.protocol.name}, in {trace.length} steps"
        f"{'; no path with fewer steps explains it' if outcome.is_shortest else ''}."
    )
    if outcome.failures:
        found += wrapped(f"It violates properties of the model: {summary(outcome.failures, recording)}.")
    for loss in losses(outcome.failures, recording, outcome.passed):
        found += wrapped(loss)
    if outcome.exit_code:
        found += wrapped(EVERY_PATH if outcome.fail_all else PERHAPS_ANOTHER)
    if outcome.untimely is not None:
        found += wrapped(UNTIMELY.format(why=outcome.untimely) if outcome.untimely else TIMELY)
    if recording.lost:
        found += wrapped(LOST.format(values=", ".join(f"{line.value} ({line.spot})" for line in recording.lost)))
    found += ["", *names(recording), ""]
    passed = 0
    for position, count in enumerate(outcome.passed):
        found.append(f"  {position:>3}  {trace.spell_row(position)}")
        for line in recording.lines[passed:count]:
            found += wrapped(f"{line.spot}: {says(line)}", "         ")
        passed = count
    found += ["", *view(trace), ""]
    for failure in outcome.failures:
        for told in failure_lines(failure, recording, outcome.passed):
            found += wrapped(told)
        found.append("")
    return [*found, *unused(recording.unused), _effort(outcome.effort)]


def unused(what: str) -> list[str]:
    """What the recording holds and the answer does not rest on, in wrapped lines."""
    return wrapped(f"Not used: {what}.") if what else []


def _rejected(outcome: Rejected) -> list[str]:
    recording, line = outcome.recording, outcome.line
    found = wrapped(f"REJECTED at {place(recording, line)}: {says(line)}")
    found += wrapped(
        f"Every line before it has an explanation in {outcome.instance.protocol.name}. All {outcome.possible:,} states"
        " that are possible before this line were found, and the line is true in none of them:"
    )
    for unmet in outcome.unmet:
        found += wrapped(spell_unmet_claim(unmet, outcome.possible), "  ")
    if outcome.unmet and all(unmet.true_of for unmet in outcome.unmet):
        found.append("  each of these is true in some state, but they are not all true in the same one")
    found += told_exclusion(outcome)
    return [*found, *_rests_on(outcome.instance), *unused(recording.unused), _effort(outcome.effort)]


def _rejected_after(outcome: RejectedAfter) -> list[str]:
    return [
        *wrapped(
            f"REJECTED: no behaviour of {outcome.instance.protocol.name} explains {outcome.recording.path}. All were"
            " tried that agree with the partition epochs and the offsets that later lines show."
        ),
        *wrapped(
            f"The lines before {place(outcome.recording, outcome.line)} have an explanation. Which line is the first"
            f" without one was not found out: {WHY[outcome.why]}."
        ),
        *_rests_on(outcome.instance),
        *unused(outcome.recording.unused),
        _effort(outcome.effort),
    ]


def _rests_on(instance: Instance) -> list[str]:
    """What a rejection assumes."""
    assumed = RESTS_ON.format(acks=Acks(instance.configuration.acks).spelling)
    return wrapped(assumed + (f" {AND_ON}" if alters_partitions(instance) else ""))


def told_exclusion(outcome: Rejected) -> list[str]:
    """What excludes the rejected line, in wrapped lines; steps have the numbers of the model, so a legend is first."""
    told = excluded(outcome.search)
    return [
        *names(outcome.recording),
        *(line for one in told for line in wrapped(one.strip(), "  " if one.startswith(" ") else "")),
    ]


def spell_unmet_claim(unmet: UnmetClaim, possible: int) -> str:
    """A claim in one line of text: in how many states it is true, and the actual values in the others."""
    instead = "; ".join(f"{text} ({count:,})" for text, count in unmet.instead)
    return f"{unmet.claim}: true in {unmet.true_of:,} of {possible:,} states{', instead: ' if instead else ''}{instead}"


def _undecided(outcome: Undecided) -> list[str]:
    return [
        f"UNDECIDED: {WHY.get(outcome.why, outcome.why)}; {reached(outcome)}",
        *wrapped(outcome.hint),
        *unused("" if outcome.recording is None else outcome.recording.unused),
        _effort(outcome.effort),
    ]


def reached(outcome: Undecided) -> str:
    """How far an undecided recording was followed."""
    if outcome.recording is None:
        return f"{outcome.path} was not read to its end"
    if outcome.line is None:
        return "a path explains every line, but it is not decided whether it keeps the model's promises"
    return f"the search found explanations only of the lines before {place(outcome.recording, outcome.line)}"


def _effort(effort: Effort) -> str:
    return (
        f"{sum(effort.states):,} states, {effort.generated:,} successors, {effort.seconds:.1f} s,"
        f" {effort.bytes_used >> 20:,} MiB"
    )


def names(recording: Recording) -> list[str]:
    """The legend of the trace: which broker and which record each of the model's numbers and letters stands for."""
    brokers = ", ".join(f"{replica} is broker {broker}" for replica, broker in enumerate(recording.brokers))
    values = ", ".join(f"{spell_element(record)} is {value}" for record, value in enumerate(recording.values))
    first = recording.first_offset
    counted = f" Offsets are counted from {first}, the first one of the recording." if first else ""
    together = f" {FOLDED}" if recording.is_folded else ""
    return [*wrapped(f"In the trace {brokers}{'; ' if values else ''}{values}.{counted}{together}")]


def place(recording: Recording, line: Line) -> str:
    """The position of a line, as FILE:LINE; for what a broker left on its disk, its folder."""
    if line.source is None:
        return f"{recording.path}:{line.number}"
    return str(recording.path.parent / line.spot)


def says(line: Line) -> str:
    """A line of a recording in words."""
    if isinstance(line, Acked):
        at = "" if line.offset is None else f" at offset {line.offset}"
        return f"{line.value} is acknowledged{at}"
    if isinstance(line, Sent):
        return f"{line.value} is sent"
    if isinstance(line, Disk):
        checkpoint = "" if line.checkpoint is None else f", checkpointed high watermark {line.checkpoint}"
        return f"broker {line.broker} has {' '.join(line.log) or 'nothing'} on disk{checkpoint}"
    if isinstance(line, Metadata):
        leader = "no leader" if line.leader is None else f"leader {line.leader}"
        epoch = "" if line.leader_epoch is None else f" in epoch {line.leader_epoch}"
        replicas = "" if line.replicas is None else f", replicas {' '.join(map(str, sorted(line.replicas)))}"
        return f"{leader}{epoch}, ISR {' '.join(map(str, sorted(line.isr)))}{replicas}"
    if isinstance(line, Reassignment):
        who = "perhaps, from here on, an operator" if line.is_unseen else "an operator"
        return f"{who} asks {_wish(line.replicas)}{'; no line shows it' if line.is_unseen else ''}"
    if isinstance(line, Reassigned):
        return f"the controller {'refuses' if line.is_refused else 'has taken'} the request {_wish(line.replicas)}"
    if isinstance(line, View):
        isr = "" if line.isr is None else f", ISR {' '.join(map(str, sorted(line.isr)))}"
        who = "the controller" if line.broker is None else f"broker {line.broker}"
        leader = "no leader" if line.leader is None else f"leader {line.leader}"
        return f"{who} shows {leader} in epoch {line.leader_epoch}{isr}"
    if isinstance(line, AlterRequest):
        isr = " ".join(map(str, sorted(line.isr)))
        return f"leader {line.leader} asks for ISR {isr} in epoch {line.leader_epoch}"
    if isinstance(line, Applied):
        return f"broker {line.broker} has applied the metadata up to partition epoch {line.partition_epoch}"
    if isinstance(line, ElectRequest):
        if line.is_unasked:
            return "from here on, the controller elects the preferred leader, and nobody has asked for it"
        return f"an administrator asks for {'an unclean' if line.is_unclean else 'a preferred'} election"
    if isinstance(line, HighWatermark):
        return f"broker {line.broker} has the high watermark {line.high_watermark}"
    if isinstance(line, Holds):
        return f"broker {line.broker} has {' '.join(line.records)} at {' '.join(map(str, line.offsets))}"
    if isinstance(line, LogEnd):
        return f"the log of broker {line.broker} ends at {line.log_end_offset}"
    if isinstance(line, Read):
        where = "" if line.offsets == tuple(range(len(line.offsets))) else f" at {' '.join(map(str, line.offsets))}"
        return f"a consumer reads {' '.join(line.records) or 'nothing'}{where}"
    assert isinstance(line, Fault)
    return f"{line.what.value} broker {line.broker}"


def _wish(replicas: frozenset[int] | None) -> str:
    """What an operator asks for."""
    if replicas is None:
        return "to cancel the reassignment"
    return f"for the replicas {' '.join(map(str, sorted(replicas)))}"
