"""What a form of `check` declares, and how a command line of `check` is read.

In:  the words of the command line, the declared options (table.py) and forms (forms.py).
Out: `Options`, or a UsageError.

A form is one way to use `check`: the matrix, one model, `check graph`, ... Each configuration entry of a model is an
option, so the words that are not options of `check` are read a second time when the model is known.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from isrcheck.checker.command import table
from isrcheck.checker.disk.request import MINUTES, DiskRequest
from isrcheck.checker.resources.limits import Limits, machine_memory
from isrcheck.checker.spark.request import ENGINE, Mode, SparkOptions, SparkRequest
from isrcheck.commands.declarations import MODEL, ModelArguments, Only, Option, Parser, alike
from isrcheck.models import registry
from isrcheck.models.messages import UsageError

CHECKER = Path(__file__).parents[1]

DESCRIPTION = "Can this protocol, under this configuration, lose or diverge a record that somebody was promised?"

ENTRIES = (
    "Every configuration entry of a model is an option: --replicas 3, --acks all, or --set NAME=VALUE;"
    " --switch NAME=on|off."
)

EXIT_CODES = """\
exit codes: 0 nothing promised is broken; 12 violated; 11 deadlock;
13 a state is stuck, or what must happen never does;
10 an expected figure or counterexample was not found; 3 undecided; 2 bad input; 130 interrupted"""

Part = TypeVar("Part")

EVERYTHING_ELSE = "*"
"""A key in the `refusals` of a form: every option that the form does not take."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to use `check`: its options, its messages, and the module whose function `run` executes it."""

    name: str
    """The name of the form in messages."""
    module: str
    """The full name of the module, which is imported only if the form is chosen."""
    examples: tuple[str, ...] = ()
    """Examples for the help, each a whole command."""
    word: str = ""
    """The first argument that selects the form; empty: other arguments select it."""
    usage: Mapping[str, str] = field(default_factory=dict)
    """Lines of the help: how the form is typed, and what it does."""
    as_in: str = ""
    """The example that messages show."""
    own: tuple[Option, ...] = ()
    """The options that only this form accepts."""
    goes_with: str = ""
    """The message for these options with any other form."""
    takes: frozenset[str] = frozenset()
    """The other options that it accepts, if `refusals` has a message for everything else."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """The error message for an option by its name, and by `EVERYTHING_ELSE` for all that are neither in `takes` nor in
    `own`. A message may contain {option} (--engine), {typed} (--engine z3), {value} (z3) and {form}."""
    rest: str = ""
    """The message for options of a model, if the form takes no model."""
    refuse: Callable[[Options], None] = lambda options: None
    """Raises UsageError for values that the form does not accept."""
    usual_target: str | None = None
    """The model, if none is named."""
    seconds: float | None = None
    """The time limit of the whole command, if none is given."""
    most_threads: int = 1
    """The most threads, of which there is one for each core, if no number is given."""
    opens: bool = True
    """Whether `run` gets a session; otherwise, it gets an `OpenSession`."""
    files: str = ""
    """The help text of the arguments, if they are files and not a model."""
    answer_stands: bool = False
    """Whether the exit code is that of the answer even if a trace or a report could not be written."""

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that only this form accepts."""
        return tuple(option._replace(only=Only(frozenset({self.name}), self.goes_with)) for option in self.own)

    @property
    def folder(self) -> Path:
        """The folder of the form's module."""
        return CHECKER.joinpath(*self.module.split(".")[2:-1])

    def refusal_of(self, option: Option) -> str:
        """Return the error message for a command with this form and option; empty if the form accepts the option."""
        if option.name in self.refusals:
            return self.refusals[option.name]
        own = {one.name for one in self.own}
        if EVERYTHING_ELSE in self.refusals and option.name not in self.takes | own:
            return self.refusals[EVERYTHING_ELSE]
        return option.only.refusal if option.only is not None and self.name not in option.only.forms else ""


@dataclass(frozen=True)
class OpenSession:
    """Opens a search session only when a search needs it, because importing the session's module takes a while.

    `open` takes the keywords of SearchSession that the command line does not determine, and returns a session; `began`
    is the start of the command by time.monotonic().
    """

    open: Callable[..., Any]
    began: float


