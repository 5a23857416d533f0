"""A program: the text of a model file, and of the module with the actions of the second protocol, if it has one.

In:  one or two texts, or the file of a saved program.
Out: a `Program`, its files on disk, and the model that the product loads from them.

The second protocol is called `second`; its switches are defined in its module as `SWITCHES`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models.language.model import Model, assemble
from isrcheck.models.registry import load_file

FIRST, SECOND = "first", "second"
"""The protocols of a program with a second module."""

SWITCHES = "SWITCHES"


@dataclass(frozen=True)
class Program:
    """A model file, and the module of its second protocol (None: it has one protocol, without a name)."""

    name: str
    text: str
    second: str | None = None

    @property
    def protocols(self) -> tuple[str | None, ...]:
        """The protocols that can be chosen."""
        return (None,) if self.second is None else (FIRST, SECOND)

    def save(self, folder: Path) -> Path:
        """Write the files of this program; return the path of the model file."""
        path = folder / f"{self.name}.py"
        path.write_text(self.text, encoding="utf-8")
        if self.second is not None:
            second_path(path).write_text(self.second, encoding="utf-8")
        return path


def second_path(path: Path) -> Path:
    """The path of the module of the second protocol."""
    return path.with_name(f"{path.stem}_{SECOND}.py")


def read_program(path: Path) -> Program:
    """The program saved in a file. Raises OSError, SyntaxError."""
    second = second_path(path)
    texts = [one.read_text(encoding="utf-8") for one in (path, second) if one.exists() or one is path]
    for text in texts:
        ast.parse(text)
    return Program(path.stem, *texts)


@contextlib.contextmanager
def loaded(program: Program, folder: Path) -> Iterator[Model]:
    """The model that the product loads from a program; writes its files to this folder. Raises the product's errors."""
    path = program.save(folder)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        if program.second is None:
            yield load_file(path)
        else:
            base, second = (importlib.import_module(one.stem) for one in (path, second_path(path)))
            yield assemble(program.name, base, {FIRST: (None, {}), SECOND: (second, getattr(second, SWITCHES))})
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
