"""The matrix: every generation against every property, held against what is recorded.

In:  models/verdicts.toml, and a search of each of its runs to the bound that a person asks for.
Out: for each cell whether it is as recorded, and the text of the matrix.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import models
from checker.report import Run, faults_line, table
from checker.verdict import Verdict, Word
from models import registry
from models.errors import UsageError
from models.language.declare import Kind
from models.language.model import Instance, parse

RECORD = Path(models.__file__).with_name("verdicts.toml")


@dataclass(frozen=True)
class Recorded:
    """One recorded run: the instance, the depths of its violations and permitted failures, and how far it reaches."""

    instance: Instance
    violated: dict[str, int]
    permitted: dict[str, int]
    explored: str


class Match(Enum):
    """How a cell compares with its record, gravest first."""

    NEW = "not recorded"
    MISSING = "recorded, but not found"
    OPEN = "undecided"
    SAME = "as recorded"


def recorded(path: Path | None = None) -> list[Recorded]:
    """The recorded runs. Raises UsageError where the file is damaged."""
    path = path or RECORD
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_recorded(run) for run in content["run"]]
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UsageError(f"{path}: the recorded verdicts cannot be read ({error}); restore the file") from None


def _recorded(run: dict[str, Any]) -> Recorded:
    model, protocol = registry.load(run["model"])
    values = {}
    for name, value in run["configuration"].items():
        if name not in model.entries:
            raise UsageError(f"{RECORD}: {model.name} has no configuration entry {name}; correct the file")
        values[name] = parse(name, model.entries[name], str(value))
    known = {prop.name for prop in model.properties}
    for name in (*run["violated"], *run["permitted"]):
        if name not in known:
            raise UsageError(f"{RECORD}: {model.name} has no property {name}; correct the file")
    return Recorded(
        model.instance(run.get("protocol", protocol), values), run["violated"], run["permitted"], str(run["explored"])
    )


def judge(record: Recorded, run: Run, verdict: Verdict) -> Match:
    """Hold one cell against its record."""
    name = verdict.prop.name
    found = verdict.depth if verdict.word is Word.VIOLATED else None
    permitted = verdict.permitted.witness.depth if verdict.permitted and verdict.permitted.witness else None
    sought = record.violated.get(name), record.permitted.get(name)
    bound = run.exploration.limits.depth
    for here, there in zip((found, permitted), sought, strict=True):
        if here is not None and here != there:
            return Match.NEW if there is None or here < there else Match.MISSING
        if here is None and there is not None and run.exploration.judged >= there:
            return Match.MISSING
    is_cut = not run.exploration.is_complete
    if is_cut and found is None and (bound is None or run.exploration.judged < bound):
        return Match.OPEN
    return Match.SAME


def judged(record: Recorded, run: Run) -> dict[str, Match]:
    """Every cell of a run. A `sometimes` that is unreachable counts as missing."""
    cells = {}
    for verdict in run.verdicts:
        if verdict.prop.kind is not Kind.SOMETIMES:
            cells[verdict.prop.name] = judge(record, run, verdict)
        elif verdict.word is Word.UNREACHABLE:
            cells[verdict.prop.name] = Match.MISSING
    return cells


def cell(verdict: Verdict) -> str:
    """A cell as it is printed."""
    match verdict.word:
        case Word.VIOLATED | Word.PERMITTED | Word.NOT_APPLICABLE:
            return verdict.text
        case Word.NO_VIOLATION:
            return f"none to {verdict.depth}"
        case _:
            return verdict.word.value


def text(pairs: Sequence[tuple[Recorded, Run]]) -> str:
    """The matrix, with the runs that it rests on, the traces, and what differs from the record."""
    names = list(
        dict.fromkeys(v.prop.name for _, run in pairs for v in run.verdicts if v.prop.kind is not Kind.SOMETIMES)
    )
    rows = [["", *(f"{r.instance.model.name} {r.instance.protocol.name}" for r, _ in pairs)]]
    for name in names:
        cells = []
        for record, run in pairs:
            found = {v.prop.name: v for v in run.verdicts}
            match = judge(record, run, found[name]) if name in found else Match.SAME
            cells.append(
                (cell(found[name]) if name in found else "") + ("" if match is Match.SAME else f"  <- {match.value}")
            )
        rows.append([name, *cells])
    lines = table(rows)
    for record, run in pairs:
        instance, exploration = record.instance, run.exploration
        reached = [v for v in run.verdicts if v.word is Word.REACHED]
        sought = [v for v in run.verdicts if v.prop.kind is Kind.SOMETIMES and v.word is not Word.NOT_APPLICABLE]
        missing = ", ".join(f"{v.prop.name} ({v.text})" for v in sought if v.word is not Word.REACHED)
        lines += [
            "",
            f"{instance.model.name} {instance.protocol.name}: {exploration.distinct:,} distinct states,"
            f" {exploration.generated:,} generated, {exploration.seconds:.2f} s; judged to depth {exploration.judged}"
            + (", exhausted" if exploration.exhausted else f", {exploration.frontier:,} frontier states left")
            + f"; recorded: {record.explored if record.explored == 'exhausted' else 'to depth ' + record.explored}",
            f"  faults considered: {faults_line(instance)}",
            f"  sometimes: {len(reached)} of {len(sought)} reached" + (f"; {missing}" if missing else ""),
        ]
        lines += table([["  " + name, run.show(path)] for name, path in run.traces.items()])
    return "\n".join(lines)
