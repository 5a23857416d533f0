"""Tests the fuzzer: plants bugs in the engines, one at a time; the fuzzer or else the tests have to find each bug.

In:  `python -m isrcheck.conformance.fuzz.mutation [--seconds N] [NAME ...]`.
Out: a row for each bug: what found it, and after how many programs. Exit code 1 if a bug that can be found was not.

Each bug is a replacement in one file of a copy of the tree; the tree itself is not changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from isrcheck import checker

ROOT = Path(checker.__file__).resolve().parents[1]
SEED = 5
SECONDS = 120
GRACE = 60
"""The seconds beyond the time limit after which the fuzzer counts as hanging, which also detects the bug."""


@dataclass(frozen=True)
class Bug:
    """A replacement of text in one file of the checker."""

    name: str
    """The name by which the bug is chosen."""
    file: str
    """The file, without its ending."""
    says: str
    """What the engine does wrong."""
    old: str
    """The text that is replaced; it occurs once."""
    new: str
    """The text in its place."""
    tests: tuple[str, ...] = ()
    """The tests that run if the fuzzer does not find the bug."""
    hidden: str = ""
    """The reason why nothing can find the bug, if that is so."""


PROOFS = (
    "checker/proofs/test_unbounded_abstraction",
    "checker/proofs/test_unbounded_abstraction",
    "checker/proofs/test_prove",
    "checker/proofs/test_prove",
)
"""Tests of proofs, for bugs that the fuzzer does not find."""

BUGS = (
    Bug(
        "minus_is_plus",
        "checker/compile/kernel_code",
        "`-=` on a cell adds",
        "total = total - self.value(term.value) if term.is_subtracted else total",
        "total = total",
    ),
    Bug(
        "any_of_nothing",
        "checker/compile/kernel_code",
        "an empty `any` is true",
        "result: Number = is_all",
        "result: Number = True",
    ),
    Bug(
        "index_unchecked",
        "checker/compile/ranges",
        "an index one beyond the end is not checked",
        "size + 1) <= size\n",
        "size + 1) <= size + 1\n",
    ),
    Bug(
        "loop_variable_assigned",
        "checker/compile/ranges",
        "an assigned loop variable is taken to be within its range",
        "isinstance(node, ir.Generator) or (isinstance(node, ir.Loop) and is_of_loop(routine, node.variable)):",
        "isinstance(node, ir.Generator | ir.Loop):",
        tests=("checker/explicit/test_in_range",),
    ),
    Bug(
        "chain",
        "checker/compile/kernel_code",
        "`a < b < c` means `a < c`",
        "compared(link.sign.value, before, left)",
        "compared(link.sign.value, first, left)",
    ),
    Bug(
        "third_of_min",
        "checker/compile/staging",
        "min and max use only their first two arguments",
        "for other in map(self.number, others):",
        "for other in map(self.number, others[:1]):",
        tests=("checker/compile/test_code",),
    ),
    Bug(
        "minus_sign",
        "checker/compile/staging",
        "a minus sign before a truth value is lost",
        "Value(self.code, self.code.builder.neg(self.code.number(self)))",
        "Value(self.code, self.operand if self.operand.type == I1 else self.code.builder.neg(self.operand))",
    ),
    Bug(
        "unsigned_range",
        "checker/compile/staging",
        "negative values are outside every range",
        'below = builder.icmp_signed("<=", value, high)',
        'below = builder.icmp_unsigned("<=", value, high)',
    ),
    Bug(
        "state_not_restored",
        "checker/compile/packing",
        "the last cells are not restored after a step",
        "while offset < layout.size:",
        "while offset < layout.size - 8:",
    ),
    Bug(
        "wrong_parent",
        "checker/compile/hash_table",
        "a state gets a wrong predecessor",
        "parents[count] = from_states[i]",
        "parents[count] = from_states[k]",
    ),
    Bug(
        "table_moved_wrongly",
        "checker/compile/hash_table",
        "entries are lost when the table grows",
        "slot.set(unsigned_shift(entry & TAG, shift))",
        "slot.set(unsigned_shift(entry & TAG, shift + 1))",
        tests=("checker/explicit/test_search",),
    ),
    Bug(
        "first_word_compared",
        "checker/compile/hash_table",
        "states of two words are compared by their first word only",
        "with code.loop(0, words) as word, code.when(state[word] != other[word]):",
        "with code.loop(0, 1) as word, code.when(state[word] != other[word]):",
        tests=("checker/explicit/test_search",),
        hidden="two states need the same 32 bits of their hash and the same first word: one pair in four billion",
    ),
    Bug(
        "permitted_decides",
        "checker/explicit/explore",
        "a permitted failure ends the search for a violation",
        "if is_judged and context.results.count(number, request.decisive):",
        "if is_judged and (context.results.count(number) or context.results.count(number, EntryKind.PERMITTED)):",
        tests=("checker/explicit/test_search",),
    ),
    Bug(
        "first_step_lost",
        "checker/explicit/explore",
        "step 0 is lost from the end of a path",
        "if step >= 0 else",
        "if step > 0 else",
    ),
    Bug(
        "one_level_more",
        "checker/explicit/explore",
        "the search is one level too deep",
        "result.depth >= self.context.limits.depth:",
        "result.depth > self.context.limits.depth:",
    ),
    Bug(
        "last_of_threads",
        "checker/results/kernel_results",
        "of the findings of several threads, the last one is kept",
        "number < own.state:",
        "number > own.state:",
    ),
    Bug(
        "parents_of_chunks",
        "checker/explicit/threads",
        "predecessors are counted from the start of a chunk",
        "lane.batch.parents[: task.generated] += np.uint32(task.first)",
        "pass",
    ),
    Bug(
        "order_of_shards",
        "checker/compile/hash_table",
        "states of a level are numbered in the wrong order",
        "unsigned_less(key, least_key)",
        "unsigned_less(least_key, key)",
    ),
    Bug(
        "chain_symbolic",
        "checker/symbolic/evaluator",
        "`a < b < c` means `a < c`",
        "link.sign.value, left, right))\n            left = right",
        "link.sign.value, left, right))",
    ),
    Bug(
        "asked_after_decided",
        "checker/symbolic/evaluator",
        "all and any evaluate elements after the deciding one",
        "return both(branch, undecided)",
        "return branch",
        tests=("checker/symbolic/test_bounded_model_checking",),
    ),
    Bug(
        "or_is_a_truth_value",
        "checker/symbolic/evaluator",
        "`x or y` of numbers is 0 or 1 if x is known",
        "            if condition == FALSE:\n                break\n            passed.append((condition, last))",
        "            if condition == FALSE:\n                last = not is_and\n                break\n"
        "            passed.append((condition, last))",
        tests=("checker/symbolic/test_bounded_model_checking",),
    ),
    Bug(
        "index_not_demanded",
        "checker/symbolic/evaluator",
        "an unknown index is not checked",
        "        self._demand(inside)\n        cases =",
        "        cases =",
    ),
    Bug(
        "first_cell_forgotten",
        "checker/symbolic/evaluator",
        "reading at an unknown index forgets the first cell",
        "targets[-2::-1]",
        "targets[-2:0:-1]",
    ),
    Bug(
        "sum_of_cases",
        "checker/symbolic/finite_integers",
        "of two ways to the same sum, one is lost",
        "self.circuit.either(cases.get(value, FALSE), chosen)",
        "chosen",
    ),
    Bug(
        "wide_written_narrowly",
        "checker/compile/staging",
        "of a cell of 16 bits only the lower half is written",
        "WRITE = {size: Operation(partial(_write, kind))",
        "WRITE = {size: Operation(partial(_write, I8 if size == 2 else kind))",
        tests=("checker/compile/test_widths",),
    ),
    Bug(
        "binary_sum_wraps",
        "checker/symbolic/finite_integers",
        "the sum of two binary integers has no bit more than they have",
        "self._aligned(a, b, more=1)",
        "self._aligned(a, b)",
        tests=("checker/compile/test_widths",),
    ),
    Bug(
        "binary_sign",
        "checker/symbolic/finite_integers",
        "a negative binary integer is greater than a positive one",
        "decisive = other if position < len(pairs) else one",
        "decisive = other",
        tests=("checker/compile/test_widths",),
    ),
    Bug(
        "absorbed",
        "checker/symbolic/and_inverter_graph",
        "a wrong simplification of a and not (b and a)",
        "return self.both(a, -x)",
        "return self.both(a, x)",
    ),
    Bug(
        "stale_read",
        "checker/proofs/unbounded_abstraction",
        "a value read from an array without cells survives a write",
        "            self.read.pop(place.name, None)\n            return",
        "            return",
        tests=PROOFS,
    ),
    Bug(
        "any_over_open",
        "checker/proofs/unbounded_abstraction",
        "`any` and `all` over open domains are true",
        "return Truth(self.circuit.variable()) if is_truth",
        "return True if is_truth",
        tests=PROOFS,
    ),
    Bug(
        "loop_changes_nothing",
        "checker/proofs/unbounded_abstraction",
        "a loop over an open domain is taken to change no number",
        "signs if solver.check(-self.arithmetic.compare(sign, after, begun)) is Answer.NO",
        "signs if solver is not None",
        tests=PROOFS,
    ),
    Bug(
        "settings_fixed",
        "checker/proofs/unbounded_abstraction",
        "a proof for every length uses the given settings",
        "if name not in self.abstraction.open:",
        "if name not in self.abstraction.open or not self.instance.model.entries[name].is_bound:",
        tests=PROOFS,
    ),
    Bug(
        "order_of_readers",
        "checker/symbolic/bounded_model_checking",
        "a step is swapped with one that writes a cell that it reads",
        "and not own_reads & writes",
        "and True",
        tests=("checker/symbolic/test_bounded_model_checking", "checker/symbolic/test_evaluator"),
    ),
    Bug(
        "step_before",
        "checker/symbolic/transition_relation",
        "a property of steps is evaluated on the step before",
        "self.levels[depth - prop.of_steps].asked",
        "self.levels[max(0, depth - 2 * prop.of_steps)].asked",
    ),
    Bug(
        "start_not_asked",
        "checker/proofs/prove",
        "a claim need not be true in the initial states",
        "return None if self.base.holds(claim) else FALSE_INITIALLY",
        "return None",
        tests=PROOFS,
    ),
    Bug(
        "base_not_asked",
        "checker/proofs/prove",
        "a k-induction needs no base case",
        "if prop.name in self.found.proofs or prop.name in fails:",
        "if prop.name in self.found.proofs:",
        tests=PROOFS,
    ),
    Bug(
        "simple_paths_for_steps",
        "checker/proofs/prove",
        "a property of steps is proved over simple paths",
        "simple = [] if prop.of_steps else is_new",
        "simple = is_new",
        tests=PROOFS,
    ),
    Bug(
        "lost_claims_assumed",
        "checker/proofs/prove",
        "proofs of goals may assume claims that are not inductive",
        "preserved(system, goal, [*known, *left], deadline, report)",
        "preserved(system, goal, [*known, *claims], deadline, report)",
        tests=PROOFS,
    ),
    Bug(
        "any_cell_left",
        "checker/proofs/induction",
        "a step that changes not every cell preserves every claim",
        "is_left = all(step.after[cell] is self.abstraction.before[cell] for cell in cells)",
        "is_left = any(step.after[cell] is self.abstraction.before[cell] for cell in cells)",
        tests=PROOFS,
    ),
    Bug(
        "budget_asked_about",
        "checker/proofs/budget_independence",
        "a budget that a claim reads may be unlimited",
        "name in settings or fields & read:",
        "name in settings:",
        tests=("checker/proofs/test_proof_cache", *PROOFS),
    ),
    Bug(
        "stuck_too_soon",
        "checker/explicit/liveness",
        "transitions are followed backward for one step only",
        "        reached = np.unique(before[~possible[before]])",
        "        reached = before[:0]",
        tests=("checker/explicit/test_possible_states",),
    ),
    Bug(
        "never_stuck_at_a_dead_end",
        "checker/explicit/liveness",
        "a state whose successors are unknown counts as possible, a dead end included",
        "            kept += len(sources[-1])",
        "            kept += len(sources[-1])\n"
        "        possible[np.setdiff1d(waiting, np.concatenate([*sources, []]).astype(int))] = True",
        tests=("checker/explicit/test_possible_states",),
    ),
    Bug(
        "error_is_stuck",
        "checker/explicit/liveness",
        "a state in which the property cannot be evaluated can be stuck",
        "possible = (judged == 0) | (judged == judgement(EntryKind.ERRED))",
        "possible = judged == 0",
        tests=("checker/explicit/test_possible_states",),
    ),
    Bug(
        "computed_is_copied",
        "checker/reductions/reads",
        "a value that may leave the range of a dead cell counts as copied",
        "if into is None or layouts[field].low < layouts[into].low or layouts[field].high > layouts[into].high:",
        "if into is None:",
        tests=("checker/reductions/test_dead",),
    ),
    Bug(
        "ended_without_writing_anew",
        "checker/reductions/find",
        "cells are dead although the step that ends this does not write them",
        "return before if before and not any(self.is_anew(use, write) for use in uses) else frozenset()",
        "return frozenset()",
        tests=("checker/reductions/test_dead",),
    ),
    Bug(
        "a_loop_that_leaves_cells_out",
        "checker/reductions/find",
        "an `if` in a loop over the whole domain counts as writing every cell anew",
        "return all(is_whole[outer:]) and set(use.blocks[:outer]) <= set(write.blocks)",
        "return set(use.blocks[:outer]) <= set(write.blocks)",
        tests=("checker/reductions/test_dead",),
    ),
    Bug(
        "known_after_a_write",
        "checker/reductions/reads",
        "what a condition says of a cell that the step has written counts as known before the step",
        "if place[1] not in self.written and None not in place[2]:",
        "if None not in place[2]:",
        tests=("checker/reductions/test_dead",),
    ),
    Bug(
        "or_of_settings_is_a_truth_value",
        "models/language/interpreter",
        "`0 or 2` of settings is 1",
        "                break\n        return number",
        "                break\n        return int(bool(number))",
        tests=("checker/reductions/test_dead",),
    ),
    Bug(
        "steps_that_stay",
        "checker/explicit/liveness",
        "a step that changes nothing keeps a fair group enabled",
        "changes = before != after",
        "changes = before >= 0",
    ),
    Bug(
        "leaving_is_fair",
        "checker/explicit/walks",
        "a step that leaves a loop counts as one that the loop takes",
        "code.when(component[targets[at]] == own):",
        "code.when(component[targets[at]] >= 0):",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "premise_anywhere",
        "checker/explicit/liveness",
        "leads_to does not ask for its premise",
        "else premise[graph.nodes])",
        "else np.ones(graph.count, np.bool_))",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "permitted_breaks",
        "checker/explicit/liveness",
        "a loop through a permitted failure is a violation",
        "alive = ways.reached & ~permitted[graph.nodes]",
        "alive = ways.reached",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "strong_is_weak",
        "checker/explicit/liveness",
        "strong fairness is judged as weak fairness",
        "self.strong = self.row([group.is_strong for group in groups])",
        "self.strong = self.row([False for group in groups])",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "no_parts",
        "checker/explicit/liveness",
        "the components of what is left of an unfair component are not computed",
        "alive[nodes[(enabled == 0).all(axis=1)]] = True",
        "alive[nodes[:0]] = True",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "one_group",
        "checker/explicit/liveness",
        "only the first fair group is a requirement",
        "bits = [True] * (len(groups) + len(visits))",
        "bits = [not 0 < bit < len(groups) for bit in range(len(groups) + len(visits))]",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "condition_ignored",
        "checker/explicit/liveness",
        "a step counts even where its condition is false",
        "if group.condition is None or conditions",
        "if True or conditions",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "arguments_of_conditions",
        "checker/compile/kernel_code",
        "the last argument of a condition is taken for the first",
        "for choice in reversed(choices):\n            arguments",
        "for choice in choices:\n            arguments",
        tests=("models/test_tla_examples",),
    ),
    Bug(
        "strong_is_always_taken",
        "checker/explicit/liveness",
        "a lasso takes a step of every strongly fair group that its component enables",
        "missing += [bit + 64 * graph.half for bit in strong]",
        "pass",
        tests=("checker/liveness/test_fair_loops",),
    ),
    Bug(
        "fair_for_all_values",
        "models/fair_groups",
        "fairness for each value of a parameter is fairness for all of them together",
        "steps.setdefault(tuple(ordinals[place] for place in places), []).append(number)",
        "steps.setdefault(tuple(0 * ordinals[place] for place in places), []).append(number)",
        tests=("checker/liveness/test_liveness",),
    ),
)


def spoiled(bug: Bug, root: Path) -> str:
    """The text of the file with the bug in it. Raises ValueError unless the replaced text occurs exactly once."""
    path = root / f"{bug.file}.py"
    text = path.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        raise ValueError(
            f"{path}: {bug.name} replaces text that occurs {text.count(bug.old)} times; write the bug anew"
        )
    return text.replace(bug.old, bug.new)


def detection(bug: Bug, root: Path, seconds: int) -> str:
    """Plant a bug in a copy of the tree; return a line that says what finds it, or that begins with `not`."""
    path = root / f"{bug.file}.py"
    before, times = path.read_bytes(), path.stat()
    path.write_text(spoiled(bug, root), encoding="utf-8")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            found = _fuzzed(bug, root, Path(scratch), seconds)
            return found or _tested(bug, root, Path(scratch))
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _environment(scratch: Path) -> dict[str, str]:
    """Environment variables that put compiled code into a temporary cache, so that no code with a bug remains."""
    return {**os.environ, "ISRCHECK_CACHE": str(scratch / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}


def _fuzzed(bug: Bug, root: Path, scratch: Path, seconds: int) -> str:
    command = [sys.executable, "-m", "isrcheck.conformance.fuzz", "--seed", str(SEED), "--seconds", str(seconds)]
    command += ["--as-found", "--out", str(scratch / "found")]
    try:
        ended = subprocess.run(
            command, cwd=root, env=_environment(scratch), capture_output=True, text=True, timeout=seconds + GRACE
        )
    except subprocess.TimeoutExpired:
        return "fuzzer: an engine hangs"
    if ended.returncode == 0:
        return ""
    count = re.search(r": ([\d,]+) programs", ended.stdout)
    if count is None:
        lines = [*ended.stderr.strip().splitlines(), f"exit {ended.returncode}"]
        return f"fuzzer: an engine crashes ({lines[-1][:60]})"
    return f"fuzzer, after {count[1]} programs: {ended.stdout.partition(': ')[0]}"


def _tested(bug: Bug, root: Path, scratch: Path) -> str:
    if bug.tests:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *(f"conformance/tests/{name}.py" for name in bug.tests),
        ]
        ended = subprocess.run(command, cwd=root, env=_environment(scratch), capture_output=True, text=True)
        failed = re.search(r"^FAILED (\S+)", ended.stdout, re.MULTILINE)
        if failed is not None:
            return f"tests: {failed[1]}"
    return f"not noticed: {bug.hidden or 'the reason is unknown'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Test the fuzzer with the chosen bugs, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m isrcheck.conformance.fuzz.mutation", description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="time limit for each bug (default: %(default)s)")
    parser.add_argument("names", nargs="*", metavar="NAME", help="bugs (default: all)")
    options = parser.parse_args(arguments)
    chosen = [bug for bug in BUGS if not options.names or bug.name in options.names]
    is_well = True
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        shutil.copytree(ROOT, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache"))
        for bug in chosen:
            found = detection(bug, root, options.seconds)
            print(f"| {bug.file} | {bug.says} | {found} |", flush=True)
            is_well &= bool(bug.hidden) or not found.startswith("not")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
