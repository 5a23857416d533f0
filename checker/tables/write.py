"""Writes the tables as Parquet files, for Spark SQL, DuckDB, pandas and other readers.

In:  a folder, and one or more `Run`s (checker/results/run.py).
Out: files `DIR/TABLE/RUN.parquet` with the columns of checker/tables/columns.py. A file gets its name only when it is
     complete; repeating a search replaces only the files of that search.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from isrcheck.checker.compile.kernel import Kernel, Kernels
from isrcheck.checker.explicit.carrier import EVERY_STATE, SearchContext
from isrcheck.checker.explicit.explore import Reached, Search
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.checker.results.run import Run, as_object
from isrcheck.checker.spark.session import INSTALL
from isrcheck.checker.tables.columns import KEY, TABLES, VERSION, Table, Type
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.format.certify import from_steps
from isrcheck.traces.format.files import DRAFT, draft_in, write_through
from isrcheck.traces.format.trace import possible_steps, spelled_at

SUFFIX = ".parquet"
CURE = "move it away, or give another folder with --tables DIR"

TableRow = dict[str, Any]

IDENTITY = ("model", "digest", "protocol", "swaps", "configuration", "bound", "engine")
"""The keys of the `--json` object that identify a search, together with the Spark options."""

FIGURES = ("distinct", "generated", "frontier", "bytes", "seconds")
OF_RUN = (*IDENTITY, "command", "verdict", "exhausted", "stopped", "judged_to_depth", *FIGURES)
"""The columns of the table `runs` that come from the `--json` object."""
OF_SPARK = ("mode", "cores", "parts", "parts_ended", "starts", "split_depth", "shuffled_bytes", "start_seconds")
"""The columns of the table `runs` that come from the `spark` object in the `--json` object."""

MOST_STATES = 100_000
"""Only the first levels, with at most this many states in total, are sampled."""

MOST_OF_A_LEVEL = 20
"""The most states that are sampled from a level."""


class Tables:
    """The tables in a folder. `failure` is the message of the first write error, which does not end the command;
    `is_interrupted` is True if Ctrl-C ended the writing. Raises UsageError if the folder is not writable or has files
    that are not tables of isrcheck, or if pyarrow is not installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.failure = ""
        self.is_interrupted = False
        self.kernels = Kernels()
        if importlib.util.find_spec("pyarrow") is None:
            raise UsageError(f"--tables needs the package pyarrow, which is not installed: {INSTALL}")
        _refuse_strangers(folder)

    def write(self, run: Run) -> None:
        """Write the rows of a run to all tables, or to no table if writing fails."""
        if self.failure:
            return
        try:
            self._write(run)
        except KeyboardInterrupt:
            self.is_interrupted = True
            self.failure = f"{self.folder}: interrupted before the tables were written; run the same command again"
        except OSError as error:
            self.failure = (
                f"{self.folder}: the tables cannot be written: {error.strerror}; make room or give another folder with"
                " --tables DIR"
            )

    def _write(self, run: Run) -> None:
        exploration = run.explored
        edges = sampled_edges(exploration, self.kernels.of(exploration.instance)) if exploration.has_begun else ()
        rows = rows_of(run, edges)
        name = rows["runs"][0]["run"] + SUFFIX
        drafts = {table: draft_in(self.folder / table) for table in TABLES}
        try:
            for table, draft in drafts.items():
                write_through(draft, encoded(TABLES[table], rows[table]))
            for draft in drafts.values():
                draft.replace(draft.with_name(name))
        finally:
            for draft in drafts.values():
                with contextlib.suppress(OSError):
                    draft.unlink()


def encoded(table: Table, rows: Sequence[TableRow]) -> bytes:
    """Return a table as the content of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        Type.TEXT: pa.string(),
        Type.WHOLE: pa.int64(),
        Type.REAL: pa.float64(),
        Type.TRUTH: pa.bool_(),
        Type.MAP: pa.map_(pa.string(), pa.string()),
        Type.LIST: pa.list_(pa.int64()),
        Type.TEXTS: pa.list_(pa.string()),
    }
    fields = [pa.field(column.name, types[column.type], nullable=column.may_lack) for column in table.columns]
    columns = []
    for column, field in zip(table.columns, fields, strict=True):
        values: list[Any] = [row[column.name] for row in rows]
        if column.type is Type.MAP:
            values = [list(value.items()) for value in values]
        columns.append(pa.array(values, field.type, from_pandas=False))
    content = pa.Table.from_arrays(columns, schema=pa.schema(fields, {KEY: str(VERSION)}))
    sink = pa.BufferOutputStream()
    parquet.write_table(content, sink)
    return bytes(sink.getvalue())


# -------------------------------------------------------------------------------------------------- an existing folder


def _refuse_strangers(folder: Path) -> None:
    """Create the folders of the tables. Raises UsageError if a folder has files that are not tables of isrcheck."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.iterdir()):
            if path.name not in TABLES:
                raise UsageError(f"{path}: is not a table of isrcheck; {CURE}")
        for name in TABLES:
            if (folder / name).is_symlink():
                raise UsageError(f"{folder / name}: is a symbolic link; {CURE}")
            (folder / name).mkdir(exist_ok=True)
            for path in sorted((folder / name).iterdir()):
                if not path.name.startswith(DRAFT):
                    _refuse_stranger(path, TABLES[name])
    except OSError as error:
        raise UsageError(
            f"{error.filename or folder}: {error.strerror}; give another folder with --tables DIR"
        ) from None


