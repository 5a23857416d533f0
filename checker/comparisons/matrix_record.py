"""The recorded verdicts of the matrix (every generation against every property), and how searches compare with them.

In:  models/verdicts.toml, and one search for each recorded run, to the requested bound or else to the recorded depth.
Out: for each cell, whether its verdict is as recorded.

A generation has one unnamed run with the default configuration of the matrix, and may have named runs. A named run has
its own configuration and a list of properties; the unnamed run has all other properties. So each cell has one run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from isrcheck import models
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.instance_facts import configuration_of
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Verdict, Word
from isrcheck.models import registry
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance, Model, Property, parse
from isrcheck.models.messages import UsageError

RECORD = Path(models.__file__).with_name("verdicts.toml")
EXHAUSTED = "exhausted"
WIDEST = 120
"""The width of the printed table; generations that do not fit are printed in a further table below."""

ABSENT = Word.NOT_APPLICABLE.value
"""The text of a cell that does not apply; a row of only such cells is not printed."""

KEYS = {"model", "protocol", "name", "properties", "explored", "states", "configuration"}
KEYS |= {"violated", "permitted", "proved", "causes"}


@dataclass(frozen=True)
class RecordedRun:
    """A search that models/verdicts.toml records: its instance, its properties, and their verdicts."""

    instance: Instance
    name: str
    judges: tuple[str, ...]
    """The properties that the run judges."""
    violated: Mapping[str, int]
    """The depth at which each violated property fails; `permitted`: the depth of each permitted failure."""
    permitted: Mapping[str, int]
    explored: int | None
    """The depth of the search; None for an exhaustive search."""
    states: int | None
    """The number of states of an exhaustive search, if it is recorded."""
    proved: tuple[str, ...] = ()
    """The properties that are proved at any depth."""
    causes: Mapping[str, str] = field(default_factory=dict)
    """What breaks each violated property: the name of a known failure (models/kafka/failures), or an issue."""
    digest: str | None = None
    """The digest of the model when its verdicts were recorded."""

    @property
    def is_of_another_model(self) -> bool:
        """Whether the model has changed since its verdicts were recorded."""
        return self.digest is not None and self.digest != self.instance.model.digest

    @property
    def column(self) -> str:
        """The heading of the run's column in the matrix: the model and its generation."""
        return " ".join(part for part in (self.instance.model.name, self.instance.protocol.name) if part)

    @property
    def title(self) -> str:
        """The heading of the run's column, followed by the name of the run if it has one."""
        return f"{self.column} {self.name}" if self.name else self.column

    @cached_property
    def differs(self) -> str:
        """The configuration entries that differ from their defaults, as written on the command line."""
        usual = configuration_of(self.instance.model.instance(self.instance.protocol.name))
        own = configuration_of(self.instance)
        return ", ".join(f"{name}={value}" for name, value in own.items() if value != usual[name])

    @property
    def reach(self) -> str:
        """How far the recorded search went, in words."""
        if self.explored is not None:
            return f"to depth {self.explored}"
        return EXHAUSTED if self.states is None else f"{EXHAUSTED}, {counted(self.states, 'state')}"

    def limits(self, left: Limits, runs_left: int) -> Limits:
        """Return the limits for this run: its depth, and its equal share of the remaining time. The depth is that of
        `left`, or the recorded depth if `left` has none. The seconds of `left` are divided by `runs_left`, the number
        of runs that are not yet searched."""
        depth = self.explored if left.depth is None else left.depth
        seconds = None if left.seconds is None else left.seconds / runs_left
        return replace(left, depth=depth, seconds=seconds)

    def only_judged(self, run: Run) -> Run:
        """Return `run` with only the verdicts on the properties of this record, and on `deadlock` and `in_range`."""
        judged = (*self.judges, DEADLOCK.name, IN_RANGE.name)
        return replace(run, verdicts=[verdict for verdict in run.verdicts if verdict.prop.name in judged])


class Match(Enum):
    """Whether a verdict is as recorded; the members are in order, the gravest difference first."""

    NEW = "not recorded"
    MISSING = "recorded, but not found"
    STALE = "recorded of another model"
    OPEN = "undecided"
    SAME = "as recorded"


Pair = tuple[RecordedRun, Run]
T = TypeVar("T")


# ------------------------------------------------------------------------------------------------------- the record


