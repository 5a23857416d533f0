"""`check graph`: the graph compared with plain Python, the files for other tools, and refused input."""

from __future__ import annotations

import errno
import json
import re
import shlex
import signal
from pathlib import Path
from unittest.mock import Mock

import networkx as nx
import pytest

from conformance.tests.checker.explicit.test_deadlock_and_constraint import COUNTERS, TANKS
from conformance.tests.support.engine import checking
from conformance.tests.support.small_models import (
    action,
    block,
    claim,
    helper,
    in_the_language,
    model,
    state,
    write_model,
)
from isrcheck.checker import cli
from isrcheck.checker.command.forms import FORMS, GraphRequest
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.graph.files import dot
from isrcheck.checker.graph.state_graph import state_graph, summary
from isrcheck.checker.resources import limits as budget
from isrcheck.checker.resources.limits import Limits
from isrcheck.commands.declarations import Option
from isrcheck.commands.exit_codes import DONE, INTERRUPTED, UNDECIDED, USAGE
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import Kind

LIGHT = in_the_language(
    model(
        '"""A light that goes red and green, until it burns out."""\n',
        "from enum import IntEnum\n",
        block(
            "Light(IntEnum)",
            "RED, GREEN, OUT = range(3)",
            "",
            "@property",
            "def spelling(self):",
            r"""    return ("<script>alert(1)</script>", 'a "b" \\ &amp;', "\x1b[31mout\u2028]]></svg>")[self]""",
        ),
        state("light: Light"),
        action(
            "light_changes(s)",
            "require(s.light != Light.OUT)",
            "s.light = Light.GREEN if s.light == Light.RED else Light.RED",
        ),
        action("light_burns_out(s)", "require(s.light != Light.OUT)", "s.light = Light.OUT"),
        helper("it_is_green(s)", "s.light == Light.GREEN"),
        claim("always", "is_lit(s)", "s.light != Light.OUT"),
        claim("always(permitted=it_is_green)", "is_red(s)", "s.light == Light.RED"),
        claim(
            "always_step",
            "does_not_burn_out_when_green(before, after)",
            "before.light != Light.GREEN or after.light != Light.OUT",
        ),
        claim("terminal", "may_end(s)", "True"),
    )
)


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder that holds light.py; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light.py").write_text(LIGHT)
    run_it = checking(cli.main, capsys)
    return lambda line: run_it(*shlex.split(line))


def files(folder):
    """The files that a command has written."""
    return [path.name for path in folder.iterdir() if path.name not in ("light.py", "__pycache__")]


def drawn(name, bound=None, fold=(), loops=False, protocol=None, deadlock=True):
    model, named = (registry.load_file(name), None) if isinstance(name, Path) else registry.load(name)
    instance = model.instance(protocol or named)
    asked = GraphRequest(Path("x.dot"), tuple(fold), 100_000, loops, False)
    return state_graph(instance, Limits(depth=bound, deadlock=deadlock), kernel_of(instance), asked)


def by_plain_python(instance, bound):
    """The states up to a depth, and the steps from all but the deepest, as cells."""
    depths = dict.fromkeys(instance.initial_states, 0)
    edges, level = {}, list(depths)
    while level and (bound is None or depths[level[0]] < bound):
        found = []
        for cells in level:
            for step, after in run.successors(instance, cells):
                edges.setdefault((cells, after), []).append(instance.spell_step(step))
                if after not in depths:
                    depths[after] = depths[cells] + 1
                    found.append(after)
        level = found
    return depths, edges


# ------------------------------------------------------------------------------------------------- held against others

FIGURES = {
    ("examples/two_phase_commit", None): (288, 1145, 288, 886, 1, 0, 0, 0),
    ("examples/two_phase_commit", 3): (67, 157, 67, 142, 1, 0, 38, 0),
    ("published/kip_101", 3): (250, 303, 250, 303, 1, 0, 207, 0),
    ("published/truncate_to_high_watermark", 4): (1087, 1812, 1087, 1812, 1, 6, 837, 0),
}

