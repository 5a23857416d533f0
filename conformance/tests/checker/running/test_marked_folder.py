"""A folder that isrcheck may replace: earlier files go, foreign files stay, and what is no such folder is refused."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isrcheck.checker.running import marked_folder
from isrcheck.checker.running.marked_folder import MarkedFolder
from isrcheck.models.messages import UsageError

ALBUM = MarkedFolder("album", 2, "--album DIR", re.compile(r"(index|pages/\w+)\.html"), ("pages",))
FIRST = {"index.html": b"first", "pages/one.html": b"1", "pages/two.html": b"2"}
SECOND = {"index.html": b"second", "pages/two.html": b"II"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of FIRST, and a foreign one."""
    ALBUM.put(tmp_path, FIRST)
    (tmp_path / "pages" / "mine.html").write_bytes(b"mine")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder without the marker."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != ALBUM.marker]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def marked(folder: Path) -> list[str]:
    names: list[str] = json.loads((folder / ALBUM.marker).read_text())["files"]
    return names


def test_earlier_files_are_replaced_or_deleted_and_foreign_files_stay(folder: Path) -> None:
    assert contents(folder) == FIRST | {"pages/mine.html": b"mine"}
    ALBUM.put(folder, SECOND)
    assert contents(folder) == SECOND | {"pages/mine.html": b"mine"}
    assert marked(folder) == sorted(SECOND)
    ALBUM.refuse_strangers(folder)


OPERATIONS = 8
"""To replace FIRST by SECOND takes two writes of files and two of markers, each of which is then moved into place."""


@pytest.mark.parametrize("done", range(OPERATIONS + 1))
def test_a_folder_that_was_half_replaced_is_replaced_by_the_next_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """Whatever is the first operation for which there is no room: no earlier page is left behind in the end."""
    operations = itertools.count()

    def limited(operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            if next(operations) >= done:
                raise OSError(errno.ENOSPC, "No space left on device")
            return operation(*given)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(marked_folder, "write_through", limited(marked_folder.write_through))
        patch.setattr(Path, "replace", limited(Path.replace))
        with pytest.raises(OSError, match="No space left") if done < OPERATIONS else contextlib.nullcontext():
            ALBUM.put(folder, SECOND)
    ALBUM.refuse_strangers(folder)
    ALBUM.put(folder, {"index.html": b"third"})
    assert contents(folder) == {"index.html": b"third", "pages/mine.html": b"mine"}


def test_only_files_with_names_of_this_kind_are_deleted(folder: Path) -> None:
    (folder / "notes.txt").write_bytes(b"notes")
    marker = {"isrcheck": "album", "version": 1, "files": ["notes.txt", "../index.html", "pages/one.html", 3]}
    (folder / ALBUM.marker).write_text(json.dumps(marker))
    ALBUM.put(folder, {"index.html": b"third"})
    assert set(contents(folder)) == {"index.html", "notes.txt", "pages/two.html", "pages/mine.html"}


@pytest.mark.parametrize(
    ("marker", "says"),
    [
        (None, "contains files, but no album from isrcheck; move it away, or give another folder with --album DIR"),
        ("[]", "damaged, or not written by isrcheck"),
        ('{"isrcheck": "atlas", "version": 1, "files": []}', "damaged, or not written by isrcheck"),
        ('{"isrcheck": "album", "version": "1", "files": []}', "damaged, or not written by isrcheck"),
        ('{"isrcheck": "album", "version": 3, "files": []}', "written by a newer isrcheck (album version 3)"),
    ],
)
def test_another_folder_is_refused_and_kept(folder: Path, marker: str | None, says: str) -> None:
    if marker is None:
        (folder / ALBUM.marker).unlink()
    else:
        (folder / ALBUM.marker).write_text(marker)
    before = contents(folder)
    with pytest.raises(UsageError, match=re.escape(says)):
        ALBUM.refuse_strangers(folder)
    assert contents(folder) == before


def test_links_and_files_are_refused_and_nothing_is_fine(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"index\.html: not a folder; give a folder with --album DIR"):
        ALBUM.refuse_strangers(folder / "index.html")
    ALBUM.refuse_strangers(tmp_path / "nowhere")
    (folder / "pages").rename(tmp_path / "elsewhere")
    (folder / "pages").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="pages: is a symbolic link; move it away"):
        ALBUM.refuse_strangers(folder)