def _refuse_stranger(path: Path, table: Table) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if not re.fullmatch(f"[0-9a-f]{{12}}{re.escape(SUFFIX)}", path.name) or not path.is_file():
        raise UsageError(f"{path}: does not belong to isrcheck's tables; {CURE}")
    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        raise UsageError(f"{path}: is not a Parquet file, or is damaged; {CURE}") from None
    version = (schema.metadata or {}).get(KEY.encode(), b"").decode(errors="replace")
    if not version or (version == str(VERSION) and schema.names != [column.name for column in table.columns]):
        raise UsageError(f"{path}: was not written by isrcheck; {CURE}")
    if version != str(VERSION):
        raise UsageError(f"{path}: has version {version[:20]} of the tables, not version {VERSION}; {CURE}")


# ------------------------------------------------------------------------------------------------- the rows of a search


def rows_of(run: Run, edges: Iterable[Edge]) -> dict[str, list[TableRow]]:
    """Return the rows of a run for each table, by the table's name; `edges` has the sampled steps of the run."""
    answer = as_object(run)
    spark = answer["spark"] or {}
    overlap = spark.get("overlap") or {"states_by_parts": []}
    instance = run.explored.instance
    tables: dict[str, list[TableRow]] = {
        "levels": [{"depth": depth, "states": states} for depth, states in enumerate(answer["states_per_level"])],
        "actions": [{"action": name, **counts} for name, counts in answer["actions"].items()],
        "verdicts": [{**found, "property": found["name"]} for found in answer["properties"]],
        "traces": list(_trace_rows(run)),
        "edges": [_edge_row(instance, edge) for edge in edges],
        "overlap": sorted(overlap["states_by_parts"], key=lambda row: row["parts"]),
        "runs": [
            {name: answer[name] for name in OF_RUN}
            | {name: spark.get(name) for name in OF_SPARK}
            | {"parts_overlap": not run.counts_once}
        ],
    }
    key = run_key(run, answer)
    return {name: [{"run": key, **row} for row in rows] for name, rows in tables.items()}


def run_key(run: Run, answer: Mapping[str, Any]) -> str:
    """Return a digest of a search's settings, and of its limits if a limit ended it: twelve hexadecimal digits."""
    spark = answer["spark"] or {}
    limits = run.exploration.limits
    parts = {part.key: part for part in run.parts}
    stopped = [None if run.exploration.is_complete else run.exploration.stopped]
    stopped += [parts[key].stopped if key in parts else None for key in ("z3", "proofs")]
    cut = [*stopped, limits.seconds, limits.memory] if any(stopped) else None
    identity = [
        [answer[name] for name in IDENTITY],
        [spark.get("mode"), spark.get("parts"), spark.get("split_depth")],
        [run.counted_all, "proofs" in parts],
        cut,
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]


def _trace_rows(run: Run) -> Iterator[TableRow]:
    """Yield a row for each state of the traces of failing properties, even if no trace file could be written."""
    instance = run.explored.instance
    for verdict in run.verdicts:
        for _, witness, word in verdict.failing_paths:
            name = verdict.prop.name
            trace = from_steps(instance, witness.initial, witness.steps, name, run.command, word, witness.loop)
            for position in range(trace.length + 1):
                cells = trace.state_at(position)
                before = trace.state_at(position - 1) if position else cells
                yield {
                    "property": name,
                    "verdict": word,
                    "step": position,
                    "action": trace.every_step[position - 1].action if position else None,
                    "took": trace.spell_row(position),
                    "changed": changed(instance, before, cells),
                    "state": spelled_at(instance, cells, range(len(cells))),
                }


def _edge_row(instance: Instance, edge: Edge) -> TableRow:
    return {
        "depth": edge.depth,
        "state": digest_of(edge.before),
        "action": edge.step.action,
        "took": instance.spell_step(edge.step),
        "successor": digest_of(edge.after),
        "changed": changed(instance, edge.before, edge.after),
    }


def digest_of(cells: Cells) -> str:
    """Return a digest of a state: sixteen hexadecimal digits."""
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def changed(instance: Instance, before: Cells, after: Cells) -> dict[str, str]:
    """Return the cells that differ between two states, by name, with their new values."""
    return spelled_at(instance, after, [at for at, value in enumerate(after) if value != before[at]])


# ------------------------------------------------------------------------------------------------ a sample of the steps


@dataclass(frozen=True)
class Edge:
    """A step from a state at `depth`, with the cells before and after the step."""

    depth: int
    before: Cells
    step: Step
    after: Cells


def sampled_edges(exploration: Exploration, kernel: Kernel) -> Iterator[Edge]:
    """Yield a sample of a search's steps: from each of the first levels (see MOST_STATES), every step from the first
    MOST_OF_A_LEVEL states. The order is that of the search, the same for every engine. Most engines do not keep the
    states of a level, so these levels are searched again; CPython takes the steps. Raises KeyboardInterrupt."""
    totals = list(accumulate(exploration.levels))
    within = sum(total <= MOST_STATES for total in totals)
    # All states of these levels were expanded; a step that leaves a declared range has no next state, so it is no edge.
    expanded = exploration.judged + exploration.exhausted
    levels = min(within, expanded)
    if levels <= 0:
        return
    context = SearchContext(exploration.instance, Limits(depth=levels - 1), kernel, EVERY_STATE)
    search = Search(context)
    result = search.run()
    if result.stopped == "interrupt":
        raise KeyboardInterrupt
    assert result.stopped is None, "these levels fitted into the limits before"
    reached = Reached(kernel, search.visited, result.levels, context.starts)
    for depth, states in enumerate(reached.first_of_levels(MOST_OF_A_LEVEL)):
        for before in states:
            for step, after in possible_steps(exploration.instance, before):
                yield Edge(depth, before, step, after)
