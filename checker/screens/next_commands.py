"""The commands that go on from the result for one model, whichever fit the verdict.

In:  a `Run`, the failure whose history is shown, and the words of the command.
Out: commands, each with what it does.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from isrcheck.checker.outcome.verdict import Word
from isrcheck.checker.session.formatting import counted
from isrcheck.checker.session.text import Run
from isrcheck.models.language.declarations import INDUCTIVE
from isrcheck.traces.format.folder import DEFAULT

MOST_SHOWN = 2
"""The most histories that are named; of more, only the first is, and the folder."""

FURTHER = 2
"""How many steps further the proposed search goes."""

Command = tuple[str, str]


def next_commands(run: Run, shown: str | None, words: Sequence[str]) -> list[Command]:
    """Return the next commands, each with what it does. `shown` is the failure whose history is shown."""
    match run.word:
        case Word.VIOLATED | Word.PERMITTED:
            return _histories(run, shown)
        case Word.UNREACHABLE:
            return [(shlex.join([*words, "--details"]), "shows how often each action happened")]
        case Word.UNDECIDED:
            return _decided(run, words)
        case Word.NO_VIOLATION | Word.NOT_REACHED | Word.REACHED:
            return [*_further(run), *_proofs(run)]
        case Word.HOLDS:
            return _further(run) or _proofs(run) or _mutants(run)
        case Word.PROVED:
            return _mutants(run)
    return []


def _histories(run: Run, shown: str | None) -> list[Command]:
    """The traces, that of the shown history first."""
    first = [name for name in run.traces if name == shown]
    others = [name for name in run.traces if name != shown]
    found = [(run.show(run.traces[name]), "explains this history") for name in first]
    found += [(run.show(run.traces[name]), f"shows how {name} fails") for name in others]
    if len(found) <= MOST_SHOWN:
        return found
    folder = next(iter(run.traces.values())).parent
    command = ["trace", "list", *([] if folder == DEFAULT else [str(folder)])]
    return [found[0], (shlex.join(command), f"lists this and {counted(len(found) - 1, 'more trace')}")]


def _decided(run: Run, words: Sequence[str]) -> list[Command]:
    """What may decide a search that was cut short, or a property that no engine judged."""
    match run.exploration.stopped:
        case "seconds" | "interrupt":
            return [(run.command, "searches without a time limit")]
        case "memory" if run.disk is None:
            return [(f"{run.command} --disk DIR", "keeps its states on disk")]
        case "memory" | "disk" if "--disk" in words:
            resumed = ["--resume" if word == "--disk" else word for word in words]
            return [(shlex.join(resumed), "goes on where this search stopped")]
    return [(shlex.join([*words, "--details"]), "shows what was judged, and what was not")]


def _further(run: Run) -> list[Command]:
    """The search of longer histories, if there are any."""
    depth = run.exploration.limits.depth
    if depth is None or run.exploration.exhausted:
        return []
    words = run.command_words
    words[words.index("--bound") + 1] = str(depth + FURTHER)
    return [(shlex.join(words), f"searches behaviours of up to {depth + FURTHER} steps")]


def _proofs(run: Run) -> list[Command]:
    provable = any(verdict.prop.kind in INDUCTIVE for verdict in run.verdicts)
    if run.proving is not None or run.engine != "local" or run.disk is not None or not provable:
        return []
    return [(f"{run.command} --prove", "looks for proofs for any number of steps")]


def _mutants(run: Run) -> list[Command]:
    """Mutation, which tells whether the properties would notice a fault of the model."""
    words = [word for word in run.command_words[1:] if word not in ("--prove", "--symmetry", "--no-reduction")]
    if run.engine != "local" or run.disk is not None:
        return []
    return [(shlex.join(["check", "mutate", *words]), "drops each guard in turn: would these properties notice?")]
