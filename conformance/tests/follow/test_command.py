"""`conform run` and `conform follow`: event logs, observations, bad input, exit codes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conformance.tests.support.follow import LOSS, gap_log, lines_of, text_of
from conformance.tests.support.observations import said, write
from conformance.tests.support.places import RECORDINGS
from conformance.tests.support.programs import HERE, words_of
from isrcheck.commands.exit_codes import DIVERGED, INTERRUPTED

pytestmark = pytest.mark.sampled

FROZEN = RECORDINGS / "kafka-3.9-missed_demotion_frozen.ndjson"


@pytest.fixture
def log(conform):
    """The log of one run, of 40 events."""
    assert conform("run --steps 40 --log log.ndjson")[0] == 0
    return Path("log.ndjson")


def put_lines(path: Path, lines: list[dict]) -> Path:
    path.write_text(text_of(lines), encoding="utf-8")
    return path


def spoilt(log: Path) -> Path:
    """A copy of the log with a wrong observation in one event."""
    lines = lines_of(log.read_text())
    lines[8]["state"] = {"next_record": 11}
    return put_lines(Path("spoilt.ndjson"), lines)


def with_a_gap(log: Path) -> Path:
    return gap_log(Path("gap.ndjson"))


def refusal(conform, words: str) -> str:
    """What is said of a command that is refused."""
    code, out, err = conform(words)
    assert (code, out) == (2, "")
    return err


def starts(log: Path) -> Path:
    """A copy of the log in which more than one initial state is possible."""
    lines = lines_of(log.read_text())
    lines[0]["configuration"].pop("start_isr")
    lines[0]["state"] = {}
    return put_lines(Path("starts.ndjson"), lines)


def seen(log: Path) -> None:
    """Observations that are explained, and others that are not."""
    write(Path("seen.ndjson"), *said("header 2: 1 2; acked x 0; disk 2: x hw=1; metadata 1: 1 2"))
    write(Path("wrong.ndjson"), *said("header 2: 1 2; acked x 1; metadata 1: 1 2"))


FOLLOWS = "run 0.1 follows the model: {} events; 1 possible state, 1 at most at one time\n"
REJECTED = "no step of the model leads to the observed state\n"
OVER = "the time limit was reached; give more with --seconds"

COMMANDS = [
    (
        "run --steps 40 --seed 3",
        0,
        r"recorded: runs/2\.4-seed-3-1\.ndjson\nrun 3\.1 follows the model: 40 events; 1 possible state, 1 at most at"
        r" one time\n37 of 55 seeded bugs \(--bug\) cannot show here:\n",
    ),
    (
        "run --steps 400 --bug hw_off_by_one",
        20,
        r"recorded: runs/2\.4-seed-0-hw_off_by_one-1\.ndjson\n(.*\n)*"
        rf"runs/.*\.ndjson:\d+: run 0\.\d+ is rejected: {REJECTED}.*\n  after \d+ events?, with 1 possible state\n",
    ),
    ("run --steps 40 --protocol 4.1 --log x.ndjson", 0, f"recorded: x.ndjson\n{FOLLOWS.format(40)}"),
    ("run --steps 30 --missing 0.05 --unseen 0.1 --seed 4", 0, r"(.*\n)*.*missing between them"),
    ("follow log.ndjson", 0, f"{FOLLOWS.format(40)}$"),
    ("follow log.ndjson --protocol 2.4 --set replicas=3", 0, f"{FOLLOWS.format(40)}$"),
    (
        "follow spoilt.ndjson",
        20,
        rf"spoilt\.ndjson:9: run 0\.1 is rejected: {REJECTED}  event 8 at broker .*\n  after 7 events, with 1 possible"
        r" state\n(.*(it leads to next_record = |: models/.*\.py:\d+: ).*\n)+$",
    ),
    (
        "follow gap.ndjson --most-states 3",
        3,
        r"gap\.ndjson:2: run 0\.1 is undecided: more than 3 states are possible; raise --most-states, or record more\n"
        r"  event 40.*\n  after 0 events, with 1 possible state\n$",
    ),
    (
        "follow gap.ndjson --seconds 0.2 --most-states 1000000",
        3,
        rf"gap\.ndjson:2: run 0\.1 is undecided: {OVER}\n  event 40",
    ),
    (
        "follow starts.ndjson --most-states 1",
        3,
        r"starts\.ndjson:1: run 0\.1 is undecided: more than 1 initial states are possible; raise --most-states\n"
        r"  after 0 events, with 0 possible states\n$",
    ),
    ("follow seen.ndjson", 0, r"EXPLAINED: seen\.ndjson is a behaviour of 2\.4, in "),
    (
        "follow wrong.ndjson log.ndjson",
        20,
        r"REJECTED   wrong\.ndjson:2: x is acknowledged at offset 1\nFOLLOWED   log\.ndjson: 1 run, 40 events\n",
    ),
    (
        f"follow {FROZEN} --seconds 0.000001",
        3,
        f"UNDECIDED: {OVER}; (the search found explanations only of|.* was not read to its end)",
    ),
]
"""Words of a command, its exit code, and how its output begins."""

FILES = {"spoilt": spoilt, "gap": with_a_gap, "starts": starts, "seen": seen, "wrong": seen}


@pytest.mark.parametrize(
    ("words", "code", "begins"), COMMANDS, ids=lambda value: value if str(value)[:3] in "runfol" else ""
)
def test_a_command_says_what_it_has_decided(conform, log, words, code, begins):
    for name, make in FILES.items():
        if f"{name}.ndjson" in words:
            make(log)
    found, out, err = conform(words)
    assert (found, err) == (code, "")
    assert re.match(begins, out), out


# ----------------------------------------------------------------------------------------------------------------- run


def test_the_same_run_again_is_a_new_file_with_the_same_lines(conform):
    for number in (1, 2):
        code, out, _ = conform("run --steps 20 --protocol 0.11")
        assert (code, out.splitlines()[0]) == (0, f"recorded: runs/0.11-seed-0-{number}.ndjson")
    first, second = sorted(Path("runs").iterdir())
    assert first.read_bytes() == second.read_bytes()


def test_an_existing_log_is_not_overwritten(conform, log):
    before = log.read_bytes()
    refused = "conform: log.ndjson: it exists already and is not overwritten; give another --log FILE\n"
    assert refusal(conform, f"run --steps 5 --log {log}") == refused
    assert log.read_bytes() == before


def test_the_brokers_own_logs_are_kept_on_request(conform):
    assert conform("run --steps 30 --logs kept")[0] == 0
    kept = sorted(path.relative_to("kept").as_posix() for path in Path("kept").rglob("*.log"))
    assert kept == [f"run-0.1/broker-{broker}/00000000000000000000.log" for broker in range(3)]
    assert "the directory is not empty; give an empty or new" in refusal(conform, "run --steps 30 --logs kept")


@pytest.mark.parametrize("option", ["--switch", "--set"])
def test_a_run_has_the_clients_that_are_asked_for(conform, option):
    code, out, err = conform(f"run --steps 60 {option} enable_idempotence=on {option} consumers=1 --log log.ndjson")
    assert (code, out.splitlines(keepends=True)[1], err) == (0, FOLLOWS.format(60), "")
    header, *events = lines_of(Path("log.ndjson").read_text())
    assert header["configuration"].items() >= {"enable_idempotence": "on", "consumers": 1}.items()
    assert {"producer_resends", "consumer_fetches"} <= {event["action"] for event in events}


# -------------------------------------------------------------------------------------------------------------- follow


def test_events_are_attributed_to_their_broker(conform, log):
    lines = lines_of(log.read_text())
    event = next(line for line in lines[1:] if line["broker"] is not None)
    kept = [*lines[: lines.index(event)], event | {"action": None, "arguments": {}}]
    elsewhere = next(broker for broker in range(3) if broker != event["broker"])
    for broker, code in ((event["broker"], 0), (elsewhere, 20), (None, 0)):
        kept[-1]["broker"] = broker
        assert conform(f"follow {put_lines(Path('at.ndjson'), kept)}")[0] == code


def test_after_a_timeout_the_rest_is_still_read(conform, log):
    path = with_a_gap(log)
    path.write_text(path.read_text(encoding="utf-8") + '{"run": "0.1", "number": 41}\n', encoding="utf-8")
    refused = 'conform: gap.ndjson:3: "broker" is missing; docs/conformance.md describes the lines of a log\n'
    assert refusal(conform, f"follow {path} --seconds 0.1 --most-states 1000000") == refused


# -------------------------------------------------------------------------------------------------------- observations


def test_the_loss_on_0_10_2_is_written_as_a_replayable_trace(conform):
    code, out, err = conform(f"follow {LOSS} --protocol 0.10 --out kept")
    assert (code, err) == (12, "")
    written = re.fullmatch(r"written: (kept/\S+); replay it: conform replay \1", out.splitlines()[-1])
    assert written
    agrees = f"{written[1]}: replayed, 26 steps; system and model agree after every step\n"
    assert conform(f"replay {written[1]}") == (0, agrees, "")
    assert conform(f"follow {LOSS} --protocol 2.1 --out other")[0] == DIVERGED
    assert not Path("other").exists()


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("follow", "required: LOG"),
        ("follow nowhere", "nowhere: No such file or directory; give a log that can be read"),
        ("follow /dev/null", "/dev/null: not a regular file; give a log that can be read"),
        ("follow x --seconds 0", "0: not a time; give a number of seconds above 0"),
        ("follow x --seconds nan", "nan: not a time; give a number of seconds above 0"),
        ("follow x --seconds soon", "soon: not a time; give a number of seconds above 0"),
        ("follow x --memory much", "much: not a size; write it as 512M or 8G"),
        ("follow x --engine z3", "argument --engine: invalid choice: 'z3'"),
        ("follow x --master local", "--master needs --engine spark; add --engine spark, or leave --master out"),
        (
            "follow x --spark-conf spark.a=b",
            "--spark-conf needs --engine spark; add --engine spark, or leave --spark-conf out",
        ),
        ("follow x --engine spark --spark-conf a=b", "--spark-conf a=b: not a setting of Spark; write it as"),
        ("follow x --engine spark --master spark://nowhere", "--master spark://nowhere: not the address of"),
        ("follow x --most-states 0", "0: not a whole number of at least 1"),
        ("follow log.ndjson --protocol 2.0", "log.ndjson:1: it is a log of protocol 2.4, not of 2.0; omit --protocol"),
        ("follow log.ndjson --set replicas=2", "log.ndjson:1: it is a log of replicas=3, not of replicas=2; omit"),
        ("follow log.ndjson --set replica=2", "kafka has no configuration entry replica; did you mean"),
        ("run --steps 0", "0: not a whole number of at least 1"),
        ("run --missing 2", "--missing 2: not a share between 0 and 1"),
        ("run --protocol 0.12", "0.12"),
        ("run --switch TRUNC", "TRUNC: not a name with a value; write it as --switch NAME=VALUE"),
        ("run --switch TRUNK=KIP101", "kafka has no entry or switch TRUNK; did you mean TRUNC?"),
        ("run --bug hw", "invalid choice: 'hw'"),
        ("run --bug copy_appended", "copy_appended is no bug of a system that replays kafka; choose one of hw_"),
        ("run --model transactions --bug hw_off_by_one", "hw_off_by_one is no bug of a system that replays"),
        ("run --model transactions --replicas 2", "--replicas is about the brokers of kafka; leave it out"),
        ("run --model transactions --acks 1", "--acks is about the brokers of kafka; leave it out"),
        ("run --model transactions --min-insync-replicas 1", "--min-insync-replicas is about the brokers of kafka"),
        ("run --model transactions --logs kept", "--logs is about the brokers of kafka; leave it out"),
        ("run --model transactions --protocol 2.4", "transactions has no protocol 2.4; 0.11 stands for it"),
        ("run --model exactly_once", "invalid choice: 'exactly_once'"),
        ("follow log.ndjson --model transactions", "log.ndjson:1: it is a log of kafka, not of transactions; give"),
        ("run --seconds -1", "-1: not a time; give a number of seconds above 0"),
        ("run --log log.ndjson/x", "log.ndjson/x: File exists; write the log elsewhere, with --log FILE"),
        (
            "run --steps 5 --set unclean_elections=1",
            "unclean_elections=1: recorded runs cannot have this entry, or choose its value at random; leave it out, or"
            " give it to conform replay --walks 100",
        ),
    ],
)
def test_bad_arguments_are_one_clear_line(conform, log, words, why):
    err = refusal(conform, words)
    assert why in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in Path().iterdir()) == ["log.ndjson"]


def test_runs_of_transactions_are_recorded_and_followed(conform):
    code, out, err = conform("run --model transactions --protocol 3.7 --seed 1 --steps 25 --switch TXN_VERIFY=OFF")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        "recorded: runs/transactions-3.7-seed-1-1.ndjson",
        "run 1.1 follows the model: 25 events; 1 possible state, 1 at most at one time",
    ]
    assert conform("run --steps 20 --seed 1 --log runs/kafka.ndjson")[0] == 0
    code, out, err = conform("follow runs")
    assert (code, err) == (0, "")
    assert re.sub(r"[0-9.]+ s$", "TIME", out.rstrip()) == (
        "FOLLOWED   runs/kafka.ndjson: 1 run, 20 events\n"
        "FOLLOWED   runs/transactions-3.7-seed-1-1.ndjson: 1 run, 25 events\n"
        "2 logs: 2 FOLLOWED; TIME"
    )
    log = "runs/transactions-3.7-seed-1-1.ndjson"
    assert conform(f"follow {log} --model transactions --set timeouts=1")[0] == 0
    for words, why in (
        (f"{log} --protocol 3.7", f"{log}:1: it is a log of transactions, not of kafka; give --model"),
        (f"{log} --model transactions --set timeouts=9", f"{log}:1: it is a log of timeouts=1, not of timeouts=9"),
        (f"{LOSS} --model transactions", f"{LOSS}: it is a recording of kafka, not a log of transactions"),
    ):
        err = refusal(conform, f"follow {words}")
        assert err.count("\n") == 1
        assert err.startswith(f"conform: {why}")


def test_a_pipe_is_refused_because_it_is_read_twice(conform):
    os.mkfifo("pipe")
    assert refusal(conform, "follow pipe") == "conform: pipe: not a regular file; give a log that can be read\n"


def test_text_from_a_log_is_escaped_for_the_terminal(conform, log):
    lines = lines_of(log.read_text())
    lines[3]["action"] = "\x1b[2Jleader\nappends"
    err = refusal(conform, f"follow {put_lines(log, lines)}")
    assert err.startswith("conform: log.ndjson:4: there is no action \\x1b[2Jleader\\nappends; ")
    assert err.count("\n") == 1


# -------------------------------------------------------------------------------------------------------- as a process


def interrupted(words: list[object]) -> tuple[int, str, str]:
    """Interrupt a command after its first progress, which it reports after one second; return its later output."""
    script = "from isrcheck.checker.results import terminal; terminal.SECONDS_BETWEEN_LINES = 1"
    with subprocess.Popen(
        words_of("conform", *words, script=script),
        env=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        next(line for line in process.stderr if " s, " in line)
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Traceback" not in err
    return process.returncode, out, err


def test_ctrl_c_while_following_a_recording_reports_the_position():
    code, out, _ = interrupted(["follow", FROZEN, "--switch", "REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER=off"])
    assert code == INTERRUPTED
    assert re.match(r"UNDECIDED: interrupted; the search found explanations only of the lines before", out)
    assert re.search(r"missed_demotion_frozen\.ndjson:\d+", out)


def test_ctrl_c_while_following_a_log_reports_the_position(conform, log):
    code, out, err = interrupted(["follow", with_a_gap(log), "--most-states", 1_000_000])
    assert (code, out) == (130, "")
    assert err == "conform: gap.ndjson:2: interrupted at this line; nothing is decided\n"