FAILING = {"published/kip_101": 52, "published/truncate_to_high_watermark": 178}


@pytest.mark.parametrize(("name", "bound"), FIGURES)
def test_states_and_steps_are_those_of_plain_python(name, bound):
    found = drawn(name, bound)
    instance = found.instance
    exploration = explore(instance, Limits(depth=bound), count_all=True)
    assert (found.states, found.transitions) == (exploration.distinct, exploration.generated)
    figures = summary(found)
    names = ("states", "transitions", "nodes", "edges", "initial", "dead_ends", "not_expanded", "components")
    assert tuple(figures[name] for name in names) == FIGURES[name, bound]
    assert figures["not_expanded"] == exploration.frontier
    depths, edges = by_plain_python(instance, bound)
    numbers = {cells: number for number, cells in enumerate(depths)}  # both go breadth first, in the same order
    assert [node.depth for node in found.nodes()] == list(depths.values())
    assert {(a, b): list(edge.actions) for a, b, edge in found.edges()} == {
        (numbers[a], numbers[b]): steps for (a, b), steps in edges.items()
    }
    of_states = [prop for prop in instance.properties if prop.kind is Kind.ALWAYS]
    assert [[name for name, _ in node.failing] for node in found.nodes()] == [
        [prop.name for prop in of_states if not run.holds(instance, prop, cells)] for cells in depths
    ]
    assert sum(bool(node.failing) for node in found.nodes()) == FAILING.get(name, 0)


@pytest.mark.parametrize("fold", [("decision",), ("phase",), ("decision", "manager_knows_prepared")])
def test_folding_merges_states_and_loses_no_step(fold):
    whole, folded = drawn("examples/two_phase_commit"), drawn("examples/two_phase_commit", fold=fold, loops=True)
    groups = {}
    for node in whole.nodes():
        groups.setdefault(tuple(node.fields[name] for name in fold), []).append(node.number)
    assert [(tuple(node.fields.values()), node.states) for node in folded.nodes()] == [
        (values, len(members)) for values, members in groups.items()
    ]
    number = {member: place for place, members in enumerate(groups.values()) for member in members}
    expected = {}
    for a, b, edge in whole.edges():
        pair = number[a], number[b]
        expected[pair] = expected.get(pair, 0) + sum(edge.actions.values())
    assert {(a, b): sum(edge.actions.values()) for a, b, edge in folded.edges()} == expected
    assert sum(expected.values()) == folded.transitions == 1145
    without = drawn("examples/two_phase_commit", fold=fold)
    assert {(a, b) for a, b, _ in without.edges()} == {(a, b) for a, b in expected if a != b}


def test_violations_dead_ends_and_cycles_are_marked(check):
    code, out, err = check("graph light.py -o light.graphml --json")
    assert (code, err) == (DONE, "")
    assert json.loads(out) == {
        "model": "light",
        "protocol": None,
        "bound": None,
        "fold": [],
        "states": 3,
        "transitions": 4,
        "nodes": 3,
        "edges": 4,
        "initial": 1,
        "dead_ends": 1,
        "not_expanded": 0,
        "outside": 0,
        "components": 1,
        "failing": [
            {"property": "does_not_burn_out_when_green", "verdict": "VIOLATED", "count": 1},
            {"property": "is_lit", "verdict": "VIOLATED", "count": 1},
            {"property": "is_red", "verdict": "PERMITTED", "count": 1},
            {"property": "is_red", "verdict": "VIOLATED", "count": 1},
        ],
        "unjudged": [],
        "file": "light.graphml",
    }
    read = nx.read_graphml("light.graphml", node_type=int)
    figures = ("initial", "dead_ends", "not_expanded", "component", "violated", "permitted")
    assert [[read.nodes[number][name] for name in figures] for number in sorted(read)] == [
        [1, 0, 0, 1, "", ""],
        [0, 0, 0, 1, "", "is_red"],
        [0, 1, 0, 0, "is_lit, is_red", ""],
    ]
    assert {(a, b): (data["label"], data["violated"]) for a, b, data in read.edges(data=True)} == {
        (0, 1): ("light_changes", ""),
        (0, 2): ("light_burns_out", ""),
        (1, 0): ("light_changes", ""),
        (1, 2): ("light_burns_out", "does_not_burn_out_when_green"),
    }
    assert read.nodes[0]["field.light"] == "<script>alert(1)</script>"
    assert read.nodes[2]["field.light"] == "\\x1b[31mout\\u2028]]></svg>"


