"""Reads the environment variables of Kafka's containers: Compose files, Kubernetes workloads, and .env files.

Images turn variables into settings of a broker: KAFKA_MIN_INSYNC_REPLICAS in those of `apache` (KafkaDockerWrapper),
`confluentinc` (cp-kafka, cp-server) and `wurstmeister`, and KAFKA_CFG_MIN_INSYNC_REPLICAS in that of `bitnami`. The tag
of an image names the release. Variables of Kafka Connect and Spring configure clients (see `dialects`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from isrcheck.checker.cluster.client_files import key_of_variable
from isrcheck.checker.cluster.contents import Contents, listed
from isrcheck.checker.cluster.dialects import OF_CLIENTS, client_sections
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import NO_TREE, Tree
from isrcheck.checker.cluster.formats.values import LOST_AT_RESTART, settings_from, unknown
from isrcheck.checker.cluster.property_files import PropertiesError, Section, printable, quoted
from isrcheck.checker.cluster.releases import Role, release_of_confluent
from isrcheck.checker.cluster.voters import VOTERS

Variables = Mapping[str, Tree]
"""The variables of a container, by name."""

_PREFIX = "KAFKA_"
_PREFIX_OF_BITNAMI = "KAFKA_CFG_"
_VARIABLE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)")

_NO_SETTINGS = """
    KAFKA_VERSION KAFKA_HEAP_OPTS KAFKA_LOG4J_OPTS KAFKA_OPTS KAFKA_JMX_OPTS KAFKA_JVM_PERFORMANCE_OPTS
    KAFKA_GC_LOG_OPTS KAFKA_LOG4J_ROOT_LOGLEVEL KAFKA_LOG4J_LOGGERS KAFKA_TOOLS_LOG4J_LOGLEVEL KAFKA_JMX_HOSTNAME
    KAFKA_JMX_PORT KAFKA_CREATE_TOPICS
"""
_OF_THE_IMAGE = frozenset(_NO_SETTINGS.split())
"""The variables that are for the image or the shell scripts, and no settings of the broker."""

_KEYS_OF_BROKERS = """
    advertised.listeners broker.id controller.listener.names controller.quorum.bootstrap.servers
    controller.quorum.voters default.replication.factor inter.broker.listener.name listeners min.insync.replicas
    node.id offsets.topic.replication.factor process.roles zookeeper.connect
"""
_SHOWS_A_BROKER = frozenset(_KEYS_OF_BROKERS.split())
"""Keys that only a broker or controller has: a variable KAFKA_BOOTSTRAP_SERVERS may be of any client."""

_IMAGE = re.compile(
    r"(?:.*/)?(?P<maker>apache|confluentinc|bitnami|bitnamilegacy|wurstmeister)/"
    r"(?P<name>kafka|kafka-native|cp-kafka|cp-enterprise-kafka|cp-server)"
    r"(?::v?(?P<tag>[\w.-]+))?(?:@.*)?"
)
_RELEASE = re.compile(r"\d+\.\d+(?:\.\d+)?")


def key_of(variable: str, prefix: str) -> str:
    """Return the key that a variable sets (KAFKA_NODE_ID sets node.id); empty if it sets none."""
    return "" if variable in _OF_THE_IMAGE else key_of_variable(variable, prefix)


def _prefix(variables: Variables, image: str) -> str:
    is_bitnami = "bitnami" in image if image else any(name.startswith(_PREFIX_OF_BITNAMI) for name in variables)
    return _PREFIX_OF_BITNAMI if is_bitnami else _PREFIX


def is_broker(variables: Variables, image: str = "") -> bool:
    """Whether these variables are those of a broker or a controller: by the image, or by a key that only they have."""
    prefix = _prefix(variables, image)
    keys = {key_of(name, prefix) for name in variables}
    return bool(keys & _SHOWS_A_BROKER) or (_IMAGE.fullmatch(image) is not None and any(keys))


def read_variables(variables: Variables, member: str, image: Tree, contents: Contents) -> None:
    """Read the variables of a broker's container. Raises PropertiesError for an unknown value that counts."""
    prefix = _prefix(variables, image.text or "")
    settings = settings_from((key, value) for name, value in variables.items() if (key := key_of(name, prefix)))
    contents.sections.append(Section(Role.BROKER, member, tuple(settings)))
    release_of_image(image, contents)


def release_of_image(image: Tree, contents: Contents) -> None:
    """Add the release that the tag of an image names, if it is an image of Kafka."""
    found = None if unknown(image) else _IMAGE.fullmatch(image.text or "")
    if found is None:
        return
    maker, tag = found["maker"], found["tag"] or ""
    release = _RELEASE.match(tag.rpartition("-")[2] if maker == "wurstmeister" else tag)  # 2.13-2.8.1: Scala, Kafka
    if release is None:
        return
    version = release_of_confluent(release.group()) if maker == "confluentinc" else release.group()
    add_release(version, f"the tag {tag}", image.place, contents)


def add_release(release: str, named_by: str, place: str, contents: Contents) -> None:
    """Add a release; if it is empty, add a remark that `named_by`, a text of the file, names no known release."""
    if release:
        contents.releases.append((release, place))
    else:
        contents.remarks.append(
            f"{place}: {printable(named_by)} names no release of Kafka that isrcheck knows; give --kafka-version"
        )


# --- Containers: of Compose files, docker inspect, and workloads of Kubernetes ---


