"""The results of one search (verdicts, trace files, results of further engines), as text and as a JSON object.

In:  an `Exploration` or a `BmcResult` with its verdicts and trace files; a `Part` from each further engine (Z3, Spark,
     proofs, ...).
Out: a `Run`; text for a terminal, and the object that `--json` prints for one run (documented in docs/json.md); a
     `CommandResult`, which the command prints.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from isrcheck.checker.results.exploration import BmcResult, Exploration
from isrcheck.checker.results.instance_facts import (
    actions_of,
    configuration_line,
    configuration_of,
    disabled_actions,
    faults_line,
    faults_of,
    identity_of,
    introduction,
    label_of,
)
from isrcheck.checker.results.terminal import counted, human_bytes, table, wrapped
from isrcheck.checker.results.verdict import WHY_STOPPED, Verdict, Word, overall
from isrcheck.commands.exit_codes import UNDECIDED
from isrcheck.models.language.declarations import LIVENESS, WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE
from isrcheck.traces.format.certify import possible_again_and_again
from isrcheck.traces.format.trace import Trace


class Part:
    """The results that one further engine adds to a run, with their lines in reports and their object in `--json`."""

    key: ClassVar[str]
    """The key of the part's object in the object of the run."""
    engine: ClassVar[str] = ""
    """The name of the engine of a run with this part; empty if the part does not determine it."""
    how: ClassVar[str] = ""
    """How the engine searches, in words; empty if `engine` is empty."""
    is_below_traces: ClassVar[bool] = False
    """Whether the lines of the part follow the list of traces."""

    @property
    def stopped(self) -> str | None:
        """Why the engine ended early; None if it did not end early."""
        return None

    @property
    def lost(self) -> str:
        """The message about a failure that cost the engine part of its results; empty if there was no failure."""
        return ""

    @property
    def counts_once(self) -> bool:
        """Whether the counts of steps are right: each step was counted once, and not several times."""
        return True

    @property
    def leaves_open(self) -> bool:
        """Whether a run that would pass without this part becomes UNDECIDED because of this part."""
        return False

    def lines(self, run: Run, /) -> list[str]:
        """The lines of this part in the detailed results of a run."""
        raise NotImplementedError

    def screen_lines(self, _run: Run, _width: int, /) -> list[str]:
        """The lines of this part in the short results that a terminal of this width shows."""
        return []

    def undecided(self, _run: Run, /) -> str:
        """Why the run is undecided although the search was not cut short; empty if this part is not the reason."""
        return ""

    def as_object(self, run: Run, /) -> Any:
        """The object of this part in the `--json` output."""
        raise NotImplementedError


PartKind = TypeVar("PartKind", bound=Part)

WITHOUT_PARTS = {"proofs": None, "z3": None, "spark": None, "disk": None}
"""The parts that the object of every run has, with the value for a run without the part."""


@dataclass(frozen=True)
class Run:
    """One search with its results: verdicts, trace files, and what further engines add."""

    exploration: Exploration | BmcResult
    verdicts: Sequence[Verdict]
    command: str
    """The command that repeats the search."""
    counted_all: bool = False
    """Whether all violating states were counted."""
    traces: Mapping[str, Path] = field(default_factory=dict)
    """The trace file of each property, and in `histories` the trace itself."""
    histories: Mapping[str, Trace] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    """The parts of further engines, in the order in which they ran."""

    def part(self, kind: type[PartKind]) -> PartKind | None:
        """The part of the class `kind`; None if the engine that adds such a part did not run."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    @property
    def explored(self) -> Exploration:
        """The result of the explorer. Raises AssertionError if only Z3 ran."""
        assert isinstance(self.exploration, Exploration), "only Z3 ran"
        return self.exploration

    @property
    def engine(self) -> str:
        """The engine of the search: local, z3, all or spark."""
        usual = "z3" if isinstance(self.exploration, BmcResult) else "local"
        return next((part.engine for part in self.parts if part.engine), usual)

    @property
    def counts_once(self) -> bool:
        """Whether each step was counted once; a search on Spark can count a step several times."""
        return all(part.counts_once for part in self.parts)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search, or one of the further engines."""
        return "interrupt" in (self.exploration.stopped, *(part.stopped for part in self.parts))

    def show(self, path: Path) -> str:
        """Return the command that shows a trace file."""
        own = ["--model", self.command_words[1]] if self.command_words[1].endswith(".py") else []
        return shlex.join(["trace", "show", str(path), *own])

    @property
    def command_words(self) -> list[str]:
        """The command that repeats the search, as a list of words."""
        return shlex.split(self.command)

    @property
    def word(self) -> Word:
        """The gravest verdict of the run; UNDECIDED if the search passes, but `Part.leaves_open` is true for a part."""
        word = overall(self.verdicts, is_complete=self.exploration.is_complete)
        is_open = word in (Word.NO_VIOLATION, Word.HOLDS) and any(part.leaves_open for part in self.parts)
        return Word.UNDECIDED if is_open else word


