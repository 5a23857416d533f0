"""The declaration of a form of `check`, and the options that were read from the command line.

In:  nothing.
Out: `Form` and `Options`.

A form is one way to use `check`: the matrix, one model, `check graph`, ... A package that adds a form declares the form
in its module `command`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isrcheck.checker.command.option import Option
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.kafka_settings.keys import Role
from isrcheck.checker.resources.limits import Limits, machine_memory
from isrcheck.checker.spark.request import SparkRequest

EVERYTHING_ELSE = "*"
"""A key in the `refusals` of a form: every option that the form does not take."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of the command. `word` is the first argument that selects the form (empty: other arguments select it);
    the function `run` in `module` runs the form, and `module` is imported only when the form is selected. `run` gets
    the options and a session, or, without `opens`, an `OpenSession`. `own` are the options that only this form accepts;
    `goes_with` is the message for these options with any other form.

    `refusals` maps the name of an option to an error message, and `EVERYTHING_ELSE` to the message for all options
    that are neither in `takes` nor in `own`. A message may contain {option} (--engine), {typed} (--engine z3), {value}
    (z3) and {form}. `rest` is the message for options of a model, if the form takes no model. `refuse` raises
    UsageError for values that the form does not accept. `usual_target` is the default model, `seconds` the default
    time limit. `files` is the help text of the arguments, if they are files and not a model. With `answer_stands`, the
    exit code is that of the answer, also if a trace or a report could not be written. `usage` and `examples` are
    shown in the help, `as_in` is the example that messages show.
    """

    name: str
    module: str
    word: str = ""
    usage: tuple[tuple[str, str], ...] = ()
    examples: tuple[str, ...] = ()
    as_in: str = ""
    own: tuple[Option, ...] = ()
    goes_with: str = ""
    takes: frozenset[str] = frozenset()
    refusals: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    rest: str = ""
    refuse: Callable[[Options], None] = lambda options: None
    usual_target: str | None = None
    seconds: float | None = None
    opens: bool = True
    files: str = ""
    answer_stands: bool = False

    @property
    def takes_model(self) -> bool:
        """Whether a model, and so its options, can follow the word: not if files follow, or nothing is searched."""
        return self.opens and not self.files

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that only this form accepts."""
        return tuple(replace(option, forms=frozenset({self.name}), refusal=self.goes_with) for option in self.own)

    def refusal_of(self, option: Option) -> str:
        """Return the error message for a command with this form and option; empty if the form accepts the option."""
        if option.name in self.refusals:
            return self.refusals[option.name]
        own = {one.name for one in self.own}
        if EVERYTHING_ELSE in self.refusals and option.name not in self.takes | own:
            return self.refusals[EVERYTHING_ELSE]
        return option.refusal if option.forms and self.name not in option.forms else ""


@dataclass(frozen=True)
class OpenSession:
    """Opens a session of searches, which takes a while to import; `began` is the start of the command.

    `open` takes the keywords of SearchSession that the command line does not determine, and returns one.
    """

    open: Callable[..., Any]
    began: float


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `check` as they were typed.

    `words` is the whole command. `rest` are the arguments that may be options of the model. `own` has the values of the
    options that only one form or one package declares; `reserved` names all options of `check`.
    """

    words: tuple[str, ...]
    form: Form
    target: str | None
    rest: tuple[str, ...]
    own: Mapping[str, Any]
    reserved: tuple[str, ...]
    spark: SparkRequest
    on_disk: DiskRequest | None
    bound: int | None
    protocol: str | None
    settings: tuple[str, ...]
    switches: tuple[str, ...]
    swaps: tuple[str, ...]
    count_all: bool
    memory: int | None
    threads: int | None
    seconds: float | None
    engine: str
    prove: bool
    symmetry: bool
    no_reduction: bool
    as_json: bool
    no_deadlock: bool
    strict: bool
    tables: Path | None
    counterexamples: int | None
    out: Path
    config: tuple[Path, ...]
    broker: tuple[Path, ...]
    topic: tuple[Path, ...]
    producer: tuple[Path, ...]
    consumer: tuple[Path, ...]
    describe: tuple[str, ...]
    topic_name: str | None
    kafka_version: str | None
    metadata_version: str | None

    @property
    def limits(self) -> Limits:
        """The limits of a search. Defaults: half of the machine's memory, one thread, no time limit, any depth."""
        memory = self.memory or machine_memory() // 2
        return Limits(self.bound, memory, self.seconds, self.threads or 1, deadlock=not self.no_deadlock)

    @property
    def files(self) -> tuple[tuple[Role | None, Path], ...]:
        """Kafka's configuration files, each with the role of its reader, such as broker (None for `--config`)."""
        roles = ((role, file) for role in Role for file in getattr(self, role.value))
        return (*((None, file) for file in self.config), *roles)
