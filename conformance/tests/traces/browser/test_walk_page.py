"""`trace explore --browser`: the pages of a walk, the steps they offer, going back, saving; and the command."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from http.client import CONFLICT, NOT_FOUND
from pathlib import Path

import pytest

from conformance.tests.support.markup import Parts
from conformance.tests.support.places import PROJECT
from conformance.tests.support.trace import CLASSIC, COMMAND, hostile_model, kafka, own_model
from conformance.tests.traces.browser.visitor import Reply, Visitor, visiting
from conformance.tests.traces.terminal.test_walk import begun, latch, of_kafka, take, through
from conformance.tests.traces.test_cli import complaint
from isrcheck.models import registry
from isrcheck.traces import cli
from isrcheck.traces.browser.site import OUT_OF_DATE, WalkSite
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import VIOLATED
from isrcheck.traces.terminal.walk import Walk

LOSS = (
    "An acknowledged record is lost: broker 1 cuts it from its log when it restarts, and is elected, although broker 0"
    " still has it"
)

Serve = Callable[[Walk], Visitor]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serves walks, which are saved in tmp_path/saved."""
    with ExitStack() as stack:

        def served(walk: Walk) -> Visitor:
            site: AbstractContextManager[Visitor] = visiting(WalkSite(walk, tmp_path / "saved", lambda _: None))
            return stack.enter_context(site)

        yield served


def site(visitor: Visitor) -> WalkSite:
    found = visitor.server.site
    assert isinstance(found, WalkSite)
    return found


def classic(step: int | None) -> Walk:
    return Walk.along(kafka(CLASSIC, "acked_not_lost"), step, COMMAND)


def choices(reply: Reply) -> list[tuple[str, str]]:
    """The buttons of a page: the words of each, and the name of its step."""
    buttons = [one for one in Parts(reply.text).named("button") if one.attributes.get("name") == "option"]
    words = [one.text for one in Parts(reply.text).named("span", "words")][: len(buttons)]
    return [(one, button.text.removeprefix(one)) for one, button in zip(words, buttons, strict=True)]


def fields(reply: Reply) -> dict[str, str]:
    """The hidden fields of a form on a page."""
    hidden = [one.attributes for one in Parts(reply.text).named("input") if one.attributes.get("type") == "hidden"]
    return {one["name"] or "": one["value"] or "" for one in hidden}


def press(visitor: Visitor, reply: Reply, words: str) -> Reply:
    """Press the button with these words on a page, and go to where it leads."""
    number = [one for one, _ in choices(reply)].index(words)
    return visitor.follow(visitor.post("take", option=str(number), **fields(reply)))


def position(reply: Reply) -> str:
    return Parts(reply.text).one("position").text


def links(reply: Reply) -> dict[str, str | None]:
    """Where back and forward lead; None if they lead nowhere."""
    return {name: Parts(reply.text).one(name).attributes.get("href") for name in ("back", "forward")}


def texts(reply: Reply, name: str, kind: str = "") -> list[str]:
    """The texts of the elements of a page with this name and this class."""
    return [part.text for part in Parts(reply.text).named(name, *([kind] if kind else []))]


def turns(reply: Reply) -> list[tuple[str, str | None]]:
    """What steps turn false: for each, a sentence and the terms of the model, each with its class."""
    parts = Parts(reply.text).found
    return [(part.text, part.attributes["class"]) for part in parts if part.is_of("turn") or part.is_of("terms")]


# ------------------------------------------------------------------------------------------------------------- a walk


def test_a_walk_from_the_choice_of_an_initial_state(serve: Serve) -> None:
    visitor = serve(Walk(of_kafka(), COMMAND))
    begin = visitor.follow(visitor.get())
    assert choices(begin) == [
        (
            f"controller: epoch 0, leader 0, ISR {isr}; broker 0: leads in epoch 0, ISR {isr}, followers at 1:0 2:0",
            f"initial state {number}",
        )
        for number, isr in enumerate(("01", "02", "012"))
    ]
    assert position(begin) == "before the first step"
    assert links(begin) == {"back": None, "forward": None}
    shown = press(visitor, begin, choices(begin)[0][0])
    assert position(shown) == "step 0"
    assert links(shown) == {"back": "start", "forward": None}
    assert choices(shown)[:3] == [
        ("the producer sends record a to broker 0, which appends it", "producer_appends at 0"),
        ("broker 1 asks broker 0 for more, and so tells it how far it has come", "leader_handles_fetch 0 from 1"),
        ("broker 2 asks broker 0 for more, and so tells it how far it has come", "leader_handles_fetch 0 from 2"),
    ]
    assert [name for _, name in choices(shown)] == [option.text for option in site(visitor).walk.options()]
    shown = press(visitor, shown, "the producer sends record a to broker 0, which appends it")
    assert position(shown) == "step 1"
    assert site(visitor).walk.trace.length == 1
    shown = visitor.get("start")
    assert (position(shown), links(shown)) == ("before the first step", {"back": None, "forward": "step-0"})
    assert Parts(shown.text).one("save").attributes.keys() >= {"disabled"}


