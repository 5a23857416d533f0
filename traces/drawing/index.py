"""The index of several pages, and pages of text alone: one self-contained file each, which loads nothing.

In:  a title, what to say first, and an entry for each page.
Out: the text of an HTML file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isrcheck.commands.program import product
from isrcheck.traces.drawing.markup import Content, Element, append, as_html, element
from isrcheck.traces.drawing.theme import theme_button, themed_head

STYLE = """
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;max-width:64rem;margin:0 auto;padding:28px 16px 48px;
  background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
h1{font-size:26px;line-height:1.25;margin:0 0 10px;text-wrap:balance}h2{font-size:17px;margin:24px 0 6px}
p{max-width:46rem;margin:0 0 10px}a{color:var(--accent)}
code{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:13px}
.entries{list-style:none;margin:20px 0;padding:0;border-top:1px solid var(--line)}
.entries li{display:grid;grid-template-columns:4.2rem minmax(0,1fr) auto;gap:2px 14px;padding:12px 0;
  border-bottom:1px solid var(--line);align-items:baseline}
.mark{color:var(--faint);font-variant-numeric:tabular-nums}
.entries h2{font-size:16px;line-height:1.35;margin:0}
.facts{grid-column:2;margin:0;color:var(--faint);font-size:13px}
.facts span+span::before{content:" · "}
.verdict{font-size:13px;font-weight:bold;padding:0 9px;border-radius:10px;border:1px solid var(--line);
  white-space:nowrap}
.verdict.VIOLATED{background:var(--badpaper);color:var(--bad);border-color:var(--bad)}
.verdict.PERMITTED,.verdict.NOT-INDUCTIVE{background:var(--warnpaper);color:var(--warn);border-color:var(--warn)}
.verdict.REACHED,.verdict.HOLDS-ON-THIS-PATH{background:var(--goodpaper);color:var(--good);border-color:var(--good)}
.product{color:var(--faint);font-size:13px}
nav{position:sticky;top:0;display:flex;gap:18px;padding:6px 0;margin:0 0 12px;background:var(--paper);
  border-bottom:1px solid var(--line)}
html:has(nav){scroll-padding-top:46px}
.legend{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 16px;margin:0 0 10px}
dt{font-weight:600}dd{margin:0;max-width:46rem}
button{float:right;font:inherit;font-size:13px;color:inherit;background:var(--panel);border:1px solid var(--line);
  border-radius:6px;padding:3px 10px;margin:2px 0 8px 14px;cursor:pointer}
button:hover{border-color:var(--faint)}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
@media(max-width:560px){
  .entries li{grid-template-columns:minmax(0,1fr) auto}.entries h2,.facts{grid-column:1/3}
  .verdict{grid-row:1;grid-column:2}
  .legend{display:block}dd{margin:0 0 6px}
}
@media print{button,nav{display:none}}
"""


@dataclass(frozen=True)
class Entry:
    """A page in an index: its title and address, its verdict, a short mark such as a number, and facts in a few words.

    An entry without an address is not a link.
    """

    title: str
    address: str | None
    verdict: str = ""
    mark: str = ""
    facts: Sequence[str] = ()


def index_of(title: str, about: Sequence[Content], entries: Sequence[Entry]) -> str:
    """Return the index of these pages; `about` stands above them."""
    listed = element("ul", *map(_entry, entries), class_="entries")
    return text_page(title, [*about, listed])


def _entry(one: Entry) -> Element:
    title = one.title if one.address is None else element("a", one.title, href=one.address)
    kind = f"verdict {one.verdict.replace(' ', '-')}"
    return element(
        "li",
        element("span", one.mark, class_="mark"),
        element("h2", title),
        element("span", one.verdict, class_=kind) if one.verdict else element("span"),
        element("p", *(element("span", fact) for fact in one.facts if fact), class_="facts"),
    )


def text_page(title: str, content: Sequence[Content]) -> str:
    """Return a page with this content under a heading."""
    body = element("body", theme_button(), element("h1", title))
    append(body, *content, element("p", product(), class_="product"))
    return as_html(element("html", themed_head(title, STYLE), body, lang="en"))
