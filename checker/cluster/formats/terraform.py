"""Reads Terraform: configurations and clusters of Amazon MSK, and topics of the Kafka and Confluent providers.

Amazon MSK gives settings that a configuration lacks its own defaults, which are not those of Kafka: unclean elections
are on. Source: `The Default Amazon MSK Configuration` in the developer guide of Amazon MSK, doc_source/
msk-default-configuration.md, read in November 2026. Not confirmed there: that Express brokers fix 3 replicas and
min.insync.replicas=2, and that Confluent Cloud keeps 3 replicas of every topic with min.insync.replicas=2 unless given.
A remark says of each such value that it is assumed. Clusters with tiered storage have a column of their own in the
present edition of the guide; for them the same values are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.checker.cluster.contents import Contents, several_clusters
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.hcl import Block, read_blocks
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import number, settings_of, text_of_properties, unknown
from isrcheck.checker.cluster.property_files import PropertiesError, Property, Section, printable
from isrcheck.checker.cluster.releases import Role

_BLOCK = re.compile(
    r'(?:resource|data|module|variable|provider|output)\s+"[^"]*"(?:\s+"[^"]*")?\s*\{|locals\s*\{|terraform\s*\{'
)

ZONES_ASSUMED = 3
"""The number of availability zones of a cluster for which no file gives it."""


def defaults_of_msk(zones: int, *, is_express: bool = False) -> Mapping[str, str]:
    """Return the settings that count and that Amazon MSK gives a cluster in this number of availability zones, or with
    Express brokers, for which it fixes the first two."""
    if is_express:
        return {"default.replication.factor": "3", "min.insync.replicas": "2"}
    return {
        "default.replication.factor": "3" if zones > 2 else "2",
        "min.insync.replicas": "2" if zones > 2 else "1",
        "unclean.leader.election.enable": "true",
        "auto.leader.rebalance.enable": "true",
    }


@dataclass(frozen=True)
class MskCluster:
    """What a file says of the cluster that has a configuration of Amazon MSK."""

    zones: int | None = None
    """The number of availability zones; None if it is unknown."""
    is_express: bool = False

    @property
    def described(self) -> str:
        """The kind of brokers and the zones, as text."""
        if self.is_express:
            return "Express brokers"
        zones = f"{self.zones} availability zones" if self.zones else f"{ZONES_ASSUMED} availability zones (assumed)"
        return f"standard brokers in {zones}"


def with_defaults_of_msk(
    settings: list[Property], place: Tree, contents: Contents, cluster: MskCluster | None = None
) -> tuple[Property, ...]:
    """Return the settings, with Amazon MSK's defaults for those that are not given; a remark tells which."""
    cluster = cluster or MskCluster()
    given = {line.key for line in settings}
    defaults = defaults_of_msk(cluster.zones or ZONES_ASSUMED, is_express=cluster.is_express)
    lacking = {key: value for key, value in defaults.items() if key not in given}
    if lacking:
        spelled = ", ".join(f"{key}={value}" for key, value in lacking.items())
        contents.remarks.append(
            f"{place.place}: not given, so Amazon MSK's own defaults for {cluster.described} are assumed: {spelled}"
        )
    return (*settings, *(Property(key, value, place.path, place.line) for key, value in lacking.items()))


def _is_terraform(part: Part) -> bool:
    return not part.tree and any(_BLOCK.match(line.strip()) for line in part.head)


def _read(part: Part, contents: Contents) -> None:
    blocks = read_blocks(part.path, part.text)
    resources = [
        block
        for block in blocks
        if block.words[:1] == ("resource",) and len(block.words) == 3 and block.words[1] in (*_OF_MSK, *_TOPICS)
    ]
    cluster = next((_cluster(one) for one in resources if one.words[1] == "aws_msk_cluster"), None)
    has_configuration = any(one.words[1] == "aws_msk_configuration" for one in resources)
    modules = [block for block in blocks if _is_module(block)]
    for kind in _OF_MSK:
        alike = [*modules, *(one for one in resources if one.words[1] == kind)]
        if len(alike) > 1:
            one, other = alike[:2]
            raise PropertiesError(several_clusters(one.words[-1], one.place, other.words[-1], other.place))
    for module in modules:
        _read_module(module, contents)
    for resource in resources:
        if resource.words[1] in _TOPICS:
            _read_topic(resource, contents)
        elif resource.words[1] == "aws_msk_configuration":
            _read_configuration(resource, cluster, contents)
        else:
            _read_version(resource, contents)
            if not has_configuration:
                _read_bare_cluster(resource, contents)
    if not modules and not resources:
        raise PropertiesError(
            f"{part.path}: is Terraform without a resource that describes Kafka (aws_msk_configuration,"
            " aws_msk_cluster, kafka_topic, confluent_kafka_topic); give the file that has them"
        )


_OF_MSK = ("aws_msk_configuration", "aws_msk_cluster")
_OF_MODULE = "configuration_server_properties"