def test_a_state_at_the_bound_is_not_a_dead_end(check):
    code, out, err = check("graph light.py -o light.dot --bound 1")
    assert (code, err) == (DONE, "")
    assert out.splitlines() == [
        "3 states, 2 transitions, to depth 1",
        "3 nodes, 2 edges",
        "1 initial state, 0 dead ends, 2 states at the bound not expanded, 0 strongly connected components of several"
        " nodes",
        "VIOLATED: is_lit in 1 state",
        "PERMITTED: is_red in 1 state",
        "VIOLATED: is_red in 1 state",
        "written to light.dot",
    ]


# --------------------------------------------------------------------------------- deadlocks, and what is outside


def written(tmp_path, text, **values):
    """The path of a new file with this model."""
    path = tmp_path / "written.py"
    write_model(path, text.format(**values))
    return path


def test_a_dead_end_is_a_deadlock_unless_the_model_may_end_there(tmp_path):
    path = written(tmp_path, TANKS, most=3, full="3")
    found = drawn(path)
    ends = {node.fields["level"]: [name for name, _ in node.failing] for node in found.nodes() if node.dead_ends}
    assert ends == {"[3 0]": ["deadlock"], "[3 1]": ["deadlock"], "[3 2]": ["deadlock"], "[3 3]": []}
    assert found.failing == {("deadlock", "VIOLATED"): 3}
    assert drawn(path, bound=3).failing == {}  # the states at the bound may have steps
    assert drawn(path, bound=4).failing == {("deadlock", "VIOLATED"): 1}
    assert drawn(path, deadlock=False).failing == {}


def test_a_state_from_which_a_step_leaves_a_range_is_no_deadlock(tmp_path):
    bursts = "\n\n@action\ndef bursts(s):\n    require(s.level[0] == 3)\n    s.level[0] += 1\n"
    found = drawn(written(tmp_path, TANKS + bursts, most=3, full="3"))
    assert found.failing == {("in_range", "VIOLATED"): 4}


def test_a_terminal_that_leaves_a_range_is_marked_where_it_is_evaluated(tmp_path):
    found = drawn(written(tmp_path, TANKS, most=3, full="3 or s.level[s.level[0]] == 0"))
    assert found.failing == {("in_range", "VIOLATED"): 3}
    assert drawn(tmp_path / "written.py", bound=3).failing == {}


@pytest.mark.parametrize("bound", [None, 1])
def test_states_outside_the_constraint_are_drawn_with_the_steps_to_them(tmp_path, bound):
    """Nine states are within, and six outside; in two of those, and on the steps to them, properties fail."""
    found = drawn(written(tmp_path, COUNTERS, most=4, small=2, step=1), bound)
    instance = found.instance
    depths, edges = by_plain_python(instance, bound)
    fields = {cells: f"[{cells[0]} {cells[1]}]" for cells in depths}
    outside = {fields[cells] for cells in depths if not run.is_within(instance, cells)}
    assert {node.fields["count"] for node in found.nodes() if node.outside} == outside
    assert {node.fields["count"]: node.depth for node in found.nodes()} == {
        fields[cells]: depth for cells, depth in depths.items()
    }
    names = {node.number: node.fields["count"] for node in found.nodes()}
    assert {(names[a], names[b]): list(edge.actions) for a, b, edge in found.edges()} == {
        (fields[a], fields[b]): steps for (a, b), steps in edges.items()
    }
    exploration = explore(instance, Limits(depth=bound), count_all=True)
    assert (found.states, found.transitions) == (exploration.distinct, exploration.generated)
    low = [one for one in depths if sum(one) > 4]
    assert [node.fields["count"] for node in found.nodes() if node.failing] == [fields[one] for one in low]
    slow = {(fields[a], fields[b]) for a, b in edges if b[1] > a[1]}
    assert {(names[a], names[b]) for a, b, edge in found.edges() if edge.failing} == slow
    assert (len(outside), len(low)) == ((6, 2) if bound is None else (0, 0))


