"""`--tables DIR`: the contents of the tables, their documentation, refusals, and the worked example."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from conformance.tests.support.engine import assert_refused, verdict_of
from conformance.tests.support.places import PROJECT
from conformance.tests.support.small_models import action, claim, entries, helper, model, state, write_model
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark.request import Mode
from isrcheck.checker.spark.summary import Overlap, SparkSummary
from isrcheck.checker.tables import write
from isrcheck.checker.tables.columns import TABLES, documentation
from isrcheck.checker.tables.write import MOST_OF_A_LEVEL, Tables, rows_of
from isrcheck.commands.exit_codes import INTERRUPTED, VIOLATED
from isrcheck.conformance.examples import ask_the_tables
from isrcheck.models import registry

pytestmark = pytest.mark.sampled

STAIRS = model(
    entries(
        'most = bound(3, "how many steps there are", least=1, most=127, option="--most")',
        'limit = setting(2, "how far it is safe", option="--limit")',
    ),
    state('height: between(0, "most")'),
    action("climber_steps(s)", "require(s.height < s.most)", "s.height += 1"),
    action("climber_leaps(s)", "require(s.height + 1 < s.most)", "s.height += 2"),
    helper("is_even(s)", "s.height == 2"),
    claim("always", "stays_safe(s)", "s.height <= s.limit"),
    claim("always(permitted=is_even)", "avoids_two(s)", "s.height != 2"),
    claim("sometimes", "gets_up(s)", "s.height == s.most"),
    claim("terminal", "may_end(s)", "True"),
)
"""A climber who takes one step or two."""


@pytest.fixture
def check(check):
    """Run `check` in a folder that holds stairs.py."""
    write_model(Path("stairs.py"), STAIRS)
    return lambda line: check(*shlex.split(line))


def rows(folder, name):
    """The rows of a table, file by file, without the run."""
    found = []
    for path in sorted((folder / name).glob("*.parquet")):
        found += [tuple(row.values())[1:] for row in parquet.read_table(path).to_pylist()]
    return found


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ------------------------------------------------------------------------------------------------------------ contents


def test_the_contents_of_the_tables(check, tmp_path):
    code, _, err = check("stairs.py --continue --tables found")
    assert (code, err) == (12, "")
    found = tmp_path / "found"
    (path,) = (found / "runs").iterdir()
    (run,) = parquet.read_table(path).to_pylist()
    seconds = run.pop("seconds")
    assert seconds >= 0
    assert run.pop("bytes") > 0
    assert run == {
        "run": path.stem,
        "command": "check stairs.py",
        "model": "stairs",
        "protocol": None,
        "swaps": [],
        "digest": registry.load_file(Path("stairs.py")).digest,
        "configuration": [("most", "3"), ("limit", "2")],
        "bound": None,
        "engine": "local",
        "mode": None,
        "verdict": "VIOLATED",
        "exhausted": True,
        "stopped": None,
        "judged_to_depth": 2,
        "distinct": 4,
        "generated": 5,
        "frontier": 0,
        "parts_overlap": False,
        "start_seconds": None,
        **dict.fromkeys(["cores", "parts", "parts_ended", "starts", "split_depth", "shuffled_bytes"]),
    }
    assert rows(found, "levels") == [(0, 1), (1, 2), (2, 1)]
    assert rows(found, "actions") == [("climber_steps", 3, 1), ("climber_leaps", 2, 2)]
    traces = {
        path.name.split("_", 1)[1][:10]: f"counterexamples/{path.name}"
        for path in Path("counterexamples").glob("*.json")
    }
    assert rows(found, "verdicts") == [
        ("stays_safe", "always", "VIOLATED", 2, None, 1, traces["stays_safe"], None),
        ("avoids_two", "always", "PERMITTED", 1, 1, 1, traces["avoids_two"], None),
        ("gets_up", "sometimes", "REACHED", 2, None, 1, None, None),
    ]
    initially = (0, None, "initially", [], [("height", "0")])
    assert rows(found, "traces") == [
        ("stays_safe", "VIOLATED", *initially),
        ("stays_safe", "VIOLATED", 1, "climber_steps", "climber_steps", [("height", "1")], [("height", "1")]),
        ("stays_safe", "VIOLATED", 2, "climber_leaps", "climber_leaps", [("height", "3")], [("height", "3")]),
        ("avoids_two", "PERMITTED", *initially),
        ("avoids_two", "PERMITTED", 1, "climber_leaps", "climber_leaps", [("height", "2")], [("height", "2")]),
    ]
    edges = rows(found, "edges")
    assert [(depth, took, changed) for depth, _, _, took, _, changed in edges] == [
        (0, "climber_steps", [("height", "1")]),
        (0, "climber_leaps", [("height", "2")]),
        (1, "climber_steps", [("height", "2")]),
        (1, "climber_leaps", [("height", "3")]),
        (1, "climber_steps", [("height", "3")]),
    ]
    zero, one, two = edges[0][1], edges[0][4], edges[1][4]
    three = edges[3][4]
    assert len({zero, one, two, three}) == 4
    assert [(state, successor) for _, state, _, _, successor, _ in edges] == [
        (zero, one), (zero, two), (one, two), (one, three), (two, three)
    ]  # fmt: skip
    assert rows(found, "overlap") == []


def test_sampled_edges_start_at_the_first_expanded_states_of_each_level(check, tmp_path):
    kafka = "kafka --protocol 2.1 --bound 3"
    assert check(f"{kafka} --tables found")[0] == 0
    assert check(f"{kafka} --threads 2 --tables again")[0] == 0
    edges = rows(tmp_path / "found", "edges")
    assert edges == rows(tmp_path / "again", "edges")
    states = {depth: len({state for at, state, *_ in edges if at == depth}) for depth in range(4)}
    assert states == {0: 3, 1: MOST_OF_A_LEVEL, 2: MOST_OF_A_LEVEL, 3: 0}
    # 29 of them are the first to reach a state of level 1, and the others stay among the initial states.
    fired = sum(count for _, count, _ in rows(tmp_path / "found", "actions"))
    check("kafka --protocol 2.1 --bound 1 --tables short")
    first = sum(count for _, count, _ in rows(tmp_path / "short", "actions"))
    assert len([edge for edge in edges if edge[0] == 0]) == first
    assert len(edges) < fired


def test_a_small_state_space_is_its_own_sample(check, tmp_path):
    assert check("examples/two_phase_commit --resource-managers 1 --tables found")[0] == 0
    found = tmp_path / "found"
    assert max(states for _, states in rows(found, "levels")) <= MOST_OF_A_LEVEL
    edges = rows(found, "edges")
    assert len(edges) == sum(fired for _, fired, _ in rows(found, "actions"))
    assert max(depth for depth, *_ in edges) == max(depth for depth, _ in rows(found, "levels"))


def test_the_same_search_gives_the_same_files(check, tmp_path):
    line = "kafka --protocol 2.1 --bound 3 --tables found"
    check(line)
    before = files(tmp_path / "found")
    check(f"{line} --strict")
    after = files(tmp_path / "found")
    assert {name for name in before if before[name] != after[name]} <= {name for name in after if "runs/" in name}
    assert before.keys() == after.keys()
    assert len(after) == len(TABLES) == 7


def test_other_searches_and_interrupted_ones_have_their_own_files(check, tmp_path, monkeypatch):
    def count():
        return len(list((tmp_path / "found" / "runs").iterdir()))

    lines = ["", "--bound 2", "--limit 3", "--continue", "--prove"]
    for number, line in enumerate(lines, 1):
        check(f"stairs.py {line} --tables found")
        assert count() == number
    for line in lines:
        check(f"stairs.py {line} --tables found")
    assert count() == len(lines)
    code, *_ = check("kafka --protocol 2.1 --seconds 0.000000001 --tables found")
    assert code == 3
    assert count() == len(lines) + 1
    runs = parquet.read_table(tmp_path / "found" / "runs").to_pylist()
    assert [row["verdict"] for row in runs if row["stopped"] == "seconds"] == ["UNDECIDED"]
    for limits in ("--seconds 60", "--memory 1G", ""):
        assert check(f"kafka --protocol 2.1 --bound 2 {limits} --tables found")[0] == 0
        assert count() == len(lines) + 2


def test_a_sweep_has_a_run_for_each_configuration(check, tmp_path):
    code, out, err = check("sweep stairs.py --vary limit=1,2,3 --tables found --json")
    assert (code, err) == (12, "")
    told = json.loads(out)["runs"]
    runs = parquet.read_table(tmp_path / "found" / "runs").to_pylist()
    assert sorted((dict(run["configuration"])["limit"], run["verdict"]) for run in runs) == [
        ("1", "VIOLATED"), ("2", "VIOLATED"), ("3", "PERMITTED")
    ]  # fmt: skip
    assert {run["command"] for run in runs} == {run["command"] for run in told}
    # What an earlier run had done is written as well.
    before = files(tmp_path / "found")
    check("sweep stairs.py --vary limit=1,2,3 --tables again")
    assert files(tmp_path / "again") == before


def spread_run():
    """A run that is marked as a search by two parts on Spark."""
    instance = registry.load_file(Path("stairs.py")).instance(values={"most": 127})
    exploration = explore(instance, Limits())
    overlap = Overlap(2, {3: 1, 0: 1, 1: 2})
    spread = SparkSummary(Mode.PARTS, "local[2]", 2, 2, 2, 1, 2, overlap, start_seconds=1.5)
    return Run(exploration, verdicts(exploration), "check stairs.py --engine spark", parts=(spread,))


def test_overlap_counts_only_if_all_parts_finished(check):
    run = spread_run()
    found = rows_of(run, [])
    key = found["runs"][0]["run"]
    assert found["overlap"] == [
        {"run": key, "parts": [], "states": 1},
        {"run": key, "parts": [0], "states": 2},
        {"run": key, "parts": [0, 1], "states": 1},
    ]
    spark = {name: found["runs"][0][name] for name in ("engine", "mode", "cores", "parts", "starts", "start_seconds")}
    assert spark == {"engine": "spark", "mode": "parts", "cores": 2, "parts": 2, "starts": 2, "start_seconds": 1.5}
    assert found["runs"][0]["parts_overlap"]
    (spread,) = run.parts
    unknown = rows_of(replace(run, parts=(replace(spread, overlap=None),)), [])
    assert unknown["overlap"] == []
    assert rows_of(replace(run, parts=()), [])["runs"][0]["run"] != key


# ------------------------------------------------------------------------------------------------------------ document


def test_the_document_is_generated_from_the_columns():
    assert (PROJECT / "checker" / "tables.md").read_text(encoding="utf-8") == documentation() + "\n"


def test_files_have_the_columns_of_the_document(check, tmp_path):
    check("stairs.py --tables found")
    words = {
        "string": "string", "int64": "bigint", "double": "double", "bool": "boolean",
        "list<element: int64>": "array<bigint>",
    }  # fmt: skip
    maps = pa.map_(pa.string(), pa.string())
    for name, table in TABLES.items():
        (path,) = (tmp_path / "found" / name).iterdir()
        schema = parquet.read_schema(path)
        assert schema.metadata == {b"isrcheck": b"1"}
        assert [
            (field.name, "map<string, string>" if field.type == maps else words[str(field.type)], field.nullable)
            for field in schema
        ] == [(column.name, column.type.value, column.may_lack) for column in table.columns]


# ----------------------------------------------------------------------------------------------------------- bad input


def written(folder, name, names=("run",), version="1"):
    """Write a Parquet file that differs from the documented format."""
    schema = pa.schema([(one, pa.string()) for one in names], {} if version is None else {"isrcheck": version})
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(schema.empty_table(), folder / name)


OURS = "levels/0123456789ab.parquet"
AWAY = "move it away, or give another folder with --tables DIR"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda at: at.write_text("no folder"), "found: File exists; give another folder with --tables DIR"),
        (lambda at: (at / "notes").mkdir(parents=True), f"found/notes: is not a table of isrcheck; {AWAY}"),
        (
            lambda at: written(at, "levels/part-0.parquet"),
            f"found/levels/part-0.parquet: does not belong to isrcheck's tables; {AWAY}",
        ),
        (lambda at: (at / OURS).mkdir(parents=True), f"found/{OURS}: does not belong to isrcheck's tables; {AWAY}"),
        (
            lambda at: ((at / "levels").mkdir(parents=True), (at / OURS).write_text("PAR1")),
            f"found/{OURS}: is not a Parquet file, or is damaged; {AWAY}",
        ),
        (lambda at: written(at, OURS, version=None), f"found/{OURS}: was not written by isrcheck; {AWAY}"),
        (lambda at: written(at, OURS), f"found/{OURS}: was not written by isrcheck; {AWAY}"),
        (
            lambda at: written(at, OURS, version="2"),
            f"found/{OURS}: has version 2 of the tables, not version 1; {AWAY}",
        ),
    ],
)  # fmt: skip
def test_a_folder_with_other_contents_is_refused(check, tmp_path, make, message):
    found = tmp_path / "found"
    make(found)
    before = files(tmp_path)
    code, out, err = check("stairs.py --tables found")
    assert (code, out, err) == (2, "", f"check: {message}\n")
    assert files(tmp_path) == before
    code, out, err = check("sweep stairs.py --vary limit=1,2 --tables found")
    assert (code, out, err) == (2, "", f"check: {message}\n")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--tables found",
            "--tables goes with one model or a sweep: name the model, as in: check kafka --protocol 2.1 --tables DIR",
        ),
        ("published --tables found", "--tables goes with one model or a sweep"),
        ("mutate kafka --protocol 2.1 --tables found", "--tables goes with one model or a sweep"),
        ("--config stairs.py --tables found", "--tables goes with one model or a sweep"),
        (
            "stairs.py --bound 2 --engine z3 --tables found",
            "--tables counts states, which Z3 does not do: leave out --tables or --engine z3",
        ),
    ],
)  # fmt: skip
def test_forms_without_tables_are_refused(check, tmp_path, line, message):
    assert_refused(check(line), message)
    assert not (tmp_path / "found").exists()


def test_without_pyarrow_the_cure_is_named_before_the_search(check, tmp_path, monkeypatch):
    monkeypatch.setattr(write.importlib.util, "find_spec", lambda name: None)
    assert check("stairs.py --tables found") == (
        2, "", "check: --tables needs the package pyarrow, which is not installed: pip install 'isrcheck[spark]'\n"
    )  # fmt: skip
    assert check("stairs.py")[0] == VIOLATED


def test_a_plain_check_needs_no_pyarrow(tmp_path):
    write_model(tmp_path / "stairs.py", STAIRS)
    script = "import sys; from isrcheck.checker import cli; cli.main(['stairs.py', '--bound', '2'])"
    code = f"{script}; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


# ----------------------------------------------------------------------------------------------------------- full disk


@pytest.fixture
def little_room():
    """Limit the size of files that this process writes, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("form", ["stairs.py --limit 3", "sweep stairs.py --vary limit=3,4"])
