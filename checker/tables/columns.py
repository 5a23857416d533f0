"""The tables that `--tables DIR` writes, with their columns and their descriptions.

`TABLES` defines the files (checker/tables/write.py) and the documentation, checker/tables.md:
python -m isrcheck.checker.tables.columns > checker/tables.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

VERSION = 1
"""The version of the tables, stored in the metadata of every file; every change of the columns increments it."""

KEY = "isrcheck"
"""The metadata key under which every file stores the version."""


class Type(StrEnum):
    """The SQL type of a column."""

    TEXT = "string"
    WHOLE = "bigint"
    REAL = "double"
    TRUTH = "boolean"
    MAP = "map<string, string>"
    LIST = "array<bigint>"
    TEXTS = "array<string>"


@dataclass(frozen=True)
class Column:
    """A column of a table; `says` is its description, and `may_lack` is True if the column can have nulls."""

    name: str
    type: Type
    says: str
    may_lack: bool = False


@dataclass(frozen=True)
class Table:
    """A table; `says` describes its rows."""

    says: str
    columns: tuple[Column, ...]


RUN = Column("run", Type.TEXT, "The search: 12 hexadecimal digits, which are the name of its file in every table.")
PROPERTY = Column("property", Type.TEXT, "The name of the property.")

RUNS = Table(
    "A row is one search: its settings, its size and its verdict.",
    (
        RUN,
        Column("command", Type.TEXT, "The command that repeats the search."),
        Column("model", Type.TEXT, "The name of the model."),
        Column("protocol", Type.TEXT, "The protocol, if the model has several.", may_lack=True),
        Column("swaps", Type.MAP, "The actions taken from other protocols, each with its protocol."),
        Column("digest", Type.TEXT, "The SHA-256 digest of the model's semantics."),
        Column("configuration", Type.MAP, "Every configuration entry, as written on the command line."),
        Column("bound", Type.WHOLE, "The maximum number of steps; null if the search was unbounded.", may_lack=True),
        Column("engine", Type.TEXT, "`local`, `spark`, or `all` (the explorer and Z3)."),
        Column("mode", Type.TEXT, "The value of --spark-mode: `parts` or `search`.", may_lack=True),
        Column("verdict", Type.TEXT, "The gravest verdict, as in the verdict table of README.md."),
        Column("exhausted", Type.TRUTH, "Whether every reachable state was expanded."),
        Column(
            "stopped",
            Type.TEXT,
            "Why the search ended early: `memory`, `seconds`, `interrupt`, `lost` (Spark lost its work), or `decided` "
            "(every property was decided).",
            may_lack=True,
        ),
        Column("judged_to_depth", Type.WHOLE, "Every state to this depth was checked; -1 if no state was."),
        Column("distinct", Type.WHOLE, "The number of distinct states."),
        Column("generated", Type.WHOLE, "The number of generated states: one for each step taken, new or not."),
        Column("frontier", Type.WHOLE, "The number of states that were not expanded."),
        Column(
            "parts_overlap",
            Type.TRUTH,
            "Whether several parts on Spark counted the same steps, which also affects `actions` and `verdicts`. If"
            " `overlap` has no row for the run, states were also counted several times.",
        ),
        Column("bytes", Type.WHOLE, "The memory of the states, in bytes."),
        Column("seconds", Type.REAL, "Measured: the duration of the search, without the start of Spark."),
        Column("start_seconds", Type.REAL, "Measured: the duration of the start of Spark.", may_lack=True),
        Column("cores", Type.WHOLE, "The number of cores on Spark.", may_lack=True),
        Column("parts", Type.WHOLE, "The number of parts, or of shards of one search, on Spark.", may_lack=True),
        Column("parts_ended", Type.WHOLE, "The number of parts that were searched completely.", may_lack=True),
        Column("starts", Type.WHOLE, "The number of states that were divided among the parts.", may_lack=True),
        Column("split_depth", Type.WHOLE, "The depth of the states that were divided.", may_lack=True),
        Column("shuffled_bytes", Type.WHOLE, "The bytes of successors that were sent between shards.", may_lack=True),
    ),
)

LEVELS = Table(
    "A row is one level of a search.",
    (
        RUN,
        Column("depth", Type.WHOLE, "The number of steps from an initial state; 0 for the initial states."),
        Column("states", Type.WHOLE, "The number of distinct states that were first reached at this depth."),
    ),
)

ACTIONS = Table(
    "A row is one action of the protocol in a search.",
    (
        RUN,
        Column("action", Type.TEXT, "The name of the action."),
        Column("fired", Type.WHOLE, "The number of steps of the action."),
        Column("new", Type.WHOLE, "The number of states that a step of the action reached first."),
    ),
)

VERDICTS = Table(
    "A row is one property of the model in a search.",
    (
        RUN,
        PROPERTY,
        Column(
            "kind",
            Type.TEXT,
            "`always`, `always_step` (of transitions), `sometimes` (must be reachable), `always_possible` (must stay"
            " reachable), or, for endless behaviours, `eventually`, `leads_to`, `always_eventually` or"
            " `eventually_always`.",
        ),
        Column("verdict", Type.TEXT, "The verdict, as in the verdict table of README.md; `UNDECIDED` is not a pass."),
        Column(
            "depth",
            Type.WHOLE,
            "The number of steps after which the property fails or is reached; for a verdict `... TO DEPTH`, that"
            " depth.",
            may_lack=True,
        ),
        Column("permitted_depth", Type.WHOLE, "The number of steps to the first permitted failure.", may_lack=True),
        Column(
            "violating",
            Type.WHOLE,
            "The number of failing states or transitions: all with --continue, else those up to the depth of the first"
            " failure.",
        ),
        Column("trace", Type.TEXT, "The trace file of the failure.", may_lack=True),
        Column(
            "permitted_trace",
            Type.TEXT,
            "The trace file of a permitted failure, if there is a violation as well.",
            may_lack=True,
        ),
    ),
)

TRACES = Table(
    "A row is one state of a trace. A property can have two traces: of a violation, and of a permitted failure.",
    (
        RUN,
        PROPERTY,
        Column("verdict", Type.TEXT, "`VIOLATED` or `PERMITTED`."),
        Column("step", Type.WHOLE, "The position in the trace; 0 for the initial state."),
        Column("action", Type.TEXT, "The action that led to the state.", may_lack=True),
        Column("took", Type.TEXT, "The action with its arguments, as `trace show` prints it; `initially` for step 0."),
        Column("changed", Type.MAP, "The cells that the step changed, with their new values."),
        Column("state", Type.MAP, "Every cell, with its value."),
    ),
)

EDGES = Table(
    "A row is one step of a sample of the transitions. The sample is reproducible; it has every step from the first"
    " states of each level.",
    (
        RUN,
        Column("depth", Type.WHOLE, "The level of the state from which the step starts."),
        Column("state", Type.TEXT, "The state before the step: a digest of its cells, 16 hexadecimal digits."),
        Column("action", Type.TEXT, "The action."),
        Column("took", Type.TEXT, "The action with its arguments."),
        Column("successor", Type.TEXT, "The state after the step, as a digest like that of `state`."),
        Column("changed", Type.MAP, "The cells that the step changed, with their new values."),
    ),
)

OVERLAP = Table(
    "A row counts the states that exactly these parts of a search on Spark found. Only a search by parts has rows, and"
    " only if every part was finished.",
    (
        RUN,
        Column("parts", Type.LIST, "The numbers of the parts; empty for states found before the work was divided."),
        Column("states", Type.WHOLE, "The number of distinct states that exactly these parts found."),
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
"""The tables by the names of their folders. `runs` is written last, so a search in `runs` is complete in all tables."""


def documentation() -> str:
    """Return the text of checker/tables.md."""
    lines = [
        "# The tables of `check --tables DIR`",
        "",
        f"This is version {VERSION} of the tables. The metadata of every file stores this number under `{KEY}`. `DIR`"
        " has a folder for each table, with one Parquet file for each search, `DIR/TABLE/RUN.parquet`, even if the"
        " table has no rows for that search. A repeated search replaces only its own files; a search that was cut short"
        " never replaces a complete one. Except for the columns marked `Measured`, the contents are the same every"
        " time, byte by byte.",
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
