"""The forms of `check`, such as `check sweep`, each a declaration of its options and messages. Imports no search.

In:  `Options`, to refuse those that a form does not accept.
Out: `FORMS`; and requests that combine several options of a form, such as a `GraphRequest`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from isrcheck.checker.cluster.live.address import Address, read_addresses, read_listener
from isrcheck.checker.cluster.releases import Version, version_of_binaries
from isrcheck.checker.command import table
from isrcheck.checker.command.options import EVERYTHING_ELSE, Form, Options
from isrcheck.checker.resources.limits import MOST_THREADS_FOR_A_CLUSTER, SECONDS_FOR_A_CLUSTER
from isrcheck.commands.declarations import Option, alike, count, folder, path, seconds, whole_number
from isrcheck.models.messages import UsageError, escaped

# -------------------------------------------------------------------------- one model, the matrix, comparisons, mutants

ENGINE = ("--engine", "--prove")
NAME_A_MODEL = "{option} does not go with {form}; name a model, as in: check kafka {option} ..."
NAME_ONE_ALONE = (
    "{option} does not go with {form}, which compares every model; search one, as in: check published/kip_101"
)
ABOUT_ONE_MODEL = "{typed} works only with one model; name the model, as in: check kafka --protocol 2.1 {typed}"

SIMULATED = frozenset(table.OF_A_MODEL) | {option.name for option in table.SIMULATION}
SIMULATED |= {"--engine", "--memory", "--threads", "--seconds", "--no-deadlock"}
SIMULATED |= {"--strict", "--json", "--out", "--report"}
"""The options that have an effect on a simulation."""


def _refuse_for_simulation(options: Options) -> None:
    own = options.own
    if own["simulate"] is None:
        for name in ("depth", "seed", "weight"):
            if own[name] not in (None, ()):
                raise UsageError(f"--{name} goes with --simulate; add --simulate 1000, or leave --{name} out")
        return
    if own["depth"] is None:
        raise UsageError("--simulate needs --depth, the most steps of a walk, as in: --simulate 1000 --depth 100")
    if options.search.engine != "local":
        raise UsageError(
            f"--simulate does not go with --engine {options.search.engine}: walks use compiled code; leave one out"
        )
    for name in (word.partition("=")[0] for word in options.words):
        if name in options.model.reserved and name not in SIMULATED:
            raise UsageError(f"--simulate does not go with {name}, an option of searches; leave out one of them")


def _refuse_for_model(options: Options) -> None:
    _refuse_for_simulation(options)
    engine = options.search.engine
    if engine in ("z3", "all") and options.limits.depth is None:
        raise UsageError(f"--engine {engine} needs a bound, as it searches depth by depth; add --bound 6")
    if engine == "spark" and options.search.prove:
        raise UsageError("--prove does not go with --engine spark; leave out one of them")
    if engine == "z3" and options.search.prove:
        raise UsageError("--prove does not go with --engine z3, which visits no states; leave out one of them")
    if engine in ("z3", "all") and options.search.count_all:
        raise UsageError(f"--continue counts states, which Z3 cannot do: leave out --continue or --engine {engine}")
    if options.output.tables is not None and engine == "z3":
        raise UsageError("--tables counts states, which Z3 does not do: leave out --tables or --engine z3")
    if options.search.counterexamples is not None and engine != "local":
        raise UsageError(f"--counterexamples does not go with --engine {engine}; leave out one of them")


def _refuse_for_comparison(options: Options) -> None:
    if options.limits.depth is not None:
        raise UsageError(f"{options.form.name} compares whole state spaces: leave --bound out, or name one model")


def _refuse_for_mutants(options: Options) -> None:
    if options.model.target is None:
        raise UsageError(f"{table.MUTATE} needs a model, as in: check {table.MUTATE} kafka --protocol 2.1")


_WITHOUT_MODEL = dict.fromkeys(table.OF_A_MODEL, NAME_A_MODEL) | dict.fromkeys(ENGINE, ABOUT_ONE_MODEL)

_MATRIX = Form(
    name=table.MATRIX,
    module="isrcheck.checker.comparisons.matrix",
    usage={"check [--bound N]": "every generation against every property: the matrix"},
    examples=("check --bound 6",),
    refusals=_WITHOUT_MODEL,
    rest=NAME_A_MODEL,
)

_PUBLISHED = Form(
    name=table.PUBLISHED,
    module="isrcheck.checker.comparisons.published",
    usage={"check published": "published models, compared with TLC's figures"},
    refusals=_WITHOUT_MODEL | {"--report": table.NO_REPORT},
    rest=NAME_ONE_ALONE,
    refuse=_refuse_for_comparison,
)

_EXAMPLES = replace(
    _PUBLISHED,
    name=table.EXAMPLES,
    usage={"check examples/tla": "public TLA+ examples, compared with TLC's figures"},
)

_MODEL = Form(
    name=table.MODEL,
    module="isrcheck.checker.forms.model",
    usage={
        "check MODEL [--protocol P] [--bound N] ...": "one model (kafka, published/kip_101, ...)",
        "check FILE.py [--bound N] ...": "a model that you wrote, in the same language",
        "check MODEL --counterexamples K [--bound N]": "several counterexamples with different causes",
        "check MODEL --simulate N --depth D": "random walks, for bounds that are too large to search",
    },
    own=table.SIMULATION,
    goes_with=table.SIMULATE_WITH,
    examples=("check kafka --protocol 0.10 --bound 6",),
    refuse=_refuse_for_model,
)

_MUTATE = Form(
    name=table.MUTATE,
    word=table.MUTATE,
    module="isrcheck.checker.forms.mutants",
    usage={"check mutate MODEL [--bound N] ...": "remove each guard in turn: which property detects it?"},
    examples=(
        "check mutate kafka --protocol 0.10 --bound 3",
        "check mutate examples/two_phase_commit",
        "check mutate published/kip_101 --bound 3",
    ),
    as_in="check mutate kafka --protocol 2.1",
    refusals={
        **dict.fromkeys(
            (*table.FILES, table.DESCRIBE),
            "{option} does not go with mutate, which takes a model: check mutate kafka --protocol 2.1",
        ),
        **dict.fromkeys(ENGINE, "{typed} does not go with mutate: mutants are searched explicitly; leave {option} out"),
        **dict.fromkeys(
            ("--continue", "--strict"),
            "{option} does not go with mutate: each search ends at the first worse verdict; leave {option} out",
        ),
        "--report": table.NO_REPORT,
    },
    refuse=_refuse_for_mutants,
)


# ------------------------------------------------------------------------------------------------------------ a cluster

_ABOUT_A_MODEL = "{typed} does not go with {form}; name a model, as in: check kafka {typed}"
_FILES_SAY = "{option} does not go with {form}: the files configure the cluster; leave {option} out"


def _refuse_for_cluster(options: Options) -> None:
    if options.model.target is not None:
        raise UsageError(
            f"{options.form.name} is for a cluster, {options.model.target} is a model: give only one of them"
        )
    if options.cluster.topic_names and not options.cluster.describe:
        raise UsageError(table.TOPIC_NAME_ALONE)


def _refuse_for_doctor(options: Options) -> None:
    for word in options.model.rest:
        if word.startswith("--"):
            name, close = word.partition("=")[0], alike(word, options.model.reserved)
            cure = f"; did you mean {close}?" if close is not None else "; see isrcheck doctor --help"
            raise UsageError(f"{name} is no option of doctor{cure}")
    live = live_request_of(options)
    if live is not None or options.cluster.describe:
        for role, file in options.cluster.files:
            if role == "topic" and not file.exists():
                name = escaped(str(file))
                raise UsageError(f"--topic {name}: no such file; to select a topic, use --topic-name {name}")
    if live is None and options.model.target is None and not options.cluster.files and not options.cluster.describe:
        raise UsageError("doctor needs a file, as in: isrcheck doctor server.properties topics.txt")
    alerts: Path | None = options.own["alerts"]
    compares = [option for option in ("--compare", "--compare-with") if options.own[option[2:].replace("-", "_")]]
    if len(compares) > 1:
        raise UsageError("--compare-with does not go with --compare; give one of them")
    if compares:
        is_watched = live is not None and live.every is not None
        given = {"--alerts": alerts, "--report": options.own.get("report")}
        for option, value in (given | {"--watch": is_watched}).items():
            if value:
                raise UsageError(f"{option} does not go with {compares[0]}; leave one of them out")
    if alerts is not None:
        refuse_existing(alerts, force=options.own["force"], option="--alerts")
    if options.own["force"] and alerts is None and (live is None or live.save is None):
        raise UsageError("--force has no effect without --alerts FILE or --save FILE; leave --force out")


@dataclass(frozen=True)
class LiveRequest:
    """The options for a running cluster: which brokers to ask, as which client, and what to do with the answers."""

    addresses: tuple[Address, ...]
    client: Path | None
    """The client's property file, with the settings of TLS and SASL."""
    timeout: float
    """The longest wait in seconds for each answer."""
    save: Path | None
    """The file in which the reading is kept."""
    every: float | None
    """After how many seconds the cluster is read again; None: it is read once."""
    metrics: Address | None
    """The address on which the results are served to Prometheus."""


