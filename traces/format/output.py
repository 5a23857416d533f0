"""Files that a person names: written whole or not at all, and never over another one unasked.

In:  a path, and content.
Out: the file. Raises UsageError.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from isrcheck.models.messages.errors import UsageError


def put(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file; with `replace` also where one is already."""
    if path.is_dir():
        raise UsageError(f"{path}: a folder; name a file in it")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"{path}: a link, a pipe or a device, which a file does not take the place of; name a file")
    draft = draft_in(path.parent)
    try:
        write_through(draft, content)
        if replace:
            draft.replace(path)
        else:
            give_name(draft, path)
    except FileExistsError:
        raise UsageError(f"{path}: is there already, and is left as it is; name another file, or add --force") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name a file elsewhere") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


DRAFT = ".draft-"
"""How the name of a file begins that has not been given its own name yet."""


def draft_in(folder: Path) -> Path:
    """A name for a draft that nobody can have put a file or a link under before, in a folder that others write to."""
    return folder / f"{DRAFT}{secrets.token_hex(8)}"


def write_through(path: Path, content: bytes) -> None:
    """Write a draft, and let the machine put it where a power loss leaves it whole before it gets its name. What is
    there already is not written to, and no link is followed: raises FileExistsError."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def give_name(draft: Path, path: Path) -> None:
    """Give a file a name, in one step that fails with FileExistsError where somebody else has it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: take the name, then move the content over it.
        path.open("xb").close()
        draft.replace(path)
