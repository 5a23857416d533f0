"""Reports the outcome of following a recording, either by a search for its history (a path of the model) or online.

The text uses the recording's names of brokers and records. The trace uses the model's names, which a legend before the
trace translates. After following online, claims count offsets and epochs from the beginning of the window. For each
acknowledged record that is lost, one line of the report names the lines of the recording about the record, the faults,
and what permits the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from isrcheck.conformance.follow.online.follow import Followed, OnlineOutcome, RejectedOnline, UndecidedOnline
from isrcheck.conformance.follow.recorded.faults import FaultKind
from isrcheck.conformance.follow.recorded.lines import Acked, Fault, Line
from isrcheck.conformance.follow.recorded.recording import Recording
from isrcheck.conformance.follow.recorded.states import alters_partitions
from isrcheck.conformance.follow.report.excluded import Exclusion
from isrcheck.conformance.follow.search.explain import (
    Explained,
    NothingToFollow,
    Outcome,
    Rejected,
    RejectedAfter,
    Undecided,
    UnmetClaim,
)
from isrcheck.conformance.follow.search.promises import PROMISE, Failure, failure_lines, summary
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import spell_element
from isrcheck.traces.format.trace import VIOLATED
from isrcheck.traces.kafka import failures as attribution
from isrcheck.traces.lanes.table import wrapped
from isrcheck.traces.terminal.show import view

WHY = {
    "memory": "the memory limit was reached; give more with --memory",
    "seconds": "the time limit was reached; give more with --seconds",
    "interrupt": "interrupted",
    "sends": "too many records are sent and never shown again, so not all combinations of arrivals are tried; record of"
    " some whether they are acknowledged",
}
"""The reasons why a search ended without a decision."""

EVERY_PATH = "Every path that explains the recording violates a promise: no path keeps all of them."
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

LOST = "{values} reached nobody: no line shows them after they were sent, so they may have arrived or not."
"""What an explanation says of the records that it leaves out."""

TIMELY = "It keeps to time: the executable cluster takes the same steps."
UNTIMELY = (
    "No path was found that keeps to time. The executable cluster does not take this one: {why}. The model has no clock"
    " and allows it."
)


def tell(outcome: Outcome) -> list[str]:
    """Return the report on a search for the history of a recording (not on following online), as lines of text."""
    match outcome:
        case NothingToFollow():
            return [f"{outcome.path}: nothing to follow: no line describes a state or a fault"]
        case Explained():
            report = _explained(outcome)
        case Rejected():
            report = _rejected(outcome)
        case RejectedAfter():
            report = _rejected_after(outcome)
        case Undecided():
            report = [f"UNDECIDED: {WHY.get(outcome.why, outcome.why)}; {reached(outcome)}", *wrapped(outcome.hint)]
    effort, recording = outcome.effort, outcome.recording
    report += unused("" if recording is None else recording.unused)
    report.append(
        f"{sum(effort.states):,} states, {effort.generated:,} successors, {effort.seconds:.1f} s,"
        f" {effort.bytes_used >> 20:,} MiB"
    )
    return report


def _explained(outcome: Explained) -> list[str]:
    recording, trace = outcome.recording, outcome.trace
    report = wrapped(
        f"EXPLAINED: {recording.path} is a behaviour of {trace.instance.protocol.name}, in {trace.length} steps"
        f"{'; no path with fewer steps explains it' if outcome.is_shortest else ''}."
    )
    if outcome.failures:
        report += wrapped(f"It violates properties of the model: {summary(outcome.failures, recording)}.")
    for loss in losses(outcome.failures, recording, outcome.passed):
        report += wrapped(loss)
    if outcome.exit_code:
        report += wrapped(EVERY_PATH if outcome.fail_all else PERHAPS_ANOTHER)
    if outcome.untimely is not None:
        report += wrapped(UNTIMELY.format(why=outcome.untimely) if outcome.untimely else TIMELY)
    if recording.lost:
        report += wrapped(LOST.format(values=", ".join(f"{line.value} ({line.spot})" for line in recording.lost)))
    report += ["", *names(recording), ""]
    for position, (passed, count) in enumerate(pairwise((0, *outcome.passed))):
        report.append(f"  {position:>3}  {trace.spell_row(position)}")
        for line in recording.lines[passed:count]:
            report += wrapped(f"{line.spot}: {line.says}", "         ")
    report += ["", *view(trace), ""]
    for failure in outcome.failures:
        for line_of_failure in failure_lines(failure, recording, outcome.passed):
            report += wrapped(line_of_failure)
        report.append("")
    return report


def unused(contents: str) -> list[str]:
    """A sentence about the contents of the recording that are not used, in wrapped lines; no lines without contents."""
    return wrapped(f"Not used: {contents}.") if contents else []


def _rejected(outcome: Rejected) -> list[str]:
    recording, line = outcome.recording, outcome.line
    report = wrapped(f"REJECTED at {place(recording.path, line)}: {line.says}")
    report += _unmet(outcome.instance, outcome.possible, outcome.unmet)
    if outcome.unmet and all(unmet.true_of for unmet in outcome.unmet):
        report.append("  each of these is true in some state, but they are not all true in the same one")
    report += names(recording)  # steps have the numbers of the model
    for reason in Exclusion(outcome.search).lines():
        report += wrapped(reason.strip(), "  " if reason.startswith(" ") else "")
    return [*report, *_rests_on(outcome.instance)]


def _unmet(instance: Instance, possible: int, claims: Sequence[UnmetClaim]) -> list[str]:
    """The report on the claims of a rejected line: in how many of the possible states each of them is true."""
    report = wrapped(
        f"Every line before it has an explanation in {instance.protocol.name}. All {possible:,} states that are"
        " possible before this line were found, and the line is true in none of them:"
    )
    for claim in claims:
        report += wrapped(spell_unmet_claim(claim, possible), "  ")
    return report


def _rejected_after(outcome: RejectedAfter) -> list[str]:
    return [
        *wrapped(
            f"REJECTED: no behaviour of {outcome.instance.protocol.name} explains {outcome.recording.path}. All were"
            " tried that agree with the partition epochs and the offsets that later lines show."
        ),
        *wrapped(
            f"The lines before {place(outcome.recording.path, outcome.line)} have an explanation. The search for the"
            f" first line without an explanation did not end: {WHY[outcome.why]}."
        ),
        *_rests_on(outcome.instance),
    ]


def _rests_on(instance: Instance) -> list[str]:
    assumed = RESTS_ON.format(acks=Acks(instance.configuration.acks).spelling)
    return wrapped(assumed + (f" {AND_ON}" if alters_partitions(instance) else ""))


def spell_unmet_claim(unmet: UnmetClaim, possible: int) -> str:
    """A claim in one line of text: in how many states it is true, and the actual values in the other states."""
    instead = "; ".join(f"{text} ({count:,})" for text, count in unmet.instead)
    return f"{unmet.claim}: true in {unmet.true_of:,} of {possible:,} states{', instead: ' if instead else ''}{instead}"


def reached(outcome: Undecided) -> str:
    """How far an undecided recording was followed."""
    if outcome.recording is None:
        return f"{outcome.path} was not read to its end"
    if outcome.line is None:
        return "a path explains every line, but it is not decided whether it keeps the model's promises"
    return f"the search found explanations only of the lines before {place(outcome.recording.path, outcome.line)}"


def names(recording: Recording) -> list[str]:
    """The legend of the trace: the broker for each of the model's numbers, and the record for each of its letters."""
    brokers = ", ".join(f"{replica} is broker {broker}" for replica, broker in enumerate(recording.brokers))
    values = ", ".join(f"{spell_element(record)} is {value}" for record, value in enumerate(recording.values))
    first = recording.header.first_offset
    counted = f" Offsets are counted from {first}, the first offset of the recording." if first else ""
    together = f" {FOLDED}" if recording.is_folded else ""
    return wrapped(f"In the trace {brokers}{'; ' if values else ''}{values}.{counted}{together}")


