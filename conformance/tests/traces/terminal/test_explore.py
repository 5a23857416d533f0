"""`trace explore`: its keys and its screen, in textual's headless terminal and in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import fcntl
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from conformance.tests.support.places import PROJECT
from conformance.tests.support.small_models import write_model
from conformance.tests.support.trace import CLASSIC, COMMAND, hostile_model, kafka, own_model, weak_isr
from conformance.tests.traces.terminal.test_walk import begun as begin
from conformance.tests.traces.terminal.test_walk import of_kafka, through
from conformance.tests.traces.test_cli import complaint
from isrcheck.models.registry import load_file
from isrcheck.traces import cli
from isrcheck.traces.format import files
from isrcheck.traces.lanes.table import widest
from isrcheck.traces.terminal.explore import Explorer, Guards, WholeState, verdicts_of
from isrcheck.traces.terminal.show import view
from isrcheck.traces.terminal.walk import Walk


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to a temporary folder, so that saved walks do not stay in the project."""
    monkeypatch.chdir(tmp_path)


Play = Callable[[Explorer, Pilot[None]], Awaitable[None]]


def drive(walk: Walk, play: Play, out: Path = Path("none"), size: tuple[int, int] = (80, 24)) -> Explorer:
    """Drive a walk on a screen of this size."""
    app = Explorer(walk, out)

    async def session() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            await play(app, pilot)

    asyncio.run(session())
    return app


def on_screen(
    made: Callable[[Path], Walk], size: tuple[int, int] = (80, 24)
) -> Callable[[Play], Callable[[Path], None]]:
    """Make a test that plays on the screen of a walk, which is made in a temporary folder and saved in `none` there."""

    def test_of(play: Play) -> Callable[[Path], None]:
        def test(tmp_path: Path) -> None:
            drive(made(tmp_path), play, tmp_path / "none", size)

        return test

    return test_of


async def take(app: Explorer, pilot: Pilot[None], *texts: str) -> None:
    """Put the cursor on each of these options in turn, and press Enter."""
    for text in texts:
        app.query_one("#options", OptionList).highlighted = [option.text for option in app.shown].index(text)
        await pilot.press("enter")
        await pilot.pause()


def text_of(app: Explorer, name: str) -> str:
    return str(app.screen.query_one(name, Static).content)


TEXT = re.compile(r'<text [^>]*-line-(\d+)\)"[^>]*>([^<]*)</text>')
"""A piece of a line in a picture of the screen."""


def screen(app: Explorer) -> list[str]:
    """The text on the terminal, line by line."""
    lines: defaultdict[str, str] = defaultdict(str)
    for line, text in TEXT.findall(app.export_screenshot(simplify=True)):
        lines[line] += html.unescape(text).replace("\xa0", " ").rstrip()
    return [*lines.values()]


def begun(_: Path) -> Walk:
    return begin()


def without_folder(folder: Path) -> Walk:
    """The same, and a file in place of the folder for saved walks."""
    (folder / "none").write_text("")
    return begun(folder)


def along_classic(step: int | None) -> Walk:
    return Walk.along(kafka(CLASSIC, "acked_not_lost"), step, COMMAND)


def ring(folder: Path) -> Walk:
    return through(write_model(folder / "ring.py", RING))


@pytest.mark.sampled
def test_walking_a_known_counterexample_makes_a_property_false(tmp_path: Path) -> None:
    walk = Walk(of_kafka(), COMMAND)

    async def play(app: Explorer, pilot: Pilot[None]) -> None:
        assert text_of(app, "#where") == "kafka/0.10: choose an initial state"
        assert [option.text for option in app.shown] == [f"initial state {i}" for i in range(3)]
        await take(app, pilot, "initial state 0", *CLASSIC[:4])
        assert text_of(app, "#properties").startswith("true: offsets_ordered, acked_not_lost, isr_is_complete,")
        await take(app, pilot, CLASSIC[4])
        assert text_of(app, "#properties").splitlines()[:2] == [
            "isr_is_complete VIOLATED, now",
            "isr_is_complete is false",
        ]
        await take(app, pilot, CLASSIC[5])
        assert text_of(app, "#where") == "kafka/0.10: step 6"
        lines = text_of(app, "#properties").splitlines()
        assert lines[:4] == [
            "acked_not_lost VIOLATED, now",
            "acked_not_lost is false",
            "  holds_record(s, s.controller_leader, record) or was_deleted(s, record) is false for record = a",
            "    given s.acknowledged[record] and s.controller_leader != NONE",
        ]
        assert "isr_is_complete VIOLATED, first at step 5" in lines
        assert any("acked_not_lost VIOLATED, now" in line for line in screen(app))
        assert any("6  controller_fails_over to 1" in line for line in screen(app))
        await pilot.press("s")
        assert len(app.saved) == 1
        await pilot.press("backspace", "s")
        assert text_of(app, "#where") == "kafka/0.10: step 5"
        entries = app.query_one("#options", OptionList)
        assert app.shown[entries.highlighted or 0].text == CLASSIC[5]
        await pilot.press("f")
        assert walk.position == 6
        await pilot.press("q")

    app = drive(walk, play, tmp_path)
    assert [path.name.split("_1.0")[0].rsplit("_", 2)[0] for path in app.saved] == [
        "kafka_0.10_acked_not_lost",
        "kafka_0.10_isr_is_complete",
    ]
    assert cli.main(["show", str(app.saved[0])]) == 0


