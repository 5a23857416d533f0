"""Recordings of a Kafka 4.5 in development, made by `conform record`: 4.1 follows each, with the right answer."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.follow import expect
from conformance.tests.support.places import RECORDINGS, SHARED
from isrcheck.commands.exit_codes import DIVERGED, UNDECIDED
from isrcheck.commands.exit_codes import VIOLATED as VIOLATION
from isrcheck.conformance.follow.online.follow import Followed, follow_online, stream_of
from isrcheck.conformance.follow.recorded.lines import Acked, ElectRequest, Metadata, Reassignment
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of, wire_observations
from isrcheck.traces.format.trace import PERMITTED, VIOLATED

pytestmark = pytest.mark.sampled

KEPT = RECORDINGS / "kafka-4.5"
OTHERS = SHARED / "data" / "kafka-4.5-dev"
"""All of them, beside the project; the largest are not kept in it."""

ELIGIBLE = SHARED / "data" / "kafka-4.5-dev-elr"
"""Runs of 8.24 and 8.25 with eligible leader replicas, beside the project; one of 8.25 is kept in it."""

EXPLICIT = '"unclean.leader.election.enable": false'


def recording(name: str, others: Path = OTHERS) -> Path:
    """The folder of a recording, in the project or beside it."""
    for folder in (KEPT, others):
        if (folder / name).is_dir():
            return folder / name
    pytest.skip(f"the recording {name} lies beside the project, in {others.relative_to(others.parents[2])}")


def followed(folder: Path, protocol: str = "4.1") -> Outcome:
    path = folder / "wire.ndjson"
    return follow_recording(path, protocol, seconds=120, memory=1 << 30, objects=wire_observations(path))


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(recording(name), to / name))


def rewritten(folder: Path, change: Callable[[list[str]], Iterable[str]]) -> Path:
    """The recording with other lines."""
    path = folder / "wire.ndjson"
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))
    return folder


def without(folder: Path, *kinds: str, beside: bool = False) -> Path:
    """The recording without its faults of these kinds, and without observations.ndjson."""
    if not beside:
        (folder / "observations.ndjson").unlink(missing_ok=True)
    return rewritten(folder, lambda lines: [line for line in lines if json.loads(line).get("what") not in kinds])


def broken(outcome: Explained) -> dict[str, tuple[str, int]]:
    return {failure.name: (failure.verdict, failure.step) for failure in outcome.failures}


LOSS = "acked_not_lost"

TRUNCATION_SEEN = 546
"""The first line of `missed_demotion_frozen` that only a fault explains."""

FIRST_REQUEST = 304
"""The line of `reassign` with the first request of the operator."""

FIRST_ACK = 204
"""The line of `reassign` that acknowledges the first record."""

LEADER_1, LEADER_2 = '"leader_id":1,', '"leader_id":2,'
ISR = '"isr_nodes":[2,3]'
REFUSED = '"partition_index":0,"error_code":"invalid_replica_assignment"'


@pytest.mark.parametrize(
    ("name", "length", "failures"),
    [
        ("leader_killed", 75, {}),
        ("auto_rebalance", 66, {}),
        ("controlled_shutdown", 55, {}),
        ("stale_record_control", 28, {}),
        ("steady", 88, {}),
        ("transactions", 71, {}),
        # 40 records of an idempotent producer; a dying broker has cut an answer off: `api` of line 410 is null.
        exhaustive(("idempotent_leader_killed", 166, {})),
        # A log has a record twice, and its producer is not idempotent: `retries` is the number of copies. Without it,
        # the search does not end.
        ("missed_demotion_nohold3", 58, {"no_duplicates": (PERMITTED, 37)}),
    ],
)
def test_a_run_without_loss_is_explained(name: str, length: int, failures: dict[str, tuple[str, int]]) -> None:
    outcome = expect(Explained, followed(recording(name)))
    assert (outcome.trace.length, outcome.exit_code, broken(outcome)) == (length, 0, failures)
    assert outcome.passed[-1] == len(outcome.recording.lines)
    assert outcome.trace.instance.configuration.retries >= len(failures)
    assert ("1 of unknown kind" in outcome.recording.unused) == name.startswith("idempotent")


@pytest.mark.parametrize(("notes", "beside"), [(True, True), (True, False), (False, True)])
def test_a_loss_after_a_shutdown_that_nobody_announced_is_told(tmp_path: Path, notes: bool, beside: bool) -> None:
    """R1: broker 2 is shut down at line 638, and PRECIOUS acknowledged at line 659. Either file tells the faults."""
    folder = without(copied("missed_demotion_frozen", tmp_path), *(() if notes else ("note",)), beside=beside)
    outcome = expect(Explained, followed(folder))
    assert (outcome.trace.length, outcome.exit_code) == (55, 12)
    assert broken(outcome)[LOSS] == (VIOLATED, 39)
    assert [line.value for line in outcome.recording.lines if isinstance(line, Acked)] == ["m0", "m1", "PRECIOUS"]


def test_without_any_fault_the_same_run_is_not_explained(tmp_path: Path) -> None:
    outcome = expect(Rejected, followed(without(copied("missed_demotion_frozen", tmp_path), "note")))
    assert outcome.line.number == TRUNCATION_SEEN


@pytest.mark.parametrize(("notes", "beside"), [(True, False), (False, True)])
def test_the_notes_that_the_documents_named_are_faults(tmp_path: Path, notes: bool, beside: bool) -> None:
    """R2: `note kill -9 broker 1`, typed as documented."""
    folder = without(copied("leader_killed", tmp_path), *(() if notes else ("note",)), beside=beside)
    faults = [
        said for _, said in observations_of(folder / "wire.ndjson") if said["kind"] == "fault" and "broker" in said
    ]
    assert [(said["what"], said["broker"]) for said in faults] == [("kill -9", 1), ("start", 1)]
    outcome = expect(Explained, followed(folder))
    assert (outcome.trace.length, outcome.failures) == (75, ())


def test_after_a_note_that_may_be_a_fault_nothing_is_rejected(tmp_path: Path) -> None:
    off, on = (267, "kill -9 broker 1", "power of machine 1 is off"), (460, "start broker 1", "it is up again")
    outcome = expect(Undecided, followed(edited(without(copied("leader_killed", tmp_path)), off, on)))
    assert outcome.why == (
        "the note 'power of machine 1 is off' may be a fault that no line records (line 267) is not modelled"
    )
    assert outcome.exit_code == UNDECIDED


def edited(folder: Path, *edits: tuple[int, str, str]) -> Path:
    """The recording with other text in some of its lines, given by their numbers from 1."""

    def change(lines: list[str]) -> list[str]:
        for number, before, after in edits:
            assert lines[number - 1].count(before) == 1
            lines[number - 1] = lines[number - 1].replace(before, after)
        return lines

    return rewritten(folder, change)


@pytest.mark.parametrize(("protocol", "states"), [("3.3", 3975), ("3.7", 3954), ("4.1", 3819), ("4.3", 3819)])
def test_a_reassignment_is_followed(protocol: str, states: int) -> None:
    """[1,2], which removes 3 at once; [2,3], which removes leader 1 with the change of the ISR; [1,2,3]."""
    outcome = expect(Explained, followed(recording("reassign"), protocol))
    assert (outcome.trace.length, outcome.exit_code, sum(outcome.effort.states)) == (62, 0, states)
    assert outcome.passed[-1] == len(outcome.recording.lines) == 63
    assert [(step.action, step.ordinals) for step in outcome.trace.steps if "reassign" in step.action] == [
        ("controller_begins_reassignment", (0b011,)),
        ("controller_begins_reassignment", (0b110,)),
        ("controller_completes_reassignment", (0, 1)),
        ("controller_begins_reassignment", (0b111,)),
    ]


CONTRADICTED = {
    "the removed broker 1 leads": ([(421, LEADER_2, LEADER_1), (433, LEADER_2, LEADER_1)], 421),
    "the removed broker 1 is in the ISR": ([(421, ISR, '"isr_nodes":[1,2,3]'), (433, ISR, '"isr_nodes":[1,2,3]')], 421),
    "the removed broker 1 is a replica": ([(421, '"replica_nodes":[2,3]', '"replica_nodes":[2,3,1]')], 421),
    "the request is refused": ([(396, '"partition_index":0,"error_code":"none"', REFUSED)], 399),
    "the new replica 3 is not in the ISR": ([(421, ISR, '"isr_nodes":[2]'), (433, ISR, '"isr_nodes":[2]')], 421),
}


@pytest.mark.parametrize("case", CONTRADICTED)
def test_what_contradicts_the_reassignment_is_rejected(case: str, tmp_path: Path) -> None:
    edits, line = CONTRADICTED[case]
    outcome = expect(Rejected, followed(edited(copied("reassign", tmp_path), *edits)))
    assert (outcome.line.number, outcome.exit_code) == (line, 20)


def test_a_reassignment_before_kraft_is_not_modelled() -> None:
    """R8: the ISR without 3 at line 318 was rejected."""
    outcome = expect(Undecided, followed(recording("reassign"), "2.8"))
    assert outcome.why == "a reassignment of replicas by the rules of 2.8 (line 304) is not modelled"
    assert (outcome.line and outcome.line.number, outcome.exit_code) == (318, 3)


def test_what_comes_before_a_reassignment_is_judged(tmp_path: Path) -> None:
    folder = edited(copied("reassign", tmp_path), (FIRST_ACK, '"base_offset":0,"log', '"base_offset":1,"log'))
    for protocol in ("2.8", "4.1"):
        outcome = expect(Rejected, followed(folder, protocol))
        assert outcome.line.number < FIRST_REQUEST


def test_a_reassignment_that_no_request_shows_is_seen_in_the_replicas(tmp_path: Path) -> None:
    asks = '"api":"AlterPartitionReassignments"'
    folder = rewritten(copied("reassign", tmp_path), lambda lines: [line for line in lines if asks not in line])
    outcome = expect(Explained, followed(folder))
    assert (outcome.trace.length, outcome.exit_code) == (60, 0)
    asked = [line for line in outcome.recording.lines if isinstance(line, Reassignment)]
    assert all(line.is_unseen for line in asked)
    away, back = [(187, [1, 2]), (187, None), (316, [1, 2, 3])], [(395, None), (417, [1, 2, 3])]
    moved = [(316, [2, 3]), (395, [2, 3])]
    shown = [(line.number, line.replicas and sorted(line.replicas)) for line in asked]
    assert shown == [*away, *moved, *back]


CHANGES: Mapping[int, dict[str, Any]] = {
    306: {"isr": [1, 2], "leader": 1, "replicas": [1, 2], "removing_replicas": []},
    391: {"replicas": [2, 3, 1], "removing_replicas": [1], "adding_replicas": [3]},
    407: {"isr": [2, 3], "leader": 2, "replicas": [2, 3], "removing_replicas": [], "adding_replicas": []},
    510: {"replicas": [1, 2, 3], "adding_replicas": [1]},
    530: {"isr": [1, 2, 3], "adding_replicas": []},
}
"""What the controller's answers in these lines have of the partition; `conform record` does not decode it."""


