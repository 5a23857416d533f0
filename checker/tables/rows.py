"""The rows of the tables for one search.

In:  a `Run` (checker/session/text.py), and its sampled edges (checker/tables/edges.py).
Out: the rows for each table of checker/tables/columns.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isrcheck.checker.session.text import Run, as_object
from isrcheck.checker.tables.edges import Edge
from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells
from isrcheck.traces.format.certify import from_steps
from isrcheck.traces.format.trace import spelled_at

TableRow = dict[str, Any]

IDENTITY = ("model", "digest", "protocol", "swaps", "configuration", "bound", "engine")
"""The keys of the `--json` object that identify a search, together with the Spark options."""

OF_RUN = (
    *(*IDENTITY, "command", "verdict", "exhausted", "stopped", "judged_to_depth"),
    *("distinct", "generated", "frontier", "bytes", "seconds"),
)
OF_SPARK = ("mode", "cores", "parts", "parts_ended", "starts", "split_depth", "shuffled_bytes", "start_seconds")
"""The columns of the table `runs` that come from the `spark` object in the `--json` object."""


def rows_of(run: Run, edges: Iterable[Edge]) -> dict[str, list[TableRow]]:
    """Return the rows of a run for each table; `edges` are its sampled edges."""
    answer = as_object(run)
    spark = answer["spark"] or {}
    overlap = spark.get("overlap") or {"states_by_parts": []}
    instance = run.explored.instance
    tables: dict[str, list[TableRow]] = {
        "levels": [{"depth": depth, "states": states} for depth, states in enumerate(answer["states_per_level"])],
        "actions": [{"action": name, **counts} for name, counts in answer["actions"].items()],
        "verdicts": [{**found, "property": found["name"]} for found in answer["properties"]],
        "traces": list(_trace_rows(run)),
        "edges": [_edge_row(instance, edge) for edge in edges],
        "overlap": sorted(overlap["states_by_parts"], key=lambda row: row["parts"]),
        "runs": [_run_row(run, answer, spark)],
    }
    key = run_key(run, answer)
    return {name: [{"run": key, **row} for row in rows] for name, rows in tables.items()}


def run_key(run: Run, answer: Mapping[str, Any]) -> str:
    """Return a digest (twelve hexadecimal digits) of a search's settings, and of its limits if they cut it short."""
    spark = answer["spark"] or {}
    limits = run.exploration.limits
    stopped = [
        None if run.exploration.is_complete else run.exploration.stopped,
        None if run.second is None else run.second.stopped,
        None if run.proving is None else run.proving.proofs.stopped,
    ]
    cut = [*stopped, limits.seconds, limits.memory] if any(stopped) else None
    identity = [
        [answer[name] for name in IDENTITY],
        [spark.get("mode"), spark.get("parts"), spark.get("split_depth")],
        [run.counted_all, run.proving is not None],
        cut,
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]


def _run_row(run: Run, answer: Mapping[str, Any], spark: Mapping[str, Any]) -> TableRow:
    return {
        **{name: answer[name] for name in OF_RUN},
        **{name: spark.get(name) for name in OF_SPARK},
        "parts_overlap": run.spread is not None and run.spread.parts_overlap,
    }


def _trace_rows(run: Run) -> Iterator[TableRow]:
    """Yield a row for each state of the traces of failing properties, even if no trace file could be written."""
    instance = run.explored.instance
    for verdict in run.verdicts:
        for _, witness, word in verdict.failing_paths:
            name = verdict.prop.name
            trace = from_steps(instance, witness.initial, witness.steps, name, run.command, word, witness.loop)
            for position in range(trace.length + 1):
                cells = trace.state_at(position)
                before = trace.state_at(position - 1) if position else cells
                yield {
                    "property": name,
                    "verdict": word,
                    "step": position,
                    "action": trace.every_step[position - 1].action if position else None,
                    "took": trace.spell_row(position),
                    "changed": changed(instance, before, cells),
                    "state": spelled_at(instance, cells, range(len(cells))),
                }


def _edge_row(instance: Instance, edge: Edge) -> TableRow:
    return {
        "depth": edge.depth,
        "state": digest_of(edge.before),
        "action": edge.step.action,
        "took": instance.spell_step(edge.step),
        "successor": digest_of(edge.after),
        "changed": changed(instance, edge.before, edge.after),
    }


def digest_of(cells: Cells) -> str:
    """Return a digest of a state: sixteen hexadecimal digits."""
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def changed(instance: Instance, before: Cells, after: Cells) -> dict[str, str]:
    """Return the cells that differ between two states, by name, with their new values."""
    return spelled_at(instance, after, [at for at, value in enumerate(after) if value != before[at]])