def test_on_a_full_disk_the_report_is_printed_and_the_tables_stay_unchanged(check, tmp_path, little_room, form):
    # Kernels, traces and results of the sweep are there already: the tables alone need room.
    assert check(f"{form} --tables found")[0] == 0
    found = tmp_path / "found"
    before = files(found)
    for name in ("levels", "runs"):
        for path in (found / name).iterdir():
            path.unlink()
    left = files(found)
    # The file of the runs is the last and the largest: the others are whole when it fails.
    little_room(max(map(len, left.values())))
    code, out, err = check(f"{form} --tables found")
    assert code == 2
    assert err.splitlines()[-1] == (
        "check: found: the tables cannot be written: File too large; make room or give another folder with --tables DIR"
    )
    assert "PERMITTED" in verdict_of(out)
    assert files(found) == left
    little_room(resource.RLIM_INFINITY)
    check(f"{form} --tables found")
    assert files(found).keys() == before.keys()


def test_ctrl_c_while_tables_are_written_is_reported(check, tmp_path, monkeypatch):
    def pressed(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "sampled_edges", pressed)
    code, out, err = check("stairs.py --tables found")
    assert code == INTERRUPTED
    assert verdict_of(out).startswith("VIOLATED: stays_safe at step 2")
    assert err.splitlines() == [
        "check: interrupted; this is what was found so far",
        "check: found: interrupted before the tables were written; run the same command again",
    ]
    assert files(tmp_path / "found") == {}


