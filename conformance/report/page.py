"""A report as a page of one screen: the facts, and the parts, which the reader opens.

In:  a title, facts and parts (parts.py).
Out: the text of an HTML file, which loads nothing and sends nothing. Texts are text everywhere, never markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.commands.program import product
from isrcheck.conformance.report.parts import Block, Files, Items, Listing, Part, Text, split
from isrcheck.traces.drawing.markup import Content, Element, append, as_html, element
from isrcheck.traces.drawing.theme import theme_button, themed_head

STYLE = """
*{box-sizing:border-box}
body{font:14px/1.45 system-ui,"DejaVu Sans",sans-serif;max-width:76rem;margin:0 auto;padding:14px 16px 24px;
  background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
h1{font-size:21px;line-height:1.25;margin:0 0 10px;text-wrap:balance}
p,ul{margin:0 0 8px}a{color:var(--accent)}
code,pre{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:12.5px}
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:5px 16px;margin:0 0 12px}
dt{font-weight:600}dd{margin:0}
details{border-top:1px solid var(--line);padding:4px 0}details>:nth-child(2){margin-top:6px}
summary{cursor:pointer;font-weight:600}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:8px 10px;overflow-x:auto}
table{border-collapse:collapse;margin:0 0 8px}
th,td{border:1px solid var(--line);padding:3px 8px;text-align:left;vertical-align:top;overflow-wrap:break-word}
th{background:var(--panel)}
.product{color:var(--faint);font-size:13px;margin:10px 0 0}
button{float:right;font:inherit;font-size:13px;color:inherit;background:var(--panel);border:1px solid var(--line);
  border-radius:6px;padding:3px 10px;margin:0 0 8px 14px;cursor:pointer}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
@media(max-width:560px){.facts{display:block}dd{margin:0 0 6px}}
@media print{button{display:none}}
"""


def page_of(title: str, facts: Sequence[tuple[str, str]], parts: Sequence[Part], files: Files) -> str:
    """Return the page; `files` are linked below the parts."""
    told = (one for word, text in facts for one in (element("dt", word), element("dd", *_inline(text))))
    body = element("body", theme_button(), element("h1", title), element("dl", *told, class_="facts"))
    append(body, *map(_part, parts), element("p", *_links(files)), element("p", product(), class_="product"))
    return as_html(element("html", themed_head(title, STYLE), body, lang="en"))


def _part(part: Part) -> Element:
    return element("details", element("summary", part.title), *map(_block, part.blocks))


def _block(block: Block) -> Element:
    if isinstance(block, Text):
        return element("p", *_inline(block.text))
    if isinstance(block, Items):
        return element("ul", *(element("li", *_inline(item)) for item in block.items))
    if isinstance(block, Listing):
        return element("pre", element("code", block.text))
    if isinstance(block, Files):
        return element("p", *_links(block))
    head = element("thead", element("tr", *(element("th", *_inline(cell)) for cell in block.head)))
    rows = (element("tr", *(element("td", *_inline(cell)) for cell in row)) for row in block.rows)
    return element("table", head, element("tbody", *rows))


def _inline(text: str) -> list[Content]:
    return split(text, lambda piece: piece, lambda piece: element("code", piece))


def _links(files: Files) -> list[Content]:
    found: list[Content] = []
    for name, what in files.files:
        found += ["; "] if found else []
        found += [element("a", name, href=name), ": ", *_inline(what)]
    return found
