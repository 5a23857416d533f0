"""Which shape a text has, before its format is known: YAML and JSON are read into trees; XML and others are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from isrcheck.checker.cluster.formats.format import Part
from isrcheck.checker.cluster.property_files import PropertiesError, quoted

_YAML_NAMES = (".yml", ".yaml", ".json")
_YAML_BEGINS = re.compile(r"---\s*$|[ \t]*- [\w.\"'-]+|[ \t]*[\w.\"'/-]+:[ \t]*(?:&\w+)?[ \t]*$")
_SECTION = re.compile(r"\[[\w .:\"'-]+\]\s*$")
_BRACE = re.compile(r"(?:.*[\w\"'=:][ \t]*)?\{\s*$")


def is_yaml_or_json(part: Part) -> bool:
    """Whether a text is YAML or JSON. The lines of flat YAML, `KEY: VALUE`, are lines of a property file as well: such
    a text is YAML only if the name of its file or a line --- says so."""
    if part.first.startswith("{") or (part.first.startswith("[") and _SECTION.match(part.first) is None):
        return True
    return part.path.suffix.lower() in _YAML_NAMES or _is_yaml(part.head)


def refuse_shape(part: Part) -> None:
    """Raise a PropertiesError for a text that is neither YAML, JSON nor a property file: its nested entries would be
    read as other keys."""
    if template := next((line for line in part.head if line.lstrip().startswith(("{%", "{{"))), ""):
        raise PropertiesError(f"{part.path}: is a template ({quoted(template.strip())}); give what it renders")
    shape = ""
    if part.first.startswith("<"):
        shape = "XML"
    elif _SECTION.match(part.first) and not part.first.startswith(('["', "['")):
        shape = "a file with sections (INI or TOML)"
    elif any(_BRACE.fullmatch(line) for line in part.head):
        shape = "a file with nested braces (HOCON)"
    if shape:
        raise PropertiesError(
            f"{part.path}: is {shape}, which isrcheck does not read; give its settings as KEY=VALUE lines of a"
            " .properties file, with the names of Kafka's brokers, topics and Java clients"
        )


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
