"""The report on a recording: what excludes a line, and the loss of an acknowledged record told as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.support.observations import metadata, said, write
from isrcheck.conformance.follow.recorded.lines import Metadata, View
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.report.excluded import Exclusion
from isrcheck.conformance.follow.report.tell import losses
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, follow_recording

BEGIN = "header 1: 1 2; metadata 1: 1 2; acked x 0; disk 2: x"


def follow(path: Path, text: str) -> Outcome:
    return follow_recording(write(path / "recording", *said(text)), "2.1")


def excluding(outcome: Outcome) -> str:
    assert isinstance(outcome, Rejected)
    return "\n".join(Exclusion(outcome.search).lines())


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        # Broker 2 is dead, so it is not elected, and nobody but a leader that runs changes the ISR.
        (
            "header 1: 1 2; metadata 1: 1 2 epoch=0; kill 2; metadata 1: 1 2 epoch=0; metadata 2: 2 epoch=1",
            "controller_fails_over to 1: its guard `s.is_up[elected]` is false (s.is_up[1] = false)"
            " (models/kafka/actions/zookeeper.py:54)",
        ),
        (
            f"{BEGIN}; mark 1 0",
            "the high watermark of broker 1 is 0: last true after line 2, until leader_handles_fetch 0 from 1",
        ),
        (
            "header 1: 1 2; metadata 1: 1 2; disk 2: x; acked x 1",
            "at the offset at which it has appended it; in these states, x has the offset 0",
        ),
    ],
    ids=["the first false guard", "the step that ended a true claim", "the right offset"],
)
def test_the_report_names_what_excludes_a_line(tmp_path: Path, lines: str, reason: str) -> None:
    assert reason in excluding(follow(tmp_path, lines))


LOST = (
    "header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0 acks=1; kill 1; metadata 1: 1 2 epoch=0; metadata 2: 2 epoch=1;"
    " acked y 0 acks=1; read y"
)


def test_a_permitted_loss_says_what_permits_it(tmp_path: Path) -> None:
    outcome = follow(tmp_path, LOST)
    assert isinstance(outcome, Explained)
    assert outcome.exit_code == 0
    assert list(losses(outcome.failures, outcome.recording, outcome.passed)) == [
        "record x was acknowledged (line 3), and is no longer in the log (line 8): acked_not_lost is broken, which"
        " is permitted, at step 3; before that: kill -9 broker 1 (line 4); permitted: acks=1 does not wait for the ISR"
    ]


def test_late_views_of_brokers_are_no_news(tmp_path: Path) -> None:
    """Broker 3 may lag, or show that broker 3 is back; so what broker 1 shows afterwards may be old as well."""
    views = [([1, 2, 3], 1), ([1, 2], 2), ([1, 2], 3), ([1, 2, 3], 3), ([1, 2], 1), ([1], 2)]
    lines = [metadata(1, *isr) | {"leader_epoch": 0, "seen_by": broker} for isr, broker in views]
    read = read_recording(write(tmp_path / "recording", *lines)).lines
    assert [type(line) for line in read] == [Metadata, Metadata, Metadata, View, View, Metadata]
