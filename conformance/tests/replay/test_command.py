"""`conform replay`: traces, folders, walks, a user's own driver, bad input, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.support.places import CONFORMANCE, PROJECT
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, UNDECIDED, USAGE
from isrcheck.conformance.cli import main
from isrcheck.conformance.cluster.configuration.bugs import Bug, CoordinatorBug, TransactionBug
from isrcheck.conformance.cluster.log import storage
from isrcheck.conformance.replay.walks import walk
from isrcheck.models import registry
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.files import read, write

EXAMPLE = CONFORMANCE / "examples" / "own_broker.py"
REPLAYED = "replayed, 6 steps; system and model agree after every step\n"
TWO_REPLICAS = "--set replicas=2 --set elections=0 --set bounces=0 --set crashes=0"


@pytest.fixture
def conform(capsys, tmp_path, monkeypatch):
    """Run `conform` in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(words: str):
        code = main(words.split())
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def refused(conform, words: str) -> str:
    """What the command says on stderr as it refuses; it prints nothing else."""
    code, out, err = conform(words)
    assert (code, out) == (USAGE, "")
    return err


@pytest.fixture
def loss(tmp_path):
    """The file of the loss of KIP-101."""
    golden = golden_support.FOLDER / "kafka_acks_all_truncation_to_high_watermark.txt"
    return write(golden_support.derive(golden_support.read(golden.read_text(encoding="utf-8"))), tmp_path / "found")


def test_a_loss_is_replayed(conform, loss):
    assert conform(f"replay {loss}") == (DONE, f"{loss}: {REPLAYED}", "")


def test_a_folder_means_all_traces_in_it(conform, loss):
    assert conform("replay found") == (DONE, f"found/{loss.name}: {REPLAYED}", "")


def test_a_divergence_is_a_unified_diff_with_step_and_variable(conform, loss):
    code, out, err = conform(f"replay {loss} --bug ack_before_isr")
    assert (code, err) == (DIVERGED, "")
    assert out.splitlines() == [
        f"{loss}: diverges after step 1 (producer_appends at 0), first in pending:",
        "  --- model",
        "  +++ system",
        "  @@ -26,2 +26,2 @@",
        "  -pending                    [0 none]",
        "  -acknowledged               {}",
        "  +pending                    [none none]",
        "  +acknowledged               {a}",
        f"  show the whole trace: trace show {loss}",
        f"  replay it: conform replay {loss} --bug ack_before_isr",
    ]


def test_nothing_to_replay(conform, tmp_path):
    (tmp_path / "empty").mkdir()
    assert conform("replay empty") == (NOTHING, "", "conform: there is no trace in empty; run check to get some\n")


def test_a_trace_that_no_timing_allows_is_undecided(conform, tmp_path):
    instance = registry.load("kafka")[0].instance("0.11", {})
    spelled = {instance.spell_step(step): step for step in instance.steps}
    steps = [spelled[text] for text in ("leader_handles_fetch 0 from 1", "leader_shrinks_isr 0 by {1}")]
    path = write(behaviour(instance, len(instance.initial_states) - 1, steps, None, "", None), tmp_path)
    code, out, err = conform(f"replay {path}")
    assert (code, err) == (UNDECIDED, "")
    assert out.startswith(
        f"{path}: UNDECIDED: step 2 drops a follower and keeps a follower that caught up earlier or at the same time"
    )


# ----------------------------------------------------------------------------------------------------------- bad input


def change(path: Path, what) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    what(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def rename_action(content):
    text = json.dumps(content).replace("follower_applies_response", "follower_applies_nothing")
    content.clear()
    content.update(json.loads(text))


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (
            lambda path: path.write_text(path.read_text(encoding="utf-8")[:500], encoding="utf-8"),
            "damaged or truncated",
        ),
        (lambda path: path.write_text("", encoding="utf-8"), "not JSON"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "not UTF-8 text"),
        (lambda path: change(path, rename_action), "no action follower_applies_nothing"),
        (lambda path: path.unlink(), "No such file or directory"),
    ],
)
def test_a_file_that_is_no_trace_is_one_clear_line(conform, loss, damage, why):
    damage(loss)
    err = refused(conform, f"replay {loss}")
    assert err.startswith(f"conform: {loss}: ")
    assert why in err
    assert err.count("\n") == 1


def test_a_bad_file_does_not_stop_the_replay_of_others(conform, loss):
    code, out, err = conform(f"replay none.json {loss}")
    assert code == USAGE
    assert out == f"{loss}: {REPLAYED}"
    assert err.startswith("conform: none.json: cannot be read: No such file or directory")
    assert conform(f"replay none.json {loss} --bug ack_before_isr")[0] == DIVERGED


