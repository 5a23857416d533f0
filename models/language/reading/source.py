"""The text of a model's files: its syntax, the check that Python runs exactly this text, and the files' imports."""

from __future__ import annotations
import __future__

import ast
import hashlib
import importlib
import importlib.machinery
import inspect
import io
import itertools
import os
import pkgutil
import re
import site
import sys
import sysconfig
import textwrap
import tokenize
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from isrcheck.models.language.declarations import shortened
from isrcheck.models.language.ir.constructs import CONDITIONS, DEPTH, TERMS
from isrcheck.models.language.ir.nodes import Source, Span
from isrcheck.models.messages import LanguageError

# --------------------------------------------------------------------------------------------------------------- chains
#
# People write chains flat, and Python's parser nests them: sums, `elif`, `a if c else b if d else e`, and indices.
# Code that reads a chain as a list does not recurse once per term, so chains can be long.


def summands(expression: ast.BinOp) -> tuple[ast.expr, list[tuple[ast.operator, ast.expr]]]:
    """Return the first term of a sum, and each further term with the operator before it."""
    rest: list[tuple[ast.operator, ast.expr]] = []
    node: ast.expr = expression
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        rest.append((node.op, node.right))
        node = node.left
    return node, rest[::-1]


def alternatives(expression: ast.IfExp) -> tuple[list[tuple[ast.expr, ast.expr]], ast.expr]:
    """Return each condition of `a if c else b if d else e` with its value, and the last value, which has no
    condition."""
    pairs = []
    node: ast.expr = expression
    while isinstance(node, ast.IfExp):
        pairs.append((node.test, node.body))
        node = node.orelse
    return pairs, node


def branches(statement: ast.If) -> tuple[list[ast.If], Sequence[ast.stmt]]:
    """Return an `if` with every `elif` after it, and the statements under `else`."""
    tests = [statement]
    while len(tests[-1].orelse) == 1 and isinstance(tests[-1].orelse[0], ast.If):
        tests.append(tests[-1].orelse[0])
    return tests, tests[-1].orelse


def subscripts(node: ast.expr) -> tuple[ast.expr, Sequence[ast.expr]]:
    """Return the expression that is indexed, such as `s.epoch` in `s.epoch[i][j]`, and the indices."""
    indices: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        indices.insert(0, node.slice)
        node = node.value
    return node, indices


# ----------------------------------------------------------------------------------------------------------------- text
#
# Chains can have any length.


def spelled(node: ast.AST) -> str:
    """Return the text of a statement or expression. Unlike `ast.unparse`, write no double brackets such as those of
    `all((x for x in Node))`, and do not recurse for each term of a sum or each `else` of a chain."""
    return ast.unparse(_shallow(node))


def respelled(text: str) -> str:
    """Return the text of an expression or a statement as `ast.unparse` writes it: in one line, without comments."""
    try:
        node: ast.AST = ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        (node,) = ast.parse(textwrap.dedent(text)).body
    return spelled(node)


def shown(node: ast.AST) -> str:
    """Return the text of an expression in one line, shortened in the middle if it is long."""
    return shortened(spelled(node))


