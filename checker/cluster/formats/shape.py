"""Which shape a text has, before its format is known: YAML and JSON are read into trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from isrcheck.checker.cluster.formats.format import Part

_YAML_NAMES = (".yml", ".yaml", ".json")
_YAML_BEGINS = re.compile(r"---\s*$|[ \t]*- [\w.\"'-]+|[ \t]*[\w.\"'/-]+:[ \t]*(?:&\w+)?[ \t]*$")
_SECTION = re.compile(r"\[[\w .:\"'-]+\]\s*$")


def is_yaml_or_json(part: Part) -> bool:
    """Whether a text is YAML or JSON. The lines of flat YAML, `KEY: VALUE`, are lines of a property file as well: such
    a text is YAML only if the name of its file or a line --- says so."""
    if part.first.startswith("{") or (part.first.startswith("[") and _SECTION.match(part.first) is None):
        return True
    return part.path.suffix.lower() in _YAML_NAMES or _is_yaml(part.head)


def _is_yaml(lines: Sequence[str]) -> bool:
    """Whether a file is YAML: it begins with --- or as a resource of Kubernetes, or a key without a value has a nested
    entry in the next line."""

    def is_part(following: str, line: str) -> bool:
        depth, own = (len(text) - len(text.lstrip(" ")) for text in (following, line))
        return depth > own or following.lstrip().startswith("- ")

    begins = bool(lines) and re.match(r"(?:---|%YAML|apiVersion:)(?:\s|$)", lines[0]) is not None
    return begins or any(
        _YAML_BEGINS.fullmatch(line) and is_part(following, line) for line, following in pairwise(lines)
    )