def _is_module(block: Block) -> bool:
    """Whether a block is the module terraform-aws-modules/msk-kafka-cluster."""
    source = block.attribute("source").text or ""
    is_named = "msk-kafka-cluster" in source and "//" not in source  # below // there are other modules
    return block.words[:1] == ("module",) and (is_named or bool(block.attribute(_OF_MODULE)))


def _read_module(module: Block, contents: Contents) -> None:
    """Read a module terraform-aws-modules/msk-kafka-cluster."""
    given = module.attribute(_OF_MODULE)
    if why := given.unknown:
        raise PropertiesError(f"{given.place}: {_OF_MODULE} is {why}, so its settings are unknown; {_DESCRIBE}")
    is_express = (module.attribute("broker_node_instance_type").text or "").startswith("express.")
    cluster = MskCluster(len(module.attribute("broker_node_client_subnets").items) or None, is_express)
    settings = with_defaults_of_msk(settings_of(given), given, contents, cluster)
    contents.sections.append(Section(Role.BROKER, f"the module {module.words[-1]}", settings))
    _read_version(module, contents)


_DESCRIBE = "give what the running cluster has (aws kafka describe-configuration-revision)"


def _cluster(resource: Block) -> MskCluster:
    """Return the zones of an aws_msk_cluster, which has a subnet in each zone, and the kind of its brokers."""
    for group in resource.blocks:
        if group.words == ("broker_node_group_info",):
            is_express = (group.attribute("instance_type").text or "").startswith("express.")
            return MskCluster(len(group.attribute("client_subnets").items) or None, is_express)
    return MskCluster()


def _read_bare_cluster(resource: Block, contents: Contents) -> None:
    """Read a cluster whose configuration is not in the file: it has MSK's defaults, or a configuration elsewhere."""
    name = resource.attribute("cluster_name")
    if any(block.words[-1] == "configuration_info" for block in resource.blocks):
        contents.remarks.append(
            f"{resource.place}: the configuration of this cluster is not in {name.path}; give the file that has it"
        )
    else:
        settings = with_defaults_of_msk([], name, contents, _cluster(resource))
        contents.sections.append(Section(Role.BROKER, f"the MSK cluster {resource.words[2]}", settings))


def _read_configuration(resource: Block, cluster: MskCluster | None, contents: Contents) -> None:
    text = resource.attribute("server_properties")
    if why := text.unknown:
        raise PropertiesError(f"{text.place}: server_properties is {why}, so its settings are unknown; {_DESCRIBE}")
    settings = with_defaults_of_msk(list(text_of_properties(text)), text, contents, cluster)
    contents.sections.append(Section(Role.BROKER, f"the MSK configuration {resource.words[2]}", settings))
    versions = [item for item in resource.attribute("kafka_versions").items if not unknown(item)]
    if len(versions) == 1:
        _add_release(versions[0], contents)


def _read_version(resource: Block, contents: Contents) -> None:
    version = resource.attribute("kafka_version")
    if why := unknown(version):
        contents.remarks.append(f"{version.place}: kafka_version is {why}: unknown; give --kafka-version")
    elif version.text:
        _add_release(version, contents)


def _add_release(version: Tree, contents: Contents) -> None:
    text = (version.text or "").removesuffix(".kraft").removesuffix(".tiered")
    contents.releases.append((text.removesuffix(".x"), version.place))


def _read_topic(resource: Block, contents: Contents) -> None:
    name_is, partitions_is = _TOPICS[resource.words[1]]
    named, replicas = resource.attribute(name_is), resource.attribute("replication_factor")
    name = resource.words[2] if unknown(named) or named.text is None else named.text
    settings = settings_of(resource.attribute("configs" if resource.words[1] == "aws_msk_topic" else "config"))
    assumed = ""
    if resource.words[1] == _CONFLUENT:
        replicas = Tree(named.path, named.line, "3")
        assumed = "Confluent Cloud keeps 3 replicas of every topic"
        if not any(line.key == "min.insync.replicas" for line in settings):
            settings.append(Property("min.insync.replicas", "2", named.path, named.line))
            assumed += ", and sets min.insync.replicas=2 if it is not given"
    partitions = number(resource.attribute(partitions_is), partitions_is)
    contents.add_topic(name, settings, partitions, number(replicas, "replication_factor"), replicas.place)
    for value, what in ((named, name_is), (replicas, "replication_factor")):
        if why := unknown(value):
            contents.remarks.append(f"{value.place}: {what} of {printable(name)} is {why}: unknown")
    for each in ("for_each", "count"):
        if each in resource.attributes:
            contents.remarks.append(
                f"{resource.attribute(each).place}: {printable(name)} stands for several topics ({each}); the answer is"
                " for their common settings"
            )
    if assumed:
        contents.remarks.append(f"{resource.place}: assumed: {assumed}")


_CONFLUENT = "confluent_kafka_topic"
_TOPICS = {
    "kafka_topic": ("name", "partitions"),
    "aws_msk_topic": ("name", "partition_count"),
    _CONFLUENT: ("topic_name", "partitions_count"),
}
"""The resources that declare a topic: their attributes with its name and its number of partitions."""

TERRAFORM = Format("Terraform with resources of MSK, Kafka topics or Confluent topics", _is_terraform, _read)
