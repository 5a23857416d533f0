"""`trace diff`: the whole output, the exit codes, and traces that cannot be compared."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.trace import CLASSIC, COMMITTED, kafka, own_model, trace, weak_isr
from conformance.tests.traces.stories import history
from conformance.tests.traces.test_cli import complaint, shown
from isrcheck.models import registry
from isrcheck.traces.format import files
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.lanes.table import Ink, Look
from isrcheck.traces.terminal.diff import Difference, tell


def classic(**values: int) -> Trace:
    return kafka(CLASSIC, "acked_not_lost", **values)


def longer() -> Trace:
    return kafka([*COMMITTED, "broker_crashes 2", *CLASSIC[4:]], "acked_not_lost")


PARTED = """\
A  kafka/0.10, default configuration
B  kafka/0.10, default configuration

in common up to step 4:
  0  initially
  1  producer_appends at 0
  2  leader_handles_fetch 0 from 1
  3  follower_applies_response 1 from 0
  4  leader_handles_fetch 0 from 1

they part at step 5:
  #  A                              B
  5  broker_bounces 1 checkpoint 0  broker_crashes 2
  6  controller_fails_over to 1     broker_bounces 1 checkpoint 0
  7  -                              controller_fails_over to 1

their states after step 5 differ in
                      A     B
  is_up[2]            true  false
  log_record[1][0]    none  a
  log_epoch[1][0]     none  0
  log_end_offset[1]   0     1
  leader[2]           0     none
  fetch[1][0]         NONE  PARKED
  fetch_offset[1][0]  0     1
  bounces_left        0     1
  crashes_left        1     0

their final states differ in
                A     B
  is_up[2]      true  false
  leader[2]     0     none
  crashes_left  1     0

A: VIOLATED at step 6: acked_not_lost
B: VIOLATED at step 7: acked_not_lost
"""


def test_two_diverging_traces() -> None:
    found = Difference(classic(), longer())
    assert (found.position, found.is_none) == (5, False)
    assert "\n".join(tell(found)) + "\n" == PARTED


def test_identical() -> None:
    found = Difference(classic(), replace(classic(), command="check something else"))
    assert (found.position, found.is_none) == (None, True)
    same = "identical: 6 steps of kafka/0.10, default configuration; VIOLATED at step 6: acked_not_lost"
    assert tell(found) == [same]


def swapped(**swaps: str) -> Trace:
    instance = registry.load("published")[0].instance("kip_320", {"replicas": 2}, swaps)
    return trace(instance, [], None)


PROTOCOLS = "; ".join((*COMMITTED[:2], "follower_applies_response 1 from 0"))
PAIRS = {
    "a remaining budget is part of a state": (classic(), classic(crashes=2)),
    "two protocols": (history(PROTOCOLS, "0.11 acked_not_lost HOLDS"), history(PROTOCOLS, "2.0 acked_not_lost HOLDS")),
    "the same step leads elsewhere": (
        history(PROTOCOLS, "0.10 acked_not_lost HOLDS"),
        history(PROTOCOLS, "0.11 acked_not_lost HOLDS"),
    ),
    "a swapped action": (swapped(), swapped(become_follower="kip_101")),
    "states of other sizes": (classic(), classic(replicas=2)),
    "a prefix": (kafka(COMMITTED, None), classic()),
    "another property": (history("COMMITTED", "acked_not_lost HOLDS"), history("COMMITTED", "isr_is_complete HOLDS")),
}
DIFFERENCES = """
# a remaining budget is part of a state
they differ in
           A  B
  crashes  1  2

nothing in common: they start in different states

how they continue:
  #  A                                   B
  0  initially                           initially
  1  producer_appends at 0               producer_appends at 0
  2  leader_handles_fetch 0 from 1       leader_handles_fetch 0 from 1
  3  follower_applies_response 1 from 0  follower_applies_response 1 from 0
  4  leader_handles_fetch 0 from 1       leader_handles_fetch 0 from 1
  5  broker_bounces 1 checkpoint 0       broker_bounces 1 checkpoint 0
  6  controller_fails_over to 1          controller_fails_over to 1

# two protocols
A  kafka/0.11, default configuration
B  kafka/2.0, default configuration

they differ in
                      A                     B
  protocol            0.11                  2.0
  remembered_batches  1                     5
  TRUNC               KIP101                KIP279
  UNKNOWN_PID_POLICY  ZERO_OR_OUT_OF_ORDER  SEQUENCE_ZERO

the same 3 steps, and the same states

A: HOLDS ON THIS PATH: acked_not_lost
B: HOLDS ON THIS PATH: acked_not_lost

# the same step leads elsewhere
in common up to step 0:
  0  initially

they part at step 1: the same step leads to different states
  #  A                                   B
  1  producer_appends at 0               producer_appends at 0
  2  leader_handles_fetch 0 from 1       leader_handles_fetch 0 from 1
  3  follower_applies_response 1 from 0  follower_applies_response 1 from 0

