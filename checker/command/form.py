"""How a form of `check` is declared, and what a person asked for.

In:  nothing.
Out: `Form` and `Options`.

A form is one way in which `check` is used: the matrix, one model, `check graph`, ... A room that adds a form declares
it in its own module `command`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isrcheck.checker.command.option import Option
from isrcheck.checker.kafka_config.keys import Role
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.resources.machine_memory import machine_memory
from isrcheck.checker.spark.request import SparkRequest

EVERYTHING_ELSE = "*"
"""In the refusals of a form: every option that it does not take."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One form of the command: the word that asks for it (none where other words decide), its lines of usage, three
    examples, the options that it alone has with the message for any other form, what it refuses, and the module whose
    function `run` answers. The module is imported when the form was chosen.

    `refusals` maps the name of an option to the message for it, and `EVERYTHING_ELSE` to the message for all options
    that are neither in `takes` nor its own. A message may contain {option} (--engine), {typed} (--engine z3), {value}
    (z3) and {form}. `rest` is the message for words that would be options of a model, where the form takes no model.
    `refuse` refuses what depends on values. `usual_target` is the model where none is named, `seconds` the time limit
    where none is given. `as_in` is the command that messages show.
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

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that this form alone has."""
        return tuple(replace(option, forms=frozenset({self.name}), refusal=self.goes_with) for option in self.own)

    def refusal_of(self, option: Option) -> str:
        """The message for an option that does not go with this form; empty where the option does."""
        if option.name in self.refusals:
            return self.refusals[option.name]
        own = {one.name for one in self.own}
        if EVERYTHING_ELSE in self.refusals and option.name not in self.takes | own:
            return self.refusals[EVERYTHING_ELSE]
        return option.refusal if option.forms and self.name not in option.forms else ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for, whatever the model.

    `form` is the form of the command. `rest` are the words that may be options of the model's own. `own` holds the
    options that one form, or one room, has for itself; `reserved` names all options of `check`.
    """

    words: tuple[str, ...]
    form: Form
    target: str | None
    rest: tuple[str, ...]
    own: Mapping[str, Any]
    reserved: tuple[str, ...]
    spark: SparkRequest
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
    as_json: bool
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

    @property
    def limits(self) -> Limits:
        """What a search may use; half of the machine's memory and one thread unless more was asked for."""
        return Limits(self.bound, self.memory or machine_memory() // 2, self.seconds, self.threads or 1)

    @property
    def files(self) -> tuple[tuple[Role | None, Path], ...]:
        """Kafka's own files, each with the one who reads it, where that was said."""
        roles = ((role, file) for role in Role for file in getattr(self, role.value))
        return (*((None, file) for file in self.config), *roles)
