"""`check graph`: declares the form and its options. This module does not import the search.

In:  `Options`.
Out: `FORM`; a `GraphRequest`: the file, and which nodes and edges it shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.command.check_options import OF_A_MODEL
from isrcheck.checker.command.form import EVERYTHING_ELSE, Form, Options
from isrcheck.checker.command.option import Option
from isrcheck.checker.command.option_values import count
from isrcheck.models.messages import UsageError

GRAPH = "graph"
"""The first argument that selects this form."""

MOST = {".html": 300, ".dot": 20_000, ".graphml": 20_000}
"""The most nodes in each type of file, unless --at-most is given: as many as a person, or a graph tool, can handle."""

EXAMPLE = f"check {GRAPH} examples/two_phase_commit --bound 3 -o states.html"
EXAMPLE_OF_KAFKA = f"check {GRAPH} kafka --protocol 0.10 --bound 2 -o states.html"


@dataclass(frozen=True)
class GraphRequest:
    """The file; the fields by which states are folded into nodes (`fold`); the maximum number of nodes.

    With `loops`, the steps within a folded node are shown; with `force`, an existing file is replaced.
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
        raise UsageError(f"-o {path}: not a known type of file; the name must end in one of: {', '.join(MOST)}")
    return path


_OPTIONS = (
    Option(
        name="-o",
        field="output",
        metavar="FILE",
        help="graph: the file to write; .html, .dot or .graphml",
        read=_graph_file,
    ),
    Option(
        name="--fold",
        metavar="FIELD,FIELD",
        help="graph: show states with equal values of these fields as one node",
        read=_fields,
    ),
    Option(
        name="--at-most",
        metavar="N",
        help=f"graph: the maximum number of nodes (default: {MOST['.html']} in a page, {MOST['.dot']:,} otherwise)",
        read=count,
    ),
    Option(name="--loops", help="graph: show the steps within a folded node"),
    Option(name="--force", help="graph: replace FILE if it exists"),
)


def request_of(options: Options) -> GraphRequest:
    """Return the requested graph. Raises UsageError."""
    own = options.own
    path: Path | None = own["output"]
    if path is None:
        raise UsageError(f"{GRAPH} writes a file; name the file with -o, as in: {EXAMPLE}")
    fold: tuple[str, ...] = own["fold"] or ()
    if own["loops"] and not fold:
        raise UsageError("--loops goes with --fold FIELD; add that, or leave --loops out")
    refuse_existing(path, force=own["force"])
    return GraphRequest(path, fold, own["at_most"] or MOST[path.suffix], own["loops"], own["force"])


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise UsageError if the file cannot be written, before the search begins."""
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise UsageError(f"-o {path}: not a regular file; give another name")
    if path.exists() and not force:
        raise UsageError(f"-o {path}: the file exists; give another name, or replace the file with --force")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}; create the folder first")


def _refuse(options: Options) -> None:
    request_of(options)
    if options.target is None or (options.target == "published" and options.protocol is None):
        raise UsageError(f"{GRAPH} takes one model, as in: {EXAMPLE_OF_KAFKA}")


FORM = Form(
    name=GRAPH,
    word=GRAPH,
    module="isrcheck.checker.graph.run",
    usage=(("check graph MODEL [--bound N] -o FILE", "its states and steps as a graph: .html, .dot or .graphml"),),
    examples=(
        EXAMPLE_OF_KAFKA,
        EXAMPLE.replace("states.html", "states.dot"),
        f"check {GRAPH} examples/two_phase_commit --fold decision -o folded.html",
    ),
    as_in=EXAMPLE_OF_KAFKA,
    own=_OPTIONS,
    goes_with=f"{{option}} goes with {GRAPH}, as in: {EXAMPLE}",
    takes=frozenset({"--bound", *OF_A_MODEL, "--memory", "--seconds", "--no-deadlock", "--json"}),
    refusals={
        EVERYTHING_ELSE: (
            f"{{typed}} does not go with {GRAPH}, which draws the states of one model: leave the option out"
        )
    },
    refuse=_refuse,
)
