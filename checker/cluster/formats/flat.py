"""Reads settings of brokers and topics that are the entries of a YAML or JSON document, with Kafka's own names."""

from __future__ import annotations

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.values import settings_of
from isrcheck.checker.cluster.property_files import Section
from isrcheck.checker.cluster.releases import Role, roles_that_know

_OF_SERVERS = {Role.BROKER, Role.TOPIC}


def _has_settings(part: Part) -> bool:
    """Whether the entries have keys of brokers or topics, and none that Kafka does not know (application.id, which is a
    client's or a framework's), unless the command line says that the file is a broker's or a topic's."""
    known = [roles_that_know(key) for key in part.tree.entries]
    return any(roles and roles <= _OF_SERVERS for roles in known) and (all(known) or part.role in _OF_SERVERS)


def _read(part: Part, contents: Contents) -> None:
    contents.sections.append(Section(part.role, str(part.path), tuple(settings_of(part.tree))))


FLAT = (Format("settings of brokers or topics as YAML or JSON", _has_settings, _read),)
