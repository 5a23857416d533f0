"""`conform audit`: many partitions, progress, Ctrl-C."""

from __future__ import annotations

import pytest

from conformance.tests.audit.building import batches, broker
from conformance.tests.audit.running import audit
from isrcheck.checker.results import terminal as progress
from isrcheck.commands.exit_codes import DONE, INTERRUPTED, VIOLATED
from isrcheck.conformance.audit import audit_command as command
from isrcheck.conformance.audit import report as audit_partition


@pytest.fixture
def many(tmp_path):
    """Two brokers with twelve partitions each, of which t-3 has lost a record."""
    for number in (1, 2):
        root = tmp_path / f"broker{number}"
        for partition in range(12):
            log = batches(0) if (number, partition) == (2, 3) else batches(0, 0)
            made = broker(tmp_path / "made" / f"{number}-{partition}", log, name=f"t-{partition}")
            root.mkdir(exist_ok=True)
            (made / f"t-{partition}").rename(root / f"t-{partition}")
        lines = "".join(f"t {partition} 2\n" for partition in range(12))
        (root / "replication-offset-checkpoint").write_text(f"0\n12\n{lines}")
    return tmp_path / "broker1", tmp_path / "broker2"


def test_of_many_partitions_only_those_with_findings_are_told(capsys, many):
    told = audit(capsys, *many)
    assert [line for line in told.out.splitlines() if line.startswith("t-")] == ["t-3: 2 copies"]
    assert "\nread: 12 partitions, 24 copies, 24 segments, 47 records, 0 producer snapshots;" in told.out
    assert told.out.endswith("\nBROKEN: 2 findings in 12 partitions\n")
    assert (told.code, told.errors) == (VIOLATED, "")


def test_one_of_many_partitions(capsys, many):
    told = audit(capsys, *many, "--partition", "t-4", "--partition", "t-5")
    assert [line for line in told.out.splitlines() if line.startswith("t-")] == ["t-4: 2 copies", "t-5: 2 copies"]
    assert told.code == DONE


def test_a_long_audit_tells_its_progress(capsys, many, monkeypatch):
    monkeypatch.setattr(command, "SECONDS_BETWEEN", 0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    lines = audit(capsys, *many).errors.splitlines()
    batches_with_one_lost = 2 * 2 * 12 - 1
    assert len(lines) == batches_with_one_lost
    assert lines[-1] == (
        "conform audit: 0 s, 11 of 12 partitions audited, 47 batches read, the last at byte 70 of its segment"
    )


def test_ctrl_c_ends_it(capsys, many, monkeypatch):
    def interrupted(logs):
        raise KeyboardInterrupt

    monkeypatch.setattr(audit_partition, "compare", interrupted)
    told = audit(capsys, *many)
    assert told == (INTERRUPTED, "", "conform: interrupted\n")
