"""Reads HCL, the language of Terraform, into blocks whose values are trees. An expression is an unknown value.

python-hcl2 parses it. It is imported only for a file of HCL, because it brings a parser generator along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isrcheck.checker.cluster.formats.tree import MOST_CHARACTERS, Tree, too_long
from isrcheck.checker.cluster.property_files import PropertiesError, printable

if TYPE_CHECKING:
    import lark

_ESCAPE = re.compile(r"\\([\"\\nrt])|\$(\$\{)|%(%\{)")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Block:
    """A block: its words (`resource "kafka_topic" "orders"`), its attributes, and the blocks in it."""

    words: tuple[str, ...]
    place: str
    attributes: Mapping[str, Tree] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()

    def attribute(self, name: str) -> Tree:
        """Return the value of an attribute; an empty tree if it is not given, and an unknown value if a block is
        written in its place."""
        block = next((block for block in self.blocks if block.words[-1] == name), None)
        path, _, line = (block or self).place.rpartition(":")
        unknown = f"a block ({printable(' '.join(block.words))})" if block else ""
        return self.attributes.get(name) or Tree(Path(path), int(line), unknown=unknown)


def read_blocks(path: Path, text: str) -> tuple[Block, ...]:
    """Return the blocks of a text. Raises PropertiesError if it is not HCL, or is too long."""
    import hcl2  # here, for few files are HCL
    from lark.exceptions import LarkError, UnexpectedInput

    if len(text) > MOST_CHARACTERS:
        raise PropertiesError(too_long(path))
    try:
        _, blocks = _body(_Source(path, text), hcl2.parses_to_tree(f"{text}\n").children[0])
        return blocks
    except UnexpectedInput as error:
        raise PropertiesError(f"{path}:{error.line}: is not HCL from here on; correct it there") from None
    except (LarkError, RecursionError):
        raise PropertiesError(f"{path}: is not HCL that isrcheck can read; give the state (terraform show)") from None


@dataclass(frozen=True)
class _Source:
    path: Path
    text: str


def _parts(tree: lark.Tree[lark.Token], name: str) -> Iterator[lark.Tree[lark.Token]]:
    for child in tree.children:
        if not isinstance(child, str) and child.data == name:
            yield child


def _body(source: _Source, body: lark.Tree[lark.Token]) -> tuple[dict[str, Tree], tuple[Block, ...]]:
    attributes = {}
    for attribute in _parts(body, "attribute"):
        name, value = attribute.children[0], attribute.children[-1]
        attributes[_text(source, name)] = _value(source, value)
    return attributes, tuple(_block(source, block) for block in _parts(body, "block"))


def _block(source: _Source, block: lark.Tree[lark.Token]) -> Block:
    words = [
        _text(source, child).strip('"')
        for child in block.children
        if not isinstance(child, str) and child.data in ("identifier", "string")
    ]
    place = f"{source.path}:{block.meta.line}"
    attributes, blocks = next((_body(source, body) for body in _parts(block, "body")), ({}, ()))
    return Block(tuple(words), place, attributes, blocks)


def _text(source: _Source, tree: lark.Tree[lark.Token] | lark.Token) -> str:
    if isinstance(tree, str):
        return str(tree)
    return source.text[tree.meta.start_pos : tree.meta.end_pos].strip()


def _value(source: _Source, tree: lark.Tree[lark.Token] | lark.Token) -> Tree:
    """Return a value: a literal text or number, a list or an object of values (also as an argument of jsonencode);
    anything else is unknown, such as an object with an expression as a key."""
    while not isinstance(tree, str) and tree.data == "expr_term" and len(tree.children) == 1:
        tree = tree.children[0]
    text = _text(source, tree)
    if isinstance(tree, str):
        return Tree(source.path, getattr(tree, "line", 1), text)
    line = tree.meta.line
    if tree.data == "tuple":
        items = [child for child in tree.children if not isinstance(child, str) and child.data == "expr_term"]
        return Tree(source.path, line, items=tuple(_value(source, item) for item in items))
    if tree.data == "object":
        entries = {}
        for element in _parts(tree, "object_elem"):
            key, value = _text(source, element.children[0]), element.children[-1]
            if key.startswith("(") or "${" in key.replace("$${", ""):
                return Tree(source.path, line, text, unknown=f"a map with the key {printable(key[:60])}")
            entries[key.strip('"')] = _value(source, value)
        return Tree(source.path, line, entries=entries)
    if tree.data == "function_call" and text.startswith("jsonencode("):
        for arguments in _parts(tree, "arguments"):
            return _value(source, arguments.children[0])
    if tree.data == "string":
        return _template(source, line, _unescaped(text[1:-1]), text)
    if tree.data in ("heredoc_template", "heredoc_template_trim"):
        inner = "\n".join(text.split("\n")[1:-1])
        return _template(source, line, inner, text, is_block=True)
    if tree.data in ("int_lit", "float_lit") or text in ("true", "false"):
        return Tree(source.path, line, text)
    if text == "null":
        return Tree(source.path, line)
    return Tree(source.path, line, text, unknown=f"the expression {printable(text[:60])}")


def _template(source: _Source, line: int, text: str, whole: str, *, is_block: bool = False) -> Tree:
    """Return a text. An expression in it makes it unknown; in a text of several lines (`is_block`), which is a property
    file, an expression makes only its own line unknown, and a directive all lines."""
    has_expressions = "${" in whole.replace("$${", "") and not is_block
    is_open = has_expressions or "%{" in whole.replace("%%{", "")
    return Tree(source.path, line, text, unknown="a text with expressions" if is_open else "", is_block=is_block)


def _unescaped(text: str) -> str:
    def letter(escape: re.Match[str]) -> str:
        name = escape[1] or escape[2] or escape[3]
        return _LETTERS.get(name, name)

    return _ESCAPE.sub(letter, text)
