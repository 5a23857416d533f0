"""The cache: compiled kernels and proofs, in files whose names contain a digest of everything they depend on.

A cache file has the path `cache_folder() / KIND / NAME`. `kept` returns the content of the file only if it is complete
and was written for the same KIND and NAME.

Compiled kernels are run as native code. Therefore a file is read only if the file and its folders belong to this user
and nobody else can write to them. A file is opened before its owner is checked, so the checked file is the file that
is read.

The digest of the checker (`engine_digest`) is SHA-256 over `SEMANTICS`, a version number, and over the source of every
module that a result can depend on. These are all modules of the checker and of the modelling language, so that no
module is forgotten. The models that come with isrcheck are left out, since each model has a digest of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import secrets
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from isrcheck.models.messages import escaped

DIGEST_BYTES = 32
PRIVATE = 0o700
FOLDER = os.O_RDONLY | os.O_DIRECTORY
CURE = "set ISRCHECK_CACHE to a folder of your own"
OTHERS_CAN_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotPrivateError(Exception):
    """Somebody else owns or can write to a file or folder of the cache; the message gives the path, reason and cure."""


def cache_folder() -> Path:
    """The folder of the cache: ISRCHECK_CACHE, else `isrcheck` in the user's cache folder, else a temporary folder."""
    if own := os.environ.get("ISRCHECK_CACHE"):
        return Path(own)
    folder = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(folder or Path.home() / ".cache") / "isrcheck"
    except RuntimeError:
        return own_folder()


@cache
def own_folder() -> Path:
    """A new temporary folder, deleted when this process ends: for users without a home folder, as in containers."""
    print(
        "isrcheck: this user has no home folder, so nothing is cached; set ISRCHECK_CACHE to a folder", file=sys.stderr
    )
    folder = tempfile.mkdtemp(prefix="isrcheck-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def kept(path: Path) -> bytes | None:
    """The content of a cache file; None if there is no such file, if it is damaged, or if it is not private."""
    try:
        with _folder_of(path) as folder:
            number = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            with os.fdopen(number, "rb") as file:
                _require_private(number, path)
                content = file.read() if stat.S_ISREG(os.fstat(number).st_mode) else b""
    except (OSError, NotPrivateError):
        return None
    digest, inner = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
    return inner if digest == _digest(path, inner) else None


def why_not_kept(path: Path) -> str:
    """Why the cache file cannot be written, with the cure if there is one; empty if it can be written."""
    try:
        with _folder_of(path, is_made=True):
            is_writable = os.access(path.parent, os.W_OK)
    except NotPrivateError as refused:
        return str(refused)
    except OSError:
        is_writable = False
    return "" if is_writable else f"{escaped(str(path.parent))} cannot be written"


def keep(path: Path, content: bytes) -> None:
    """Write a cache file for later runs; do nothing if its folder cannot be made, is not private or has no room."""
    with contextlib.suppress(OSError, NotPrivateError), _folder_of(path, is_made=True) as folder:
        draft = f"{secrets.token_hex(8)}.draft"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(draft, flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(_digest(path, content) + content)
            os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise


def kept_or_made(path: Path, make: Callable[[], bytes], is_whole: Callable[[], bool] = lambda: True) -> bytes:
    """The content of a cache file, or else the result of `make`, stored if possible and if `is_whole()` is true."""
    content = kept(path)
    if content is None:
        content = make()
        if is_whole():
            keep(path, content)
    return content


def _digest(path: Path, content: bytes) -> bytes:
    """The digest of a cache file's folder name, file name and content; a file under another name is thus rejected."""
    return hashlib.sha256(os.fsencode(f"{path.parent.name}/{path.name}") + b"\0" + content).digest()


@contextlib.contextmanager
def _folder_of(path: Path, *, is_made: bool = False) -> Iterator[int]:
    """Open the folder of a cache file, and yield its file descriptor; with `is_made`, create it and the cache's folder
    first. The cache's folder may be a symbolic link, the folders in it may not. Raises NotPrivateError, OSError."""
    if is_made:
        path.parent.parent.mkdir(PRIVATE, parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        cache = os.open(path.parent.parent, FOLDER)
        stack.callback(os.close, cache)
        _require_private(cache, path.parent.parent)
        if is_made:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path.parent.name, PRIVATE, dir_fd=cache)
        try:
            folder = os.open(path.parent.name, FOLDER | os.O_NOFOLLOW, dir_fd=cache)
        except OSError:
            if path.parent.is_symlink():
                raise NotPrivateError(f"{escaped(str(path.parent))} is a symbolic link; remove it, or {CURE}") from None
            raise
        stack.callback(os.close, folder)
        _require_private(folder, path.parent)
        yield folder


def _require_private(number: int, path: Path) -> None:
    """Raise NotPrivateError if another user owns the open file with this descriptor, or can write to it."""
    status = os.fstat(number)
    if status.st_uid != os.geteuid():
        raise NotPrivateError(f"{escaped(str(path))} belongs to another user; {CURE}")
    if status.st_mode & OTHERS_CAN_WRITE:
        named = escaped(shlex.quote(str(path)))
        raise NotPrivateError(f"other users can write to {escaped(str(path))}; run chmod go-w {named}, or {CURE}")


SEMANTICS = 1
"""The version of step numbers, packed states and counts; increase it when one of these changes."""

FOLDERS = {
    "isrcheck.models": False,
    "isrcheck.models.language": True,
    "isrcheck.models.messages": True,
    "isrcheck.checker": True,
}
"""The packages that are included; True: with their subpackages."""


@cache
def engine_digest() -> str:
    """The digest of the source of the checker and of the modelling language, as 64 hexadecimal digits."""
    return hashed_modules(FOLDERS, f"{SEMANTICS}\0")


def hashed_modules(folders: Mapping[str, bool], beginning: str = "") -> str:
    """SHA-256 (64 hex digits) of `beginning` and the modules in the packages `folders` (True: with subpackages)."""
    content = hashlib.sha256(beginning.encode())
    for package, is_deep in folders.items():
        for name, module in sorted(modules_of(package, resources.files(package), is_deep)):
            content.update(name.encode() + b"\0" + module.read_bytes() + b"\0")
    return content.hexdigest()


def modules_of(prefix: str, folder: Traversable, is_deep: bool = True) -> Iterator[tuple[str, Traversable]]:
    """Each module in a folder, and in its subfolders if `is_deep`, with its path; the folder may be in an archive."""
    for entry in folder.iterdir():
        name = f"{prefix.replace('.', '/')}/{entry.name}"
        if entry.is_dir() and is_deep:
            yield from modules_of(name, entry)
        elif entry.name.endswith(".py"):
            yield name, entry