# -------------------------------------------------------------------------------------------------- the parsed options


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options that say how a model is searched."""

    engine: str
    """`local`, `z3`, `all` or `spark`."""
    count_all: bool
    """Whether all violating states are counted, so that the search continues after the first."""
    prove: bool
    """Whether proofs for any depth are looked for."""
    symmetry: bool
    """Whether only one of several states that differ only in the names of elements is visited."""
    no_reduction: bool
    """Whether every state is visited."""
    counterexamples: int | None
    """How many counterexamples with different causes are looked for; None: one."""
    spark: SparkRequest
    """The options of a search on Spark, even without such a search."""
    disk: DiskRequest | None
    """The search on disk; None: in memory."""


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The options that say what is printed and written."""

    folder: Path
    """The folder for traces."""
    tables: Path | None
    """The folder for Parquet tables."""
    as_json: bool
    """Whether one JSON object is printed instead of text."""
    details: bool
    """Whether every table and count is printed."""
    strict: bool
    """Whether PERMITTED failures count as violations."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options about a cluster: Kafka's own files, outputs of its tools, versions, and how to answer."""

    files: tuple[tuple[str | None, Path], ...]
    """The properties files, each with the role of its reader, such as broker (None for `--config`)."""
    describe: tuple[str, ...]
    """Files with the output of Kafka's tools."""
    topic_names: tuple[str, ...]
    """The topics in question; empty: all."""
    kafka_version: str | None
    """The release of the brokers."""
    metadata_version: str | None
    """The metadata.version of a KRaft cluster."""
    fresh: bool
    """Whether the answer is searched, although it is recorded."""
    fail_on: frozenset[str] | None
    """The kinds of answers with which the command fails; None: as usual."""
    lose: tuple[str, ...]
    """Brokers or racks that are lost for good, one text after the other."""
    lose_power: tuple[str, ...]
    """Brokers or racks that lose power at once."""
    restart_all: bool
    """Whether all brokers restart at once."""
    roll: bool
    """Whether the order of a rolling restart is asked for."""
    racks: tuple[tuple[str, tuple[int, ...]], ...]
    """Racks, each with the ids of its brokers."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The parsed command line of `check`."""

    words: tuple[str, ...]
    """The whole command."""
    form: Form
    """The chosen form."""
    model: ModelArguments
    """The model, and the words that may be options of the model."""
    limits: Limits
    """The limits of a search. Defaults: half of the machine's memory, one thread, no time limit, any depth; the form
    may have a default time limit and more threads."""
    search: SearchOptions
    output: OutputOptions
    cluster: ClusterOptions
    own: Mapping[str, Any]
    """The values of the options that only one form or one package declares."""


# ------------------------------------------------------------------------------------------------------------ reading


def parser_of(forms: Sequence[Form], word: str = "") -> Parser:
    """Return the parser of `check`; if `word` selects a form, a parser with only the options that this form accepts."""
    form = next((form for form in forms if form.word == word), None) if word else None
    shown = [form] if form else forms
    usage = [line for one in shown for line in one.usage.items()]
    examples = form.examples if form else [one.examples[0] for one in forms if one.examples][:3]
    parser = Parser(
        prog="check",
        usage="\n".join(f"{line:<43} {what}" for line, what in usage),
        epilog="\n".join(("examples:", *(f"  {one}" for one in examples), "", ENTRIES, EXIT_CODES)),
        allow_abbrev=False,
        description=DESCRIPTION,
    )
    words = MODEL if form is None or not form.files else Option("[FILE ...]", form.files, destination="target")
    options = [option for option in _options(forms) if form is None or not form.refusal_of(option)]
    parser.add_options([words, *options])
    return parser


def _options(forms: Sequence[Form]) -> list[Option]:
    own: dict[str, Option] = {}
    for option in (option for form in forms for option in form.options):
        other = own.setdefault(option.name, option)
        if other is not option:  # two forms declare it, each with a meaning and a reader of its own (such as -o)
            assert other.only is not None
            assert option.only is not None
            only = Only(other.only.forms | option.only.forms, other.only.refusal)
            own[option.name] = other._replace(only=only, help=f"{other.help}; {option.help}")
    reports = table.REPORTS if (CHECKER / "reports").is_dir() else ()
    return [*table.OPTIONS, *own.values(), *reports]


