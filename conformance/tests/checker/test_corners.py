"""Corner cases of `check`: interrupts, unusual input and environments, and misleading messages."""

from __future__ import annotations

import errno
import json
import mmap
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from conformance.tests.checker.test_names import HEAD, LOOP_OVER_A_SET
from conformance.tests.support.engine import COUNTER, checking, verdict_of, with_rows
from conformance.tests.support.programs import ran
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.comparisons import published
from isrcheck.checker.comparisons.published import PUBLISHED_MODELS
from isrcheck.checker.compile import kernel as kernels
from isrcheck.checker.results import run as report
from isrcheck.checker.results.exploration import Progress
from isrcheck.checker.results.terminal import ProgressLine
from isrcheck.checker.results.verdict import Word, exit_code
from isrcheck.checker.running import session, trace_writer
from isrcheck.commands.program import product
from isrcheck.conformance.fuzz.collisions.captures import CAPTURES, planted
from isrcheck.models import registry
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format.certify import NotCertifiedError

CONFIGURATION = """
class Configuration:
    most = bound(3, "how far it counts", least=1, option="--most")
    limit = setting(1, "what is promised of the count", option="--limit")


class State"""

MODEL = (
    COUNTER.replace("between, field, require", "between, bound, field, require, setting")
    .replace("\nclass State", CONFIGURATION)
    .replace("between(0, 3)", 'between(0, "most")')
    .replace("s.count < 3", "s.count < s.most")
    .replace("s.count < 2", "s.count <= s.limit")
)

REPORT = f"to report it, send the command, the files of the model, and the version ({product()})"

DURABLE = "replication.factor=3\nmin.insync.replicas=2\nunclean.leader.election.enable=false\nacks=all\n"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder with model.py and topic.properties; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "topic.properties").write_text(DURABLE)
    return checking(cli.main, capsys)


def refuses(check, line, *parts):
    """Assert exit code 2, no stdout, and one line on stderr with all of these texts."""
    code, out, err = check(*shlex.split(line))
    assert (code, out) == (2, "")
    assert err.startswith("check: ")
    assert err.count("\n") == 1
    assert [part for part in parts if part not in err] == []


# --------------------------------------------------------------------------------------------------- untrue or missing


def test_a_disagreement_of_the_engines_exits_70_in_one_line(check, monkeypatch):
    def disagree(*arguments):
        raise NotCertifiedError(
            "plain Python does not confirm the path that the engine found (reproduce: check model.py --bound 2)"
        )

    monkeypatch.setattr(trace_writer, "from_steps", disagree)
    code, _, err = check("model.py")
    assert code == 70
    assert err == (
        "check: plain Python does not confirm the path that the engine found (reproduce: check model.py --bound 2);"
        f" an engine is wrong, which is an error in isrcheck, so no verdict is given: {REPORT}\n"
    )


def test_any_other_error_of_an_engine_says_how_to_repeat_and_report_it(check, monkeypatch):
    def fails(*arguments):
        raise AssertionError("a permutation maps steps to steps")

    monkeypatch.setattr(trace_writer, "from_steps", fails)
    code, _, err = check("model.py", "--bound", "3")
    assert code == 70
    assert err == (
        "check: the engines disagree: a permutation maps steps to steps (reproduce: check model.py --bound 3);"
        f" an engine is wrong, which is an error in isrcheck, so no verdict is given: {REPORT}\n"
    )


def test_a_path_that_plain_python_refutes_blames_an_engine_and_no_file(check):
    """Both engines share the bug; only plain Python notices."""
    Path("names.py").write_text(HEAD.format(nodes=3) + LOOP_OVER_A_SET.format(looks="s.last = last_of(s, x)"))
    code, out, _ = check("names.py", "--no-deadlock")
    assert (code, re.search(r"^HOLDS +is_not_two_unless_a_member$", out, re.MULTILINE) is not None) == (12, True)
    (capture,) = (one for one in CAPTURES if one.name == "parameter_is_new")
    with planted(capture):
        code, out, err = check("names.py", "--no-deadlock")
    assert (code, out) == (70, "")
    assert err.splitlines()[-1] == (
        "check: plain Python does not confirm the path that the engine found: is_not_two_unless_a_member is not broken"
        " at step 1 (looks 0), but the trace says VIOLATED (reproduce: check names.py --bound 1);"
        f" an engine is wrong, which is an error in isrcheck, so no verdict is given: {REPORT}"
    )