def place(path: Path, line: Line) -> str:
    """Return where a line is: FILE:LINE, or the file or folder beside the recording that the line comes from."""
    return f"{path}:{line.number}" if line.source is None else str(path.parent / line.spot)


# ---------------------------------------------------------------------------- the loss of an acknowledged record

HARMLESS = (FaultKind.START, FaultKind.THAW)
"""Faults that cause no loss: they end other faults."""


def losses(failures: Sequence[Failure], recording: Recording, passed: Sequence[int]) -> Iterator[str]:
    """A sentence for each acknowledged record that is lost on the path; `passed[i]` lines are passed after i steps."""
    for failure in failures:
        if failure.name == PROMISE and failure.loss is not None:
            count = passed[failure.step - 1] if failure.step else 0
            yield _loss(failure, recording.lines, count, recording.values[failure.loss.record])


def _loss(failure: Failure, lines: Sequence[Line], count: int, value: str) -> str:
    """A sentence about the loss of a record; `count` lines of the recording were passed before the loss."""
    acked = next((line for line in lines if isinstance(line, Acked) and line.value == value), None)
    offset = None if acked is None else acked.offset
    gone = next((line for line in lines[count:] if line.lacks(value, offset)), None)
    faults = [line for line in lines[:count] if isinstance(line, Fault) and line.what not in HARMLESS]
    acknowledged = "no line says so" if acked is None else acked.spot
    lacking = "no line shows it" if gone is None else gone.spot
    before = "; ".join(f"{line.what.value} broker {line.broker} ({line.spot})" for line in faults) or "no fault"
    permission = attribution.lines(failure.until)[-1].strip()
    verdict = "violated" if failure.verdict == VIOLATED else "broken, which is permitted,"
    return (
        f"record {value} was acknowledged ({acknowledged}), and is no longer in the log ({lacking}): {PROMISE} is"
        f" {verdict} at step {failure.step}; before that: {before}; {permission}"
    )