_OF_LIVE = ("command_config", "timeout", "save", "watch", "metrics_port")
"""The values of the options that need --bootstrap-server."""

MOST_SECONDS_FOR_AN_ANSWER = 10.0
SECONDS_BETWEEN_READINGS = 30.0


def live_request_of(options: Options) -> LiveRequest | None:
    """Return the options for a running cluster as a request; None without them. Raises UsageError if they conflict."""
    own = options.own
    if own["bootstrap_server"] is None:
        for name in _OF_LIVE:
            if own[name] is not None:
                raise UsageError(f"--{name.replace('_', '-')} goes with --bootstrap-server HOST:PORT; add that option")
        return None
    save: Path | None = own["save"]
    if save is not None:
        refuse_existing(save, force=own["force"], option="--save")
    every = own["watch"] or (None if own["metrics_port"] is None else SECONDS_BETWEEN_READINGS)
    if every is not None:
        single = {"--save": save, "--alerts": own["alerts"], "--report": own.get("report")}
        single["--details"] = options.output.details
        for option, value in single.items():
            if value:
                raise UsageError(f"{option} goes with a single reading; leave out {option}, --watch and --metrics-port")
    return LiveRequest(
        own["bootstrap_server"],
        own["command_config"],
        own["timeout"] or MOST_SECONDS_FOR_AN_ANSWER,
        save,
        every,
        own["metrics_port"],
    )