@dataclass(frozen=True)
class Z3Agreement(Part):
    """What `--engine all` adds: Z3's result for the instance. To the depth that both engines reached, they agree."""

    key: ClassVar[str] = "z3"
    engine: ClassVar[str] = "all"
    how: ClassVar[str] = "breadth first, and by Z3"

    result: BmcResult

    @property
    def stopped(self) -> str | None:
        """Why Z3 ended early; None if it did not end early."""
        return self.result.stopped

    def lines(self, run: Run, /) -> list[str]:
        """The lines in the detailed results: how far the engines agree, and how far Z3 has checked."""
        return ["", self._agreement(run), *unrolled_lines(self.result)]

    def screen_lines(self, run: Run, width: int, /) -> list[str]:
        """The line about the depth to which the engines agree, wrapped to this width."""
        return ["", *wrapped(self._agreement(run), width)]

    def _agreement(self, run: Run) -> str:
        depth = min(self.result.judged, run.exploration.judged)
        if depth < 0:
            return "there is nothing to compare"
        unjudged = [name for name, findings in self.result.findings.items() if findings.unjudged]
        kinds = {v.prop.kind.value for v in run.verdicts if v.prop.name in unjudged}
        left = f", except {', '.join(unjudged)}: Z3 does not judge {' and '.join(sorted(kinds))}" if unjudged else ""
        return f"the engines agree on every property to depth {depth}{left}"

    def undecided(self, _run: Run, /) -> str:
        """Why Z3 was cut short, and to which depth the engines agree; empty if Z3 was not cut short."""
        if self.result.is_complete:
            return ""
        judged = self.result.judged
        far = f"the engines agree to depth {judged}" if judged >= 0 else "no depth was checked"
        return f"Z3: {WHY_STOPPED.get(self.result.stopped or '', '')}; {far}"

    def as_object(self, _run: Run, /) -> dict[str, Any]:
        """The object under `z3` in the `--json` output."""
        return {
            "judged_to_depth": self.result.judged,
            "seconds": round(self.result.seconds, 3),
            "stopped": self.result.stopped,
            "refusal": None,  # a part of the format; no model is refused since Z3 reads the representation
        }


# ------------------------------------------------------------------------------------------------------------ as text


def totals(exploration: Exploration, *, counts_once: bool = True) -> list[str]:
    """Return lines about a search: states, depth, speed, memory, and, if `counts_once`, the successors per state."""
    if not exploration.has_begun:
        return [f"the search did not begin: {WHY_STOPPED[exploration.stopped or 'interrupt']}"]
    seconds = max(exploration.seconds, 1e-9)
    reach = f"{counted(exploration.frontier, 'state')} not expanded"
    if exploration.exhausted:
        reach = "no state is left to expand"
    if exploration.stopped in WHY_STOPPED:
        reach = f"{WHY_STOPPED[exploration.stopped]}; {reach}"
    elif exploration.stopped == "decided":
        reach = f"every property is decided; {reach}"
    if exploration.outside:
        reach += f"; {counted(exploration.outside, 'step')} to states outside the constraint"
    degree = f"; {exploration.generated / max(1, exploration.distinct - exploration.frontier):.1f} successors a state"
    size = human_bytes(exploration.bytes_used)
    if exploration.distinct > 1 << 16:
        size += f", {exploration.bytes_used / exploration.distinct:.0f} bytes a state"
    counts = f"{counted(exploration.distinct, 'distinct state')}, {exploration.generated:,} generated"
    rates = f"{exploration.generated / seconds:,.0f} generated/s, {exploration.distinct / seconds:,.0f} distinct/s"
    return [
        f"{counts}, {counted(len(exploration.levels), 'level')} (judged to depth {exploration.judged}; {reach})",
        f"{exploration.seconds:.2f} s: {rates}; {size}{degree if counts_once else ''}"
        f"; {exploration.generated_with_initial:,} generated with the initial states",
    ]


