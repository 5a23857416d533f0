"""Reads the resources of Strimzi: `Kafka`, `KafkaNodePool`, `KafkaTopic`, and those of Kafka Connect and MirrorMaker 2.

Strimzi writes spec.kafka.config of a Kafka resource into the files of brokers and of controllers alike
(KafkaBrokerConfigurationBuilder), so that with KRaft its settings count as those of processes with both roles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from isrcheck.checker.cluster.client_files import CLIENTS, ClientFile, merged, named, under
from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.format import Part, resources
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import LOST_AT_RESTART, number, settings_from, settings_of, unknown
from isrcheck.checker.cluster.frameworks import connect_sections, mirror_maker_sections
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.releases import Role

_GROUP = "kafka.strimzi.io/"


def _name(tree: Tree) -> str:
    return tree.text_at("metadata", "name") or "without a name"


def _add_cluster(tree: Tree, contents: Contents) -> None:
    """Add the cluster of a node pool or a topic, which its label names."""
    label = tree.at("metadata", "labels", "strimzi.io/cluster")
    contents.add_cluster("" if unknown(label) else label.text or "", label.place)


def _read_kafka(part: Part, contents: Contents) -> None:
    tree, kafka = part.tree, part.tree.at("spec", "kafka")
    if not kafka:
        raise PropertiesError(f"{tree.place}: this Kafka resource has no spec.kafka; give the whole resource")
    name = tree.at("metadata", "name")
    if name.text and not unknown(name):
        contents.add_cluster("/".join(filter(None, (tree.text_at("metadata", "namespace"), name.text))), name.place)
    settings = settings_of(kafka.at("config"))
    zookeeper = tree.at("spec", "zookeeper")
    if zookeeper and tree.text_at("metadata", "annotations", "strimzi.io/kraft") != "enabled":
        client = f"{_name(tree)}-zookeeper-client:2181"
        settings.append(Property("zookeeper.connect", client, zookeeper.path, zookeeper.line))
    else:
        settings.append(Property("process.roles", "broker,controller", kafka.path, kafka.line))
        settings += settings_from([("metadata.version", kafka.at("metadataVersion"))])
    if version := kafka.text_at("version"):
        contents.releases.append((version, kafka.at("version").place))
    contents.sections.append(Section(Role.BROKER, f"the Kafka resource {_name(tree)}", tuple(settings)))
    has_pools = tree.text_at("metadata", "annotations", "strimzi.io/node-pools") == "enabled"
    _say_ephemeral(
        kafka.at("storage"), f"the Kafka resource {_name(tree)}", contents, None if has_pools else frozenset()
    )
    if rack := kafka.at("rack"):
        label = rack.text_at("topologyKey") or "of the nodes"
        contents.remarks.append(
            f"{rack.place}: the racks of brokers are those of the label {printable(label)}; which broker is in which"
            " rack only the running cluster shows"
        )


def _read_pool(part: Part, contents: Contents) -> None:
    _add_cluster(part.tree, contents)
    spec, status = part.tree.at("spec"), part.tree.at("status")
    roles = [role.text or "" for role in (status.at("roles") or spec.at("roles")).items]
    what = f"the node pool {_name(part.tree)}"
    count = number(spec.at("replicas"), "replicas")
    texts = [node.text or "" for node in status.at("nodeIds").items]
    ids = [int(text) for text in texts] if all(re.fullmatch(r"\d{1,9}", text, re.ASCII) for text in texts) else []
    _say_ephemeral(spec.at("storage"), what, contents, frozenset(ids) if "broker" in roles else None)
    if "controller" in roles:
        contents.controller_pools.append(ids)
    if "controller" in roles and count and count % 2 == 0:
        contents.remarks.append(
            f"{spec.at('replicas').place}: {what} has {count} controllers: {count - 1} would survive as many losses"
        )


def _say_ephemeral(storage: Tree, what: str, contents: Contents, brokers: frozenset[int] | None) -> None:
    """Add a remark if storage is ephemeral. `brokers` have it; nobody if it is not shown who, None if no broker has."""
    ephemeral = [volume for volume in (storage, *storage.at("volumes").items) if volume.text_at("type") == "ephemeral"]
    if ephemeral:
        place = ephemeral[0].at("type").place
        contents.remarks.append(f"{place}: the storage of {printable(what)} is ephemeral, {LOST_AT_RESTART}")
        if brokers is not None:
            contents.ephemeral[place] = brokers


def _read_topic(part: Part, contents: Contents) -> None:
    _add_cluster(part.tree, contents)
    spec = part.tree.at("spec")
    name = spec.text_at("topicName") or _name(part.tree)
    replicas = spec.at("replicas")
    partitions, factor = number(spec.at("partitions"), "partitions"), number(replicas, "replicas")
    contents.add_topic(name, settings_of(spec.at("config")), partitions, factor, replicas.place)
    if why := unknown(replicas):
        contents.remarks.append(
            f"{replicas.place}: the number of replicas of {printable(name)} is {why}; that of the brokers is taken"
        )


def _read_connect(part: Part, contents: Contents) -> None:
    contents.sections += connect_sections(_client_file(part.tree, settings_of(part.tree.at("spec", "config"))))


def _client_file(tree: Tree, settings: Sequence[Property]) -> ClientFile:
    kind = tree.at("kind")
    sign = Property(f"kind: {kind.text}", "", kind.path, kind.line)
    return ClientFile(f"the {kind.text} resource {_name(tree)}", None, settings, sign)


def _read_bridge(part: Part, contents: Contents) -> None:
    for role in CLIENTS:
        if settings := settings_of(part.tree.at("spec", role.value, "config")):
            contents.sections.append(Section(role, f"the KafkaBridge resource {_name(part.tree)}", tuple(settings)))


def _read_mirror_maker(part: Part, contents: Contents) -> None:
    """Read a KafkaMirrorMaker2 as the file of MirrorMaker 2 that has the same settings. Its workers have the
    configuration of the target cluster; the source connector writes the mirrored records."""
    spec = part.tree.at("spec")
    clusters = {cluster.text_at("alias"): cluster for cluster in spec.at("clusters").items}
    settings: list[Property] = []
    for mirror in spec.at("mirrors").items:
        source = mirror.text_at("sourceCluster") or mirror.text_at("source", "alias")
        target = mirror.text_at("targetCluster") or spec.text_at("target", "alias")
        connect = spec.at("target") or clusters.get(spec.text_at("connectCluster") or target) or spec
        connector = mirror.at("sourceConnector", "config")
        of_producer = merged(
            under(settings_of(connect.at("config")), "producer."), under(settings_of(connector), "producer.override.")
        )
        settings += [named(line, f"{source}->{target}.producer.{line.key}") for line in of_producer]
        for name in ("sourceConnector", "checkpointConnector", "heartbeatConnector"):
            own = settings_of(mirror.at(name, "config"))
            settings += [line for line in own if line.key.endswith("topic.replication.factor")]
        settings += [
            named(line, f"{source}->{target}.{line.key}")
            for line in settings_of(connector)
            if line.key == "replication.factor"
        ]
    contents.sections += mirror_maker_sections(_client_file(part.tree, settings))


STRIMZI = (
    resources("a Kafka resource of Strimzi", _GROUP, ("Kafka",), _read_kafka),
    resources("a KafkaNodePool of Strimzi", _GROUP, ("KafkaNodePool",), _read_pool),
    resources("a KafkaTopic of Strimzi", _GROUP, ("KafkaTopic",), _read_topic),
    resources("Kafka Connect or a connector of Strimzi", _GROUP, ("KafkaConnect", "KafkaConnector"), _read_connect),
    resources("a KafkaBridge of Strimzi", _GROUP, ("KafkaBridge",), _read_bridge),
    resources("MirrorMaker 2 of Strimzi", _GROUP, ("KafkaMirrorMaker2",), _read_mirror_maker),
)
