"""Records: fields under one name, and queues of records; what else is done with them is refused."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from conformance.tests.checker.reductions.test_symmetry import searched, states_of
from conformance.tests.models.language.test_sets import assert_refused_at_the_mark
from conformance.tests.support.trace import trace
from isrcheck.checker import cli
from isrcheck.commands.exit_codes import VIOLATED
from isrcheck.models import registry, run
from isrcheck.models.language.expression import read_expression
from isrcheck.models.language.model import Instance
from isrcheck.models.language.mutants import mutants
from isrcheck.models.messages import LanguageError, ModelError
from isrcheck.traces.format.why_false import why_broken

PRELUDE = '''"""Replicas send each other messages."""

from enum import IntEnum

from isrcheck.language import (
    Domain, Flag, Queue, Record, Set, action, always, between, field, initial, optional, require,
)


class Kind(IntEnum):
    ASK = 0
    ACK = 1


class Role(IntEnum):
    FOLLOWER = 0
    LEADER = 1


class Replica(Domain, size=2):
    pass


class Message(Record):
    kind = field(values=Kind)
    sender = field(values=Replica)


class Broker(Record):
    role = field(values=Role)
    log = field(Replica, values=optional(Replica), initially=-1)
    isr = field(values=Set(of=Replica), initially=Replica)


class Clock(Record):
    time = field(values=between(0, 2))


class State:
    broker = field(Replica, values=Broker)
    inbox = field(Replica, values=Queue(of=Message, most=2))
    clock = field(values=Clock)
'''

STEPS = """
@action
def send(s, r: Replica, to: Replica):
    require(len(s.inbox[to]) < 2)
    s.inbox[to].append(Message(sender=r, kind=Kind.ASK if r == to else Kind.ACK))
    s.broker[r].log[s.broker[r].role] = to


@action
def receive(s, r: Replica):
    require(len(s.inbox[r]) > 0 and s.clock.time < 2)
    sender = s.inbox[r][0].sender
    if s.inbox[r][0].kind == Kind.ACK:
        s.broker[sender].role = Role.LEADER
        s.broker[sender].isr.discard(r)
    s.inbox[r].popleft()
    s.clock.time += 1
    if len(s.broker[r].isr) == 1:
        s.broker[r].isr = s.broker[1 - r].isr
        s.inbox[0].clear()


@always
def leaders_have_empty_logs(s):
    return all(s.broker[r].log[o] == -1 or s.broker[r].role == Role.FOLLOWER for r in Replica for o in Replica)


@always
def each_is_in_its_isr(s):
    return all(r in s.broker[r].isr and len(s.inbox[r]) < 3 for r in Replica)
