"""The formats that are known, and the reading of files: each by the first format that recognises it.

A format for whole texts is asked first. If none recognises a text, YAML and JSON are read into trees, and each document
is read by the format that recognises it. What remains is a property file; a shape that is none is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from isrcheck.checker.cluster.contents import Contents, Described, described, listed
from isrcheck.checker.cluster.describe import KAFKA_TOOLS
from isrcheck.checker.cluster.dialects import text_sections
from isrcheck.checker.cluster.formats.clients import CLIENTS
from isrcheck.checker.cluster.formats.environment import ENVIRONMENT
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.metadata import METADATA
from isrcheck.checker.cluster.formats.shape import is_yaml_or_json, refuse_shape
from isrcheck.checker.cluster.formats.strimzi import STRIMZI
from isrcheck.checker.cluster.formats.terraform import TERRAFORM
from isrcheck.checker.cluster.formats.tree import Tree, read_trees
from isrcheck.checker.cluster.property_files import PropertiesError, decode, printable, read_text
from isrcheck.checker.cluster.releases import Role

STANDARD_INPUT = Path("standard input")

FORMATS: Sequence[Format] = (
    KAFKA_TOOLS,
    *STRIMZI,
    *ENVIRONMENT,
    *TERRAFORM,
    *METADATA,
    CLIENTS,
)
"""All formats except property files, in the order in which they are asked."""


def read_files(files: Sequence[tuple[Role | None, Path]], outputs: Sequence[str], topic: str | None) -> Described:
    """Read the files, each with its role (None: its content determines the role), and the `outputs` (--describe), which
    must be output of Kafka's tools if no other format recognises them. The name - is standard input. Select `topic`, if
    given. Raises PropertiesError for a bad file."""
    if [*outputs, *(str(path) for _, path in files)].count("-") > 1:
        raise PropertiesError("--describe -: standard input can be read only once; give - once")
    contents = Contents()
    for role, path in files:
        read_part(_part(str(path), role), contents)
    for name in outputs:
        read_part(_part(name, None), contents, is_output=True)
    return described(contents, topic)


def _part(name: str, role: Role | None) -> Part:
    if name != "-":
        return Part(Path(name), read_text(Path(name)), role)
    if sys.stdin is None:
        raise PropertiesError("--describe -: there is no standard input; give a file, or pipe the output into `check`")
    return Part(STANDARD_INPUT, decode(sys.stdin.buffer.read(), STANDARD_INPUT), role)


def read_part(part: Part, contents: Contents, *, is_output: bool = False) -> None:
    """Read a whole file into the contents. Raises PropertiesError if the file cannot be read, or has no known format;
    `is_output` says that a file without one is output of Kafka's tools, not a property file."""
    if (known := format_of(part)) is not None:
        known.read(part, contents)
    elif trees := read_trees(part.path, part.text) if is_yaml_or_json(part) else ():
        _read_documents(part, [document for tree in trees for document in _documents(tree)], contents)
    elif is_output or part.path == STANDARD_INPUT:
        KAFKA_TOOLS.read(part, contents)
    else:
        refuse_shape(part)
        contents.sections.extend(text_sections(part.role, part.path, part.text))


def format_of(part: Part) -> Format | None:
    """Return the format that recognises a part, or None."""
    return next((known for known in FORMATS if known.recognises(part)), None)


def _documents(tree: Tree) -> Iterator[Tree]:
    """Yield a document, or the resources in it if it is a list of Kubernetes (kubectl get -o yaml)."""
    if tree.text_at("kind").endswith("List") and tree.at("items").items:
        yield from tree.at("items").items
    else:
        yield tree


def _read_documents(part: Part, documents: Sequence[Tree], contents: Contents) -> None:
    left_out = []
    for document in documents:
        one = Part(part.path, part.text, part.role, document)
        if (known := format_of(one)) is not None:
            known.read(one, contents)
        else:
            left_out.append(document)
    if len(left_out) == len(documents):
        names = ", ".join(printable(name) for name in list(documents[0].entries)[:5])
        known_names = "; ".join(known.name for known in FORMATS)
        raise PropertiesError(
            f"{part.path}: is YAML or JSON{f' ({names})' if names else ''}, but nothing in it is known to describe"
            f" Kafka; known are {known_names}"
        )
    if left_out:
        kinds = [f"{document.text_at('kind') or 'a document'} (line {document.line})" for document in left_out]
        contents.remarks.append(f"{part.path}: nothing is taken from {listed(kinds)}, which have no known format")
