"""Records of the matrix (models/verdicts.toml) for tests, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Depths = Mapping[str, int]


def recorded_run(
    protocol: str = "",
    *,
    model: str = "kafka",
    explored: str | int = "exhausted",
    configuration: Depths | None = None,
    violated: Depths | None = None,
    causes: Mapping[str, Sequence[str]] | None = None,
    permitted: Depths | None = None,
    **more: object,
) -> str:
    """The text of one recorded run. `more` are other keys, such as `name`, `properties`, `states` and `proved`."""
    keys = {"model": model, **({"protocol": protocol} if protocol else {}), **more, "explored": explored}
    tables = {"configuration": configuration, "violated": violated, "causes": causes, "permitted": permitted}
    lines = ["[[run]]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    for name, table in tables.items():
        lines += [] if name == "causes" and not table else [f"[run.{name}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in (table or {}).items()]
    return "\n".join([*lines, ""])