def _release(option: str, text: str) -> Version:
    try:
        return version_of_binaries(text)
    except ValueError as error:
        raise UsageError(f"{option} {escaped(text)}: {error}") from None


_LIVE = "a running cluster"

_LIVE_OPTIONS = (
    Option(
        "--bootstrap-server HOST:PORT",
        "ask the brokers of a running cluster; several addresses are separated by commas",
        read_addresses,
        group=_LIVE,
    ),
    Option("--command-config FILE", "a client's property file: security.protocol, ssl.*, sasl.*", path, group=_LIVE),
    Option(
        "--timeout SECONDS",
        f"the longest wait for each answer of a broker (default: {MOST_SECONDS_FOR_AN_ANSWER:g})",
        seconds,
        group=_LIVE,
    ),
    Option("--save FILE", "keep what was read in FILE; isrcheck doctor FILE gives the answer again", path, group=_LIVE),
    Option("--watch SECONDS", "read the cluster again and again, until Ctrl-C", seconds, group=_LIVE),
    Option(
        "--metrics-port PORT",
        "watch, and serve the results to Prometheus on this port of this machine, or on HOST:PORT",
        read_listener,
        group=_LIVE,
    ),
)


_CONFIG = Form(
    name=table.CONFIG,
    module="isrcheck.checker.answers.doctor",
    usage={"check --config FILE [--config FILE ...]": "Kafka's .properties files -> can this cluster lose a record?"},
    examples=("check --config models/examples/durable_topic.properties --kafka-version 2.1",),
    refusals=dict.fromkeys(("--protocol", "--switch", "--swap"), _FILES_SAY)
    | dict.fromkeys(("--engine", "--prove"), _ABOUT_A_MODEL)
    | dict.fromkeys(("--continue", "--no-deadlock"), "{option} does not go with {form}; leave {option} out"),
    rest=_FILES_SAY,
    refuse=_refuse_for_cluster,
    seconds=SECONDS_FOR_A_CLUSTER,
    most_threads=MOST_THREADS_FOR_A_CLUSTER,
    opens=False,
    answer_stands=True,
)

