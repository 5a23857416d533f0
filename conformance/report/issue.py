r"""A report as the text of an issue, in the markup of JIRA.

In:  facts and parts (parts.py), and the fields of the issue.
Out: text. Its first lines are the fields of the form; the rest is pasted into the description.

A sign that JIRA reads as markup gets a backslash. Inside {code} JIRA knows no escapes: there a text that would end the
block gets a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from isrcheck.conformance.report.parts import Block, Files, Items, Listing, Part, Rows, Text, split
from isrcheck.traces.pages.markup import clean

MARKUP = re.compile(r"[\\{}\[\]|*!^~]")


def issue_of(fields: Mapping[str, str], facts: Sequence[tuple[str, str]], parts: Sequence[Part]) -> str:
    """Return the text of the issue."""
    return "\n".join(
        (*(f"{name}: {clean(text)}" for name, text in fields.items()), "", *_description(facts, parts), "")
    )


def _description(facts: Sequence[tuple[str, str]], parts: Sequence[Part]) -> Iterator[str]:
    for word, text in facts:
        yield f"*{word}.* {_inline(text)}"
        yield ""
    for part in parts:
        yield f"h3. {_escaped(part.title)}"
        for block in part.blocks:
            yield from _block(block)
            yield ""


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield _inline(block.text)
    elif isinstance(block, Items):
        yield from (f"* {_inline(item)}" for item in block.items)
    elif isinstance(block, Listing):
        yield f"{{code:{block.language}}}"
        yield clean(block.text).replace("{code", "{ code")
        yield "{code}"
    elif isinstance(block, Files):
        yield "Attached: " + "; ".join(f"{_code(name)}, {_inline(what)}" for name, what in block.files)
    elif isinstance(block, Rows):
        yield f"||{'||'.join(_inline(cell) or ' ' for cell in block.head)}||"
        yield from (f"|{'|'.join(_inline(cell) or ' ' for cell in row)}|" for row in block.rows)


def _inline(text: str) -> str:
    return "".join(split(text, _escaped, _code))


def _code(text: str) -> str:
    return f"{{{{{_escaped(text)}}}}}"


def _escaped(text: str) -> str:
    return MARKUP.sub(lambda found: f"\\{found[0]}", clean(text)).replace("\n", " ")
