"""Reads values of Helm charts: Bitnami's kafka, and Confluent's cp-kafka.

Bitnami's chart gives controllers and brokers the common settings and their own, and since version 24 has controllers
(KRaft) unless the values say otherwise. An umbrella chart has the same values below the name of the chart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.environment import is_broker, key_of, release_of_image, variables_of
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import NO_TREE, Tree
from isrcheck.checker.cluster.formats.values import (
    LOST_AT_RESTART,
    number,
    setting,
    settings_from,
    settings_of,
    text_of_properties,
)
from isrcheck.checker.cluster.property_files import Property, Section, printable
from isrcheck.checker.cluster.releases import Role, roles_that_know
from isrcheck.checker.cluster.versions import Evidence, Mode

_CHARTS = ("kafka", "cp-kafka")
_SETTINGS = ("config", "extraConfig", "extraConfigYaml", "configurationOverrides", "overrideConfiguration")
"""The entries with settings, as a mapping or as the text of a property file; the later ones take precedence."""

_OLD_KEYS: Mapping[str, str] = {
    "defaultReplicationFactor": "default.replication.factor",
    "offsetsTopicReplicationFactor": "offsets.topic.replication.factor",
    "transactionStateLogReplicationFactor": "transaction.state.log.replication.factor",
    "transactionStateLogMinIsr": "transaction.state.log.min.isr",
    "interBrokerProtocolVersion": "inter.broker.protocol.version",
}
"""The values of Bitnami's chart that are settings under another name."""

_BITNAMI = "KAFKA_CFG_"


def _charts(tree: Tree) -> Iterator[Tree]:
    """Yield the values of Kafka's charts in a document: the document itself, or the part below a chart's name."""
    if "apiVersion" in tree.entries or "services" in tree.entries:
        return
    for values in (tree, *(tree.at(name) for name in _CHARTS)):
        if _is_chart(values):
            yield values


def _is_chart(values: Tree) -> bool:
    groups = [values, values.at("controller"), values.at("broker")]
    keys = {key for group in groups for key in _settings(group)}
    is_of_kafka = re.search(r"\bkafka\b", _image(values)) is not None
    return is_of_kafka or any(Role.BROKER in roles_that_know(key) for key in keys) or bool(_topics(values))


def _image(values: Tree) -> str:
    return values.text_at("image", "repository") or values.text_at("image")


def _settings(group: Tree) -> Mapping[str, Property]:
    """Return the settings of all nodes, of controllers or of brokers, by their keys. If a key has several values,
    the value with the highest precedence is returned."""
    counts: dict[str, Property] = {}
    for name in _SETTINGS:
        value = group.at(name)
        lines = settings_of(value) if value.entries else text_of_properties(value) if value.text is not None else []
        counts |= {line.key: line for line in lines}
    for name, key in _OLD_KEYS.items():
        if (line := setting(key, group.at(name))) is not None and line.value.strip():
            counts.setdefault(key, line)
    variables = variables_of(group.at("extraEnvVars"))
    if is_broker(variables):
        own = ((key, value) for name, value in variables.items() if (key := key_of(name, _BITNAMI)))
        counts |= {line.key: line for line in settings_from(own)}
    return counts


def _zookeeper(values: Tree) -> Tree:
    """Return the value by which the chart has ZooKeeper; an empty tree if the chart has none."""
    kraft = values.at("kraft", "enabled")
    enabled = values.at("zookeeper", "enabled")
    if kraft.text == "false":
        return kraft
    if kraft.text == "true":  # with ZooKeeper as well, it is a migration to KRaft
        return NO_TREE
    return enabled if enabled.text == "true" else values.at("externalZookeeper", "servers")


def _topics(values: Tree) -> Sequence[Tree]:
    return [topic for topic in values.at("provisioning", "topics").items if topic.text_at("name")]


def _read(part: Part, contents: Contents) -> None:
    for values in _charts(part.tree):
        _read_chart(values, contents)


def _read_chart(values: Tree, contents: Contents) -> None:
    common = _settings(values)
    controller, broker = values.at("controller"), values.at("broker")
    zookeeper = _zookeeper(values)
    if zookeeper:
        has_zookeeper = f"use ZooKeeper ({zookeeper.place})"
        contents.signs.append(Evidence(has_zookeeper, mode=Mode.ZOOKEEPER, tool="the values of the chart"))
    if not controller or zookeeper:
        of_brokers = {**common, **_settings(broker)}
        contents.sections.append(Section(Role.BROKER, "the values of the chart", tuple(of_brokers.values())))
    else:
        roles = "controller" if controller.text_at("controllerOnly") == "true" else "controller,broker"
        groups = [("controllers", controller, roles)]
        if broker and broker.text_at("replicaCount") != "0":
            groups.append(("brokers", broker, "broker"))
        for whose, group, role in groups:
            shown = {"process.roles": Property("process.roles", role, group.path, group.line)}
            settings = {**shown, **common, **_settings(group)}
            contents.sections.append(Section(Role.BROKER, f"the values of {whose}", tuple(settings.values())))
    for what, group in (("the chart", values), ("controllers", controller), ("brokers", broker)):
        enabled = group.at("persistence", "enabled")
        if enabled.text == "false":
            contents.remarks.append(f"{enabled.place}: the storage of {what} is not persistent, {LOST_AT_RESTART}")
            if group is not controller or controller.text_at("controllerOnly") != "true":
                contents.ephemeral[enabled.place] = frozenset()
    tag, image = values.at("image", "tag") or values.at("imageTag"), _image(values)
    if tag and not image:
        image = "confluentinc/cp-enterprise-kafka" if "imageTag" in values.entries else "bitnami/kafka"
        contents.remarks.append(f"{tag.place}: assumed: the tag is one of the chart's default image, {image}")
    release_of_image(replace(tag, text=f"{image}:{tag.text or ''}"), contents)
    _read_topics(values, contents)


def _read_topics(values: Tree, contents: Contents) -> None:
    usual = values.at("provisioning", "replicationFactor")
    for topic in _topics(values):
        name, given = topic.text_at("name"), topic.at("replicationFactor")
        replicas = number(given or usual, "replicationFactor")
        if not (given or usual):
            replicas = 1
            contents.remarks.append(
                f"{topic.place}: assumed: {printable(name)} has 1 replica, the chart's default of"
                " provisioning.replicationFactor"
            )
        partitions = number(topic.at("partitions"), "partitions")
        contents.add_topic(name, settings_of(topic.at("config")), partitions, replicas, (given or topic).place)


HELM = Format("values of a Helm chart for Kafka (Bitnami, Confluent)", lambda part: any(_charts(part.tree)), _read)
