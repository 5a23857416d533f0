"""A program: the text of a model file, and of the modules of its second protocol and of its helpers, if any.

In:  one to three texts, or the file of a saved program.
Out: a `Program`, its files on disk, and the model that the product loads from them.

The second protocol is called `second`; its switches are defined in its module as `SWITCHES`. The model file imports
from its library, which imports nothing of the program.
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

LIBRARY = "library"
"""The end of the name of a program's library."""

SWITCHES = "SWITCHES"


@dataclass(frozen=True)
class Program:
    """A model file, the module of its second protocol (None: it has one protocol, without a name), and the module from
    which the model file imports (None: it imports only the language)."""

    name: str
    text: str
    second: str | None = None
    library: str | None = None

    @property
    def protocols(self) -> tuple[str | None, ...]:
        """The protocols that can be chosen."""
        return (None,) if self.second is None else (FIRST, SECOND)

    def save(self, folder: Path) -> Path:
        """Write the files of this program; return the path of the model file."""
        path = folder / f"{self.name}.py"
        for where, text in (
            (path, self.text),
            (beside(path, SECOND), self.second),
            (beside(path, LIBRARY), self.library),
        ):
            if text is not None:
                where.write_text(text, encoding="utf-8")
        return path


def beside(path: Path, module: str) -> Path:
    """The path of the module of the second protocol, or of the library, of the program with this model file."""
    return path.with_name(f"{path.stem}_{module}.py")


def read_program(path: Path) -> Program:
    """The program saved in a file. Raises OSError, SyntaxError."""
    text = path.read_text(encoding="utf-8")
    others = (beside(path, module) for module in (SECOND, LIBRARY))
    second, library = (one.read_text(encoding="utf-8") if one.exists() else None for one in others)
    for one in (text, second, library):
        ast.parse(one or "")
    return Program(path.stem, text, second, library)


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
            base, second = (importlib.import_module(one.stem) for one in (path, beside(path, SECOND)))
            yield assemble(program.name, base, {FIRST: (None, {}), SECOND: (second, getattr(second, SWITCHES))})
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
