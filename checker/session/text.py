"""The results of one search as text and as an object.

In:  an `Exploration` with its verdicts and trace files.
Out: text for a terminal, and the object that `--json` prints for one run (documented in docs/json.md).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isrcheck.checker.disk.summary import DiskSummary, disk_lines, disk_object
from isrcheck.checker.outcome.bmc_result import BmcResult
from isrcheck.checker.outcome.causes import DistinctCauses
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Verdict, Word, overall
from isrcheck.checker.session import proof_text
from isrcheck.checker.session.causes_text import different_lines, different_object
from isrcheck.checker.session.disabled_actions import disabled_actions
from isrcheck.checker.session.formatting import counted, human_bytes, table
from isrcheck.checker.session.naming import configuration_of, faults_line, faults_of, title
from isrcheck.checker.session.proof_text import Proving
from isrcheck.checker.spark.summary import SparkSummary, spread_lines, spread_object
from isrcheck.models.language.declarations import LIVENESS, WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE
from isrcheck.traces.format.trace import Trace


@dataclass(frozen=True)
class Run:
    """One search with its results; `traces` maps properties to trace files, `histories` to the traces themselves, and
    `command` repeats the search.

    `counted_all` is True if all violating states were counted. If requested, `proving` are the proofs, `second` is the
    result of Z3, `spread` the summary of Spark, `disk` that of a search on disk, and `different` the counterexamples
    with different causes.
    """

    exploration: Exploration | BmcResult
    verdicts: Sequence[Verdict]
    command: str
    counted_all: bool = False
    traces: Mapping[str, Path] = field(default_factory=dict)
    histories: Mapping[str, Trace] = field(default_factory=dict)
    proving: Proving | None = None
    second: BmcResult | None = None
    spread: SparkSummary | None = None
    disk: DiskSummary | None = None
    different: Sequence[DistinctCauses] = ()

    @property
    def explored(self) -> Exploration:
        """The result of the explorer. Raises AssertionError if only Z3 ran."""
        assert isinstance(self.exploration, Exploration), "only Z3 ran"
        return self.exploration

    @property
    def engine(self) -> str:
        """The engine of the search: local, z3, all or spark."""
        if self.spread is not None:
            return "spark"
        return "z3" if isinstance(self.exploration, BmcResult) else "local" if self.second is None else "all"

    @property
    def counts_once(self) -> bool:
        """Whether every step was counted once; parts of a search on Spark can count the same step several times."""
        return self.spread is None or not self.spread.parts_overlap

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
        """The gravest verdict of the run; UNDECIDED if nothing fails but the requested proofs were cut short."""
        word = overall(self.verdicts, is_complete=self.exploration.is_complete)
        is_cut = self.proving is not None and self.proving.proofs.stopped is not None
        return Word.UNDECIDED if is_cut and word in (Word.NO_VIOLATION, Word.HOLDS) else word


def totals(exploration: Exploration, *, counts_once: bool = True) -> list[str]:
    """Return lines with the size, the depth, the speed and the memory of a search."""
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
    rows = []
    for verdict in run.verdicts:
        is_counted = verdict.violating and run.engine != "z3" and run.counts_once
        count = f"{verdict.violating:,}" if is_counted else ""
        unit = ""
        if is_counted and verdict.prop.kind is not Kind.SOMETIMES:
            unit = "errors" if verdict.prop is IN_RANGE else "transitions" if verdict.prop.of_steps else "states"
            if verdict.prop.kind is Kind.ALWAYS_POSSIBLE:
                unit = "stuck states" if verdict.violating > 1 else "stuck state"
            elif verdict.prop.kind in LIVENESS:
                unit = "states that can go on for ever" if verdict.violating > 1 else "state that can go on for ever"
            elif not run.counted_all:
                unit += " up to that depth"
        is_sought = verdict.prop.kind is Kind.SOMETIMES
        rows.append(
            [("sometimes " if is_sought else "") + verdict.prop.name, verdict.text, "" if is_sought else count, unit]
        )
    return [*table(rows, right=frozenset({2})), *range_lines(run.verdicts)]


def range_lines(found: Sequence[Verdict]) -> list[str]:
    """Return the message of the reference semantics if a value left its declared range."""
    return [f"  {one.note} (step {one.depth})" for one in found if one.prop is IN_RANGE]


def action_lines(exploration: Exploration) -> list[str]:
    """Return a line for each action: how often the action fired, and how many new states it reached."""
    rows = [["action", "fired", "new states"]]
    for slot, model_slot in enumerate(exploration.instance.model.actions):
        if exploration.instance.alternatives[slot] is not None:
            rows.append([model_slot.name, f"{exploration.fired[slot]:,}", f"{exploration.new[slot]:,}"])
    return table(rows, right=frozenset({1, 2}))


def never_fired(exploration: Exploration) -> list[str]:
    """Return the actions that no explored state enables, except those that the configuration disables."""
    off = disabled_actions(exploration.instance)
    return [
        slot.name
        for number, slot in enumerate(exploration.instance.model.actions)
        if exploration.instance.alternatives[number] is not None and not exploration.fired[number] and number not in off
    ]


def trace_lines(run: Run) -> list[str]:
    """Return a line for each trace: its property, and the command that shows the trace."""
    rows = [[name, run.show(path)] for name, path in run.traces.items()]
    return table(rows)


def search_summary(run: Run) -> tuple[str, str, str]:
    """Return the configuration, the considered faults, and the kind and bound of a search, each as text."""
    instance, limits = run.exploration.instance, run.exploration.limits
    how = {
        "local": "breadth first",
        "z3": "Z3, depth by depth",
        "all": "breadth first, and by Z3",
        "spark": "breadth first on Spark",
    }[run.engine]
    bound = "every behaviour of any length"
    if limits.depth is not None:
        bound = f"every behaviour of at most {counted(limits.depth, 'step')}"
    configuration = ", ".join(f"{name}={value}" for name, value in configuration_of(instance).items())
    starts = counted(len(instance.initial_states), "initial state") if instance.is_enumerated else "initial states"
    search = f"{how}, {bound}, from {starts}{'' if instance.is_enumerated else ' (not all were enumerated)'}"
    search += "" if limits.deadlock else "; deadlocks are not reported"
    return configuration or "nothing to configure", faults_line(instance), search


def reduction_lines(exploration: Exploration | BmcResult) -> list[str]:
    """Return the line that says which states stand for others, if there is something to say."""
    if not isinstance(exploration, Exploration) or not exploration.reduction:
        return []
    return [f"reduction      {exploration.reduction}"]


def text(run: Run) -> str:
    """Return the detailed results of one search as text; the verdict is the last line."""
    exploration = run.exploration
    instance = exploration.instance
    documentation = instance.model.documentation.splitlines()
    configuration, faults, search = search_summary(run)
    lines = [
        f"{title(instance)}: {documentation[0] if documentation else ''}",
        "",
        f"configuration  {configuration}",
        f"faults         {faults}",
        f"search         {search}",
        *reduction_lines(exploration),
        "",
        *property_lines(run),
        "",
    ]
    if isinstance(exploration, BmcResult):
        lines += proof_text.unrolled_lines(exploration)
    else:
        lines += _explored(run)
    if run.spread is not None:
        lines += spread_lines(run.spread, run.explored.distinct)
    if run.disk is not None:
        lines += disk_lines(run.disk, run.explored)
    if run.second is not None:
        lines += ["", agreement_line(run), *proof_text.unrolled_lines(run.second)]
    if run.proving is not None:
        lines += ["", *proof_text.lines(run.proving)]
    if run.traces:
        lines += ["", *trace_lines(run)]
    lines += [*different_lines(run.different, run.show), *causes_not_compared(run), "", verdict_line(run)]
    return "\n".join(lines)


def agreement_line(run: Run) -> str:
    """Return to which depth the explorer and Z3 agree, and which properties Z3 does not judge."""
    assert run.second is not None, "both engines ran"
    far = min(run.second.judged, run.exploration.judged)
    if far < 0:
        return "there is nothing to compare"
    alone = [name for name, one in run.second.findings.items() if one.unjudged]
    kinds = {v.prop.kind.value for v in run.verdicts if v.prop.name in alone}
    unasked = f", except {', '.join(alone)}: Z3 does not judge {' and '.join(sorted(kinds))}" if alone else ""
    return f"the engines agree on every property to depth {far}{unasked}"


def causes_not_compared(run: Run) -> list[str]:
    """Return a line for each failure of which several counterexamples were requested and only the first is found."""
    if "--counterexamples" not in run.command_words:
        return []
    return [
        f"{one.prop.name}: only the first counterexample; causes of {one.prop.kind.value} are not compared"
        for one in run.verdicts
        if one.prop.kind in WHOLE and one.failing_paths
    ]


def _explored(run: Run) -> list[str]:
    """Return the results of the explorer as lines: actions, totals and warnings."""
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


def verdict_line(run: Run) -> str:
    """Return the overall verdict as one line."""
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
                why = "a fair behaviour goes on for ever without it"
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
            far = (
                EXHAUSTED
                if exploration.exhausted
                else f"searched to depth {exploration.judged}; longer behaviours were not searched"
            )
            why = "no property applies under this configuration" if run.verdicts else "the model has no property"
            return f"n/a: {why}; {far}"
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
    """Return the verdict line if the search, the check with Z3 or the proofs were cut short."""
    exploration = run.exploration
    if not exploration.is_complete:
        why = WHY_STOPPED.get(exploration.stopped or "", "")
        far = "nothing was searched"
        if exploration.judged >= 0:
            far = (
                f"only behaviours of at most {counted(exploration.judged, 'step')} were searched;"
                " a longer one may break a property"
            )
        return f"UNDECIDED: {why}; {far}"
    if run.second is not None and not run.second.is_complete:
        why = WHY_STOPPED.get(run.second.stopped or "", "")
        far = f"the engines agree to depth {run.second.judged}" if run.second.judged >= 0 else "no depth was checked"
        return f"UNDECIDED: Z3: {why}; {far}"
    unjudged = [f"{one.prop.name}: {one.note}" for one in run.verdicts if one.word is Word.UNDECIDED]
    if unjudged:
        return f"UNDECIDED: {'; '.join(unjudged)}"
    stopped = run.proving.proofs.stopped if run.proving is not None else None
    why = WHY_STOPPED.get(stopped or "", "")
    return f"UNDECIDED: the proofs were cut short: {why}; no violation to depth {exploration.judged}"


def _unproved(run: Run) -> str:
    names = [verdict.prop.name for verdict in run.verdicts if verdict.is_unproved]
    return f"; not proved: {', '.join(names)}" if names else ""


def as_object(run: Run) -> dict[str, Any]:
    """Return the object of one run, as listed under `runs` in the `--json` output."""
    exploration = run.exploration
    instance = exploration.instance
    return {
        "model": instance.model.name,
        "protocol": instance.protocol.name or None,
        "swaps": dict(instance.swaps),
        "digest": instance.model.digest,
        "bound": exploration.limits.depth,
        "engine": run.engine,
        "configuration": configuration_of(instance),
        **(_explored_object(exploration) if isinstance(exploration, Exploration) else {"nodes": exploration.nodes}),
        "exhausted": exploration.exhausted,
        "stopped": exploration.stopped,
        "judged_to_depth": exploration.judged,
        "seconds": round(exploration.seconds, 3),
        "properties": [_property_object(run, verdict) for verdict in run.verdicts],
        "proofs": proof_text.as_object(run.proving) if run.proving is not None else None,
        "z3": _second_object(run.second),
        "spark": spread_object(run.spread) if run.spread is not None else None,
        "disk": disk_object(run.disk, run.explored) if run.disk is not None else None,
        "faults": faults_of(instance),
        "counterexamples": [different_object(one, run.show) for one in run.different],
        "command": run.command,
        "verdict": run.word.value,
    }


def _explored_object(exploration: Exploration) -> dict[str, Any]:
    instance = exploration.instance
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
            slot.name: {"fired": exploration.fired[number], "new": exploration.new[number]}
            for number, slot in enumerate(instance.model.actions)
            if instance.alternatives[number] is not None
        },
    }


def _second_object(second: BmcResult | None) -> dict[str, Any] | None:
    if second is None:
        return None
    return {
        "judged_to_depth": second.judged,
        "seconds": round(second.seconds, 3),
        "stopped": second.stopped,
        "refusal": None,  # a part of the format; no model is refused since Z3 reads the representation
    }


def _has_message(verdict: Verdict) -> bool:
    is_unjudged = verdict.prop.kind in WHOLE and verdict.word is Word.UNDECIDED
    return verdict.prop is IN_RANGE or is_unjudged


def _property_object(run: Run, verdict: Verdict) -> dict[str, Any]:
    trace = run.traces.get(verdict.prop.name)
    permitted = verdict.permitted.path.depth if verdict.permitted and verdict.permitted.path else None
    permitted_trace = run.traces.get(f"{verdict.prop.name} (permitted)")
    return {
        "name": verdict.prop.name,
        "kind": verdict.prop.kind.value,
        "verdict": verdict.word.value,
        "depth": verdict.depth,
        "violating": verdict.violating,
        **({"message": verdict.note} if _has_message(verdict) else {}),
        **({} if verdict.path is None or verdict.path.loop is None else {"loop": verdict.path.loop}),
        "trace": str(trace) if trace else None,
        "permitted_depth": permitted,
        "permitted_trace": str(permitted_trace) if permitted_trace else None,
    }


__all__ = ["Run", "as_object", "faults_line", "table", "text", "title", "verdict_line"]