def test_ctrl_c_while_edges_are_sampled_leaves_no_smaller_sample(check, tmp_path, monkeypatch):
    from isrcheck.checker.explicit.carrier import SingleThread

    def pressed(carrier, first, last):
        if not carrier.context.watched:
            raise KeyboardInterrupt
        return expand(carrier, first, last)

    expand = SingleThread.expand
    monkeypatch.setattr(SingleThread, "expand", pressed)
    assert check("stairs.py --continue --tables found")[0] == INTERRUPTED
    assert files(tmp_path / "found") == {}


# ------------------------------------------------------------------------------------------------------------- example


@pytest.fixture
def asked(check, tmp_path):
    """The tables of a small sweep of Kafka, of an interrupted search, and of a search by parts."""
    check("sweep --vary acks=0,all --vary replication.factor=2,3 --bound 2 --tables found")
    check("kafka --protocol 2.1 --retries 1 --seconds 0.000000001 --tables found")
    folder = tmp_path / "found"
    Tables(folder).write(spread_run())
    return folder


ANSWERS = """\
Which action widens the state space?
                 action  new  fired
         broker_crashes  131    151
         broker_bounces   61     97
  controller_fails_over   61     79
   leader_handles_fetch   31     85
       producer_appends   30     68

Which settings lose acknowledged records?
                       settings               verdict  depth
    acks=0 replicas=2 retries=0             PERMITTED      1
    acks=0 replicas=3 retries=0             PERMITTED      1
  acks=all replicas=2 retries=0 NO VIOLATION TO DEPTH      2
  acks=all replicas=3 retries=0 NO VIOLATION TO DEPTH      2
  acks=all replicas=3 retries=1             UNDECIDED   <NA>

Where do the partitions overlap?
           run  one  other  states
  542e518a65bb    0      1       1
"""


