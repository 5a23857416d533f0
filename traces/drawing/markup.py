"""Elements of a page or of an XML file, and text that is safe in them.

In:  text from anywhere, elements. Out: elements of xml.etree, which escapes what stands in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from xml.etree import ElementTree as ET

Element = ET.Element
Content = Element | str | None

FORBIDDEN = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f]|[\u202a-\u202e\u2066-\u2069]")
"""What XML does not take, what a terminal obeys, and what turns the direction of the text around it."""


def clean(text: str) -> str:
    """The text with a replacement character for each that must not stand in a file that others read."""
    return FORBIDDEN.sub("\ufffd", text)


def element(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """An element; an underscore at the end of an attribute's name is dropped, any other one becomes a hyphen. An
    attribute that is None is left out; numbers have two digits behind the point, which is finer than a screen is."""
    names = {
        name.rstrip("_").replace("_", "-"): clean(_spelled(value))
        for name, value in attributes.items()
        if value is not None
    }
    made = ET.Element(tag, names)
    return append(made, *content)


def group(parts: Iterable[Element]) -> Element:
    """Graphics as one element."""
    return element("g", *parts)


def _spelled(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def append(parent: Element, *content: Content) -> Element:
    """Put text and elements behind what an element holds."""
    for one in content:
        if isinstance(one, ET.Element):
            parent.append(one)
        elif one is not None and len(parent):
            parent[-1].tail = (parent[-1].tail or "") + clean(one)
        elif one is not None:
            parent.text = (parent.text or "") + clean(one)
    return parent


SECURITY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do for a page: nothing but show what stands in it."""

SCRIPT_SECURITY = f"{SECURITY}; script-src 'unsafe-inline'"
"""The same, where the page brings a script."""


def page_head(title: str, style: str, security: str = SECURITY) -> Element:
    """What a page begins with: what may be done for it, its title and its style."""
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=security),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content="isrcheck"),
        element("title", f"{title} - isrcheck"),
        element("style", style),
    )


def data(identifier: str, content: object) -> Element:
    """What the script of a page reads. `<` is written so that nothing in it can end the element that it stands in."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", text, type="application/json", id=identifier)


@lru_cache
def beside(package: str, name: str) -> str:
    """The text of a file that lies in a package: a style or a script."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def as_html(root: Element) -> str:
    """A page as text."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def as_svg(root: Element) -> str:
    """A file of graphics as text."""
    return ET.tostring(root, encoding="unicode")


def as_xml(root: Element) -> str:
    """An XML file as text, a line for each element."""
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
