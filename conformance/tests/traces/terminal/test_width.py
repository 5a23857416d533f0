"""The terminal view in terminals of any width, and in colours."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.support.places import PROJECT
from conformance.tests.support.trace import CLASSIC, COMMITTED, fast_fail_over, kafka, own_model, trace, weak_isr
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.models import registry
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import HOLDS, VERDICTS, Trace
from isrcheck.traces.lanes import table
from isrcheck.traces.lanes.table import Ink, Look, StepRow, fitted, lay_out, wrapped
from isrcheck.traces.terminal.show import view, why

pytestmark = pytest.mark.sampled

CODES = re.compile(r"\x1b\[[0-9;]*m")

CLASSIC_80 = """\
An acknowledged record is lost: broker 1 cuts it from its log when it restarts,
    and is elected, although broker 0 still has it
kafka/0.10, default configuration

  #  step                   controller   broker 0    broker 1  broker 2  clients
  0  initially              e0 leader 0  L0 |        f0 |      f0 |      ·
                              isr 01
  1  producer_appends at 0  ·            L0 |a0      ·         ·         ·
  2  leader_handles_fetch   ·            ·           ·         ·         ·
       0 from 1
  3  follower_applies_      ·            ·           f0 |a0    ·         ·
       response 1 from 0
  4  leader_handles_fetch   ·            L0 a0|      ·         ·         reads a
       0 from 1                                                          acked a
  5  broker_bounces 1       ·            ·           f0 |      ·         ·
       checkpoint 0
  6  controller_fails_over  e1 leader 1  L0 a0|      ·         ·         ·
       to 1                   isr 1        (isr 01)

VIOLATED at step 6: acked_not_lost: The controller's leader holds every record
    that a producer regards as written, unless the record was deleted.
acked_not_lost is false
  holds_record(s, s.controller_leader, record) or was_deleted(s, record) is
      false for record = a
    given s.acknowledged[record] and s.controller_leader != NONE
    holds_record(s, s.controller_leader, record) is false
      s.controller_leader = 1
      any(s.log_record[r][offset] == record for offset in range(s.log_size)) is
          false for r = 1
        s.log_record[1][0] = none, s.log_record[1][1] = none
    was_deleted(s, record) is false
      any(s.exposed_record[offset] == record for offset in range(s.log_size) if
          offset < s.deleted_before) is false
        s.deleted_before = 0
record a: acknowledged at step 4 by leader_handles_fetch 0 from 1
  removed from broker 1 at step 5 by broker_bounces 1 checkpoint 0
  lost at step 6 by controller_fails_over to 1
not permitted: acks=all promises it, and no unclean election, loss of power or
    loss of a disk took place
