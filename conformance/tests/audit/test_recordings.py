"""`conform audit` on the broker folders of real Kafkas."""

from __future__ import annotations

import pytest

from conformance.tests.audit.running import audit
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import DONE, VIOLATED

BROKERS = RECORDINGS / "wire"


def folders(recording):
    return [recording / f"broker{number}" for number in (1, 2, 3)]


def test_a_run_without_faults_holds(capsys):
    told = audit(capsys, *folders(BROKERS / "steady"))
    assert told.out.splitlines() == [
        "t-0: 3 copies",
        "  broker   log start  log end  high watermark  recovery point  last epoch",
        "  broker1          0       12              12              12           0",
        "  broker2          0       12              12              12           0",
        "  broker3          0       12              12              12           0",
        "",
        "read: 1 partition, 3 copies, 3 segments, 36 records, 3 producer snapshots; of these, every checksum is right",
        "HOLDS: every invariant, in 1 partition",
    ]
    assert (told.code, told.errors) == (DONE, "")


@pytest.mark.parametrize(
    ("name", "acked", "line", "epoch"),
    [
        ("stale_record", BROKERS / "stale_record" / "acked.txt", 5, 1),
        ("missed_demotion", RECORDINGS / "kafka-3.9-missed_demotion.ndjson", 37, 4),
    ],
)
def test_the_lost_record_is_missing_from_every_copy(capsys, name, acked, line, epoch):
    assert audit(capsys, *folders(BROKERS / name)).code == DONE  # the logs agree: only the producer knows better
    told = audit(capsys, *folders(BROKERS / name), "--acked", acked)
    assert told.findings == [
        f"BROKEN: t-0: the acknowledged record at offset 3 (line {line}: PRECIOUS) is in no copy:"
        f" after (epoch {epoch}) is there on broker1, broker2 and broker3"
    ]
    assert "\nacknowledged: 4 of 5 records on every copy that has not deleted them\n" in told.out
    assert told.code == VIOLATED


def test_one_partition_s_folder_is_enough(capsys):
    told = audit(capsys, *(folder / "t-0" for folder in folders(BROKERS / "steady")), "--json")
    assert told.code == DONE
    assert told.json["brokers"] == ["broker1", "broker2", "broker3"]
    copies = told.json["partitions"][0]["copies"]
    assert [copy["high_watermark"] for copy in copies] == [12, 12, 12]  # from the folder above
