"""`conform record`: passes the traffic of a real Kafka on, and records it.

In:  the command line; a script; commands on standard input.
Out: the addresses and events on stdout; DIR/wire.ndjson; errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isrcheck.conformance.console import DONE, USAGE, say, seconds
from isrcheck.conformance.wire.driving.backend import LOOPBACK, be_silent
from isrcheck.conformance.wire.needs import must_have_kio
from isrcheck.models.messages import UsageError, escaped

if TYPE_CHECKING:
    from isrcheck.conformance.wire.recording.frames import Broker
    from isrcheck.conformance.wire.recording.proxy import Node

FILE = "wire.ndjson"
MOST_NODES = 20
LAST_PORT = 65_535
LONGEST_NAME = 30
LONGEST_LINE = 300
SHAPE = "write NAME=PORT:HOST:PORT, such as 1=29501:localhost:9092"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument(
        "--node",
        metavar="NAME=PORT:HOST:PORT",
        action="append",
        required=True,
        help="listen on the first port, and pass on to the second; NAME is a broker's id, controller, or controller-ID",
    )
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, required=True, help=f"folder for {FILE}")
    parser.add_argument("--script", metavar="FILE", type=Path, help="rules: what to hold and to delay")
    parser.add_argument("--seconds", metavar="S", type=seconds, help="stop after this time")
    parser.add_argument("--verbose", action="store_true", help="print one line for each event")
    parser.set_defaults(run=_record)


def _record(arguments: argparse.Namespace) -> int:
    must_have_kio("record")
    from isrcheck.conformance.wire.recording.proxy import PortError, WritingError, record
    from isrcheck.conformance.wire.recording.rules import FAULT_COMMANDS, read_script

    nodes = _nodes(arguments.node)
    rules = read_script(arguments.script, [each.name for each in nodes]) if arguments.script else ()
    path = arguments.out / FILE
    if path.exists():
        raise UsageError(f"{path} exists already and is kept; name another folder with -o")
    arguments.out.mkdir(parents=True, exist_ok=True)

    def started(ports: Mapping[Broker, int]) -> None:
        for each in nodes:
            where = f"{LOOPBACK}:{ports[each.name]}"
            say(escaped(f"{_called(each.name)} must advertise {where}, and is expected at {each.host}:{each.target}"))
        say(f"type what you do to the nodes: {FAULT_COMMANDS}, note TEXT")
        say(escaped(f"recording: {path}"))

    tell = _tell if arguments.verbose or rules else be_silent
    try:
        was_interrupted = asyncio.run(record(nodes, rules, path, tell, _tell, started, arguments.seconds))
    except PortError as error:
        raise UsageError(f"{error}; name another with --node") from None
    except FileExistsError:
        raise UsageError(f"{path} exists already and is kept; name another folder with -o") from None
    except WritingError:
        return USAGE
    if was_interrupted:
        raise KeyboardInterrupt
    return DONE


def _nodes(words: list[str]) -> list[Node]:
    """The nodes that the command line names. Raises UsageError."""
    nodes = [_node(each) for each in words]
    if len(nodes) > MOST_NODES:
        raise UsageError(f"--node: {len(nodes)} nodes; there can be {MOST_NODES}")
    for number, each in enumerate(nodes):
        for other in nodes[:number]:
            if each.name == other.name:
                raise UsageError(f"--node {each.name}: given twice; give each node once")
            if each.port and each.port == other.port:
                raise UsageError(f"--node {each.name}: {other.name} has port {each.port} already; give each its own")
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
        raise UsageError(f"--node {word}: its name is a broker's id, controller, or controller-ID")
    for each, least in ((port, 0), (target, 1)):
        if not (_is_number(each) and least <= int(each) <= LAST_PORT):
            raise UsageError(f"--node {word}: {each} is no port; {SHAPE}")
    return Node(int(name) if _is_number(name) else name, int(port), host.strip("[]"), int(target))


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 9


def _called(name: Broker) -> str:
    return f"broker {name}" if isinstance(name, int) else name


def _tell(line: str) -> None:
    """Print an event; what clients send is escaped and cut off."""
    say(escaped(line[:LONGEST_LINE]))
