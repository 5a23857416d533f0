"""Reads the environment variables of Kafka's containers: Compose files, Kubernetes workloads, and .env files.

Three makers' images turn variables into settings of a broker. Those of `apache` (KafkaDockerWrapper) and `confluentinc`
(cp-kafka, cp-server) take KAFKA_MIN_INSYNC_REPLICAS; that of `bitnami` takes KAFKA_CFG_MIN_INSYNC_REPLICAS. An
underscore becomes a dot, two become an underscore, and three become a hyphen. The tag of an image names the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from isrcheck.checker.cluster.client_files import key_of_variable
from isrcheck.checker.cluster.contents import Contents, listed
from isrcheck.checker.cluster.formats.format import Format, Part
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.formats.values import LOST_AT_RESTART, known, setting, unknown
from isrcheck.checker.cluster.property_files import Section, printable
from isrcheck.checker.cluster.releases import Role

Variables = Mapping[str, Tree]
"""The variables of a container, by name."""

_PREFIX = "KAFKA_"
_PREFIX_OF_BITNAMI = "KAFKA_CFG_"
_OF_CLIENTS = (_PREFIX, "CONNECT_", "SPRING_KAFKA_")
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
    r"(?:.*/)?(?P<maker>apache|confluentinc|bitnami|bitnamilegacy)/(?P<name>kafka|kafka-native|cp-kafka|cp-server)"
    r"(?::v?(?P<tag>[\w.-]+))?(?:@.*)?"
)
_RELEASE = re.compile(r"\d+\.\d+(?:\.\d+)?")
_OF_CONFLUENT = {
    **{f"5.{minor}": f"2.{minor}" for minor in range(6)},
    **{f"6.{minor}": f"2.{minor + 6}" for minor in range(3)},
    **{f"7.{minor}": f"3.{minor}" for minor in range(10)},
    **{f"8.{minor}": f"4.{minor}" for minor in range(4)},
}
"""The release of Kafka in each release of the Confluent Platform."""


def release_of_confluent(version: str) -> str:
    """Return the release of Kafka in a release of the Confluent Platform (7.6.1 has 3.6); empty if it is not known."""
    return _OF_CONFLUENT.get(".".join(version.split(".")[:2]), "")


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


def read_variables(variables: Variables, member: str, image: Tree | None, contents: Contents) -> None:
    """Read the variables of a broker's container. Raises PropertiesError for an unknown value that counts."""
    name_of_image = (image.text or "") if image is not None else ""
    prefix = _prefix(variables, name_of_image)
    settings = known(setting(key, value) for name, value in variables.items() if (key := key_of(name, prefix)))
    contents.sections.append(Section(Role.BROKER, member, tuple(settings)))
    if image is not None:
        release_of_image(image, contents)


def release_of_image(image: Tree, contents: Contents) -> None:
    """Add the release that the tag of an image names, if it is an image of Kafka."""
    found = _IMAGE.fullmatch(image.text or "")
    if found is not None and found["tag"]:
        _add_release(found["maker"], Tree(image.path, image.line, found["tag"]), contents)


def release_of_image_tag(repository: str, tag: Tree, contents: Contents) -> None:
    """Add the release that a tag names, if the repository is that of an image of Kafka."""
    found = _IMAGE.fullmatch(repository)
    if found is not None and tag.text and not unknown(tag):
        _add_release(found["maker"], tag, contents)


def _add_release(maker: str, tag: Tree, contents: Contents) -> None:
    release = _RELEASE.match(tag.text or "")
    if release is None:
        return
    version = release.group()
    if maker == "confluentinc":
        version = release_of_confluent(version)
        if not version:
            contents.remarks.append(
                f"{tag.place}: the release of Kafka in the Confluent Platform {printable(release.group())} is not known"
                " to isrcheck; give --kafka-version"
            )
            return
    contents.releases.append((version, tag.place))


# --- Compose ---


def _services(tree: Tree) -> Iterator[tuple[str, Tree, Variables]]:
    """Yield the services of a Compose file, each with its name and variables, given as a list or as a mapping."""
    for name, service in tree.at("services").entries.items():
        yield name, service, variables_of(service.at("environment"))


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


def _is_compose(part: Part) -> bool:
    return any(is_broker(variables, service.text_at("image")) for _, service, variables in _services(part.tree))


