"""The recorded tables of the small models: cases, and the verdict on each property.

In:  a CSV file beside the model; `#` begins a line of comment.
Out: `Table`s of `Case`s.

The columns are `case` (in words), `protocol` (empty if the model has only one), `entries` (as on the command line), the
distinct `states`, and the properties, in which a cell is a verdict as `check` prints it. In a column `SETTING for
PROPERTY` it is the least value of the setting with which the property holds; `none` if no value will do.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from isrcheck.models import registry
from isrcheck.models.language.model import Instance, parse
from isrcheck.models.messages import UsageError, nearest

FILES: Mapping[str, tuple[str, str]] = {
    "isr_propagation": ("isrcheck.models.isr", "propagation.csv"),
    "isr_by_lag": ("isrcheck.models.isr", "by_lag.csv"),
    "placement": ("isrcheck.models.placement", "failures.csv"),
    "cap": ("isrcheck.models.cap", "cuts.csv"),
}
"""The models, each with the package and the name of its file."""

STATES, FOR = "states", " for "
LEADING = ("case", "protocol", "entries", STATES)


@dataclass(frozen=True)
class Case:
    """A row: what it is in words, the instance of the model, and the recorded `states` and verdicts as text by name."""

    says: str
    instance: Instance
    recorded: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """The cases of a model. `properties` are the names of the properties that have a column; `least` are pairs of a
    setting and a property, of columns with the least value of the setting; `columns` are all in their order."""

    name: str
    columns: tuple[str, ...]
    cases: tuple[Case, ...]

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties that have a column of verdicts."""
        return tuple(one for one in self.columns if FOR not in one)

    @property
    def least(self) -> tuple[tuple[str, str], ...]:
        """The settings whose least value is asked for, each with its property."""
        found = (one.split(FOR) for one in self.columns if FOR in one)
        return tuple((setting, prop) for setting, prop in found)


def chosen(names: Sequence[str]) -> list[Table]:
    """The tables of these models; without names, all. Raises UsageError for an unknown name."""
    for name in names:
        if name not in FILES:
            raise UsageError(f"no table of {name}; {nearest(name, list(FILES))}")
    return [_read(name) for name in FILES if name in names or not names]


def _read(name: str) -> Table:
    model, _ = registry.load(name)
    package, file = FILES[name]
    content = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    reader = csv.DictReader(line for line in content.splitlines() if not line.startswith("#"))
    header = tuple(reader.fieldnames or ())
    cases = []
    for row in reader:
        pairs = (pair.split("=", 1) for pair in row["entries"].split())
        given = {entry: parse(entry, model.entries[entry], text) for entry, text in pairs}
        recorded = {column: row[column] for column in header if column not in LEADING[:3]}
        cases.append(Case(row["case"], model.instance(row["protocol"], given), recorded))
    return Table(name, tuple(column for column in header if column not in LEADING), tuple(cases))