def test_what_a_step_turns_false_is_marked_before_it_is_taken(serve: Serve) -> None:
    visitor = serve(classic(4))
    cut = "A member of the ISR lacks a record that readers have seen: broker 1 cuts it from its log when it restarts"
    assert turns(visitor.get("step-4")) == [
        (cut, "turn VIOLATED"),
        ("makes isr_is_complete false", "terms VIOLATED"),
    ]
    shown = visitor.get("step-5")
    assert turns(shown) == [(LOSS, "turn VIOLATED"), ("makes acked_not_lost false", "terms VIOLATED")]
    assert texts(shown, "h1") == [cut]
    shown = press(visitor, shown, "the controller takes broker 0 for dead, and elects broker 1")
    assert (texts(shown, "h1"), texts(shown, "span", "verdict")) == ([LOSS], [VIOLATED])
    assert texts(shown, "p", "promise")[:2] == ["acked_not_lost VIOLATED, now", "acked_not_lost is false"]


def test_what_the_settings_permit_is_marked_as_permitted(serve: Serve) -> None:
    visitor = serve(take(begun(acks=1), "producer_appends at 0"))
    assert turns(visitor.get("step-1"))[1] == ("makes acked_not_lost false (permitted)", "terms PERMITTED")


def test_the_changes_of_a_step_are_listed(serve: Serve) -> None:
    shown = serve(classic(0)).get("step-0")
    parts = Parts(shown.text).found
    first = next(number for number, one in enumerate(parts) if one.name == "details")
    assert [one.text for one in parts[first + 1 : first + 8]] == [
        "changes",
        parts[first].text.removeprefix("changes"),
        "log_record[0][0]: none -> a",
        "log_epoch[0][0]: none -> 0",
        "log_end_offset[0]: 0 -> 1",
        "next_record: 0 -> 1",
        "pending[a]: none -> 0",
    ]


def test_going_back_and_forward_and_another_way(serve: Serve) -> None:
    visitor = serve(classic(None))
    shown = visitor.follow(visitor.get())
    assert (position(shown), links(shown)) == ("step 6", {"back": "step-5", "forward": None})
    shown = visitor.get("step-5")
    assert (position(shown), links(shown)) == ("step 5 of 6", {"back": "step-4", "forward": "step-6"})
    rows = [one.attributes["class"] for one in Parts(shown.text).named("li", "moment")]
    assert rows == ["moment"] * 5 + ["moment current", "moment ahead"]
    assert [one.attributes["href"] for one in Parts(shown.text).named("a", "step")] == [f"step-{n}" for n in range(7)]
    assert visitor.get().headers["Location"] == "step-5", "a second tab shows the same"
    shown = press(visitor, shown, "broker 2 crashes")
    assert position(shown) == "step 6"
    assert [step.action for step in site(visitor).walk.trace.steps][-1] == "broker_crashes"
    assert visitor.get("step-7").headers["Location"] == "step-6", "a step that is no longer there"
    for name in ("step-07", "step--1", "step-x", "nowhere", "../etc/passwd", "take", "step-1/"):
        assert visitor.get(name).status == NOT_FOUND, name


def test_a_form_of_a_page_that_is_out_of_date_takes_no_step(serve: Serve) -> None:
    visitor = serve(classic(0))
    old = visitor.get("step-3")
    press(visitor, visitor.get("step-2"), "broker 2 crashes")
    visitor.get("step-1")
    for name in ("take", "save"):
        found = visitor.post(name, option="0", **fields(old))
        assert (found.status, texts(found, "p", "notice")) == (CONFLICT, [OUT_OF_DATE])
        assert position(found) == "step 1 of 3", "the present state"
    now = fields(visitor.get("step-3"))
    for wrong in ({}, {**now, "place": "9"}, {**now, "place": "x"}, {**now, "mark": ""}):
        assert visitor.post("take", option="0", **wrong).status == CONFLICT
    for option in ("99", "-1", "", "x"):
        notice = "the walk has no such step in this state; choose one of the buttons"
        assert texts(visitor.post("take", option=option, **now), "p", "notice") == [notice]
    assert [step.action for step in site(visitor).walk.whole.steps][2:] == ["broker_crashes"]
    assert visitor.post("drop", **now).status == NOT_FOUND


