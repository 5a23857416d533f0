"""The result of a form of `check`.

In:  nothing.
Out: `CommandResult`, which the command prints and turns into a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import Word
from isrcheck.commands.exit_codes import UNDECIDED


@dataclass(frozen=True)
class CommandResult:
    """The result of a command as text and as a JSON object (`content`), and its exit code.

    `details` is the text with every table and count, which ends in the verdict; empty if `text` is that already.
    `failure` is the message if a file could not be written. `is_interrupted` is True if Ctrl-C ended the command early.
    `found` is the input of the report (checker/reports/gather.py); None if this form has no report.
    """

    text: str
    content: Mapping[str, Any]
    code: int
    failure: str = ""
    is_interrupted: bool = False
    found: object = None
    details: str = ""

    @classmethod
    def without_answer(cls, why: str) -> CommandResult:
        """Return the result of a command that reached a limit before it found anything; `why` names the limit."""
        content = {"runs": [], "verdict": Word.UNDECIDED.value, "why": why}
        return cls(f"{Word.UNDECIDED.value}: {why}", content, UNDECIDED)


def was_interrupted(searches: Sequence[Exploration | BmcResult | None]) -> bool:
    """Whether Ctrl-C ended one of these searches."""
    return any(search is not None and search.stopped == "interrupt" for search in searches)
