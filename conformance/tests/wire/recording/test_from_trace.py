"""`conform script`: the scripts of golden traces are scripts, and have a comment for every step."""

import pytest

from conformance.tests.support import golden
from isrcheck.commands.exit_codes import DONE, NOTHING, USAGE
from isrcheck.conformance.cli import main as conform
from isrcheck.conformance.wire.recording.from_trace import Names, script_of
from isrcheck.conformance.wire.recording.rules import read_script
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import behaviour

NODES = (0, 1, 2, 3, "controller")
WIDTH = 120


def trace_of(name):
    return golden.derive(golden.read((golden.FOLDER / f"{name}.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(golden.FOLDER.glob("kafka_*.txt")), ids=lambda path: path.stem)
def test_the_script_of_a_golden_trace_is_a_script_with_every_step(path, tmp_path):
    trace = trace_of(path.stem)
    lines = script_of(trace)
    script = tmp_path / "script.txt"
    script.write_text("\n".join(lines), encoding="utf-8")
    rules = read_script(script, NODES)
    assert [one.line for one in rules] == list(range(1, len(rules) + 1))
    told = [line for line in lines if line[:2] == "# " and line[2:3].isdigit()]
    assert told == [f"# {number}. {trace.instance.spell_step(step)}" for number, step in enumerate(trace.steps, 1)]
    typed = {line.split()[-1] for line in lines if line.startswith(("#   pass", "#   begin", "#   release"))}
    assert typed == {str(one.line) for one in rules}
    assert max(map(len, lines)) <= WIDTH


def test_every_message_of_a_trace_is_held_and_so_are_fetches_that_do_not_arrive_in_it():
    lines = script_of(trace_of("kafka_missed_demotion"))
    fetches = [(follower, leader) for leader in range(3) for follower in range(3) if follower != leader]
    assert [line for line in lines if line.startswith("hold")] == [
        *(f"hold fetch from broker {one} to broker {two} after begun until released" for one, two in fetches),
        "hold response fetch from broker 0 to broker 2 after begun until released",
        *(f"hold leader_and_isr to broker {broker} after begun until released" for broker in range(3)),
    ]
    steps = lines[lines.index("# 1. producer_appends at 0") :]
    assert steps[:6] == [
        "# 1. producer_appends at 0",
        "#   now: send a new record to broker 0",
        "# 2. leader_handles_fetch 0 from 2",
        "#   pass 2",
        "# 3. follower_applies_response 2 from 0",
        "#   pass 7",
    ]


def test_with_kraft_metadata_and_alter_partition_are_held():
    lines = script_of(trace_of("kafka_stale_record"))
    held = {line.partition(" after ")[0] for line in lines if line.startswith("hold")}
    assert {
        "hold response fetch from controller to broker 0",
        "hold alter_partition from broker 0 to controller",
        "hold response alter_partition from controller to broker 0",
    } <= held


def test_a_lost_answer_is_given_up_by_its_client():
    instance = trace_of("kafka_acks_1_leader_dies_first").instance
    steps = ("producer_appends at 0", "leader_handles_fetch 0 from 1", "response_is_lost to 1 from 0")
    lines = script_of(behaviour(instance, 0, [golden.read_step(instance, one) for one in steps], None, "none"))
    at = lines.index("# 3. response_is_lost to 1 from 0")
    assert lines[at + 1] == "#   now: wait until broker 1 gives up the answer that line 3 holds"


def test_the_command_prints_the_script_and_refuses_other_models(capfd, tmp_path):
    trace = trace_of("kafka_acks_1_leader_dies_first")
    assert conform(["script", str(files.write(trace, tmp_path))]) == DONE
    assert capfd.readouterr() == ("\n".join(script_of(trace)) + "\n", "")
    other = files.write(trace_of("transactions_input_is_skipped"), tmp_path)
    assert conform(["script", str(other)]) == NOTHING
    line = f"# {other}: a trace of transactions; scripts are made of traces of kafka\n"
    assert capfd.readouterr() == (line, "")


def test_brokers_and_the_controller_can_have_other_names():
    lines = script_of(trace_of("kafka_stale_record"), Names(1, "controller-100"))
    held = [line.partition(" after ")[0] for line in lines if line.startswith("hold")]
    assert "hold response fetch from controller-100 to broker 1" in held
    assert not [line for line in held if "broker 0" in line]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--first-broker", "-1"], "--first-broker -1: not the id of a broker; give a number from 0 to 1000000"),
        (["--controller", "master"], "--controller master: write controller, or controller-ID"),
    ],
)
def test_bad_names_are_one_line(words, line, capfd):
    assert conform(["script", "any", *words]) == USAGE
    assert capfd.readouterr() == ("", f"conform: {line}\n")


@pytest.mark.parametrize(
    ("name", "acts"),
    [
        (
            "kafka_reassignment_through_an_eligible_stranger",
            [
                "assign the partition to brokers 2,3: kafka-reassign-partitions --execute",
                "assign the partition to brokers 1: kafka-reassign-partitions --execute",
            ],
        ),
        (
            "kafka_changed_minimum_forgets_who_may_lead",
            ["set min.insync.replicas=1 for the topic: kafka-configs --alter"],
        ),
        (
            "kafka_unregistered_broker_stays_eligible",
            ["unregister broker 2: kafka-cluster unregister --id 2"],
        ),
    ],
)
def test_an_operators_act_is_told_with_its_command(name, acts):
    lines = script_of(trace_of(name), Names(1))
    assert [line for line in lines if "kafka-" in line] == [f"#   now: {act}" for act in acts]