their states after step 1 differ in
                     A     B
  epoch_cache[0][0]  none  0

their final states differ in
                     A     B
  epoch_cache[0][0]  none  0

# a swapped action
they differ in
                      A    B
  become_follower of  own  kip_101

# states of other sizes
they differ in
            A  B
  replicas  3  2
  their states differ in size: 69 cells only in A and 0 cells only in B are not compared

the same 6 steps, and the same states

# a prefix
A ends there, B continues:
  #  A  B
  5  -  broker_bounces 1 checkpoint 0
  6  -  controller_fails_over to 1

their final states differ in
                      A       B
  controller_leader   0       1
  controller_epoch    0       1
  controller_isr[0]   true    false
  metadata_leader[1]  none    1
  metadata_isr[1][1]  false   true
  log_record[1][0]    a       none
  log_epoch[1][0]     0       none
  log_end_offset[1]   1       0
  fetch[1][0]         PARKED  NONE
  fetch_offset[1][0]  1       0
  bounces_left        1       0

A: 4 steps, no property
B: VIOLATED at step 6: acked_not_lost

# another property
the same 4 steps, and the same states

A: HOLDS ON THIS PATH: acked_not_lost
B: HOLDS ON THIS PATH: isr_is_complete
"""


@pytest.mark.parametrize("name", PAIRS)
def test_differences(name: str) -> None:
    difference = Difference(*PAIRS[name])
    (expected,) = re.findall(rf"^# {name}\n(.*?)\n*(?=^# |\Z)", DIFFERENCES, re.MULTILINE | re.DOTALL)
    assert f"\n{expected}\n" in "\n".join(["", *tell(difference), ""])
    assert not difference.is_none


def test_the_full_view_shows_the_common_prefix() -> None:
    lines = tell(Difference(classic(), longer()), full=True)
    assert lines[3:8] == [
        "in common up to step 4:",
        "  0  initially",
        "       controller_leader          0",
        "       controller_epoch           0",
        "       controller_isr             {0,1}",
    ]
    assert sum(line.startswith("       is_up ") for line in lines) == 5


@pytest.mark.sampled
@pytest.mark.parametrize("width", [1, 10, 20, 40, 60, 80])
def test_the_output_fits_the_terminal(width: int) -> None:
    for one, other in ((classic(), longer()), (classic(), classic(replicas=2)), (weak_isr(), weak_isr())):
        for is_coloured in (False, True):
            look = Look(width, Ink(is_coloured), fits=True)
            lines = tell(Difference(one, other), full=width == 20, look=look)
            assert is_coloured or max(map(len, lines)) <= width


def test_if_no_table_fits_the_traces_are_stacked() -> None:
    lines = tell(Difference(classic(), longer()), look=Look(40, Ink(), fits=True))
    assert lines[10:20] == [
        "they part at step 5:",
        "  5",
        "    A: broker_bounces 1 checkpoint 0",
        "    B: broker_crashes 2",
        "  6",
        "    A: controller_fails_over to 1",
        "    B: broker_bounces 1 checkpoint 0",
        "  7",
        "    A: -",
        "    B: controller_fails_over to 1",
    ]
    in_a_pipe = tell(Difference(classic(), longer()), look=Look(10, Ink()))
    assert "crashes_left  1     0" in [line.strip() for line in in_a_pipe]


# --------------------------------------------------------------------------------------------------------- the command


def test_the_command_and_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (files.write(found, tmp_path) for found in (classic(), longer()))
    assert shown(capsys, "diff", one, other, code=1) == PARTED
    assert shown(capsys, "diff", one, one).startswith("identical: 6 steps of kafka/0.10, ")
    coloured = shown(capsys, "diff", one, other, "--color", "always", code=1)
    assert "\x1b[1;31mVIOLATED\x1b[0m at step 6: acked_not_lost\n" in coloured
    full = tell(Difference(classic(), longer()), True, Look(80, Ink(), fits=True))
    assert shown(capsys, "diff", one, other, "--full", "--width", 80, code=1) == "\n".join(full) + "\n"


def test_traces_that_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (files.write(found, tmp_path) for found in (classic(), weak_isr()))
    assert complaint(capsys, "diff", one, other) == (
        "a trace of kafka and a trace of published cannot be compared; give two traces of one model"
    )
    assert complaint(capsys, "diff", one) == "the following arguments are required: B; see trace diff --help"
    assert "none: cannot be read: " in complaint(capsys, "diff", one, tmp_path / "none")
    (tmp_path / "cut").write_text(one.read_text()[:500])
    assert f"{tmp_path / 'cut'}: not JSON (" in complaint(capsys, "diff", tmp_path / "cut", one)
    own = files.write(trace(registry.load_file(own_model(tmp_path)).instance(), [], None), tmp_path)
    assert complaint(capsys, "diff", own, own).endswith(f"give it: --model {tmp_path / 'parcels.py'}")
    assert shown(capsys, "diff", own, own, "--model", tmp_path / "parcels.py").startswith("identical: 0 steps of ")
