"""The command line of `check`.

In:  the words that a person typed. Out: an `Options`, and instances of models made of what is left over.

A model's configuration entries become options of their own once the model is known, so the line is read in two passes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from isrcheck.checker.command.graph_options import (
    GRAPH,
    GRAPH_OPTIONS,
    GraphAsked,
    add_graph_options,
    read_graph_options,
)
from isrcheck.checker.command.option_values import count, memory, seconds, threads, whole
from isrcheck.checker.command.spark_options import SPARK_OPTIONS, add_spark_options, read_spark_options
from isrcheck.checker.kafka_config.keys import Role
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.spark.request import SparkRequest
from isrcheck.models import registry, settings
from isrcheck.models.command_line import Parser, alike
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages.errors import UsageError

USAGE = """\
check [--bound N]                           every generation against every property: the matrix
check published                             the five published models against TLC's figures
check MODEL [--protocol P] [--bound N] ...  one model in detail (kafka, published/kip_101, ...)
check FILE.py [--bound N] ...               a model that you wrote, in the same language
check MODEL --counterexamples K [--bound N]  several histories that break a property, which differ in cause
check mutate MODEL [--bound N] ...          each guard dropped in turn: which property notices?
check graph MODEL [--bound N] -o FILE       its states and steps as a drawing: .html, .dot or .graphml
check sweep [MODEL] --vary KEY=V1,V2,... [--vary ...] [--bound N] ...   a safety table over configurations
check --config FILE [--config FILE ...]     Kafka's own property files -> a verdict for that cluster
check --describe FILE [--config FILE ...]   what kafka-topics --describe prints -> the same, from that leader and ISR"""

EPILOG = """\
Every configuration entry of a model is an option: --replicas 3, --acks all, or --set NAME=VALUE; --switch NAME=on|off.
exit codes: 0 nothing promised is broken; 12 violated; 10 an expected figure or counterexample was not found;
3 undecided; 2 bad input; 130 interrupted"""


ENGINES = ("local", "z3", "all", "spark")

MUTATE, SWEEP = "mutate", "sweep"
"""The words before a model that ask for its mutants, and for a table over its configurations."""

SWEPT = "kafka"
"""The model of a sweep that names none."""


@dataclass(frozen=True)
class Options:
    """What was asked for, whatever the model."""

    mutates: bool
    target: str | None
    bound: int | None
    count_all: bool
    limits: Limits
    seconds_given: bool
    as_json: bool
    strict: bool
    out: Path
    protocol: str | None
    settings: tuple[str, ...]
    switches: tuple[str, ...]
    swaps: tuple[str, ...]
    config: tuple[tuple[Role | None, Path], ...]
    describe: tuple[str, ...]
    topic_name: str | None
    kafka_version: str | None
    engine: str
    prove: bool
    rest: tuple[str, ...]
    sweeps: bool
    vary: tuple[str, ...]
    spark: SparkRequest
    tables: Path | None
    report: Path | None
    words: tuple[str, ...]
    counterexamples: int | None
    graph: GraphAsked | None


def read_options(words: Sequence[str]) -> Options:
    """Read the command line. Raises UsageError."""
    parser = Parser(
        prog="check",
        usage=USAGE,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description="Can this protocol, under this configuration, lose or diverge a record that somebody was promised?",
    )
    parser.add_argument("target", nargs="?", metavar="MODEL", help=f"one of: {', '.join(registry.names())}; or FILE.py")
    parser.add_argument(
        "--bound", metavar="N", help="every behaviour of at most N steps; without it: until nothing is new"
    )
    parser.add_argument("--protocol", metavar="P", help="the protocol, where a model has several")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a configuration entry")
    parser.add_argument("--switch", action="append", default=[], metavar="NAME=VALUE", help="a protocol switch")
    parser.add_argument(
        "--swap", action="append", default=[], metavar="ACTION=P", help="use another protocol's version"
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=V1,V2",
        help="sweep: an entry, a switch, a key of Kafka's or `protocol`, and its values; give it once for each key",
    )
    parser.add_argument("--continue", dest="count_all", action="store_true", help="count all violating states")
    parser.add_argument("--memory", metavar="SIZE", help="such as 8G (half of the machine's, or of its container's)")
    parser.add_argument("--threads", metavar="N", help="of the explorer (1); whatever their number, it finds the same")
    parser.add_argument(
        "--seconds",
        metavar="S",
        help="end the command after so long, whatever it does (no limit; 60 for a cluster)",
    )
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="local: the explorer (default); z3: depth by depth, with --bound; all: both, which have to agree; spark:"
        " the explorer, on Spark",
    )
    add_spark_options(parser)
    add_graph_options(parser)
    parser.add_argument(
        "--prove", action="store_true", help="prove what holds for any depth, and say what that rests on"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of text")
    parser.add_argument("--strict", action="store_true", help="PERMITTED counts as violated")
    parser.add_argument(
        "--tables", metavar="DIR", help="what was found as Parquet, a file for each search in each table of DIR"
    )
    parser.add_argument(
        "--report", metavar="DIR", help="a page in DIR, with its traces, JUnit, SARIF and tests for pytest"
    )
    parser.add_argument(
        "--counterexamples", metavar="K", help="up to K for each property that fails, which differ in cause"
    )
    parser.add_argument("--out", default="counterexamples", metavar="DIR", help="where traces go (./counterexamples)")
    parser.add_argument("--config", action="append", default=[], metavar="FILE", help="a .properties file of Kafka's")
    for role in Role:
        name = role.name.lower()
        parser.add_argument(f"--{name}", action="append", default=[], metavar="FILE", help=f"the same, of a {name}")
    parser.add_argument(
        "--describe",
        action="append",
        default=[],
        metavar="FILE",
        help="what kafka-topics --describe or kafka-configs --describe printed; - is standard input",
    )
    parser.add_argument("--topic-name", metavar="NAME", help="the topic that is meant, where several are described")
    parser.add_argument("--kafka-version", metavar="V", help="the release of the brokers, such as 0.10.2")
    typed = ("check", *words)
    mutates, sweeps = list(words[:1]) == [MUTATE], list(words[:1]) == [SWEEP]
    draws = list(words[:1]) == [GRAPH]
    words = list(words)[mutates or sweeps or draws :]
    known, rest = parser.parse_known_args(words)
    taken = [pair for pair in pairwise(words) if pair[1] == known.target and pair[0] in rest and pair[0][:2] == "--"]
    if taken or known.target in (None, "published"):
        _refuse_misspelt(rest, "published" if known.target == "published" else SWEPT)
    if sweeps and (taken or known.target is None):
        known, rest = parser.parse_known_args([SWEPT, *words])
    elif taken:
        option, value = taken[0]
        raise UsageError(f"{option} {value}: name the model first, as in: check kafka {option} {value}")
    if known.protocol == "":
        raise UsageError("--protocol has no name behind it; give one, or leave it out")
    if Path(known.out).exists() and not Path(known.out).is_dir():
        raise UsageError(f"{known.out}: not a folder; name another one with --out DIR")
    files: list[tuple[Role | None, Path]] = [(None, Path(name)) for name in known.config]
    for role in Role:
        files += [(role, Path(name)) for name in getattr(known, role.name.lower())]
    graph = read_graph_options(known, parser.get_default, draws)
    options = Options(
        mutates,
        known.target,
        whole("--bound", known.bound),
        known.count_all,
        Limits(whole("--bound", known.bound), memory(known.memory), seconds(known.seconds), threads(known.threads)),
        known.seconds is not None,
        known.json,
        known.strict,
        Path(known.out),
        known.protocol,
        tuple(known.set),
        tuple(known.switch),
        tuple(known.swap),
        tuple(files),
        tuple(known.describe),
        known.topic_name,
        known.kafka_version,
        known.engine,
        known.prove,
        tuple(rest),
        sweeps,
        tuple(known.vary),
        read_spark_options(known),
        None if known.tables is None else Path(known.tables),
        None if known.report is None else Path(known.report),
        typed,
        count("--counterexamples", known.counterexamples),
        graph,
    )
    _refuse_mixtures(options)
    return options


def _refuse_misspelt(rest: Sequence[str], model: str) -> None:
    """Refuse an option that nothing has but that is spelled like another one; `model` is one that may be meant.

    Where a model is named, this is seen when its own options are read.
    """
    own = [entry.option for entry in registry.load(model)[0].entries.values() if entry.option is not None]
    for word in rest:
        close = alike(word, [*RESERVED, *own]) if word.startswith("--") else None
        if close is not None and close != word.partition("=")[0]:
            raise UsageError(f"there is no option {word.partition('=')[0]}; did you mean {close}?")


def _refuse_mixtures(options: Options) -> None:
    """What a form of the command has no use for is refused rather than passed over."""
    for_models = [name for name, given in (
        ("--protocol", options.protocol), ("--set", options.settings), ("--switch", options.switches),
        ("--swap", options.swaps), (" ".join(options.rest), options.rest),
    ) if given]  # fmt: skip
    if MUTATE in (options.target, *options.rest):
        raise UsageError(f"{MUTATE} comes first, as in: check {MUTATE} kafka --protocol 2.1")
    if SWEEP in (options.target, *options.rest):
        raise UsageError(f"{SWEEP} comes first, as in: check {SWEEP} kafka --vary acks=0,1,all")
    if GRAPH in (options.target, *options.rest):
        raise UsageError(f"{GRAPH} comes first, as in: check {GRAPH} kafka --protocol 0.10 --bound 2 -o states.html")
    if options.graph is not None:
        _refuse_with_graph(options)
    if options.mutates:
        _refuse_with_mutate(options)
    if options.sweeps:
        _refuse_with_sweep(options)
    elif options.vary:
        raise UsageError(f"--vary goes with {SWEEP}, as in: check {SWEEP} kafka --vary {options.vary[0]}")
    of_cluster = "--config" if options.config else "--describe" if options.describe else ""
    if of_cluster and options.target:
        raise UsageError(f"{of_cluster} asks about a cluster, {options.target} names a model: give one of them")
    _refuse_engines(options, of_cluster)
    if options.tables is not None:
        _refuse_tables(options)
    if options.report is not None and (options.mutates or _is_all_of_published(options)):
        raise UsageError(
            "--report is of the matrix, one model, a sweep or a cluster: check kafka --protocol 2.1 --report DIR"
        )
    if options.counterexamples is not None:
        _refuse_counterexamples(options)
    if options.kafka_version and not of_cluster:
        raise UsageError("--kafka-version goes with --config FILE; for a model use --protocol")
    if options.topic_name is not None and not options.describe:
        raise UsageError("--topic-name goes with --describe FILE; leave it out, or give what Kafka's tools print")
    if of_cluster and for_models:
        raise UsageError(f"{for_models[0]} does not go with {of_cluster}: the files say how the cluster is configured")
    is_one = options.sweeps or _is_one_of_published(options)
    if options.target in (None, "published") and not of_cluster and not is_one and for_models:
        form = "check published" if options.target else "the matrix"
        raise UsageError(
            f"{for_models[0]} does not go with {form}; name a model, as in: check kafka {for_models[0]} ..."
        )


def _refuse_engines(options: Options, of_cluster: str) -> None:
    asked = f"--engine {options.engine}" if options.engine != "local" else "--prove" if options.prove else ""
    if not asked:
        return
    if of_cluster:
        raise UsageError(f"{asked} does not go with {of_cluster}; name a model, as in: check kafka {asked}")
    if options.target is None or (options.target == "published" and not _is_one_of_published(options)):
        raise UsageError(f"{asked} is about one model: name it, as in: check kafka --protocol 2.1 {asked}")
    if options.engine in ("z3", "all") and options.bound is None:
        raise UsageError(f"--engine {options.engine} goes depth by depth: say how far, as in --bound 6")
    if options.engine == "spark" and options.prove:
        raise UsageError("--prove asks the explorer of this process: leave it, or --engine spark, out")
    if options.engine == "z3" and options.prove:
        raise UsageError("--prove asks the explorer about what stands in the way of a proof: leave --engine z3 out")
    if options.engine in ("z3", "all") and options.count_all:
        raise UsageError(f"--continue counts states, which Z3 does not do: leave it, or --engine {options.engine}, out")


def _refuse_counterexamples(options: Options) -> None:
    """Causes are looked for by the explorer of this process, in one model."""
    is_one = options.target not in (None, "published") or _is_one_of_published(options)
    if not is_one or options.mutates or options.sweeps:
        raise UsageError(
            "--counterexamples is of one model: name it, as in: check kafka --protocol 0.10 --counterexamples 3"
        )
    if options.engine != "local":
        raise UsageError(
            f"--counterexamples asks the explorer of this process: leave it, or --engine {options.engine}, out"
        )


def _refuse_tables(options: Options) -> None:
    is_one = options.target not in (None, "published") or _is_one_of_published(options)
    if options.mutates or not (is_one or options.sweeps):
        raise UsageError(
            f"--tables is of one model, or of a {SWEEP}: name it, as in: check kafka --protocol 2.1 --tables DIR"
        )
    if options.engine == "z3":
        raise UsageError("--tables counts states, which Z3 does not do: leave it, or --engine z3, out")


def _refuse_with_graph(options: Options) -> None:
    if options.target is None or (options.target == "published" and not _is_one_of_published(options)):
        raise UsageError(
            f"{GRAPH} takes one model, as in: check {GRAPH} kafka --protocol 0.10 --bound 2 -o states.html"
        )


def _refuse_with_mutate(options: Options) -> None:
    if options.config or options.describe:
        option = "--config" if options.config else "--describe"
        raise UsageError(
            f"{option} does not go with {MUTATE}, which takes a model: check {MUTATE} kafka --protocol 2.1"
        )
    if options.target is None:
        raise UsageError(f"{MUTATE} takes a model, as in: check {MUTATE} kafka --protocol 2.1")
    if options.engine != "local" or options.prove:
        option = "--prove" if options.prove else f"--engine {options.engine}"
        raise UsageError(f"{option} does not go with {MUTATE}: the explorer looks at mutants")
    if options.count_all or options.strict:
        option = "--continue" if options.count_all else "--strict"
        raise UsageError(f"{option} does not go with {MUTATE}: any worse verdict kills a mutant, and ends its search")


def _refuse_with_sweep(options: Options) -> None:
    if not options.vary:
        raise UsageError(
            f"{SWEEP} varies nothing; say what, as in: check {SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2"
        )
    of_others = {
        "--config": options.config, "--describe": options.describe,
        "--prove": options.prove, f"--engine {options.engine}": options.engine not in ("local", "spark"),
    }  # fmt: skip
    for option, is_given in of_others.items():
        if is_given:
            raise UsageError(f"{option} does not go with {SWEEP}: the explorer searches a model there; leave it out")


def _is_all_of_published(options: Options) -> bool:
    return options.target == "published" and options.protocol is None and not options.sweeps


def _is_one_of_published(options: Options) -> bool:
    return options.target == "published" and options.protocol is not None


RESERVED = (
    *(
        "--help",
        "--version",
        "--bound",
        "--protocol",
        "--set",
        "--switch",
        "--swap",
        "--vary",
        "--continue",
        "--memory",
        "--seconds",
        "--threads",
    ),
    *(
        "--engine",
        "--prove",
        "--json",
        "--strict",
        "--out",
        "--tables",
        "--report",
        "--counterexamples",
        "--config",
        "--describe",
        "--topic-name",
        "--kafka-version",
    ),
    *(f"--{role.name.lower()}" for role in Role),
    *SPARK_OPTIONS,
    *GRAPH_OPTIONS,
)
"""The options of `check` itself, which an entry of a model cannot have."""

CHECK = settings.Command("check", RESERVED)


def instance_of(options: Options) -> Instance:
    """The model with everything that was set for it. Raises UsageError."""
    return settings.instance_of(options, CHECK)


def values_of(model: Model, options: Options) -> dict[str, int]:
    """Every entry that is set on the command line, with its value. Raises UsageError."""
    return settings.values_of(model, options, CHECK)
