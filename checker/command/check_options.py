"""The options of `check`. An option that only one form of the command accepts is declared with that form.

In:  nothing.
Out: `OPTIONS`, a table of `Option`.
"""

from __future__ import annotations

from isrcheck.checker.cluster.releases import Role
from isrcheck.checker.command.disk_options import DISK_OPTIONS
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import (
    count,
    folder,
    kinds_of_answers,
    memory,
    name,
    path,
    seconds,
    seed,
    steps,
    threads,
    weight,
)
from isrcheck.checker.command.spark_options import SEARCH_OPTIONS
from isrcheck.checker.resources.limits import MOST_THREADS_FOR_A_CLUSTER, SECONDS_FOR_A_CLUSTER

ENGINES = ("local", "z3", "all", "spark")

MATRIX, PUBLISHED, EXAMPLES = "the matrix", "check published", "check examples/tla"
MODEL, MUTATE = "one model", "mutate"
CONFIG, DESCRIBE, DOCTOR = "--config", "--describe", "doctor"
"""The names of the built-in forms of the command, as messages show them."""

SWEEP = "sweep"
"""The form `check sweep`, which checker/sweep/ declares; `--tables` goes with `check sweep` or with one model."""

OF_A_MODEL = ("--protocol", "--set", "--switch", "--swap")
"""The options that select and configure a model."""

FILES = (CONFIG, *(f"--{role.value}" for role in Role))
"""The options that name one of Kafka's configuration files."""

FAILURES = "failures"
"""The form `check failures`, which checker/failures/ declares; `--kafka-version` goes with it, too."""

TABLES_WITH = "--tables goes with one model or a sweep: name the model, as in: check kafka --protocol 2.1 --tables DIR"

SYMMETRY_WITH = "--symmetry goes with one model: name the model, as in: check kafka --protocol 2.1 --symmetry"

OF_A_CLUSTER = frozenset({CONFIG, DESCRIBE, DOCTOR})
"""The forms that answer for a cluster, from Kafka's own files."""

CLUSTER_ONLY = "{option} goes with --config FILE; leave {option} out"

TOPIC_NAME_ALONE = "--topic-name goes with --describe FILE; leave --topic-name out, or add --describe FILE"

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
    *DISK_OPTIONS,
    *SEARCH_OPTIONS,
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
    *(
        Option(name=f"--{role.value}", metavar="FILE", help=f"{role.value} settings file", read=path, is_repeated=True)
        for role in Role
    ),
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
        read=kinds_of_answers,
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
        read=weight,
        is_repeated=True,
    ),
)
"""The options of a simulation, which the form for one model accepts."""