def _shallow(node: ast.AST) -> ast.AST:
    """Return a copy of a node that has the same text but no deep nesting. An `ast.Name` that holds ready text replaces
    all terms of a sum but the last, the part after the first `else` of a chain, or the only generator of a call."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=ast.BinOp(op=ast.Add() | ast.Sub())):
            first, rest = summands(node)
            # Text that is written beside a one-letter name gets brackets if it needs them.
            text = spelled(ast.BinOp(first, ast.Add(), ast.Name("_")))[: -len(" + _")]
            for operator, term in rest[:-1]:
                text += spelled(ast.BinOp(ast.Name("_"), operator, term))[1:]
            return ast.BinOp(ast.Name(text), node.op, _part(node.right))
        case ast.IfExp(orelse=ast.IfExp() as following):
            pairs, last = alternatives(following)
            otherwise = _part(last)
            for test, value in reversed(pairs):
                otherwise = ast.Name(spelled(ast.IfExp(test, value, otherwise)))
            return ast.IfExp(_part(node.test), _part(node.body), otherwise)
        case ast.Call(func=function, args=[ast.GeneratorExp() as generator], keywords=[]):
            text = spelled(generator)[1:-1]  # `ast.unparse` would put it into brackets of its own
            return ast.Call(function, [ast.Name(text)], [])
    fields = {
        name: [_shallow(part) if isinstance(part, ast.AST) else part for part in value]
        if isinstance(value, list)
        else _shallow(value)
        if isinstance(value, ast.AST)
        else value
        for name, value in ast.iter_fields(node)
    }
    return ast.copy_location(type(node)(**fields), node)


def _part(expression: ast.expr) -> ast.expr:
    copy = _shallow(expression)
    assert isinstance(copy, ast.expr)
    return copy


# -------------------------------------------------------------------------------------------------------------- nesting
#
# The nesting of a function and the length of its chains are limited, so that recursive code can process the function.
# Long sums and chains of `elif` and `else` count as one level. The numbers of `and`, `or`, comparisons, arguments and
# statements in sequence are not limited.


class Nesting:
    """Measures how deep a function is nested, and stops at the first node that exceeds a limit. `fault` is None, or
    this node, a text that says what is wrong, and a text that says how to correct it."""

    def __init__(self, body: Iterable[ast.stmt | ast.expr]) -> None:
        self.calls: dict[int, int] = {}
        self.deepest = 0
        self.fault: tuple[ast.AST, str, str] | None = None
        waiting: list[tuple[ast.AST, int]] = [(statement, 1) for statement in body]
        while waiting and self.fault is None:
            node, depth = waiting.pop()
            self.deepest = max(self.deepest, depth)
            if isinstance(node, ast.Call):
                self.calls[id(node)] = depth
            self.fault = _fault(node, depth)
            # Each loop of a generator is one level.
            levels = len(node.generators) if isinstance(node, ast.GeneratorExp) else 1
            waiting += ((child, depth + levels) for child in _parts(node))


def _fault(node: ast.AST, depth: int) -> tuple[ast.AST, str, str] | None:
    if depth > DEPTH.most:
        return node, f"the statements and expressions are nested more than {DEPTH.most} deep", DEPTH.cure
    match node:
        case ast.BinOp():
            terms = 1 + len(summands(node)[1])
            return (node, f"a sum has {terms} terms", TERMS.cure) if terms > TERMS.most else None
        case ast.IfExp() | ast.If():
            tests = len(alternatives(node)[0] if isinstance(node, ast.IfExp) else branches(node)[0])
            return (node, f"one `if` has {tests} conditions", CONDITIONS.cure) if tests > CONDITIONS.most else None
    return None


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    parts: Sequence[ast.AST]
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            first, rest = summands(node)
            parts = [first, *(term for _, term in rest)]
        case ast.IfExp():
            pairs, last = alternatives(node)
            parts = [*itertools.chain(*pairs), last]
        case ast.If():
            tests, otherwise = branches(node)
            parts = [*itertools.chain(*((test.test, *test.body) for test in tests)), *otherwise]
        case ast.Call():
            parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        case _:
            parts = list(ast.iter_child_nodes(node))
    return (part for part in parts if isinstance(part, ast.stmt | ast.expr | ast.comprehension))


# -------------------------------------------------------------------------------------------------------- text and code
#
# The engines read the text, and the reference semantics runs the code. So a function is accepted only if its code is
# the compiled text, without a wrapper, a closure, or defaults that were set later.


FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
"""The flags of code compiled with `from __future__ import ...`."""

NOTATION = ("kind", "type_comment", "ctx")
"""The fields of syntax nodes that describe only the notation, or that follow from where the node stands."""

HOLDS_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""The kinds of syntax nodes that can have statements in them."""

