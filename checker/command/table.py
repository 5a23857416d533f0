"""The options of `check`. An option that only one form of the command accepts is declared with that form.

In:  nothing.
Out: `OPTIONS`, a table of `Option`, and the names of forms.
"""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.disk.request import MINUTES
from isrcheck.checker.resources.limits import MOST_THREADS_FOR_A_CLUSTER, SECONDS_FOR_A_CLUSTER
from isrcheck.commands.declarations import (
    Option,
    count,
    depth,
    folder,
    memory,
    minutes,
    name,
    path,
    seconds,
    seed,
    steps,
    threads,
)
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped

ENGINES = ("local", "z3", "all", "spark")

MATRIX, PUBLISHED, EXAMPLES = "the matrix", "check published", "check examples/tla"
MODEL, MUTATE = "one model", "mutate"
CONFIG, DESCRIBE, DOCTOR = "--config", "--describe", "doctor"
"""The names of the built-in forms of the command, as messages show them."""

SWEEP = "sweep"
"""The form `check sweep`, which checker/sweep/ declares; `--tables` goes with `check sweep` or with one model."""

OF_A_MODEL = ("--protocol", "--set", "--switch", "--swap")
"""The options that select and configure a model."""

ROLES = ("broker", "topic", "producer", "consumer")
"""The roles of Kafka's configuration files: the readers of each have an option."""

FILES = (CONFIG, "--broker", "--topic", "--producer", "--consumer")
"""The options that name one of Kafka's configuration files."""

FAILURES = "failures"
"""The form `check failures`, which checker/failures/ declares; `--kafka-version` goes with it, too."""

TABLES_WITH = "--tables goes with one model or a sweep: name the model, as in: check kafka --protocol 2.1 --tables DIR"

SYMMETRY_WITH = "--symmetry goes with one model: name the model, as in: check kafka --protocol 2.1 --symmetry"

OF_A_CLUSTER = frozenset({CONFIG, DESCRIBE, DOCTOR})
"""The forms that answer for a cluster, from Kafka's own files."""

CLUSTER_ONLY = "{option} goes with --config FILE; leave {option} out"

TOPIC_NAME_ALONE = "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE"

OF_ONE_MODEL = "{option} goes with one model: name the model, as in: check kafka --protocol 2.1 {typed}"

KINDS = ("can-lose", "defects", "unknown")
"""The kinds of answers for a cluster with which a command can fail."""

MOST_WEIGHT = 10_000


def _kinds_of_answers(option: str, text: str) -> frozenset[str]:
    """Read kinds of answers, separated by commas. Raises UsageError."""
    kinds = text.split(",")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"{option} {escaped(text)}: {escaped(kind)!r} is none of {', '.join(KINDS)}")
    return frozenset(kinds)


def _weight(option: str, text: str) -> tuple[str, int]:
    """Read the name of an action and its weight. Raises UsageError."""
    action, _, number = text.partition("=")
    is_number = number.isdecimal() and number.isascii() and len(number) <= len(str(MOST_WEIGHT))
    if not action or not is_number or not 1 <= int(number) <= MOST_WEIGHT:
        raise UsageError(f"{option} {text}: write it as ACTION=N, with N from 1 to {MOST_WEIGHT:,}")
    return action, int(number)


def _spark_entry(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"{option} {text}: write it as --spark-conf spark.executor.memory=4g")
    return name, value


DISK = (
    Option(
        name="--disk",
        metavar="DIR",
        help="keep the states in DIR, so that they need not fit in memory; --memory is then for the whole process",
        read=folder,
        forms=frozenset({MODEL}),
        refusal=OF_ONE_MODEL,
        group="larger than memory",
    ),
    Option(
        name="--resume",
        metavar="DIR",
        help="go on with the search in DIR from its last checkpoint; repeat the command, with --resume for --disk",
        read=folder,
        forms=frozenset({MODEL}),
        refusal=OF_ONE_MODEL,
        group="larger than memory",
    ),
    Option(
        name="--checkpoint-minutes",
        metavar="N",
        help=f"write a checkpoint every N minutes, not only at the ends of levels (default: {MINUTES:g})",
        read=minutes,
        forms=frozenset({MODEL}),
        refusal=OF_ONE_MODEL,
        group="larger than memory",
    ),
)
"""The options of a search that keeps its states on disk."""

