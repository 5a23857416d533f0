"""Reads the resources of Strimzi: `Kafka`, `KafkaNodePool` and `KafkaTopic`.

Strimzi writes spec.kafka.config of a Kafka resource into the files of brokers and of controllers alike
(KafkaBrokerConfigurationBuilder), so that with KRaft its settings count as those of processes with both roles.
"""

from __future__ import annotations

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import LOST_AT_RESTART, known, number, setting, settings_of, unknown
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.releases import Role

_GROUP = "kafka.strimzi.io/"


def _is(kind: str, part: Part) -> bool:
    tree = part.tree
    return tree is not None and tree.text_at("kind") == kind and tree.text_at("apiVersion").startswith(_GROUP)


def _name(tree: Tree) -> str:
    return tree.text_at("metadata", "name") or "without a name"


def _read_kafka(part: Part, contents: Contents) -> None:
    assert part.tree is not None
    tree, kafka = part.tree, part.tree.at("spec", "kafka")
    if not kafka:
        raise PropertiesError(f"{tree.place}: this Kafka resource has no spec.kafka; give the whole resource")
    settings = settings_of(kafka.at("config"))
    zookeeper = tree.at("spec", "zookeeper")
    if zookeeper and tree.text_at("metadata", "annotations", "strimzi.io/kraft") != "enabled":
        client = f"{_name(tree)}-zookeeper-client:2181"
        settings.append(Property("zookeeper.connect", client, zookeeper.path, zookeeper.line))
    else:
        settings.append(Property("process.roles", "broker,controller", kafka.path, kafka.line))
        settings += known([setting("metadata.version", kafka.at("metadataVersion"))])
    if version := kafka.text_at("version"):
        contents.releases.append((version, kafka.at("version").place))
    contents.sections.append(Section(Role.BROKER, f"the Kafka resource {_name(tree)}", tuple(settings)))
    _say_ephemeral(kafka.at("storage"), f"the Kafka resource {_name(tree)}", contents)
    if rack := kafka.at("rack"):
        label = rack.text_at("topologyKey") or "of the nodes"
        contents.remarks.append(
            f"{rack.place}: the racks of brokers are those of the label {printable(label)}; which broker is in which"
            " rack only the running cluster shows"
        )


def _read_pool(part: Part, contents: Contents) -> None:
    assert part.tree is not None
    spec = part.tree.at("spec")
    roles = [role.text or "" for role in spec.at("roles").items]
    what = f"the node pool {_name(part.tree)}"
    count = number(spec.at("replicas"), "replicas")
    _say_ephemeral(spec.at("storage"), what, contents)
    if "controller" in roles and count and count % 2 == 0:
        contents.remarks.append(
            f"{spec.at('replicas').place}: {what} has {count} controllers: they survive the loss of as many as"
            f" {count - 1} would"
        )


def _say_ephemeral(storage: Tree, what: str, contents: Contents) -> None:
    ephemeral = [volume for volume in (storage, *storage.at("volumes").items) if volume.text_at("type") == "ephemeral"]
    if ephemeral:
        contents.remarks.append(
            f"{ephemeral[0].at('type').place}: the storage of {printable(what)} is ephemeral, {LOST_AT_RESTART}"
        )


def _read_topic(part: Part, contents: Contents) -> None:
    assert part.tree is not None
    spec = part.tree.at("spec")
    name = spec.text_at("topicName") or _name(part.tree)
    replicas = spec.at("replicas")
    partitions, factor = number(spec.at("partitions"), "partitions"), number(replicas, "replicas")
    contents.add_topic(name, settings_of(spec.at("config")), partitions, factor, replicas.place)
    if why := unknown(replicas):
        contents.remarks.append(
            f"{replicas.place}: the number of replicas of {printable(name)} is {why}; that of the brokers is taken"
        )


STRIMZI = (
    Format("a Kafka resource of Strimzi", lambda part: _is("Kafka", part), _read_kafka),
    Format("a KafkaNodePool of Strimzi", lambda part: _is("KafkaNodePool", part), _read_pool),
    Format("a KafkaTopic of Strimzi", lambda part: _is("KafkaTopic", part), _read_topic),
)
