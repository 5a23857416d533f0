"""Compares all engines with the plain search on one program: explorer, reference, formulas, Z3, proofs.

In:  a `Program`.
Out: a `Comparison`: the first `Difference`, if any, and the numbers of compared states and proofs.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any

import isrcheck
from conformance.tests.support.compared.representation import representation_differs
from conformance.tests.support.compared.symbolic import compare_all
from isrcheck.checker.compile.kernel import Kernel, Kernels
from isrcheck.checker.disk.engine import explore_on_disk
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.explicit.initial_states import generate_initial_states
from isrcheck.checker.reductions.find import dead_cells, symmetry_of
from isrcheck.checker.reductions.reduction import Reduction, Symmetry
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import BmcResult, Exploration, Findings, StepPath
from isrcheck.checker.symbolic.bounded_model_checking import ask_to_depth
from isrcheck.checker.symbolic.finite_integers import MOST_VALUES as ONE_HOT
from isrcheck.conformance.fuzz.collisions.permuted import permuted_differs
from isrcheck.conformance.fuzz.compare_proofs import proofs_differ
from isrcheck.conformance.fuzz.endless.fair_loops import MOST_TRIED, FairLoops
from isrcheck.conformance.fuzz.plain_search import (
    DEADLOCK,
    ERROR,
    OutOfRange,
    Path,
    PlainFinding,
    PlainProperty,
    PlainSearch,
    PlainSystem,
    order,
    search,
)
from isrcheck.conformance.fuzz.program import SECOND, Program, loaded
from isrcheck.conformance.fuzz.roles.bisimulation import alive, difference, random_states
from isrcheck.models import run
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import LanguageError, ModelError, UsageError
from isrcheck.models.run import Cells

MOST_DEPTH = 12
MOST_STATES = 250
"""The search of a program ends with the first level after which it has this many states."""

MOST_STEPS = 20_000
"""The approximate limit on transitions in a plain search: programs with many steps are searched less deep."""

ASKED_DEPTH = 3
"""The depth of bounded model checking with Z3."""

PRODUCT = File(isrcheck.__file__).parent
SAMPLE = 12
"""The number of reached states, and of random states, in which formulas are compared with the reference."""

MOST_VALUES = 100
"""The limit on the variables of all cells of a state together, above which Z3 is not run."""

MEMORY = 64 << 20

FEW_IN_MEMORY = 24
"""The states that a search on disk has in memory."""


@dataclass(frozen=True)
class Case:
    """One configuration of a program: the values that differ from the defaults, the protocol, swapped actions."""

    values: tuple[tuple[str, int], ...]
    protocol: str | None
    swaps: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Difference:
    """One disagreement: `kind` names the engine and what differs, and is the same for a shrunk program."""

    kind: str
    details: str


@dataclass
class Comparison:
    """The result for a program; `has_errors`: the program leaves a declared range."""

    differences: list[Difference] = field(default_factory=list)
    states: int = 0
    proofs: int = 0
    has_errors: bool = False


class Disagreement(Exception):
    """An engine disagrees with the plain search."""

    def __init__(self, kind: str, details: object) -> None:
        super().__init__(f"{kind}: {details}")
        self.difference = Difference(kind, " ".join(str(details).split())[:400])


def compare(program: Program) -> Comparison:
    """Compare all engines with the plain search, up to the first difference."""
    return _compared(program, _compare_cases)


def compare_dead_cells(program: Program) -> Comparison:
    """Compare random states that differ only in dead cells, up to the first difference: a small part of `compare`."""

    def compared(program: Program, model: Model, result: Comparison) -> None:
        others = {name: entry.most or 0 for name, entry in model.entries.items() if not entry.is_bound}
        for values in ({}, others):
            _dead_cells(model.instance(program.protocols[0], values), ())

    return _compared(program, compared)


def compare_functions(program: Program) -> Comparison:
    """Compare Python, the representation and the formulas in reached and in random states, up to the first difference:
    a part of `compare` that compiles nothing."""

    def compared(program: Program, model: Model, result: Comparison) -> None:
        for protocol in program.protocols:
            system, instance = PlainSystem(program, {}, protocol, {}), model.instance(protocol)
            if system.initial:
                plain = plain_search(system)
                _reference(instance, system, plain)
                _formulas(instance, plain)

    return _compared(program, compared)


def compare_symmetry(program: Program) -> Comparison:
    """Compare random states with their permutations, up to the first difference: a small part of `compare`."""

    def compared(program: Program, model: Model, result: Comparison) -> None:
        for protocol in program.protocols:
            _permuted(model.instance(protocol), PlainSystem(program, {}, protocol, {}), ())

    return _compared(program, compared)


def _compared(program: Program, compared: Callable[[Program, Model, Comparison], None]) -> Comparison:
    result = Comparison()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with loaded(program, File(folder)) as model:
                compared(program, model, result)
        except Disagreement as disagreement:
            result.differences.append(disagreement.difference)
        except LanguageError as error:
            result.differences.append(Difference(f"refused: {_without_names(str(error))}", str(error)))
        except Exception as error:
            details = f"{type(error).__name__}: {error} ({_where(error)})"
            result.differences.append(Difference(f"{_where(error)} raises {type(error).__name__}", details))
    return result


def _compare_cases(program: Program, model: Model, result: Comparison) -> None:
    kernels = Kernels()
    for number, case in enumerate(cases(program, model)):
        _compare_case(program, model, case, kernels, result, proves=number == 0)


def _without_names(message: str) -> str:
    """The message of a refusal without the position and the names in it."""
    return message.rpartition(": ")[2].partition(";")[0].split("`")[-1].strip()


def _where(error: BaseException) -> str:
    """The innermost file and function of the product that raised an error."""
    place, trace = "?", error.__traceback__
    while trace is not None:
        path = File(trace.tb_frame.f_code.co_filename)
        if PRODUCT in path.parents:
            place = f"{path.parent.name}/{path.name} {trace.tb_frame.f_code.co_name}"
        trace = trace.tb_next
    return place


def cases(program: Program, model: Model) -> Iterator[Case]:
    """The default configuration of each protocol, and one with other values that need no other kernel."""
    for protocol in program.protocols:
        yield Case((), protocol)
    chance = random.Random(len(model.entries))
    values = {}
    for name, entry in model.entries.items():
        if not entry.is_bound:
            most = entry.least + 3 if entry.most is None else min(entry.most, entry.least + 3)
            values[name] = chance.randint(entry.least, most)
    swaps: tuple[tuple[str, str], ...] = ()
    if SECOND in program.protocols:
        swaps = ((chance.choice([action.name for action in model.actions]), SECOND),)
    if values or swaps:
        yield Case(tuple(values.items()), program.protocols[0], swaps)


def _compare_case(
    program: Program, model: Model, case: Case, kernels: Kernels, result: Comparison, *, proves: bool
) -> None:
    values, swaps = dict(case.values), dict(case.swaps)
    system = PlainSystem(program, values, case.protocol, swaps)
    try:
        instance = model.instance(case.protocol, values, swaps)
    except UsageError as error:
        if not system.is_contradicted():
            raise Disagreement("the configuration is refused", error) from None
        return
    _expect("contradiction", system.is_contradicted(), False)
    compiled = model.instance(case.protocol, values, swaps)
    if not system.initial:
        _no_start(instance)
        if model.generators:
            _no_start(compiled, is_compiled=True)
        return
    _expect("initial states", instance.initial_states, tuple(system.initial))
    if model.generators:
        generate_initial_states(compiled, MEMORY, _unwatched)
        _expect("compiled initial states", compiled.initial_states, tuple(system.initial))
    _expect("steps", len(instance.steps), sum(step.python is not None for step in system.steps))
    plain = plain_search(system)
    result.states += len(plain.paths)
    result.has_errors |= plain.errors.count > 0
    _dead_cells(instance, sorted(plain.paths))
    _explorers(instance, system, plain, kernels)
    _permuted(instance, system, sorted(plain.paths))
    if proves:  # two kernels more are enough
        _reduced(instance, plain, kernels)
        _symmetric(instance, plain, kernels)
    _reference(instance, system, plain)
    _formulas(instance, plain)
    if not _is_narrow(instance):
        return
    _bounded(instance, plain)
    if proves and plain.is_all:
        difference, count = proofs_differ(program, model, instance, system, plain)
        result.proofs += count
        if difference is not None:
            raise Disagreement(*difference)


def _no_start(instance: Instance, *, is_compiled: bool = False) -> None:
    """Expect that an instance is refused if its constraints exclude every initial state, or if making one, or a
    constraint, leaves a declared range."""
    try:
        states = generate_initial_states(instance, MEMORY, _unwatched) if is_compiled else instance.initial_states
    except ModelError:
        return
    raise Disagreement("initial states", f"{tuple(states)!r} instead of none")


def _unwatched(count: int, size: int) -> None:
    """Watch nothing: the initial states of a program are few."""


def _is_narrow(instance: Instance) -> bool:
    """Whether Z3 can answer quickly: a number needs a variable for each value, or for each bit if it is wide."""
    ranges = ((place.count, place.high - place.low + 1) for place in instance.layouts.values())
    return sum(count * (size if size <= ONE_HOT else 32) for count, size in ranges) <= MOST_VALUES


def plain_search(system: PlainSystem) -> PlainSearch:
    """The plain search of a program, to a suitable depth."""
    return search(system, MOST_DEPTH, min(MOST_STATES, 1 + MOST_STEPS // (1 + len(system.steps))))


def _expect(kind: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise Disagreement(kind, f"{actual!r} instead of {expected!r}")


# ------------------------------------------------------------------------------------------------------- the explorer


def _explorers(instance: Instance, system: PlainSystem, plain: PlainSearch, kernels: Kernels) -> None:
    """Compare the explorer: complete searches on one and on two threads, and one that ends when all is decided."""
    judged = (FairLoops(system, plain, one) for one in system.endless if one.applies)
    loops = [one for one in judged if len(one.strong) <= MOST_TRIED]
    depth = None if plain.is_all else len(plain.levels) - 1
    kernel = kernels.of(instance)
    for threads in (1, 2):
        limits = Limits(depth, MEMORY, None, threads)
        who = f"explorer on {threads} threads"
        exploration = explore(instance, limits, count_all=True, kernel=kernel)
        _counts(who, instance, plain, exploration)
        _errors(who, exploration, plain, counts=True)
        _deadlock(who, exploration, plain, counts=True)
        for name in plain.found:
            _findings(f"{who}, {{}}", name, exploration, plain, counts=True)
        for one in loops:
            _endless(who, exploration, one, is_judged=plain.is_all and not system.constraints)
    _on_disk(instance, plain, kernel)
    who = "explorer, ending when decided"
    exploration = explore(instance, Limits(depth, MEMORY), kernel=kernel)
    _expect(f"{who}: levels", exploration.levels, plain.levels[: len(exploration.levels)])
    _errors(who, exploration, plain, counts=False)
    _deadlock(who, exploration, plain, counts=False)
    for name in plain.found:
        _findings(f"{who}: {{}}", name, exploration, plain, counts=False)


def _on_disk(instance: Instance, plain: PlainSearch, kernel: Kernel) -> None:
    """Compare a search on disk, with room for so few states in memory that it sorts and merges files."""
    depth = None if plain.is_all else len(plain.levels) - 1
    who = "explorer on disk"
    with tempfile.TemporaryDirectory() as folder:
        request = DiskRequest(File(folder) / "states", room=FEW_IN_MEMORY)
        exploration, _ = explore_on_disk(request, instance, Limits(depth, MEMORY), kernel, count_all=True)
    _counts(who, instance, plain, exploration)
    _errors(who, exploration, plain, counts=True)
    _deadlock(who, exploration, plain, counts=True)
    for name in plain.found:
        if name not in plain.possible:  # they are judged in memory only
            _findings(f"{who}, {{}}", name, exploration, plain, counts=True)


def _reduced(instance: Instance, plain: PlainSearch, kernels: Kernels) -> None:
    """Compare a search that clears dead cells: the same results at the same depths, in at most as many states."""
    reduction = Reduction(dead=dead_cells(instance))
    names = [prop.name for prop in instance.properties if prop.kind not in WHOLE]
    limits = Limits(None if plain.is_all else len(plain.levels) - 1, MEMORY)
    kernel = kernels.of(instance, reduction=reduction)
    exploration = explore(instance, limits, count_all=True, only=(*names, DEADLOCK), kernel=kernel, keep_states=True)
    who = f"explorer that clears {reduction.says}"
    assert exploration.reached is not None
    reached = exploration.reached.sample(exploration.distinct)
    if not plain.errors.count:
        left, all_left = ({alive(reduction.dead, cells) for cells in states} for states in (reached, plain.paths))
        _expect(f"{who}: reached", left, all_left)
    _expect(f"{who}: at most as many states", exploration.distinct <= sum(plain.levels), True)
    _same_steps(who, exploration, plain, names)


def _same_steps(who: str, exploration: Exploration, plain: PlainSearch, names: Sequence[str]) -> None:
    """Compare the depths at which a search and the plain search find each failure and deadlock."""
    for name in (*names, DEADLOCK):
        ours = exploration.findings.get(name, Findings())
        sides = [(ours.found, plain.deadlock if name == DEADLOCK else plain.found[name])]
        sides += [(ours.permitted, plain.permitted[name])] if name in names else []
        for one, expected in sides:
            steps = None if one.path is None else len(one.path.steps)
            _expect(f"{who}: {name}", steps, None if expected.path is None else len(expected.path[1]))


def _symmetric(instance: Instance, plain: PlainSearch, kernels: Kernels) -> None:
    """Compare a search of one state of each orbit, if elements can be exchanged: the same results at the same depths,
    and its orbits contain all states."""
    symmetry = None if instance.model.constraints else _symmetry(instance)
    if symmetry is None:
        return
    names = [prop.name for prop in instance.properties if prop.kind not in WHOLE]
    limits = Limits(None if plain.is_all else len(plain.levels) - 1, MEMORY)
    kernel = kernels.of(instance, reduction=Reduction(symmetry))
    exploration = explore(instance, limits, count_all=True, only=(*names, DEADLOCK), kernel=kernel, keep_states=True)
    who = "explorer with symmetry"
    if not plain.errors.count:
        assert exploration.reached is not None
        states = exploration.reached.sample(exploration.distinct)
        orbits = {symmetry.permuted(cells, images) for cells in states for images in symmetry.permutations}
        _expect(f"{who}: orbits", orbits, set(plain.paths))
    _same_steps(who, exploration, plain, names)


def _symmetry(instance: Instance) -> Symmetry | None:
    """The symmetry of an instance, if it has elements that can be exchanged."""
    try:
        return symmetry_of(instance)
    except UsageError:
        return None


def _permuted(instance: Instance, system: PlainSystem, reached: Sequence[Cells]) -> None:
    """Compare states with their permutations: some of those that are reached, and random ones."""
    symmetry = _symmetry(instance)
    if symmetry is None:
        return
    chance = random.Random(len(reached))
    states = [*chance.sample(reached, min(SAMPLE, len(reached))), *random_states(instance, chance)]
    details = permuted_differs(instance, system, symmetry, states, chance)
    if details:
        raise Disagreement("a permutation of symmetric elements decides something", details)


def _dead_cells(instance: Instance, reached: Sequence[Cells]) -> None:
    """Compare states that differ only in dead cells: some of those that are reached, and random ones."""
    chance = random.Random(len(reached))
    states = [*chance.sample(reached, min(SAMPLE, len(reached))), *random_states(instance, chance)]
    details = difference(instance, states, chance)
    if details:
        raise Disagreement("a dead cell decides something", details)


def _path(witness: StepPath) -> Path:
    return witness.initial, witness.steps


def _counts(who: str, instance: Instance, plain: PlainSearch, exploration: Exploration) -> None:
    _expect(f"{who}: levels", exploration.levels, plain.levels)
    _expect(f"{who}: distinct", exploration.distinct, sum(plain.levels))
    fired = {action.name: count for action, count in zip(instance.model.actions, exploration.fired, strict=True)}
    _expect(f"{who}: fired", fired, plain.fired)
    _expect(f"{who}: generated", exploration.generated, sum(plain.fired.values()))
    _expect(f"{who}: outside", exploration.outside, plain.outside)
    _expect(f"{who}: exhausted", exploration.exhausted, plain.is_all)
    new = dict.fromkeys(plain.fired, 0)
    last = len(plain.levels) - 1
    for _, steps in plain.paths.values():
        if steps and len(steps) <= last:
            new[instance.step(steps[-1]).action] += 1
    _expect(f"{who}: new", dict(zip(fired, exploration.new, strict=True)), new)


def _errors(who: str, exploration: Exploration | BmcResult, plain: PlainSearch, *, counts: bool) -> None:
    """Compare the errors in which the model leaves a declared range.

    `counts` is False for a search that evaluates no decided property and may have ended before an error.
    """
    expected = plain.errors.path if counts else _first_error_asked(plain)
    ours = exploration.findings.get(ERROR)
    if ours is None:
        if expected is not None and exploration.stopped != "decided":
            raise Disagreement(f"{who}: {ERROR}", f"nothing instead of {expected}")
        return
    path = None if ours.found.path is None else _path(ours.found.path)
    if path != expected or (counts and ours.found.count != plain.errors.count):
        details = f"{path}, {ours.found.count} times, instead of {expected}, {plain.errors.count} times"
        raise Disagreement(f"{who}: {ERROR}", details)
    for name, unjudged in plain.unjudged.items() if counts else ():
        erred: Any = exploration.findings[name].erred
        path = None if erred.path is None else _path(erred.path)
        if (path, erred.count) != (unjudged.path, unjudged.count):
            details = f"{name}: {path}, {erred.count} times, instead of {unjudged.path}, {unjudged.count} times"
            raise Disagreement(f"{who}: not evaluated", details)


def _deadlock(who: str, exploration: Exploration | BmcResult, plain: PlainSearch, *, counts: bool) -> None:
    """Compare the states without a step. `counts` as in `_errors`."""
    findings = exploration.findings.get(DEADLOCK, Findings())
    sides = [("deadlock", findings.found, plain.deadlock)]
    sides += [("end not judged", findings.erred, plain.unended)] if counts else []
    for what, ours, expected in sides:
        path = None if ours.path is None else _path(ours.path)
        if path is None and exploration.stopped == "decided":
            continue
        if path != expected.path or (counts and ours.count != expected.count):
            details = f"{path}, {ours.count} times, instead of {expected.path}, {expected.count} times"
            raise Disagreement(f"{who}: {what}", details)


def _first_error_asked(plain: PlainSearch) -> Path | None:
    """The first error that a search meets if it evaluates no property beyond the level that decides the property."""
    met = [plain.erring.path]
    if plain.unended.path is not None and not _is_before(plain.deadlock.path, plain.unended.path):
        met.append(plain.unended.path)
    for name, unjudged in plain.unjudged.items():
        decided, error = plain.found[name].path, unjudged.path
        if name in plain.possible:
            decided = None  # it is decided only after the search
        if error is not None and (decided is None or len(error[1]) <= len(decided[1])):
            met.append(error)
    return min((path for path in met if path is not None), key=order, default=None)


def _is_before(path: Path | None, other: Path) -> bool:
    """Whether a path is shorter than another."""
    return path is not None and len(path[1]) < len(other[1])


def _findings(who: str, name: str, exploration: Exploration, plain: PlainSearch, *, counts: bool) -> None:
    """Compare the findings on a property, permitted ones included."""
    if name not in exploration.findings:
        raise Disagreement(who.format("findings"), f"{name} is missing")
    both = exploration.findings[name]
    sides = [("found", both.found, plain.found[name])]
    if counts or plain.found[name].path is None:
        sides.append(("permitted", both.permitted, plain.permitted[name]))
    for what, ours, expected in sides:
        path = None if ours.path is None else _path(ours.path)
        if path != expected.path:
            raise Disagreement(who.format(what), f"{name}: {path} instead of {expected.path}")
        if counts and ours.count != expected.count:
            raise Disagreement(who.format(f"{what} count"), f"{name}: {ours.count} instead of {expected.count}")


def _endless(who: str, exploration: Exploration, loops: FairLoops, *, is_judged: bool) -> None:
    """Compare the findings on a liveness property with the states that fair behaviours repeat, and check each lasso."""
    name = loops.prop.name
    findings = exploration.findings[name]
    _expect(f"{who}: judges {loops.prop.kind}", not findings.unjudged, is_judged)
    expected = loops.loops if is_judged else None
    for is_permitted, ours in ((False, findings.found), (True, findings.permitted)):
        repeated = () if expected is None else expected.permitted if is_permitted else expected.violating
        _expect(f"{who}: {loops.prop.kind} repeats", (name, ours.count), (name, len(repeated)))
        _expect(f"{who}: {loops.prop.kind} has a lasso", ours.path is not None, bool(repeated))
        if ours.path is not None:
            wrong = loops.wrong(ours.path.initial, ours.path.steps, ours.path.loop, is_permitted=is_permitted)
            _expect(f"{who}: a lasso of {loops.prop.kind}", f"{name}: {wrong}", f"{name}: ")


# --------------------------------------------------------------------------------------- the reference and the formulas


def _reference(instance: Instance, system: PlainSystem, plain: PlainSearch) -> None:
    """Compare isrcheck.models.run and the representation in reached and in random states: every step and property."""
    chance = random.Random(len(plain.paths))
    properties = {prop.name: prop for prop in (*instance.properties, *instance.lemmas)}
    judged = [one for one in (*system.properties, *system.endless, *system.lemmas) if one.applies]
    _expect("reference: properties", sorted(properties), sorted(one.name for one in judged))
    states = chance.sample(sorted(plain.paths), min(SAMPLE, len(plain.paths)))
    states += [_in_order(instance, _random_state(instance, chance)) for _ in range(SAMPLE // 2)]
    of_states = [one for one in judged if not one.of_steps]
    of_steps = [one for one in judged if one.of_steps]
    for cells in states:
        differs = representation_differs(instance, cells)
        if differs is not None:
            raise Disagreement("representation", differs)
        for one in of_states:
            said = _answer(run.holds, instance, properties[one.name], cells)
            _same(said, _answer(system.ask, one, [cells], None), one, cells)
        for step in system.steps:
            ours = instance.step(step.number)
            expected, taken = _answer(system.take, cells, step), _answer(run.take, instance, cells, ours)
            if taken != expected:
                details = f"{instance.spell_step(ours)} from {cells}: {taken}, not {expected}"
                raise Disagreement("reference: a step", details)
            for one in of_steps if isinstance(expected, tuple) else ():
                said = _answer(run.holds_step, instance, properties[one.name], cells, ours, expected)
                _same(said, _answer(system.ask, one, [cells, expected], step.action), one, cells)


def _same(said: object, expected: object, prop: PlainProperty, cells: object) -> None:
    if said != expected:
        raise Disagreement("reference: a property", f"{prop.name} in {cells}: {said}, not {expected}")


def _answer(question: Callable[..., object], *arguments: object) -> object:
    """What a call returns, or ERROR if it leaves a declared range."""
    try:
        return question(*arguments)
    except (OutOfRange, ModelError):
        return ERROR


def _random_state(instance: Instance, chance: random.Random) -> tuple[int, ...]:
    places = instance.layouts.values()
    return tuple(chance.randint(place.low, place.high) for place in places for _ in range(place.count))


def _in_order(instance: Instance, cells: tuple[int, ...]) -> tuple[int, ...]:
    """A state with the elements of each queue in its first cells, as in all states of a program: as many in each part
    of a queue of records."""
    changed = list(cells)
    rows: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for place in instance.layouts.values():
        filler = None if place.field.contents is None else place.field.contents.filler
        if filler is not None:
            queue = place.name if place.field.outer != len(place.field.over) else place.name.partition(".")[0]
            for number, first in enumerate(range(place.offset, place.offset + place.count, place.sizes[-1])):
                rows.setdefault((queue, number), []).append((first, place.sizes[-1], filler))
    for parts in rows.values():
        elements = [[one for one in changed[first : first + size] if one != filler] for first, size, filler in parts]
        length = min(map(len, elements))
        for (first, size, filler), some in zip(parts, elements, strict=True):
            changed[first : first + size] = [*some[:length], *[filler] * (size - length)]
    return tuple(changed)


def _formulas(instance: Instance, plain: PlainSearch) -> None:
    """Compare the symbolic semantics with the reference, in reached and in random states."""
    chance = random.Random(len(plain.paths))
    states = chance.sample(sorted(plain.paths), min(SAMPLE, len(plain.paths)))
    states += [_random_state(instance, chance) for _ in range(SAMPLE)]
    try:
        compare_all(instance, states)
    except AssertionError as error:
        what = error.args[0] if error.args else "the relation"
        raise Disagreement("formulas", what) from None


def _bounded(instance: Instance, plain: PlainSearch) -> None:
    """Compare Z3's findings at every depth up to a small bound."""
    depth = min(ASKED_DEPTH, len(plain.levels) - (0 if plain.is_all else 1))
    does_err = plain.errors.path is not None and len(plain.errors.path[1]) <= depth
    answer = ask_to_depth(instance, Limits(depth))
    if does_err and ERROR in answer.findings:
        _errors("Z3", answer, plain, counts=False)
    _expect("Z3: stopped", answer.stopped in (None, "decided"), True)
    if answer.stopped is None:
        end = answer.findings.get(DEADLOCK, Findings()).found.path
        _depths("Z3: deadlock", DEADLOCK, end, _until(plain.deadlock, depth - 1), is_exact=True)
    for name, findings in answer.findings.items():
        if name in (ERROR, DEADLOCK) or findings.unjudged:
            continue
        is_goal = name in {prop.name for prop in instance.properties if prop.kind is Kind.SOMETIMES}
        expected = _until(plain.found[name], depth)
        _depths("Z3: found", name, findings.found.path, expected, is_exact=not is_goal)
        if expected is None:
            _depths("Z3: permitted", name, findings.permitted.path, _until(plain.permitted[name], depth), is_exact=True)


def _until(finding: PlainFinding, depth: int) -> Path | None:
    return finding.path if finding.path is not None and len(finding.path[1]) <= depth else None


def _depths(kind: str, name: str, witness: StepPath | None, expected: Path | None, *, is_exact: bool) -> None:
    path = None if witness is None else _path(witness)
    if not is_exact and path is not None and expected is not None:
        path, expected = (0, path[1][:0]), (0, expected[1][:0]) if len(path[1]) == len(expected[1]) else expected
    if path != expected:
        raise Disagreement(kind, f"{name}: {path} instead of {expected}")
