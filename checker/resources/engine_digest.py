"""The digest of the engines' source, on which the names of all cached files depend.

In:  nothing.
Out: SHA-256 over the source of every module that a result can depend on, and over the version SEMANTICS.

All modules of the checker and of the modelling language are included, so that none can be forgotten. The models that
come with isrcheck are not included, since each of them has a digest of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

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
    """The digest of the engines, as 64 hexadecimal digits."""
    return hashed_modules(FOLDERS, f"{SEMANTICS}\0")


def hashed_modules(folders: Mapping[str, bool], beginning: str = "") -> str:
    """SHA-256 over `beginning`, and over the modules in these packages (True: with subpackages), as 64 digits."""
    content = hashlib.sha256(beginning.encode())
    for package, is_deep in folders.items():
        for name, module in sorted(modules_of(package, resources.files(package), is_deep)):
            content.update(name.encode() + b"\0" + module.read_bytes() + b"\0")
    return content.hexdigest()


def modules_of(prefix: str, folder: Traversable, is_deep: bool = True) -> Iterator[tuple[str, Traversable]]:
    """The modules in a folder, with those in its subfolders if `is_deep`; the folder may be in an archive."""
    for one in folder.iterdir():
        name = f"{prefix.replace('.', '/')}/{one.name}"
        if one.is_dir():
            if is_deep:
                yield from modules_of(name, one)
        elif one.name.endswith(".py"):
            yield name, one
