"""Native code of kernels: optimized code means the same."""

from __future__ import annotations

from pathlib import Path

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import StepPath
from isrcheck.models.registry import load_file

TWICE = '''"""A helper gets one state twice."""

from isrcheck.language import action, always, between, field, require


class State:
    x = field(values=between(0, 5), initially=5)
    seen = field(values=between(0, 5), initially=5)


def moves(s, before):
    if before.x > 0:
        s.x = 0
        s.seen = before.x


@action
def ends(s):
    require(s.x == 5)
    moves(s, s)


@always
def seen_is_not_0(s):
    return s.seen != 0
'''


def test_a_helper_may_get_one_state_twice(tmp_path: Path) -> None:
    """What it writes through one name it reads through the other, in optimized code as well."""
    (tmp_path / "twice.py").write_text(TWICE)
    instance = load_file(tmp_path / "twice.py").instance()
    found = explore(instance, Limits(), kernel=kernel_of(instance, is_optimized=True))
    assert found.findings["seen_is_not_0"].found.path == StepPath(0, (0,))
