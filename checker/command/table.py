"""The options of `check`, and the names of its forms. An option of a single form is declared with that form."""

from __future__ import annotations

from isrcheck.checker.disk.request import MINUTES
from isrcheck.checker.resources.limits import MOST_THREADS_FOR_A_CLUSTER, SECONDS_FOR_A_CLUSTER
from isrcheck.commands.declarations import (
    MOST_DIGITS,
    Only,
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
from isrcheck.models.messages import UsageError, escaped

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

FILES = (CONFIG, *(f"--{role}" for role in ROLES))
"""The options that name one of Kafka's configuration files."""

FAILURES = "failures"
"""The form `check failures`, which checker/failures/ declares; `--kafka-version` goes with it, too."""

TABLES_WITH = "--tables goes with one model or a sweep: name the model, as in: check kafka --protocol 2.1 --tables DIR"

OF_A_CLUSTER = frozenset({CONFIG, DESCRIBE, DOCTOR})
"""The forms that answer for a cluster, from Kafka's own files."""

TOPIC_NAME_ALONE = "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE"

WITH_A_MODEL = Only(
    frozenset({MODEL}), "{option} goes with one model: name the model, as in: check kafka --protocol 2.1 {typed}"
)

WITH_A_CLUSTER = Only(OF_A_CLUSTER, "{option} goes with --config FILE; leave {option} out")

WHAT_IF = "what if, for the partitions of kafka-topics --describe"
"""The heading of the options that ask what happens to the described partitions."""

KINDS = ("can-lose", "defects", "unknown")
"""The kinds of answers for a cluster with which a command can fail."""

MOST_WEIGHT = 10_000


def _kinds_of_answers(option: str, text: str) -> frozenset[str]:
    kinds = text.split(",")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"{option} {escaped(text)}: {escaped(kind)!r} is not one of {', '.join(KINDS)}")
    return frozenset(kinds)


def _weight(option: str, text: str) -> tuple[str, int]:
    action, _, number = text.partition("=")
    is_number = number.isdecimal() and number.isascii() and len(number) <= len(str(MOST_WEIGHT))
    if not action or not is_number or not 1 <= int(number) <= MOST_WEIGHT:
        raise UsageError(f"{option} {text}: not of the form ACTION=N with N from 1 to {MOST_WEIGHT:,}")
    return action, int(number)


def _spark_entry(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"{option} {text}: not a setting of Spark; write it as --spark-conf spark.executor.memory=4g")
    return name, value


def _rack(option: str, text: str) -> tuple[str, tuple[int, ...]]:
    rack, _, ids = text.partition("=")
    brokers = [broker.strip() for broker in ids.split(",")]
    if not rack or not all(
        broker.isdecimal() and broker.isascii() and len(broker) <= MOST_DIGITS for broker in brokers
    ):
        raise UsageError(f"{option} {escaped(text)}: not a rack with its brokers; write it as {option} az1=1,2,3")
    return rack, tuple(map(int, brokers))


DISK = (
    Option(
        "--disk DIR",
        "keep the states in DIR, so that they need not fit in memory; --memory is then for the whole process",
        folder,
        only=WITH_A_MODEL,
        group="larger than memory",
    ),
    Option(
        "--resume DIR",
        "go on with the search in DIR from its last checkpoint; repeat the command, with --resume for --disk",
        folder,
        only=WITH_A_MODEL,
        group="larger than memory",
    ),
    Option(
        "--checkpoint-minutes N",
        f"write a checkpoint every N minutes, not only at the ends of levels (default: {MINUTES:g})",
        minutes,
        only=WITH_A_MODEL,
        group="larger than memory",
    ),
)
"""The options of a search that keeps its states on disk."""

WITH_SPARK = "with --engine spark"
"""The heading of the options for Spark."""

SPARK_SESSION = (
    Option("--master URL", "Spark's master (default: spark-submit's, or local[*])", group=WITH_SPARK),
    Option(
        "--spark-conf KEY=VALUE",
        "a setting of Spark, such as spark.executor.memory=4g",
        _spark_entry,
        is_repeated=True,
        group=WITH_SPARK,
    ),
)
"""The options of the Spark session, for every command that has `--engine spark`."""

SPARK = (
    Option(
        "--spark-mode",
        "parts: divide the states at one depth, search each part separately (default); search: one joint search",
        choices=("parts", "search"),
        group=WITH_SPARK,
    ),
    Option(
        "--split-depth D",
        "parts: divide the states at this depth (default: the first depth with enough states)",
        depth,
        group=WITH_SPARK,
    ),
    *SPARK_SESSION,
    Option(
        "--checkpoint DIR",
        "search: save every level to DIR; the same command resumes an interrupted search",
        group=WITH_SPARK,
    ),
)
"""The options of `check --engine spark`."""