def read_options(words: Sequence[str], forms: Sequence[Form]) -> Options:
    """Read the command line. Raises UsageError if an option is unknown, conflicts, or belongs to another form."""
    whole = ("check", *words)
    chosen = next((form for form in forms if form.word and list(words[:1]) == [form.word]), None)
    if chosen is not None:
        words = words[1:]
        if not {"-h", "--help"}.isdisjoint(words):
            parser_of(forms, chosen.word).parse_known_args(words)
    parser = parser_of(forms)
    typed, rest = parser.parse_known_args(words)
    taken = [pair for pair in pairwise(words) if pair[1] == typed.target and pair[0] in rest and pair[0][:2] == "--"]
    if taken or typed.target in (None, "published"):
        accepted = parser if chosen is None else parser_of(forms, chosen.word)
        takes_model = chosen is None or (chosen.opens and not chosen.files)
        model = "published" if typed.target == "published" else "kafka"
        _refuse_misspelt(rest, accepted.options(), model if takes_model else None)
    if chosen is not None and chosen.usual_target is not None and (taken or typed.target is None):
        typed, rest = parser.parse_known_args([chosen.usual_target, *words])
    elif taken:
        option, value = taken[0]
        form = chosen or _form_of(forms, typed)
        if form.name in (table.CONFIG, table.DESCRIBE) or (chosen is not None and form.rest):
            raise UsageError(form.rest.format(option=option, form=form.name))
        raise UsageError(f"{option} {value}: name the model first, as in: check kafka {option} {value}")
    form = chosen or _form_of(forms, typed)
    for late in forms:
        if late.word and late.word in (typed.target, *rest):
            raise UsageError(f"{late.word} must be the first argument, as in: {late.as_in}")
    _refuse_others(form, _options(forms), typed, rest)
    _refuse_misspelt_form(typed.target, forms)
    own_options = {option.name: option for option in form.options}
    values = {option.field: own_options.get(option.name, option).value(typed) for option in _options(forms)}
    reserved = tuple(word for word in parser.options() if word.startswith("--"))
    spark, disk = _spark_request(values), _disk_request(values)
    roles = ((role, file) for role in table.ROLES for file in values.pop(role))

    def part(kind: type[Part], **more: Any) -> Part:
        named = {name: values.pop(name) for name in kind.__annotations__ if name in values}
        return kind(**named, **more)

    options = Options(
        words=whole,
        form=form,
        model=part(ModelArguments, command="check", reserved=reserved, target=typed.target, rest=tuple(rest)),
        limits=Limits(
            depth=values.pop("bound"),
            memory=values.pop("memory") or machine_memory() // 2,
            seconds=values.pop("seconds") or form.seconds,
            threads=values.pop("threads") or min(os.cpu_count() or 1, form.most_threads),
            deadlock=not values.pop("no_deadlock"),
        ),
        search=part(SearchOptions, spark=spark, disk=disk),
        output=part(OutputOptions),
        cluster=part(ClusterOptions, files=(*((None, file) for file in values.pop("config")), *roles)),
        own=values,
    )
    form.refuse(options)
    return options


def _refuse_misspelt(rest: Sequence[str], accepted: Sequence[str], model: str | None) -> None:
    """Raise UsageError for an unknown option that resembles an option of the form (`accepted`) or of `model`. `model`
    is the default model (None: the form takes no model). If the command names a model, misspelt options are found
    later, when the options of that model are read."""
    if not any(word.startswith("--") for word in rest):
        return
    entries = {} if model is None else registry.load(model)[0].entries
    own = [entry.option for entry in entries.values() if entry.option is not None]
    for word in rest:
        close = alike(word, [*accepted, *own]) if word.startswith("--") else None
        if close is not None and close != word.partition("=")[0]:
            raise UsageError(f"there is no option {word.partition('=')[0]}; did you mean {close}?")


