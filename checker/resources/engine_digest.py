"""The digest of the engines: beside the digest of a model, what everything that they keep between runs is named by.

In:  nothing.
Out: SHA-256 over the source of every module that a result can depend on, and the version of what results mean.

All modules of the checker and of the modelling language count, so that none can be forgotten; the models that come with
them do not, since each has a digest of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

SEMANTICS = 1
"""The version of how steps are numbered, states are packed and results are counted: it grows where these change."""

FOLDERS = {
    "isrcheck.models": False,
    "isrcheck.models.language": True,
    "isrcheck.models.messages": True,
    "isrcheck.checker": True,
}
"""The folders whose modules count, and whether those inside count as well."""


@cache
def engine_digest() -> str:
    """The digest of the engines, as 64 hexadecimal digits."""
    return hashed_modules(FOLDERS, f"{SEMANTICS}\0")


def hashed_modules(folders: Mapping[str, bool], beginning: str = "") -> str:
    """SHA-256 over the names and contents of the modules in these packages, as 64 hexadecimal digits."""
    content = hashlib.sha256(beginning.encode())
    for package, is_deep in folders.items():
        for name, module in sorted(modules_of(package, resources.files(package), is_deep)):
            content.update(name.encode() + b"\0" + module.read_bytes() + b"\0")
    return content.hexdigest()


def modules_of(prefix: str, folder: Traversable, is_deep: bool = True) -> Iterator[tuple[str, Traversable]]:
    """The modules in a folder, and in those inside where it is deep; it may lie in an archive."""
    for one in folder.iterdir():
        name = f"{prefix.replace('.', '/')}/{one.name}"
        if one.is_dir():
            if is_deep:
                yield from modules_of(name, one)
        elif one.name.endswith(".py"):
            yield name, one
