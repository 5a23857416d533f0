"""The names under which models used to import the modelling language: `models.language` and `models.log`.

In:  the name of a module in a model file.
Out: the name that the module has today; and, while a model file is loaded, imports that follow it.

The former names always mean the language of this program, also where a project has a package `models` of its own, and
in a checkout of this project, where Python could load the language a second time.
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
"""What stands before a former name today."""


def name_today(name: str) -> str:
    """The name of a module as it is today."""
    return PACKAGE + name if f"{name}.".startswith(tuple(f"{former}." for former in FORMER)) else name


@contextmanager
def former_names() -> Iterator[None]:
    """While this is open, imports by the former names find the modules that are loaded; afterwards all is as before."""
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
    """The modules that have a former name, each with the name that it has today; parts of a package come along."""
    for former in FORMER:
        module = importlib.import_module(PACKAGE + former)
        yield module.__name__, module
        for part in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
            yield part.name, importlib.import_module(part.name)


def _has_package_of_its_own() -> bool:
    """Whether `models` means something else than the folder of this name in a checkout of this project."""
    loaded = sys.modules.get("models")
    if loaded is not None:
        places = getattr(loaded, "__path__", [])
    else:
        found = importlib.machinery.PathFinder.find_spec("models")
        if found is None:
            return False
        places = found.submodule_search_locations or []
    return not any(Path(place, "language", "former_names.py").is_file() for place in places)


def _package(named: dict[str, ModuleType]) -> ModuleType:
    """A package `models` for `import models.language`, where there is no other one."""
    package = ModuleType("models")
    package.__path__ = []
    for former in FORMER:
        setattr(package, former.removeprefix("models."), named[former])
    return package
