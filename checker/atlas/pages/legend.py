"""The legend of searches: what their words and numbers mean.

In:  the findings that a page shows.
Out: a list with each word that occurs there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from isrcheck.checker.questions.finding import Finding, Source
from isrcheck.checker.results.verdict import Word
from isrcheck.traces.drawing.markup import Element, element

TITLE = "What the words mean"

WORDS = {
    Word.VIOLATED: ("VIOLATED 6", "the failure happens, against a promise; the shortest history of it has 6 steps"),
    Word.UNREACHABLE: ("UNREACHABLE", "what was asked for cannot happen: no history within the bounds leads there"),
    Word.UNDECIDED: ("UNDECIDED", "a limit ended the search before there was an answer"),
    Word.PERMITTED: (
        "PERMITTED 2",
        "the failure happens, in 2 steps at the least, and nothing is promised here: as with acks=1, after an unclean"
        " election, or after a loss of power or of a disk",
    ),
    Word.NO_VIOLATION: (
        "NO VIOLATION TO DEPTH 14",
        "the failure happens in no history of at most 14 steps; longer ones were not searched",
    ),
    Word.NOT_REACHED: (
        "NOT REACHED TO DEPTH 9",
        "what was asked for happens in no history of at most 9 steps; longer ones were not searched",
    ),
    Word.HOLDS: ("HOLDS", "the failure happens in no history within the bounds, however long"),
    Word.PROVED: ("PROVED", "the failure happens in no history, which an induction proves"),
    Word.REACHED: ("REACHED 1", "what was asked for can happen, in 1 step; REACHED 0: it is so from the start"),
    Word.NOT_APPLICABLE: ("n/a", "the question does not arise with these settings"),
}
"""For each verdict an example, and its meaning."""

GRAVEST = ("the first line", "the gravest word of the searches below it")
BOUNDS = ("elections=3 crashes=1", "the faults of a search: at most three elections and one crash in one history")
TO_THE_END = ("to the end", "every state within the bounds was searched: there is no further one")
TO_DEPTH = ("to depth 14", "every history of at most 14 steps was searched, and none that is longer")
STATES = ("1,482 states", "how many different states of the cluster the search has seen")
WITNESS = (
    "witness",
    "a search for an acknowledged record and for what happens after it: that the searches above it find nothing means"
    " something only if it reaches them. Otherwise the answer is UNDECIDED",
)
BY_RULE = ("derived by rule", "other settings were searched, such as fewer replicas, and the rule says why they answer")


def legend(findings: Iterable[Finding]) -> Element:
    """Return the words of these findings with their meanings."""
    entries = dict.fromkeys(entry for finding in findings for entry in _entries(finding))
    order = (GRAVEST, *WORDS.values(), TO_THE_END, TO_DEPTH, STATES, BOUNDS, WITNESS, BY_RULE)
    shown = (entry for entry in order if entry in entries)
    pairs = (part for word, meaning in shown for part in (element("dt", word), element("dd", meaning)))
    return element("dl", *pairs, class_="legend")


def _entries(finding: Finding) -> Iterator[tuple[str, str]]:
    yield WORDS[finding.word]
    if finding.source is Source.RULE:
        yield BY_RULE
    if len(finding.parts) > 1:
        yield GRAVEST
    if finding.witnesses:
        yield WITNESS
    for part in (*finding.parts, *finding.witnesses):
        yield WORDS[part.word]
        yield STATES
        if part.is_exhausted or part.judged >= 0:
            yield TO_THE_END if part.is_exhausted else TO_DEPTH
        if "=" in part.says:
            yield BOUNDS
