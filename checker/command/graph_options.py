"""The options of `check graph`: what is drawn into which file.

In:  what argparse has read. Out: a `GraphAsked`; UsageError where it makes no sense.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from isrcheck.checker.command.option_values import count
from isrcheck.models.messages.errors import UsageError

GRAPH = "graph"
"""The word before a model that asks for its state graph."""

MOST = {".html": 300, ".dot": 20_000, ".graphml": 20_000}
"""For each kind of file how many nodes it has at most, unless more are insisted on: what a person can look at, and what
other tools can take."""

EXAMPLE = f"check {GRAPH} examples/two_phase_commit --bound 3 -o states.html"


@dataclass(frozen=True)
class GraphAsked:
    """The file, the fields of which states have to agree to be one node, and the largest number of nodes.

    With `loops` the steps within a folded node are drawn; with `force` a file that is there is replaced.
    """

    path: Path
    fold: tuple[str, ...]
    most: int
    loops: bool
    force: bool


def add_graph_options(parser: argparse.ArgumentParser) -> None:
    """What goes with `check graph`, and with nothing else."""
    parser.add_argument("-o", dest="graph_file", metavar="FILE", help="graph: where to; .html, .dot or .graphml")
    parser.add_argument(
        "--fold", metavar="FIELD,FIELD", help="graph: states that agree on these fields become one node"
    )
    parser.add_argument(
        "--at-most", metavar="N", help=f"graph: nodes that are drawn ({MOST['.html']} in a page, {MOST['.dot']:,} else)"
    )
    parser.add_argument("--loops", action="store_true", help="graph: show the steps within a folded node")
    parser.add_argument("--force", action="store_true", help="graph: replace FILE where it is there")


GOES_WITH = {
    *("target", "bound", "protocol", "set", "switch", "swap", "memory", "seconds", "json"),
    *("graph_file", "fold", "at_most", "loops", "force"),
}
"""What has a meaning for a graph, by the names under which argparse keeps it."""

SPELLED = {"count_all": "--continue"}
"""Options that argparse keeps under another name than their own."""

GRAPH_OPTIONS = ("--fold", "--at-most", "--loops", "--force")


def read_graph_options(known: argparse.Namespace, usual: Callable[[str], object], is_asked: bool) -> GraphAsked | None:
    """What was asked of the graph; None where there is to be none. Raises UsageError, also where something was given,
    which is not as usual, that has no meaning for a graph."""
    if not is_asked:
        given = {"-o": known.graph_file, "--fold": known.fold, "--at-most": known.at_most, "--loops": known.loops}
        for option, value in (given | {"--force": known.force}).items():
            if value:
                raise UsageError(f"{option} goes with {GRAPH}, as in: {EXAMPLE}")
        return None
    for name, value in vars(known).items():
        if name not in GOES_WITH and value != usual(name):
            _refuse(SPELLED.get(name, f"--{name.replace('_', '-')}"), value)
    if known.graph_file is None:
        raise UsageError(f"{GRAPH} writes a file; say which with -o, as in: {EXAMPLE}")
    path = Path(known.graph_file)
    if path.suffix not in MOST:
        raise UsageError(f"-o {path}: what kind of file? its name ends in one of: {', '.join(MOST)}")
    fold = tuple(dict.fromkeys(name.strip() for name in (known.fold or "").split(",") if name.strip()))
    if known.fold is not None and not fold:
        raise UsageError("--fold names no field; write it as in --fold phase,decision")
    if known.loops and not fold:
        raise UsageError("--loops is about folded nodes: leave it out, or name fields with --fold")
    refuse_existing(path, force=known.force)
    most = count("--at-most", known.at_most)
    return GraphAsked(path, fold, MOST[path.suffix] if most is None else most, known.loops, known.force)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raises UsageError where the file cannot be made, before anything is searched."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise UsageError(f"-o {path}: there is something else of that name; give another one")
    if path.exists() and not force:
        raise UsageError(f"-o {path}: it is there already; give another name, or replace it with --force")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}; make it first")


def _refuse(option: str, value: object) -> NoReturn:
    said = value[0] if isinstance(value, list) else "" if value is True else value
    words = f"{option} {said}".strip()
    raise UsageError(f"{words} does not go with {GRAPH}, which draws one model as the explorer sees it: leave it out")
