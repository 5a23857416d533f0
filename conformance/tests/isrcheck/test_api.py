"""`import isrcheck`: its names; it writes nothing unless asked, and loads modules only when they are used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from html import unescape

import pytest
from jsonschema import validate

import isrcheck
from conformance.tests.support.engine import COUNTER, checking
from conformance.tests.support.places import PROJECT
from isrcheck.checker import cli
from isrcheck.models.client_settings import Acks
from isrcheck.traces.cli import main as trace_command

SCHEMA = PROJECT / "docs" / "json.schema.json"


@pytest.fixture
def counter(tmp_path, monkeypatch):
    """A model file in an otherwise empty current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    return tmp_path / "counter.py"


# ----------------------------------------------------------------------------------------------------------- importing


def test_importing_the_package_loads_nothing_else():
    code = "import sys; before = set(sys.modules); import isrcheck; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert set(ast.literal_eval(done.stdout)) - {"__future__"} == {"isrcheck"}


def test_every_public_name_exists_and_is_documented():
    assert sorted(isrcheck.__all__) == isrcheck.__all__
    assert set(isrcheck.__all__) <= set(dir(isrcheck))
    for name in isrcheck.__all__:
        assert getattr(isrcheck, name).__doc__
        assert name in vars(isrcheck)
    with pytest.raises(AttributeError, match="module 'isrcheck' has no attribute 'chekc'"):
        isrcheck.chekc  # noqa: B018


PACKAGES = {"models", "traces", "checker", "conformance", "language", "commands"}


@pytest.mark.whole
@pytest.mark.parametrize("folder", ["models", "traces", "checker", "conformance", "isrcheck/commands"])
def test_nothing_of_the_product_imports_the_facade(folder):
    for path in (PROJECT / folder).rglob("*.py"):
        if "tests" not in path.parts:
            found = {name.split(".")[1] for name in _names_of_isrcheck(path.read_text(encoding="utf-8"))}
            assert found <= {*PACKAGES, "__file__"}, path


def test_an_import_of_the_facade_is_detected():
    text = "import isrcheck, os\nimport isrcheck.result\nfrom isrcheck import load\nisrcheck.check('kafka')"
    assert set(_names_of_isrcheck(text)) == {"isrcheck.result", "isrcheck.load", "isrcheck.check"}