SPARK_SESSION = (
    Option(
        name="--master",
        metavar="URL",
        help="Spark's master (default: spark-submit's, or local[*])",
        group="with --engine spark",
    ),
    Option(
        name="--spark-conf",
        metavar="KEY=VALUE",
        help="a setting of Spark, such as spark.executor.memory=4g",
        read=_spark_entry,
        is_repeated=True,
        group="with --engine spark",
    ),
)
"""The options of the Spark session, for every command that has `--engine spark`."""

SPARK = (
    Option(
        name="--spark-mode",
        choices=("parts", "search"),
        help="parts: divide the states at one depth, search each part separately (default); search: one joint search",
        group="with --engine spark",
    ),
    Option(
        name="--split-depth",
        metavar="D",
        help="parts: divide the states at this depth (default: the first depth with enough states)",
        read=depth,
        group="with --engine spark",
    ),
    *SPARK_SESSION,
    Option(
        name="--checkpoint",
        metavar="DIR",
        help="search: save every level to DIR; the same command resumes an interrupted search",
        group="with --engine spark",
    ),
)
"""The options of `check --engine spark`."""

OPTIONS = (
    Option(
        name="--bound",
        metavar="N",
        help="search every behaviour of at most N steps (default: the whole state space)",
        read=steps,
    ),
    Option(name="--protocol", metavar="P", help="the protocol, for a model that has several", read=name),
    Option(name="--set", field="settings", metavar="NAME=VALUE", help="set a configuration entry", is_repeated=True),
    Option(name="--switch", field="switches", metavar="NAME=VALUE", help="set a protocol switch", is_repeated=True),
    Option(name="--swap", field="swaps", metavar="ACTION=P", help="use ACTION as in protocol P", is_repeated=True),
    Option(name="--continue", field="count_all", help="do not stop at a violation; count all violating states"),
    Option(
        name="--memory",
        metavar="SIZE",
        help="memory limit, such as 8G (default: half of the memory of the machine or container)",
        read=memory,
    ),
    Option(
        name="--threads",
        metavar="N",
        help="threads of the explorer or of --simulate (default: 1; for a cluster, one for each core, at most"
        f" {MOST_THREADS_FOR_A_CLUSTER}); the results are the same for any number",
        read=threads,
    ),
    Option(
        name="--seconds",
        metavar="S",
        help=f"time limit of the whole command (default: none; {SECONDS_FOR_A_CLUSTER:g} for a cluster)",
        read=seconds,
    ),
    Option(
        name="--engine",
        choices=ENGINES,
        default="local",
        help="local: explicit-state search (default); z3: bounded model checking with Z3, needs --bound; all: both,"
        " which must agree; spark: explicit-state search on Spark",
    ),
    *DISK,
    *SPARK,
    Option(name="--prove", help="search for proofs for any depth, and report their premises"),
    Option(
        name="--symmetry",
        help="visit one of the states that differ only in the names of elements, such as replicas",
        forms=frozenset({MODEL}),
        refusal=SYMMETRY_WITH,
    ),
    Option(
        name="--no-reduction",
        help="visit every state: keep dead cells, and permute no elements of a symmetric domain",
        forms=frozenset({MODEL}),
        refusal=SYMMETRY_WITH.replace("--symmetry", "--no-reduction"),
    ),
    Option(name="--json", field="as_json", help="print one JSON object instead of text"),
    Option(
        name="--no-deadlock",
        help="do not report states without a step (as TLC's -deadlock); a model says where it may end with @terminal",
    ),
    Option(name="--strict", help="count PERMITTED as violated"),
    Option(
        name="--tables",
        metavar="DIR",
        help="write the results as Parquet tables below DIR, one file for each search in each table",
        read=path,
        forms=frozenset({MODEL, SWEEP}),
        refusal=TABLES_WITH,
    ),
    Option(
        name="--counterexamples",
        metavar="K",
        help="find up to K counterexamples with different causes for each failing property",
        read=count,
        forms=frozenset({MODEL}),
        refusal="--counterexamples goes with one model: name the model, as in: check kafka --protocol 0.10"
        " --counterexamples 3",
    ),
    Option(
        name="--out",
        metavar="DIR",
        default="counterexamples",
        help="folder for traces (default: ./counterexamples)",
        read=folder,
    ),
    Option(name="--config", metavar="FILE", help="one of Kafka's .properties files", read=path, is_repeated=True),
    Option(name="--broker", metavar="FILE", help="broker settings file", read=path, is_repeated=True),
    Option(name="--topic", metavar="FILE", help="topic settings file", read=path, is_repeated=True),
    Option(name="--producer", metavar="FILE", help="producer settings file", read=path, is_repeated=True),
    Option(name="--consumer", metavar="FILE", help="consumer settings file", read=path, is_repeated=True),
    Option(
        name="--describe",
        metavar="FILE",
        help="output of kafka-topics --describe, kafka-configs --describe or kafka-features describe; - is stdin",
        is_repeated=True,
    ),
    Option(
        name="--topic-name",
        metavar="NAME",
        help="the topic to check, if --describe shows several",
        forms=OF_A_CLUSTER,
        refusal=TOPIC_NAME_ALONE,
    ),
    Option(
        name="--kafka-version",
        metavar="V",
        help="the release of the brokers, such as 0.10.2",
        forms=OF_A_CLUSTER | {FAILURES},
        refusal="--kafka-version goes with --config FILE; for a model use --protocol",
    ),
    Option(
        name="--metadata-version",
        metavar="V",
        help="the metadata.version of a KRaft cluster, such as 3.6-IV0 (kafka-features describe)",
        forms=OF_A_CLUSTER,
        refusal="--metadata-version goes with --config FILE; for a model use --protocol",
    ),
    Option(
        name="--details",
        help="a cluster: all that was understood, ignored, searched and found; the matrix or one model: every table,"
        " count and run",
        forms=OF_A_CLUSTER | {MATRIX, MODEL},
        refusal="--details goes with the matrix, one model or a cluster; leave --details out",
    ),
    Option(
        name="--fresh",
        help="a cluster: search, although the answer is recorded",
        forms=OF_A_CLUSTER,
        refusal=CLUSTER_ONLY,
    ),
    Option(
        name="--fail-on",
        metavar="KIND[,KIND]",
        help="a cluster: exit with 12 only for can-lose or defects, and with 3 for unknown; otherwise with 0",
        read=_kinds_of_answers,
        forms=OF_A_CLUSTER,
        refusal=CLUSTER_ONLY,
    ),
)