"""


def write(folder: Path, body: str, prelude: str = PRELUDE) -> Path:
    path = folder / "records.py"
    path.write_text(prelude + body, encoding="utf-8")
    return path


def action(*lines: str) -> str:
    return "\n".join(["@action", "def act(s, r: Replica):", *(f"    {line}" for line in lines), ""])


def instance_of(folder: Path, body: str) -> Instance:
    return registry.load_file(write(folder, body)).instance()


def test_the_parts_are_fields(tmp_path: Path) -> None:
    layouts = instance_of(tmp_path, STEPS).layouts
    assert {name: one.sizes for name, one in layouts.items()} == {
        "broker.role": (2,),
        "broker.log": (2, 2),
        "broker.isr": (2, 2),
        "inbox.kind": (2, 2),
        "inbox.sender": (2, 2),
        "clock.time": (),
    }


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("s.broker[r] = 1  # <-", "the record `s.broker[r]` is used as a value; read and write its parts: role"),
        ("s.broker[r].rule = 1  # <-", "the record `broker` has no part `rule`; it has role, log, isr"),
        ("s.broker.role = 1  # <-", "the record `broker` takes 1 index, not 0; write every index before .role"),
        ("s.broker[r].log = 1  # <-", "`broker.log` takes 2 indices, not 1"),
        ("s.clock.time = s.clock  # <-", "the record `s.clock` is used as a value; read and write its parts: time"),
        (
            "s.inbox[r].append(1)  # <-",
            "append a record with all of its parts; write the record as Message(kind=..., sender=...)",
        ),
        (
            "s.inbox[r].append(Message(kind=1))  # <-",
            "append a record with all of its parts; write the record as Message(kind=..., sender",
        ),
        (
            "s.inbox[r].append(Broker(kind=1, sender=1))  # <-",
            "append a record with all of its parts; write the record as Message(",
        ),
        ("x = s.inbox[r].popleft()  # <-", "read s.inbox[r][0].kind, s.inbox[r][0].sender before s.inbox[r].popleft()"),
        ("s.inbox[r][0].kind = 1  # <-", "`s.inbox[r][0].kind` is assigned to; a queue is changed by"),
        ("require(s.inbox[r][0] == 1)  # <-", "the record `s.inbox[r][0]` is used as a value"),
        ("require(1 in s.inbox[r])  # <-", "`1 in s.inbox[r]` compares a queue; compare len(...) and the elements"),
        ("s.clock.time = s.broker[0:1].role  # <-", "`s.broker[0:1].role` is a slice; read one element at a time"),
        ("s.clock.time = s.inbox[r].kind  # <-", "the record `inbox` takes 2 indices, not 1"),
    ],
)
def test_what_is_no_use_of_a_record_is_refused(tmp_path: Path, code: str, says: str) -> None:
    assert_refused_at_the_mark(write(tmp_path, action(code)), says)


def test_queues_of_records_in_each_other_are_read_once(tmp_path: Path) -> None:
    """Each part of a record has the indices of the queue: 2 parts read 20 times in each other were a million reads."""
    index = "r"
    for _ in range(20):
        index = f"len(s.inbox[{index}])"
    path = write(tmp_path, action(f"s.clock.time = {index}"))
    start = time.process_time()
    with pytest.raises(LanguageError, match="expressions with sets and queues are nested"):
        registry.load_file(path)
    assert time.process_time() - start < 5


def test_a_queue_of_records_with_one_part_has_no_elements_that_are_numbers(tmp_path: Path) -> None:
    prelude = PRELUDE.replace("    sender = field(values=Replica)\n", "")
    path = write(tmp_path, action("require(1 in s.inbox[r])  # <-"), prelude)
    assert_refused_at_the_mark(path, "`1 in s.inbox[r]` compares a queue; compare len(...) and the elements")


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ("pass", "Broker has no parts; declare them as in: role = field(values=Role)"),
        ("clear = field(values=Flag)", "Broker: `clear` is reserved by the language; choose another name"),
        (
            "message = field(values=Message)",
            "Broker: the part `message` is a record; declare the fields of that record here",
        ),
    ],
)
def test_a_wrong_record_is_refused(tmp_path: Path, parts: str, says: str) -> None:
    before, _, after = PRELUDE.partition("class Broker(Record):\n")
    prelude = f"{before}class Broker(Record):\n    {parts}\n\n\nclass Clock{after.partition('class Clock')[2]}"
    with pytest.raises(LanguageError, match=re.escape(says)):
        registry.load_file(write(tmp_path, action("s.clock.time = 1"), prelude))


def test_each_append_names_the_record(tmp_path: Path) -> None:
    right = "s.inbox[r].append(Message(kind=Kind.ASK, sender=r))"
    for other in ("Broker", "Nonsense"):
        with pytest.raises(LanguageError, match="append a record with all of its parts; write the record as Message"):
            registry.load_file(write(tmp_path, action(right, right.replace("Message", other))))


def test_a_queued_part_has_no_initial_value(tmp_path: Path) -> None:
    prelude = PRELUDE.replace("    kind = field(values=Kind)", "    kind = field(values=Kind, initially=Kind.ACK)")
    path = write(tmp_path, action("s.clock.time = 1"), prelude)
    with pytest.raises(LanguageError) as refusal:
        registry.load_file(path)
    line = prelude.split("\n").index("    kind = field(values=Kind, initially=Kind.ACK)") + 1
    says = "Message: the part `kind` has initially=, but a queue is empty at first; leave initially= out, or give the"
    assert str(refusal.value) == f"{path}:{line}: {says} queue `inbox` another Record"


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ('field(values=between("least", 5))', "the values of the part `sender` begin with no number, which a"),
        ("field(Replica, values=Flag)", "the part `sender` is no single value, which a queue needs"),
    ],
)
def test_a_queued_part_is_a_single_value_from_a_number_on(tmp_path: Path, declared: str, says: str) -> None:
    prelude = PRELUDE.replace("    sender = field(values=Replica)", f"    sender = {declared}")
    with pytest.raises(LanguageError, match=f"Message: {says}"):
        registry.load_file(write(tmp_path, action("s.clock.time = 1"), prelude))


def test_a_part_can_have_any_name(tmp_path: Path) -> None:
    """A name of the view in CPython would hide the part."""
    prelude = PRELUDE.replace("time = ", "of = ")
    body = action("s.clock.of += 1") + "\n\n@always\ndef early(s):\n    return s.clock.of < 1\n"
    instance = registry.load_file(write(tmp_path, body, prelude)).instance()
    assert why_broken(trace(instance, ["act 1"], "early")).lines()[-1].strip() == "s.clock.of = 1"
    assert searched(instance, None).findings["in_range"].found.count == 2


def test_a_record_has_the_parts_of_its_base_class(tmp_path: Path) -> None:
    prelude = PRELUDE.replace("class Broker(Record):", "class Broker(Clock):")
    before, clock, after = prelude.partition("class Clock(Record):\n    time = field(values=between(0, 2))\n")
    prelude = before.replace("class Broker", clock + "\n\nclass Broker") + after
    layouts = registry.load_file(write(tmp_path, action("s.broker[r].time = 1"), prelude)).instance().layouts
    parts = [name for name in layouts if name.startswith("broker.")]
    assert parts == ["broker.time", "broker.role", "broker.log", "broker.isr"]


def test_a_record_is_no_field_by_itself(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=re.escape("not as a field; write x = field(values=Clock)")):
        registry.load_file(write(tmp_path, "    x = Clock\n" + action("s.clock.time = 1")))


def test_an_index_outside_leaves_the_range(tmp_path: Path) -> None:
    instance = instance_of(tmp_path, action("s.broker[r + 1].role = 1"))
    with pytest.raises(ModelError, match=r"act 1: index 2 of broker.role is outside 0..1"):
        list(run.successors(instance, instance.initial_states[0]))
    assert searched(instance, None).findings["in_range"].found.count == 2


def test_a_record_that_is_not_there_leaves_the_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, action("require(s.inbox[r][0].kind == Kind.ASK)", "s.clock.time = 1"))
    instance = registry.load_file(path).instance()
    with pytest.raises(ModelError, match=r"index 0 of inbox.kind is outside the queue, whose length is 0"):
        list(run.successors(instance, instance.initial_states[0]))
    assert searched(instance, None).findings["in_range"].found.count == 2
    assert cli.main([str(path), "--engine", "all", "--bound", "1"]) == VIOLATED
    assert "the engines agree" in capsys.readouterr().out


INDICES = action(
    "require(r == 0)",
    "s.inbox[0].append(Message(kind=Kind.ACK, sender=1))",
    "s.inbox[1].append(Message(kind=Kind.ACK, sender=0))",
    "s.inbox[s.inbox[1][0].sender].append(Message(kind=s.inbox[1][0].kind, sender=s.inbox[0][0].sender))",
    "s.inbox[s.inbox[1][0].kind].popleft()",
)


def test_a_queue_of_records_keeps_its_indices(tmp_path: Path) -> None:
    """The index of the queue is read before the parts of its records are moved."""
    instance = instance_of(tmp_path, INDICES)
    ((_, after),) = run.successors(instance, instance.initial_states[0])
    s = run.State(instance, after)
    assert [len(s.inbox[0]), len(s.inbox[1])] == [2, 0]
    assert [(s.inbox[0][i].kind, s.inbox[0][i].sender) for i in range(2)] == [(1, 1), (1, 1)]
    assert after in states_of(searched(instance, None))


def test_a_mutant_keeps_the_indices_of_a_queue_of_records(tmp_path: Path) -> None:
    """It has no text that CPython runs, and does what the action does."""
    instance = instance_of(tmp_path, INDICES)
    (mutant,) = mutants(instance.model.actions[0].alternatives[0])
    ((_, after),) = run.successors(instance, instance.initial_states[0])
    for r in range(2):
        state = run.State(instance, instance.initial_states[0])
        mutant.function.python(state, r)
        assert state.cells == after


def test_initial_records_have_all_of_their_parts(tmp_path: Path) -> None:
    for given in ('"inbox.kind": [[1], []]', '"inbox.kind": [[1], []], "inbox.sender": [[], [1]]'):
        start = f"@initial\ndef starts(configuration):\n    yield {{{given}}}\n"
        with pytest.raises(ModelError) as refusal:
            _ = instance_of(tmp_path, STEPS + start).initial_states
        says = "inbox.kind and inbox.sender differ in initial length; give the queues of all parts the same length"
        assert str(refusal.value).endswith(says)


def test_an_initial_state_names_the_parts_of_a_record(tmp_path: Path) -> None:
    start = '@initial\ndef starts(configuration):\n    yield {"clock": 1}\n'
    with pytest.raises(ModelError) as refusal:
        _ = instance_of(tmp_path, STEPS + start).initial_states
    line = (PRELUDE + STEPS).count("\n") + 1
    says = "initial states set clock, which is a record; give its parts: clock.time"
    assert str(refusal.value) == f"{tmp_path / 'records.py'}:{line}: {says}"


def test_an_expression_and_an_initial_state_name_the_parts(tmp_path: Path) -> None:
    given = '"broker.isr": [{1}, {0, 1}], "inbox.kind": [[1], []], "inbox.sender": [[0], []]'
    start = f"@initial\ndef starts(configuration):\n    yield {{{given}}}\n"
    instance = instance_of(tmp_path, STEPS + start)
    function = read_expression(instance, "len(s.broker[0].isr) + len(s.broker[1].isr) + s.inbox[0][0].kind")
    assert instance.python(function)(run.State(instance, instance.initial_states[0])) == 4