Place = tuple[str, int]
"""A function's position in its file: the function's name, and its first line, counting decorators."""


class WrittenSource(Source):
    """The text of a file, or text that a user typed."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self._content = content

    @cached_property
    def _lines(self) -> list[bytes]:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(self._content).readline)
        text = self._content.decode(encoding).removeprefix("\ufeff")
        return [line.encode() for line in re.split("\r\n|\r|\n", text)]

    def spelled(self, span: Span) -> str:
        """Return the expression or the statement at `span`, in one line and without comments."""
        lines = self._lines[span.line - 1 : span.end_line]
        lines[-1] = lines[-1][: span.end_column]
        lines[0] = lines[0][span.column :]
        return respelled(b"\n".join(lines).decode())


class MemberOf(Source):
    """The source of a condition such as `x in s.isr`, which no file contains: a generator with `for x in s.isr` implies
    it. The condition has no brackets around the set, even if the generator has."""

    def __init__(self, element: Span, collection: Span) -> None:
        self.path = element.source.path
        self.element, self.collection = element, collection

    def spelled(self, span: Span) -> str:  # noqa: ARG002 - there is one
        """Return the condition in one line and without comments."""
        return f"{self.element.text} in {self.collection.text}"


class Text(WrittenSource):
    """The text of a file, with its syntax tree, functions, imports and compiled code."""

    def __init__(self, path: str, content: bytes) -> None:
        # Bytes, so that a declared encoding is respected.
        super().__init__(path, content)
        self.tree = ast.parse(content, path)
        self._codes: dict[int, dict[Place, types.CodeType]] = {}

    @cached_property
    def functions(self) -> dict[Place, ast.FunctionDef]:
        """Every function of the file that is defined with `def`, by its position."""
        return {
            (node.name, min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])): node
            for node in self._statements
            if isinstance(node, ast.FunctionDef)
        }

    @property
    def definitions(self) -> list[tuple[str, int]]:
        """The name and the line of each function and class at the top level of the file."""
        return [(part.name, part.lineno) for part in self.tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)]

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Every import of the file, also inside functions and blocks."""
        return [node for node in self._statements if isinstance(node, ast.Import | ast.ImportFrom)]

    @cached_property
    def _statements(self) -> list[ast.AST]:
        return list(statements_in(self.tree))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the syntax tree, without comments, docstrings and layout, as 64 hexadecimal digits."""
        return hashlib.sha256(_words(self.tree).encode()).hexdigest()

    def code(self, place: Place, future: int) -> types.CodeType:
        """Return the compiled code of the function at `place`; `future` has the flags of the `__future__` imports."""
        if future not in self._codes:
            module = compile(self.tree, self.path, "exec", flags=future, dont_inherit=True)
            self._codes[future] = {(code.co_name, code.co_firstlineno): code for code in _nested(module)}
        return self._codes[future][place]


def statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement in a module or a statement, at any depth. Expressions, which contain none, are skipped."""
    level = [node]
    while level:
        parts = (part for node in level for _, part in ast.iter_fields(node) if isinstance(part, list))
        level = [node for part in parts for node in part if isinstance(node, HOLDS_STATEMENTS)]
        yield from level


def assigned_names(statement: ast.AST) -> list[str]:
    """Return the names that a statement itself assigns, without the names in inner statements and generators."""
    match statement:
        case ast.Assign(targets=targets):
            return [name for target in targets for name in stored(target)]
        case ast.AugAssign(target=target) | ast.For(target=target):
            return stored(target)
    return []


