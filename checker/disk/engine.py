"""Runs a search on disk, in a new folder or resumed in the folder of an earlier run.

In:  the request, an instance, limits.
Out: an `Exploration` and its `DiskSummary`.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.compile.kernel import Kernel
from isrcheck.checker.disk.carrier import DiskCarrier
from isrcheck.checker.disk.files import Folder
from isrcheck.checker.disk.request import DiskRequest
from isrcheck.checker.disk.summary import DiskSummary
from isrcheck.checker.explicit.carrier import SearchContext, SearchRequest
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
    The folder is emptied when nothing is left to resume.
    """
    context = SearchContext(instance, limits, kernel, SearchRequest(count_all=count_all), report)
    folder = Folder.of(asked)
    try:
        carrier = DiskCarrier(context, asked, folder)
        exploration = Search(context, carrier).run()
        if exploration.frontier == 0 and exploration.stopped is None:
            folder.clear()
        return exploration, carrier.summary()
    finally:
        folder.close()
