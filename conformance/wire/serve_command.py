"""`conform serve`: serves real clients with the executable cluster, over the network."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import socket

from isrcheck.commands.declarations import Option, count, integer, path, seconds
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED
from isrcheck.commands.program import say
from isrcheck.commands.settings import pair
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS, USUAL, SwitchError, Switches, generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings, Start
from isrcheck.conformance.console import BUGS
from isrcheck.conformance.implemented import MissingMechanismError, UntimelyError
from isrcheck.conformance.wire.driving.events import LOOPBACK, be_silent, print_event
from isrcheck.conformance.wire.needs import must_have_kio
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import label

MOST_REPLICAS = 9
LAST_PORT = 65_535
MOST_PARTITIONS = 100_000
"""The most partitions of further topics."""


OPTIONS = (
    Option("--trace FILE", "play a trace under real producers and consumers, which it starts", path),
    Option("--protocol NAME", f"{', '.join(GENERATIONS)} (default: {USUAL})"),
    Option("--switch NAME=VALUE", "set a protocol switch", is_repeated=True),
    Option("--replicas N", "number of brokers (default: %(default)s)", count, default=3),
    Option("--min-isr N", "min.insync.replicas (default: 2, or 1 for one broker)", count),
    Option("--unclean", "enable unclean elections"),
    Option("--topic NAME", "name of the topic (default: %(default)s)", default="topic"),
    Option("--topics N", "serve so many further topics, without records (default: 0)", count, default=0),
    Option("--partitions N", "partitions of each further topic (default: %(default)s)", count, default=10),
    Option("--racks N", "spread the brokers over so many racks (default: no racks)", count, default=0),
    Option(
        "--config WHERE:NAME=VALUE",
        "make a setting; WHERE is static (in each broker's file), cluster, broker:N or topic:NAME",
        is_repeated=True,
    ),
    Option("--bug NAME", "seed a bug in the cluster", choices=tuple(BUGS)),
    Option("--port N", "port of broker 0; other brokers have the next ports (default: free ports)", integer, default=0),
    Option(
        "--advertise N",
        "tell clients this port of a proxy for broker 0; other brokers have the next ports (default: the brokers' own)",
        integer,
        default=0,
    ),
    Option("--host ADDRESS", "where to listen (default: %(default)s)", default=LOOPBACK),
    Option("--seconds S", "stop after this time", seconds),
    Option("--verbose", "print one line for each event"),
)


def run(arguments: argparse.Namespace) -> int:
    """Serve the cluster, or play a trace with real clients; return the exit code."""
    must_have_kio("serve")
    most = LAST_PORT - arguments.replicas
    for option, port, cure in (
        ("--port", arguments.port, "or 0"),
        ("--advertise", arguments.advertise, "or leave it out"),
    ):
        if not 0 <= port <= most:
            raise UsageError(f"{option} {port}: no such port; give one from 1 to {most}, {cure}")
    if arguments.advertise and not arguments.port:
        raise UsageError("--advertise needs --port: the proxy has to know where the brokers listen")
    if _is_any_address(arguments.host):
        raise UsageError(f"--host {arguments.host}: clients cannot connect to it; give an address of this machine")
    if arguments.trace is not None:
        return _play(arguments)
    from isrcheck.conformance.wire.driving.configuration import configured, with_settings
    from isrcheck.conformance.wire.driving.topics import Surroundings
    from isrcheck.conformance.wire.listening.serving import Address, serve

    replicas = arguments.replicas
    if replicas > MOST_REPLICAS:
        raise UsageError(f"--replicas {replicas}: too many; give at most {MOST_REPLICAS} brokers")
    if arguments.topics * arguments.partitions > MOST_PARTITIONS:
        many = f"--topics {arguments.topics} --partitions {arguments.partitions}"
        raise UsageError(f"{many}: too many; give at most {MOST_PARTITIONS} partitions together")
    switches = _switches(arguments)
    minimum = min(2, replicas) if arguments.min_isr is None else arguments.min_isr
    begun = Settings(min_insync_replicas=minimum, unclean_leader_election_enable=arguments.unclean)
    made = with_settings(configured(begun, switches), arguments.config)
    unclean = made.value(arguments.topic, "unclean.leader.election.enable") == "true"
    settings = Settings(
        min_insync_replicas=int(made.value(arguments.topic, "min.insync.replicas")),
        unclean_leader_election_enable=unclean,
    )
    cluster = Cluster(switches, Start(replicas=replicas), settings, arguments.bug)
    around = Surroundings(arguments.topics, arguments.partitions, arguments.racks, made)

    def started(addresses: str) -> None:
        say(f"bootstrap.servers={addresses}", f"topic {arguments.topic}, 1 partition, {replicas} replicas")
        if around.topics:
            say(f"{around.topics} further topics without records, with {around.partitions} partitions each")
        if not _is_loopback(arguments.host):
            say(f"warning: every machine that reaches {arguments.host} can use this server; it has no authentication")

    tell = print_event if arguments.verbose else be_silent
    at = Address(arguments.host, arguments.port, arguments.advertise)
    shared = (cluster, arguments.protocol or USUAL, arguments.topic, at, unclean, tell, started)
    try:
        was_interrupted = asyncio.run(serve(*shared, arguments.seconds, around))
    except OSError as error:
        raise UsageError(f"{error}; choose another address with --port or --host") from None
    if was_interrupted:
        raise KeyboardInterrupt
    return DONE


def _play(arguments: argparse.Namespace) -> int:
    if arguments.advertise:
        raise UsageError("--advertise is for a proxy, but a trace is played without a proxy; leave --advertise out")
    if arguments.protocol or arguments.switch:
        raise UsageError("a trace contains its own protocol and configuration; leave out --protocol and --switch")
    try:
        from isrcheck.conformance.wire.script.played import ClientError
        from isrcheck.conformance.wire.script.player import FOR_CLIENTS, Player
        from isrcheck.conformance.wire.script.report import code_of, lines_of
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "confluent_kafka":
            raise
        raise UsageError("--trace needs confluent-kafka, which is not installed: pip install confluent-kafka") from None
    file = arguments.trace
    trace = files.read(file, None)
    if not any(step.action in FOR_CLIENTS for step in trace.steps):
        say(escaped(f"{file}: no client takes part in this trace: no producer sends, and no consumer reads"))
        return NOTHING
    say(escaped(f"{file}: {label(trace.instance)}, {len(trace.steps)} steps"))
    try:
        player = Player(trace, arguments.bug, arguments.host, arguments.port, say)
        played = asyncio.run(player.play(arguments.topic, trace.instance.protocol.name))
    except (ClientError, MissingMechanismError, UntimelyError) as error:
        say(escaped(f"{file}: UNDECIDED: {error}"))
        return UNDECIDED
    except OSError as error:
        raise UsageError(f"{error}; choose another address with --port or --host") from None
    if played.divergence is not None:
        first, *rest = played.divergence.lines(trace)
        say(escaped(f"{file}: {first}"), *(f"  {line}" for line in rest))
        return DIVERGED
    say(*lines_of(trace, played))
    return code_of(trace, played)


def _switches(arguments: argparse.Namespace) -> Switches:
    try:
        switches = generation(arguments.protocol or USUAL)
        for option in arguments.switch:
            switches = switches.with_switch(*pair("--switch", option))
    except (SwitchError, ClusterError) as error:
        raise UsageError(str(error)) from None
    return switches


def _is_any_address(host: str) -> bool:
    """Whether an address stands for all addresses of the machine, in any spelling: "0" and "" also mean 0.0.0.0."""
    try:
        return ipaddress.ip_address(socket.gethostbyname(host)).is_unspecified
    except OSError:  # an IPv6 address, or not a host: the listener reports which
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
