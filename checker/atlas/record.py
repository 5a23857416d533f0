"""Writes the record of the atlas from the results of its searches.

In:  cells, and the results (compute.py).
Out: the file that models/kafka/atlas/catalogue.py reads. A search that a limit has cut short is recorded as undecided,
with the depth that it reached.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isrcheck.checker.atlas.cells import Cell
from isrcheck.checker.atlas.compute import Known
from isrcheck.checker.questions.answering import FAILS, Asked
from isrcheck.checker.questions.concerns import settings_of_topic
from isrcheck.checker.questions.planning import asked_of, planned
from isrcheck.checker.questions.recorded import texts_digest
from isrcheck.checker.questions.scenarios import Scenario
from isrcheck.models import registry


def write_record(path: Path, cells: Iterable[Cell], known: Mapping[str, Known], limit: float) -> tuple[int, int]:
    """Write the record of all cells that are answered; return how many cells and searches that are.

    `limit` is that of one search, in seconds.
    """
    searches: dict[str, dict[str, Any]] = {}
    numbers: dict[str, int] = {}
    groups: dict[str, dict[str, Any]] = {}
    for cell in cells:
        name, settings = cell.key
        found = _answer(cell, known)
        if found is None:
            continue
        group = groups.setdefault(name, {"settings": settings_of_topic(cell.question), "cells": {}})
        if isinstance(found, str):
            group["cells"][settings] = found
            continue
        for scenario, asked in found:
            if asked.identity not in numbers:
                numbers[asked.identity] = len(numbers)
                searches[asked.identity] = _written(scenario, asked, known[asked.identity])
        group["cells"][settings] = [numbers[asked.identity] for _, asked in found]
    models = sorted({one["model"] for one in searches.values()})
    header: dict[str, Any] = {
        "isrcheck": "atlas",
        "groups": len(groups),
        "cells": sum(len(group["cells"]) for group in groups.values()),
        "searches": len(searches),
        "seconds": round(sum(known[identity].seconds for identity in searches)),
        "limit": limit,
        "models": {name: registry.load(name)[0].digest for name in models},
        "texts": texts_digest(),
    }
    lines = [header, *({"group": name, **group} for name, group in groups.items()), *searches.values()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return header["cells"], header["searches"]


def _answer(cell: Cell, known: Mapping[str, Known]) -> list[tuple[Scenario, Asked]] | str | None:
    """The searches that answer a cell, up to the first one that fails, or the reason why nothing is searched; None if a
    search is missing."""
    searches = planned(cell.case, cell.question)
    if isinstance(searches, str):
        return searches
    found = []
    for scenario in searches:
        asked = asked_of(scenario)
        if asked.identity not in known:
            return None
        found.append((scenario, asked))
        if known[asked.identity].result.word in FAILS:
            break
    return found


def _written(scenario: Scenario, asked: Asked, known: Known) -> dict[str, Any]:
    result = known.result
    replicas = dict(scenario.instance.configuration.items()).get("replicas")
    says = asked.says.rpartition(", with ")[0] if asked.rule else asked.says
    content: dict[str, Any] = {
        "model": asked.model,
        "protocol": asked.protocol,
        "configuration": asked.configuration,
        "says": says,
        "replicas": replicas,
        "asked": asked.prop,
        "bound": asked.depth,
        "initial": asked.initial,
        "is_permitted": asked.is_permitted,
        "choices": asked.choices,
        "is_witness": asked.is_witness,
        "property": result.prop,
        "word": result.word.value,
        "depth": result.depth,
        "judged": result.judged,
        "is_exhausted": result.is_exhausted,
        "states": result.states,
        "stopped": result.stopped,
        "day": result.day,
        "seconds": known.seconds,
    }
    if result.word in FAILS:
        content |= {"start": result.start, "steps": list(result.steps)}
        content |= {"loop": result.loop}
    return {name: value for name, value in content.items() if value is not None and value is not False}
