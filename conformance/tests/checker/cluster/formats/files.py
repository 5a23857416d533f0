"""Reads texts as files, and shows what was taken from them in a few plain values."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.contents import Described
from isrcheck.checker.cluster.formats.registry import read_files
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role


def described(*texts: str, role: Role | None = None, name: str = "f{}") -> Described:
    """Read the texts as files f1, f2, ..., all with the same role."""
    paths = [Path(name.format(number)) for number in range(1, len(texts) + 1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return read_files([(role, path) for path in paths])


def refused(*texts: str, role: Role | None = None, name: str = "f{}") -> str:
    """Return the one line with which the texts are refused."""
    with pytest.raises(PropertiesError) as refusal:
        described(*texts, role=role, name=name)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def settings(found: Described) -> dict[str, dict[str, str]]:
    """Return the settings of every member, KEY: VALUE (LINE)."""
    return {
        section.member: {line.key: f"{line.value} ({line.place.rpartition(':')[2]})" for line in section.properties}
        for section in found.sections
    }


def topics(found: Described) -> dict[str, dict[str, str]]:
    """Return the settings of every topic, KEY: VALUE (LINE)."""
    return {
        topic.name: {line.key: f"{line.value} ({line.place.rpartition(':')[2]})" for line in topic.properties}
        for topic in found.topics
    }


def release(found: Described) -> str:
    """Return the release that the files name, and its place; empty if they name none."""
    return f"{found.release.value} ({found.release.source})" if found.release is not None else ""