def test_a_state_with_steps_to_the_outside_only_is_no_dead_end(tmp_path):
    text = COUNTERS.replace("return s.count[0] <= {small}", "return s.count[0] + s.count[1] <= 1")
    found = drawn(written(tmp_path, text, most=9, small=2, step=2))
    assert (found.states, found.transitions, found.failing) == (3, 7, {})
    assert [node.dead_ends for node in found.nodes()] == [0] * len(found.nodes())


def test_a_step_of_which_a_constraint_cannot_tell_is_not_drawn(tmp_path):
    text = COUNTERS.replace("return s.count[1] <= {small}", "return s.count[s.count[1]] <= {small}")
    found = drawn(written(tmp_path, text, most=9, small=2, step=2))
    assert {name for name, _ in found.failing} == {"in_range"}
    assert all("2" not in node.fields["count"].split()[1] for node in found.nodes())


def test_what_must_stay_possible_is_judged_within_the_constraint(tmp_path):
    possible = "\n\nfrom isrcheck.language import always_possible\n\n\n@always_possible\ndef first_is_three(s):\n"
    found = drawn(written(tmp_path, COUNTERS + possible + "    return s.count[0] == 2\n", most=9, small=2, step=2))
    assert found.failing == {}
    found = drawn(written(tmp_path, COUNTERS + possible + "    return s.count[0] == 3\n", most=9, small=2, step=2))
    assert found.failing == {("first_is_three", "VIOLATED"): 9}


def test_states_outside_fold_and_are_written_in_every_format(check, tmp_path):
    written(tmp_path, COUNTERS, most=4, small=2, step=2)
    code, out, err = check("graph written.py -o x.dot")
    assert (code, err) == (DONE, "")
    assert "9 states, 21 transitions, the whole state space" in out
    assert "6 states outside the constraint, not expanded\nVIOLATED: stays_low in 2 states\n" in out
    assert (tmp_path / "x.dot").read_text().count('style="filled,dotted"') == 6
    assert check("graph written.py -o x.html")[0] == DONE
    assert '"outside the constraint, not expanded"' in (tmp_path / "x.html").read_text()
    code, out, _ = check("graph written.py -o x.graphml --fold count --json")
    assert (code, json.loads(out)["outside"], json.loads(out)["nodes"]) == (DONE, 6, 15)
    read = nx.read_graphml("x.graphml", node_type=int)
    assert [data["outside"] for _, data in sorted(read.nodes(data=True))] == [0] * 9 + [1] * 6
    code, _, err = check("graph written.py -o y.dot --at-most 10")
    assert (code, err) == (
        USAGE,
        "check: 15 states, with those outside the constraint, make 15 nodes, more than 10; fold states by some fields,"
        " give a smaller --bound (3: 9 states), or raise the limit with --at-most 15\n",
    )


# --------------------------------------------------------------------------------------------------------------- files

STRING = r'"(?:[^"\\]|\\.)*"'
DOT_LINE = re.compile(rf"  (?:rankdir=LR|(?:node|edge|n\d+|n\d+ -> n\d+) \[(?:\w+=(?:{STRING}|\w+)(?:, |(?=\])))+\]);")