def test_the_example_answers_three_questions(asked, capsys):
    assert ask_the_tables.main([str(asked)]) == 0
    assert capsys.readouterr().out == ANSWERS


@pytest.mark.recorded
def test_the_answers_in_the_document_match_its_commands(check, tmp_path, capsys):
    text = (PROJECT / "docs" / "sweeps_and_tables.md").read_text(encoding="utf-8")
    block = text.partition("## Results as tables")[2].partition("```console example")[2].partition("```")[0]
    sweep, asking = block.replace("\\\n", "").split("$ check ")[1], block.split("$ python ")[1]
    assert check(f"{sweep.strip().replace('results', 'found')}")[0] == 0
    assert ask_the_tables.main([str(tmp_path / "found")]) == 0
    # What Spark's parts have in common takes Spark; the other search of these commands is one of the sweep, again.
    told = capsys.readouterr().out.partition("Where do the partitions")[0].splitlines()
    shown = [line for line in asking.partition("Where do the partitions")[0].splitlines()[1:] if line != "  ..."]
    assert shown and [line for line in told if line in shown] == shown


@pytest.mark.parametrize("missing", ["", "verdicts"])
def test_the_example_reports_missing_tables(check, tmp_path, capsys, missing):
    folder = tmp_path / "found"
    if missing:
        check("stairs.py --tables found")
        next((folder / missing).iterdir()).unlink()
    assert ask_the_tables.main([str(folder)]) == 2
    told = f"{folder}: no table {missing or 'runs'}; write it with: check MODEL --tables DIR"
    assert capsys.readouterr() == ("", f"ask_the_tables: {told}\n")


