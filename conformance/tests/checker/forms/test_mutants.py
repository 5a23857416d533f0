"""`check mutate`: the mutants, the property that kills each and its depth, and no false kills."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.engine import assert_refused
from conformance.tests.support.small_models import (
    action,
    block,
    claim,
    define,
    domain,
    entries,
    helper,
    in_the_language,
    model,
    state,
    write_model,
)
from isrcheck.checker import cli
from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.forms import mutants as mutate
from isrcheck.checker.resources import limits as budget
from isrcheck.checker.resources.limits import Limits
from isrcheck.commands.exit_codes import INTERRUPTED
from isrcheck.models import registry, run
from isrcheck.models.language import mutants as language
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import routines, visit
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import ModelError
from isrcheck.traces.format.certify import from_steps
from isrcheck.traces.format.trace import Trace

MODEL = model(
    entries(
        'most = bound(3, "how many fit in", least=1, option="--most")',
        'thefts = budget(0, "guests that vanish", option="--thefts")',
        'limit = setting(9, "how many are promised to be in at most", option="--limit")',
        'WATCHED = switch(True, "the door is looked at")',
        'COUNTED = switch(False, "the guests are counted")',
    ),
    state('count: between(0, "most")', "is_open: Flag", "thefts_done: between(0, 3)"),
    define("", "is_ready(s)", '"""Nothing but conjuncts."""', "return s.is_open and s.count < s.most"),
    helper("may_enter(s, least)", "is_ready(s) and least <= s.count <= s.most"),
    define("", "is_full(s)", '"""A single condition."""', "return s.count == s.most"),
    action("door_opens(s)", "require(not is_ready(s))", "require(not s.is_open)", "s.is_open = True"),
    action("guest_enters(s)", "require(may_enter(s, 0))", "s.count += 1"),
    action(
        "door_closes(s)",
        "if s.count == 0:",
        "    require(s.is_open)",
        "else:",
        "    require(s.is_open and is_full(s))",
        "s.is_open = False",
    ),
    action(
        "guest_vanishes(s)",
        "require(s.thefts_done < s.thefts)",
        "require(s.count > 0 or s.most == 0)",
        "s.thefts_done += 1",
        "s.count -= 1",
    ),
    helper("is_watched(configuration)", "configuration.WATCHED"),
    claim("always(applies=is_watched)", "closed_when_empty_or_full(s)", "s.is_open or s.count == 0 or is_full(s)"),
    helper("somebody_vanished(s)", "s.thefts_done > 0"),
    claim("always", "within_limit(s)", "s.count < s.limit"),
    claim(
        "always(permitted=somebody_vanished, applies=lambda configuration: configuration.COUNTED)",
        "everybody_is_there(s)",
        "s.thefts_done == 0",
    ),
    claim("sometimes", "two_are_in(s)", "s.count == 2"),
    claim(
        "always_step(applies=is_watched)",
        "nobody_enters_a_closed_door(before, after, taken)",
        "taken != guest_enters or before.is_open",
    ),
)
"""A door that counts who goes in, with guards of every kind."""


MUTANTS = 11
"""The mutants of its actions, of the disabled action as well."""


def line_of(text: str, after: str) -> int:
    """The number of the first line with a text after a definition."""
    lines = in_the_language(MODEL).splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"def {after}("))
    return next(number for number, line in enumerate(lines) if number > first and text in line) + 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_model(tmp_path / "door.py", MODEL)
    write_model(tmp_path / "clerks.py", CONTAINERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ask(folder: Path, capsys: pytest.CaptureFixture[str]):
    """Run `check` and return exit code, stdout, stderr."""

    def asked(line: str) -> tuple[int, str, str]:
        code = cli.main(shlex.split(line))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return asked


def fates(output: str) -> dict[tuple[str, str], str]:
    """The verdict on each mutant in the text of a report, by (position, dropped text)."""
    found = {}
    for line in output.splitlines():
        if line.startswith("  door.py:"):
            place, fate, dropped = [cell.strip() for cell in line.split("  ") if cell]
            found[place, dropped.removeprefix("without ")] = fate
    return found


# --------------------------------------------------------------------------------------------------- which there are


def mutants_of(path: Path, action: str) -> list[language.Mutant]:
    (found,) = [one for one in registry.load_file(path).actions if one.name == action]
    return list(language.mutants(found.alternatives[0]))


def shown(condition: ir.Expression) -> str:
    """What a mutant requires, which may be written nowhere."""
    match condition:
        case ir.And(parts):
            return " and ".join(map(shown, parts))
        case ir.Compare(left, sign, right):
            return f"{left.span.text} {sign.value} {right.span.text}"
        case ir.Constant(True):
            return "True"
    return condition.span.text


def guards(statements: Sequence[ir.Statement]) -> list[str]:
    return [shown(one.condition) for one in visit(statements) if isinstance(one, ir.Require)]


def helper_of(routine: ir.Routine, name: str) -> str:
    """What the helper with this name returns."""
    (helper,) = [one for one in routines([routine]) if one.name == name]
    (returned,) = helper.body
    assert isinstance(returned, ir.Return)
    return shown(returned.value)


def test_a_guard_that_is_one_condition_is_dropped_and_a_helper_under_not_is_one_condition(folder: Path) -> None:
    found = mutants_of(folder / "door.py", "door_opens")
    ready, opened = "not is_ready(s)", "not s.is_open"
    assert [(one.line, one.dropped, one.within, guards(one.function.routine.body)) for one in found] == [
        (line_of(f"require({ready}", "door_opens"), ready, (), ["True", opened]),
        (line_of(f"require({opened}", "door_opens"), opened, (), [ready, "True"]),
    ]


def test_every_conjunct_of_the_helpers_of_a_guard_is_dropped_there(folder: Path) -> None:
    found = mutants_of(folder / "door.py", "guest_enters")
    ready, enter = "s.is_open and s.count < s.most", "is_ready(s) and least <= s.count <= s.most"
    helpers = [[helper_of(one.function.routine, name) for name in ("is_ready", "may_enter")] for one in found]
    assert [(one.dropped, one.within, *left) for one, left in zip(found, helpers, strict=True)] == [
        ("s.is_open", ("may_enter", "is_ready"), "s.count < s.most", enter),
        ("s.count < s.most", ("may_enter", "is_ready"), "s.is_open", enter),
        ("least <= s.count", ("may_enter",), ready, "is_ready(s) and s.count <= s.most"),
        ("s.count <= s.most", ("may_enter",), ready, "is_ready(s) and least <= s.count"),
    ]
    assert {one.guard for one in found} == {"may_enter(s, 0)"}


def test_guards_inside_an_if_are_found_and_a_helper_of_one_condition_is_dropped_whole(folder: Path) -> None:
    found = mutants_of(folder / "door.py", "door_closes")
    full = "s.is_open and is_full(s)"
    assert [(one.guard, one.dropped, guards(one.function.routine.body)) for one in found] == [
        ("s.is_open", "s.is_open", ["True", full]),
        (full, "s.is_open", ["s.is_open", "is_full(s)"]),
        (full, "is_full(s)", ["s.is_open", "s.is_open"]),
    ]


def test_a_chain_loses_one_link_and_a_loop_its_guard(tmp_path: Path) -> None:
    text = """\
