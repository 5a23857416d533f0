"""Reads variables of Ansible: inventories, group_vars, host_vars and plays.

The playbooks of Confluent (cp-ansible) take settings from kafka_broker_custom_properties and
kafka_controller_custom_properties (before 6.0, kafka_broker: properties:). Other roles have one variable for each
setting: kafka_min_insync_replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.environment import add_release
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.metadata import remarks_on_voters
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import settings_from, settings_of, unknown
from isrcheck.checker.cluster.property_files import Property, Section
from isrcheck.checker.cluster.racks import merged
from isrcheck.checker.cluster.releases import Role, release_of_confluent, roles_that_know
from isrcheck.checker.cluster.settings import affects_the_answer
from isrcheck.checker.cluster.versions import Evidence, Mode

_PROPERTIES = {
    "kafka_broker_custom_properties": "broker",
    "kafka_controller_custom_properties": "controller",
}
_OLD_GROUPS = {"kafka_broker": "broker", "kafka_controller": "controller"}
_VERSIONS = ("confluent_package_version", "kafka_version")
_PREFIX = "kafka_"


def _mappings(tree: Tree) -> Iterator[tuple[tuple[str, ...], Tree]]:
    """Yield every mapping in a tree, each with the names that lead to it."""
    waiting: list[tuple[tuple[str, ...], Tree]] = [((), tree)]
    while waiting:
        names, one = waiting.pop()
        if one.entries:
            yield names, one
        waiting += [(names, item) for item in reversed(one.items)]
        waiting += [((*names, name), entry) for name, entry in reversed([*one.entries.items()])]


def _key(variable: str) -> str:
    """Return the key of brokers that a variable sets (kafka_min_insync_replicas: min.insync.replicas), or nothing."""
    key = variable.removeprefix(_PREFIX).replace("_", ".") if variable.startswith(_PREFIX) else ""
    return key if Role.BROKER in roles_that_know(key) else ""


def _properties(mapping: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield the mappings of settings among the variables of a mapping, each with its role (broker or controller)."""
    for name, role in _PROPERTIES.items():
        if entries := mapping.entries.get(name):
            yield role, entries
    for name, role in _OLD_GROUPS.items():
        if entries := mapping.at(name).entries.get("properties"):
            yield role, entries


def _is_group(names: Sequence[str], mapping: Tree) -> bool:
    """Whether a mapping is the group of hosts that are brokers or controllers."""
    return names[-1:] in (("kafka_broker",), ("kafka_controller",)) and bool(mapping.at("hosts"))


def _is_ansible(part: Part) -> bool:
    if part.tree.entries.get("apiVersion"):
        return False
    return any(
        any(_properties(mapping)) or any(_key(name) for name in mapping.entries) or _is_group(names, mapping)
        for names, mapping in _mappings(part.tree)
    )


def _read(part: Part, contents: Contents) -> None:
    for names, mapping in _mappings(part.tree):
        member = f"the variables in {part.path}:{mapping.line}"
        for role, entries in _properties(mapping):
            settings = settings_of(entries)
            if names[-2:-1] == ("hosts",):
                _read_rack(mapping, entries, contents)
                # The settings of a host complete those of its group; those that do not count are left out.
                settings = [line for line in settings if affects_the_answer(line.key)]
            elif role == "controller":
                settings.append(Property("process.roles", role, entries.path, entries.line))
            if settings:
                contents.sections.append(Section(Role.BROKER, f"{member} ({role})", tuple(settings)))
        variables = ((key, value) for name, value in mapping.entries.items() if (key := _key(name)))
        if settings_of_variables := settings_from(variables):
            contents.sections.append(Section(Role.BROKER, member, tuple(settings_of_variables)))
        for name in _VERSIONS:
            if (version := mapping.at(name)).text is not None:
                _read_version(name, version, contents)
        _read_mode(names, mapping, contents)


def _read_rack(host: Tree, properties: Tree, contents: Contents) -> None:
    broker, rack = host.at("broker_id"), properties.at("broker.rack")
    if (broker.text or "").isdecimal() and rack.text and not unknown(rack):
        contents.racks = merged(contents.racks, [(int(broker.text or ""), rack.text, rack.place)])


def _read_mode(names: Sequence[str], mapping: Tree, contents: Contents) -> None:
    """Read from a group of hosts whether KRaft controllers or ZooKeeper keep the metadata."""
    hosts = mapping.at("hosts")
    if names[-1:] == ("kafka_controller",) and hosts:
        contents.signs.append(Evidence(f"has controllers ({hosts.place})", mode=Mode.KRAFT, tool="the inventory"))
        contents.remarks += remarks_on_voters(len(hosts.entries), hosts.place)
    elif names[-1:] == ("zookeeper",) and hosts:
        servers = Property("zookeeper.connect", ",".join(hosts.entries), hosts.path, hosts.line)
        contents.sections.append(Section(Role.BROKER, "the inventory", (servers,)))


def _read_version(name: str, version: Tree, contents: Contents) -> None:
    text = "" if unknown(version) else version.text or ""
    release = text if name == "kafka_version" else release_of_confluent(text)
    add_release(release, f"{name}={version.text}", version.place, contents)


ANSIBLE = Format("variables of Ansible for Kafka's brokers", _is_ansible, _read)
