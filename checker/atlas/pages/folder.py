"""The folder of the atlas: its tables, the pages behind their cells, and the Parquet file.

In:  the sheets (content.py), and what every page says.
Out: the content of every file, and the folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from isrcheck.checker.atlas.pages import defects
from isrcheck.checker.atlas.pages.cells import Cells
from isrcheck.checker.atlas.pages.content import KINDS, Sheet
from isrcheck.checker.atlas.pages.index import WHOLE, Facts, View, whole, with_filters
from isrcheck.checker.atlas.pages.parquet import is_installed, parquet
from isrcheck.checker.atlas.pages.proofs import SEARCHES, TRACES, Histories, Searches
from isrcheck.checker.atlas.pages.rows import rows_of
from isrcheck.checker.atlas.pages.settings import settings_of
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.models.messages import UsageError

INDEX, PARQUET = "index.html", "atlas.parquet"
_FILES = "|".join(re.escape(kind.file) for kind in KINDS)
OURS = re.compile(rf"({WHOLE})?({_FILES})|{re.escape(PARQUET)}|({TRACES}|{SEARCHES}|{defects.DEFECTS})/[\w.-]+\.html")
ATLAS = MarkedFolder("atlas", version=1, option="-o DIR", ours=OURS, folders=(TRACES, SEARCHES, defects.DEFECTS))


def begin(folder: Path) -> None:
    """Raise UsageError if the folder has files that isrcheck did not write, or cannot be made."""
    try:
        ATLAS.refuse_strangers(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(_cannot(folder, error)) from None


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files; those of an earlier atlas are replaced. Raises UsageError."""
    try:
        ATLAS.put(folder, files)
    except OSError as error:
        raise UsageError(_cannot(folder, error)) from None


def _cannot(folder: Path, error: OSError) -> str:
    return f"{error.filename or folder}: {error.strerror}; give another folder with {ATLAS.option}"


def files_of(
    sheets: Sequence[Sheet], facts: Facts, tell: Callable[[str], None] = lambda what: None
) -> dict[str, bytes]:
    """Return the content of every file by its name; `tell` is told what is made.

    Raises UsageError if a recorded history is not one of the model.
    """
    histories, searches = Histories(), Searches()
    cells = Cells(histories, searches)
    facts = replace(facts, parquet=PARQUET if is_installed() else None)
    tell("rows")
    views = [_view(sheet, cells) for sheet in sheets]
    named = sorted({mark.address for view in views for row in view.rows for cell in row.cells for mark in cell.links})
    files: dict[str, bytes] = {}
    kinds = [view.kind for view in views]
    for view in views:
        tell(view.kind.file)
        files[view.kind.file] = with_filters(view, kinds, facts).encode()
        files[WHOLE + view.kind.file] = whole(view, kinds, facts).encode()
    for pages in (searches.pages(), histories.pages(), defects.pages(named)):
        files |= _told(pages, tell)
    if facts.parquet:
        tell(PARQUET)
        files[PARQUET] = parquet(sheets)
    return files


def _told(pages: Iterator[tuple[str, str]], tell: Callable[[str], None]) -> Iterator[tuple[str, bytes]]:
    for name, text in pages:
        tell(name)
        yield name, text.encode()


def _view(sheet: Sheet, cells: Cells) -> View:
    settings = settings_of(sheet.kind.settings)
    rows = rows_of(sheet, settings, lambda line: cells.of(line, sheet.kind.columns))
    return View(sheet.kind, sheet.lines, rows, settings)