def property_lines(run: Run) -> list[str]:
    """Return a line for each property: its verdict, and the number of failing states or transitions."""
    is_counted = run.engine != "z3" and run.counts_once
    rows = [[label_of(v.prop), v.text, *(_counted(run, v) if is_counted else ("", ""))] for v in run.verdicts]
    return [*table(rows, right=frozenset({2})), *range_lines(run.verdicts)]


def _counted(run: Run, verdict: Verdict) -> tuple[str, str]:
    prop, count = verdict.prop, verdict.violating
    if not count or prop.kind is Kind.SOMETIMES:
        return "", ""
    unit = "errors" if prop is IN_RANGE else "transitions" if prop.of_steps else "states"
    if prop.kind is Kind.ALWAYS_POSSIBLE:
        unit = "stuck states" if count > 1 else "stuck state"
    elif prop.kind in LIVENESS:
        unit = "states that can go on for ever" if count > 1 else "state that can go on for ever"
    elif not run.counted_all:
        unit += " up to that depth"
    return f"{count:,}", unit


def range_lines(judged: Sequence[Verdict]) -> list[str]:
    """Return a line with the error message and the step, if a value left its declared range; otherwise no line."""
    return [f"  {v.note} (step {v.depth})" for v in judged if v.prop is IN_RANGE]


def action_lines(exploration: Exploration) -> list[str]:
    """Return a line for each action: how often the action fired, and how many new states it reached."""
    counts = [
        [name, f"{exploration.fired[slot]:,}", f"{exploration.new[slot]:,}"]
        for slot, name in actions_of(exploration.instance)
    ]
    return table([["action", "fired", "new states"], *counts], right=frozenset({1, 2}))


def never_fired(exploration: Exploration) -> list[str]:
    """Return the actions that no explored state enables, except those that the configuration disables."""
    off = disabled_actions(exploration.instance)
    return [name for slot, name in actions_of(exploration.instance) if not exploration.fired[slot] and slot not in off]


def search_summary(run: Run) -> tuple[str, str, str]:
    """Return the configuration, the considered faults, and the kind and bound of a search, each as text."""
    instance, limits = run.exploration.instance, run.exploration.limits
    usual = "Z3, depth by depth" if isinstance(run.exploration, BmcResult) else "breadth first"
    how = next((part.how for part in run.parts if part.how), usual)
    bound = "every behaviour of any length"
    if limits.depth is not None:
        bound = f"every behaviour of at most {counted(limits.depth, 'step')}"
    starts = counted(len(instance.initial_states), "initial state") if instance.is_enumerated else "initial states"
    search = f"{how}, {bound}, from {starts}{'' if instance.is_enumerated else ' (not all were enumerated)'}"
    search += "" if limits.deadlock else "; deadlocks are not reported"
    return configuration_line(instance), faults_line(instance), search


def text(run: Run) -> str:
    """Return the detailed results of one search as text; the verdict is the last line."""
    exploration = run.exploration
    configuration, faults, search = search_summary(run)
    lines = [introduction(exploration.instance), "", f"configuration  {configuration}"]
    lines += [f"faults         {faults}", f"search         {search}"]
    if isinstance(exploration, Exploration) and exploration.reduction:
        lines.append(f"reduction      {exploration.reduction}")
    lines += ["", *property_lines(run), ""]
    lines += unrolled_lines(exploration) if isinstance(exploration, BmcResult) else _explored(run)
    lines += [line for part in run.parts if not part.is_below_traces for line in part.lines(run)]
    if run.traces:
        lines += ["", *table([[name, run.show(path)] for name, path in run.traces.items()])]
    lines += [line for part in run.parts if part.is_below_traces for line in part.lines(run)]
    return "\n".join([*lines, "", verdict_line(run)])


