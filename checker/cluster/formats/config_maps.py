"""Reads property files in a `ConfigMap` of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.dialects import client_sections, has_clients, is_nested
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.values import text_of_properties
from isrcheck.checker.cluster.property_files import Property
from isrcheck.checker.cluster.releases import roles_that_know


def _property_files(part: Part) -> Iterator[tuple[str, Sequence[Property]]]:
    """Yield the entries that are property files of Kafka or of its clients, each with its name."""
    if part.tree.text_at("kind") != "ConfigMap":
        return
    for name, value in part.tree.at("data").entries.items():
        is_text = value.is_block or "\n" in (value.text or "")
        if is_text and name.endswith((".properties", ".config", ".conf", ".cfg")):
            settings = text_of_properties(value)
            if any(roles_that_know(one.key) for one in settings) or has_clients(settings) or is_nested(settings):
                yield name, settings


def _read(part: Part, contents: Contents) -> None:
    map_name = part.tree.text_at("metadata", "name")
    for name, settings in _property_files(part):
        contents.sections += client_sections(part.role, f"{name} in the ConfigMap {map_name}", [settings])


CONFIG_MAPS = (Format("a ConfigMap with a property file", lambda part: any(_property_files(part)), _read),)