def _read_compose(part: Part, contents: Contents) -> None:
    clients = []
    for name, service, variables in _services(part.tree):
        if is_broker(variables, service.text_at("image")):
            read_variables(variables, f"the service {name}", service.at("image"), contents)
            if service.at("env_file"):
                contents.remarks.append(
                    f"{service.at('env_file').place}: the variables in the env_file of {printable(name)} are not read;"
                    " give that file as well"
                )
        elif any(variable.startswith(_OF_CLIENTS) for variable in variables):
            clients.append(name)
    if clients:
        contents.remarks.append(
            f"{part.path}: services that seem to be clients of Kafka are not read ({listed(clients)}); give their own"
            " files"
        )


# --- docker inspect ---


def _inspected(part: Part) -> Iterator[tuple[Tree, Variables]]:
    """Yield the containers in the output of docker inspect that are brokers, with their variables."""
    for container in part.tree.items:
        variables = variables_of(container.at("Config", "Env"))
        if is_broker(variables, container.text_at("Config", "Image")):
            yield container, variables


def _read_inspected(part: Part, contents: Contents) -> None:
    for container, variables in _inspected(part):
        name = container.text_at("Name").lstrip("/")
        read_variables(variables, f"the container {name}", container.at("Config", "Image"), contents)


# --- Kubernetes ---

_WORKLOADS = ("StatefulSet", "Deployment", "Pod", "DaemonSet", "ReplicaSet")


def _containers(tree: Tree) -> Iterator[tuple[Tree, Tree]]:
    """Yield the containers of a workload of Kubernetes, each with the specification of its pod."""
    if tree.text_at("kind") not in _WORKLOADS:
        return
    spec = tree.at("spec") if tree.text_at("kind") == "Pod" else tree.at("spec", "template", "spec")
    for container in spec.at("containers").items:
        yield container, spec


def _is_workload(part: Part) -> bool:
    return any(
        is_broker(variables_of(container.at("env")), container.text_at("image"))
        for container, _ in _containers(part.tree)
    )


def _read_workload(part: Part, contents: Contents) -> None:
    kind, name = part.tree.text_at("kind"), part.tree.text_at("metadata", "name")
    for container, spec in _containers(part.tree):
        variables = variables_of(container.at("env"))
        if not is_broker(variables, container.text_at("image")):
            continue
        read_variables(variables, f"the {kind} {name}", container.at("image"), contents)
        if container.at("envFrom"):
            contents.remarks.append(
                f"{container.at('envFrom').place}: variables that come from other resources (envFrom) are not known;"
                " give the output of `kubectl exec POD -- env` as a file"
            )
        mounted = {mount.text_at("name") for mount in container.at("volumeMounts").items}
        for volume in spec.at("volumes").items:
            if "emptyDir" in volume.entries and volume.text_at("name") in mounted & _names_of_data(container):
                contents.remarks.append(
                    f"{volume.place}: the volume {printable(volume.text_at('name'))} is an emptyDir, {LOST_AT_RESTART}"
                )


def _names_of_data(container: Tree) -> set[str]:
    """Return the names of mounted volumes that seem to hold the logs of a broker."""
    return {
        mount.text_at("name")
        for mount in container.at("volumeMounts").items
        if re.search("kafka|data|log", mount.text_at("mountPath")) and "secret" not in mount.text_at("mountPath")
    }


# --- .env ---


def _lines(part: Part) -> Sequence[tuple[int, str, str]]:
    found = ((number, _VARIABLE.fullmatch(line.strip())) for number, line in enumerate(part.text.splitlines(), start=1))
    return [(number, match["name"], match["value"]) for number, match in found if match is not None]


def _of_env_file(part: Part) -> Variables:
    return {
        name: Tree(part.path, number, value.strip().strip("\"'"))
        for number, name, value in _lines(part)
        if name.startswith(_PREFIX)
    }


def _is_env_file(part: Part) -> bool:
    if part.tree or not all(_VARIABLE.fullmatch(line.strip()) or line.strip().isidentifier() for line in part.head):
        return False
    names = [found["name"] for line in part.head if (found := _VARIABLE.fullmatch(line.strip()))]
    return all(name.isupper() for name in names) and is_broker(_of_env_file(part))


def _read_env_file(part: Part, contents: Contents) -> None:
    read_variables(_of_env_file(part), str(part.path), None, contents)


ENVIRONMENT = (
    Format("a Compose file with a broker's container", _is_compose, _read_compose),
    Format("the output of docker inspect", lambda part: any(_inspected(part)), _read_inspected),
    Format("a workload of Kubernetes with a broker's container", _is_workload, _read_workload),
    Format("a file of environment variables of a broker's container", _is_env_file, _read_env_file),
)