def stored(target: ast.AST) -> list[str]:
    """Return the names that get a value in `target`, which is the target of an assignment or a whole statement."""
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _words(tree: ast.AST) -> str:
    """Return a syntax tree as words that are the same in all Python versions that parse the text alike. `ast.dump` is
    not used, because it omits different attributes in different versions, and recurses as deep as the tree."""
    words: list[str] = []
    waiting: list[Any] = [tree]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        if kind is str:
            words.append(ascii(part))
        elif kind is list:
            meant = [each for each in part if not _is_text(each)]
            words.append(str(len(meant)))
            waiting += meant
        elif isinstance(part, ast.AST):
            words.append(kind.__name__)
            for name in _fields_of(kind):
                value = getattr(part, name, None)
                if value is not None and value != []:
                    words.append(name)
                    waiting.append(value)
            words.append(";")
        else:
            words.append(hex(part) if kind is int else ascii(part))
    return " ".join(words)


@cache
def _fields_of(kind: type[ast.AST]) -> list[str]:
    return [name for name in kind._fields if name not in NOTATION]


def _is_text(node: object) -> bool:
    """Whether a statement is only a string: a docstring, or a string without effect."""
    return type(node) is ast.Expr and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _nested(constant)


def _is_same(left: types.CodeType, right: types.CodeType) -> bool:
    """Whether two code objects are equal; Python's own comparison takes exponential time for nested generators."""
    nested = [
        {i: part for i, part in enumerate(code.co_consts) if isinstance(part, types.CodeType)} for code in (left, right)
    ]
    if not any(nested):
        return left == right
    flat = [
        code.replace(co_consts=tuple(None if i in parts else part for i, part in enumerate(code.co_consts)))
        for code, parts in zip((left, right), nested, strict=True)
    ]
    is_same_outside = flat[0] == flat[1] and nested[0].keys() == nested[1].keys()
    return is_same_outside and all(_is_same(part, nested[1][i]) for i, part in nested[0].items())


def text_of(path: str) -> Text:
    """Return the current text of a file. Raises OSError if the file cannot be read, SyntaxError or ValueError if the
    text is not Python, and LanguageError if the text is nested too deep."""
    try:
        return _text(path, Path(path).read_bytes())
    except (RecursionError, MemoryError):
        raise LanguageError(f"{path}:1: the file is nested too deep for Python to read; reduce the nesting") from None


@lru_cache(maxsize=256)
def _text(path: str, content: bytes) -> Text:
    return Text(path, content)


def place_of(python: Any, path: str, name: str) -> str:
    """Return FILE:LINE of the code of a Python object. For an object without code, return the last line of `path` that
    defines or assigns `name`."""
    try:
        code = getattr(inspect.unwrap(python), "__code__", None)
    except ValueError:  # a wrapper around itself
        code = None
    if isinstance(code, types.CodeType):
        return f"{code.co_filename}:{code.co_firstlineno}"
    return f"{path}:{_bound_at(path, name)}"


def raised_at(path: str, error: BaseException) -> int:
    """Return the innermost line of `path` in the traceback of an error; 1 if the traceback has no such line."""
    frames = reversed(list(walk_tb(error.__traceback__)))
    return next((line for frame, line in frames if frame.f_code.co_filename == path), 1)


def place_in(path: str, holder: str, name: str) -> str:
    """Return FILE:LINE of the last line of `path` that defines or assigns `name` in the class `holder`, or, if there is
    no such line, in another class."""
    return f"{path}:{_bound_at(path, name, holder)}"


@cache
def _bound_at(path: str, name: str, holder: str = "") -> int:
    """Return the last line of a file that defines or assigns `name` outside of classes. If `holder` is given, return
    the last such line of the class `holder` or, without such a line, of another class. If no line fits, return 1."""
    try:
        lines = text_of(path).tree.body
    except (OSError, SyntaxError, ValueError):
        return 1
    if holder:
        classes = sorted(
            (line for line in lines if isinstance(line, ast.ClassDef)), key=lambda line: line.name == holder
        )
        lines = [line for each in classes for line in each.body]
    return next((line.lineno for line in reversed(lines) if name in _names_bound(line)), 1)


def _names_bound(line: ast.stmt) -> list[str]:
    return stored(line) + ([line.name] if isinstance(line, ast.FunctionDef | ast.ClassDef) else [])


