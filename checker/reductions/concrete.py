"""Real paths: from the path of a reduced search, whose states stand for others, to a path of the model.

In:  an instance, its `Reduction`, and the path: an initial state, and steps, each taken in the state that the search
     kept.
Out: the same path as the model has it: real states, and steps with the real arguments.

The path is taken in plain Python. Beside each real state stands the state that the search kept in its place, and the
permutation that maps the one to the other, but for dead cells; its inverse maps the next step of the search to a real
step. A search that only clears dead cells takes real steps.

A path may end with a step that leaves a declared range, or in a state in which a property does. If the kernel may
overreport (checker/compile/kernel.py), perhaps only a permutation of the whole path does so in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from isrcheck.checker.outcome.exploration import Exploration, Finding, Findings, StepPath
from isrcheck.checker.reductions.dead import dead_cells
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.reductions.symmetry import Permutation, followed_by, inverse
from isrcheck.models import run
from isrcheck.models.language.model import IN_RANGE, Instance
from isrcheck.models.run import Cells
from isrcheck.traces.format.erring import NoErrorError, error_of

Kept = Callable[[Cells], Cells]
"""Returns the state that a search keeps in place of another one."""


@dataclass(frozen=True)
class _Reached:
    """A real state, the state that the search kept, the permutation that maps the first to the second (but for dead
    cells), and the real steps."""

    real: Cells
    kept: Cells
    images: Permutation
    steps: tuple[int, ...]


class RealPaths:
    """Translates the paths of one search, which permutes states."""

    def __init__(self, instance: Instance, reduction: Reduction, kept: Kept) -> None:
        assert reduction.symmetry is not None
        self.instance = instance
        self.cleared = reduction.cleared
        self.clears = bool(reduction.dead)
        self.symmetry = reduction.symmetry
        self.kept = kept
        self.known: dict[StepPath, _Reached] = {}

    @cached_property
    def living(self) -> list[int]:
        """The positions of the cells that decide something; they are only looked for if there is a path."""
        # A cell that the search clears may be copied into one that it does not clear, because that saves nothing.
        dead = {position for one in dead_cells(self.instance) for position, _ in one.cells} if self.clears else ()
        return [position for position in range(self.instance.cells) if position not in dead]

    def translate(self, result: Exploration, *, may_overreport: bool) -> None:
        """Put real paths in place of the paths of a result. If its kernel `may_overreport`, and no permutation of the
        path leaves a declared range in plain Python, that finding is left out."""
        ranges = result.findings.pop(IN_RANGE.name, None)
        for name, found in result.findings.items():
            result.findings[name] = type(found)(
                self._real(found.found), self._real(found.permitted), self._real(found.erred), found.unjudged
            )
        if ranges is None:
            return
        first, steps = ranges.found.path, ranges.erred
        assert first is not None
        is_step = first == steps.path
        real = self._before_last(first) if is_step else self.path(first)
        left = self._leaving(real) if may_overreport else real
        if left is None:
            return
        if is_step:
            steps = Finding(steps.count, left)
        elif steps.path is not None:
            steps = Finding() if may_overreport else Finding(steps.count, self._before_last(steps.path))
        result.findings[IN_RANGE.name] = Findings(Finding(ranges.found.count, left), erred=steps)

    def _real(self, finding: Finding) -> Finding:
        return Finding(finding.count, None if finding.path is None else self.path(finding.path))

    def path(self, path: StepPath) -> StepPath:
        """The real path from the same initial state."""
        return StepPath(path.initial, self._reached(path).steps)

    def _before_last(self, path: StepPath) -> StepPath:
        """The real path whose last step leaves a declared range, so that no state follows."""
        reached = self._reached(StepPath(path.initial, path.steps[:-1]))
        last = self.symmetry.step(self.instance, path.steps[-1], inverse(reached.images))
        return StepPath(path.initial, (*reached.steps, last))

    def _leaving(self, path: StepPath) -> StepPath | None:
        """The first permutation of a real path that leaves a declared range at its end."""
        instance, symmetry = self.instance, self.symmetry
        first = instance.initial_states[path.initial]
        for images in symmetry.all_permutations:
            start = symmetry.permuted(first, images)
            initial = path.initial if start == first else instance.initial_states.index(start)
            steps = tuple(symmetry.step(instance, number, images) for number in path.steps)
            try:
                error_of(instance, initial, steps)
            except NoErrorError:
                continue
            return StepPath(initial, steps)
        return None

    def _reached(self, path: StepPath) -> _Reached:
        """The end of a path. Findings share the beginnings of their paths, so the end of each is kept."""
        reached = self._begun(path.initial)
        for length, number in enumerate(path.steps, 1):
            beginning = StepPath(path.initial, path.steps[:length])
            if beginning not in self.known:
                self.known[beginning] = self._after(reached, number)
            reached = self.known[beginning]
        return reached

    def _begun(self, initial: int) -> _Reached:
        beginning = StepPath(initial, ())
        if beginning not in self.known:
            real = self.instance.initial_states[initial]
            images, kept = self._match(self.symmetry.identity, real)
            self.known[beginning] = _Reached(real, kept, images, ())
        return self.known[beginning]

    def _after(self, before: _Reached, number: int) -> _Reached:
        """What is reached by the step that the search took in the state that it had kept."""
        instance = self.instance
        step = instance.step(self.symmetry.step(instance, number, inverse(before.images)))
        after = run.take(instance, before.real, step)
        reached = run.take(instance, before.kept, instance.step(number))
        assert after is not None and reached is not None, "a reduced search takes only steps that the model has"
        there = self.symmetry.permuted(after, before.images)
        is_same = all(there[position] == reached[position] for position in self.living)
        assert is_same, "a permutation maps steps to steps"
        images, kept = self._match(before.images, reached)
        return _Reached(after, kept, images, (*before.steps, step.number))

    def _match(self, images: Permutation, reached: Cells) -> tuple[Permutation, Cells]:
        """The state that the search keeps in place of `reached`, and `images` followed by what leads to it."""
        kept = self.kept(reached)
        one = self.symmetry.between(self.cleared(reached), kept)
        assert one is not None, "the search keeps a permutation of a state in its place"
        return followed_by(images, one), kept