_DESCRIBE = replace(
    _CONFIG,
    name=table.DESCRIBE,
    usage={
        "check --describe FILE [--config FILE ...]": "output of kafka-topics --describe -> the answer for every topic"
    },
    examples=(),
)

_DOCTOR = replace(
    _CONFIG,
    name=table.DOCTOR,
    word=table.DOCTOR,
    usage={
        "isrcheck doctor FILE [FILE ...]": "can this cluster lose a record, and what to change? (files of both kinds)",
        "isrcheck doctor --bootstrap-server HOST:PORT [FILE ...]": "the same for a running cluster, which is only read",
    },
    examples=(
        "check doctor server.properties topic.properties producer.properties --kafka-version 3.9",
        "check doctor topics.txt --fail-on can-lose,defects,unknown",
        "check doctor --bootstrap-server broker1:9092 --command-config client.properties --save cluster.json",
    ),
    as_in="isrcheck doctor server.properties",
    own=(
        Option("--alerts FILE", "doctor: write Prometheus alerting rules for what was found to FILE", path),
        Option(
            "--compare RELEASE",
            "doctor: what changes if the brokers become this release: findings that are fixed, new, unchanged",
            _release,
        ),
        Option(
            "--compare-with FILE",
            "doctor: what changes if the cluster becomes as these files say; give the option for each FILE",
            path,
            is_repeated=True,
        ),
        Option("--force", "doctor: replace the FILE of --alerts or --save if it exists"),
        *_LIVE_OPTIONS,
    ),
    goes_with="{option} goes with doctor, as in: isrcheck doctor {option} ...",
    files="files that configure or describe the cluster (docs/your_cluster.md lists them); - is standard input",
    rest="",
    refuse=_refuse_for_doctor,
)


# ---------------------------------------------------------------------------------------------------------------- graph

GRAPH = "graph"
"""The first argument that selects this form."""

MOST_NODES = {".html": 300, ".dot": 20_000, ".graphml": 20_000}
"""The most nodes in each type of file, unless --at-most is given: as many as a person, or a graph tool, can handle."""

GRAPH_OF_TWO_PHASE_COMMIT = f"check {GRAPH} examples/two_phase_commit --bound 3 -o states.html"
GRAPH_OF_KAFKA = f"check {GRAPH} kafka --protocol 0.10 --bound 2 -o states.html"


@dataclass(frozen=True)
class GraphRequest:
    """The options of `check graph`: the file to write, the fields to `fold` (states with equal values of these fields
    become one node), and the maximum number of nodes.

    With `loops`, steps between states of one node are shown; with `force`, an existing file is replaced.
    """

    path: Path
    fold: tuple[str, ...]
    most: int
    loops: bool
    force: bool