reproduce: check something --bound 8
"""


def look(width: int, is_coloured: bool = False) -> Look:
    return Look(width, Ink(is_coloured), fits=True)


def test_80_columns() -> None:
    assert "\n".join(view(kafka(CLASSIC, "acked_not_lost"), look=look(80))) + "\n" == CLASSIC_80


def test_120_columns_are_what_a_pipe_gets_and_200_have_every_lane_on_one_line() -> None:
    found = kafka(CLASSIC, "acked_not_lost")
    assert view(found, look=look(120)) == view(found)
    wide = view(found, look=look(200))
    assert wide[10] == (
        "  6  controller_fails_over to 1          e1 leader 1 isr 1   L0 a0| (isr 01)  ·         ·         ·"
    )


def test_20_columns() -> None:
    found = view(kafka(CLASSIC[:2], "acked_not_lost", HOLDS), look=look(20))
    assert found == [
        "kafka/0.10, default",
        "    configuration",
        "",
        "  0  initially",
        "    controller: e0",
        "        leader 0 isr",
        "        01",
        "    broker 0: L0 |",
        "    broker 1: f0 |",
        "    broker 2: f0 |",
        "  1",
        "      producer_appen",
        "      ds at 0",
        "    broker 0: L0 |a0",
        "  2  leader_handles_",
        "      fetch 0 from 1",
        "",
        "HOLDS ON THIS PATH:",
        "    acked_not_lost:",
        "    The controller's",
        "    leader holds",
        "    every record",
        "    that a producer",
        "    regards as",
        "    written, unless",
        "    the record was",
        "    deleted.",
        "reproduce: check something --bound 8",
    ]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    own = registry.load_file(own_model(tmp_path_factory.mktemp("own")))
    parcels = trace(own.instance(None, {"shelves": 3}), ["clerk_shelves {a,c} 1", "clerk_loses c"], "nothing_is_lost")
    return [
        kafka(CLASSIC, "acked_not_lost"),
        kafka(COMMITTED, None, replicas=7),
        fast_fail_over("log_matching"),
        weak_isr(),
        parcels,
    ]


@pytest.mark.parametrize("width", [1, 2, 5, 10, 20, 33, 60, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(histories: list[Trace], width: int) -> None:
    for found in histories:
        for full in (False, True):
            *lines, command = view(found, full, look(width))
            assert max(map(len, lines)) <= width
            # It is to be copied.
            assert command == "reproduce: check something --bound 8"


@pytest.mark.parametrize("width", [1, 7, 20, 50])
def test_a_narrow_terminal_shows_everything(histories: list[Trace], width: int) -> None:
    def characters(lines: list[str]) -> str:
        return re.sub(r"\s", "", "\n".join(lines))

    for found in histories:
        # Of the same layout: one line per column that changed, in lines as long as they like to be.
        narrow, wide = (view(found, look=look(columns)) for columns in (width, 59))
        assert not any(line.endswith(("clients", "global")) for line in narrow + wide)
        assert characters(narrow) == characters(wide)


def test_seven_brokers_at_80_columns() -> None:
    found = view(kafka(COMMITTED, None, replicas=7), look=look(80))
    assert found[2:11] == [
        "  0  initially",
        "    controller: e0 leader 0 isr 01",
        *(f"    broker {r}: {'L' if r == 0 else 'f'}0 |" for r in range(7)),
    ]
    assert found[11:] == [
        "  1  producer_appends at 0",
        "    broker 0: L0 |a0",
        "  2  leader_handles_fetch 0 from 1",
        "  3  follower_applies_response 1 from 0",
        "    broker 1: f0 |a0",
        "  4  leader_handles_fetch 0 from 1",
        "    broker 0: L0 a0|",
        "    clients: reads a, acked a",
        "",
        "reproduce: check something --bound 8",
    ]


def test_continuation_lines_are_indented() -> None:
    assert wrapped("one two threefour", "  ", 10) == ["  one two", "     three", "     four"]
    assert wrapped("one twothree", "", 120) == ["one twothree"]
    assert fitted(["  one two", "", "three"], 8) == ["  one", "    two", "", "three"]
    assert fitted(["x" * 130]) == ["x" * 130]


# ------------------------------------------------------------------------------------------------------------- colours


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_colours_do_not_change_the_text(histories: list[Trace], width: int) -> None:
    for found in histories:
        for full in (False, True):
            coloured = view(found, full, look(width, is_coloured=True))
            assert CODES.sub("", "\n".join(coloured)) == "\n".join(view(found, full, look(width)))
            assert coloured != view(found, full, look(width)) or (found.verdict is None and full)


def test_the_colours_of_a_lane() -> None:
    ink = Ink(True)
    assert ink.lane("L1 a0|b1 (isr 01)") == ("\x1b[1;35mL1\x1b[0m \x1b[36ma0\x1b[0m|\x1b[35mb1\x1b[0m (isr 01)")
    assert ink.lane("f0 1C0|") == "\x1b[36mf0\x1b[0m \x1b[36m1C0\x1b[0m|"
    assert ink.lane("e2 leader 0 isr 012") == "\x1b[33me2\x1b[0m leader 0 isr 012"
    assert ink.lane("ra0 s.a0 a0b") == "ra0 s.a0 a0b"
    assert ink.lane("reads a, acked a") == "reads a, acked a"
    assert ink.lane("·") == ink.changed("·") == "\x1b[2m·\x1b[0m"
    assert ink.changed("count 2") == "\x1b[1mcount 2\x1b[0m"
    # There are six colours.
    assert ink.lane("a6") == "\x1b[36ma6\x1b[0m"
    assert ink.paint("") == ""


def test_the_colours_of_verdicts(histories: list[Trace]) -> None:
    assert why(histories[0], look(200, is_coloured=True))[0].startswith(
        "\x1b[1;31mVIOLATED at step 6: acked_not_lost\x1b[0m: The controller's leader "
    )
    assert dict(zip(VERDICTS, (31, 33, 32, 32, 33), strict=True)) == table.VERDICTS


def test_a_coloured_table_has_the_columns_of_a_plain_one(histories: list[Trace]) -> None:
    assert view(histories[4], look=look(120, is_coloured=True))[2] == view(histories[4], look=look(120))[2]
    line = view(histories[0], look=look(120, is_coloured=True))[5]
    assert line == (
        "  0  initially                           \x1b[36me0\x1b[0m leader 0 isr 01  \x1b[1;36mL0\x1b[0m |"
        "             \x1b[36mf0\x1b[0m |      \x1b[36mf0\x1b[0m |      \x1b[2m·\x1b[0m"
    )


@pytest.mark.parametrize(
    ("when", "is_terminal", "environment", "wanted"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", True, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ("auto", True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_when_colours_are_used(when: str, is_terminal: bool, environment: dict[str, str], wanted: bool) -> None:
    assert table.is_wanted(when, is_terminal, environment) is wanted


# --------------------------------------------------------------------------------------------------------- the command


def on_a_terminal(path: Path, *arguments: str) -> str:
    """The output of the command on a terminal of 80 columns."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "TERM": "xterm", "COLUMNS": "80"}
    outside, inside = pty.openpty()
    command = [sys.executable, "-X", "utf8", "-m", "isrcheck.traces", "show", str(path), *arguments]
    process = subprocess.Popen(command, stdout=inside, stdin=subprocess.DEVNULL, env=environment)
    os.close(inside)
    written = b""
    with contextlib.suppress(OSError):  # what Linux says at the end of what a terminal has got
        while piece := os.read(outside, 1 << 16):
            written += piece
    os.close(outside)
    assert process.wait() == 0
    return written.decode().replace("\r\n", "\n")


