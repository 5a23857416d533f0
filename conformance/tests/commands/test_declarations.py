"""How commands are declared: what an option is called, what it reads, and what a parser makes of it."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest

from isrcheck.commands.declarations import (
    Command,
    Option,
    Parser,
    Subcommand,
    count,
    folder,
    integer,
    memory,
    path,
    seconds,
    seed,
    share,
    whole_number,
)
from isrcheck.commands.exit_codes import UNDECIDED, USAGE, UndecidedError
from isrcheck.commands.settings import pair
from isrcheck.models.messages import UsageError


@pytest.mark.parametrize(
    ("typed", "name", "metavar", "field", "value"),
    [
        ("--json", "--json", None, "json", True),
        ("--bound N", "--bound", "N", "bound", "x"),
        ("-o --out DIR", "--out", "DIR", "out", "x"),
        ("-o FILE", "-o", "FILE", "o", "x"),
        ("--min-isr N", "--min-isr", "N", "min_isr", "x"),
        ("--acked [TOPIC-N=]FILE", "--acked", "[TOPIC-N=]FILE", "acked", "x"),
        ("FILE", "FILE", "FILE", "file", "x"),
        ("[FILE]", "FILE", "FILE", "file", "x"),
        ("LOG ...", "LOG", "LOG", "log", ("x",)),
        ("[LOG ...]", "LOG", "LOG", "log", ("x",)),
    ],
)
def test_an_option_is_declared_as_it_is_typed(
    typed: str, name: str, metavar: str | None, field: str, value: object
) -> None:
    option = Option(typed, "what it is")
    assert (option.name, option.metavar, option.field) == (name, metavar, field)
    parser = Parser(prog="some")
    parser.add_options([option])
    words = ([name] if name.startswith("-") else []) + (["x"] if metavar else [])
    assert option.value(parser.parse_args(words)) == value


def test_what_is_not_typed_has_its_default() -> None:
    options = [
        Option("[FILE]", "", path),
        Option("[LOG ...]", "", path),
        Option("--steps N", "", count, default=30),
        Option("--memory SIZE", "", memory, default="4G"),
        Option("--set NAME=VALUE", "", is_repeated=True),
        Option("--force", ""),
    ]
    parser = Parser(prog="some")
    parser.add_options(options)
    typed = parser.parse_args([])
    assert [option.value(typed) for option in options] == [None, (), 30, 4 << 30, (), False]
    assert not any(option.is_given(typed) for option in options)
    typed = parser.parse_args(["--set", "a=1", "--set", "b=2", "--steps", "7", "--force"])
    assert [option.value(typed) for option in options] == [None, (), 7, 4 << 30, ("a=1", "b=2"), True]
    spelled = [option.spelled(typed) for option in options if option.is_given(typed)]
    assert spelled == ["--steps 7", "--set a=1", "--force"]


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (count, {"1": 1, "007": 7}, ("0", "-1", "x", "", "٣", "1.5", "1" * 10)),
        (seed, {"0": 0, str(2**64 - 1): 2**64 - 1}, (str(2**64), "-1", "9" * 5000)),
        (whole_number("not a digit", most=9), {"9": 9}, ("10", "")),
        (integer, {"-3": -3, "4": 4}, ("x", "1.0")),
        (share, {"0": 0.0, "1": 1.0, ".5": 0.5}, ("2", "-0.1", "nan", "all")),
        (seconds, {"1e-9": 1e-9}, ("0", "-1", "inf", "nan", "soon")),
        (memory, {"16M": 16 << 20, "1.5GiB": 3 << 29, "8g": 8 << 30}, ("15M", "8X", "nan", "1e400G")),
    ],
)
def test_values_are_read_or_refused_in_one_line(read, good, bad) -> None:
    assert {text: read("--some", text) for text in good} == good
    for text in bad:
        with pytest.raises(UsageError) as refused:
            read("--some", text)
        assert str(refused.value).startswith(f"--some {text}: ")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert folder("--out", str(tmp_path / "new")) == tmp_path / "new"
    with pytest.raises(UsageError, match="file: not a folder; name a folder with --out DIR"):
        folder("--out", str(tmp_path / "file"))


def test_name_and_value_are_split_at_the_first_sign() -> None:
    assert pair("--set", "a = b=c") == ("a", "b=c")
    with pytest.raises(UsageError, match="--swap a: write it as --swap ACTION=PROTOCOL"):
        pair("--swap", "a")


# ---------------------------------------------------------------------------------------------- a command of one's own


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command `some`, with the subcommand `goes`, whose --end chooses how it ends, and the subcommand `leaves`."""
    endings = {
        "usage": UsageError("bad"),
        "lost": UndecidedError("lost"),
        "full": OSError(28, "No space left on device", "a file"),
        "memory": MemoryError(),
        "key": KeyError("my own"),
        "interrupt": KeyboardInterrupt(),
    }

    def run(arguments: Namespace) -> int:
        if arguments.end in endings:
            raise endings[arguments.end]
        print(arguments.end, *arguments.rest)
        return 7

    options = (Option("--end HOW", "how it ends", default="well"), Option("--full", ""))
    module = SimpleNamespace(OPTIONS=options, NOTES=("a note", ""), run=run)
    monkeypatch.setitem(sys.modules, "some_module", module)
    goes = Subcommand(name="goes", module="some_module", help="goes", examples=("some goes",))
    leaves = Subcommand(name="leaves", module="some_module", takes_rest=True)
    return Command(name="some", description="Some.", subcommands=(goes, leaves), bad_input=(KeyError,))


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        ("goes", 7, "well\n", ""),
        ("leaves --end so --replicas 3", 7, "so --replicas 3\n", ""),
        ("goes --end usage", USAGE, "", "some: bad\n"),
        ("goes --end key", USAGE, "", "some: 'my own'\n"),
        ("goes --end lost", UNDECIDED, "", "some: lost\n"),
        ("goes --end memory", USAGE, "", "some: this machine does not have enough memory; give a smaller --memory\n"),
        ("goes --end interrupt", 130, "", "some: interrupted\n"),
        ("goes --edn x", USAGE, "", "some: there is no option --edn; did you mean --end?\n"),
        ("goes x", USAGE, "", "some: unrecognized arguments: x; see some --help\n"),
        ("goe", USAGE, "", "some: argument COMMAND: invalid choice: 'goe' (choose from 'goes', 'leaves'); did you"
         " mean goes?\n"),
        ("", USAGE, "", "some: the following arguments are required: COMMAND; see some --help\n"),
    ],
)  # fmt: skip
def test_every_end_is_a_code_and_a_line(command, words, code, out, err, capsys) -> None:
    assert (command.run(words.split()), *capsys.readouterr()) == (code, out, err)


def test_output_that_cannot_be_written_is_a_code_and_a_line(command, capfd, monkeypatch) -> None:
    monkeypatch.setattr("isrcheck.commands.program.give_up_stdout", lambda: None)
    assert command.run(["goes", "--end", "full"]) == USAGE
    assert capfd.readouterr().err == "some: a file: No space left on device; make room, or write elsewhere\n"


def test_the_help_shows_notes_before_examples(command, capsys) -> None:
    assert command.run(["goes", "--help"]) == 0
    assert capsys.readouterr().out.endswith("\na note\n\nexamples:\n  some goes\n")


def test_only_the_chosen_subcommand_is_imported(command, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "some_module")
    assert command.parser([]).subcommands.choices.keys() == {"goes", "leaves"}
    with pytest.raises(ModuleNotFoundError, match="some_module"):
        command.parser(["goes"])
