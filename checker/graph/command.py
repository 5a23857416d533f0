"""`check graph`: its options, and what runs it. Importing it needs nothing of the search.

In:  `Options`, and a session.
Out: `FORM`; a `GraphRequest`: what is drawn into which file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.command.check_options import OF_A_MODEL
from isrcheck.checker.command.form import EVERYTHING_ELSE, Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import count
from isrcheck.models.messages.errors import UsageError

GRAPH = "graph"
"""The word before a model that asks for its state graph."""

MOST = {".html": 300, ".dot": 20_000, ".graphml": 20_000}
"""For each kind of file how many nodes it has at most, unless more are insisted on: what a person can look at, and what
other tools can take."""

EXAMPLE = f"check {GRAPH} examples/two_phase_commit --bound 3 -o states.html"
EXAMPLE_OF_KAFKA = f"check {GRAPH} kafka --protocol 0.10 --bound 2 -o states.html"


@dataclass(frozen=True)
class GraphRequest:
    """The file, the fields of which states have to agree to be one node, and the largest number of nodes.

    With `loops` the steps within a folded node are drawn; with `force` a file that is there is replaced.
    """

    path: Path
    fold: tuple[str, ...]
    most: int
    loops: bool
    force: bool


def _fields(_option: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError("--fold names no field; write it as in --fold phase,decision")
    return names


def _graph_file(_option: str, text: str) -> Path:
    path = Path(text)
    if path.suffix not in MOST:
        raise UsageError(f"-o {path}: what kind of file? its name ends in one of: {', '.join(MOST)}")
    return path


_OPTIONS = (
    Option(
        name="-o",
        field="graph_file",
        metavar="FILE",
        help="graph: where to; .html, .dot or .graphml",
        read=_graph_file,
    ),
    Option(
        name="--fold",
        metavar="FIELD,FIELD",
        help="graph: states that agree on these fields become one node",
        read=_fields,
    ),
    Option(
        name="--at-most",
        metavar="N",
        help=f"graph: nodes that are drawn ({MOST['.html']} in a page, {MOST['.dot']:,} else)",
        read=count,
    ),
    Option(name="--loops", help="graph: show the steps within a folded node"),
    Option(name="--force", help="graph: replace FILE where it is there"),
)


def request_of(options: Options) -> GraphRequest:
    """What is to be drawn. Raises UsageError."""
    own = options.own
    path: Path | None = own["graph_file"]
    if path is None:
        raise UsageError(f"{GRAPH} writes a file; say which with -o, as in: {EXAMPLE}")
    fold: tuple[str, ...] = own["fold"] or ()
    if own["loops"] and not fold:
        raise UsageError("--loops is about folded nodes: leave it out, or name fields with --fold")
    refuse_existing(path, force=own["force"])
    return GraphRequest(path, fold, own["at_most"] or MOST[path.suffix], own["loops"], own["force"])


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raises UsageError where the file cannot be made, before anything is searched."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise UsageError(f"-o {path}: there is something else of that name; give another one")
    if path.exists() and not force:
        raise UsageError(f"-o {path}: it is there already; give another name, or replace it with --force")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}; make it first")


def _refuse(options: Options) -> None:
    request_of(options)
    if options.target is None or (options.target == "published" and options.protocol is None):
        raise UsageError(f"{GRAPH} takes one model, as in: {EXAMPLE_OF_KAFKA}")


FORM = Form(
    name=GRAPH,
    word=GRAPH,
    module="isrcheck.checker.graph.run",
    usage=(("check graph MODEL [--bound N] -o FILE", "its states and steps as a drawing: .html, .dot or .graphml"),),
    examples=(
        EXAMPLE_OF_KAFKA,
        EXAMPLE.replace("states.html", "states.dot"),
        f"check {GRAPH} examples/two_phase_commit --fold decision -o folded.html",
    ),
    as_in=EXAMPLE_OF_KAFKA,
    own=_OPTIONS,
    goes_with=f"{{option}} goes with {GRAPH}, as in: {EXAMPLE}",
    takes=frozenset({"--bound", *OF_A_MODEL, "--memory", "--seconds", "--json"}),
    refusals={
        EVERYTHING_ELSE: (
            f"{{typed}} does not go with {GRAPH}, which draws one model as the explorer sees it: leave it out"
        )
    },
    refuse=_refuse,
)