def test_the_example_answers_from_few_tables(check, tmp_path, capsys):
    check("stairs.py --bound 0 --tables found")
    assert ask_the_tables.main([str(tmp_path / "found")]) == 0
    answers = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert answers == [f"  {question.no_answer}" for question in ask_the_tables.QUESTIONS]


def command(folder, *words):
    """Run code in a separate process; return its lines on stdout."""
    own = os.environ | {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, env=own)
    assert done.returncode in (0, 12), done.stderr
    return done.stdout


@pytest.mark.recorded  # two processes, each with a Spark of its own
def test_spark_writes_its_parts_and_gives_the_same_answers(asked, tmp_path):
    line = "stairs.py --most 6 --set limit=9 --continue --engine spark --master local[2] --split-depth 1 --tables found"
    command(tmp_path, "-m", "isrcheck.checker", *line.split())
    (run,) = [run for run in parquet.read_table(asked / "runs").to_pylist() if ("most", "6") in run["configuration"]]
    spark = {name: run[name] for name in ("engine", "mode", "cores", "parts", "parts_ended", "starts", "split_depth")}
    assert spark == {
        "engine": "spark", "mode": "parts", "cores": 2, "parts": 2, "parts_ended": 2, "starts": 2, "split_depth": 1
    }  # fmt: skip
    assert (run["distinct"], run["parts_overlap"], run["start_seconds"] > 0) == (7, True, True)
    # The part that starts on the first step comes to every step above it, and the other one to all but the first.
    found = parquet.read_table(asked / "overlap").to_pylist()
    spread = [(row["parts"], row["states"]) for row in found if row["run"] == run["run"]]
    assert spread == [([], 1), ([0], 1), ([0, 1], 5)]
    levels = parquet.read_table(asked / "levels").to_pylist()
    assert [row["states"] for row in levels if row["run"] == run["run"]] == [1, 2, 2, 2]
    example = [str(PROJECT / "conformance" / "examples" / "ask_the_tables.py"), "found"]
    answers = command(tmp_path, *example)
    # The answers come in the order of the runs' names.
    local, other = "  542e518a65bb    0      1       1\n", f"  {run['run']}    0      1       5\n"
    assert answers == ANSWERS.replace(local, "".join(sorted([local, other])))
    assert command(tmp_path, *example, "--spark") == answers