def with_metadata_log(folder: Path, changes: Mapping[int, dict[str, Any]]) -> Path:
    """The recording with these records of the metadata log, and without requests to reassign the partition."""

    def change(texts: list[str]) -> Iterator[str]:
        lines = [json.loads(text) for text in texts]
        topic = next(line["body"]["topics"][0]["topic_id"] for line in lines if line.get("api") == "AlterPartition")
        for number, shown in changes.items():
            common = {"offset": number, "type": "PartitionChange", "partition": 0, "topic_id": topic}
            lines[number - 1]["body"]["partition_changes"] = [{**common, **shown}]
        yield from (json.dumps(line) for line in lines if line.get("api") != "AlterPartitionReassignments")

    return rewritten(folder, change)


def test_the_metadata_log_shows_a_reassignment(tmp_path: Path) -> None:
    outcome = expect(Explained, followed(with_metadata_log(copied("reassign", tmp_path), CHANGES)))
    assert (outcome.trace.length, outcome.exit_code) == (60, 0)
    records = [line for line in outcome.recording.lines if isinstance(line, Metadata)]
    assert [line.partition_epoch for line in records] == [None, 1, 2, 3, 4, 5]
    replicas = [sorted(line.replicas or ()) for line in records]
    assert replicas == [[1, 2, 3], [1, 2], [1, 2, 3], [2, 3], [1, 2, 3], []]


