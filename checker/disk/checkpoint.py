"""Checkpoints of a search on disk: what identifies the search, and its state, in one small file with a digest.

In:  a `SearchContext`, and the state of a search as an object for JSON.
Out: the text of a checkpoint; from it, the state again.

The checkpoint names every file that belongs to it, with size and checksum (checker/disk/files.py). A checkpoint of
another model, configuration, layout or version is refused, and so is one that was changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from isrcheck.checker.disk.files import CHECKPOINT, DamagedError
from isrcheck.checker.explicit.carrier import SearchContext
from isrcheck.checker.resources.engine_digest import engine_digest
from isrcheck.models.messages import UsageError

KIND = "isrcheck search on disk"

NO_REDUCTION = "every state"


def question_of(context: SearchContext) -> dict[str, Any]:
    """What identifies a search: it can be resumed only if all of this is equal."""
    instance, request, layout = context.instance, context.request, context.kernel.layout
    return {
        "kind": KIND,
        "version of isrcheck": engine_digest(),
        "model": [instance.model.name, instance.model.digest],
        "protocol": [instance.protocol.name],
        "swapped actions": dict(instance.swaps),
        "configuration": dict(instance.configuration.items()),
        "instance": instance.digest,
        "layout": [layout.words, [[bits.word, bits.shift, bits.width, bits.low] for bits in layout.bits]],
        "properties": [[prop.name for prop in context.watched], request.count_all, int(request.decisive)],
        "deadlock": ["judged" if context.limits.deadlock and request.deadlock else "left out"],
        "reduction": _reduction_of(context),
        "number of initial states": len(context.starts),
    }


def _reduction_of(context: SearchContext) -> list[Any]:
    """The reduction in words, and what it clears."""
    reduction = context.kernel.reduction
    return [NO_REDUCTION, []] if reduction is None else [reduction.says, [list(one) for one in reduction.clears]]


def text_of(question: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """The text of a checkpoint."""
    content = {"question": question, "state": state}
    return json.dumps({**content, "digest": _digest(content)})


def reduction_in(text: str | None) -> tuple[str, frozenset[tuple[str, str]]] | None:
    """What a checkpoint says of its reduction: in words, and what it clears (`Reduction.clears`); None if that cannot
    be read."""
    try:
        says, clears = json.loads(text or "")["question"]["reduction"]
        return str(says), frozenset((str(field), str(where)) for field, where in clears)
    except (ValueError, RecursionError, LookupError, TypeError):
        return None


def state_in(text: str, question: Mapping[str, Any], option: str) -> dict[str, Any]:
    """The state in a checkpoint. Raises DamagedError, and UsageError (beginning with `option`) for another search."""
    try:
        there = json.loads(text)
    except (ValueError, RecursionError):
        there = None
    if not isinstance(there, dict) or there.get("digest") != _digest(
        {name: one for name, one in there.items() if name != "digest"}
    ):
        raise DamagedError(CHECKPOINT)
    for what, ours in question.items():
        theirs, ours = there["question"].get(what), json.loads(json.dumps(ours))
        if theirs != ours:
            raise UsageError(
                f"{option}: the checkpoint belongs to another search: {what} {_difference(theirs, ours)};"
                " repeat the command that began it, or name a new folder with --disk"
            )
    state: dict[str, Any] = there["state"]
    return state


def _difference(theirs: Any, ours: Any) -> str:
    """How two parts of a question differ, in words."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        names = [name for name in dict.fromkeys([*ours, *theirs]) if theirs.get(name) != ours.get(name)]
        found = (f"{name}={theirs.get(name, 'none')} there, {ours.get(name, 'none')} here" for name in names)
        return ", ".join(found) or "differs"
    if isinstance(theirs, list) and isinstance(ours, list) and theirs[:1] != ours[:1]:
        return f"{theirs[0]} there, {ours[0]} here"
    return "differs"


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
