"""Reads the resources of Confluent for Kubernetes: `Kafka`, `KRaftController` and `KafkaTopic`.

The operator adds settings of its own to a broker's file, so a remark says that they are not known.
"""

from __future__ import annotations

from isrcheck.checker.cluster.contents import Contents
from isrcheck.checker.cluster.formats.environment import release_of_image, variables_of
from isrcheck.checker.cluster.formats.format import Part, resources
from isrcheck.checker.cluster.formats.values import number, settings_from, settings_of
from isrcheck.checker.cluster.property_files import Property, Section
from isrcheck.checker.cluster.releases import Role

_GROUP = "platform.confluent.io/"
_ROLES = {"Kafka": "broker", "KRaftController": "controller"}


def _read_node(part: Part, contents: Contents) -> None:
    kind, name, spec = part.tree.text_at("kind"), part.tree.text_at("metadata", "name"), part.tree.at("spec")
    if kind == "Kafka":
        contents.add_cluster(name, part.tree.place)
    settings = settings_from(variables_of(spec.at("configOverrides", "server")).items())
    if kind == "KRaftController" or "kRaftController" in spec.at("dependencies").entries:
        settings.append(Property("process.roles", _ROLES[kind], spec.path, spec.line))
    settings += settings_from([("zookeeper.connect", spec.at("dependencies", "zookeeper", "endpoint"))])
    contents.sections.append(Section(Role.BROKER, f"the {kind} resource {name}", tuple(settings)))
    release_of_image(spec.at("image", "application"), contents)
    contents.remarks.append(
        f"{spec.place}: the settings that Confluent for Kubernetes adds to the {kind} resource {name} are not known;"
        " give the output of kafka-configs --describe --all"
    )


def _read_topic(part: Part, contents: Contents) -> None:
    spec = part.tree.at("spec")
    contents.add_cluster(spec.text_at("kafkaClusterRef", "name"), spec.at("kafkaClusterRef").place)
    name = spec.text_at("name") or part.tree.text_at("metadata", "name")
    partitions, replicas = number(spec.at("partitionCount"), "partitionCount"), number(spec.at("replicas"), "replicas")
    contents.add_topic(name, settings_of(spec.at("configs")), partitions, replicas, spec.at("replicas").place)


CONFLUENT_OPERATOR = (
    resources("a Kafka resource of Confluent for Kubernetes", _GROUP, tuple(_ROLES), _read_node),
    resources("a KafkaTopic of Confluent for Kubernetes", _GROUP, ("KafkaTopic",), _read_topic),
)