def recorded(path: Path | None = None) -> list[RecordedRun]:
    """Return the runs in a file of verdicts (default: models/verdicts.toml). Raises UsageError for an invalid file."""
    path = path or RECORD
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = [(table, *registry.load(table["model"])) for table in content["run"]]
        listed = [
            (model.name, table.get("protocol", protocol), name)
            for table, model, protocol in tables
            for name in table.get("properties", ())
        ]
        digests = {model: str(digest) for model, digest in content.get("digest", {}).items()}
        runs = [replace(_recorded(*table, listed), digest=digests.get(table[1].name)) for table in tables]
    except UsageError as error:
        raise UsageError(f"{path}: {error}; correct the file") from None
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UsageError(f"{path}: the recorded verdicts cannot be read ({error}); restore the file") from None
    for run in runs:
        _refuse_doubles(path, run, [other for other in runs if other.column == run.column])
    return runs


def _recorded(
    run: Mapping[str, Any], model: Model, protocol: str | None, listed: Sequence[tuple[str, str | None, str]]
) -> RecordedRun:
    unknown = set(run) - KEYS
    if unknown:
        raise UsageError(f"a run has the unknown key {', '.join(sorted(unknown))}")
    protocol, states = run.get("protocol", protocol), run.get("states")
    values = {}
    for name, value in run["configuration"].items():
        if name not in model.entries:
            raise UsageError(f"{model.name} has no configuration entry {name}")
        values[name] = parse(name, model.entries[name], str(value))
    properties = [prop.name for prop in model.properties]
    others = {name for *where, name in listed if where == [model.name, protocol]}
    judges = run.get("properties", [name for name in properties if name not in others])
    if ("name" in run) != ("properties" in run) or not judges:
        raise UsageError(f"a run of {model.name} {protocol} has only one of name and properties; give both or neither")
    proved = tuple(run.get("proved", ()))
    causes = {name: cause for cause, names in run.get("causes", {}).items() for name in names}
    for name in (*judges, *run["violated"], *run["permitted"], *proved):
        if name not in properties:
            raise UsageError(f"{model.name} has no property {name}")
        if name not in judges:
            raise UsageError(f"a run of {model.name} {protocol} has a figure or proof of {name}; add it to properties")
    if strangers := causes.keys() - run["violated"].keys():
        raise UsageError(
            f"{', '.join(sorted(strangers))} has a cause in a run of {model.name} {protocol}, but no depth"
        )
    if not all(type(number) is int for number in (*run["violated"].values(), *run["permitted"].values(), states or 0)):
        raise UsageError(f"a run of {model.name} {protocol} has a depth or a number of states that is no integer")
    explored = None if run["explored"] == EXHAUSTED else int(run["explored"])
    instance = model.instance(protocol, values)
    depths = run["violated"], run["permitted"]
    return RecordedRun(instance, run.get("name", ""), tuple(judges), *depths, explored, states, proved, causes)


def _refuse_doubles(path: Path, run: RecordedRun, runs: Sequence[RecordedRun]) -> None:
    """Raise UsageError unless a generation's runs have different properties and names, and just one has no name."""
    for name in run.judges:
        if sum(name in other.judges for other in runs) > 1:
            raise UsageError(f"{path}: {name} is in two runs of {run.column}; keep {name} in one of them")
    if sum(not other.name for other in runs) != 1:
        raise UsageError(f"{path}: {run.column} needs exactly one run without a name; correct the file")
    if run.name and sum(other.name == run.name for other in runs) > 1:
        raise UsageError(f"{path}: two runs of {run.column} have the name {run.name}; rename one")


# ------------------------------------------------------------------------------------------------------ the comparison


def judge(record: RecordedRun, run: Run, verdict: Verdict) -> Match:
    """Compare a verdict of a run with the record. An unreachable `sometimes` property counts as MISSING."""
    if verdict.prop.kind is Kind.SOMETIMES:
        return Match.MISSING if verdict.word is Word.UNREACHABLE else Match.SAME
    name = verdict.prop.name
    if verdict.word is Word.PROVED and (name in record.violated or name in record.permitted):
        return Match.MISSING
    if name in record.proved and verdict.is_unproved:
        return Match.MISSING
    violated = verdict.depth if verdict.word is Word.VIOLATED else None
    permitted = verdict.permitted.path.depth if verdict.permitted and verdict.permitted.path else None
    sought = record.violated.get(name), record.permitted.get(name)
    if verdict.word is Word.NOT_APPLICABLE:
        return Match.SAME if sought == (None, None) else Match.MISSING
    bound = run.explored.limits.depth
    for here, there in zip((violated, permitted), sought, strict=True):
        if here is not None and here != there:
            return Match.NEW if there is None or here < there else Match.MISSING
        if here is None and there is not None and could_show(run, verdict, there):
            return Match.MISSING
    is_cut = not run.explored.is_complete
    if is_cut and violated is None and (bound is None or run.explored.judged < bound):
        return Match.OPEN
    return Match.SAME


