"""The command `isrcheck`, completion in shells, and the examples in the help of every subcommand."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.tests.metadata_log import building
from conformance.tests.sampling import sampled
from conformance.tests.support.engine import COUNTER
from conformance.tests.support.places import RECORDINGS
from conformance.tests.support.programs import ran
from isrcheck import __main__ as isrcheck
from isrcheck.checker import cli as check
from isrcheck.commands.exit_codes import DONE, NOTHING, UNDECIDED, USAGE, VIOLATED
from isrcheck.conformance import cli as conform
from isrcheck.traces import cli as trace

pytestmark = pytest.mark.sampled

FISH = shutil.which("fish")
WORDS = "choose from 'check', 'trace', 'conform', 'doctor', 'atlas', 'report', 'examples', 'completion'"

NOISE = """
    noise = field(values=between(0, 3))


@action
def noise_grows(s):
    require(s.noise < 3)
    s.noise += 1
"""
OWN = COUNTER.replace("    count = field(values=between(0, 3))\n", "    count = field(values=between(0, 3))" + NOISE)
"""A counter, and noise that its failure does not need."""

MAINS: dict[str, Callable[[list[str]], int]] = {"check": check.main, "trace": trace.main, "conform": conform.main}

OF_A_CLUSTER = {"--config", "doctor"}
"""Examples with these words name files of a user."""

EXAMPLES = [
    *(example for form in check.forms() for example in form.examples if not OF_A_CLUSTER & set(example.split())),
    *(example for one in conform.SUBCOMMANDS[::-1] if one.name == "run" for example in one.examples),
    *(example for one in conform.SUBCOMMANDS if one.name != "run" for example in one.examples),
    *(example for one in trace.SUBCOMMANDS for example in one.examples),
]
"""In an order in which the files are there that they name."""

LONGEST = {"check mutate kafka --protocol 0.10 --bound 3", "check failures --kafka-version 0.10.2"}
LONGEST |= {f"check atlas -o {folder}" for folder in ("atlas", "atlas_of_kafka", "public/atlas")}
LONGEST |= {"check --bound 6"}  # the installed command is tried in test_wheel.py
LONG = {"check mutate published/kip_101 --bound 3", "trace page counterexamples -o pages"} | LONGEST
"""They search every mutant of a model, or many failures, or look for proofs for twenty seconds; or write many
pages."""


# ------------------------------------------------------------------------------------------------------- one command


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check examples/two_phase_commit --bound 2 --no-such", 2),
        ("check --bound x", 2),
        ("trace list .", 0),
        ("trace show nowhere.itf.json", 2),
        ("conform follow nowhere.ndjson", 2),
    ],
)
def test_a_command_works_the_same_under_both_names(words: str, code: int, tmp_path: Path) -> None:
    done = ran(f"isrcheck {words}", folder=tmp_path)
    assert done == ran(words, folder=tmp_path)
    assert done.code == code


@pytest.mark.parametrize("words", ["", "chek", "completion", "completion fishy", "--no-such"])
def test_bad_arguments_are_one_line(words: str, tmp_path: Path) -> None:
    done = ran(f"isrcheck {words}", folder=tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("isrcheck: ")


COMMAND_CHOICE = "isrcheck: argument COMMAND: invalid choice:"
SHELL_CHOICE = "isrcheck: argument shell: invalid choice:"
VERSION_OPTION = "check: --kafka-versoin is no option of doctor"


@pytest.mark.parametrize(
    ("words", "says", "meant"),
    [
        ("docter server.properties", f"{COMMAND_CHOICE} 'docter' ({WORDS})", "doctor"),
        ("chek kafka", f"{COMMAND_CHOICE} 'chek' ({WORDS})", "check"),
        ("completion fishy", f"{SHELL_CHOICE} 'fishy' (choose from 'bash', 'zsh', 'fish')", "fish"),
        ("check docter FILE", "check: there is no model and no form docter of check", "doctor"),
        ("check swep", "check: there is no model and no form swep of check", "sweep"),
        ("doctor FILE --kafka-versoin 3.9", VERSION_OPTION, "--kafka-version"),
        ("doctor FILE --kafka-versoin=3.9", VERSION_OPTION, "--kafka-version"),
        ("doctor --topci-name t FILE", "check: there is no option --topci-name", "--topic-name"),
    ],
)
def test_a_misspelt_word_gets_the_word_that_was_meant(words: str, says: str, meant: str, tmp_path: Path) -> None:
    done = ran(f"isrcheck {words}", folder=tmp_path)
    assert (done.code, done.out, done.err) == (2, "", f"{says}; did you mean {meant}?\n")


def test_the_help_names_the_commands(tmp_path: Path) -> None:
    done = ran("isrcheck --help", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    for name in (*isrcheck.COMMANDS, *isrcheck.FORMS, "completion"):
        assert f"\n    {name}" in done.out


# -------------------------------------------------------------------------------------------------------- completion

COMPLETE = """\
source ./script
COMP_WORDS=({words} "{last}")
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
COMP_LINE="{words} {last}"
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    return ran("isrcheck completion bash", folder=tmp_path_factory.mktemp("bash")).out