def test_dot_is_what_graphviz_reads(check, tmp_path):
    assert check("graph light.py -o light.dot")[0] == DONE
    first, *lines, last = (tmp_path / "light.dot").read_text().splitlines()
    assert (first, last) == ('digraph "light" {', "}")
    assert [line for line in lines if not DOT_LINE.fullmatch(line)] == []
    assert lines[3:6] == [
        '  n0 [label="0", tooltip="light <script>alert(1)</script>", shape="ellipse", peripheries="2", color="#0b5fc5",'
        ' penwidth="2", xlabel="component 1"];',
        '  n1 [label="1", tooltip="light a \\"b\\" \\\\ &amp;", shape="ellipse", fillcolor="#fff4de",'
        ' fontcolor="#8a5300", color="#0b5fc5", penwidth="2", xlabel="component 1"];',
        '  n2 [label="2", tooltip="light \\\\x1b[31mout\\\\u2028]]></svg>", shape="box", fillcolor="#fdeceb",'
        ' fontcolor="#b3261e", color="#b3261e"];',
    ]
    folded = dot(drawn("examples/two_phase_commit", fold=["decision"])).splitlines()
    assert '  n0 [label="decision OPEN\\n(64 states)", tooltip="decision OPEN", shape="ellipse", peripheries="2"];' in (
        folded
    )


# ------------------------------------------------------------------------------------------------------------ refusals

WITHOUT = "which draws the states of one model: leave the option out"
OTHERS = {
    "--engine z3": " --bound 2",
    "--report DIR": "",
    "--tables DIR": "",
    "--counterexamples 3": "",
    "--out DIR": "",
    "--threads 2": "",
    "--continue": "",
    "--broker a.properties": "",
    "--engine spark": " --master local",
}
"""Options of other forms, and what makes them complete."""

AS_IN = "as in: check graph examples/two_phase_commit --bound 3 -o states.html"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("graph light.py", f"graph has no file to write to; name a file with -o, {AS_IN}"),
        (
            "graph light.py -o light.svg",
            "-o light.svg: not a known type of file; the name must end in one of: .html, .dot, .graphml",
        ),
        (
            "graph light.py -o light.py.html/x.dot",
            "-o light.py.html/x.dot: there is no folder light.py.html; create the folder first",
        ),
        ("graph light.py -o x.dot --fold ,", "--fold names no field; write it as in --fold phase,decision"),
        ("graph light.py -o x.dot --fold lite", "--fold lite: light has no such field; did you mean light?"),
        (
            "graph light.py -o x.dot --loops",
            "--loops has no effect without --fold FIELD; add --fold FIELD, or leave --loops out",
        ),
        ("graph light.py -o x.dot --at-most 0", "--at-most 0: not a whole number of at least 1"),
        ("light.py -o x.dot", f"-o goes with graph, {AS_IN}"),
        ("light.py --fold light", f"--fold goes with graph, {AS_IN}"),
        *(
            (f"graph light.py -o x.dot {option}{more}", f"{option} does not go with graph, {WITHOUT}")
            for option, more in OTHERS.items()
        ),
        ("graph -o x.dot", "graph takes one model, as in: check graph kafka --protocol 0.10 --bound 2 -o states.html"),
        (
            "light.py graph",
            "graph must be the first argument, as in: check graph kafka --protocol 0.10 --bound 2 -o states.html",
        ),
        (
            "graph light.py -o x.html --at-most 2",
            "the graph has 3 states, and the limit is 2; give a smaller --bound (0: 1 state),"
            " fold states by some fields, as in --fold light, or raise the limit with --at-most 3",
        ),
        (
            "graph light.py -o x.html --at-most 2 --fold light",
            "3 states fold into 3 nodes, more than 2; fold by fewer fields, give a smaller --bound (0: 1 state), or"
            " raise the limit with --at-most 3",
        ),
        (
            "graph kafka --protocol 0.10 -o x.html",
            "the graph has more than 218,297 states, and the limit is 300; give a smaller --bound (2: 142"
            " states), fold states by some fields, as in --fold controller_leader, or raise the limit with --at-most N",
        ),
        (
            "graph kafka --protocol 2.1 --bound 6 -o x.html",
            "the graph has 13,782 states, and the limit is 300; give a smaller --bound (2: 157 states),"
            " fold states by some fields, as in --fold controller_leader, or raise the limit with --at-most 13782",
        ),
    ],
)
def test_a_refused_command_writes_no_file(check, tmp_path, line, message):
    code, out, err = check(line)
    assert (code, out, err.splitlines()[-1]) == (USAGE, "", f"check: {message}")
    assert files(tmp_path) == []