class State:
    a = field(values=between(0, 3))

@action
def moves(s):
    require(0 <= (s.a if s.a else 1) < 3 != s.a)
    for i in range(3):
        require(s.a != i or i == 0)
    s.a += 1
"""
    found = mutants_of(write_model(tmp_path / "chain.py", text), "moves")
    links = "0 <= (s.a if s.a else 1)", "(s.a if s.a else 1) < 3", "3 != s.a"
    assert [one.dropped for one in found] == [*links, "s.a != i or i == 0"]
    assert [guards(one.function.routine.body) for one in found] == [
        ["s.a if s.a else 1 < 3 and 3 != s.a", "s.a != i or i == 0"],
        ["0 <= s.a if s.a else 1 and 3 != s.a", "s.a != i or i == 0"],
        ["0 <= s.a if s.a else 1 and s.a if s.a else 1 < 3", "s.a != i or i == 0"],
        ["0 <= (s.a if s.a else 1) < 3 != s.a", "True"],
    ]


def test_each_version_of_an_action_has_its_own_mutants() -> None:
    counts = {}
    for protocol in ("kip_279", "kip_320"):
        instance = registry.load("published")[0].instance(protocol)
        actions = [instance.function(slot) for slot in range(len(instance.model.actions))]
        counts[protocol] = sum(len(list(language.mutants(action))) for action in actions if action is not None)
    assert counts == {"kip_279": 33, "kip_320": 40}


# ---------------------------------------------------------------------------------------------------- what becomes of


def test_each_mutant_has_a_verdict(ask) -> None:
    code, output, errors = ask("mutate door.py")
    assert code == 0
    opens, enters, vanishes = "door_opens", "guest_enters", "guest_vanishes"
    empty, full = line_of("require(s.is_open)", "door_closes"), line_of("require(s.is_open and", "door_closes")
    enter = f"door.py:{line_of('require(may_enter', enters)}"
    assert fates(output) == {
        (f"door.py:{line_of('require(not is_ready', opens)}", "not is_ready(s)"): (
            "makes no difference within these bounds"
        ),
        (f"door.py:{line_of('require(not s.is_open', opens)}", "not s.is_open"): (
            "survives: the same states, 1 more transition"
        ),
        (enter, "s.is_open of is_ready of may_enter(s, 0)"): "killed by closed_when_empty_or_full at step 1",
        (enter, "s.count < s.most of is_ready of may_enter(s, 0) (4 is written to count, whose values are 0..3)"): (
            "killed by in_range at step 5"
        ),
        (enter, "least <= s.count of may_enter(s, 0)"): "makes no difference within these bounds",
        (enter, "s.count <= s.most of may_enter(s, 0)"): "makes no difference within these bounds",
        (f"door.py:{empty}", "s.is_open"): "survives: the same states, 1 more transition",
        (f"door.py:{full}", "s.is_open of s.is_open and is_full(s)"): "survives: the same states, 1 more transition",
        (f"door.py:{full}", "is_full(s) of s.is_open and is_full(s)"): (
            "killed by closed_when_empty_or_full at step 3"
        ),
        (f"door.py:{line_of('require(s.thefts_done', vanishes)}", "s.thefts_done < s.thefts"): (
            "killed by closed_when_empty_or_full at step 6"
        ),
    }
    assert "\n  1 mutant      not searched: disabled by the configuration\n" in output
    assert output.endswith("4 of 10 mutants killed, 3 make no difference within these bounds, 3 survive, 1 not asked\n")
    assert {line.split(" ")[0] for line in errors.splitlines()} <= {"compiling"}


def test_mutants_that_do_not_fit_into_one_kernel_get_several(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    _, output, _ = ask("mutate door.py")
    monkeypatch.setattr(mutate, "MOST_MUTANTS", 3)
    code, in_parts, _ = ask("mutate door.py")
    assert (code, in_parts) == (0, output)


def without(output: str, dropped: str) -> str:
    """The verdict on the only mutant that lacks this text."""
    return next(fate for (_, text), fate in fates(output).items() if text.partition(" of ")[0] == dropped)


def test_a_property_that_fails_already_kills_only_by_failing_in_fewer_steps(ask) -> None:
    """Three guests are too many: this takes 4 steps, and 3 in the mutant in which the door need not be open."""
    code, output, _ = ask("mutate door.py --limit 3 --switch WATCHED=off")
    assert code == 0
    assert (
        "\nunmutated      VIOLATED: within_limit at step 4\n"
        "               6 distinct states, 7 generated\n"
        "               a property that fails here kills a mutant only by a graver or an earlier failure\n"
    ) in output
    killed = {place: fate for (place, _), fate in fates(output).items() if "killed by within_limit" in fate}
    enter = f"door.py:{line_of('require(may_enter', 'guest_enters')}"
    assert killed == {enter: "killed by within_limit at step 3 (unmutated at step 4)"}
    assert without(output, "s.is_open") == killed[enter]
    # Others break it as soon as the model does, in as many steps: they survive, if they do not go on to break more.
    assert without(output, "is_full(s)") == "survives: 2 more states"


def test_a_permitted_failure_kills_if_the_model_has_no_failure(ask) -> None:
    code, output, _ = ask("mutate door.py --switch COUNTED=on --switch WATCHED=off")
    assert code == 0
    assert without(output, "s.thefts_done < s.thefts") == "killed by everybody_is_there at step 3 (permitted)"
    code, output, _ = ask("mutate door.py --switch COUNTED=on --switch WATCHED=off --thefts 1")
    assert code == 0
    assert "\nunmutated      PERMITTED: everybody_is_there at step 3: " in output
    again = "s.thefts_done < s.thefts (4 is written to thefts_done, whose values are 0..3)"
    assert without(output, again) == "killed by in_range at step 9"
    enter = "killed by everybody_is_there at step 2 (permitted, unmutated at step 3)"
    assert without(output, "s.is_open") == enter
    # -1 guests, where nobody has to be in for one to vanish.
    assert without(output, "s.count > 0 or s.most == 0 (-1 is written to count, whose values are 0..3)") == (
        "killed by in_range at step 1"
    )


def test_with_a_bound_nothing_is_claimed_beyond_it(ask) -> None:
    code, output, _ = ask("mutate door.py --bound 2")
    assert code == 0
    assert without(output, "is_full(s)") == "makes no difference to depth 2"
    assert without(output, "s.thefts_done < s.thefts") == "makes no difference to depth 2"
    assert output.endswith("\n1 of 10 mutants killed, 8 make no difference to depth 2, 1 survives, 1 not asked\n")
    code, output, _ = ask("mutate door.py --bound 3 --switch WATCHED=off")
    assert without(output, "s.thefts_done < s.thefts") == "survives to depth 3: 1 more state"


def test_an_interrupted_search_leaves_mutants_undecided(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    # The time limit is to end the searches, not the generation of the mutants, however slow the machine is.
    monkeypatch.setattr(budget, "GRACE", 600)
    monkeypatch.setattr(budget, "SECONDS_BETWEEN_LOOKS", 600)
    code, output, _ = ask("mutate door.py --seconds 0.000001")
    assert code == 3
    assert set(fates(output).values()) == {"undecided: survives to depth 0; the time limit is reached"}
    assert output.endswith("\n0 of 10 mutants killed, 0 survive, 10 undecided, 1 not asked\n")


def test_nothing_is_compared_beyond_the_searched_depth_of_the_model(folder: Path) -> None:
    """The search of the model ended after 4 steps; one mutant fails in 6, another in 5."""
    instance = registry.load_file(folder / "door.py").instance()
    whole = mutate.search_original(instance, Limits(), kernel_of, lambda progress: None)
    exploration = explore(instance, Limits(depth=4), count_all=True)
    exploration.stopped, exploration.limits = "seconds", Limits()
    unsearched = [replace(one, fate=mutate.Fate.UNDECIDED) for one in whole.mutants]
    cut = mutate.Original(exploration, {}, unsearched)
    found = list(mutate.judgements(cut, "check mutate door.py", lambda candidate: lambda progress: None))
    assert [one.fate for one in found].count(mutate.Fate.UNDECIDED) == len(found) - 2
    assert [one.failure.path.depth for one in found if one.failure is not None] == [1, 3]
    assert mutate.outcome(cut, found[3]) == ("undecided: survives to depth 4; the time limit is reached")


def test_json_has_the_counterexample_of_every_kill(ask, folder: Path) -> None:
    code, output, _ = ask("mutate door.py --json")
    assert code == 0
    content = json.loads(output)
    assert list(content) == ["runs", "mutants", "score"]
    assert content["score"] == {
        "killed": 4,
        "makes no difference": 3,
        "survives": 3,
        "undecided": 0,
        "not asked": 1,
        "not reached": 0,
    }
    (original,) = content["runs"]
    assert (original["verdict"], original["distinct"], original["generated"]) == ("HOLDS", 6, 7)
    assert [one["name"] for one in original["properties"] if one["verdict"] == "REACHED"] == ["two_are_in"]
    place = f"door.py:{line_of('require(s.is_open and', 'door_closes')}"
    assert content["mutants"][8] == {
        "action": "door_closes",
        "place": place,
        "guard": "s.is_open and is_full(s)",
        "dropped": "is_full(s)",
        "within": [],
        "fate": "killed",
        "property": "closed_when_empty_or_full",
        "verdict": "VIOLATED",
        "depth": 3,
        "unmutated": None,
        "message": None,
        "initial": 0,
        "steps": ["door_opens", "guest_enters", "door_closes"],
        "distinct": 5,
        "generated": 5,
        "exhausted": False,
        "stopped": "decided",
        "judged_to_depth": 3,
    }
    left = content["mutants"][3]
    assert left["within"] == ["may_enter", "is_ready"]
    enters = line_of("def guest_enters", "is_full")
    assert left["message"] == (
        f"{folder}/door.py:{enters}: guest_enters: 4 is written to count, whose values are 0..3;"
        " guard the step, or widen the field's range"
    )
    assert (left["fate"], left["property"], left["depth"]) == ("killed", "in_range", 5)
    assert left["steps"] == ["door_opens", *["guest_enters"] * 4]
    assert content["mutants"][-1]["fate"] == "not asked"
    assert not (folder / "counterexamples").exists()


def test_a_model_without_guards_has_no_mutants(ask, folder: Path) -> None:
    text = "class State:\n    a = field(values=Flag)\n\n@action\ndef turns(s):\n    s.a = not s.a\n"
    write_model(folder / "free.py", text)
    code, output, _ = ask("mutate free.py")
    assert (code, output.splitlines()[-1]) == (0, "the model has no guard to drop")


# -------------------------------------------------------------------------------------------------- two that agree


CONTAINERS = model(
    domain("Clerk", 2),
    block("Request(Record)", "sender = field(values=Clerk)"),
    block("Desk(Record)", "seen = field(values=Set(of=Clerk))", "lane = field(values=Queue(of=Clerk, most=2))"),
    state("waiting: Queue(of=Request, most=2)", "desk[Clerk]: Desk", "absent: Set(of=Clerk)"),
    helper("is_next(s, c)", "len(s.waiting) > 0 and s.waiting[0].sender == c"),
    action(
        "asks(s, c: Clerk)",
        "require(0 <= len(s.waiting) < 2 and c not in s.absent)",
        "s.waiting.append(Request(sender=c))",
        "s.desk[c].lane.append(c)",
    ),
    action(
        "answered(s, c: Clerk)",
        "require(is_next(s, c) and c in Clerk)",
        "require(all(other == c for other in s.desk[c].seen))",
        "for other in s.desk[c].seen:",
        "    require(c in s.desk[other].lane)",
        "s.absent = {c}",
        "s.desk[c].seen = s.absent",
        "s.waiting.popleft()",
    ),
    claim("always", "few_wait(s)", "len(s.desk[0].lane) < 2 or len(s.waiting) > 0"),
)
"""Clerks queue up requests."""


def test_a_condition_about_a_set_or_a_queue_is_one_condition(tmp_path: Path) -> None:
    path = write_model(tmp_path / "clerks.py", CONTAINERS)
    found = [one for action in ("asks", "answered") for one in mutants_of(path, action)]
    assert [one.dropped for one in found] == [
        "0 <= len(s.waiting)",
        "len(s.waiting) < 2",
        "c not in s.absent",
        "len(s.waiting) > 0",
        "s.waiting[0].sender == c",
        "c in Clerk",
        "all(other == c for other in s.desk[c].seen)",
        "c in s.desk[other].lane",
    ]
    assert guards(found[5].function.routine.written) == [
        "is_next(s, c)",
        "all(other == c for other in s.desk[c].seen)",
        "c in s.desk[other].lane",
    ]
    collective = ir.CollectiveExpression | ir.CollectiveStatement
    assert not [node for one in found for node in visit(one.function.routine.body) if isinstance(node, collective)]


def test_a_model_with_mutants_has_a_digest_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the kernels of its mutants are not mistaken for those of the model, or for those of other mutants."""
    monkeypatch.setattr(mutate, "MOST_MUTANTS", 3)
    instance, compiled = registry.load_file(folder / "door.py").instance(), list[Instance]()

    def compile_nothing(one: Instance) -> Kernel:
        compiled.append(one)
        return None

    assert len(list(mutate.candidates(instance, compile_nothing))) == MUTANTS
    assert len({instance.model.digest, *(one.model.digest for one in compiled)}) == 1 + 4