def _private_name(definition: ast.FunctionDef) -> str | None:
    """Return a name, used in the function, that Python would rename if the function were in a class, such as `__x` to
    `_Class__x`; None if there is no such name."""
    for node in ast.walk(definition):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                if name.startswith("__") and not name.endswith("__"):
                    return name
    return None


def written(python: types.FunctionType) -> tuple[ast.FunctionDef, types.CodeType, Source]:
    """Return the syntax tree of a function, its compiled code, and the text of its file. Raises LanguageError if Python
    would run other code than the text says, for example because a wrapper replaces the function."""
    if hasattr(python, "__wrapped__"):
        where = place_of(python, python.__code__.co_filename, python.__name__)
        raise LanguageError(f"{where}: {python.__name__} is wrapped in another function; leave the decorator out")
    code = python.__code__
    place = code.co_name, code.co_firstlineno
    here = f"{code.co_filename}:{code.co_firstlineno}: {code.co_name}"
    if python.__name__ != code.co_name:
        raise LanguageError(f"{here} is run under the name {python.__name__}; do not assign `__code__` or `__name__`")
    if code.co_freevars:
        names = ", ".join(code.co_freevars)
        what = f"{here} uses {names}, which belongs to the function around it"
        raise LanguageError(f"{what}; define {code.co_name} at the top of the module")
    try:
        text = text_of(code.co_filename)
    except (OSError, SyntaxError, ValueError):
        raise LanguageError(f"{here} has no source file that can be read; define the function in a file") from None
    definition = text.functions.get(place)
    if definition is None:
        what = f"{here} is not written as a plain `def` in this file"
        raise LanguageError(f"{what}; write a plain `def`, without a lambda or a factory")
    if not _is_same(text.code(place, code.co_flags & FUTURE), code):
        what = f"{here} does not run the code of its text in the file"
        raise LanguageError(f"{what}; load the file again, and do not assign `__code__`")
    renamed = "." in code.co_qualname and _private_name(definition)
    if renamed:
        raise LanguageError(f"{here} is in a class, where Python renames {renamed}; define it at the top of the module")
    has_defaults = python.__defaults__ is not None or python.__kwdefaults__ is not None
    if has_defaults and not (definition.args.defaults or definition.args.kw_defaults):
        raise LanguageError(f"{here} has default values that its text lacks; pass every argument, and set no defaults")
    return definition, text.code(place, code.co_flags & FUTURE), text


# --------------------------------------------------------------------------------------------------------- former names
#
# Models used to import the modelling language as `models.language` and `models.log`. These former names always mean
# the language of this program, even if a project has a package `models` of its own, or if a checkout of this project
# would let Python load the language a second time.


FORMER = ("models.language", "models.log")
PACKAGE = "isrcheck."
"""The prefix that turns a former name into the current one."""


def name_today(name: str) -> str:
    """Return the current name of a module, as `isrcheck.models.log` for the former name `models.log`."""
    return PACKAGE + name if f"{name}.".startswith(tuple(f"{former}." for former in FORMER)) else name


@contextmanager
def former_names() -> Iterator[None]:
    """In this context, imports by former names find the current modules; after it, they find what they found before."""
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
    """Yield the current name and the module, for each module with a former name and for each of its submodules."""
    for former in FORMER:
        module = importlib.import_module(PACKAGE + former)
        yield module.__name__, module
        for part in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
            yield part.name, importlib.import_module(part.name)


def _has_package_of_its_own() -> bool:
    """Whether Python finds a package `models` of the user, and not the folder `models` of a checkout of isrcheck."""
    loaded = sys.modules.get("models")
    if loaded is not None:
        places = getattr(loaded, "__path__", [])
    else:
        spec = importlib.machinery.PathFinder.find_spec("models")
        if spec is None:
            return False
        places = spec.submodule_search_locations or []
    return not any(Path(place, "language", "reading", Path(__file__).name).is_file() for place in places)


