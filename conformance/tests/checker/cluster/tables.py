"""Tables of clusters, as text: the files of a cluster, and what is said about it.

A row begins at the left edge with the files: `topic.properties: acks=all retries=0 / --broker b: broker.id=1 @ 2.1|3`.
A slash, also at the beginning of a line, separates the files; --ROLE gives a role; after @ come the versions for which
the row holds (-: none is given), and perhaps metadata=VERSION. What is said follows after => or in lines that are
indented by four columns, each continued by lines that are indented further; VERSION stands for the version in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from isrcheck.checker.cluster.cluster import Cluster, Reading
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role

ENTRY = " " * 4


@dataclass(frozen=True)
class Row:
    """A row of a table, for one version."""

    files: str
    version: str | None
    metadata_version: str | None
    says: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.files} @ {self.version}"

    @property
    def text(self) -> str:
        """What is said, if it is one entry."""
        (text,) = self.says
        return text

    def read(self) -> Reading:
        """Write the files, and read them."""
        files = []
        for words in (part.split() for part in self.files.split(" / ") if part):
            role = Role(words.pop(0).removeprefix("--")) if words[0].startswith("--") else None
            path = Path(words.pop(0).removesuffix(":"))
            path.write_text("\n".join(words), encoding="utf-8")
            files.append((role, path))
        return read_clusters(files, self.version, metadata_version=self.metadata_version)

    def cluster(self) -> Cluster:
        """The only cluster of the files."""
        (cluster,) = self.read().clusters
        return cluster

    def complaint(self) -> str:
        """The one line with which the files are refused."""
        with pytest.raises(PropertiesError) as refusal:
            self.read()
        assert "\n" not in str(refusal.value)
        return str(refusal.value)


def rows(table: str) -> Iterator[Row]:
    """The rows of a table, one for each version."""
    for block in re.split(r"\n(?=[^\s/])", table.strip("\n")):
        if block.startswith("#"):
            continue
        head, *lines = re.sub(r"\n/", " /", block).splitlines()
        place, _, short = head.partition(" => ")
        files, _, about = f" {place}".partition(" @ ")
        versions, _, metadata_version = about.partition(" metadata=")
        says = [short] if short else []
        for line in lines:
            if line.startswith(ENTRY + " "):
                says[-1] += f" {line.strip()}"
            else:
                says.append(line.strip())
        for version in versions.strip().split("|"):
            said = tuple(entry.replace("VERSION", version) for entry in says)
            yield Row(files.strip(), None if version == "-" else version, metadata_version or None, said)


def each_row(table: str) -> pytest.MarkDecorator:
    """Run a test for every row of a table."""
    return pytest.mark.parametrize("row", list(rows(table)), ids=str)


def understood(cluster: Cluster) -> list[str]:
    """The settings that count, each on one line: KEY=VALUE (SOURCE): MEANING."""
    return [f"{each.key}={each.text} ({each.source}): {each.meaning}" for each in cluster.understood]