def test_a_kill_by_a_queue_is_certified(ask) -> None:
    code, output, _ = ask("mutate clerks.py --bound 4")
    score = "4 of 8 mutants killed, 4 make no difference to depth 4, 0 survive"
    assert (code, output.splitlines()[-1]) == (0, score)


def successors_in_range(instance: Instance, cells: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for step in instance.steps:
        with contextlib.suppress(ModelError):
            after = run.take(instance, cells, step)
            if after is not None:
                yield after


@pytest.mark.parametrize("name", ["door.py", "examples/two_phase_commit", "clerks.py"])
def test_the_reference_explores_a_mutant_as_the_kernel_does(folder: Path, name: str) -> None:
    model = registry.load_file(Path(name)) if name.endswith(".py") else registry.load(name)[0]
    for candidate in mutate.candidates(model.instance(None, {}), kernel_of):
        instance = candidate.instance
        exploration = explore(instance, Limits(depth=3), count_all=True, kernel=candidate.kernel)
        seen = level = set(instance.initial_states)
        sizes, generated = [len(level)], 0
        for _ in range(3):
            successors = [after for cells in level for after in successors_in_range(instance, cells)]
            generated += len(successors)
            level = set(successors) - seen
            seen = seen | level
            sizes.append(len(level))
        assert (exploration.levels, exploration.generated) == (sizes, generated), candidate.place


def test_a_kill_that_the_reference_does_not_confirm_is_an_internal_error(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel drops a guard, but the reference runs the action unchanged."""

    def of_the_model(instance: Instance, *path: object) -> Trace:
        return from_steps(registry.load_file(Path("door.py")).instance(), *path)

    monkeypatch.setattr(mutate, "from_steps", of_the_model)
    code, output, errors = ask("mutate door.py")
    assert (code, output) == (70, "")
    assert "guest_enters) is not enabled: its guard `may_enter(s, 0)` is false" in errors
    assert "(reproduce: check mutate door.py)" in errors


def test_a_mutant_with_fewer_steps_than_its_model_is_an_internal_error(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "more_than", lambda original, found: (0, 0))
    code, output, errors = ask("mutate door.py")
    assert (code, output) == (70, "")
    assert "the search of a mutant misses steps of the model (reproduce: check mutate door.py)" in errors


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mutate", "mutate needs a model, as in: check mutate kafka --protocol 2.1"),
        (
            "mutate --config topic.properties",
            "--config does not go with mutate, which takes a model: check mutate kafka --protocol 2.1",
        ),
        ("mutate nothing", "no model nothing; there are: kafka, "),
        ("mutate nothing.py", "nothing.py: there is no such Python file"),
        ("mutate kafka", "kafka needs --protocol; there are: 0.8, 0.10, 0.11, 2.0, 2.1, 2.4, "),
        ("mutate published", "published needs --protocol; there are: truncate_to_high_watermark, "),
        ("mutate door.py --continue", "--continue does not go with mutate: "),
        ("mutate door.py --strict", "--strict does not go with mutate: "),
        ("mutate door.py --most 0", "most=0 is impossible: it ranges from 1 to any size"),
        ("--bound 3 mutate door.py", "mutate must be the first argument, as in: check mutate kafka --protocol 2.1"),
        ("door.py mutate", "mutate must be the first argument, as in: check mutate kafka --protocol 2.1"),
    ],
)
def test_bad_input_is_one_line(ask, line: str, says: str) -> None:
    assert_refused(ask(line), says)


def test_a_model_that_leaves_a_declared_range_without_mutation_is_reported(ask, folder: Path) -> None:
    text = MODEL.replace("least <= s.count <= s.most", "least <= s.count")
    write_model(folder / "door.py", text.replace("s.is_open and s.count < s.most", "s.is_open"))
    code, output, errors = ask("mutate door.py")
    assert code == 0
    assert set(errors.splitlines()) <= {"compiling door (once for these bounds) ..."}
    assert "\nunmutated      VIOLATED: in_range at step 5\n" in output
    # It leaves the range as often as the model does.
    assert without(output, "least <= s.count") == "makes no difference within these bounds"
    assert output.endswith("3 of 8 mutants killed, 3 make no difference within these bounds, 2 survive, 1 not asked\n")


def test_after_an_interrupt_the_findings_are_reported(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, judged = mutate.judge, []

    def judge_three(*arguments):
        if len(judged) == 3:
            raise KeyboardInterrupt
        judged.append(judge(*arguments))
        return judged[-1]

    monkeypatch.setattr(mutate, "judge", judge_three)
    code, output, errors = ask("mutate door.py")
    assert code == INTERRUPTED
    assert errors.endswith("check: interrupted; this is what was found so far\n")
    assert output.endswith(
        "\n2 of 6 mutants killed, 3 make no difference within these bounds, 1 survives, 5 not reached\n"
    )
    judged.extend([None] * 3)
    assert len(fates(output)) == 6