def unrolled_lines(unrolled: BmcResult) -> list[str]:
    """Return lines about a search by Z3: the depth to which it checked, and the seconds for each depth."""
    if unrolled.judged < 0:
        return [f"{unrolled.solver}: no depth was checked"]
    far = "no behaviour is longer" if unrolled.exhausted else "there are longer behaviours"
    times = " ".join(f"{seconds:.2f}" for seconds in unrolled.times)
    return [
        f"{unrolled.solver}: checked every depth to {unrolled.judged} ({far}); {unrolled.nodes:,} nodes",
        f"{unrolled.seconds:.2f} s; by depth: {times}",
    ]


def _explored(run: Run) -> list[str]:
    exploration, instance = run.explored, run.exploration.instance
    if not exploration.has_begun:
        return totals(exploration)
    lines = [*action_lines(exploration), "", *totals(exploration, counts_once=run.counts_once)]
    off = [instance.model.actions[slot].name for slot in sorted(disabled_actions(instance))]
    if off:
        lines.append(f"disabled by the configuration: {', '.join(off)}")
    silent = never_fired(exploration)
    if silent and exploration.stopped != "decided":
        lines.append(f"warning: never fired in this search: {', '.join(silent)}")
    return lines


def _possible_steps(run: Run, failing: Sequence[Verdict]) -> str:
    """A note on the fair steps that behaviours without these properties never take, although the steps are possible in
    them again and again; empty if there is no such step."""
    traces = [run.histories[verdict.prop.name] for verdict in failing if verdict.prop.name in run.histories]
    names = dict.fromkeys(name for trace in traces for _, name in possible_again_and_again(trace))
    return f", and never takes a step that is possible again and again: {'; '.join(names)}" if names else ""


def verdict_line(run: Run) -> str:
    """Return one line: the overall verdict of a run, and the properties or the reason that explain this verdict."""
    exploration = run.exploration
    failing = [v for v in run.verdicts if v.word is run.word and v.prop.kind is not Kind.SOMETIMES]
    names = ", ".join(f"{v.prop.name} at step {v.depth}" for v in failing if v.depth is not None)
    match run.word:
        case Word.VIOLATED:
            if all(v.prop is DEADLOCK for v in failing):
                return f"VIOLATED: {names}: no step is enabled there, and no @terminal is true"
            stuck = all(v.prop.kind is Kind.ALWAYS_POSSIBLE for v in failing)
            why = "from there, no path leads to a state in which it is true" if stuck else ""
            if all(v.prop.kind in LIVENESS for v in failing):
                why = f"a fair behaviour goes on for ever without it{_possible_steps(run, failing)}"
            return f"VIOLATED: {names}{f': {why}' if why else ''}"
        case Word.PERMITTED:
            return f"PERMITTED: {names}: this configuration makes no promise for these behaviours{_unproved(run)}"
        case Word.UNREACHABLE:
            missing = ", ".join(v.prop.name for v in run.verdicts if v.word is Word.UNREACHABLE)
            return f"UNREACHABLE: {missing}: the model must be able to reach such a state, but cannot"
        case Word.UNDECIDED:
            return _undecided(run)
        case Word.PROVED:
            return "PROVED: every property holds at every depth; the basis of each proof is given above"
        case Word.NOT_APPLICABLE:
            partly = f"searched to depth {exploration.judged}; longer behaviours were not searched"
            why = "no property applies under this configuration" if run.verdicts else "the model has no property"
            return f"n/a: {why}; {EXHAUSTED if exploration.exhausted else partly}"
        case Word.NO_VIOLATION:
            fails = f"no behaviour of at most {counted(exploration.judged, 'step')} breaks a property"
            return f"NO VIOLATION TO DEPTH {exploration.judged}: {fails}; {NOT_LONGER}{_unproved(run)}"
        case _ if exploration.exhausted:
            return f"HOLDS: no behaviour breaks a property, however long: {EXHAUSTED}{_unproved(run)}"
        case _:
            missing = ", ".join(v.prop.name for v in run.verdicts if v.word is Word.NOT_REACHED)
            if missing:
                far = f"no behaviour of at most {counted(exploration.judged, 'step')} reaches it"
                return f"NOT REACHED TO DEPTH {exploration.judged}: {missing}: {far}; {NOT_LONGER}"
            return "REACHED: every `sometimes` property was reached; not every state was searched"


EXHAUSTED = "every state that can be reached within these bounds was searched"
NOT_LONGER = "longer ones were not searched"