@pytest.mark.parametrize(("number", "change"), [(407, {"replicas": [2]}), (391, {"leader": 2})])
def test_a_metadata_log_that_no_reassignment_explains_is_rejected(
    number: int, change: dict[str, Any], tmp_path: Path
) -> None:
    changes = {**CHANGES, number: {**CHANGES[number], **change}}
    assert isinstance(followed(with_metadata_log(copied("reassign", tmp_path), changes)), Rejected)


def test_a_change_of_the_order_of_the_replicas_is_not_modelled(tmp_path: Path) -> None:
    folder = edited(copied("reassign", tmp_path), (304, '"replicas":[1,2]', '"replicas":[2,1,3]'))
    assert isinstance(followed(folder), Explained)
    outcome = expect(Undecided, followed(edited(folder, *CONTRADICTED["the removed broker 1 leads"][0])))
    assert outcome.why == "a change of the order of the replicas (line 304) is not modelled"


def test_the_controller_rebalances_leaders_by_itself() -> None:
    """R8: `leader.imbalance.check.interval.seconds` is 20, and the recording shorter than the default of 300."""
    outcome = expect(Explained, followed(recording("auto_rebalance")))
    unasked = [line for line in outcome.recording.lines if isinstance(line, ElectRequest)]
    assert [(line.number, line.is_unasked, line.is_unclean) for line in unasked] == [(306, True, False)]