def _graph_fields(_option: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError("--fold names no field; write it as in --fold phase,decision")
    return names


def _graph_file(_option: str, text: str) -> Path:
    path = Path(text)
    if path.suffix not in MOST_NODES:
        raise UsageError(f"-o {path}: not a known type of file; the name must end in one of: {', '.join(MOST_NODES)}")
    return path


_GRAPH_OPTIONS = (
    Option("-o FILE", "graph: the file to write; .html, .dot or .graphml", _graph_file, destination="output"),
    Option("--fold FIELD,FIELD", "graph: show states with equal values of these fields as one node", _graph_fields),
    Option(
        "--at-most N",
        "graph: the maximum number of nodes"
        f" (default: {MOST_NODES['.html']} in a page, {MOST_NODES['.dot']:,} otherwise)",
        count,
    ),
    Option("--loops", "graph: show the steps within a folded node"),
    Option("--force", "graph: replace FILE if it exists"),
)


def graph_request_of(options: Options) -> GraphRequest:
    """Return the options of `check graph` as a request. Raises UsageError if no file is named or options conflict."""
    own = options.own
    path: Path | None = own["output"]
    if path is None:
        raise UsageError(f"{GRAPH} has no file to write to; name a file with -o, as in: {GRAPH_OF_TWO_PHASE_COMMIT}")
    fold: tuple[str, ...] = own["fold"] or ()
    if own["loops"] and not fold:
        raise UsageError("--loops has no effect without --fold FIELD; add --fold FIELD, or leave --loops out")
    refuse_existing(path, force=own["force"])
    return GraphRequest(path, fold, own["at_most"] or MOST_NODES[path.suffix], own["loops"], own["force"])


def refuse_existing(path: Path, *, force: bool, option: str = "-o") -> None:
    """Raise UsageError, before a search begins, if the file cannot be written, or exists and `force` is not set."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise UsageError(f"{option} {path}: not a regular file; give another name")
    if path.exists() and not force:
        raise UsageError(f"{option} {path}: the file exists; give another name, or replace the file with --force")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; create the folder first")


def _refuse_for_graph(options: Options) -> None:
    graph_request_of(options)
    if options.model.target is None or (options.model.target == "published" and options.model.protocol is None):
        raise UsageError(f"{GRAPH} takes one model, as in: {GRAPH_OF_KAFKA}")


_GRAPH = Form(
    name=GRAPH,
    word=GRAPH,
    module="isrcheck.checker.graph.files",
    usage={"check graph MODEL [--bound N] -o FILE": "its states and steps as a graph: .html, .dot or .graphml"},
    examples=(
        GRAPH_OF_KAFKA,
        GRAPH_OF_TWO_PHASE_COMMIT.replace("states.html", "states.dot"),
        f"check {GRAPH} examples/two_phase_commit --fold decision -o folded.html",
    ),
    as_in=GRAPH_OF_KAFKA,
    own=_GRAPH_OPTIONS,
    goes_with=f"{{option}} goes with {GRAPH}, as in: {GRAPH_OF_TWO_PHASE_COMMIT}",
    takes=frozenset({"--bound", *table.OF_A_MODEL, "--memory", "--seconds", "--no-deadlock", "--json"}),
    refusals={
        EVERYTHING_ELSE: (
            f"{{typed}} does not go with {GRAPH}, which draws the states of one model: leave the option out"
        )
    },
    refuse=_refuse_for_graph,
)

# ---------------------------------------------------------------------------------------------------------------- sweep

SWEPT = "kafka"
"""The model of a sweep if the command names no model."""

NOT_SWEPT = f"{{typed}} does not go with {table.SWEEP}, which searches one model explicitly; leave the option out"


def _refuse_for_sweep(options: Options) -> None:
    if not options.own["vary"]:
        raise UsageError(
            f"{table.SWEEP} needs --vary, as in: check {table.SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2"
        )
    if options.search.engine not in ("local", "spark"):
        raise UsageError(NOT_SWEPT.format(typed=f"--engine {options.search.engine}"))


_SWEEP = Form(
    name=table.SWEEP,
    word=table.SWEEP,
    module="isrcheck.checker.sweep.table",
    usage={"check sweep [MODEL] --vary KEY=V1,V2,... [--vary ...] [--bound N] ...": "a table of many configurations"},
    examples=(
        f"check {table.SWEEP} kafka --vary acks=0,1,all --bound 4",
        f"check {table.SWEEP} --vary acks=0,1,all --vary min.insync.replicas=1,2 --bound 4",
        f"check {table.SWEEP} --vary protocol=0.10,2.1 --bound 4 --out sweeps",
    ),
    as_in=f"check {table.SWEEP} kafka --vary acks=0,1,all",
    own=(
        Option(
            "--vary KEY=V1,V2",
            "sweep: an entry, a switch, a Kafka key or `protocol`, and its values; one --vary for each key",
            is_repeated=True,
        ),
    ),
    goes_with=f"--vary goes with {table.SWEEP}, as in: check {table.SWEEP} kafka --vary {{value}}",
    refusals=dict.fromkeys(
        (*table.FILES, table.DESCRIBE),
        f"{{option}} does not go with {table.SWEEP}, which searches one model; leave the option out",
    )
    | {"--prove": NOT_SWEPT},
    refuse=_refuse_for_sweep,
    usual_target=SWEPT,
)

# ------------------------------------------------------------------------------------------------------------- failures


def _refusals_of_cases(form: str, *, configurations: str, bounds: str, searched: str, report: str) -> dict[str, str]:
    return {
        **dict.fromkeys((*table.FILES, table.DESCRIBE), f"{{option}} does not go with {form}, {configurations}"),
        **dict.fromkeys((*table.OF_A_MODEL, "--bound"), f"{{option}} does not go with {form}{bounds}"),
        **dict.fromkeys(
            ("--engine", "--prove", "--continue", "--counterexamples"),
            f"{{typed}} does not go with {form}, {searched}; leave {{option}} out",
        ),
        "--strict": f"--strict does not go with {form}: what is permitted is recorded; leave --strict out",
        "--tables": table.TABLES_WITH,
        "--topic-name": table.TOPIC_NAME_ALONE,
        "--report": report,
    }


_FAILURES = Form(
    name=table.FAILURES,
    word=table.FAILURES,
    module="isrcheck.checker.failures.run",
    usage={"check failures [ID ...]": "the library of known failures: each is searched, with its mistake and repaired"},
    examples=(
        "check failures KIP-101 KAFKA-14402",
        "check failures --kafka-version 0.10.2",
        "check failures 8.12 --page failures",
    ),
    as_in="check failures KIP-101",
    own=(Option("--page DIR", "failures: write a page for each failure, and an index, to DIR", folder),),
    goes_with="--page goes with failures, as in: check failures --page {value}; a page of a trace: trace page FILE -o"
    " OUT.html",
    refusals=_refusals_of_cases(
        table.FAILURES,
        configurations="which have configurations of their own",
        bounds=": each failure has bounds of its own; leave {option} out",
        searched="which are searched explicitly",
        report="--report does not go with failures, which write pages of their own; use --page DIR",
    ),
)

# --------------------------------------------------------------------------------------------------------------- family

_FAMILY = Form(
    name="family",
    word="family",
    module="isrcheck.checker.comparisons.family",
    usage={"check family [NAME ...]": "small models around replication: each case against its recorded verdicts"},
    examples=("check family isr_by_lag", "check family placement cap", "check family isr_propagation --json"),
    as_in="check family isr_by_lag",
    refusals=_refusals_of_cases(
        "family",
        configurations="whose models have cases of their own",
        bounds=", whose cases are recorded; search the model itself, as in: check isr_by_lag {option} ...",
        searched="whose cases are searched explicitly",
        report="--report goes with the matrix, one model, a sweep or a cluster; leave --report out",
    ),
)

# ------------------------------------------------------------------------------------------------------ compare-schemes

COMPARE_SCHEMES = "compare-schemes"
"""The first argument that selects this form."""

MOST_REPLICAS = 7
"""The most replicas that the model `quorum_schemes` can have."""

COMPARE_TWO = f"check {COMPARE_SCHEMES} --most-replicas 3"

NO_MODEL = f"{{option}} does not go with {COMPARE_SCHEMES}, which has its own model; as in: {COMPARE_TWO}"


def _new_file(option: str, text: str) -> Path:
    path = Path(text)
    if not path.parent.is_dir() or path.is_dir():
        raise UsageError(f"{option} {path}: not the name of a file in a folder that exists; give another name")
    if path.exists() or path.is_symlink():
        raise UsageError(f"{option} {path}: exists already and is not overwritten; give another name")
    return path


def _refuse_for_schemes(options: Options) -> None:
    if options.model.target is not None:
        raise UsageError(NO_MODEL.format(option=options.model.target))


_SCHEMES = Form(
    name=COMPARE_SCHEMES,
    word=COMPARE_SCHEMES,
    module="isrcheck.checker.comparisons.schemes",
    usage={"check compare-schemes": "majority against ISR: failures tolerated, answers waited for"},
    examples=(
        COMPARE_TWO,
        f"check {COMPARE_SCHEMES} --most-replicas 2 --json",
        f"check {COMPARE_SCHEMES} --most-replicas 2 --csv schemes.csv",
    ),
    as_in=COMPARE_TWO,
    own=(
        Option(
            "--most-replicas N",
            f"compare-schemes: 1 to N replicas (default: {MOST_REPLICAS}, which is the most)",
            whole_number(f"not a number of replicas; give 1 to {MOST_REPLICAS}", least=1, most=MOST_REPLICAS),
        ),
        Option("--csv FILE", "compare-schemes: write the table to FILE, too", _new_file),
    ),
    goes_with=f"{{option}} goes with {COMPARE_SCHEMES}, as in: check {COMPARE_SCHEMES} {{option}} {{value}}",
    takes=frozenset({"--memory", "--seconds", "--threads", "--json"}),
    refusals={EVERYTHING_ELSE: NO_MODEL},
    rest=NO_MODEL,
    refuse=_refuse_for_schemes,
)

# ---------------------------------------------------------------------------------------------------------------- atlas

ATLAS = "atlas"
WRITE_ATLAS = f"isrcheck {ATLAS} -o DIR"


def _refuse_for_atlas(options: Options) -> None:
    if options.model.target is not None or options.model.rest:
        word = options.model.target or options.model.rest[0]
        if word.startswith("-"):
            raise UsageError(f"{word}: {ATLAS} has no such option; see isrcheck {ATLAS} --help")
        raise UsageError(f"{word}: {ATLAS} takes no model; leave it out, as in: {WRITE_ATLAS}")
    if options.own["output"] is None:
        raise UsageError(f"{ATLAS} writes a folder of pages; name the folder with -o, as in: {WRITE_ATLAS}")


_ATLAS = Form(
    name=ATLAS,
    word=ATLAS,
    module="isrcheck.checker.atlas.folder",
    usage={WRITE_ATLAS: "the recorded answers for every combination of settings, as pages with filters"},
    examples=("check atlas -o atlas", "check atlas -o atlas_of_kafka", "check atlas -o public/atlas"),
    as_in=WRITE_ATLAS,
    own=(
        Option(
            "-o DIR",
            f"{ATLAS}: the folder for the pages; those of an earlier atlas are replaced",
            folder,
            destination="output",
        ),
    ),
    refusals={EVERYTHING_ELSE: f"{{typed}} does not go with {ATLAS}, which searches nothing; leave the option out"},
    refuse=_refuse_for_atlas,
    opens=False,
)

FORMS = (
    _MATRIX,
    _PUBLISHED,
    _EXAMPLES,
    _MODEL,
    _MUTATE,
    _GRAPH,
    _SWEEP,
    _FAILURES,
    _FAMILY,
    _SCHEMES,
    _ATLAS,
    _CONFIG,
    _DESCRIBE,
    _DOCTOR,
)
"""All forms, in the order of the help."""
