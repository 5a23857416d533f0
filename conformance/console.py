"""Shared by all commands of `conform`: the exit code, error messages, and the options that choose a model."""

from __future__ import annotations

import argparse

from isrcheck.commands import program, settings
from isrcheck.commands.declarations import ModelArguments, Option
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE, VIOLATED
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import USUAL
from isrcheck.models import registry
from isrcheck.models.language.model import Instance

GRAVEST = (DIVERGED, VIOLATED, USAGE, UNDECIDED, NOTHING)
"""Exit codes, gravest first. The exit code for several files is the first of these that occurs for one of them."""

BUGS = [bug.name.lower() for bug in Bug]


def gravest(codes: set[int]) -> int:
    """The gravest of the given exit codes, in the order of GRAVEST; 0 if GRAVEST has none of the given codes."""
    return next((code for code in GRAVEST if code in codes), DONE)


def complain(message: str) -> int:
    """Print a message on stderr as one escaped line; return exit code 2."""
    return program.complain("conform", message)


def model_options(
    protocol: str = f"a generation of the model (default: {USUAL}; for another model than kafka, its newest)",
) -> tuple[Option, ...]:
    """The options that choose a configuration of a model. `protocol` is the help text of --protocol."""
    return (
        Option("--protocol NAME", protocol),
        Option("--switch NAME=VALUE", "set a protocol switch", is_repeated=True),
        Option("--set NAME=VALUE", "set a configuration entry", is_repeated=True),
    )


def protocol_of(arguments: argparse.Namespace) -> str:
    """The generation (the rules of a Kafka release) that --protocol names, or the default."""
    return arguments.protocol or default_protocol(_model_of(arguments))


def default_protocol(model: str) -> str:
    """The default generation of a model, used without --protocol."""
    return USUAL if model == "kafka" else list(registry.load(model)[0].protocols)[-1]


def instance_of(arguments: argparse.Namespace) -> Instance:
    """The instance of the model that the options choose. Raises UsageError."""
    return settings.instance_of(_about_model(arguments))


def values_of(arguments: argparse.Namespace) -> dict[str, int]:
    """The values of --switch and --set. Raises UsageError."""
    chosen = _about_model(arguments)
    return settings.values_of(settings.model_of(chosen)[0], chosen)


def _about_model(arguments: argparse.Namespace) -> ModelArguments:
    return ModelArguments(
        command="conform",
        reserved=arguments.reserved,
        target=_model_of(arguments),
        protocol=protocol_of(arguments),
        settings=arguments.set,
        switches=arguments.switch,
    )


def words_of(arguments: argparse.Namespace) -> list[str]:
    """The options that choose the model and its configuration, as words of a command line, to repeat the choice."""
    words = ["--model", arguments.model] if arguments.model not in (None, "kafka") else []
    words += ["--protocol", arguments.protocol] if arguments.protocol else []
    words += [word for text in arguments.switch for word in ("--switch", text)]
    return words + [word for text in arguments.set for word in ("--set", text)]


def asked_model(arguments: argparse.Namespace) -> str | None:
    """The model that --model names; without it, kafka if --protocol, --switch or --set is given; otherwise None."""
    is_about_one = arguments.protocol or arguments.switch or arguments.set
    return arguments.model or ("kafka" if is_about_one else None)


def _model_of(arguments: argparse.Namespace) -> str:
    """The model that --model names; kafka if the option is not given, or the command does not have it."""
    return str(getattr(arguments, "model", None) or "kafka")