def _names_of_isrcheck(text):
    """Names below `isrcheck` that a file imports or uses."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("isrcheck."))
        elif isinstance(node, ast.ImportFrom) and node.module == "isrcheck":
            yield from (f"isrcheck.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isrcheck."):
            yield node.module
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "isrcheck":
            yield f"isrcheck.{node.attr}"


# ----------------------------------------------------------------------------------------------------------- searching


def test_a_search_gives_the_results_of_the_command(counter, capsys):
    code, out, _ = checking(cli.main, capsys)("kafka", "--protocol", "2.1", "--bound", "4", "--acks", "1", "--json")
    expected = json.loads(out)
    result = isrcheck.check("kafka", protocol="2.1", bound=4, acks=1)
    found = result.as_object()
    validate(found, json.loads(SCHEMA.read_text(encoding="utf-8")))
    for whole in (expected, found):
        (run,) = whole["runs"]
        del run["seconds"]
        for prop in run["properties"]:  # the command writes a file, which the function does on request
            assert (prop.pop("trace") is None) == (whole is found or prop["name"] != "acked_not_lost")
    assert found == expected
    assert (result.exit_code, result.is_safe, result.verdict, result.depth) == (code, True, "PERMITTED", 4)
    assert (result.distinct, result.generated, result.is_exhaustive) == (2114, 4902, False)
    assert sum(result.states_per_level) == result.distinct
    assert result.configuration["acks"] == "1"
    assert result.command == "check kafka --protocol 2.1 --bound 4 --acks 1"


@pytest.mark.parametrize(
    ("values", "command", "distinct"),
    [
        ({}, "--resource-managers 4", 353),
        ({"symmetry": True}, "--resource-managers 4 --symmetry", 55),
        ({"reduction": False}, "--resource-managers 4 --no-reduction", 1568),
        ({"deadlock": False}, "--no-deadlock --resource-managers 4", 353),
    ],
)
def test_reductions_and_deadlocks_are_those_of_the_command(values, command, distinct, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = f"examples/two_phase_commit {command}"
    code, out, _ = checking(cli.main, capsys)(*command.split(), "--json")
    (expected,) = json.loads(out)["runs"]
    result = isrcheck.check("examples/two_phase_commit", resource_managers=4, **values)
    (found,) = result.as_object()["runs"]
    assert {**found, "seconds": 0} == {**expected, "seconds": 0}
    assert (result.exit_code, result.command, result.distinct) == (code, f"check {command}", distinct)


def test_a_simulation_is_that_of_the_command(counter, capsys):
    words = "--simulate 20 --depth 5 --seed 3 --weight counter_steps=2"
    code, out, _ = checking(cli.main, capsys)(str(counter), *words.split(), "--json")
    expected = json.loads(out)
    result = isrcheck.simulate(counter, walks=20, depth=5, seed=3, weights={"counter_steps": 2}, out="found")
    found = result.as_object()
    validate(found, json.loads(SCHEMA.read_text(encoding="utf-8")))
    for whole in (expected, found):
        del whole["seconds"]
        for prop in whole["properties"]:
            prop.pop("trace")
    assert found == expected
    assert (result.exit_code, result.verdict, result.command) == (code, "VIOLATED", f"check {counter} {words}")
    trace = result.traces["stays_small"]
    assert (len(trace), result.properties["stays_small"].trace) == (2, trace)
    assert repr(result) == (
        "<SimulationResult of counter: VIOLATED: stays_small at step 2: found by simulation; not known to be shortest>"
    )
    assert trace._repr_html_() in result._repr_html_()
    result.show()
    assert str(trace) in capsys.readouterr().out
    assert len(list((counter.parent / "found").glob("counter_stays_small_*.itf.json"))) == 1


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"walks": 0, "depth": 5}, "walks 0: not a whole number of at least 1"),
        ({"walks": 1, "depth": 5, "seed": -1}, "seed -1: not a seed; give 0 to"),
        ({"walks": 1, "depth": 5, "weights": {"steps": 2}}, "has no such action; there are: counter_steps"),
        ({"walks": 1, "depth": 5, "limit": 2}, "counter has no configuration entry limit; leave it out"),
    ],
)
def test_bad_input_of_a_simulation_is_one_line(counter, values, says):
    with pytest.raises(isrcheck.UsageError) as error:
        isrcheck.simulate(counter, **values)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (
            {"prove": True},
            "symmetry=True does not go with prove=True, which compares lemmas with every state; leave one of",
        ),
        ({"count_all": True}, "symmetry=True does not go with count_all=True, which counts every violating state; "),
        ({"reduction": False}, "symmetry=True does not go with reduction=False, which visits every state; "),
        ({"engine": "z3", "bound": 1}, "symmetry=True does not go with engine='z3', which visits no states; "),
    ],
)
def test_what_needs_every_state_does_not_go_with_symmetry(values, says):
    with pytest.raises(isrcheck.UsageError) as error:
        isrcheck.check("examples/two_phase_commit", symmetry=True, **values)
    assert says in str(error.value)


def test_models_and_instances_are_printed_in_a_few_words(counter):
    assert repr(isrcheck.load(counter)) == "<Model counter: 1 actions, 1 properties>"
    kafka = isrcheck.load("kafka")
    assert repr(kafka).startswith("<Model kafka: 76 actions, 46 properties, protocols 0.8, 0.10, 0.11, 2.0, ")
    assert repr(kafka.instance("2.1")) == "<Instance of kafka/2.1: default configuration>"
    assert repr(kafka.instance("2.1", {"acks": 1, "replicas": 2})) == "<Instance of kafka/2.1: replicas=2, acks=1>"
    swapped = kafka.instance("2.1", {}, {"broker_becomes_follower": "2.0"})
    assert repr(swapped) == "<Instance of kafka/2.1: broker_becomes_follower of 2.0>"


def test_each_property_has_its_verdict_and_its_trace(counter):
    result = isrcheck.check(counter)
    assert list(result.properties) == ["stays_small"]
    found = result.properties["stays_small"]
    assert (found.kind, found.verdict, found.text) == ("always", "VIOLATED", "VIOLATED at step 2")
    assert (found.depth, found.violating, found.permitted_trace) == (2, 1, None)
    assert result.traces == {"stays_small": found.trace}
    assert repr(result) == "<Result of counter: VIOLATED: stays_small at step 2>"
    assert (result.exit_code, result.is_safe) == (12, False)


def test_a_check_writes_no_files_and_prints_nothing(counter, capfd):
    isrcheck.check(counter, prove=True)
    assert [path.name for path in counter.parent.iterdir()] == ["counter.py"]
    assert capfd.readouterr() == ("", "")


def test_traces_are_written_to_a_given_folder(counter):
    result = isrcheck.check(counter, out="found")
    assert sorted(path.name for path in (counter.parent / "found").iterdir()) == [
        "counter_stays_small_0d7c3943_1.itf.json",
        "latest",
    ]
    (path,) = result.run.traces.values()
    assert isrcheck.trace(path, counter).states == result.traces["stays_small"].states


def test_proofs_are_reported(counter):
    counter.write_text(COUNTER.replace("< 2", "<= 3"), encoding="utf-8")
    result = isrcheck.check("counter.py", prove=True)
    assert (result.verdict, result.is_exhaustive, result.is_safe) == ("PROVED", True, True)


@pytest.mark.parametrize("engine", ["z3", "all"])
def test_other_engines_agree(counter, engine):
    result = isrcheck.check(counter, engine=engine, bound=3)
    assert result.properties["stays_small"].text == "VIOLATED at step 2"
    assert (result.distinct is None) == (engine == "z3")
    assert len(result.traces["stays_small"]) == 2


@pytest.mark.parametrize(
    "values",
    [
        {"acks": "all", "min_insync_replicas": 1},
        {"acks": Acks.ALL, "min_insync_replicas": "1"},
        {"settings": {"acks": "-1", "min.insync.replicas": 1}},
    ],
)
def test_values_are_texts_as_on_the_command_line_or_numbers(values):
    command = "check kafka --protocol 2.1 --bound 0 --min-insync-replicas 1"
    assert isrcheck.check("kafka", protocol="2.1", bound=0, **values).command == command


def test_switches_are_set_by_truth_values():
    result = isrcheck.check("kafka", protocol="2.1", bound=0, EXPAND_EPOCH_START=False)
    assert result.command == "check kafka --protocol 2.1 --bound 0 --switch EXPAND_EPOCH_START=off"


def test_models_and_instances_are_accepted_as_well(counter):
    model = isrcheck.load(counter)
    assert (model.name, [prop.name for prop in model.properties]) == ("counter", ["stays_small"])
    assert isrcheck.check(model).command == f"check {counter}"
    kafka = isrcheck.load("kafka")
    assert isrcheck.check(kafka, protocol="2.1", bound=0).command == "check kafka --protocol 2.1 --bound 0"
    assert isrcheck.check(kafka.instance("2.1", {"acks": 1}), bound=0).configuration["acks"] == "1"
    assert isrcheck.check("published/kip_101", bound=1).command == "check published/kip_101 --bound 1"


@pytest.mark.parametrize(
    ("words", "values", "says"),
    [
        ("kafka", {}, "kafka needs --protocol; there are: 0.8, 0.10, 0.11, 2.0, 2.1, 2.4, 2.8, 3.3, "),
        ("kafak", {}, "no model kafak; did you mean kafka?"),
        ("nobody.py", {}, "nobody.py: there is no such Python file"),
        (
            "kafka",
            {"protocol": "2.1", "replica": 3},
            "kafka has no configuration entry replica; did you mean replicas?",
        ),
        ("kafka", {"protocol": "2.1", "replicas": "many"}, "replicas=many: not a whole number"),
        ("kafka", {"protocol": "2.1", "acks": 1, "settings": {"acks": 1.5}}, "acks=1: there are"),
        ("kafka", {"protocol": "2.1", "bound": -1}, "bound -1: not a number of steps; give 0 or more"),
        ("kafka", {"protocol": "2.1", "seconds": 0}, "0: not a time; give a number of seconds above 0"),
        ("kafka", {"protocol": "2.1", "memory": "much"}, "much: not a size; write it as 512M or 8G"),
        ("kafka", {"protocol": "2.1", "threads": 0}, "0: not a number of threads"),
        ("kafka", {"protocol": "2.1", "engine": "spark"}, "no engine 'spark' in Python code; give one of: local"),
        ("kafka", {"protocol": "2.1", "engine": "z3"}, "give a bound, as in bound=6"),
        ("kafka", {"protocol": "2.1", "engine": "z3", "bound": 1, "prove": True}, "prove=True needs the explorer"),
        ("kafka", {"protocol": "2.1", "engine": "all", "bound": 1, "count_all": True}, "count_all=True counts states"),
        ("published/kip_101", {"protocol": "kip_279"}, "published/kip_101 already fixes the protocol (kip_101); leave"),
    ],
)
def test_bad_input_is_a_usage_error_of_one_line(words, values, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if values.get("settings"):
        del values["acks"]
        says = "acks=1.5"
    with pytest.raises(isrcheck.UsageError) as error:
        isrcheck.check(words, **values)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_an_instance_takes_no_further_configuration():
    with pytest.raises(isrcheck.UsageError, match="an instance already fixes protocol and configuration"):
        isrcheck.check(isrcheck.load("kafka").instance("2.1"), acks=1)


def test_an_unwritable_folder_is_a_usage_error(counter):
    with pytest.raises(isrcheck.UsageError, match=r"counter\.py: the trace cannot be written"):
        isrcheck.check(counter, out=counter)


# -------------------------------------------------------------------------------------------------------------- traces


def test_a_trace_prints_the_view_of_the_command(counter, capsys):
    path = isrcheck.check(counter).traces["stays_small"].save("found")
    trace = isrcheck.trace(path, counter)
    for words, full in (([], False), (["--full"], True)):
        assert trace_command(["show", str(path), "--model", str(counter), *words]) == 0
        shown = capsys.readouterr().out
        trace.show(full=full)
        assert capsys.readouterr().out == shown
    assert (trace.property_name, trace.verdict, len(trace)) == ("stays_small", "VIOLATED", 2)
    assert (trace.model, trace.configuration) == ("counter", {})
    assert trace.steps == ("counter_steps", "counter_steps")
    assert trace.states == ({"count": 0}, {"count": 1}, {"count": 2})
    assert repr(trace) == "<Trace of counter: stays_small, 2 steps>"


def test_states_are_nested_as_their_fields_are():
    trace = isrcheck.check("kafka", protocol="2.1", bound=2, acks=1).traces["acked_not_lost"]
    last = trace.states[-1]
    assert (last["controller_leader"], last["controller_isr"]) == (1, [False, True, False])
    assert (last["log_record"], last["response_record"]) == ([[0, -1], [-1, -1], [-1, -1]], [[[-1, -1]] * 3] * 3)
    assert (last["is_fenced"], last["remote_broker_epoch"]) == ([], [])  # in 2.1 they have no cells


def test_a_notebook_shows_the_page_of_a_trace(counter):
    result = isrcheck.check(counter)
    trace = result.traces["stays_small"]
    trace.page("page.html")
    page = (counter.parent / "page.html").read_text(encoding="utf-8")
    before, _, rest = trace._repr_html_().partition('srcdoc="')
    content, _, behind = rest.partition('"')
    assert (before, unescape(content)) == ("<iframe ", page)
    assert 'sandbox="allow-scripts"' in behind
    whole = result._repr_html_()
    assert trace._repr_html_() in whole
    assert "<summary>stays_small</summary>" in whole
    assert "stays_small  VIOLATED at step 2" in whole
    with pytest.raises(isrcheck.UsageError, match=r"page\.html: exists already"):
        trace.page("page.html")
    assert trace.page("page.html", replace=True).name == "page.html"


def test_a_result_shows_its_report_and_its_traces(counter, capsys):
    result = isrcheck.check(counter)
    result.show()
    shown = capsys.readouterr().out
    assert shown.startswith(str(result))
    assert str(result.traces["stays_small"]) in shown


def test_a_trace_can_be_checked_again(counter):
    path = isrcheck.check(counter).traces["stays_small"].save("found")
    assert isrcheck.recheck(path, counter).is_possible
    counter.write_text(COUNTER.replace("s.count < 3)", "s.count < 1)"), encoding="utf-8")
    found = isrcheck.recheck(path, counter)
    assert not found.is_possible
    assert "its guard `s.count < 1` is false" in found.says
    with pytest.raises(isrcheck.UsageError, match="kafka: not a model file"):
        isrcheck.recheck(path, "kafka")
    with pytest.raises(isrcheck.UsageError, match="is not loaded automatically; give it"):
        isrcheck.trace(path)
