"""The frame of a page: head, content security policy, light and dark style with a button, and the product's name.

A page sends nothing and runs only its own script. A page has the colours of the reader's system (light or dark) until
the reader changes them with the button of this or another page. Texts are never interpreted as markup.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from isrcheck.commands.program import product
from isrcheck.traces.pages.markup import Content, Element, as_html, beside, element

COLOURS = {
    # name: (light, dark)
    "paper": ("#ffffff", "#14171c"),
    "ink": ("#1b1f24", "#e6e8eb"),
    "faint": ("#636c76", "#9aa4b0"),
    "line": ("#d0d7de", "#3a424d"),
    "panel": ("#f6f8fa", "#1c2128"),
    "accent": ("#0b5fc5", "#6cb0ff"),
    "band": ("#e6f0fd", "#1f3350"),
    "bad": ("#b3261e", "#ff8a80"),
    "badpaper": ("#fdeceb", "#4a1f1c"),
    "warn": ("#8a5300", "#f0b429"),
    "warnpaper": ("#fff4de", "#43330d"),
    "good": ("#1a7f37", "#6fdd8b"),
    "goodpaper": ("#e7f6ec", "#173a23"),
    "open": ("#6b3fa0", "#cfb1f5"),
    "openpaper": ("#f1e9fb", "#33264a"),
    "changed": ("#0f766e", "#5eead4"),
    "e0": ("#cfe3ff", "#1d4373"),
    "e1": ("#ffe0b8", "#70450d"),
    "e2": ("#cdf1d3", "#1c5a2b"),
    "e3": ("#f3d3f5", "#5c2564"),
    "e4": ("#fff3ab", "#5e5410"),
    "e5": ("#c9f0f0", "#125457"),
    "e6": ("#ffd3d3", "#6d2424"),
    "e7": ("#e0dcff", "#3d3580"),
}
"""The colours of all pages and drawings; `e0` and so on are those of leader epochs."""

STYLE, SCRIPT = "style.css", "script.js"
"""The names of the files that the pages of a folder share."""


@dataclass(frozen=True)
class Page:
    """The content of a page, from which its file is made."""

    title: str
    """The title of the page in the browser, before `- isrcheck`."""

    content: Sequence[Content]
    """Everything in its body."""

    kind: str = "document"
    """The class of its body. The sheet of all pages has rules for `document`; other kinds have theirs in `styles`."""

    styles: Sequence[str] = ()
    """Style sheets, after the one of all pages (page.css)."""

    scripts: Sequence[str] = ()
    """Scripts, after the one of all pages (theme.js). They run before the body is loaded, and wait for it."""

    has_scripts: bool = True
    """Whether scripts run. Without them a page has the colours of the reader's system, and no choice."""

    allows: str = ""
    """What the content policy allows or forbids further."""

    @property
    def script(self) -> str:
        """The whole script of the page."""
        return script_of(self.scripts)

    @property
    def policy(self) -> str:
        """The content security policy of the self-contained page: it loads nothing, and runs only its own script."""
        runs = f"; script-src 'sha256-{_digest(self.script)}'" if self.has_scripts else ""
        return f"default-src 'none'; style-src 'unsafe-inline'{runs}{self.allows}"

    def alone(self) -> str:
        """Return the page as one self-contained file."""
        return self._written(
            self.policy,
            element("style", style_of(self.styles)),
            element("script", self.script) if self.has_scripts else None,
        )

    def linked(self, folder: str = "") -> str:
        """Return the page with links to the style and the script of a folder; `folder` is its address, as in `../`.

        The page's policy allows only these two files, whose links have a nonce. The nonce is a digest of the page, so
        that no text of a model in the page can contain the nonce.
        """
        nonce = _digest(as_html(self._body))
        policy = (
            f"default-src 'none'; style-src-elem 'nonce-{nonce}'; style-src-attr 'unsafe-inline';"
            f" script-src 'nonce-{nonce}'{self.allows}"
        )
        return self._written(
            policy,
            element("link", rel="stylesheet", href=folder + STYLE, nonce=nonce),
            element("script", src=folder + SCRIPT, nonce=nonce),
        )

    def _written(self, policy: str, *links: Content) -> str:
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="generator", content="isrcheck"),
            element("title", f"{self.title} - isrcheck"),
            *links,
        )
        return as_html(element("html", head, self._body, lang="en"))

    @cached_property
    def _body(self) -> Element:
        return element("body", *self.content, class_=self.kind)


def style_of(styles: Sequence[str]) -> str:
    """Return the style that all pages have, followed by the given style sheets."""
    return "".join((_adaptive_colours(), beside(__package__, "page.css"), *styles))


def script_of(scripts: Sequence[str]) -> str:
    """Return the script that all pages have, followed by the given scripts."""
    return "".join((beside(__package__, "theme.js"), *scripts))


def theme_button() -> Element:
    """Make the button that changes between light and dark. It is hidden where no script runs."""
    return element("button", "light / dark", id="theme", type="button", hidden="")


def product_line(*links: Content) -> Element:
    """Make the line with these links, the product's name and the button of the theme."""
    return element("p", *links, element("span", product()), theme_button(), class_="product")


def text_page(title: str, content: Sequence[Content], kind: str = "document", styles: Sequence[str] = ()) -> Page:
    """Make a page with this content between a heading and the product's name."""
    end = element("p", product(), class_="product")
    return Page(title, (theme_button(), element("h1", title), *content, end), kind, styles)


def _adaptive_colours() -> str:
    """Return the style sheet that defines the colours of a page: light or dark.

    The attribute `data-theme` of the root element chooses; without this attribute, the reader's system chooses. Printed
    pages always use the light colours, because browsers do not print backgrounds.
    """
    light, dark = (";".join(f"--{name}:{pair[side]}" for name, pair in COLOURS.items()) for side in (0, 1))
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