def test_an_unclean_election_that_was_asked_for_permits_a_loss(tmp_path: Path) -> None:
    """R8: ElectLeaders of type 1, although the setting is off; the header beside the wire says so."""
    folder = copied("unclean", tmp_path)
    path = folder / "observations.ndjson"
    path.write_text(path.read_text().replace('"unclean.leader.election.enable": true', EXPLICIT))
    outcome = expect(Explained, followed(folder))
    assert (outcome.trace.length, outcome.exit_code, broken(outcome)[LOSS]) == (62, 0, (PERMITTED, 34))


def test_a_header_beside_the_wire_gives_settings() -> None:
    header = next(observations_of(recording("unclean") / "wire.ndjson"))[1]
    assert (header["min.insync.replicas"], header["unclean.leader.election.enable"]) == (1, True)


Conform = Callable[..., tuple[int, str, str]]


def report_of(folder: Path, protocol: str, conform: Conform) -> tuple[int, str]:
    """What a person reads who types the command: the exit code, and the report on one line."""
    code, report, _ = conform("follow", folder, "--protocol", protocol)
    return code, " ".join(report.split())


@pytest.mark.exhaustive
@pytest.mark.parametrize("protocol", ["4.1", "4.3"])
def test_the_loss_by_a_stale_record_is_told(protocol: str, conform: Conform) -> None:
    code, report = report_of(KEPT / "stale_record", protocol, conform)
    assert code == VIOLATION
    assert f"is a behaviour of {protocol}, in 22 steps" in report
    assert (
        "record PRECIOUS was acknowledged (line 491), and is no longer in the log (line 683): acked_not_lost is"
        " violated at step 12; before that: kill -9 broker 1 (line 502); not permitted: "
    ) in report
    assert "Every path that explains the recording violates a promise" in report
    assert "It keeps to time: the executable cluster takes the same steps." in report


