"""The files of a model: the files that declare it, and all files that they import, in any folder.

In:  the files that declare a model.
Out: these files and the files that they import, each with the path by which an import finds it (`lib/limits.py`). The
     standard library, installed packages, and this program are left out.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from isrcheck.models.language.reading.source_text import text_of
from isrcheck.models.language.text.former_names import name_today

OWN = (
    *("isrcheck.models.language.", "isrcheck.models.messages.", "isrcheck.models.registry.", "isrcheck.models.run."),
    *("isrcheck.commands.", "isrcheck.language.", "isrcheck.testing."),
    *("isrcheck.checker.", "isrcheck.traces.", "isrcheck.conformance."),
)
"""The modules and packages of this program that are not part of a model."""


def sources_of(files: Iterable[str]) -> Mapping[str, str]:
    """The given files and all files that they import, sorted, each with its path below the folder where it is found."""
    search = _ModuleFinder()
    waiting = sorted(set(files))
    found: dict[str, str] = {}
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = search.relative(file)
            waiting += search.imported_by(file)
    return dict(sorted(found.items()))


class _ModuleFinder:
    """Finds the files of modules, loaded modules first."""

    def __init__(self) -> None:
        loaded = [(name, getattr(module, "__dict__", {})) for name, module in list(sys.modules.items())]
        self.names = {names["__file__"]: name for name, names in loaded if isinstance(names.get("__file__"), str)}
        self._found: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def relative(self, file: str) -> str:
        """The path by which an import finds the file, as in `lib/limits.py`; its bare name if no import found it."""
        path = Path(file)
        parts = self.names.get(file, "").split(".")
        folders = parts if path.name == "__init__.py" else parts[:-1]
        named = path.parent.name if path.name == "__init__.py" else path.stem
        return "/".join([*folders, path.name]) if parts[-1] == named else path.name

    def imported_by(self, file: str) -> Iterator[str]:
        """The files that `file` imports and that belong to the model."""
        try:
            imports = text_of(file).imports
        except (OSError, SyntaxError, ValueError):  # an unreadable file imports nothing that can be found
            return
        name = self.names.get(file, "")
        is_package = Path(file).name == "__init__.py"
        top = name.partition(".")[0]
        for full in sorted({one for node in imports for one in _full_names(node, name, is_package)}):
            found = self._file(full)
            if found is not None and self._belongs(full, found, file, top):
                yield found

    def _belongs(self, name: str, file: str, importing: str, top: str) -> bool:
        if name in ("isrcheck", "isrcheck.models") or f"{name}.".startswith(OWN) or not file.endswith(".py"):
            return False
        # Files installed together with the model are part of it.
        is_near = Path(file).parent == Path(importing).parent or name.partition(".")[0] == top
        return is_near or not _is_installed(file)

    def _file(self, name: str) -> str | None:
        module = sys.modules.get(name)
        if module is not None:
            file = getattr(module, "__dict__", {}).get("__file__")
            return file if isinstance(file, str) else None
        spec = self._spec(name)
        if spec is None or not spec.has_location or spec.origin is None:
            return None
        self.names.setdefault(spec.origin, name)
        return spec.origin

    def _spec(self, name: str) -> importlib.machinery.ModuleSpec | None:
        """The import specification of a module that is not loaded; finding it executes nothing."""
        if name in self._found:
            return self._found[name]
        above, _, _ = name.rpartition(".")
        places = self._places(above) if above else sys.path
        try:
            self._found[name] = None if places is None else importlib.machinery.PathFinder.find_spec(name, places)
        except KeyError:  # a namespace package: Python finds its parts only after it has loaded the package around it
            self._found[name] = None
        return self._found[name]

    def _places(self, package: str) -> list[str] | None:
        module = sys.modules.get(package)
        if module is not None:
            places = getattr(module, "__dict__", {}).get("__path__")
        else:
            spec = self._spec(package)
            places = None if spec is None else spec.submodule_search_locations
        return None if places is None else list(places)


def _full_names(node: ast.Import | ast.ImportFrom, name: str, is_package: bool) -> Iterator[str]:
    """The modules that an import may execute: the named modules, and the packages that contain them."""
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            parts = name.split(".")
            around = parts[: len(parts) - node.level + is_package]
            base = ".".join([*around, *([node.module] if node.module else [])])
        named = [base, *(f"{base}.{alias.name}" for alias in node.names)]
    for full in named:
        parts = name_today(full).split(".")
        yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


@cache
def _installed() -> tuple[str, ...]:
    folders = {path for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple({f"{one}{os.sep}" for folder in folders for one in (folder, os.path.realpath(folder))})


def _is_installed(file: str) -> bool:
    return file.startswith(_installed()) or os.path.realpath(file).startswith(_installed())