def _undecided(run: Run) -> str:
    exploration = run.exploration
    if not exploration.is_complete:
        far = "nothing was searched"
        if exploration.judged >= 0:
            steps = counted(exploration.judged, "step")
            far = f"only behaviours of at most {steps} were searched; a longer one may break a property"
        return f"UNDECIDED: {WHY_STOPPED.get(exploration.stopped or '', '')}; {far}"
    further = next(filter(None, (part.undecided(run) for part in run.parts)), "")
    unjudged = [f"{verdict.prop.name}: {verdict.note}" for verdict in run.verdicts if verdict.word is Word.UNDECIDED]
    return f"UNDECIDED: {further or '; '.join(unjudged)}"


def _unproved(run: Run) -> str:
    names = [verdict.prop.name for verdict in run.verdicts if verdict.is_unproved]
    return f"; not proved: {', '.join(names)}" if names else ""


# --------------------------------------------------------------------------------------------------------- as an object


def as_object(run: Run) -> dict[str, Any]:
    """Return the object that stands for one run in the list `runs` of the `--json` output."""
    exploration = run.exploration
    instance = exploration.instance
    return {
        **identity_of(instance),
        "bound": exploration.limits.depth,
        "engine": run.engine,
        "configuration": configuration_of(instance),
        **(_explored_object(exploration) if isinstance(exploration, Exploration) else {"nodes": exploration.nodes}),
        "exhausted": exploration.exhausted,
        "stopped": exploration.stopped,
        "judged_to_depth": exploration.judged,
        "seconds": round(exploration.seconds, 3),
        "properties": [_property_object(run, verdict) for verdict in run.verdicts],
        **WITHOUT_PARTS,
        "faults": faults_of(instance),
        "counterexamples": [],
        **{part.key: part.as_object(run) for part in run.parts},
        "command": run.command,
        "verdict": run.word.value,
    }


def _explored_object(exploration: Exploration) -> dict[str, Any]:
    return {
        "distinct": exploration.distinct,
        "generated": exploration.generated,
        "generated_with_initial": exploration.generated_with_initial,
        "outside": exploration.outside,
        "levels": len(exploration.levels),
        "states_per_level": list(exploration.levels),
        "frontier": exploration.frontier,
        "reduction": exploration.reduction or None,
        "bytes": exploration.bytes_used,
        "actions": {
            name: {"fired": exploration.fired[slot], "new": exploration.new[slot]}
            for slot, name in actions_of(exploration.instance)
        },
    }


def _property_object(run: Run, verdict: Verdict) -> dict[str, Any]:
    trace = run.traces.get(verdict.prop.name)
    permitted = verdict.permitted.path.depth if verdict.permitted and verdict.permitted.path else None
    permitted_trace = run.traces.get(f"{verdict.prop.name} (permitted)")
    is_unjudged = verdict.prop.kind in WHOLE and verdict.word is Word.UNDECIDED
    return {
        "name": verdict.prop.name,
        "kind": verdict.prop.kind.value,
        "verdict": verdict.word.value,
        "depth": verdict.depth,
        "violating": verdict.violating,
        **({"message": verdict.note} if verdict.prop is IN_RANGE or is_unjudged else {}),
        **({} if verdict.path is None or verdict.path.loop is None else {"loop": verdict.path.loop}),
        "trace": str(trace) if trace else None,
        "permitted_depth": permitted,
        "permitted_trace": str(permitted_trace) if permitted_trace else None,
    }


# --------------------------------------------------------------------------------------------------- of a whole command


@dataclass(frozen=True)
class CommandResult:
    """What a command returns: its result as text and as a JSON object, and its exit code."""

    text: str
    content: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    """The JSON object; or a function that builds it, if it is large, because only --json needs it."""
    code: int
    failure: str = ""
    """The message if a file could not be written."""
    is_interrupted: bool = False
    """Whether Ctrl-C ended the command early."""
    found: object = None
    """The input of the report (checker/reports/gather.py); None if this form has no report."""
    details: str = ""
    """The text with every table and count, which ends in the verdict; empty if `text` is already this text."""

    @classmethod
    def without_answer(cls, why: str) -> CommandResult:
        """Return the result of a command that reached a limit before it found anything; `why` names the limit."""
        content = {"runs": [], "verdict": Word.UNDECIDED.value, "why": why}
        return cls(f"{Word.UNDECIDED.value}: {why}", content, UNDECIDED)
