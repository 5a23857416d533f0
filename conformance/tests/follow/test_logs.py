"""Invalid or damaged logs are refused with file and line, and never accepted by mistake."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.tests.support.follow import lines_of, recorded, text_of
from isrcheck.conformance.follow.format import events as reading
from isrcheck.conformance.follow.format.events import Event, Header, actor_of, line_of
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.runs import Verdict, follow_log
from isrcheck.models import registry
from isrcheck.models.messages import UsageError

Said = dict[str, Any]


@cache
def good() -> str:
    """Two runs, 12 events each: the lines 1 to 13, and 14 to 26."""
    return "".join(recorded(Plan(seed=seed, events=12)) for seed in (2, 3))


def refusal(tmp_path: Path, content: bytes | str) -> str:
    """The message on a log that has to be refused, without the name of the log."""
    path = tmp_path / "log.ndjson"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as error:
        list(follow_log(path))
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


def changed(line: int, change: Callable[[Said], object]) -> str:
    """The good log with one line changed; lines are counted from 1."""
    lines = good().splitlines()
    said = json.loads(lines[line - 1])
    change(said)
    lines[line - 1] = json.dumps(said)
    return "\n".join(lines) + "\n"


def put(key: str, value: object, within: str | None = None) -> Callable[[Said], object]:
    return lambda said: (said[within] if within else said).update({key: value})


def take_out(key: str) -> Callable[[Said], object]:
    return lambda said: said.pop(key)


def shrinks(removed: object) -> Callable[[Said], object]:
    return lambda said: said.update(action="leader_shrinks_isr", arguments={"leader": 0, "removed": removed})


def taken(*numbers: int) -> str:
    """These lines of the good log."""
    lines = good().splitlines(keepends=True)
    return "".join(lines[number - 1] for number in numbers)


def swapped(first: int, second: int) -> str:
    return taken(*({first: second, second: first}.get(number, number) for number in range(1, 27)))


HEADERS = [
    (put("schema", 2), "1: schema 2 is unknown; only schema 1 can be read"),
    (put("schema", "1"), '1: "schema" is a text; it has to be a whole number'),
    (put("schema", True), '1: "schema" is true or false; it has to be a whole number'),
    (put("schema", 1.0), '1: "schema" is a number with a point; it has to be a whole number'),
    (take_out("schema"), '1: the line is no header, because "schema" is missing; begin each run with its header'),
    (take_out("run"), '1: "run" is missing; docs/conformance.md describes the lines of a log'),
    (put("run", ""), "1: the run has no name; give it one"),
    (put("run", 7), '1: "run" is a whole number; it has to be a text'),
    (put("note", 7), '1: "note" is a whole number; it has to be a text'),
    (put("seed", "x"), '1: "seed" is a text; it has to be a whole number'),
    (put("more", 7), '1: "more" is not a key of this line; did you mean model?'),
    (
        put("protocol", "2.2"),
        "1: kafka has no protocol 2.2; 2.1 stands for it",
    ),
    (put("configuration", []), '1: "configuration" is a list; it has to be an object'),
    (put("replicas", 30, "configuration"), "1: replicas=30 is impossible: it ranges from 1 to 7"),
    (put("replicas", True, "configuration"), '1: "replicas" is true or false; it has to be a whole number'),
    (put("records", 10**9, "configuration"), "1: kafka has 3000000355 steps, more than 1048576; "),
    (put("log_size", 100_000, "configuration"), "1: kafka has 1200247 steps, more than 1048576; "),
    (put("elections", 126, "configuration"), "2: metadata_leader is [None, None, "),
    (put("acks", -1, "configuration"), '1: "acks" is a whole number; it has to be a text'),
    (put("acks", "most", "configuration"), "1: acks=most: no such value; there are: all, 0, 1"),
    (put("start", "any", "configuration"), '1: "start" accepts only "elected"; for any other'),
    (put("start_isr", 6, "configuration"), "1: start_isr is a number whose bit r means"),
    (put("TRUNC", "HW", "configuration"), "1: there is no configuration entry TRUNC; "),
    (put("replicas", "3", "switches"), "1: there is no switch replicas; "),
    (put("TRUNC", "KIP1", "switches"), "1: TRUNC=KIP1: no such value; there are: HW, KIP101, KIP279, KIP320"),
    (put("controller_epoch", None, "state"), "1: controller_epoch is None, but its values are 0..8; correct"),
]

EVENTS = [
    (put("action", "leader_handles_fetches"), "3: there is no action leader_handles_fetches; did you mean"),
    (put("action", 3), '3: "action" is a whole number; it has to be a text'),
    (take_out("action"), '3: "action" is missing; '),
    (take_out("number"), '3: "number" is missing; '),
    (take_out("broker"), '3: "broker" is missing; '),
    (put("broker", 3), "3: broker 3 does not exist, because there are 3; correct it, or `replicas` in the header"),
    (put("broker", True), '3: "broker" is true or false; it has to be a whole number'),
    (put("broker", 2), '3: "broker" is 2, but leader_handles_fetch is performed by the broker in its argument leader,'),
    (put("number", 1), "3: event number 1 does not follow 1; number the events 1, 2, 3, ... in order"),
    (put("number", 0), "3: event number 0 does not follow 1; number the events 1, 2, 3, ... in order"),
    (put("number", -(10**40)), "3: event number with more than 12 digits does not follow 1; "),
    (put("number", 2.0), '3: "number" is a number with a point; it has to be a whole number'),
    (put("run", "9.9"), "3: the line belongs to run 9.9, but is among the lines of run 2.1; put the lines of one run"),
    (put("schema", 1), "3: "),
    (put("remark", "x"), '3: "remark" is not a key of this line; '),
    (put("arguments", None), '3: "arguments" is null; it has to be an object'),
    (put("who", 1, "arguments"), "3: leader_handles_fetch has no argument who; it takes leader, follower"),
    (put("follower", 3, "arguments"), "3: follower 3 is outside 0..2; correct it, or the configuration in"),
    (put("follower", -1, "arguments"), "3: follower -1 is outside 0..2; correct it, or the configuration in"),
    (put("follower", "1", "arguments"), "3: follower is a text; it has to be a whole number"),
    (put("follower", [1], "arguments"), "3: follower is a list; it has to be a whole number"),
    (put("state", 1), '3: "state" is a whole number; it has to be an object'),
    (put("log_end", 1, "state"), "3: the model has no variable 'log_end'; did you mean"),
    (put("log_end_offset[3]", 1, "state"), "3: log_end_offset[3] does not exist: the model has log_end_offset[0..2]; "),
    (put("log_end_offset[0][0]", 1, "state"), "3: log_end_offset[0][0] does not exist: the model has "),
    (put("log_end_offset[-1]", 1, "state"), "3: the model has no variable "),
    (put("log_end_offset[0]", 13, "state"), "3: log_end_offset[0] is 13, but its values are 0..12; correct "),
    (put("log_end_offset[0]", True, "state"), "3: log_end_offset[0] is True, but its values are 0..12; correct "),
    (put("log_end_offset[0]", None, "state"), "3: log_end_offset[0] is None, but its values are 0..12; correct "),
    (put("log_end_offset", [1, 2], "state"), "3: log_end_offset is [1, 2], but has to be a list of 3 values; "),
    (put("log_record[0][0]", -1, "state"), "3: log_record[0][0] is -1, but its values are 0..11 or null; "),
    (put("is_up[0]", 1, "state"), "3: is_up[0] is 1, but its values are true or false; correct the value"),
    (put("fetch[1][0]", "GONE", "state"), "3: fetch[1][0] is 'GONE', but its values are \"NONE\" or "),
    (put("fetch[1][0]", 1, "state"), "3: fetch[1][0] is 1, but its values are "),
    (shrinks([1, 1]), "3: removed contains a number twice; give each number once"),
    (shrinks(1), "3: removed is a whole number; it has to be a list of numbers"),
]


@pytest.mark.parametrize(("change", "message"), HEADERS, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_a_bad_header_is_refused(tmp_path: Path, change: Callable[[Said], object], message: str) -> None:
    assert refusal(tmp_path, changed(1, change)).startswith(message)


@pytest.mark.parametrize(("change", "message"), EVENTS, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_a_bad_event_is_refused(tmp_path: Path, change: Callable[[Said], object], message: str) -> None:
    told = {"action": "leader_handles_fetch", "arguments": {"leader": 0, "follower": 1}, "broker": 0}

    def apply(said: Said) -> None:
        said.update(told)
        change(said)

    assert refusal(tmp_path, changed(3, apply)).startswith(message)


LINES = [
    (b"", "3: the line is empty; remove it"),
    (b"   ", "3: the line is empty; remove it"),
    (b"[1, 2]", "3: the line is not a JSON object; write one object per line"),
    (b"null", "3: the line is not a JSON object; write one object per line"),
    (b"not json", "3: not JSON: Expecting value at column 1; write one object per line"),
    (b'{"run": "2.1"', "3: not JSON: "),
    (b'{"run": "2.1", "run": "2.1"}', '3: "run" occurs twice; write it once'),
    (b'{"run": "2.1", "number": NaN}', "3: NaN is not a JSON number; write a number"),
    (b'{"run": "2.1", "number": -Infinity}', "3: -Infinity is not a JSON number; write a number"),
    (b'{"run": "2.1", "number": ' + b"1" * 5_000 + b"}", "3: a number in the line is too long; give a log"),
    (b'{"run": "\xff"}', "3: byte 10 is not UTF-8; give a log (docs/conformance.md)"),
    (b"\xef\xbb\xbf{}", "3: not JSON: "),
    (b'{"run": "' + b"x" * (1 << 20) + b'"}', "3: the line is longer than 1048576 bytes; give a log in NDJSON"),
    (b"[" * 100_000, "3: the line is nested too deeply; give a log (docs/conformance.md)"),
    (b'{"a": ' * 100_000, "3: the line is nested too deeply; give a log (docs/conformance.md)"),
]


@pytest.mark.parametrize(("line", "message"), LINES, ids=[message[:40] for _, message in LINES])
def test_an_invalid_line_is_refused(tmp_path: Path, line: bytes, message: str) -> None:
    lines = good().encode().split(b"\n")
    lines[2] = line
    assert refusal(tmp_path, b"\n".join(lines)).startswith(message)


CUT = "26: the file ends in the middle of this line; get the rest, or remove the line"

DAMAGED: list[tuple[Callable[[str], str], str]] = [
    (lambda text: text[: text.rstrip("\n").rindex("\n") + 2], CUT),
    (lambda text: text[: text.rstrip("\n").rindex("\n") + 41], CUT),
    (lambda text: text[:-2], CUT),
    (lambda text: text[:-1], CUT),
    (lambda text: swapped(3, 4), "4: event number 2 does not follow 3; "),
    (lambda text: swapped(1, 2), '1: the line is no header, because "schema" is missing'),
    (lambda text: taken(1, 2, 3, 3, 4), "4: event number 2 does not follow 2; "),
    (lambda text: swapped(5, 18), "5: the line belongs to run 3.1, but is among the lines of run 2.1"),
    # Its header is gone: the second run stands among the lines of the first.
    (lambda text: taken(*range(1, 14), *range(15, 27)), "14: the line belongs to run 3.1, "),
    (lambda text: taken(*range(1, 27), 1), "27: run 2.1 occurs twice; give every run its own name"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGED)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Callable[[str], str], message: str) -> None:
    assert refusal(tmp_path, damage(good())).startswith(message)


def test_a_damaged_line_after_a_rejection_is_refused_too(tmp_path: Path) -> None:
    lines = lines_of(changed(3, put("log_start_offset[0]", 0, "state")))
    lines[2]["state"] = {"log_end_offset[0]": 12}
    path = tmp_path / "log.ndjson"
    path.write_text(text_of(lines), encoding="utf-8")
    assert [outcome.verdict for outcome in follow_log(path)] == [Verdict.REJECTED, Verdict.FOLLOWED]
    lines[9]["action"] = "nothing_like_it"
    message = refusal(tmp_path, text_of(lines))
    assert message.startswith("10: there is no action nothing_like_it; ")


def test_a_long_run_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_text(good() + "broken", encoding="utf-8")
    lines = reading.read_log(path)
    assert [next(lines).line for _ in range(26)] == list(range(1, 27))
    with pytest.raises(UsageError):
        next(lines)


def test_every_action_has_an_acting_broker_or_is_of_controller_or_client() -> None:
    without_one = []
    for action in registry.load("kafka")[0].actions:
        actor = actor_of(action.name)
        if actor is None:
            without_one.append(action.name)
        else:
            assert actor in [parameter.name for parameter in action.parameters]
    assert [name for name in without_one if not name.startswith(("controller_", "coordinator_", "consumer_"))] == [
        "send_is_lost",
        "request_fails",
        "operator_changes_min_insync_replicas",
        "operator_deletes_replica_folder",
    ]


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    switches, state = {"FOLLOWER_SKIP": "SAME_LEADER"}, {"is_up": [True, True]}
    header = Header("x", 3, "kafka", "0.11", switches, {"replicas": 2}, state, "by hand")
    event = Event("x", 2, None, "controller_fails_over", {"elected": None}, {"controller_leader": 1}, "a remark")
    path = tmp_path / "log.ndjson"
    path.write_text(line_of(header) + line_of(event), encoding="utf-8")
    began, happened = reading.read_log(path)
    assert isinstance(began, reading.RunStart)
    assert isinstance(happened, reading.RunEvent)
    assert began.header == header
    assert (happened.event.action, happened.missing, len(happened.steps)) == ("controller_fails_over", 1, 2)


def cells_of(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Every cell of a value of a log, with its indices."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from cells_of(one, (*path, index))
    else:
        yield path, value


def with_cell(value: Any, path: tuple[int, ...], cell: Any) -> Any:
    if not path:
        return cell
    return [with_cell(one, path[1:], cell) if index == path[0] else one for index, one in enumerate(value)]


@pytest.mark.sampled
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(data=st.data())
def test_no_log_with_one_changed_cell_is_accepted(tmp_path: Path, data: st.DataObject) -> None:
    lines = lines_of(good())
    said = data.draw(st.sampled_from(lines))["state"]
    key = data.draw(st.sampled_from(sorted(said)))
    path, cell = data.draw(st.sampled_from(list(cells_of(said[key]))))
    others = [True, False] if isinstance(cell, bool) else ["NONE", "PARKED", "ANSWERED", None, 0, 1, 2, 3]
    said[key] = with_cell(said[key], path, data.draw(st.sampled_from([one for one in others if one != cell])))
    file = tmp_path / "log.ndjson"
    file.write_text(text_of(lines), encoding="utf-8")
    try:
        verdicts = {outcome.verdict for outcome in follow_log(file)}
    except UsageError:
        return
    assert Verdict.REJECTED in verdicts


@pytest.mark.recorded
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(data=st.data())
def test_any_change_of_a_log_is_bad_input_at_worst(tmp_path: Path, data: st.DataObject) -> None:
    """Changed values, and swapped, dropped or cut lines, give a verdict or a UsageError."""
    lines = good().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    said = json.loads(lines[number])
    strange = st.none() | st.booleans() | st.integers(-3, 14) | st.floats() | st.text(max_size=3)
    strange |= st.lists(st.none() | st.booleans() | st.integers(-1, 13), max_size=13)
    match data.draw(st.sampled_from(["value", "deep", "swap", "drop", "bytes"])):
        case "value":
            said[data.draw(st.sampled_from(sorted(said)))] = data.draw(strange)
            lines[number] = json.dumps(said)
        case "deep":
            within = said[data.draw(st.sampled_from(["state", "arguments" if number % 13 else "configuration"]))]
            if within:
                within[data.draw(st.sampled_from(sorted(within)))] = data.draw(strange)
            lines[number] = json.dumps(said)
        case "swap":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[number], lines[other] = lines[other], lines[number]
        case "drop":
            del lines[number]
        case "bytes":
            cut = data.draw(st.integers(0, len(lines[number])))
            lines[number] = lines[number][:cut] + data.draw(st.text(max_size=2)) + lines[number][cut + 1 :]
    path = tmp_path / "log.ndjson"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
    try:
        outcomes = list(follow_log(path, most_states=200))
    except UsageError as error:
        outcomes, message = [], str(error)
    else:
        message = f"{path}:"
    assert message.startswith(f"{path}:")
    assert all(outcome.spell() for outcome in outcomes)
