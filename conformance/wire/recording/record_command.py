"""`conform record`: passes the traffic of a real Kafka on, and records it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isrcheck.commands.declarations import Option, path, seconds
from isrcheck.commands.exit_codes import DONE, USAGE
from isrcheck.commands.program import say
from isrcheck.conformance.wire.driving.events import LOOPBACK, PortError, be_silent, print_event
from isrcheck.conformance.wire.needs import must_have_kio
from isrcheck.models.messages import UsageError, escaped

if TYPE_CHECKING:
    from isrcheck.conformance.wire.recording.frames import Broker
    from isrcheck.conformance.wire.recording.proxy import Node

FILE = "wire.ndjson"
MOST_NODES = 20
LAST_PORT = 65_535
LONGEST_NAME = 30
SHAPE = "write NAME=PORT:HOST:PORT, such as 1=29501:localhost:9092"


OPTIONS = (
    Option(
        "--node NAME=PORT:HOST:PORT",
        "listen on the first port, and pass on to the second; NAME is a broker's id, controller, or controller-ID",
        is_repeated=True,
        is_required=True,
    ),
    Option("-o --out DIR", f"folder for {FILE}", path, is_required=True),
    Option("--script FILE", "rules: what to hold and to delay", path),
    Option("--seconds S", "stop after this time", seconds),
    Option("--verbose", "print one line for each event"),
)


def run(arguments: argparse.Namespace) -> int:
    """Pass the traffic on, and record it; return the exit code."""
    must_have_kio("record")
    from isrcheck.conformance.wire.recording.proxy import WritingError, record
    from isrcheck.conformance.wire.recording.rules import FAULT_COMMANDS, read_script

    nodes = _nodes(arguments.node)
    rules = read_script(arguments.script, [each.name for each in nodes]) if arguments.script else ()
    file = arguments.out / FILE
    if file.exists():
        raise UsageError(f"{file} exists already and is kept; choose a different folder with -o")
    arguments.out.mkdir(parents=True, exist_ok=True)

    def started(ports: Mapping[Broker, int]) -> None:
        for each in nodes:
            where = f"{LOOPBACK}:{ports[each.name]}"
            name = f"broker {each.name}" if isinstance(each.name, int) else each.name
            say(escaped(f"{name} must advertise {where}, and is expected at {each.host}:{each.target}"))
        say(f"type what you do to the nodes: {FAULT_COMMANDS}, note TEXT")
        say(escaped(f"recording: {file}"))

    tell = print_event if arguments.verbose or rules else be_silent
    try:
        was_interrupted = asyncio.run(record(nodes, rules, file, tell, print_event, started, arguments.seconds))
    except PortError as error:
        raise UsageError(f"{error}; choose a different port with --node") from None
    except FileExistsError:
        raise UsageError(f"{file} exists already and is kept; choose a different folder with -o") from None
    except WritingError:
        return USAGE
    if was_interrupted:
        raise KeyboardInterrupt
    return DONE


def _nodes(words: Sequence[str]) -> list[Node]:
    nodes = [_node(each) for each in words]
    if len(nodes) > MOST_NODES:
        raise UsageError(f"--node: {len(nodes)} nodes are too many; give at most {MOST_NODES}")
    for number, each in enumerate(nodes):
        for other in nodes[:number]:
            if each.name == other.name:
                raise UsageError(f"--node {each.name}: given twice; give each node once")
            if each.port and each.port == other.port:
                raise UsageError(f"--node {each.name}: node {other.name} has port {each.port}, too; give each its own")
    return nodes


def _node(word: str) -> Node:
    from isrcheck.conformance.wire.recording.proxy import Node

    name, _, rest = word.partition("=")
    port, _, address = rest.partition(":")
    host, _, target = address.rpartition(":")
    if not (name and port and host and target):
        raise UsageError(f"--node {word}: {SHAPE}")
    is_known = _is_number(name) or name.partition("-")[0] == "controller"
    if not is_known or len(name) > LONGEST_NAME:
        raise UsageError(
            f"--node {word}: {name!a} is no name of a node; write a broker's id, controller, or controller-ID"
        )
    for each, least in ((port, 0), (target, 1)):
        if not (_is_number(each) and least <= int(each) <= LAST_PORT):
            raise UsageError(f"--node {word}: {each} is no port; {SHAPE}")
    return Node(int(name) if _is_number(name) else name, int(port), host.strip("[]"), int(target))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 9
