"""The walk as a site: a page for each of its states, and the forms that take a step and save the walk.

The state is kept here, not in the browser: a second tab and a reloaded page show it. Each form names the state of its
page; the form of an outdated page takes no step.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from isrcheck.models.messages import UsageError
from isrcheck.traces.browser.page import address_of, page_of
from isrcheck.traces.browser.server import Answer
from isrcheck.traces.terminal.walk import Walk, saved_line

STEP = re.compile(r"step-(0|[1-9][0-9]{0,8})")

OUT_OF_DATE = "Nothing was done: in another tab, the walk has gone on since that page was shown. This is its state now."


class WalkSite:
    """Answers requests about a walk; calls `tell` with one line of text for each saved trace."""

    def __init__(self, walk: Walk, out: Path, tell: Callable[[str], object]) -> None:
        self.walk = walk
        self.saved: list[Path] = []
        self._out = out
        self._tell = tell
        self._one_at_a_time = threading.Lock()

    def get(self, name: str) -> Answer | None:
        """Return the page of the state to which the address belongs. An address without a step, or with a step that the
        walk no longer has, is redirected to the present state."""
        with self._one_at_a_time:
            match = STEP.fullmatch(name)
            if name not in ("", "start") and match is None:
                return None
            is_there = name and self.walk.go_to(int(match[1]) if match else -1)
            return self._shown() if is_there else self._present()

    def post(self, name: str, form: Mapping[str, str]) -> Answer | None:
        """Take the step that a form asks for, or save the walk. Return a redirection, or a page that says why not."""
        with self._one_at_a_time:
            if name not in ("take", "save"):
                return None
            origin, place = self.walk.place, form.get("place", "")
            is_there = place in map(str, range(self.walk.first, self.walk.last + 1)) and self.walk.go_to(int(place))
            if not is_there or form.get("mark") != self._mark():
                self.walk.go_to(origin)
                return self._shown(OUT_OF_DATE, 409)
            try:
                if name == "save":
                    self._save()
                    return self._present()
                options, number = self.walk.options(), form.get("option", "")
                if number not in map(str, range(len(options))):
                    raise UsageError("the walk has no such step in this state; choose one of the buttons")
                self.walk.take(options[int(number)])
            except UsageError as error:
                return self._shown(str(error), 409)
            return self._present()

    # ---------------------------------------------------------------------------------------------------------- actions

    def _save(self) -> None:
        path = self.walk.save(self._out)
        if path not in self.saved:
            self.saved.append(path)
            self._tell(saved_line(path))

    def _mark(self) -> str:
        """The text that identifies the walk up to its present state."""
        return f"{hash(self.walk.trace.states if self.walk.has_begun else ()) & (1 << 64) - 1:016x}"

    # ------------------------------------------------------------------------------------------------------------ pages

    def _present(self) -> Answer:
        return Answer(location=address_of(self.walk.place))

    def _shown(self, notice: str = "", status: int = 200) -> Answer:
        page = page_of(self.walk, self._mark(), self.saved, notice)
        return Answer(page.alone(), page.policy, status)