def _package(named: dict[str, ModuleType]) -> ModuleType:
    """Return a package `models` for imports by former names, such as `import models.log`; it has no other modules."""
    package = ModuleType("models")
    package.__path__ = []
    for former in FORMER:
        setattr(package, former.removeprefix("models."), named[former])
    return package


# -------------------------------------------------------------------------------------------------------------- imports
#
# The files of a model are those that declare it, and all files that they import, in any folder, except for the standard
# library, installed packages, and this program.

BESIDE_MODELS = ("language", "messages", "registry", "run")
BESIDE_THEM = ("language", "testing", "commands", "checker", "traces", "conformance")
OWN = (*(f"isrcheck.models.{name}." for name in BESIDE_MODELS), *(f"isrcheck.{name}." for name in BESIDE_THEM))
"""The modules and packages of this program that are not part of a model."""


def sources_of(files: Iterable[str]) -> Mapping[str, str]:
    """Return the given files and all files of the model that they import, sorted, as a mapping: each file to its path
    relative to the folder in which an import finds it, such as `lib/limits.py`."""
    search = _ModuleFinder()
    waiting = sorted(set(files))
    sources: dict[str, str] = {}
    while waiting:
        file = waiting.pop()
        if file not in sources:
            sources[file] = search.relative(file)
            waiting += search.imported_by(file)
    return dict(sorted(sources.items()))


class _ModuleFinder:
    """Finds the files of modules: among the loaded modules or, for other modules, where an import would find them."""

    def __init__(self) -> None:
        loaded = [(name, getattr(module, "__dict__", {})) for name, module in list(sys.modules.items())]
        self.names = {names["__file__"]: name for name, names in loaded if isinstance(names.get("__file__"), str)}
        self._specs: dict[str, importlib.machinery.ModuleSpec | None] = {}

    def relative(self, file: str) -> str:
        """Return the path by which an import finds `file`, as in `lib/limits.py`, or else only the file's name."""
        path = Path(file)
        parts = self.names.get(file, "").split(".")
        folders = parts if path.name == "__init__.py" else parts[:-1]
        named = path.parent.name if path.name == "__init__.py" else path.stem
        return "/".join([*folders, path.name]) if parts[-1] == named else path.name

    def imported_by(self, file: str) -> Iterator[str]:
        """Yield the files that `file` imports and that belong to the model."""
        try:
            imports = text_of(file).imports
        except (OSError, SyntaxError, ValueError):  # an unreadable file imports nothing that can be found
            return
        name = self.names.get(file, "")
        is_package = Path(file).name == "__init__.py"
        top = name.partition(".")[0]
        for full in sorted({module for node in imports for module in _full_names(node, name, is_package)}):
            imported = self._file(full)
            if imported is not None and self._belongs(full, imported, file, top):
                yield imported

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
        # The search for a module that is not loaded executes nothing.
        if name not in self._specs:
            above, _, _ = name.rpartition(".")
            places = self._places(above) if above else sys.path
            try:
                self._specs[name] = None if places is None else importlib.machinery.PathFinder.find_spec(name, places)
            except KeyError:  # a namespace package: Python finds its parts only after it has loaded the package around
                self._specs[name] = None
        return self._specs[name]

    def _places(self, package: str) -> list[str] | None:
        module = sys.modules.get(package)
        if module is not None:
            places = getattr(module, "__dict__", {}).get("__path__")
        else:
            spec = self._spec(package)
            places = None if spec is None else spec.submodule_search_locations
        return None if places is None else list(places)


def _full_names(node: ast.Import | ast.ImportFrom, name: str, is_package: bool) -> Iterator[str]:
    """Yield the names of the modules that an import may execute: the imported modules, and the packages around them."""
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
    return tuple({f"{path}{os.sep}" for folder in folders for path in (folder, os.path.realpath(folder))})


def _is_installed(file: str) -> bool:
    return file.startswith(_installed()) or os.path.realpath(file).startswith(_installed())