@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        ("isrcheck", "c", {"check", "conform", "completion"}),
        ("isrcheck check", "--eng", {"--engine"}),
        ("check", "--eng", {"--engine"}),
        ("check", "kaf", {"kafka", "kafka_liveness", "kafka_scenarios"}),
        ("check", "my_", {"my_protocol.py"}),
        ("check", "swe", {"sweep"}),
        ("isrcheck", "doc", {"doctor"}),
        ("isrcheck doctor", "--fail", {"--fail-on"}),
        ("isrcheck doctor", "my_", {"my_protocol.py"}),
        ("check kafka --engine", "z", {"z3"}),
        ("trace", "ex", {"explore"}),
        ("trace show", "--wh", {"--why"}),
        ("trace explore", "--br", {"--browser"}),
        ("trace explore", "--po", {"--port"}),
        ("conform follow", "--most", {"--most-states"}),
    ],
)
def test_bash_completes_words(words: str, last: str, found: set[str], bash_script: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(bash_script)
    (tmp_path / "my_protocol.py").write_text(OWN)
    function = f"_shtab_{words.partition(' ')[0]}"
    shell = ["bash", "--norc", "-c", COMPLETE.format(words=words, last=last, function=function)]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == found


def test_zsh_gets_a_script_as_well(tmp_path: Path) -> None:
    done = ran("isrcheck completion zsh", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("#compdef isrcheck\n")
    for name in isrcheck.COMMANDS:
        assert f"#compdef {name}\n" in done.out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("isrcheck c", {"check", "conform", "completion"}),
        ("isrcheck doctor --fail", {"--fail-on"}),
        ("isrcheck doctor my_", {"my_protocol.py"}),
        ("check kaf", {"kafka", "kafka_liveness"}),
        ("check my_", {"my_protocol.py"}),
        ("check kafka --engine z", {"z3"}),
        ("trace show --wh", {"--why"}),
    ],
)
@pytest.mark.skipif(FISH is None, reason="the shell fish is not installed here")
def test_fish_completes_words(words: str, found: set[str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(ran("isrcheck completion fish", folder=tmp_path).out)
    (tmp_path / "my_protocol.py").write_text(OWN)
    lines = ["source script", f"complete -C '{words}' | string replace -r '\\t.*' ''"]
    shell = [str(FISH), "-c", "; ".join(lines)]
    home = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(shell, cwd=tmp_path, env=home, capture_output=True, text=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == found


def test_fish_gets_a_script_as_well(tmp_path: Path) -> None:
    done = ran("isrcheck completion fish", folder=tmp_path)
    assert (done.code, done.err) == (0, "")
    for name in ("isrcheck", *isrcheck.COMMANDS):
        assert f"\ncomplete -c {name} " in done.out
    assert "\nfunction _isrcheck_models\n" in done.out
    assert ' -ka "(_isrcheck_models)" ' in done.out
    assert " -l fail-on " in done.out


# ---------------------------------------------------------------------------------------------------------- examples


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with counterexamples of Kafka's and of a user's model, and with files that the examples write."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(folder)
    (folder / "my_protocol.py").write_text(OWN)
    if not (folder / "mine").exists():
        assert check.main(["my_protocol.py", "--out", "mine"]) == VIOLATED
    if not (folder / "cuts").exists():
        assert check.main(["cap", "--records", "1", "--out", "cuts"]) == VIOLATED
    if not (folder / "counterexamples").exists():
        assert check.main(["kafka", "--protocol", "0.10", "--bound", "6"]) == VIOLATED
    if not (folder / "my_run.ndjson").exists():
        assert conform.main(["run", "--steps", "50", "--log", "my_run.ndjson"]) == 0
        assert conform.main(["run", "--steps", "50"]) == 0
    if not (folder / "acked.txt").exists():
        shutil.copytree(RECORDINGS / "wire" / "stale_record", folder, dirs_exist_ok=True)
    if not (folder / "server.log").exists():
        building.folder(folder, building.records(building.topic("orders"), building.partition("orders", 0, 1, 2)))
        audited = building.records(building.topic("t"), building.partition("t", 0, 1, 2, 3))
        building.folder(folder / "controller1", audited)
        for path in folder.glob("broker*/**/partition.metadata"):  # the topic of the recorded folders has another id
            path.write_text(f"version: 0\ntopic_id: {building.spelled_id('t')}\n")
        for name in ("server.log", "controller.log"):
            (folder / name).write_text("[Partition orders-0 broker=1] ISR updated to 1 and version updated to 1\n")
    return folder


def interrupted(*_: object) -> None:
    """What Ctrl-C does to a loop."""
    raise KeyboardInterrupt


@pytest.mark.whole
@pytest.mark.parametrize(
    "example", sampled(EXAMPLES, lambda example: example not in LONG, last=lambda example: example in LONGEST)
)
def test_examples_of_the_help_work(
    example: str, inside: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *words = shlex.split(example)
    if {"--log", "-o"} & set(words) or words[0] == "convert":  # nothing is overwritten
        monkeypatch.chdir(tmp_path)
        (tmp_path / "holds.txt").write_text("delay fetch from broker 2 to broker 1 by 200 ms\n", encoding="utf-8")
        if "counterexamples" in words:
            shutil.copytree(inside / "counterexamples", tmp_path / "counterexamples")
        if words[0] == "convert":
            shutil.copytree(RECORDINGS / "wire" / "steady", tmp_path / "recording")
    if "counterexamples/latest" in words:  # of Kafka's model, whatever other examples have found since
        check.main(["kafka", "--protocol", "0.10", "--bound", "6"])
    if "--browser" in words:  # it serves until Ctrl-C
        monkeypatch.setattr("socketserver.BaseServer.serve_forever", interrupted)
    capsys.readouterr()
    code = MAINS[name](words)
    told = capsys.readouterr()
    if "explore" in words and "--browser" not in words:
        says = "trace: explore needs a terminal for input and output; without one use: trace show FILE\n"
        assert (code, told.err) == (USAGE, says)
        return
    # Other examples leave traces that no timing of the executable cluster can produce.
    on_any_trace = example.startswith(
        ("conform replay counterexamples", "conform serve --trace counterexamples/latest", "conform script")
    )
    assert code in (DONE, VIOLATED) or (code in (UNDECIDED, NOTHING) and on_any_trace), told.err
    assert told.out


@pytest.mark.parametrize(
    ("words", "examples"),
    [
        *((["check", form.word], form.examples) for form in check.forms() if form.word),
        *((["trace", one.name], one.examples) for one in trace.SUBCOMMANDS),
        *((["conform", one.name], one.examples) for one in conform.SUBCOMMANDS),
    ],
)
def test_the_help_of_a_subcommand_shows_three_examples(
    words: list[str], examples: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(set(examples)) == 3
    name, *rest = words
    assert MAINS[name]([*rest, "-h"]) == 0
    shown = capsys.readouterr().out
    assert [line.strip() for line in shown.splitlines() if line.startswith(f"  {' '.join(words)}")] == list(examples)


def test_the_long_examples_are_among_them() -> None:
    assert set(EXAMPLES) >= LONG


def test_the_help_of_check_shows_three_examples(capsys: pytest.CaptureFixture[str]) -> None:
    check.main(["-h"])
    shown = capsys.readouterr().out.partition("examples:\n")[2]
    assert len([line for line in shown.splitlines() if line.startswith("  check ")]) == 3


def test_the_examples_are_copied_to_the_given_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["isrcheck", "examples", str(tmp_path / "mine")])
    assert isrcheck.main() == 0
    copied = capsys.readouterr().out.splitlines()
    assert str(tmp_path / "mine" / "two_phase_commit.py") in copied
    assert sorted(copied) == sorted(str(path) for path in (tmp_path / "mine").rglob("*") if path.is_file())
    (tmp_path / "mine" / "two_phase_commit.py").write_text("mine\n")
    assert isrcheck.main() == 2
    assert "a different file has this name" in capsys.readouterr().err
