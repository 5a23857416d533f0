"""Writes the tables as Parquet files, for Spark SQL, DuckDB, pandas and other readers.

In:  a folder, and one or more `Run`s (checker/session/text.py).
Out: files `DIR/TABLE/RUN.parquet` with the columns of checker/tables/columns.py. A file gets its name only when it is
     complete; repeating a search replaces only the files of that search.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.session.text import Run
from isrcheck.checker.spark.session import INSTALL
from isrcheck.checker.tables.columns import KEY, TABLES, VERSION, Table, Type
from isrcheck.checker.tables.edges import sampled_edges
from isrcheck.checker.tables.rows import TableRow, rows_of
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.output import DRAFT, draft_in, write_through

SUFFIX = ".parquet"
CURE = "move it away, or give another folder with --tables DIR"


class Tables:
    """The tables in a folder; if the folder is None, nothing is written. `failure` is the message of the first write
    error, which does not end the command; `is_interrupted` is True if the failure is an interruption.

    Raises UsageError if the folder holds other files or is not writable, or if pyarrow is not installed.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.failure = ""
        self.is_interrupted = False
        self.kernels = Kernels()
        if folder is not None:
            if importlib.util.find_spec("pyarrow") is None:
                raise UsageError(f"--tables needs the package pyarrow, which is not installed: {INSTALL}")
            _refuse_strangers(folder)

    def write(self, run: Run) -> None:
        """Write the rows of a run to all tables, or to no table if writing fails."""
        if self.folder is None or self.failure:
            return
        try:
            self._write(self.folder, run)
        except KeyboardInterrupt:
            self.is_interrupted = True
            self.failure = f"{self.folder}: interrupted before the tables were written; run the same command again"
        except OSError as error:
            self.failure = (
                f"{self.folder}: the tables cannot be written: {error.strerror}; make room or give another folder with"
                " --tables DIR"
            )

    def _write(self, folder: Path, run: Run) -> None:
        exploration = run.explored
        edges = sampled_edges(exploration, self.kernels.of(exploration.instance)) if exploration.has_begun else ()
        rows = rows_of(run, edges)
        name = rows["runs"][0]["run"] + SUFFIX
        drafts = {table: draft_in(folder / table) for table in TABLES}
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
    """Create the folders of the tables. Raises UsageError if the folders hold other files."""
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
        raise UsageError(f"{path}: has version {version[:20]} of the tables, but isrcheck writes {VERSION}; {CURE}")
