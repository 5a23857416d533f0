"""Writes files that the user names: completely or not at all. Existing files are overwritten only with `replace`.

In:  a path, and content.
Out: the file, or a UsageError.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from isrcheck.models.messages import UsageError


def put(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file; with `replace`, overwrite an existing file. Raises UsageError."""
    if path.is_dir():
        raise UsageError(f"{path}: a folder; name a file in it")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"{path}: a link, a pipe or a device, which is not overwritten; name a regular file")
    draft = draft_in(path.parent)
    try:
        write_through(draft, content)
        if replace:
            draft.replace(path)
        else:
            give_name(draft, path)
    except FileExistsError:
        raise UsageError(f"{path}: exists already and is not overwritten; name another file, or add --force") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name a file elsewhere") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


DRAFT = ".draft-"
"""The prefix of the names of unfinished files (drafts). A finished draft is renamed to the name that the user gave."""


def draft_in(folder: Path) -> Path:
    """Return a path for a draft at which nobody else can have put a file or a link, even in a folder that others can
    write to."""
    return folder / f"{DRAFT}{secrets.token_hex(8)}"


def write_through(path: Path, content: bytes) -> None:
    """Write a draft and flush it to the disk, so that it is complete before it is renamed. Links are not followed.
    Raises FileExistsError instead of overwriting a file."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def give_name(draft: Path, path: Path) -> None:
    """Rename a file atomically. Raises FileExistsError if the name is taken."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links: create the name, then move the content over it.
        path.open("xb").close()
        draft.replace(path)