OPTIONS = (
    Option("--bound N", "search every behaviour of at most N steps (default: the whole state space)", steps),
    Option("--protocol P", "the protocol, for a model that has several", name),
    Option("--set NAME=VALUE", "set a configuration entry", destination="settings", is_repeated=True),
    Option("--switch NAME=VALUE", "set a protocol switch", destination="switches", is_repeated=True),
    Option("--swap ACTION=P", "use ACTION as in protocol P", destination="swaps", is_repeated=True),
    Option("--continue", "do not stop at a violation; count all violating states", destination="count_all"),
    Option(
        "--memory SIZE", "memory limit, such as 8G (default: half of the memory of the machine or container)", memory
    ),
    Option(
        "--threads N",
        "threads of the explorer or of --simulate (default: 1; for a cluster, one for each core, at most"
        f" {MOST_THREADS_FOR_A_CLUSTER}); the results are the same for any number",
        threads,
    ),
    Option(
        "--seconds S",
        f"time limit of the whole command (default: none; {SECONDS_FOR_A_CLUSTER:g} for a cluster)",
        seconds,
    ),
    Option(
        "--engine",
        "local: explicit-state search (default); z3: bounded model checking with Z3, needs --bound; all: both,"
        " which must agree; spark: explicit-state search on Spark",
        choices=("local", "z3", "all", "spark"),
        default="local",
    ),
    *DISK,
    *SPARK,
    Option("--prove", "search for proofs for any depth, and report their premises"),
    Option(
        "--symmetry",
        "visit only one of several states that differ only in the names of elements, such as replicas",
        only=WITH_A_MODEL,
    ),
    Option(
        "--no-reduction",
        "visit every state: keep the values of cells that nothing reads again, and exchange no symmetric elements",
        only=WITH_A_MODEL,
    ),
    Option("--json", "print one JSON object instead of text", destination="as_json"),
    Option(
        "--no-deadlock",
        "do not report states without a step (as TLC's -deadlock); a model says where it may end with @terminal",
    ),
    Option("--strict", "count PERMITTED as violated"),
    Option(
        "--tables DIR",
        "write the results as Parquet tables below DIR, one file for each search in each table",
        path,
        only=Only(frozenset({MODEL, SWEEP}), TABLES_WITH),
    ),
    Option(
        "--counterexamples K",
        "find up to K counterexamples with different causes for each failing property",
        count,
        only=Only(
            frozenset({MODEL}),
            "--counterexamples goes with one model: name the model, as in: check kafka --protocol 0.10"
            " --counterexamples 3",
        ),
    ),
    Option(
        "--out DIR",
        "folder for traces (default: ./counterexamples)",
        folder,
        destination="folder",
        default="counterexamples",
    ),
    Option("--config FILE", "one of Kafka's .properties files", path, is_repeated=True),
    *(Option(f"--{role} FILE", f"{role} settings file", path, is_repeated=True) for role in ROLES),
    Option(
        "--describe FILE",
        "output of kafka-topics --describe, kafka-configs --describe or kafka-features describe; - is stdin",
        is_repeated=True,
    ),
    Option(
        "--topic-name NAME",
        "a topic to check, if --describe or a running cluster shows several",
        is_repeated=True,
        destination="topic_names",
        only=Only(OF_A_CLUSTER, TOPIC_NAME_ALONE),
    ),
    Option(
        "--kafka-version V",
        "the release of the brokers, such as 0.10.2",
        only=Only(OF_A_CLUSTER | {FAILURES}, "--kafka-version goes with --config FILE; for a model use --protocol"),
    ),
    Option(
        "--metadata-version V",
        "the metadata.version of a KRaft cluster, such as 3.6-IV0 (kafka-features describe)",
        only=Only(OF_A_CLUSTER, "--metadata-version goes with --config FILE; for a model use --protocol"),
    ),
    Option(
        "--details",
        "a cluster: all that was understood, ignored, searched and found; the matrix or one model: every table,"
        " count and run",
        only=Only(
            OF_A_CLUSTER | {MATRIX, MODEL},
            "--details goes with the matrix, one model or a cluster; leave --details out",
        ),
    ),
    Option("--fresh", "a cluster: search, although the answer is recorded", only=WITH_A_CLUSTER),
    Option(
        "--fail-on KIND[,KIND]",
        "a cluster: exit with 12 only for can-lose or defects, and with 3 for unknown; otherwise with 0",
        _kinds_of_answers,
        only=WITH_A_CLUSTER,
    ),
    Option(
        "--lose EXPRESSION",
        "what if these are lost: broker:3, controller:3001, rack:az1, rack:az1 then broker:5, or each-rack in turn;"
        " a further --lose comes later",
        is_repeated=True,
        only=WITH_A_CLUSTER,
        group=WHAT_IF,
    ),
    Option(
        "--lose-power EXPRESSION",
        "what if these brokers lose power, and come back: broker:3, rack:az1 or all",
        is_repeated=True,
        only=WITH_A_CLUSTER,
        group=WHAT_IF,
    ),
    Option("--restart-all", "what if all brokers restart at once", only=WITH_A_CLUSTER, group=WHAT_IF),
    Option("--roll", "in which order may the brokers restart, one at a time", only=WITH_A_CLUSTER, group=WHAT_IF),
    Option(
        "--rack NAME=ID,ID",
        "the brokers and controllers of a rack, as in az1=1,2,3001",
        _rack,
        is_repeated=True,
        destination="racks",
        only=WITH_A_CLUSTER,
        group=WHAT_IF,
    ),
)

SIMULATE_WITH = (
    "{option} goes with one model: name the model, as in: check kafka --protocol 0.10 --simulate 1000 --depth 60"
)

SIMULATION = (
    Option("--simulate N", "N random walks instead of a search, for bounds that are too large; needs --depth", count),
    Option("--depth D", "the most steps of a walk of --simulate", count),
    Option("--seed S", "the seed of --simulate (default: 0)", seed),
    Option(
        "--weight ACTION=N",
        "walks of --simulate choose ACTION N times as often as an action with weight 1, the default",
        _weight,
        is_repeated=True,
    ),
)
"""The options of a simulation, which the form for one model accepts."""

NO_REPORT = "--report goes with the matrix, one model, a sweep or a cluster, as in: check kafka --report DIR"

REPORTS = (
    Option(
        "--report DIR",
        "write a report to DIR: an HTML page with traces, JUnit, SARIF and pytest files",
        path,
        only=Only(frozenset({MATRIX, MODEL, SWEEP, CONFIG, DESCRIBE, DOCTOR}), NO_REPORT),
    ),
)
"""The option of the optional package checker/reports."""