def test_saving_writes_the_trace_that_the_terminal_writes(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visitor = serve(classic(None))
    shown = visitor.follow(visitor.post("save", **fields(visitor.get("step-6"))))
    (path,) = site(visitor).saved
    assert texts(shown, "p", "saved") == [f"saved {path}; see it with: trace show {path}"]
    assert path.read_bytes() == classic(None).save(tmp_path / "terminal").read_bytes()
    found = files.read(path)  # which certifies it
    assert (found.property_name, found.verdict, found.length) == ("acked_not_lost", VIOLATED, 6)
    assert cli.main(["show", str(path)]) == 0
    assert "VIOLATED at step 6: acked_not_lost" in capsys.readouterr().out
    visitor.post("save", **fields(visitor.get("step-6")))
    assert len(site(visitor).saved) == 1, "the same file"


def test_a_walk_that_cannot_be_saved_is_reported(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("")
    visitor = serve(classic(None))
    found = visitor.post("save", **fields(visitor.get("step-6")))
    assert (found.status, len(texts(found, "p", "notice"))) == (CONFLICT, 1)
    assert site(visitor).saved == []


# --------------------------------------------------------------------------------------------------------- any model


def test_a_dead_end_and_a_step_that_causes_an_error(serve: Serve, tmp_path: Path) -> None:
    shown = serve(Walk(registry.load_file(own_model(tmp_path)).instance(None, {"LOCKED": 1}), COMMAND)).get("step-0")
    assert choices(shown) == []
    assert "No step is enabled: a dead end." in shown.text
    visitor = serve(through(own_model(tmp_path, count="count = field(values=between(0, 1))")))
    shown = visitor.get("step-0")
    button = next(one for one in Parts(shown.text).named("button") if "clerk_shelves {a,b} 0" in one.text)
    assert "causes an error: " in button.text
    assert "2 is written to count, whose values are 0..1" in button.text
    assert "disabled" in button.attributes
    found = visitor.post("take", option=button.attributes["value"] or "", **fields(shown))
    assert (found.status, site(visitor).walk.position) == (CONFLICT, 0)


def test_the_properties_that_are_not_judged_ahead_are_named(serve: Serve, tmp_path: Path) -> None:
    hint = "The buttons do not show whether a step violates these properties: can_be_open."
    assert texts(serve(latch(tmp_path)).get("step-0"), "p", "hint")[0] == hint


MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\\x1b[2J\\u202e"


def hostile(where: Path) -> Walk:
    """A walk through a model whose names and sentences are markup."""
    path = hostile_model(where, MARKUP, nothing_is_lost=f"@always\ndef nothing_is_lost(s):\n    '{MARKUP}'\n")
    return take(Walk(registry.load_file(path).instance(), f"trace {MARKUP}"), "clerk_shelves {a} 0")


def test_text_of_a_model_is_never_markup(serve: Serve, tmp_path: Path) -> None:
    visitor = serve(hostile(tmp_path))
    shown = visitor.follow(visitor.get())
    parts = Parts(shown.text)
    assert [MARKUP in one.text for one in parts.named("span", "turn")].count(True) == 1
    assert [f"{MARKUP}CALM" in one.text for one in parts.named("details")].count(True) == 3
    assert len(parts.named("script")) == 2
    assert parts.named("img") == []
    assert not re.search("[\x00-\x08\x1b\u202e]", shown.text)
    assert re.sub("sha256-[A-Za-z0-9+/]{43}=", "HASH", parts.policy) == (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'HASH'; form-action 'self'; base-uri 'none'"
    )
    assert shown.headers["Content-Security-Policy"] == f"{parts.policy}; frame-ancestors 'none'"


# ---------------------------------------------------------------------------------------------------------- the command


def test_one_line_for_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    for port in ("0", "65536", "x", "-1", "1" * 5000, "²"):
        said = complaint(capsys, "explore", "kafka/2.1", "--browser", f"--port={port}")
        assert said.startswith(f"--port {port[:900]}"), port
    assert said == "--port ²: not a port; give a number from 1 to 65535"
    assert complaint(capsys, "explore", "kafka/2.1", "--port", "8000") == "--port needs --browser"
    assert complaint(capsys, "explore", "kafak", "--browser").startswith("no model kafak; did you mean kafka?")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        said = complaint(capsys, "explore", "kafka/2.1", "--browser", "--port", port)
    assert said == f"--port {port}: another program uses it; give another port, or leave --port out for a free one"


def test_control_c_ends_the_command_with_one_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "isrcheck.traces", "explore", "examples/two_phase_commit", "--browser"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    assert process.stdout is not None
    said = process.stdout.readline()
    address = r"http://127\.0\.0\.1:\d+/[\w-]{24}/"
    assert re.fullmatch(rf"open {address} in a browser on this machine; Ctrl-C ends the walk\n", said)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("ended: nothing saved\n", "")
    assert process.returncode == 0
