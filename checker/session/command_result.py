"""What a form of `check` has to say at its end, whatever the form.

In:  nothing.
Out: `CommandResult`, which the command prints and turns into a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.exit_codes import UNDECIDED
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word


@dataclass(frozen=True)
class CommandResult:
    """The text and the JSON object of an answer, and its exit code.

    `failure` says which file could not be written. `is_interrupted` tells that Ctrl-C cut the command short. `found` is
    what a report is made of (checker/reports/gather.py); None where there is no report of this form.
    """

    text: str
    content: Mapping[str, Any]
    code: int
    failure: str = ""
    is_interrupted: bool = False
    found: object = None

    @classmethod
    def without_answer(cls, why: str) -> CommandResult:
        """A limit was reached before there was anything to show."""
        content = {"runs": [], "verdict": Word.UNDECIDED.value, "why": why}
        return cls(f"{Word.UNDECIDED.value}: {why}", content, UNDECIDED)


def was_interrupted(searches: Sequence[Exploration | BmcResult | None]) -> bool:
    """Whether Ctrl-C ended one of these searches."""
    return any(search is not None and search.stopped == "interrupt" for search in searches)