# --------------------------------------------------------------------------------------------------- followed online

HEAD = "{path}: followed online: a verdict, no history; --history searches for one"
"""The first line of the report."""


def tell_online(outcome: OnlineOutcome) -> list[str]:
    """The report on a recording that was followed online, as lines of text."""
    report = wrapped(HEAD.format(path=outcome.path))
    if isinstance(outcome, Followed):
        report += _followed(outcome)
    elif isinstance(outcome, RejectedOnline):
        report += _rejected_online(outcome)
    else:
        report += _undecided_online(outcome)
    if outcome.left_out is not None:
        report += wrapped(f"Not all possibilities were followed: {outcome.left_out}.")
    if outcome.unchecked:
        lines = "1 line shows" if outcome.unchecked == 1 else f"{outcome.unchecked:,} lines show"
        report += wrapped(f"{lines} records or states that are too old to be remembered; this was not checked.")
    cost = outcome.cost
    report += unused(outcome.unused)
    report.append(
        f"{cost.states:,} states, {cost.most:,} at most before one line, {cost.generated:,} successors,"
        f" {cost.windows:,} moves of the window, {cost.seconds:.1f} s"
    )
    return report


def _followed(outcome: Followed) -> list[str]:
    explains = f"a behaviour of {outcome.generation} explains all {outcome.cost.of:,} lines"
    if outcome.keeps:
        return wrapped(f"FOLLOWED: {explains}, and does not violate {PROMISE}. Other promises are not checked.")
    if outcome.lost is None:
        return wrapped(f"FOLLOWED: {explains}. Whether it keeps the model's promises is not decided.")
    return wrapped(
        f"FOLLOWED: {explains}, but every behaviour that explains {place(outcome.path, outcome.lost)}"
        f" ({outcome.lost.says}) violates {PROMISE} before it: an acknowledged record is lost without permission."
        " --history says which record, and why."
    )


def _rejected_online(outcome: RejectedOnline) -> list[str]:
    report = wrapped(f"REJECTED at {place(outcome.path, outcome.line)}: {outcome.line.says}")
    if outcome.why is not None:
        report += wrapped(
            f"Every line before it has an explanation in {outcome.generation}, and the line is true in no state that"
            f" is possible then: {outcome.why}."
        )
    else:
        report += _unmet(outcome.instance, outcome.possible, outcome.unmet)
    if outcome.unmet and outcome.offset:
        epochs = f", partition epochs from {outcome.partition_epoch}" if outcome.partition_epoch else ""
        report += wrapped(f"Here, offsets are counted from {outcome.offset}{epochs}.", "  ")
    return [*report, *_rests_on(outcome.instance)]


def _undecided_online(outcome: UndecidedOnline) -> list[str]:
    why = WHY.get(outcome.why, f"{outcome.why}. With --history, the recording is followed as a whole")
    if outcome.line is None:
        return wrapped(f"UNDECIDED: {why}; {outcome.cost.lines:,} lines are followed")
    return wrapped(
        f"UNDECIDED: {why}; {outcome.cost.lines:,} of {outcome.cost.of:,} lines are followed, those before"
        f" {place(outcome.path, outcome.line)}: {outcome.line.says}"
    )
