"""Runs a search on disk, in a new folder or resumed in the folder of an earlier run.

In:  the request, an instance, limits.
Out: an `Exploration` and its `DiskSummary`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.disk.carrier import DiskCarrier
from isrcheck.checker.disk.checkpoint import NO_REDUCTION, reduction_in
from isrcheck.checker.disk.files import CHECKPOINT, Folder
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
from isrcheck.checker.explicit.explore import concluded
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Progress
from isrcheck.models.language.model import Instance


def cleared_before(asked: DiskRequest) -> frozenset[tuple[str, str]] | None:
    """What the search that is resumed clears (`Reduction.clears`), so that it goes on so; None if it is a new one, or
    if that cannot be read."""
    if not asked.is_resumed:
        return None
    try:
        known = reduction_in((asked.folder / CHECKPOINT).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None  # the search itself says why
    return None if known is None else known[1]


def explore_on_disk(
    asked: DiskRequest,
    instance: Instance,
    limits: Limits,
    kernel: Kernel,
    *,
    count_all: bool = False,
    report: Callable[[Progress], None] = lambda progress: None,
) -> tuple[Exploration, DiskSummary]:
    """Search an instance within limits; the memory limit is for the whole process.

    Raises UsageError for a folder that cannot be used. If the disk is full, the result holds what was found until then.
    The folder is emptied when nothing is left to resume. If the search is repeated without its reduction
    (checker/explicit/explore.py), it goes on so when it is resumed.
    """
    folder = Folder.of(asked)
    try:
        if asked.is_resumed and (reduction_in(folder.read_checkpoint()) or ("",))[0] == NO_REDUCTION:
            kernel = kernel if kernel.reduction is None else kernel_of(instance)
        request = SearchRequest(count_all=count_all)
        carrier = DiskCarrier(SearchContext(instance, limits, kernel, request, report), asked, folder)

        def again(kernel: Kernel, within: Limits) -> Exploration:
            nonlocal carrier
            folder.empty()
            context = SearchContext(instance, within, kernel, request, report)
            carrier = DiskCarrier(context, replace(asked, is_resumed=False), folder)
            return Search(context, carrier).run()

        exploration = concluded(Search(carrier.context, carrier).run(), kernel, again)
        if exploration.frontier == 0 and exploration.stopped is None:
            folder.clear()
        return exploration, carrier.summary()
    finally:
        folder.close()
