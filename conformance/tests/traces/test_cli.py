"""The command `trace`: what it prints, its exit codes, and one line for every bad input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.support.trace import CLASSIC, hostile_model, kafka, own_model, trace, weak_isr
from isrcheck.commands.exit_codes import INTERRUPTED
from isrcheck.commands.program import MOST_MESSAGE
from isrcheck.models import registry
from isrcheck.traces import cli
from isrcheck.traces.format import files as folder
from isrcheck.traces.format.trace import PERMITTED, spell_configuration
from isrcheck.traces.kafka.lanes import BASICS, SIGNS, SIGNS_SINCE_2_8
from isrcheck.traces.terminal.show import view


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return folder.write(weak_isr(), tmp_path)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The line on stderr for bad input, without the name of the command."""
    assert cli.main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trace: ")
    assert err.count("\n") == 1
    return err.removeprefix("trace: ").rstrip("\n")


def shown(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """The output of a command that complains about nothing."""
    assert cli.main([str(argument) for argument in arguments]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_show(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "show", written) == "\n".join(view(weak_isr())) + "\n"
    assert shown(capsys, "show", "--full", written) == "\n".join(view(weak_isr(), full=True)) + "\n"


def test_help_explains_every_symbol(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "show", "--help")
    for example, meaning in (*BASICS, *SIGNS.values(), *SIGNS_SINCE_2_8.values()):
        assert re.search(rf"^  {re.escape(example)} +{re.escape(meaning)}$", out, re.MULTILINE)


def test_list(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write(weak_isr(), tmp_path / "counterexamples")
    folder.write(
        kafka(["producer_appends at 0", "controller_fails_over to 1"], "acked_not_lost", PERMITTED, acks=1, replicas=2),
        tmp_path / "counterexamples",
    )
    monkeypatch.chdir(tmp_path)
    lines = [re.split(r"  +", line) for line in shown(capsys, "list").splitlines()]
    digest = lines[1][0].removeprefix("kafka_0.10_acked_not_lost_").removesuffix("_1.itf.json")
    assert re.fullmatch("[0-9a-f]{8}", digest)
    loss, weak = f"kafka_0.10_acked_not_lost_{digest}", "published_truncate_to_high_watermark_weak_isr_6f5877bf"
    assert [", ".join(line) for line in lines] == [
        "file, model, protocol, property, verdict, steps, configuration",
        f"{loss}_1.itf.json, kafka, 0.10, acked_not_lost, PERMITTED, 2, replicas=2 acks=1",
        f"{weak}_1.itf.json, published, truncate_to_high_watermark, weak_isr, VIOLATED, 8,"
        " replicas=2 log_size=1 records=1",
    ]
    assert shown(capsys, "list", tmp_path) == f"no traces in {tmp_path}\n"


def test_list_shows_the_entries_that_differ_from_the_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def configuration(made: Path) -> str:
        header, line = shown(capsys, "list", made.parent).splitlines()
        return line[header.index("configuration") :]

    plain = kafka(CLASSIC, "acked_not_lost")
    made = folder.write(plain, tmp_path / "plain")
    assert configuration(made) == "default"
    # All entries are listed if the model is unknown, or a user's own, which a list does not load.
    whole = " ".join(f"{name}={value}" for name, value in spell_configuration(plain.instance).items())
    text = made.read_text()
    made.write_text(text.replace('"model": "kafka"', '"model": "kafak"'))
    assert configuration(made) == whole
    made.write_text(text.replace('"model-file": null', '"model-file": "mine.py"'))
    assert configuration(made) == whole
    made.write_text(text.replace('"swaps": {}', '"swaps": {"broker_bounces": "0.11"}'))
    assert configuration(made) == "broker_bounces of 0.11"


def test_list_continues_after_a_damaged_file(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (written.parent / "a.itf.json").write_text('{"states"')
    assert cli.main(["list", str(written.parent)]) == 2
    out, err = capsys.readouterr()
    assert written.name in out
    assert err.startswith(f"trace: {written.parent / 'a.itf.json'}: not JSON (")
    assert err.count("\n") == 1


def test_one_line_for_every_bad_argument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys) == "the following arguments are required: COMMAND; see trace --help"
    assert complaint(capsys, "shout").startswith("argument COMMAND: invalid choice: 'shout'")
    assert complaint(capsys, "show") == "the following arguments are required: FILE; see trace show --help"
    assert complaint(capsys, "show", "x", "--quick").endswith("--quick; see trace --help")
    assert complaint(capsys, "list", tmp_path / "none").endswith(
        "none: no such folder; check writes traces to ./counterexamples, or to --out DIR"
    )


def test_one_line_for_every_unreadable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "show", tmp_path / "none") == (
        f"{tmp_path / 'none'}: cannot be read: No such file or directory; list the traces with: trace list"
    )
    assert complaint(capsys, "show", tmp_path) == (
        f"{tmp_path}: a folder, not a trace; list its traces with: trace list DIR"
    )
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert complaint(capsys, "show", tmp_path / "bytes").endswith("not UTF-8 text; give a file written by check")
    os.mkfifo(tmp_path / "pipe")
    assert complaint(capsys, "show", tmp_path / "pipe").endswith("not a regular file; give a file written by check")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(17 << 20)
    assert complaint(capsys, "show", tmp_path / "huge").endswith(
        "17 MiB are too large for a trace; give a file written by check"
    )
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read: " in complaint(capsys, "show", tmp_path / "loop")


def test_one_line_for_a_file_cut_anywhere(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = written.read_text()
    for end in range(0, len(text) - 2, 97):
        written.write_text(text[:end])
        assert complaint(capsys, "show", written).startswith(f"{written}: not JSON (")


def test_text_of_a_file_cannot_control_the_terminal(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = written.read_text()
    written.write_text(text.replace('"leader_writes"', '"\\u001b[31mleader\\nwrites"'))
    assert complaint(capsys, "show", written) == (
        f"{written}: state 4: its mbt::actionTaken is missing or not text of one line; write the trace again"
    )
    written.write_text(text.replace('"isr": [[false', '"\\u001b[31m": 0, "isr": [[false', 1))
    assert '"\\u001b[31m" is not a field of the model' in complaint(capsys, "show", written)
    written.write_text(text.replace('"records": "1"', '"\\u202e": "1"'))
    assert complaint(capsys, "show", written).endswith(
        "its configuration is missing or not text of one line; write the trace again"
    )
    written.write_text(text.replace('"model": "published"', f'"model": "{"x" * 4000}"'))
    assert len(complaint(capsys, "show", written)) == MOST_MESSAGE
    assert complaint(capsys, "show", "\x1b[2J\nnone").startswith(r"\x1b[2J\nnone: cannot be read: ")


# -------------------------------------------------------------------------------------------------- one's own models


def test_text_of_a_users_model_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts of values, steps and docstrings are escaped; a trace with such texts can be read again."""
    path = hostile_model(
        tmp_path,
        "\\x1b[2J",
        loses="@action(shows='\\x1b[2J{parcel}')\ndef clerk_loses",
        nothing_is_lost='@always\ndef nothing_is_lost(s):\n    """Lost\\u202e\\x9b."""\n',
    )
    instance = registry.load_file(path).instance(values={"mood": 1})
    file = folder.write(trace(instance, ("clerk_shelves {a} 0", "clerk_loses \\x1b[2Ja"), "nothing_is_lost"), tmp_path)
    out = shown(capsys, "show", file, "--model", path, "--width", 200)
    assert out.replace("\n", "").isprintable()
    for text in (r"mood=\x1b[2JBUSY", r"2  clerk_loses \x1b[2Ja", r"Lost\u202e\x9b.", r"mood_of \x1b[2JBUSY"):
        assert text in out


def test_a_users_model_is_loaded_only_if_it_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = own_model(tmp_path)
    found = trace(registry.load_file(model).instance(), ["clerk_shelves {a} 0"], "count_stays")
    path = folder.write(found, Path("out"))
    model.write_text("raise SystemExit('this file was run')")
    assert complaint(capsys, "show", path) == (
        f"{path}: the trace's model, the file parcels.py, is not loaded automatically; give it: --model parcels.py"
    )
    own_model(tmp_path)
    assert shown(capsys, "show", path, "--model", "parcels.py").startswith("parcels, default configuration\n")


def test_another_version_of_a_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = own_model(tmp_path)
    digest = registry.load_file(model).digest[:8]
    found = trace(registry.load_file(model).instance(), ["clerk_shelves {a} 0"], "count_stays")
    path = folder.write(found, Path("out"))
    with model.open("a") as file:
        file.write("\n\n@always\ndef one_more(s):\n    return True\n")
    assert complaint(capsys, "show", path, "--model", model) == (
        f"{path}: written with another version of model parcels (digest {digest}; the given version has"
        f" {registry.load_file(model).digest[:8]}); write the trace again with check"
    )
    assert complaint(capsys, "show", path, "--model", "none.py").startswith("none.py: ")


# ----------------------------------------------------------------------------------------------------- as a process


def test_ctrl_c(written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder, "read", interrupt)
    assert cli.main(["show", str(written)]) == INTERRUPTED
    assert capsys.readouterr() == ("", "trace: interrupted\n")


def test_traces_needs_only_the_standard_library() -> None:
    code = (
        "import sys; import isrcheck.traces.cli, isrcheck.traces.format.certify, isrcheck.traces.format.files;"
        "print(sorted({'numpy', 'numba', 'z3', 'checker', 'pyspark', 'networkx'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT, check=True)
    assert found.stdout == "[]\n"
