"""What a help text says of a default is true."""

import argparse
import re

import pytest

from isrcheck.checker import cli as check
from isrcheck.conformance import cli as conform
from isrcheck.conformance.console import protocol_of
from isrcheck.conformance.follow.run_command import plan_of
from isrcheck.conformance.implemented import BUGS
from isrcheck.models import registry
from isrcheck.traces import cli as trace

TOLD = re.compile(r"\(default: ([^;)]*)")

IN_WORDS = {
    ("conform serve", "--port"): "free ports",
    ("conform serve", "--advertise"): "the brokers' own",
    ("conform serve", "--racks"): "no racks",
}
"""The defaults that stand for something else, and the words that say it."""


def parsers():
    """The parser of each form of `check`, and of each subcommand, by the words that a user types."""
    found = {f"check {form.word}": check.parser(form.word) for form in check.forms()}
    for name, command in (("conform", conform), ("trace", trace)):
        commands = command.COMMAND.parser().subcommands.choices
        found |= {f"{name} {word}": parser for word, parser in commands.items()}
    return found


def arguments_of(*words):
    """The arguments of a subcommand of `conform`."""
    return conform.COMMAND.read(words)[1]


def test_a_help_text_says_the_default():
    said, real = {}, {}
    for words, parser in parsers().items():
        for action in parser.declared():
            told = TOLD.search((action.help or "") % {**vars(action), "prog": parser.prog, "models": ""})
            if told is not None and action.default not in (None, [], argparse.SUPPRESS):
                key = words, action.option_strings[-1]
                said[key], real[key] = told[1].removeprefix("./"), IN_WORDS.get(key, str(action.default))
    assert said == real
    assert ("conform serve", "--port") in said, "the texts are read"


@pytest.mark.parametrize("command", ["replay", "run", "serve"])
def test_the_default_of_protocol(command):
    """It is no default of argparse, because a command has to know whether --protocol is given."""
    (action,) = (each for each in parsers()[f"conform {command}"].declared() if "--protocol" in each.option_strings)
    assert TOLD.search(action.help)[1] == protocol_of(arguments_of(command)) == "2.4"


def test_the_default_of_protocol_for_another_model():
    for model in BUGS:
        newest = list(registry.load(model)[0].protocols)[-1]
        assert protocol_of(arguments_of("replay", "--model", model)) == ("2.4" if model == "kafka" else newest)
    (action,) = (each for each in parsers()["conform replay"].declared() if "--protocol" in each.option_strings)
    assert action.help.endswith("(default: 2.4; for another model than kafka, its newest)")


@pytest.mark.parametrize(
    ("option", "attribute"),
    [("--replicas", "replicas"), ("--acks", "acks"), ("--min-insync-replicas", "min_insync_replicas")],
)
def test_the_defaults_of_a_run(option, attribute):
    """None of argparse, because a run of another model refuses these options."""
    (action,) = (each for each in parsers()["conform run"].declared() if option in each.option_strings)
    plan = plan_of(arguments_of("run"))
    assert TOLD.search(action.help)[1] == str(getattr(plan, attribute))
