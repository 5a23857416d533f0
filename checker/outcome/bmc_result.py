"""The result of bounded model checking, as plain values.

In:  nothing; the engine fills the fields.
Out: a `BmcResult`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isrcheck.checker.outcome.exploration import Findings
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance


@dataclass
class BmcResult:
    """The result of bounded model checking. Fields with the same name as in `Exploration` have the same meaning.

    `nodes` is the size of the formula, `times` the seconds for each depth.
    """

    instance: Instance
    limits: Limits
    judged: int = -1
    exhausted: bool = False
    stopped: str | None = None
    seconds: float = 0.0
    nodes: int = 0
    times: list[float] = field(default_factory=list)
    findings: dict[str, Findings] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was requested was checked."""
        return self.stopped in (None, "decided")