def test_with_strict_a_permitted_failure_is_a_violation_even_if_interrupted():
    """The first exit code that applies is returned: 12 comes before 3."""
    assert exit_code(Word.UNDECIDED, strict=True, found=[permitted()]) == 12
    assert exit_code(Word.UNDECIDED, strict=False, found=[permitted()]) == 3


def permitted():
    from isrcheck.checker.results.verdict import Verdict

    prop = registry.load("kafka")[0].properties[0]
    return Verdict(prop, Word.PERMITTED, 2)


def test_a_search_respects_its_memory_limit(check):
    check("kafka", "--protocol", "0.10", "--bound", "0")  # to compile a kernel takes more than this search may
    code, out, _ = check("kafka", "--protocol", "0.10", "--memory", "16M", "--json")
    (run,) = json.loads(out)["runs"]
    assert (code, run["stopped"]) == (12, "memory")
    assert run["bytes"] <= 16 << 20


def test_a_model_without_properties_is_not_reported_as_holding(check, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.replace("@always\n", ""))
    assert "no property" in verdict_of(check("model.py")[1])


@pytest.mark.parametrize("words", [(), ("--strict",), ("--bound", "1"), ("--engine", "z3", "--bound", "1")])
def test_if_no_property_applies_none_is_reported_as_holding(check, tmp_path, words):
    never = MODEL.replace("@always\n", "@always(applies=lambda configuration: False)\n")
    (tmp_path / "model.py").write_text(never)
    code, text, _ = check("model.py", *words)
    last = verdict_of(text)
    assert (code, "HOLDS" in text) == (0, False)
    assert last.startswith("n/a: no property applies under this configuration; ")
    assert json.loads(check("model.py", *words, "--json")[1])["verdict"] == "n/a"


# ---------------------------------------------------------------------------------------------------------- interrupts


def test_an_interrupt_keeps_finished_published_rows(check, monkeypatch, tmp_path):
    table = with_rows(PUBLISHED_MODELS, tmp_path, range(3))
    explore, rows = session.SearchSession.explore, table.rows

    def interrupted(self, *arguments, subject, **more):
        if subject == rows[2].title:
            raise KeyboardInterrupt
        return explore(self, *arguments, subject=subject, **more)

    monkeypatch.setitem(published.TABLES, "check published", (table,))
    monkeypatch.setattr(session.SearchSession, "explore", interrupted)
    code, text, err = check("published")
    assert code == 130
    assert text.splitlines()[-1].startswith("UNDECIDED: 2 of 3 rows equal TLC's figures")
    assert err == "check: interrupted; this is what was found so far\n"


def test_an_interrupt_during_compilation_is_not_lost(check, monkeypatch):
    kernel_of = kernels.kernel_of

    def compiling(*arguments, **named):
        class Callback:
            def __del__(self):
                os.kill(os.getpid(), 2)
                for _ in range(1000):
                    pass

        Callback()
        return kernel_of(*arguments, **named)

    monkeypatch.setitem(session.explore.__globals__, "kernel_of", compiling)
    monkeypatch.setattr(kernels, "kernel_of", compiling)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    assert check("model.py")[0] == 130


# ------------------------------------------------------------------------------------------------------------ commands


def test_the_printed_command_shows_the_trace_of_a_users_model(check, capsys):
    _, text, _ = check("model.py")
    (line,) = [line for line in text.splitlines() if "trace show " in line]
    assert trace(shlex.split(line[line.index("trace show ") :])[1:]) == 0
    assert "stays_small is false" in capsys.readouterr().out


def test_the_printed_command_is_quoted(check, capsys):
    _, text, _ = check("kafka", "--protocol", "0.10", "--bound", "5", "--out", "two words")
    (line,) = [line for line in text.splitlines() if "trace show " in line]
    assert trace(shlex.split(line[line.index("trace show ") :])[1:]) == 0
    assert "isr_is_complete is false" in capsys.readouterr().out


# ----------------------------------------------------------------------------------------------------------- bad input


def test_a_bound_of_5000_digits_is_refused(check):
    refuses(check, f"kafka --bound {'9' * 5000}", "--bound ")


@pytest.mark.parametrize("number", ["٣", "2_0", "0_2"])
def test_only_plain_digits_are_numbers(check, number):
    refuses(check, f"kafka --bound 0 --replicas {number}", f"replicas={number}", "not a whole number")


def test_an_empty_protocol_is_refused(check):
    refuses(check, "kafka --protocol '' --bound 0", "--protocol")


