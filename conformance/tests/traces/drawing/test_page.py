"""The command `trace page`: the files that it writes and keeps, and its messages on bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conformance.tests.support import trace
from conformance.tests.support.markup import Parts
from conformance.tests.traces.other_tools.test_foreign import bank, cannibals, jugs
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.commands.program import product
from isrcheck.models.messages import UsageError
from isrcheck.traces.cli import main
from isrcheck.traces.drawing import graphics as picture
from isrcheck.traces.drawing.page import page
from isrcheck.traces.format import files as folder
from isrcheck.traces.other_tools import foreign

STEPS = 6


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the command, in which it writes pages."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace_file(here: None) -> Path:
    return folder.write(trace.kafka(trace.CLASSIC, "acked_not_lost"), Path("counterexamples"))


def names() -> list[str]:
    return sorted(path.name for path in Path.cwd().iterdir())


def test_a_page_is_one_self_contained_file(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "page", trace_file, "-o", "out.html") == "out.html\n"
    text = Path("out.html").read_text(encoding="utf-8")
    assert " - isrcheck</title>" in text and f"<span>{product()}</span>" in text
    parts = Parts(text)
    assert all(address.startswith("#") for address in parts.addresses)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(parts.tags)
    assert parts.tags.count("script") == 2
    story = parts.data("story")
    assert story["steps"][STEPS] == "controller_fails_over to 1"
    assert story["words"][STEPS] == "the controller takes broker 0 for dead, and elects broker 1"
    assert "<h1>An acknowledged record is lost: broker 1 cuts it from its log when it restarts, and" in text
    assert story["broken"] == [[], [], [], [], [], ["isr_is_complete"], ["acked_not_lost", "isr_is_complete"]]
    assert [len(story[key]) for key in ("steps", "words", "frames", "values", "fates")] == [STEPS + 1] * 5
    assert names() == ["counterexamples", "out.html"]


def test_without_a_given_name_the_page_is_named_after_the_trace(
    trace_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, "page", "counterexamples/latest") == f"{trace_file.name.removesuffix('.itf.json')}.html\n"


def test_all_formats_at_once(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("resvg_py", reason="pip install 'isrcheck[viewer]'")
    forms = {"--html": "a.html", "--svg": "a.svg", "--png": "a.png", "--mermaid": "a.mmd", "--plantuml": "a.puml"}
    words = (word for pair in forms.items() for word in pair)
    assert shown(capsys, "page", trace_file, *words).split() == list(forms.values())
    starts = {path: Path(path).read_bytes()[:9] for path in forms.values()}
    assert starts == {
        "a.html": b"<!DOCTYPE",
        "a.svg": b"<svg xmln",
        "a.png": b"\x89PNG\r\n\x1a\n\x00",
        "a.mmd": b"sequenceD",
        "a.puml": b"@startuml",
    }


def test_graphics_of_one_step(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step, name in ((3, "three"), (-4, "fourth_from_the_end"), (STEPS, "last")):
        shown(capsys, "page", trace_file, "--svg", f"{name}.svg", "--step", step)
    assert Path("three.svg").read_text() == Path("fourth_from_the_end.svg").read_text()
    assert "controller_fails_over to 1" in Path("last.svg").read_text()


def test_no_file_is_overwritten_without_force(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.html").write_text("mine")
    words = ["page", trace_file, "-o", "out.html"]
    refusal = "out.html: exists already and is not overwritten; choose a new name, or add --force"
    assert complaint(capsys, *words) == refusal
    assert Path("out.html").read_text() == "mine"
    shown(capsys, *words, "--force")
    assert Path("out.html").read_text().startswith("<!DOCTYPE html>")
    assert names() == ["counterexamples", "out.html"]


def test_only_regular_files_are_ever_replaced(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--force` with /dev/stdout, a link to wherever the output goes, would otherwise put a file into the link's place,
    for everybody on the machine."""
    os.mkfifo("pipe")
    Path("mine").write_text("mine")
    Path("link").symlink_to("pipe")
    Path("stdout").symlink_to("mine")
    Path("nowhere").symlink_to("none")
    for name in ("pipe", "link", "stdout", "nowhere"):
        refusal = f"{name}: a link, a pipe or a device, which is not overwritten; name a regular file"
        for words in ([], ["--force"]):
            assert complaint(capsys, "page", trace_file, "--mermaid", name, *words) == refusal
    assert names() == ["counterexamples", "link", "mine", "nowhere", "pipe", "stdout"]
    assert Path("pipe").is_fifo()
    assert [Path(name).is_symlink() for name in ("link", "stdout", "nowhere")] == [True] * 3
    assert Path("mine").read_text() == "mine"


