"""Runs searches with a reduction, and translates their results: the paths become real paths of the model, and uncertain
findings are removed. Also takes reductions from the cache.

A search with a reduction replaces each state that it reaches by a permutation of the state with dead cells cleared, and
takes the next step from this kept state. So the path of the search is not a path of the model. In the result it is
replaced by a real path: real states, and steps with their real arguments.

For this, plain Python follows the path once more. It records for each real state the kept state, and the permutation
that maps the real state to the kept state (except for dead cells). The inverse permutation maps the next step of the
search to a real step. A search that only clears dead cells already takes real steps.

A path may end with a step that leaves a declared range, or in a state in which the evaluation of a property leaves a
declared range. If the kernel may overreport (checker/compile/kernel.py), it is possible that only a permutation of the
path leaves the range, not the path itself.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from isrcheck.checker.compile.kernel import Announce, Kernel, kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.reductions.find import dead_cells
from isrcheck.checker.reductions.reduction import Permutation, Reduction, followed_by, inverse
from isrcheck.checker.resources.cache import cache_folder, engine_digest, kept_or_made
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, Findings, StepPath
from isrcheck.models import run
from isrcheck.models.language.model import IN_RANGE, Instance
from isrcheck.models.run import Cells
from isrcheck.traces.format.trace import NoErrorError, error_of

Found = tuple[Reduction | None, str]
"""The reduction of a search (None: none), and the reason why it does not use the symmetric domains that the model
declares; empty if it uses them."""


def kept_or_found(instance: Instance, question: str, find: Callable[[], Found], is_whole: Callable[[], bool]) -> Found:
    """Return the reduction that is stored in the cache for this instance and question, or else the result of `find`.

    `question` is a text of everything on which the reduction depends, except the instance. The result of `find` is
    stored in the cache if `is_whole()`, that is, if no time limit cut `find` short.
    """
    content = hashlib.sha256(f"{instance.digest}\0{question}\0{engine_digest()}\0{sys.version}".encode())
    # The digest of a model leaves out which domains are symmetric, and the places in its text, which a symmetry names.
    for file, name in sorted(instance.model.sources.items()):
        content.update(f"{name}\0".encode() + Path(file).read_bytes() + b"\0")
    path = cache_folder() / "reductions" / f"{content.hexdigest()[:32]}.pickle"
    answer: Found = pickle.loads(  # noqa: S301 - the cache is private; it holds code that is run
        kept_or_made(path, lambda: pickle.dumps(find()), is_whole)
    )
    return answer


SearchWith = Callable[[Kernel, Limits], Exploration]
"""A function that runs the search with a kernel, within limits."""


def concluded(
    search_with: SearchWith, kernel: Kernel, limits: Limits, announce: Announce = lambda message: None
) -> Exploration:
    """Run a search and return its result, with real paths and the reduction's name if the kernel has a reduction.

    If the kernel may overreport, and reports that a declared range is left, the search is repeated without the
    reduction. If a limit or Ctrl-C ends one of the searches early, the first search's certain results are kept.
    """
    first = search_with(kernel, limits)
    if kernel.reduction is None:
        return first
    is_sure = not kernel.may_overreport or IN_RANGE.name not in first.findings
    if not is_sure and first.is_complete:
        began = time.monotonic()
        second = _repeated(first, search_with, announce)
        seconds = first.seconds + time.monotonic() - began
        if isinstance(second, Exploration):
            second.limits, second.seconds = first.limits, seconds
            if second.is_complete or IN_RANGE.name in second.findings:
                return second
        first.seconds = seconds
        first.stopped = second.stopped if isinstance(second, Exploration) else second
    if not is_sure:
        _leave_out_what_is_unsure(first)
    _make_real(first, kernel)
    return first


def _repeated(first: Exploration, search_with: SearchWith, announce: Announce) -> Exploration | str:
    """Search again without a reduction, in the rest of the time. Returns the result; or, if the search could not
    begin, "seconds" (no time was left) or "interrupt" (Ctrl-C)."""
    limits, began = first.limits.after(first.seconds), time.monotonic()
    try:
        with compiling_within(limits.seconds):
            kernel = kernel_of(first.instance, announce)
        return search_with(kernel, limits.after(time.monotonic() - began))
    except OutOfTimeError:
        return "seconds"
    except KeyboardInterrupt:
        return "interrupt"


def _leave_out_what_is_unsure(result: Exploration) -> None:
    """Remove the findings whose paths are longer than the first path that may leave a declared range; lower `judged`.

    Shorter paths may exist for them: the search dropped all steps that may leave a range, but the model may have some
    of these steps. The other findings have shortest paths, because every state with a shorter path was visited.
    """
    path = result.findings[IN_RANGE.name].found.path
    assert path is not None
    result.judged = min(result.judged, path.depth - 1)
    for name, findings in result.findings.items():
        if name != IN_RANGE.name:
            first, permitted = (
                finding if finding.path is not None and finding.path.depth <= path.depth else Finding()
                for finding in (findings.found, findings.permitted)
            )
            result.findings[name] = Findings(first, permitted, unjudged=findings.unjudged)


def _make_real(result: Exploration, kernel: Kernel) -> None:
    """Replace the paths of a search with a reduction by real paths, and note the reduction in the result."""
    reduction, instance, layout = kernel.reduction, result.instance, kernel.layout
    assert reduction is not None

    def kept(cells: Cells) -> Cells:
        return layout.unpack(kernel.reduced(layout.pack(cells).reshape(1, -1), instance)[0])

    if reduction.symmetry is not None:
        RealPaths(instance, reduction, kept).translate(result, may_overreport=kernel.may_overreport)
    result.reduction = reduction.says


@dataclass(frozen=True)
class _Reached:
    """The end of a path: the real state, the state that the search kept, the permutation that maps the real state to
    the kept one (except for dead cells), and the real steps of the path."""

    real: Cells
    kept: Cells
    images: Permutation
    steps: tuple[int, ...]


class RealPaths:
    """Translates the paths of a search that permutes states into real paths. `kept` returns, for a state, the state
    that the search keeps instead."""

    def __init__(self, instance: Instance, reduction: Reduction, kept: Callable[[Cells], Cells]) -> None:
        assert reduction.symmetry is not None
        self.instance = instance
        self.cleared = reduction.cleared
        self.clears = bool(reduction.dead)
        self.symmetry = reduction.symmetry
        self.kept = kept
        self.ends: dict[StepPath, _Reached] = {}

    @cached_property
    def living(self) -> list[int]:
        """The positions of the cells that are not dead; they are computed only if there is a path to translate."""
        # A cell that the search clears may be copied into one that it does not clear, because that saves nothing.
        clearings = dead_cells(self.instance) if self.clears else ()
        dead = {position for clearing in clearings for position, _ in clearing.cells}
        return [position for position in range(self.instance.cells) if position not in dead]

    def translate(self, result: Exploration, *, may_overreport: bool) -> None:
        """Replace the paths of a result by real paths. If the kernel `may_overreport`, a finding that a declared range
        is left is kept only if plain Python confirms it for some permutation of its path."""
        ranges = result.findings.pop(IN_RANGE.name, None)
        for name, each in result.findings.items():
            found, permitted, erred = map(self._real, (each.found, each.permitted, each.erred))
            result.findings[name] = Findings(found, permitted, erred, each.unjudged)
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
        """The real path for `path`, a path of the search; both begin in the same initial state."""
        return StepPath(path.initial, self._reached(path).steps)

    def _before_last(self, path: StepPath) -> StepPath:
        """The real path for a path whose last step leaves a declared range, and so leads to no state."""
        reached = self._reached(StepPath(path.initial, path.steps[:-1]))
        last = self.symmetry.step(self.instance, path.steps[-1], inverse(reached.images))
        return StepPath(path.initial, (*reached.steps, last))

    def _leaving(self, path: StepPath) -> StepPath | None:
        """Return the first permuted path that leaves a declared range in plain Python; None if all stay in range."""
        instance, symmetry = self.instance, self.symmetry
        first = instance.initial_states[path.initial]
        for images in symmetry.permutations:
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
        """Return the end of a path. The end of each of its beginnings is stored, because other paths begin alike."""
        real = self.instance.initial_states[path.initial]
        images, kept = self._match(self.symmetry.identity, real)
        reached = _Reached(real, kept, images, ())
        for length, number in enumerate(path.steps, 1):
            beginning = StepPath(path.initial, path.steps[:length])
            if beginning not in self.ends:
                self.ends[beginning] = self._after(reached, number)
            reached = self.ends[beginning]
        return reached

    def _after(self, before: _Reached, number: int) -> _Reached:
        """Return the end of the path that continues `before` with one step: step `number` from the kept state."""
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
        """Return the permutation that maps a real state to the kept state, and the kept state. The search keeps this
        state in place of `reached`; `images` is the permutation that maps the real state to `reached`."""
        kept = self.kept(reached)
        images_of_kept = self.symmetry.between(self.cleared(reached), kept)
        assert images_of_kept is not None, "the search keeps a permutation of a state in its place"
        return followed_by(images, images_of_kept), kept