def test_a_trace_of_another_model_is_refused(conform, tmp_path):
    path = golden_support.FOLDER / "truncate_to_high_watermark_weak_isr.txt"
    written = write(golden_support.derive(golden_support.read(path.read_text(encoding="utf-8"))), tmp_path)
    assert refused(conform, f"replay {written}") == (
        f"conform: {written}: the cluster replays only traces of kafka, transactions and coordinator without swapped"
        " actions; give such a trace\n"
    )


def test_a_trace_of_ones_own_model_is_refused(conform, tmp_path):
    (tmp_path / "mine.py").write_text((PROJECT / "models" / "examples" / "two_phase_commit.py").read_text("utf-8"))
    written = write(behaviour(registry.load_file(tmp_path / "mine.py").instance(), 0, [], None, "check"), tmp_path)
    assert refused(conform, f"replay {written}") == (
        f"conform: {written}: a trace of the model in mine.py, but only traces of kafka, transactions and coordinator"
        " are replayed; compare your system with your model by isrcheck.testing, see docs/api.md\n"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("replay", "give traces to replay, or --walks N for random ones"),
        ("replay x --walks 3", "give traces to replay, or --walks N"),
        ("replay --walks 0", "0: not a whole number of at least 1"),
        ("replay --walks two", "two: not a whole number of at least 1"),
        ("replay --walks 1 --protocol 0.12", "kafka has no protocol 0.12"),
        ("replay --walks 1 --set record=3", "kafka has no configuration entry record; did you mean records?"),
        ("replay --walks 1 --set records", "records: not a name with a value; write it as --set NAME=VALUE"),
        ("replay --walks 1 --switch TRUNC=KIP9", "no such value"),
        ("replay x --protocol 2.1", "a trace contains its own protocol"),
        ("replay x --model transactions", "a trace contains its own protocol"),
        ("replay --model transactions --walks 1 --protocol 2.1", "transactions has no protocol 2.1"),
        (
            "replay --model transactions --walks 1 --set elections=1",
            "transactions has no configuration entry elections",
        ),
        (
            "replay --model transactions --walks 1 --bug hw_off_by_one",
            "is no bug of a system that replays transactions",
        ),
        ("replay --model transactions --walks 1 --logs d", "--logs keeps the logs of brokers"),
        ("replay x --bug hw", "invalid choice: 'hw'"),
        ("replay x --driver mine.py --bug hw_off_by_one", "leave them out with --driver"),
        ("replay x --driver mine.py", "mine.py: No such file or directory"),
        ("reply x", "invalid choice: 'reply'"),
        ("", "required: COMMAND"),
    ],
)
def test_bad_arguments_are_one_clear_line(conform, words, why):
    err = refused(conform, words)
    assert why in err
    assert err.count("\n") == 1


def test_a_full_disk_is_reported(conform, loss, monkeypatch):
    """The message of the log in files names the file and the cure."""
    monkeypatch.setattr(storage, "opened", lambda segment: Path("/dev/full").open("r+b", buffering=0))  # noqa: SIM115
    assert refused(conform, f"replay {loss} --logs kept") == (
        "conform: kept/trace-1/broker-0/00000000000000000000.log: no space left on the device;"
        " free some, or use another directory\n"
    )


