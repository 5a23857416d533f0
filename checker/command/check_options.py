"""The options of `check`, each declared once. The options that one form alone has are declared with that form.

In:  nothing.
Out: `OPTIONS`, a table of `Option`.
"""

from __future__ import annotations

from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import count, folder, memory, name, path, seconds, steps, threads
from isrcheck.checker.command.spark_options import SEARCH_OPTIONS
from isrcheck.checker.kafka_config.keys import Role

ENGINES = ("local", "z3", "all", "spark")

MATRIX, PUBLISHED, MODEL, MUTATE = "the matrix", "check published", "one model", "mutate"
CONFIG, DESCRIBE = "--config", "--describe"
"""The forms of the command that are always there, by the names that messages use."""

SWEEP = "sweep"
"""A form that another room declares; some options go with it and with one model alone."""

OF_A_MODEL = ("--protocol", "--set", "--switch", "--swap")
"""What says which model is meant, and how it is configured."""

FILES = (CONFIG, *(f"--{role.value}" for role in Role))
"""The options that name a file of Kafka's."""

TOPIC_NAME_ALONE = "--topic-name goes with --describe FILE; leave it out, or give what Kafka's tools print"

OPTIONS = (
    Option(
        name="--bound",
        metavar="N",
        help="search every behaviour of at most N steps (default: the whole state space)",
        read=steps,
    ),
    Option(name="--protocol", metavar="P", help="which protocol, for a model that has several", read=name),
    Option(name="--set", field="settings", metavar="NAME=VALUE", help="set a configuration entry", is_repeated=True),
    Option(name="--switch", field="switches", metavar="NAME=VALUE", help="set a protocol switch", is_repeated=True),
    Option(name="--swap", field="swaps", metavar="ACTION=P", help="use another protocol's version", is_repeated=True),
    Option(name="--continue", field="count_all", help="count all violating states"),
    Option(
        name="--memory",
        metavar="SIZE",
        help="memory limit, such as 8G (default: half of the memory of the machine or container)",
        read=memory,
    ),
    Option(
        name="--threads",
        metavar="N",
        help="threads of the explorer (default: 1); the results are the same for any number",
        read=threads,
    ),
    Option(
        name="--seconds",
        metavar="S",
        help="time limit of the whole command (default: none; 60 with --config and --describe)",
        read=seconds,
    ),
    Option(
        name="--engine",
        choices=ENGINES,
        default="local",
        help="local: the explorer (default); z3: depth by depth, with --bound; all: both, which have to agree; spark:"
        " the explorer, on Spark",
    ),
    *SEARCH_OPTIONS,
    Option(name="--prove", help="look for proofs for any depth, and report what they rest on"),
    Option(name="--json", field="as_json", help="print one JSON object instead of text"),
    Option(name="--strict", help="count PERMITTED as violated"),
    Option(
        name="--tables",
        metavar="DIR",
        help="write the results as Parquet files, one for each search in each table of DIR",
        read=path,
        forms=frozenset({MODEL, SWEEP}),
        refusal="--tables goes with one model, or with a sweep: name it, as in: check kafka --protocol 2.1"
        " --tables DIR",
    ),
    Option(
        name="--counterexamples",
        metavar="K",
        help="find up to K counterexamples with different causes for each failing property",
        read=count,
        forms=frozenset({MODEL}),
        refusal="--counterexamples goes with one model: name it, as in: check kafka --protocol 0.10"
        " --counterexamples 3",
    ),
    Option(
        name="--out",
        metavar="DIR",
        default="counterexamples",
        help="folder for traces (default: ./counterexamples)",
        read=folder,
    ),
    Option(name="--config", metavar="FILE", help="a .properties file of Kafka", read=path, is_repeated=True),
    *(
        Option(name=f"--{role.value}", metavar="FILE", help=f"the same, of a {role.value}", read=path, is_repeated=True)
        for role in Role
    ),
    Option(
        name="--describe",
        metavar="FILE",
        help="what kafka-topics --describe or kafka-configs --describe printed; - is standard input",
        is_repeated=True,
    ),
    Option(
        name="--topic-name",
        metavar="NAME",
        help="which topic, if several are described",
        forms=frozenset({CONFIG, DESCRIBE}),
        refusal=TOPIC_NAME_ALONE,
    ),
    Option(
        name="--kafka-version",
        metavar="V",
        help="the release of the brokers, such as 0.10.2",
        forms=frozenset({CONFIG, DESCRIBE}),
        refusal="--kafka-version goes with --config FILE; for a model use --protocol",
    ),
)
