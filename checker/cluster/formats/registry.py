"""Reads files, each by the first of the known formats that recognises it.

A format for whole texts is asked first. If none recognises a text, YAML and JSON are read into trees, and each document
is read by the format that recognises it. What remains is read as a property file, unless its shape shows that it has
another format: then it is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence, Sized
from pathlib import Path

from isrcheck.checker.cluster.cluster import Reading, clusters_of
from isrcheck.checker.cluster.contents import Contents, Described, listed
from isrcheck.checker.cluster.contents import described as described_by
from isrcheck.checker.cluster.formats.describe import KAFKA_TOOLS
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.shape import is_yaml_or_json
from isrcheck.checker.cluster.formats.tree import MOST_CHARACTERS, Tree, too_long
from isrcheck.checker.cluster.live.known import add_snapshot
from isrcheck.checker.cluster.live.snapshot import is_snapshot, read_snapshot
from isrcheck.checker.cluster.property_files import PropertiesError, Section, decode, read_text
from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.cluster.settings import affects_the_answer

STANDARD_INPUT = Path("standard input")

_BYTES_OF_A_BEGINNING = 2**16


SNAPSHOT = Format(
    "a reading of a running cluster (--save)",
    lambda part: not part.tree and is_snapshot(part.text),
    lambda part, contents: add_snapshot(read_snapshot(part.text, part.path), contents),
)


def _formats(part: Part) -> Iterator[Format]:
    """Yield all formats that a part can have, except property files, in the order in which they are asked. The readers
    are imported here, because most files need few of them."""
    yield KAFKA_TOOLS
    yield SNAPSHOT
    from isrcheck.checker.cluster.formats.environment import ENVIRONMENT
    from isrcheck.checker.cluster.formats.metadata import METADATA

    if not part.tree:
        from isrcheck.checker.cluster.formats.terraform import TERRAFORM

        yield from (*ENVIRONMENT, TERRAFORM, *METADATA)
        return
    from isrcheck.checker.cluster.formats.ansible import ANSIBLE
    from isrcheck.checker.cluster.formats.confluent_operator import CONFLUENT_OPERATOR
    from isrcheck.checker.cluster.formats.helm import HELM
    from isrcheck.checker.cluster.formats.plain import CLIENTS, CONFIG_MAPS, SERVERS
    from isrcheck.checker.cluster.formats.strimzi import STRIMZI

    yield from (*STRIMZI, *ENVIRONMENT, *METADATA, *CONFLUENT_OPERATOR, CONFIG_MAPS, ANSIBLE, SERVERS, HELM, CLIENTS)


def read_clusters(
    files: Sequence[tuple[Role | None, Path]],
    kafka_version: str | None,
    described: Sequence[str] = (),
    topics: Sequence[str] = (),
    metadata_version: str | None = None,
    known: Contents | None = None,
) -> Reading:
    """Read the files of a cluster (see `read_files`), and return a `Cluster` for each distinct configuration. Raises
    PropertiesError if a file cannot be read, or if settings contradict each other."""
    return clusters_of(read_files(files, described, topics, known), kafka_version, metadata_version)


def read_files(
    files: Sequence[tuple[Role | None, Path]],
    outputs: Sequence[str] = (),
    topics: Sequence[str] = (),
    known: Contents | None = None,
) -> Described:
    """Read the files, each with its role (None: its content determines the role), and the `outputs` (--describe), which
    must be output of Kafka's tools if no other format recognises them. The name - is standard input. What the files say
    is added to what is `known`; `topics` selects some topics. Raises PropertiesError for a bad file."""
    if [*outputs, *(str(path) for _, path in files)].count("-") > 1:
        raise PropertiesError("--describe -: standard input can be read only once; give - once")
    contents = Contents() if known is None else known
    for role, path in files:
        read_part(_part(str(path), role), contents)
    for name in outputs:
        read_part(_part(name, None), contents, is_output=True)
    return described_by(contents, topics)


def _part(name: str, role: Role | None) -> Part:
    if name != "-":
        _refuse_long(Path(name))
        return Part(Path(name), read_text(Path(name)), role)
    if sys.stdin is None:
        raise PropertiesError("--describe -: there is no standard input; give a file, or pipe the output into `check`")
    return Part(STANDARD_INPUT, decode(sys.stdin.buffer.read(), STANDARD_INPUT), role)


def _refuse_long(path: Path) -> None:
    """Refuse a file of YAML or JSON that is too long, without reading all of it."""
    try:
        if not path.is_file() or path.stat().st_size <= MOST_CHARACTERS:
            return
        with path.open("rb") as file:
            beginning = file.read(_BYTES_OF_A_BEGINNING)
    except OSError:  # read_text names the reason
        return
    part = Part(path, decode(beginning, path))
    if not SNAPSHOT.recognises(part) and is_yaml_or_json(part):
        raise PropertiesError(too_long(path))


def read_part(part: Part, contents: Contents, *, is_output: bool = False) -> None:
    """Read a whole file into the contents. Raises PropertiesError if the file cannot be read, or has no known format;
    `is_output` says that a file without one is output of Kafka's tools, not a property file."""
    known = format_of(part)
    is_output = is_output or part.path == STANDARD_INPUT
    if known is None:
        from isrcheck.checker.cluster.formats.strangers import refuse_stranger  # here, for most outputs are known

        refuse_stranger(part, is_output=is_output)
    trees = _trees(part) if known is None else ()
    if known is None and not trees and not is_output:
        from isrcheck.checker.cluster.dialects import text_sections  # here, as above

        contents.sections.extend(text_sections(part.role, part.path, part.text))
        return
    before, first = _sizes(contents), len(contents.sections)
    if trees:
        _read_documents(part, [document for tree in trees for document in _documents(tree)], contents)
    else:
        (known or KAFKA_TOOLS).read(part, contents)
    if _sizes(contents) == before and not any(map(_counts, contents.sections[first:])):
        contents.remarks.append(f"{part.path}: nothing in it counts for the answer")


def _trees(part: Part) -> Sequence[Tree]:
    if not is_yaml_or_json(part):
        return ()
    from isrcheck.checker.cluster.formats.documents import read_trees  # here, for most files need no parser of YAML

    return read_trees(part.path, part.text)


def _sizes(contents: Contents) -> Sequence[int]:
    """Return the sizes of what may count for the answer, except sections of settings: see `_counts`."""
    of_brokers = (line for lines in contents.brokers.values() for line in lines)
    others: Sequence[Sized] = (
        [line for line in of_brokers if affects_the_answer(line.key)],
        contents.topics,
        contents.with_settings,
        contents.partitions,
        contents.racks,
        contents.voters,
        [ids for ids in contents.controller_pools if ids],
        contents.signs,
        contents.releases,
        contents.remarks,
    )
    return [len(one) for one in others]


def _counts(section: Section) -> bool:
    """Whether a section counts for the answer: by a setting, or by the defaults of its client library."""
    return section.library is not None or any(affects_the_answer(line.key) for line in section.properties)


def format_of(part: Part) -> Format | None:
    """Return the format that recognises a part, or None."""
    return next((known for known in _formats(part) if known.recognises(part)), None)


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
        from isrcheck.checker.cluster.formats.strangers import refusal_of_documents  # here, as above

        raise PropertiesError(f"{part.path}: {refusal_of_documents(documents)}")
    if left_out:
        kinds = [f"{document.text_at('kind') or 'a document'} (line {document.line})" for document in left_out]
        contents.remarks.append(f"{part.path}: documents without a known format are left out: {listed(kinds)}")