RING = """
class Node(Domain, size=2):
    pass

class State:
    active = field(Node, values=Flag)
    black = field(Node, values=Flag)
    token = field(values=Node)

@initial
def any_one_is_active(configuration):
    for node in range(2):
        yield {"active": [node == 0, node == 1]}

@action
def rests(s, node: Node):
    s.active[node] = False

@always
def is_whole(s):
    return True
"""


@on_screen(ring)
async def test_an_initial_state_names_the_element_of_a_value(app: Explorer, pilot: Pilot[None]) -> None:
    assert [str(app.prompt(option)) for option in app.shown] == [
        "initial state 0: node 0: active true, black false; node 1: active false, black false; global: token 0",
        "initial state 1: node 0: active false, black false; node 1: active true, black false; global: token 0",
    ]


def test_violations_are_red_and_permitted_failures_are_not() -> None:
    def styles(content: Content) -> list[tuple[str, str]]:
        return [(content.plain[span.start : span.end], str(span.style)) for span in content.spans]

    assert styles(verdicts_of(along_classic(None)))[:2] == [
        ("acked_not_lost VIOLATED, now", "bold $error"),
        ("isr_is_complete VIOLATED, first at step 5", "bold $error"),
    ]
    lost = kafka(["producer_appends at 0", "controller_fails_over to 1"], "acked_not_lost", acks=1)
    assert styles(verdicts_of(Walk.along(lost, None, COMMAND)))[0] == ("acked_not_lost PERMITTED, now", "bold $warning")


@on_screen(begun)
async def test_the_cursor_shows_what_an_option_would_change(app: Explorer, pilot: Pilot[None]) -> None:
    assert text_of(app, "#preview").splitlines()[0] == "log_record[0][0]: none -> a"
    await pilot.press("down")
    assert text_of(app, "#preview") == "fetch[1][0]: NONE -> PARKED"


@on_screen(lambda _: along_classic(5))
async def test_the_cursor_shows_what_an_option_would_make_false(app: Explorer, pilot: Pilot[None]) -> None:
    texts = [option.text for option in app.shown]
    app.query_one("#options", OptionList).highlighted = texts.index(CLASSIC[5])
    await pilot.pause()
    assert text_of(app, "#preview").splitlines()[:2] == [
        "makes acked_not_lost false",
        "controller_leader: 0 -> 1",
    ]
    content = app.screen.query_one("#preview", Static).content
    assert isinstance(content, Content)
    assert [str(span.style) for span in content.spans] == ["bold $error"]


@on_screen(begun)
async def test_a_filter_keeps_the_steps_that_contain_its_words(app: Explorer, pilot: Pilot[None]) -> None:
    await pilot.press("slash", *"crash", "space", "2")
    assert [option.text for option in app.shown] == ["broker_crashes 2"]
    await pilot.press("enter", "enter")
    assert text_of(app, "#where") == "kafka/0.10: step 1"
    assert app.query_one("#filter", Input).value == ""
    await pilot.press("slash", *"nothing", "enter", "enter")
    assert app.shown == []
    assert any("no enabled step contains nothing" in line for line in screen(app))
    await pilot.press("escape")
    assert len(app.shown) == len(app.walk.options())


@pytest.mark.sampled
@on_screen(begun)
async def test_the_reason_why_a_step_is_disabled(app: Explorer, pilot: Pilot[None]) -> None:
    await pilot.press("down", "g")
    await pilot.pause()
    assert isinstance(app.screen, Guards)
    actions = app.screen.query_one("#actions", OptionList)
    assert str(actions.get_option_at_index(actions.highlighted or 0).prompt) == "leader_handles_fetch: 2 of 9 enabled"
    lines = text_of(app, "#reasons").splitlines()
    assert lines[1] == "leader_handles_fetch 0 from 1: enabled"
    assert lines[3] == (
        "leader_handles_fetch 1 from 0: its guard `may_fetch(s, follower, leader)` is false (s.leader[1] = 0)"
    )
    await pilot.press("escape", "v")
    await pilot.pause()
    assert isinstance(app.screen, WholeState)
    assert any(line.startswith("│controller_leader          0") for line in screen(app))
    await pilot.press("v")
    await pilot.pause()
    assert app.screen is app.screen_stack[0]