def _refuse_misspelt_form(target: str | None, forms: Sequence[Form]) -> None:
    close = alike(target, [form.word for form in forms if form.word]) if target is not None else None
    if target is None or close is None or target.endswith(".py") or Path(target).exists() or target in registry.names():
        return
    raise UsageError(f"there is no model and no form {target} of check; did you mean {close}?")


def _form_of(forms: Sequence[Form], typed: argparse.Namespace) -> Form:
    if typed.config or any(getattr(typed, role) for role in table.ROLES):
        name = table.CONFIG
    elif typed.describe:
        name = table.DESCRIBE
    elif typed.target is None:
        name = table.MATRIX
    elif typed.target == "published" and typed.protocol is None:
        name = table.PUBLISHED
    elif typed.target == "examples/tla":
        name = table.EXAMPLES
    else:
        name = table.MODEL
    return next(form for form in forms if form.name == name)


def _refuse_others(form: Form, options: Sequence[Option], typed: argparse.Namespace, rest: Sequence[str]) -> None:
    for option in options:
        message = form.refusal_of(option) if option.is_given(typed) else ""
        if message:
            spelled = option.spelled(typed)
            value = spelled.partition(" ")[2]
            raise UsageError(message.format(option=option.name, typed=spelled, value=value, form=form.name))
    if form.rest and rest:
        raise UsageError(form.rest.format(option=" ".join(rest), form=form.name))


# ------------------------------------------------------------------------------------------- options of single engines


def read_session_options(values: Mapping[str, Any]) -> SparkOptions:
    """Return the options of the Spark session. Raises UsageError if there are any without `--engine spark`."""
    _require_spark(values, table.SPARK_SESSION)
    return SparkOptions(values["master"], values["spark_conf"])


def _require_spark(values: Mapping[str, Any], options: Sequence[Option]) -> None:
    for option in options:
        if values[option.field] not in (None, ()) and values["engine"] != ENGINE:
            raise UsageError(
                f"{option.name} needs --engine {ENGINE}; add --engine {ENGINE}, or leave {option.name} out"
            )


def _spark_request(values: dict[str, Any]) -> SparkRequest:
    """Move the options of a search on Spark from `values` to a request. Raises UsageError if options conflict."""
    _require_spark(values, table.SPARK)
    if values["engine"] == ENGINE and values["threads"] is not None:
        raise UsageError(
            f"--threads does not go with --engine {ENGINE}, which uses Spark's cores; leave out one of them"
        )
    mode = Mode(values.pop("spark_mode") or Mode.PARTS)
    split_depth, checkpoint = values.pop("split_depth"), values.pop("checkpoint")
    if split_depth is not None and mode is not Mode.PARTS:
        raise UsageError("--split-depth does not go with --spark-mode search; leave out one of them")
    if checkpoint is not None and mode is not Mode.SEARCH:
        raise UsageError("--checkpoint needs --spark-mode search; add that option, or leave --checkpoint out")
    session = SparkOptions(values.pop("master"), values.pop("spark_conf"))
    return SparkRequest(mode, split_depth, session, checkpoint)


def _disk_request(values: dict[str, Any]) -> DiskRequest | None:
    """Move the options of a search on disk from `values` to a request, if any. Raises UsageError if they conflict."""
    where, resumed, interval = (values.pop(field) for field in ("disk", "resume", "checkpoint_minutes"))
    if where is None and resumed is None:
        if interval is not None:
            raise UsageError("--checkpoint-minutes needs --disk DIR; add --disk DIR, or leave --checkpoint-minutes out")
        return None
    if where is not None and resumed is not None:
        raise UsageError("--disk does not go with --resume, which names the folder of the search; leave --disk out")
    option = "--disk" if resumed is None else "--resume"
    if values["engine"] != "local":
        raise UsageError(f"{option} does not go with --engine {values['engine']}; leave out one of them")
    if values["threads"] not in (None, 1):
        raise UsageError(f"{option} searches on one thread; leave --threads out")
    for other in ("prove", "counterexamples", "tables"):
        if values[other] not in (None, False):
            raise UsageError(f"--{other} needs states in memory; leave out --{other} or {option}")
    return DiskRequest(where or resumed, resumed is not None, MINUTES if interval is None else interval)