def variables_of(environment: Tree) -> Variables:
    """Return the variables of a mapping (NAME: VALUE), or of a list of NAME=VALUE or of name and value."""
    variables = dict(environment.entries)
    for item in environment.items:
        if item.text is not None:
            name, equals, text = item.text.partition("=")
            filled_in = "" if equals else "a variable of the shell that starts it"
            variables[name.strip()] = Tree(item.path, item.line, text, unknown=item.unknown or filled_in)
        elif name := item.text_at("name"):
            source, value = item.at("valueFrom"), item.at("value")
            if source:
                value = Tree(item.path, source.line, unknown=f"from {printable(', '.join(source.entries))}")
            variables[name] = value
    return variables


class _Container(NamedTuple):
    member: str
    """What it is, for messages: `the service kafka-1`."""
    variables: Variables
    image: Tree
    own: Tree
    """Its whole description."""
    pod: Tree = NO_TREE
    """The specification of its pod, in Kubernetes."""


_WORKLOADS = ("StatefulSet", "Deployment", "Pod", "DaemonSet", "ReplicaSet")


def _containers(tree: Tree) -> Iterator[_Container]:
    """Yield the containers that a document describes, in any of the three forms."""
    for name, own in tree.at("services").entries.items():
        yield _Container(f"the service {name}", variables_of(own.at("environment")), own.at("image"), own)
    for own in tree.items:
        name, inspected = own.text_at("Name").lstrip("/"), own.at("Config")
        yield _Container(f"the container {name}", variables_of(inspected.at("Env")), inspected.at("Image"), own)
    kind, name = tree.text_at("kind"), tree.text_at("metadata", "name")
    if kind in _WORKLOADS:
        pod = tree.at("spec") if kind == "Pod" else tree.at("spec", "template", "spec")
        for own in pod.at("containers").items:
            yield _Container(f"the {kind} {name}", variables_of(own.at("env")), own.at("image"), own, pod)


def _has_brokers_or_clients(part: Part) -> bool:
    return any(
        is_broker(one.variables, one.image.text or "") or any(name.startswith(OF_CLIENTS) for name in one.variables)
        for one in _containers(part.tree)
    )


def _read_containers(part: Part, contents: Contents) -> None:
    left_out: list[str] = []
    first = len(contents.sections)
    for one in _containers(part.tree):
        of_client = ((name, value) for name, value in one.variables.items() if name.startswith(OF_CLIENTS))
        if is_broker(one.variables, one.image.text or ""):
            read_variables(one.variables, one.member, one.image, contents)
            contents.remarks += _not_known(one)
            contents.ephemeral |= dict.fromkeys((volume.place for volume in _emptied(one)), frozenset[int]())
        elif own := settings_from(of_client):
            contents.sections += client_sections(None, one.member, [own])
        elif any(name.startswith(_PREFIX) for name in one.variables):
            left_out.append(one.member)
    _refuse_several_clusters(contents.sections[first:])
    if left_out:
        contents.remarks.append(
            f"{part.path}: containers that seem to be clients of Kafka are not read ({listed(left_out)}); give"
            " their own files"
        )


def _refuse_several_clusters(sections: Sequence[Section]) -> None:
    """Raise PropertiesError if the brokers of a file name different voters, and so belong to different clusters."""
    voters = [line for section in sections for line in section.properties if line.key == VOTERS]
    for line in voters:
        if line.value.strip() != voters[0].value.strip():
            raise PropertiesError(
                f"{line.place}: {VOTERS} is {quoted(line.value)}, but {quoted(voters[0].value)} in {voters[0].place};"
                " give each cluster in a file of its own, or correct the voters if this is one cluster"
            )


def _not_known(broker: _Container) -> Iterator[str]:
    """Yield remarks on variables that are elsewhere, and on volumes that a restart empties."""
    if file := broker.own.at("env_file"):
        of_service = printable(broker.member)
        yield f"{file.place}: the variables in the env_file of {of_service} are not read; give that file as well"
    if source := broker.own.at("envFrom"):
        yield (
            f"{source.place}: variables that come from other resources (envFrom) are not known; give the output of"
            " `kubectl exec POD -- env` as a file"
        )
    for volume in _emptied(broker):
        yield f"{volume.place}: the volume {printable(volume.text_at('name'))} is an emptyDir, {LOST_AT_RESTART}"


def _emptied(broker: _Container) -> Iterator[Tree]:
    """Yield the volumes with logs that a restart empties."""
    with_data = {
        mount.text_at("name")
        for mount in broker.own.at("volumeMounts").items
        if re.search("kafka|data|log", mount.text_at("mountPath")) and "secret" not in mount.text_at("mountPath")
    }
    for volume in broker.pod.at("volumes").items:
        if "emptyDir" in volume.entries and volume.text_at("name") in with_data:
            yield volume


# --- .env ---


def _of_env_file(part: Part) -> Variables:
    found = ((number, _VARIABLE.fullmatch(line.strip())) for number, line in enumerate(part.text.splitlines(), start=1))
    return {
        match["name"]: Tree(part.path, number, match["value"].strip().strip("\"'"))
        for number, match in found
        if match is not None and match["name"].startswith(_PREFIX)
    }


def _is_env_file(part: Part) -> bool:
    if part.tree or not all(_VARIABLE.fullmatch(line.strip()) or line.strip().isidentifier() for line in part.head):
        return False
    names = [found["name"] for line in part.head if (found := _VARIABLE.fullmatch(line.strip()))]
    return all(name.isupper() for name in names) and is_broker(_of_env_file(part))


ENVIRONMENT = (
    Format("containers of Kafka (Compose, docker inspect, Kubernetes)", _has_brokers_or_clients, _read_containers),
    Format(
        "a file of environment variables of a broker's container",
        _is_env_file,
        lambda part, contents: read_variables(_of_env_file(part), str(part.path), NO_TREE, contents),
    ),
)
