"""Runs a search on disk, in a new folder or resumed in the folder of an earlier run.

In:  the request, an instance, limits.
Out: an `Exploration` and its `DiskSummary`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.disk.carrier import DiskCarrier
from isrcheck.checker.disk.checkpoint import NO_REDUCTION, reduction_in
from isrcheck.checker.disk.files import Folder
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
from isrcheck.checker.explicit.explore import make_real, must_repeat
from isrcheck.checker.explicit.search import Search
from isrcheck.checker.outcome.exploration import Exploration, Progress
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.language.model import Instance


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
    The folder is emptied when nothing is left to resume. If a value leaves its declared range in a search with a
    reduction, the search is begun again without it; and so it goes on when it is resumed.
    """
    began = time.monotonic()
    folder = Folder.of(asked)
    try:
        if asked.is_resumed and reduction_in(folder.read_checkpoint()) == NO_REDUCTION:
            kernel = kernel if kernel.reduction is None else kernel_of(instance)
        request = SearchRequest(count_all=count_all)
        carrier = DiskCarrier(SearchContext(instance, limits, kernel, request, report), asked, folder)
        exploration = Search(carrier.context, carrier).run()
        if must_repeat(exploration, kernel):
            folder.empty()
            within, anew = limits.after(time.monotonic() - began), replace(asked, is_resumed=False)
            context = SearchContext(instance, within, kernel_of(instance), request, report)
            carrier = DiskCarrier(context, anew, folder)
            exploration = Search(context, carrier).run()
            exploration.limits, exploration.seconds = limits, time.monotonic() - began
        elif kernel.reduction is not None:
            make_real(exploration, kernel)
        if exploration.frontier == 0 and exploration.stopped is None:
            folder.clear()
        return exploration, carrier.summary()
    finally:
        folder.close()