def test_logs_are_files_on_request_and_nothing_is_overwritten(conform, loss, tmp_path):
    assert conform(f"replay {loss} --logs kept")[0] == DONE
    kept = sorted(path.relative_to(tmp_path / "kept").as_posix() for path in (tmp_path / "kept").rglob("*.log"))
    assert kept == [f"trace-1/broker-{broker}/00000000000000000000.log" for broker in range(3)]
    before = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.*")}
    err = refused(conform, f"replay {loss} --logs kept")
    assert "the directory is not empty; give an empty or new directory" in err
    assert before == {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.*")}


# --------------------------------------------------------------------------------------------------------------- walks


def test_walks_are_counted(conform):
    code, out, err = conform("replay --walks 5 --steps 10 --protocol 0.11 --seed 3")
    assert (code, err) == (DONE, "")
    first, second, *_ = out.splitlines()
    assert first == "5 random walks of kafka/0.11, 10 steps each: system and model agree after every step"
    assert second.endswith(" of 55 seeded bugs (--bug) cannot show here:")
    assert "  without consumers: follower_shows_log_end, " in out


def test_walks_with_a_bug_do_not_tell_which_bugs_cannot_show(conform):
    code, out, _ = conform("replay --walks 1 --steps 5 --protocol 0.11 --bug abort_not_indexed")
    assert (code, out.count("\n")) == (DONE, 1)


def test_a_mechanism_that_the_cluster_lacks_is_undecided(conform, tmp_path):
    """Traces, and random walks; but a user's own driver may have every mechanism."""
    has = "it implements 0.8, 0.10, 0.11, 2.0, 2.1, 2.4, 2.8, 3.3, 3.5, 3.7, 4.0, 4.1, 4.3"
    lacks = f"UNDECIDED: the executable cluster lacks HW_WAIT=CAUGHT_UP; {has}\n"
    model = registry.load("kafka")[0]
    for protocol in ("2.4", "4.1"):
        path = write(walk(model.instance(protocol, {"HW_WAIT": 1}), 0, 3), tmp_path)
        assert conform(f"replay {path}") == (UNDECIDED, f"{path}: {lacks}", "")
        assert conform(f"replay --walks 2 --protocol {protocol} --switch HW_WAIT=CAUGHT_UP") == (
            UNDECIDED,
            f"random walks of kafka/{protocol}: {lacks}",
            "",
        )


def test_a_diverging_walk_is_saved_with_the_command_that_replays_it(conform, tmp_path):
    code, out, err = conform("replay --walks 50 --protocol 2.1 --bug parked_fetch_updates --set records=3")
    assert (code, err) == (DIVERGED, "")
    path = out.partition(":")[0]
    assert path.startswith("counterexamples/kafka_2.1_behaviour_")
    # A follower that begins anew gives its parked fetch up, and the leader answers it.
    answers = "leader_answers_parked_fetch . to .|broker_becomes_follower . in epoch ."
    assert re.search(rf"diverges after step \d+ \(({answers})\)", out)
    command = json.loads(Path(path).read_text(encoding="utf-8"))["#meta"]["isrcheck"]["command"]
    assert command.startswith("conform replay --walks 1 --seed ")
    code, same, _ = conform(command.removeprefix("conform "))
    assert code == DIVERGED
    assert same.partition(": diverges")[2] == out.partition(": diverges")[2]
    assert conform(f"replay {path}")[0] == DONE


def test_coverage_is_reported(conform):
    code, out, err = conform("replay --walks 2 --steps 5 --protocol 0.10 --coverage")
    assert (code, err) == (DONE, "")
    lines = out[out.index("never taken:\n") - 1 :].splitlines()
    assert lines[2].startswith("  kafka/0.10: ")
    assert "broker_loses_disk" in lines[2]
    assert re.fullmatch(r"lines of the cluster that never ran: \d+ of \d+", lines[3])
    assert any(line.startswith("  broker/replica_manager.py: ") for line in lines[4:])


@pytest.mark.sampled
def test_every_bug_can_be_named(conform):
    for model, bugs in (("kafka", Bug), ("transactions", TransactionBug), ("coordinator", CoordinatorBug)):
        for bug in bugs:
            words = f"replay --model {model} --walks 1 --steps 1 --bug {bug.name.lower()}"
            assert conform(words)[0] in (DONE, DIVERGED)


def test_walks_of_transactions_are_counted_and_a_divergence_is_saved(conform, tmp_path):
    words = f"replay --model transactions --walks 3 --protocol 3.6 --set timeouts=1 --out {tmp_path}"
    code, out, _ = conform(words)
    assert (code, out.splitlines()[:2]) == (
        DONE,
        [
            "3 random walks of transactions/3.6, 30 steps each: system and model agree after every step",
            "3 of 15 seeded bugs (--bug) cannot show here:",
        ],
    )
    code, out, _ = conform(f"{words} --bug marker_lost_with_answer --steps 60 --coverage")
    assert code == DIVERGED
    assert "(answer_to_marker_is_lost from 0), first in marker:" in out
    assert "never taken:\n  transactions/3.6: " in out
    (path,) = tmp_path.glob("transactions_*.itf.json")
    assert read(path, None).command == (
        "conform replay --walks 1 --seed 0 --steps 60 --model transactions --protocol 3.6 --set timeouts=1"
        " --bug marker_lost_with_answer"
    )
    assert conform(f"replay {path}")[0] == DONE
    assert conform(f"replay {path} --bug marker_lost_with_answer")[0] == DIVERGED


def test_walks_of_the_coordinator_are_counted_and_a_divergence_is_saved(conform, tmp_path):
    words = f"replay --model coordinator --walks 2 --protocol 4.0 --out {tmp_path}"
    assert conform(words) == (
        DONE,
        "2 random walks of coordinator/4.0, 30 steps each: system and model agree after every step\n"
        "2 of 10 seeded bugs (--bug) cannot show here:\n"
        "  without two elections: out_of_sync_not_noticed, epoch_kept_by_active\n",
        "",
    )
    assert conform(f"{words} --set elections=2")[1].count("\n") == 1
    code, out, _ = conform(f"{words} --bug written_taken_for_committed")
    assert code == DIVERGED
    assert "(coordinator_flushes_batch 1), first in awaited_offset:" in out
    (path,) = tmp_path.glob("coordinator_*.itf.json")
    assert conform(f"replay {path}")[0] == DONE
    assert conform(f"replay {path} --logs kept") == (
        USAGE,
        "",
        f"conform: {path}: --logs keeps the logs of brokers only for traces of kafka; leave --logs out\n",
    )


# ---------------------------------------------------------------------------------------------------- one's own broker


@pytest.mark.exhaustive
def test_the_worked_example_follows_the_model(conform):
    """The command in its first lines works, and the file stays short."""
    text = EXAMPLE.read_text(encoding="utf-8")
    lines_of_a_short_file = 60
    assert len(text.splitlines()) < lines_of_a_short_file
    command = f"conform replay --driver own_broker.py --walks 200 {TWO_REPLICAS}"
    assert command in text
    words = command.removeprefix("conform ").replace("own_broker.py", str(EXAMPLE))
    agree = "system and model agree after every step"
    assert conform(words) == (DONE, f"200 random walks of kafka/2.4, 30 steps each: {agree}\n", "")


def test_a_mistake_in_the_worked_example_is_found(conform, tmp_path):
    """The response carries the high watermark from after the fetch."""
    text = EXAMPLE.read_text(encoding="utf-8")
    wrong = text.replace(
        "self.follower_end :], high_watermark_before)", "self.follower_end :], self.leader.high_watermark)"
    )
    assert wrong != text
    (tmp_path / "mine.py").write_text(wrong, encoding="utf-8")
    code, out, _ = conform(f"replay --driver mine.py --walks 50 --seed 200 {TWO_REPLICAS}")
    assert code == DIVERGED
    assert "first in high_watermark:" in out


def test_an_error_in_a_driver_is_reported_as_the_drivers(conform, tmp_path):
    text = EXAMPLE.read_text(encoding="utf-8").replace("self.in_sync = False", "self.in_sink.clear()")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    err = refused(conform, f"replay --driver mine.py --walks 200 {TWO_REPLICAS}")
    assert err == "conform: mine.py: take fails: AttributeError: 'Driver' object has no attribute 'in_sink'\n"


def driver_that(observe: str) -> str:
    return f"class Driver:\n def begin(self, trace): pass\n def take(self, step): pass\n def observe(self): {observe}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit(0)", "mine.py: it cannot be loaded: SystemExit: 0"),
        (driver_that("raise SystemExit(0)"), "mine.py: observe fails: SystemExit: 0"),
        (
            driver_that("pass"),
            "mine.py: observe gives None; give a dict that maps the names of variables to their values",
        ),
        (
            driver_that("return 5"),
            "mine.py: observe gives 5; give a dict that maps the names of variables to their values",
        ),
        (driver_that("return {}"), "observe never returned the value of a variable, so nothing was compared"),
        (driver_that("return {'isr': [None, (None,) * 3, None]}"), "observe never returned the value of a variable"),
        (
            driver_that("return {'is_up': ('y', 'y', 'n')}"),
            "observe returned ('y', 'y', 'n') for is_up; a tuple must have",
        ),
    ],
)
def test_a_driver_that_exits_or_shows_nothing_has_replayed_nothing(conform, tmp_path, text, why):
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    err = refused(conform, "replay --driver mine.py --walks 1 --steps 2")
    assert err.startswith(f"conform: {why}")
    assert err.count("\n") == 1