SIMULATE_WITH = (
    "{option} goes with one model: name the model, as in: check kafka --protocol 0.10 --simulate 1000 --depth 60"
)

SIMULATION = (
    Option(
        name="--simulate",
        metavar="N",
        help="N random walks instead of a search, for bounds that are too large; needs --depth",
        read=count,
    ),
    Option(
        name="--depth",
        metavar="D",
        help="the most steps of a walk of --simulate",
        read=count,
    ),
    Option(
        name="--seed",
        metavar="S",
        help="the seed of --simulate (default: 0)",
        read=seed,
    ),
    Option(
        name="--weight",
        metavar="ACTION=N",
        help="walks of --simulate choose ACTION N times as often as an action with weight 1, the default",
        read=_weight,
        is_repeated=True,
    ),
)
"""The options of a simulation, which the form for one model accepts."""

NO_REPORT = "--report goes with the matrix, one model, a sweep or a cluster, as in: check kafka --report DIR"

REPORTS = (
    Option(
        name="--report",
        metavar="DIR",
        help="write a report to DIR: an HTML page with traces, JUnit, SARIF and pytest files",
        read=path,
        forms=frozenset({MATRIX, MODEL, SWEEP, CONFIG, DESCRIBE, DOCTOR}),
        refusal=NO_REPORT,
    ),
)
"""The option of the optional package checker/reports."""


def has_reports() -> bool:
    """Whether the package that writes reports is installed."""
    return (Path(__file__).parents[1] / "reports").is_dir()