def test_on_a_terminal_the_view_fits_and_has_colours(tmp_path: Path) -> None:
    path = files.write(kafka(CLASSIC, "acked_not_lost"), tmp_path)
    shown = on_a_terminal(path)
    assert CODES.sub("", shown) == CLASSIC_80
    assert shown.count("\x1b[1;31m") == 1
    assert on_a_terminal(path, "--color", "never") == CLASSIC_80


def test_in_a_pipe_only_requested_colours_and_widths_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    found = kafka(CLASSIC, "acked_not_lost")
    path = files.write(found, tmp_path)
    assert shown(capsys, "show", path) == "\n".join(view(found)) + "\n"
    assert shown(capsys, "show", path, "--width", 80) == CLASSIC_80
    assert shown(capsys, "show", path, "--color", "always") == "\n".join(view(found, look=Look(ink=Ink(True)))) + "\n"
    assert complaint(capsys, "show", path, "--width", 0) == "--width 0: too narrow; give at least one column"
    assert complaint(capsys, "show", path, "--color", "pink").startswith("argument --color: invalid choice: 'pink'")


def test_a_step_is_broken_between_its_words() -> None:
    rows = [StepRow(9, "follower_applies_response 1 from 0", (("x",),)), StepRow(10, "go", ((),))]
    assert lay_out(["s.field == 1 and s.other"], rows, narrower=12) == [
        "   #  step                 s.field == 1 and",
        "                           s.other",
        "   9  follower_applies_    x",
        "        response 1 from 0",
        "  10  go                   ·",
    ]
    # No further than to where it could still be read.
    assert len(lay_out(["x"], rows, narrower=1000)) == 6
