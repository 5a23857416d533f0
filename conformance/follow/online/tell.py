"""Prints the verdict on a recording that was followed online.

In:  an outcome (outcome.py).
Out: lines of text. The line of the recording is told as it was recorded; claims are in terms of the window.
"""

from __future__ import annotations

from isrcheck.conformance.follow.online.follow import Followed, Online, OnlineOutcome, RejectedOnline, UndecidedOnline
from isrcheck.conformance.follow.recorded.lines import Line
from isrcheck.conformance.follow.report.tell import AND_ON, RESTS_ON, WHY, says, spell_unmet_claim, unused
from isrcheck.conformance.follow.search.promises import PROMISE
from isrcheck.traces.lanes.table import wrapped

HEAD = "{path}: followed online: a verdict, no history; --history searches for one"
"""The first line of the report."""


def tell(outcome: OnlineOutcome) -> list[str]:
    """The report on an outcome, as lines of text."""
    found = wrapped(HEAD.format(path=outcome.path))
    if isinstance(outcome, Followed):
        found += _followed(outcome)
    elif isinstance(outcome, RejectedOnline):
        found += _rejected(outcome)
    else:
        found += _undecided(outcome)
    return [*found, *_unchecked(outcome), *unused(outcome.unused), _cost(outcome)]


def _followed(outcome: Followed) -> list[str]:
    explains = f"a behaviour of {outcome.generation} explains all {outcome.cost.of:,} lines"
    if outcome.keeps:
        return wrapped(f"FOLLOWED: {explains}, and does not violate {PROMISE}. Other promises are not judged.")
    if outcome.lost is None:
        return wrapped(f"FOLLOWED: {explains}. Whether it keeps the model's promises is not decided.")
    return wrapped(
        f"FOLLOWED: {explains}, but every one that explains {place(outcome, outcome.lost)}"
        f" ({says(outcome.lost)}) violates {PROMISE} before it: a record that was acknowledged is lost, without"
        " permission. --history says which one, and why."
    )


def _rejected(outcome: RejectedOnline) -> list[str]:
    found = wrapped(f"REJECTED at {place(outcome, outcome.line)}: {says(outcome.line)}")
    if outcome.why is not None:
        found += wrapped(
            f"Every line before it has an explanation in {outcome.generation}, and the line is true in no state that"
            f" is possible then: {outcome.why}."
        )
    else:
        found += wrapped(
            f"Every line before it has an explanation in {outcome.generation}. All {outcome.possible:,} states that"
            " are possible before this line were found, and the line is true in none of them:"
        )
    for unmet in outcome.unmet:
        found += wrapped(spell_unmet_claim(unmet, outcome.possible), "  ")
    if outcome.unmet and outcome.offset:
        epochs = f", partition epochs from {outcome.partition_epoch}" if outcome.partition_epoch else ""
        found += wrapped(f"Here, offsets are counted from {outcome.offset}{epochs}.", "  ")
    rests_on = RESTS_ON.format(acks=outcome.acks.spelling)
    return [*found, *wrapped(rests_on + (f" {AND_ON}" if outcome.alters_partitions else ""))]


def _undecided(outcome: UndecidedOnline) -> list[str]:
    why = WHY.get(outcome.why, f"{outcome.why}. With --history, the recording is followed as a whole")
    if outcome.line is None:
        return wrapped(f"UNDECIDED: {why}; {outcome.cost.lines:,} lines are followed")
    return wrapped(
        f"UNDECIDED: {why}; {outcome.cost.lines:,} of {outcome.cost.of:,} lines are followed, those before"
        f" {place(outcome, outcome.line)}: {says(outcome.line)}"
    )


def _unchecked(outcome: Online) -> list[str]:
    found = []
    if outcome.left_out is not None:
        found += wrapped(f"Not all possibilities were followed: {outcome.left_out}.")
    if outcome.unchecked:
        what = "1 line shows" if outcome.unchecked == 1 else f"{outcome.unchecked:,} lines show"
        found += wrapped(f"{what} something from before the window, which was not checked.")
    return found


def place(outcome: Online, line: Line) -> str:
    """The position of a line, as FILE:LINE; for what is in a file beside the recording, that file."""
    return f"{outcome.path}:{line.number}" if line.source is None else str(outcome.path.parent / line.spot)


def _cost(outcome: Online) -> str:
    cost = outcome.cost
    return (
        f"{cost.states:,} states, {cost.most:,} at most before one line, {cost.generated:,} successors,"
        f" {cost.windows:,} moves of the window, {cost.seconds:.1f} s"
    )