def test_a_rejection_by_the_default_rules_says_whose_rules_they_are(conform: Conform) -> None:
    hint = (
        "The rules are those of 2.4, because no --protocol is given; choose other rules with"
        " --protocol, from 0.8 to 4.3."
    )
    for words in ((), ("--protocol", "2.4")):
        code, said, _ = conform("follow", str(KEPT / "stale_record"), *words)
        assert code == DIVERGED
        assert said.startswith(f"REJECTED at {KEPT / 'stale_record' / 'wire.ndjson'}:683: ")
        assert (hint in " ".join(said.split())) is (not words)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "steps", "lost"),
    [
        ("8.24/md2", 52, (755, 1018)),
        ("8.24/md3", 52, None),
        ("8.24/md6", 53, (660, 929)),
        ("8.24/mdc", 53, (664, 916)),
        ("8.24/mdctl1", 60, None),
        ("8.25/sr1", 22, (491, 683)),
        ("8.25/src", 28, None),
    ],
)
def test_a_run_with_eligible_leader_replicas_is_followed_with_its_loss(
    name: str, steps: int, lost: tuple[int, int] | None, conform: Conform
) -> None:
    """`md3` and the controls `mdctl1` and `src` lose nothing: the README of each folder says how often a run did."""
    code, report = report_of(recording(name, ELIGIBLE), "4.3", conform)
    assert code == (0 if lost is None else 12)
    assert f"is a behaviour of 4.3, in {steps} steps" in report
    sentences = re.findall(
        r"record (\S+) was acknowledged \(line (\d+)\), and is no longer in the log \(line (\d+)\)", report
    )
    assert sentences == ([] if lost is None else [("PRECIOUS", *map(str, lost))])


def test_a_script_of_the_stale_record_loses_a_record() -> None:
    outcome = expect(Explained, followed(recording("stale_record_script")))
    assert (outcome.trace.length, outcome.exit_code) == (22, 12)
    assert broken(outcome)[LOSS][0] == VIOLATED


@pytest.mark.recorded
def test_traffic_of_a_consumer_group_is_followed_online() -> None:
    path = recording("traffic_25") / "wire.ndjson"
    outcome = expect(Followed, follow_online(path, stream_of(path), "4.1", seconds=120, memory=1 << 30))
    assert (outcome.cost.lines, outcome.keeps) == (3421, True)


@pytest.mark.parametrize("name", ["leader_killed", "reassign", "unclean", "missed_demotion_frozen"])
def test_the_folders_are_audited_as_they_are(name: str, conform: Conform) -> None:
    """R4: with checkpoints that Kafka has created, and never written, and folders that are being deleted."""
    folder = recording(name)
    code, said, _ = conform("audit", *(str(folder / f"broker{number}") for number in (1, 2, 3)))
    assert (code, said.splitlines()[-1]) == (0, "HOLDS: every invariant, in 1 partition")


@pytest.mark.parametrize(
    ("name", "lost"), [("missed_demotion_frozen", ["2 (line 3: PRECIOUS)"]), ("unclean", ["3 (line 4", "4 (line 5"])]
)
def test_the_audit_names_the_lost_records(name: str, lost: list[str], conform: Conform) -> None:
    folder = recording(name)
    brokers = [str(folder / f"broker{number}") for number in (1, 2, 3)]
    code, said, _ = conform("audit", *brokers, "--acked", str(folder / "acked.txt"))
    found = [line for line in said.splitlines() if line.startswith("BROKEN: t-0")]
    assert (code, len(found)) == (12, len(lost))
    for line, offset in zip(found, lost, strict=True):
        assert line.startswith(f"BROKEN: t-0: the acknowledged record at offset {offset}")
