"""`check mutate`: mutation testing of a model. Each mutant drops one guard, and a property should detect the mutant.

Out: a `CommandResult`: the search of the unmutated model (`Original`) and a `Judgement` for each mutant.

A mutant is killed if a property gets a worse verdict than in the unmutated model, or fails after fewer steps. The
property `in_range`, that all values stay in their declared ranges, counts as well. The search of a mutant ends with the
first level that kills it. A mutant can take every step of the unmutated model, so it reaches every state of that model.
A mutant that takes as many steps as the unmutated model takes the same steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any

from isrcheck.checker.command.options import Options
from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.explicit.carrier import CHUNK, EVERY_STATE, SearchContext, SearchRequest, SingleThread
from isrcheck.checker.explicit.explore import Search
from isrcheck.checker.resources.limits import UNLIMITED, Budget, Limits, Spent
from isrcheck.checker.results.exploration import Exploration, Findings, Progress, StepPath
from isrcheck.checker.results.instance_facts import command_of, disabled_actions, title
from isrcheck.checker.results.kernel_results import EntryKind
from isrcheck.checker.results.run import CommandResult, Run, as_object, search_summary, verdict_line
from isrcheck.checker.results.terminal import ProgressLine, counted, table
from isrcheck.checker.results.verdict import WHY_STOPPED, Word, verdicts
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.exit_codes import SAFE, UNDECIDED
from isrcheck.commands.settings import instance_of
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Action, Instance
from isrcheck.models.language.mutants import Mutant, mutants
from isrcheck.traces.format.certify import from_steps

MOST_MUTANTS = 100
"""The most mutants in one kernel: a signed byte for each action selects the mutant at run time."""


class Fate(StrEnum):
    """What became of a mutant. NOT_ASKED: it was not searched, because the configuration disables its action."""

    KILLED = "killed"
    NO_DIFFERENCE = "makes no difference"
    SURVIVES = "survives"
    UNDECIDED = "undecided"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Failure:
    """A failing property, VIOLATED or PERMITTED, with a shortest path to the failure."""

    name: str
    word: Word
    path: StepPath

    def is_worse_than(self, other: Failure | None) -> bool:
        """Whether this failure is graver than the `other` one, or as grave but after fewer steps."""
        if other is None or self.word is not other.word:
            return other is None or self.word is Word.VIOLATED
        return self.path.depth < other.path.depth


@dataclass(frozen=True)
class Candidate:
    """A mutant of the action at position `slot`, an instance with the mutant as that action, and a kernel for it."""

    slot: int
    mutant: Mutant
    instance: Instance
    kernel: Kernel

    @property
    def action(self) -> str:
        """The name of the mutated action."""
        return self.instance.model.actions[self.slot].name

    @property
    def place(self) -> str:
        """FILE:LINE of the dropped guard; the path is relative to the current folder if possible."""
        path = Path(self.mutant.function.path)
        return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{self.mutant.line}"


@dataclass(frozen=True)
class Judgement:
    """A mutant, and what became of it.

    If a property killed the mutant, `failure` is the failure of that property; the reference semantics has confirmed
    its path. `message` says how a value left its declared range, if one did.
    """

    candidate: Candidate
    fate: Fate
    exploration: Exploration | None = None
    failure: Failure | None = None
    message: str = ""


@dataclass(frozen=True)
class Original:
    """The search of the unmutated model, the gravest failure of each of its failing properties, and its mutants. A
    mutant that must be searched has the fate UNDECIDED. `cut` is the limit that ended the generation of mutants, or
    ""."""

    exploration: Exploration
    failures: Mapping[str, Failure]
    mutants: Sequence[Judgement]
    cut: str = ""

    @property
    def limits(self) -> Limits:
        """The limits for the search of a mutant: no deeper than the search of the model."""
        limits = self.exploration.limits
        return limits if self.exploration.is_complete else replace(limits, depth=self.exploration.judged)


KernelOf = Callable[[Instance], Kernel]
Report = Callable[[Progress], None]


def search_original(
    instance: Instance, limits: Limits, kernel_of: KernelOf, report: Report, budget: Budget = UNLIMITED
) -> Original:
    """Search the unmutated model to its bound, even if every property fails earlier; then generate its mutants. A
    mutant whose action is disabled, or that makes no difference in the reached states, gets its fate without a search.
    Raises KeyboardInterrupt, and Spent at a limit."""
    kernel = kernel_of(instance)
    hunt = _Hunt(instance, budget.limits(limits), kernel, report)
    exploration = hunt.run()
    if exploration.stopped == "interrupt":
        raise KeyboardInterrupt
    failures = {one.name: one for one in reversed(list(hunt.failures()))}
    exploration.limits = limits  # the limits of the command; each mutant gets the remaining time
    judgements, cut = list[Judgement](), ""
    try:
        with budget.kept(), compiling_within(budget.left):
            for candidate in candidates(instance, kernel_of):
                judgements.append(_without_search(candidate, hunt))
    except OutOfTimeError:
        cut = "seconds"
    except Spent as spent:
        cut = spent.why
    return Original(exploration, failures, judgements, cut)


def _without_search(candidate: Candidate, searched: Search) -> Judgement:
    if candidate.slot in disabled_actions(candidate.instance):
        return Judgement(candidate, Fate.NOT_ASKED)
    if searched.result.is_complete and not _takes_more(candidate, searched):
        return Judgement(candidate, Fate.NO_DIFFERENCE, searched.result)
    return Judgement(candidate, Fate.UNDECIDED)


def candidates(instance: Instance, kernel_of: KernelOf) -> Iterator[Candidate]:
    """Yield every mutant of the protocol's actions, in the order of the model. An action of a model can have several
    alternative functions. Each mutant is added as a further alternative, so that one kernel can run many mutants."""
    chosen = [(slot, instance.function(slot)) for slot in range(len(instance.model.actions))]
    every = [(slot, mutant) for slot, action in chosen if action is not None for mutant in mutants(action)]
    for first in range(0, len(every), MOST_MUTANTS):
        part = every[first : first + MOST_MUTANTS]
        slots = list(instance.model.actions)
        for slot, mutant in part:
            slots[slot] = Action(slots[slot].name, (*slots[slot].alternatives, mutant.function))
        model = replace(instance.model, actions=tuple(slots))
        kernel = kernel_of(replace(instance, model=model))
        for slot, mutant in part:
            choices = list(instance.alternatives)
            choices[slot] = slots[slot].alternatives.index(mutant.function)
            candidate = replace(instance, model=model, alternatives=tuple(choices)).like(instance)
            yield Candidate(slot, mutant, candidate, kernel)


def judgements(
    original: Original, command: str, report: Callable[[Candidate], Report], budget: Budget = UNLIMITED
) -> Iterator[Judgement]:
    """Yield the judgement of every mutant, in the order of the model.

    `command` is the shell command that repeats the analysis, for messages. `report` returns the function that reports
    the progress of a mutant's search. Raises KeyboardInterrupt; NotCertifiedError (an AssertionError) if the reference
    semantics does not confirm the failure that killed a mutant.
    """
    for judgement in original.mutants:
        candidate, is_settled = judgement.candidate, judgement.fate is not Fate.UNDECIDED
        yield judgement if is_settled else judge(original, candidate, command, report(candidate), budget)


def judge(original: Original, candidate: Candidate, command: str, report: Report, budget: Budget) -> Judgement:
    """Search a mutant until it is killed, and judge it. Raises what `judgements` raises."""
    hunt = _Hunt(candidate.instance, budget.limits(original.limits), candidate.kernel, report, original.failures)
    exploration = hunt.run()
    if exploration.stopped == "interrupt":
        raise KeyboardInterrupt
    failure = hunt.worse_failure()
    if failure is not None:
        path, word = failure.path, failure.word.value
        trace = from_steps(candidate.instance, path.initial, path.steps, failure.name, command, word, path.loop)
        message = "" if trace.error is None else trace.error.message
        return Judgement(candidate, Fate.KILLED, exploration, failure, message)
    if not (exploration.is_complete and original.exploration.is_complete):
        return Judgement(candidate, Fate.UNDECIDED, exploration)
    states, steps = more_than(original, exploration)
    erring = _erring(original.exploration)
    takes_more = bool(steps or _erring(exploration) > erring)
    assert states >= 0 and steps >= 0 and (takes_more or erring), (
        f"the search of a mutant misses steps of the model (reproduce: {command})"
    )
    return Judgement(candidate, Fate.SURVIVES if takes_more else Fate.NO_DIFFERENCE, exploration)


def more_than(original: Original, exploration: Exploration) -> tuple[int, int]:
    """Return how many more states and transitions a mutant has than the unmutated model."""
    return exploration.distinct - original.exploration.distinct, exploration.generated - original.exploration.generated


def _erring(exploration: Exploration) -> int:
    return exploration.findings.get(IN_RANGE.name, Findings()).erred.count


class _Hunt(Search):
    """A search that ends at the first level with a failure that is worse than in the unmutated model. `known` maps
    properties to their failures in the unmutated model; if `known` is None, the search goes to the bound."""

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        kernel: Kernel,
        report: Report,
        known: Mapping[str, Failure] | None = None,
    ) -> None:
        judged = tuple(prop for prop in instance.properties if known is None or prop.kind is not Kind.SOMETIMES)
        super().__init__(SearchContext(instance, limits, kernel, SearchRequest(watched=judged), report))
        self.known = known

    def is_open(self) -> bool:
        """Whether to continue, even if all verdicts are known: until a failure is worse than in the unmutated model."""
        return self.known is None or self.worse_failure() is None

    def failures(self) -> Iterator[Failure]:
        """Yield the failures found so far, in the order of the properties, VIOLATED before PERMITTED.

        A value outside its declared range comes first, because it explains more than other failures.
        """
        context = self.context
        of_properties = [(IN_RANGE, Findings(self.total(context.results.errors)))]
        of_properties += [(prop, self.findings(at, prop)) for at, prop in context.properties if prop in context.watched]
        of_properties.append((DEADLOCK, Findings(self.counted(len(context.properties), EntryKind.FOUND))))
        for prop, findings in of_properties:
            for word, finding in ((Word.VIOLATED, findings.found), (Word.PERMITTED, findings.permitted)):
                if finding.path is not None and prop.kind is not Kind.SOMETIMES:
                    yield Failure(prop.name, word, finding.path)

    def worse_failure(self) -> Failure | None:
        """Return the failure with the shortest path (the first of several) among the failures that are worse than in
        the unmutated model; None if no failure is worse."""
        known = self.known or {}
        worse = [failure for failure in self.failures() if failure.is_worse_than(known.get(failure.name))]
        return min(worse, key=lambda failure: failure.path.depth, default=None)


def _takes_more(candidate: Candidate, searched: Search) -> bool:
    """Whether a mutant takes more steps than the original action in the expanded states of the unmutated model. Also
    True if steps of the mutant leave declared ranges, because the mutant may then take more steps."""
    slot, instance = candidate.slot, candidate.instance
    alone = tuple(choice if number == slot else None for number, choice in enumerate(instance.alternatives))
    context = SearchContext(
        replace(instance, alternatives=alone).like(instance), searched.context.limits, candidate.kernel, EVERY_STATE
    )
    carrier = SingleThread(context, searched.visited)
    at = 0
    while at < searched.context.expanded:
        at, _ = carrier.attempt(at, min(at + CHUNK, searched.context.expanded))
        if context.fired[slot] > searched.context.fired[slot]:
            return True
    return bool(context.results.erring_steps.count)


# ------------------------------------------------------------------------------------------------------------- report


def text(original: Run, unmutated: Original, judgements: Sequence[Judgement]) -> str:
    """Return the report: the unmutated model, a line for each mutant, grouped by action, and the score."""
    exploration = original.explored
    configuration, faults, _ = search_summary(original)
    depth = exploration.limits.depth
    bound = "any number of steps" if depth is None else f"at most {counted(depth, 'step')}"
    lines = [
        f"{title(exploration.instance)}: each mutant drops one guard, or one conjunct of a guard",
        "",
        f"configuration  {configuration}",
        f"faults         {faults}",
        f"search         breadth first, {bound}, for each mutant up to the level that kills it",
        f"unmutated      {verdict_line(original)}",
        f"               {counted(exploration.distinct, 'distinct state')}, {exploration.generated:,} generated",
    ]
    if unmutated.failures:
        lines.append("               a property that fails here kills a mutant only by a graver or an earlier failure")
    rows: list[list[str]] = []
    for action, group in groupby(judgements, key=lambda one: one.candidate.action):
        of_action = list(group)
        asked_for = [one for one in of_action if one.fate is not Fate.NOT_ASKED]
        rows += [["", "", ""], [action, "", ""]]
        rows += [[f"  {one.candidate.place}", outcome(unmutated, one), _dropped(one)] for one in asked_for]
        if len(asked_for) < len(of_action):
            others = counted(len(of_action) - len(asked_for), "mutant")
            rows.append([f"  {others}", "not searched: disabled by the configuration", ""])
    return "\n".join([*lines, *table(rows), "", score_line(unmutated, judgements)])


def _dropped(judgement: Judgement) -> str:
    mutant = judgement.candidate.mutant
    dropped, guard = mutant.dropped, mutant.guard
    inner = "".join(f" of {helper}" for helper in mutant.within[:0:-1])
    within = "" if dropped == guard else f"{inner} of {guard}"
    message = judgement.message.partition(";")[0].rpartition(": ")[2]  # without file, line and advice
    return f"without {dropped}{within}{f' ({message})' if message else ''}"


def outcome(original: Original, judgement: Judgement) -> str:
    """Return in a few words what became of a mutant that was searched."""
    exploration, failure = judgement.exploration, judgement.failure
    if failure is not None:
        notes = ["permitted"] if failure.word is Word.PERMITTED else []
        unmutated = original.failures.get(failure.name)
        if unmutated is not None:
            word = f"{unmutated.word.value} " if unmutated.word is not failure.word else ""
            notes.append(f"unmutated {word}at step {unmutated.path.depth}")
        note = f" ({', '.join(notes)})" if notes else ""
        return f"killed by {failure.name} at step {failure.path.depth}{note}"
    assert exploration is not None
    if judgement.fate is Fate.UNDECIDED:
        why = WHY_STOPPED[exploration.stopped or original.exploration.stopped or ""]
        return f"undecided: survives to depth {exploration.judged}; {why}"
    if judgement.fate is Fate.NO_DIFFERENCE:
        return f"makes no difference {_within(original)}"
    states, steps = more_than(original, exploration)
    further = f"{counted(states, 'more state')}" if states else f"the same states, {counted(steps, 'more transition')}"
    return f"survives{'' if exploration.exhausted else f' to depth {exploration.judged}'}: {further}"


def _within(original: Original) -> str:
    exploration = original.exploration
    return "within these bounds" if exploration.exhausted else f"to depth {exploration.judged}"


def score_line(original: Original, judgements: Sequence[Judgement]) -> str:
    """Return, as one line, how many mutants were killed, survived, and so on."""
    cut = f"UNDECIDED: {WHY_STOPPED[original.cut]}; there may be more mutants" if original.cut else ""
    if not original.mutants:
        return cut or "the model has no guard to drop"
    count = Counter(judgement.fate for judgement in judgements)
    searched = len(judgements) - count[Fate.NOT_ASKED]
    words = [f"{count[Fate.KILLED]} of {counted(searched, 'mutant')} killed"]
    if count[Fate.NO_DIFFERENCE]:
        verb = "makes" if count[Fate.NO_DIFFERENCE] == 1 else "make"
        words.append(f"{count[Fate.NO_DIFFERENCE]} {verb} no difference {_within(original)}")
    words.append(f"{count[Fate.SURVIVES]} survive{'s' * (count[Fate.SURVIVES] == 1)}")
    words += [f"{count[fate]} {fate.value}" for fate in (Fate.UNDECIDED, Fate.NOT_ASKED) if count[fate]]
    if len(judgements) < len(original.mutants):
        words.append(f"{len(original.mutants) - len(judgements)} not reached")
    return ", ".join(words) + (f"; {cut}" if cut else "")


def objects(original: Run, unmutated: Original, judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the object for `--json`: the run of the unmutated model, the mutants, and the score."""
    count = Counter(judgement.fate for judgement in judgements)
    return {
        "runs": [as_object(original)],
        "mutants": [_object(unmutated, judgement) for judgement in judgements],
        "score": {fate.value: count[fate] for fate in Fate} | {"not reached": len(unmutated.mutants) - len(judgements)},
    }


