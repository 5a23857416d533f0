"""The racks of brokers and controllers, from all places that show them: files of brokers, inventories of Ansible, the
output of kafka-broker-api-versions, a running cluster, and the option --rack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from isrcheck.checker.cluster.property_files import PropertiesError, Section, printable
from isrcheck.checker.cluster.releases import Role

RACK, IDS = "broker.rack", ("node.id", "broker.id")

Place = tuple[int, str, str]
"""A broker or a controller, its rack, and the place that shows the rack."""


def racks_of(sections: Iterable[Section], shown: Mapping[int, str]) -> dict[int, str]:
    """Return the rack of each broker by its id: those in `shown`, and those that sections of brokers give as
    broker.rack together with node.id or broker.id. Raises PropertiesError if two places contradict each other."""
    return merged(shown, _given(sections))


def merged(racks: Mapping[int, str], places: Iterable[Place]) -> dict[int, str]:
    """Return `racks` with further racks. Raises PropertiesError if a node then has two racks."""
    known = dict(racks)
    for broker, rack, place in places:
        if known.setdefault(broker, rack) != rack:
            raise PropertiesError(
                f"{place}: node {broker} is in rack {printable(rack)} here, and in rack {printable(known[broker])} in"
                " another place; keep the place that is right"
            )
    return known


def _given(sections: Iterable[Section]) -> Iterable[Place]:
    for section in sections:
        if section.role not in (None, Role.BROKER):
            continue
        settings = {line.key: line for line in section.properties}
        ids: Sequence[str] = [settings[key].value.strip() for key in IDS if key in settings]
        if RACK in settings and (rack := settings[RACK].value.strip()) and ids and ids[0].isdecimal():
            yield int(ids[0]), rack, settings[RACK].place