def test_a_divergence_is_reported_even_if_it_cannot_be_saved(conform, tmp_path):
    (tmp_path / "taken").write_text("", encoding="utf-8")
    code, out, err = conform("replay --walks 50 --bug ack_before_isr --out taken")
    assert code == DIVERGED
    assert re.match(r"diverges after step \d+ \(producer_appends at 0\), first in pending:\n", out)
    command = out.splitlines()[-1].removeprefix("  replay it: conform ")
    assert err.startswith("conform: taken: the trace cannot be written: ")
    assert conform(command)[0] == DIVERGED


def test_a_walk_on_a_users_broker_is_replayed_on_it(conform, tmp_path):
    (tmp_path / "mine.py").write_text(driver_that("return {'log_end_offset': (9, 9, 9)}"), encoding="utf-8")
    code, out, _ = conform("replay --driver mine.py --walks 1")
    assert code == DIVERGED
    command = out.splitlines()[-1].removeprefix("  replay it: conform ")
    assert command.endswith(" --driver mine.py")
    assert conform(command)[0] == DIVERGED
    written = json.loads(Path(out.partition(":")[0]).read_text(encoding="utf-8"))["#meta"]["isrcheck"]["command"]
    assert written == "conform replay --walks 1 --seed 0 --steps 30 --driver mine.py"