BAD_INPUT = {
    "--svg x.svg --step 7": "there is no step 7; the steps are 0..6, or -1 for the last",
    "--step 1": "--step applies only to --svg and --png; add one of them",
    "--svg x --mermaid x": "two options name the same file; give each a file of its own",
    "-o .": ".: a folder; name a file in it",
    "-o none/x.html": "none/x.html: cannot be written: No such file or directory; name a file elsewhere",
    "--png x.png": "--png needs the package resvg-py; get it with: pip install 'isrcheck[viewer]', or use --svg",
    "--model parcels.py": "{file}: a trace of the model kafka, but --model names parcels; leave --model out",
}


@pytest.mark.sampled
@pytest.mark.parametrize("words", BAD_INPUT)
def test_bad_input(
    words: str, trace_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace.own_model(Path())
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    assert complaint(capsys, "page", trace_file, *words.split()) == BAD_INPUT[words].format(file=trace_file)
    assert names() == ["counterexamples", "parcels.py"]


def test_a_page_of_a_users_model_needs_nothing_of_kafka() -> None:
    text = page(trace.weak_isr()).alone()
    assert "weak_isr: VIOLATED" not in text
    assert 'class="verdict VIOLATED"' in text
    assert 'id="fates"' not in text


def test_a_machine_without_fonts_writes_no_picture_without_text(monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = pytest.importorskip("resvg_py", reason="pip install 'isrcheck[viewer]'")
    draw = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **given: draw(skip_system_fonts=True, **given))
    with pytest.raises(UsageError, match=r"^--png finds no font on this machine; get one, such as fonts-dejavu-core"):
        picture.png("<svg/>")


@pytest.mark.parametrize(("protocol", "count", "announcements"), [("2.1", 40, 3), ("2.8", 50, 3), ("3.7", 62, 4)])
def test_only_fields_that_a_generation_has_are_listed(protocol: str, count: int, announcements: int) -> None:
    story = Parts(page(trace.kafka(["producer_appends at 0"], None, None, protocol)).alone()).data("story")
    assert len(story["variables"]) == count
    sizes = dict(zip(story["variables"], map(len, story["indices"]), strict=True))
    assert (sizes["log_record"], sizes["metadata_leader"]) == (3, announcements)


@pytest.mark.parametrize(("document", "steps"), [(bank(), 3), (cannibals(), 3), (jugs(loop=True), 3)])
def test_traces_of_other_tools(document: object, steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    Path("theirs.json").write_text(json.dumps(document))
    read = foreign.read(document)
    shown(capsys, "page", "theirs.json", "--svg", "theirs.svg", "-o", "theirs.html", "--mermaid", "theirs.mmd")
    story = Parts(Path("theirs.html").read_text(encoding="utf-8")).data("story")
    assert story["variables"] == list(read.variables)
    assert story["values"] == [[[state.get(name, "")] for name in read.variables] for state in read.states]
    assert len(story["steps"]) == len(read.states) == steps
    assert ("continues with state" in Path("theirs.html").read_text()) is (read.loop is not None)
    assert complaint(capsys, "page", "theirs.json", "--model", "x.py").endswith("leave --model out")


def test_permitted_failures_are_distinguished() -> None:
    steps = ("producer_appends at 0", "controller_fails_over to 1")
    parts = Parts(page(trace.kafka(steps, "acked_not_lost", None, acks=1)).alone())
    assert parts.data("story")["broken"] == [[], [], ["acked_not_lost (permitted)"]]


@pytest.mark.sampled
def test_pages_load_neither_engines_nor_picture_libraries(trace_file: Path) -> None:
    script = (
        "import sys; from isrcheck.traces.cli import main; main(sys.argv[1:]);"
        " print([name for name in ('numba', 'numpy', 'z3', 'pyspark', 'resvg_py', 'textual') if name in sys.modules])"
    )
    words = [sys.executable, "-c", script, "page", str(trace_file), "-o", "x.html"]
    found = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert found.stdout == "x.html\n[]\n"
    assert picture.ZOOM == 2


def test_a_value_of_megabytes_is_drawn_in_linear_time(capsys: pytest.CaptureFixture[str]) -> None:
    repeated, seconds = 700_000, 15  # a minute and more, where each line copied what was left of the text
    Path("long.json").write_text(json.dumps({"vars": ["x"], "states": [{"x": "ab<" * repeated}, {"x": "b"}]}))
    began = time.process_time()
    shown(capsys, "page", "long.json", "-o", "page.html")
    assert time.process_time() - began < seconds
    assert Path("page.html").read_text().count("ab\\u003c") == 2 * repeated, "in the lane, and among the variables"


@pytest.mark.parametrize("form", ["-o", "--svg"])
def test_more_states_than_a_browser_shows_are_refused(capsys: pytest.CaptureFixture[str], form: str) -> None:
    Path("many.json").write_text(json.dumps({"vars": ["x"], "states": [{"x": 1}] * 10_001}))
    assert complaint(capsys, "page", "many.json", form, "out") == (
        "10,001 states are more than the 10,000 that can be drawn; draw one of them with --svg OUT.svg --step I,"
        " or read them with trace show"
    )
    assert not Path("out").exists()


def test_a_folder_of_traces_has_an_index(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder.write(trace.kafka(trace.CLASSIC[:5], "isr_is_complete"), trace_file.parent)
    reached = folder.write(trace.kafka(trace.COMMITTED, "a_write_is_acknowledged"), trace_file.parent)
    stems = [path.name.removesuffix(".itf.json") for path in (trace_file, other, reached)]
    paths = shown(capsys, "page", "counterexamples", "-o", "pages").split()
    assert paths == ["pages/index.html", *(f"pages/{stem}.html" for stem in stems)], "failures first"
    index = Path("pages/index.html").read_text(encoding="utf-8")
    assert [one for one in Parts(index).addresses if one.endswith(".html")] == [f"{stem}.html" for stem in stems]
    assert "<h1>3 traces</h1>" in index
    assert "This can happen: a write is acknowledged" in index
    assert '<a href="index.html">index</a>' in Path(f"pages/{stems[0]}.html").read_text(encoding="utf-8")
    refusal = "pages: has files, which are not overwritten; give a new folder with -o DIR, or add --force"
    assert complaint(capsys, "page", "counterexamples", "-o", "pages") == refusal
    shown(capsys, "page", "counterexamples", "-o", "pages", "--force")


def test_a_folder_with_a_damaged_trace(trace_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "javascript:<img src=x>.itf.json"
    (trace_file.parent / evil).write_text(trace_file.read_text(), encoding="utf-8")
    (trace_file.parent / "cut.itf.json").write_text(trace_file.read_text()[:2000], encoding="utf-8")
    assert main(["page", "counterexamples"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("trace: counterexamples/cut.itf.json: not JSON") and len(err.splitlines()) == 1
    assert len(out.splitlines()) == 3
    index = Path("counterexamples-pages/index.html").read_text(encoding="utf-8")
    assert "<img" not in index and "javascript:&lt;img src=x&gt;" in index
    assert 'href="javascript%3A%3Cimg%20src%3Dx%3E.html"' in index
    Path("empty").mkdir()
    assert complaint(capsys, "page", "empty") == "empty: no traces in it; check writes traces to ./counterexamples"
    assert complaint(capsys, "page", "counterexamples", "--svg", "x.svg") == (
        "counterexamples: --svg draws one trace, and this is a folder; name a file in it"
    )
