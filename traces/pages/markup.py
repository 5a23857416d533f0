"""Builds the elements of a page or an XML file. All text passes through xml.etree, which escapes it."""

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
"""Characters that XML forbids, that control a terminal, or that change the direction of the surrounding text."""


def clean(text: str) -> str:
    """Return the text with U+FFFD in place of each forbidden character, such as a control character."""
    return FORBIDDEN.sub("\ufffd", text)


def element(tag: str, *content: Content, **attributes: str | float | None) -> Element:
    """Make an element. In attribute names a trailing underscore is dropped and other underscores become hyphens.
    Attributes with the value None are omitted; numbers have two decimals, which is finer than a screen."""
    names = {
        name.rstrip("_").replace("_", "-"): clean(_spelled(value))
        for name, value in attributes.items()
        if value is not None
    }
    return append(ET.Element(tag, names), *content)


def group(parts: Iterable[Element]) -> Element:
    """Put SVG elements into one group element."""
    return element("g", *parts)


def _spelled(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def append(parent: Element, *content: Content) -> Element:
    """Append text and elements to an element."""
    for part in content:
        if isinstance(part, ET.Element):
            parent.append(part)
        elif part is not None and len(parent):
            parent[-1].tail = (parent[-1].tail or "") + clean(part)
        elif part is not None:
            parent.text = (parent.text or "") + clean(part)
    return parent


def data(identifier: str, content: object) -> Element:
    """Make the element with the data for a page's script. `<` is escaped, so that no data can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", text, type="application/json", id=identifier)


@lru_cache
def beside(package: str, name: str) -> str:
    """Return the text of a file in a package: a style sheet or a script."""
    return (resources.files(package) / name).read_text(encoding="utf-8")


def as_html(root: Element) -> str:
    """Return a page as text."""
    return "<!DOCTYPE html>\n" + ET.tostring(root, encoding="unicode", method="html") + "\n"


def as_svg(root: Element) -> str:
    """Return an SVG file as text."""
    return ET.tostring(root, encoding="unicode")


def as_xml(root: Element) -> str:
    """Return an XML file as text, one line per element."""
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