@pytest.mark.parametrize(
    "line",
    [
        "kafka --bound 0 --set replicas=2 --set replicas=3",
        "kafka --bound 0 --replicas 2 --set replicas=3",
        "kafka --bound 0 --switch HW_CLAMPED_AT_TRUNCATION=on --switch HW_CLAMPED_AT_TRUNCATION=off",
    ],
)
def test_one_entry_with_two_values_is_refused(check, line):
    refuses(check, line, "keep one")


@pytest.mark.parametrize("line", ["--replicas 3", "--replicas 3 kafka"])
def test_an_option_before_its_model_is_refused_with_a_hint(check, line):
    refuses(check, line, "--replicas 3", "name the model first")


@pytest.mark.parametrize("form", ["--config", "--describe"])
def test_files_that_configure_a_cluster_leave_nothing_to_options_of_the_model(check, form):
    cure = f"--fencings does not go with {form}: the files configure the cluster; leave --fencings out"
    refuses(check, f"{form} topic.properties --fencings 1", cure)


def test_a_file_in_place_of_the_folder_for_traces_is_refused_before_the_search(check, monkeypatch):
    def search(*arguments, **keywords):
        raise AssertionError("the search has begun")

    monkeypatch.setattr(session, "explore", search)
    refuses(check, "model.py --out model.py", "model.py: ", "not a folder", "--out DIR")


@pytest.mark.parametrize("option", ["limit", "--most"])
def test_an_option_that_an_entry_cannot_have_is_refused(check, tmp_path, option):
    (tmp_path / "model.py").write_text(MODEL.replace('option="--limit"', f'option="{option}"'))
    refuses(check, "model.py", "model.py", "limit", option)


def test_an_option_that_check_itself_has_is_refused(check, tmp_path):
    (tmp_path / "model.py").write_text(MODEL.replace('option="--limit"', 'option="--bound"'))
    refuses(check, "model.py", "model.py", "limit", "--bound")


def test_output_of_a_model_is_not_part_of_the_json_object(check, tmp_path):
    (tmp_path / "model.py").write_text(MODEL + "\nprint('hello')\n")
    code, out, err = check("model.py", "--json")
    assert code == 12
    assert json.loads(out)["verdict"] == "VIOLATED"
    assert err == "hello\n"


def test_the_record_can_be_another_file(tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "RECORD", tmp_path / "nowhere.toml")
    with pytest.raises(Exception, match="nowhere"):
        matrix.recorded()


@pytest.mark.parametrize("content", [b"run = 3\n", b"[[run]]\nmodel = 3\n", b"run = [3]\n", b"\xff\xfe"])
def test_a_record_of_the_wrong_kinds_is_refused(tmp_path, content):
    path = tmp_path / "verdicts.toml"
    path.write_bytes(content)
    with pytest.raises(Exception, match="cannot be read"):
        matrix.recorded(path)


# -------------------------------------------------------------------------------------------------------- surroundings


@pytest.mark.exhaustive
def test_a_helper_edited_within_a_second_is_reloaded(check, tmp_path):
    (tmp_path / "model.py").write_text(
        MODEL.replace("s.count < s.most", "s.count < s.most and s.count < MOST").replace(
            "class Configuration", "from helper import MOST\n\n\nclass Configuration"
        )
    )
    for most, code in ((1, 0), (9, 12)):
        (tmp_path / "helper.py").write_text(f"MOST = {most}\n")
        os.utime(tmp_path / "helper.py", (1_700_000_000, 1_700_000_000))
        assert ran("check model.py", folder=tmp_path, PYTHONDONTWRITEBYTECODE="").code == code


def test_progress_fits_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    line = ProgressLine("kafka, protocol 0.10")
    line.report(Progress(31.0, 26, 23_492_999, 143_770_465, 1_031_766, 1 << 30))
    shown = capsys.readouterr().err.removeprefix("\r\x1b[K")
    assert shown.startswith("kafka, protocol 0.10: 31 s, depth 26")
    assert len(shown) < 60


def test_the_modules_patched_by_the_tests_above_exist():
    assert callable(report.verdict_line)


def test_memory_refused_by_the_machine_is_reported_as_such(tmp_path, monkeypatch, capsys):
    """As in a container, or under `ulimit -v`, with less than half of the machine's memory."""

    def refuse(*arguments, **keywords):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mmap, "mmap", refuse)
    assert cli.main(["kafka", "--protocol", "0.10", "--bound", "1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == ("check: this machine does not have enough memory; give a smaller --memory")