def test_an_interrupted_search_draws_nothing_and_is_undecided(check, tmp_path, monkeypatch):
    # However slow the machine is, the time ends the search, and not what precedes it.
    kernel_of(registry.load("kafka")[0].instance("0.10"))
    monkeypatch.setattr(budget, "GRACE", 3600)
    monkeypatch.setattr(signal, "setitimer", lambda *given: (0.0, 0.0))
    code, out, _ = check("graph kafka --protocol 0.10 -o x.html --seconds 0.000001")
    assert (code, out) == (
        UNDECIDED,
        "UNDECIDED: the time limit is reached at 3 states, and an incomplete graph would mislead;"
        " give a smaller --bound, or raise the limit with --memory or --seconds\n",
    )
    assert files(tmp_path) == []


def test_an_existing_file_is_replaced_only_on_request(check, tmp_path):
    (tmp_path / "x.dot").write_text("mine")
    (tmp_path / "folder.dot").mkdir()
    message = "-o x.dot: the file exists; give another name, or replace the file with --force"
    assert check("graph light.py -o x.dot") == (USAGE, "", f"check: {message}\n")
    assert (tmp_path / "x.dot").read_text() == "mine"
    message = "-o folder.dot: not a regular file; give another name"
    assert check("graph light.py -o folder.dot --force") == (USAGE, "", f"check: {message}\n")
    assert check("graph light.py -o x.dot --force")[0] == DONE
    assert (tmp_path / "x.dot").read_text().startswith('digraph "light" {')


FSYNC = "isrcheck.traces.format.files.os.fsync"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("place", "error", "code", "message"),
    [
        (FSYNC, KeyboardInterrupt(), INTERRUPTED, "interrupted before anything was found"),
        (
            "isrcheck.checker.explicit.carrier.SingleThread.expand",
            *(KeyboardInterrupt(), INTERRUPTED, "interrupted before anything was found"),
        ),
        (
            *(FSYNC, OSError(errno.ENOSPC, "No space left on device"), USAGE),
            "x.dot: cannot be written: No space left on device; name a file elsewhere",
        ),
    ],
)
def test_an_interrupt_or_a_full_disk_leaves_no_partial_file(check, tmp_path, monkeypatch, place, error, code, message):
    monkeypatch.setattr(place, Mock(side_effect=error))
    assert check("graph light.py -o x.dot") == (code, "", f"check: {message}\n")
    assert files(tmp_path) == []


def test_a_file_created_meanwhile_is_not_overwritten(check, tmp_path, monkeypatch):
    monkeypatch.setattr(FSYNC, lambda descriptor: (tmp_path / "x.dot").write_text("theirs"))
    message = "check: x.dot: exists already and is not overwritten; choose a new name, or add --force\n"
    assert check("graph light.py -o x.dot") == (USAGE, "", message)
    assert (tmp_path / "x.dot").read_text() == "theirs"


def test_every_option_is_either_supported_or_refused():
    """Options of other forms of the command are refused unless the graph supports them explicitly."""
    new = Option("--something-new", "")
    (form,) = (each for each in FORMS if each.name == "graph")
    assert form.refusal_of(new) == f"{{typed}} does not go with graph, {WITHOUT}"


def test_the_search_continues_after_the_last_failing_property(tmp_path):
    """The first step makes the only property false; the tanks have 4 levels each."""
    found = drawn(written(tmp_path, TANKS, most=0, full="3"), deadlock=False)
    assert (found.states, found.failing) == (4 * 4, {("stays_low", "VIOLATED"): 3 * 4})
