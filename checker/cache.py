"""What is kept from one run to the next: compiled kernels, results of proofs. Files named by what they depend on.

In:  a path below `cache_folder()`, and content.
Out: the content, if all of it is there; a damaged file counts as none.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

DIGEST_BYTES = 32


def cache_folder() -> Path:
    """Where everything is kept: ISRCHECK_CACHE, or `isrcheck` in the user's cache folder; else a folder that passes."""
    own = os.environ.get("ISRCHECK_CACHE")
    if own:
        return Path(own)
    folder = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(folder or Path.home() / ".cache") / "isrcheck"
    except RuntimeError:
        return own_folder()


@cache
def own_folder() -> Path:
    """A private folder for as long as this process runs, for a user who has no home, as in a container."""
    print("isrcheck: this user has no home folder, so nothing is kept; set ISRCHECK_CACHE to a folder", file=sys.stderr)
    folder = tempfile.mkdtemp(prefix="isrcheck-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def kept(path: Path) -> bytes | None:
    """The content of a file that begins with its digest; None where there is none, or not all of it."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, inner = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return inner if digest == hashlib.sha256(inner).digest() else None


def can_keep(path: Path) -> bool:
    """Whether there is a folder for it that can be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path.parent, os.W_OK)


def keep(path: Path, content: bytes) -> None:
    """Put content where the next run finds it, as far as there is room for it."""
    with contextlib.suppress(OSError):
        place(path, hashlib.sha256(content).digest() + content)


def place(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file whose folder exists, so that whoever looks finds all of it or nothing. Raises OSError."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".draft", delete=False) as file:
            draft = Path(file.name)
            file.write(content)
        draft.chmod(mode)
        draft.replace(path)
    except OSError:
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink()
        raise
