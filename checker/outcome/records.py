"""An exploration as plain data, to be stored in a file or sent to another machine, and back.

In:  an `Exploration`, or a JSON object.
Out: the JSON object, or the `Exploration`.
"""

from __future__ import annotations

from typing import Any

from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, StepPath
from isrcheck.checker.outcome.verdict import verdicts
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance

Record = dict[str, Any]
"""Either `refused` or `failed` with the reason; or the fields of an exploration, its `verdicts` in words, and the
digest of the `instance` that was searched."""


def record_of(exploration: Exploration) -> Record:
    """The result of a search as plain data, with its verdicts in words."""
    words = {verdict.prop.name: verdict.bare for verdict in verdicts(exploration)}
    return {"verdicts": words, **unjudged_record_of(exploration)}


def unjudged_record_of(exploration: Exploration) -> Record:
    """The result of a search as plain data, without verdicts: for searches that do not start in initial states."""
    return {
        "levels": [int(count) for count in exploration.levels],
        "generated": int(exploration.generated),
        "frontier": int(exploration.frontier),
        "depth": exploration.depth,
        "judged": exploration.judged,
        "stopped": exploration.stopped,
        "seconds": exploration.seconds,
        "bytes_used": int(exploration.bytes_used),
        "fired": [int(count) for count in exploration.fired],
        "new": [int(count) for count in exploration.new],
        "outside": exploration.outside,
        "findings": {
            name: {
                "found": _written(one.found),
                "permitted": _written(one.permitted),
                "erred": _written(one.erred),
                "unjudged": one.unjudged,
            }
            for name, one in exploration.findings.items()
        },
    }


def _written(finding: Finding) -> Record:
    path = finding.path
    witness = None if path is None else _witness(path)
    return {"count": int(finding.count), "witness": witness}


def _witness(path: StepPath) -> Record:
    loop = {} if path.loop is None else {"loop": int(path.loop)}
    return {"initial": int(path.initial), "steps": [int(step) for step in path.steps], **loop}


def exploration_of(record: Record, instance: Instance, limits: Limits) -> Exploration:
    """The exploration that a record describes."""
    plain = {name: value for name, value in record.items() if name not in ("instance", "verdicts", "findings")}
    findings = {
        name: Findings(_read(one["found"]), _read(one["permitted"]), _read(one["erred"]), one["unjudged"])
        for name, one in record["findings"].items()
    }
    return Exploration(instance, limits, findings=findings, **plain)


def _read(written: Record) -> Finding:
    path = written["witness"]
    if path is None:
        return Finding(written["count"])
    return Finding(written["count"], StepPath(path["initial"], tuple(path["steps"]), path.get("loop")))
