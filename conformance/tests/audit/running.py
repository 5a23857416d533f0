"""Runs `conform audit` in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from isrcheck.conformance.cli import main


class Told(NamedTuple):
    """What a command told: its exit code, its output, and its errors."""

    code: int
    out: str
    errors: str

    @property
    def findings(self) -> list[str]:
        """The lines of findings."""
        return [line for line in self.out.splitlines() if line.startswith(("BROKEN: t", "UNDECIDED: t", "note: t"))]

    @property
    def json(self) -> Any:
        """The object."""
        return json.loads(self.out)


def audit(capsys, *words: object) -> Told:
    """Run `conform audit`."""
    capsys.readouterr()
    code = main(["audit", *map(str, words)])
    out, errors = capsys.readouterr()
    assert "Traceback" not in errors
    return Told(code, out, errors)


def lines_of(errors: str, folder: object) -> Sequence[str]:
    """The lines of errors, without the folder."""
    return errors.replace(f"{folder}/", "").splitlines()
