"""The names under which models used to import the modelling language: `models.language` and `models.log`.

In:  the name of a module in a model file.
Out: the module's current name; and, while a model file is loaded, imports that accept the former name.

A former name always means the language of this program, even if a project has a package `models` of its own, or if
Python could load the language a second time from a checkout of this project.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

FORMER = ("models.language", "models.log")
PACKAGE = "isrcheck."
"""The prefix that turns a former name into the current one."""


def name_today(name: str) -> str:
    """Return the current name of a module. If `name` is not a former name, it is returned unchanged."""
    return PACKAGE + name if f"{name}.".startswith(tuple(f"{former}." for former in FORMER)) else name


@contextmanager
def former_names() -> Iterator[None]:
    """Within this context, imports by the former names find the current modules; later imports are as before."""
    kept = {name: module for name, module in sys.modules.items() if name_today(name) != name}
    named = {name.removeprefix(PACKAGE): module for name, module in _modules()}
    if not _has_package_of_its_own():
        kept |= {name: module for name, module in sys.modules.items() if name == "models"}
        named["models"] = _package(named)
    for name in kept:
        del sys.modules[name]
    sys.modules.update(named)
    try:
        yield
    finally:
        for name in named:
            sys.modules.pop(name, None)
        sys.modules.update(kept)


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """The modules that have a former name, and their submodules, each with its current name."""
    for former in FORMER:
        module = importlib.import_module(PACKAGE + former)
        yield module.__name__, module
        for part in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
            yield part.name, importlib.import_module(part.name)


def _has_package_of_its_own() -> bool:
    """Whether `models` is another package than the folder of this name in a checkout of this project."""
    loaded = sys.modules.get("models")
    if loaded is not None:
        places = getattr(loaded, "__path__", [])
    else:
        found = importlib.machinery.PathFinder.find_spec("models")
        if found is None:
            return False
        places = found.submodule_search_locations or []
    return not any(Path(place, "language", "text", "former_names.py").is_file() for place in places)


def _package(named: dict[str, ModuleType]) -> ModuleType:
    """Return an empty package `models` that makes `import models.language` work if there is no such package."""
    package = ModuleType("models")
    package.__path__ = []
    for former in FORMER:
        setattr(package, former.removeprefix("models."), named[former])
    return package
