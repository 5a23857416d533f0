"""The tables that `--tables DIR` writes: which there are, their columns, and what each of them says.

In:  nothing. Out: `TABLES`, from which files are written (checker/tables/write.py) and checker/tables.md is made:
     python -m isrcheck.checker.tables.columns > checker/tables.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

VERSION = 1
"""Of the columns: another number is another set of them. It stands in the metadata of every file."""

KEY = "isrcheck"
"""Under which the version stands there."""


class Type(StrEnum):
    """What a column holds, in the words of SQL."""

    TEXT = "string"
    WHOLE = "bigint"
    REAL = "double"
    TRUTH = "boolean"
    MAP = "map<string, string>"
    LIST = "array<bigint>"


@dataclass(frozen=True)
class Column:
    """One column; `may_lack` says that there need not be a value."""

    name: str
    type: Type
    says: str
    may_lack: bool = False


@dataclass(frozen=True)
class Table:
    """One table: what a row of it is, and its columns."""

    says: str
    columns: tuple[Column, ...]


RUN = Column("run", Type.TEXT, "The search: 12 hexadecimal digits, the name of its file, the same in every table.")
PROPERTY = Column("property", Type.TEXT, "The property's name.")

RUNS = Table(
    "A row is one search: what was asked, and how far it came.",
    (
        RUN,
        Column("command", Type.TEXT, "The command that asks the same."),
        Column("model", Type.TEXT, "The model's name."),
        Column("protocol", Type.TEXT, "Its protocol, where it has several.", may_lack=True),
        Column("swaps", Type.MAP, "Actions of another protocol: action, protocol."),
        Column("digest", Type.TEXT, "SHA-256 of all that the model means."),
        Column("configuration", Type.MAP, "Every entry, as it is spelled on the command line."),
        Column("bound", Type.WHOLE, "The steps that were asked about; none: until nothing is new.", may_lack=True),
        Column("engine", Type.TEXT, "`local`, `spark`, or `all`: the explorer, and Z3 beside it."),
        Column("mode", Type.TEXT, "How Spark's work was divided: `parts` or `search`.", may_lack=True),
        Column("verdict", Type.TEXT, "The gravest verdict, in one word of README.md."),
        Column("exhausted", Type.TRUTH, "Whether nothing was left to explore."),
        Column(
            "stopped",
            Type.TEXT,
            "What ended the search early: `memory`, `seconds`, `interrupt`, `lost` (by Spark), or `decided`, where no "
            "property was open any more.",
            may_lack=True,
        ),
        Column("judged_to_depth", Type.WHOLE, "To this depth every state was looked at; -1: to none."),
        Column("distinct", Type.WHOLE, "Different states."),
        Column("generated", Type.WHOLE, "Steps taken, each of which gave a state, new or not."),
        Column("frontier", Type.WHOLE, "States from which no step was taken yet."),
        Column(
            "parts_overlap",
            Type.TRUTH,
            "Whether steps, and what is counted by action or by property, count as often as parts on Spark took them; "
            "states as well, where `overlap` has no row of the run.",
        ),
        Column("bytes", Type.WHOLE, "Of memory, for the states."),
        Column("seconds", Type.REAL, "Measured: how long the search took, without Spark's start."),
        Column("start_seconds", Type.REAL, "Measured: how long Spark took to start.", may_lack=True),
        Column("cores", Type.WHOLE, "Spark's cores.", may_lack=True),
        Column("parts", Type.WHOLE, "Parts, or shards of one search, on Spark.", may_lack=True),
        Column("parts_ended", Type.WHOLE, "Parts that were searched to their end.", may_lack=True),
        Column("starts", Type.WHOLE, "States that were divided among the parts.", may_lack=True),
        Column("split_depth", Type.WHOLE, "The depth at which these stand.", may_lack=True),
        Column("shuffled_bytes", Type.WHOLE, "Of successors that went from shard to shard.", may_lack=True),
    ),
)

LEVELS = Table(
    "A row is one level of a search.",
    (
        RUN,
        Column("depth", Type.WHOLE, "Steps from an initial state; 0 are the initial states."),
        Column("states", Type.WHOLE, "Different states that were first reached at this depth."),
    ),
)

ACTIONS = Table(
    "A row is one action of the protocol in a search.",
    (
        RUN,
        Column("action", Type.TEXT, "The action's name."),
        Column("fired", Type.WHOLE, "Steps of it that were taken."),
        Column("new", Type.WHOLE, "States that such a step was the first to reach."),
    ),
)

VERDICTS = Table(
    "A row is one property of the model in a search.",
    (
        RUN,
        PROPERTY,
        Column("kind", Type.TEXT, "`always`, `always_step` (of transitions) or `sometimes` (has to be reachable)."),
        Column("verdict", Type.TEXT, "The verdict, in one word of README.md; `UNDECIDED` is no pass."),
        Column(
            "depth",
            Type.WHOLE,
            "The step at which it fails, or is reached; of `... TO DEPTH`, the depth.",
            may_lack=True,
        ),
        Column("permitted_depth", Type.WHOLE, "The step of the first failure that is permitted.", may_lack=True),
        Column("violating", Type.WHOLE, "States, or transitions, that fail: all with --continue, else the first ones."),
        Column("trace", Type.TEXT, "The file of the trace that shows it.", may_lack=True),
        Column("permitted_trace", Type.TEXT, "The same of the permitted failure beside a violation.", may_lack=True),
    ),
)

TRACES = Table(
    "A row is one state of a trace. A property can have two: what is violated, and what is permitted.",
    (
        RUN,
        PROPERTY,
        Column("verdict", Type.TEXT, "`VIOLATED` or `PERMITTED`."),
        Column("step", Type.WHOLE, "The position in the trace; 0 is the initial state."),
        Column("action", Type.TEXT, "The action that led to the state.", may_lack=True),
        Column("took", Type.TEXT, "The same with its arguments, as `trace show` has it; `initially` for step 0."),
        Column("changed", Type.MAP, "The cells that the step changed, and what they hold now."),
        Column("state", Type.MAP, "Every cell, and what it holds."),
    ),
)

EDGES = Table(
    "A row is one step from one state: every step from the first states of each level. A sample, the same each time.",
    (
        RUN,
        Column("depth", Type.WHOLE, "The level of the state."),
        Column("state", Type.TEXT, "The state: 16 hexadecimal digits, the same for the same cells."),
        Column("action", Type.TEXT, "The action."),
        Column("took", Type.TEXT, "The same with its arguments."),
        Column("successor", Type.TEXT, "The state that it leads to, in the same way."),
        Column("changed", Type.MAP, "The cells that it changed, and what they hold then."),
    ),
)

OVERLAP = Table(
    "A row is one set of parts, of a search by parts on Spark all of which ended; other searches have none.",
    (
        RUN,
        Column("parts", Type.LIST, "The parts, by number; none: found before the work was divided."),
        Column("states", Type.WHOLE, "Different states that all of these parts found, and no other one."),
    ),
)

TABLES: Mapping[str, Table] = {
    "levels": LEVELS,
    "actions": ACTIONS,
    "verdicts": VERDICTS,
    "traces": TRACES,
    "edges": EDGES,
    "overlap": OVERLAP,
    "runs": RUNS,
}
"""By the names of their folders. `runs` comes last, so that a search which stands there has its other rows."""


def documentation() -> str:
    """The text of checker/tables.md."""
    lines = [
        "# The tables of `check --tables DIR`",
        "",
        f"Version {VERSION}; it stands under `{KEY}` in the metadata of every file. `DIR` has a folder for each table,"
        " with one Parquet file for each search, `DIR/TABLE/RUN.parquet`, also where that has no rows. The same"
        " question asked again replaces its own files, and no others; a search that was cut short never replaces one"
        " that was not. Without those that say `Measured`, the columns are the same each time, byte by byte.",
    ]
    for name, table in sorted(TABLES.items(), key=lambda item: item[0] != "runs"):
        lines += ["", f"## `{name}`", "", table.says, "", "| column | type | |", "|---|---|---|"]
        lines += [
            f"| `{column.name}` | `{column.type.value}`{', or null' if column.may_lack else ''} | {column.says} |"
            for column in table.columns
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(documentation())