def _object(original: Original, judgement: Judgement) -> dict[str, Any]:
    mutant, instance = judgement.candidate.mutant, judgement.candidate.instance
    exploration, failure = judgement.exploration, judgement.failure
    path = None if failure is None else failure.path
    unmutated = None if failure is None else original.failures.get(failure.name)
    steps = None if path is None else [instance.spell_step(instance.step(number)) for number in path.steps]
    return {
        "action": judgement.candidate.action,
        "place": judgement.candidate.place,
        "guard": mutant.guard,
        "dropped": mutant.dropped,
        "within": list(mutant.within),
        "fate": judgement.fate.value,
        "property": None if failure is None else failure.name,
        "verdict": None if failure is None else failure.word.value,
        "depth": None if path is None else path.depth,
        "unmutated": None if unmutated is None else {"verdict": unmutated.word.value, "depth": unmutated.path.depth},
        "message": judgement.message or None,
        "initial": None if path is None else path.initial,
        "steps": steps,
        **{name: getattr(exploration, name, None) for name in ("distinct", "generated", "exhausted", "stopped")},
        "judged_to_depth": getattr(exploration, "judged", None),
    }


# ---------------------------------------------------------------------------------------------------------- the command


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the model, then each of its mutants. Raises UsageError."""
    assert options.model.target is not None
    instance, limits = instance_of(options.model), options.limits
    progress = ProgressLine(title(instance))

    def kernel_of(mutated: Instance) -> Kernel:
        return session.begin(mutated, progress).kernel

    def progress_of(candidate: Candidate) -> Callable[[Progress], None]:
        progress.subject = f"{candidate.action} without {candidate.place}"
        return progress.report

    command = command_of(options.model.target, instance, limits.depth)
    try:
        original = search_original(instance, limits, kernel_of, progress.report, session.budget)
    except Spent as spent:
        cut = Exploration.without_beginning(instance, limits, spent.why)
        original = Original(cut, {}, [], spent.why)
    searched = Run(original.exploration, verdicts(original.exploration), command)
    judged: list[Judgement] = []
    stopped = False
    try:
        for judgement in judgements(original, command.replace(" ", " mutate ", 1), progress_of, session.budget):
            judged.append(judgement)  # noqa: PERF402 - what was found before an interruption counts
    except KeyboardInterrupt:
        stopped = True
    progress.clear()
    fates = {judgement.fate for judgement in judged}
    is_cut = bool(original.cut) or not original.exploration.is_complete or Fate.UNDECIDED in fates
    answer = text(searched, original, judged), objects(searched, original, judged)
    return CommandResult(*answer, UNDECIDED if is_cut else SAFE, is_interrupted=stopped)
