"""Small models in tests: their texts leave out the line that imports the language, which is the same for all.

A text is written as it is, or made of declarations, each a line of a test:

    model(
        state("x: between(0, 9)"),
        action("up(s)", "require(s.x < 9)", "s.x += 1"),
        claim("always", "low(s)", "s.x < 9"),
    )
"""

from __future__ import annotations

import re
from pathlib import Path

from isrcheck import language

IMPORT = f"from isrcheck.language import {', '.join(sorted(language.__all__))}\n\n"


def in_the_language(text: str) -> str:
    """The text of a model with that line, behind its documentation; others stay as they are."""
    before, is_model, _ = text.partition("class State")
    if not is_model or "from isrcheck.language import" in before:
        return text
    documentation = re.match(r'\s*(?:"""[^"]*"""\s*\n)?', text)
    end = 0 if documentation is None else documentation.end()
    return f"{text[:end]}{IMPORT}{text[end:]}"


def write_model(path: Path, text: str) -> Path:
    """Write the text of a model to a file; returns the file."""
    path.write_text(in_the_language(text), encoding="utf-8")
    return path


def model(*declarations: str) -> str:
    """The text of a model with these declarations."""
    return "\n".join(declarations)


def block(head: str, *lines: str) -> str:
    """A class, with the lines of its body."""
    return f"class {head}:\n" + "".join(f"    {line}\n" for line in lines)


def entries(*lines: str) -> str:
    """The configuration, with a line for each entry."""
    return block("Configuration", *lines)


def domain(name: str, size: int | str) -> str:
    """A domain; its size is a number or an expression."""
    return block(f"{name}(Domain, size={size})", "pass")


def state(*fields: str) -> str:
    """The state: `x: VALUES` is a field with these values, and `a[Node]: VALUES` is indexed by a domain."""
    parts = [re.fullmatch(r"(\w+)(?:\[(.+?)\])?: (.+)", field) for field in fields]
    named = [part.groups(default="") for part in parts if part is not None]
    assert len(named) == len(fields), fields
    return block(
        "State", *(f"{name} = field({over}{', ' * bool(over)}values={values})" for name, over, values in named)
    )


def define(decorator: str, head: str, *lines: str) -> str:
    """A function with this decorator, if it is not empty, and the lines of its body."""
    first = f"@{decorator}\n" if decorator else ""
    return f"{first}def {head}:\n" + "".join(f"    {line}\n" for line in lines)


def action(head: str, *lines: str) -> str:
    """An action, with the lines of its body."""
    return define("action", head, *lines)


def claim(decorator: str, head: str, expression: str) -> str:
    """A property, a lemma or the like: a decorated function that returns the value of an expression."""
    return define(decorator, head, f"return {expression}")


def helper(head: str, expression: str) -> str:
    """A function that returns the value of an expression."""
    return define("", head, f"return {expression}")