def could_show(run: Run, verdict: Verdict, depth: int) -> bool:
    """Whether a search that found no failure went far enough to rule out a failure at this depth. For liveness and
    `always_possible` properties, only an exhaustive search does."""
    reaches = run.explored.judged >= depth and verdict.prop.kind not in WHOLE
    return run.explored.exhausted or reaches


def judged(record: RecordedRun, run: Run) -> list[Match | None]:
    """Return the `Match` of each verdict of a run; None represents a `sometimes` property that is as recorded."""
    return [
        None if verdict.prop.kind is Kind.SOMETIMES and match is Match.SAME else match
        for verdict in run.verdicts
        for match in [judge(record, run, verdict)]
    ]


def has_other_states(record: RecordedRun, run: Run) -> bool:
    """Whether an exhaustive search found a number of states that differs from the recorded one."""
    exploration = run.explored
    return record.states is not None and exploration.exhausted and exploration.distinct != record.states


def worst(records: Sequence[RecordedRun], pairs: Sequence[Pair]) -> Match:
    """Return the gravest `Match` of all comparisons; a recorded run that is not among `pairs` counts as undecided."""
    matches = {match for record, run in pairs for match in judged(record, run)}
    if any(has_other_states(record, run) for record, run in pairs):
        matches.add(Match.MISSING)
    if any(record.is_of_another_model for record in records):
        matches.add(Match.STALE)
    if len(pairs) < len(records):
        matches.add(Match.OPEN)
    return next((match for match in Match if match in matches), Match.SAME)


# ------------------------------------------------------------------------------------------------------ how it is shown


NOT_SEARCHED = "UNDECIDED, not searched"
NOT_ATTEMPTED = "no proof attempted (use check MODEL --prove)"

CLOSING = {
    Match.SAME: "as recorded: every cell agrees with models/verdicts.toml",
    Match.OPEN: "UNDECIDED: a search was cut short before its bound",
    Match.MISSING: "NOT FOUND: a recorded violation, `sometimes` property or number of states was not found",
    Match.STALE: "UNEXPECTED: every cell agrees with models/verdicts.toml, but the model has changed since then",
    Match.NEW: "VIOLATED: a failure was found that is not recorded",
}


def changed_lines(records: Sequence[RecordedRun]) -> list[str]:
    """Return a line for each model that has changed since its verdicts were recorded."""
    models = {record.instance.model.name: record for record in records if record.is_of_another_model}
    return [
        f"{name} has changed since models/verdicts.toml was recorded (digest {(record.digest or '')[:8]}, now"
        f" {record.instance.model.digest[:8]}): check every cell, then write {name} = "
        f'"{record.instance.model.digest}" under [digest] in that file'
        for name, record in models.items()
    ]


def cell(verdict: Verdict, run: Run) -> str:
    """Return a verdict as the text of a cell of the matrix."""
    match verdict.word:
        case Word.NO_VIOLATION:
            return f"none to {verdict.depth}"
        case Word.PROVED:
            return verdict.text
        case Word.UNDECIDED:
            return f"{verdict.word.value}, none to {run.explored.judged}"
        case _:
            return verdict.bare


def arrange(
    records: Sequence[RecordedRun], cells: Mapping[tuple[str, str], T], empty: T
) -> tuple[list[str], list[tuple[str, list[T]]]]:
    """Return the columns, and each property with its `cells` in the order of the columns; a missing cell is `empty`."""
    columns = list(dict.fromkeys(record.column for record in records))
    order = dict.fromkeys(prop.name for record in records for prop in record.instance.model.properties)
    names = [name for name in (*order, DEADLOCK.name, IN_RANGE.name) if any(name == known for known, _ in cells)]
    return columns, [(name, [cells.get((name, column), empty) for column in columns]) for name in names]


def promised(record: RecordedRun) -> list[Property]:
    """Return the properties of a run that have a row in the matrix: all except `sometimes` properties."""
    properties = {prop.name: prop for prop in record.instance.model.properties}
    return [properties[name] for name in record.judges if properties[name].kind is not Kind.SOMETIMES]


def mark_of(match: Match, verdict: Verdict) -> str:
    """Return the remark on a verdict that differs from the record; empty if it agrees or is undecided."""
    return "" if match is Match.SAME or verdict.word is Word.UNDECIDED else match.value