@pytest.mark.sampled
@pytest.mark.parametrize("size", [(200, 60), (80, 24), (40, 15), (20, 24), (10, 4)])
def test_every_terminal_size_works(size: tuple[int, int]) -> None:
    async def play(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("backspace", "enter", "g", "down", "escape", "v", "escape", "s")
        assert app.walk.position == 6

    drive(along_classic(None), play, size=size)


@on_screen(lambda _: along_classic(None), size=(130, 40))
async def test_resizing_lays_the_trace_out_anew(app: Explorer, pilot: Pilot[None]) -> None:
    every_lane_on_one_line, narrower = 114, 105
    assert widest(text_of(app, "#history").splitlines()) == every_lane_on_one_line
    await pilot.resize_terminal(narrower, 30)
    await pilot.pause()
    assert widest(text_of(app, "#history").splitlines()) <= narrower - 2, "the panel has margins"


@on_screen(lambda folder: Walk(load_file(own_model(folder)).instance(None, {"LOCKED": 1}), COMMAND))
async def test_a_users_model_without_enabled_steps(app: Explorer, pilot: Pilot[None]) -> None:
    assert text_of(app, "#titles").split() == ["#", "step", "shelf", "0", "shelf", "1", "global"]
    assert any("no step is enabled: a dead end" in line for line in screen(app))
    await pilot.press("enter", "g", "escape", "backspace", "f")
    assert text_of(app, "#where") == "parcels: step 0"


@on_screen(lambda folder: through(hostile_model(folder, "[red]\\x1b[2J")))
async def test_text_of_a_model_is_escaped(app: Explorer, pilot: Pilot[None]) -> None:
    assert "mood_of[0]: [red]\\x1b[2JCALM -> [red]\\x1b[2JBUSY" in text_of(app, "#preview")
    await take(app, pilot, "clerk_shelves {a} 0")
    assert "[red]\\x1b[2JBUSY" in text_of(app, "#history")
    await pilot.press("v")
    assert not any("\x1b" in line for line in screen(app))


@on_screen(without_folder)
async def test_a_walk_that_cannot_be_saved_is_reported_and_continues(app: Explorer, pilot: Pilot[None]) -> None:
    await pilot.press("s")
    await pilot.pause()
    assert app.saved == []
    assert [toast.has_class("-error") for toast in app.screen.query("Toast")] == [True]
    await take(app, pilot, "producer_appends at 0")
    assert app.walk.position == 1


# ----------------------------------------------------------------------------------------------------- the command


COMPLAINTS = {
    "": "name a model, as in: trace explore kafka --protocol 2.1; or a trace: --from FILE",
    "kafak": "no model kafak; did you mean kafka?",
    "kafka": "kafka needs --protocol; there are: 0.8, 0.10, 0.11, 2.0, 2.1, ",
    "kafka/2.1 --replicas": "argument --replicas: expected one argument; see trace explore --help",
    "kafka/2.1 --replica 3": "kafka has no option --replica; did you mean --replicas?",
    "kafka/2.1 --step 3": "--step needs --from FILE",
    "--from FILE --step x": "--step x: not the number of a step",
    "--from FILE --step 9": "--step 9: no such step; the trace has the steps 0..8",
    "kafka --from FILE": "FILE is a trace of published, not of kafka; leave the model out",
    "--from FILE --acks 1": "FILE already has a configuration; leave --acks out",
    "--from none": "none: cannot be read: No such file or directory; list the traces with: trace list",
    **dict.fromkeys(
        ("kafka/2.1 --replicas 2", "--from FILE --step 0", "published --from FILE"),
        "explore needs a terminal for input and output; without one use: trace show FILE",
    ),
}


@pytest.mark.parametrize("words", COMPLAINTS)
def test_one_line_for_bad_input(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(weak_isr(), Path()).rename("FILE")
    assert complaint(capsys, "explore", *words.split()).startswith(COMPLAINTS[words])


def on_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)


def test_without_textual_the_line_names_the_cure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "textual":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return whole(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "isrcheck.traces.terminal.explore")
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setenv("TERM", "xterm")
    on_terminals(monkeypatch)
    cure = "explore needs textual, which is not installed: pip install 'isrcheck[viewer]'"
    assert complaint(capsys, "explore", "kafka/2.1") == cure


def test_a_terminal_without_cursor_control_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    on_terminals(monkeypatch)
    assert complaint(capsys, "explore", "kafka/2.1").startswith("explore needs a terminal with a cursor, and TERM")


def test_only_this_command_loads_textual() -> None:
    code = "import sys, isrcheck.traces.cli; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=False).returncode == 0


@pytest.mark.sampled
def test_on_a_real_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm-256color"}
    words = ["explore", "kafka/0.10", "--replicas", "2", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "isrcheck.traces", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    for awaited, key in ((b"controller_fails_over", b"\r"), (b"step 1", b"s"), (b"saved:", b"q")):
        while awaited not in seen:
            assert select.select([ours], [], [], 60)[0], f"no {awaited!r} in {seen!r}"
            seen += os.read(ours, 1 << 16)
        os.write(ours, key)
        seen = b""
    with contextlib.suppress(OSError):  # what Linux says at the end of what a terminal has got
        while part := os.read(ours, 1 << 16):
            seen += part
    os.close(ours)
    assert process.wait() == 0
    (path,) = tmp_path.glob("kafka_0.10_behaviour_*.itf.json")
    assert f"saved {path}; see it with: trace show {path}" in seen.decode()
    found = files.read(path)
    assert found.command == "trace explore kafka/0.10 --replicas 2"
    assert found.length == 1
    assert view(found)[0] == "kafka/0.10, replicas=2"
