"""The walk as a site: a page for each of its states, and the forms that take a step and save the walk.

In:  a walk (terminal/walk.py, the same as in the terminal), and the folder for saved walks.
Out: answers to the requests of a browser (server.py).

The state lies here, not in the browser: a second tab and a page that is loaded again show it. Each form says from which
state its page was made; the form of a page that is out of date takes no step.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.traces.browser.page import Choice, Turn, View, address_of, page_of, security
from isrcheck.traces.browser.server import Answer
from isrcheck.traces.drawing.compose import scene_of
from isrcheck.traces.drawing.page_text import indices_of
from isrcheck.traces.explaining.presentation import headline, step_in_words
from isrcheck.traces.format.trace import Trace, heading, label
from isrcheck.traces.lanes.scene import Lane
from isrcheck.traces.terminal.walk import BROKEN, NOT_JUDGED_AHEAD, Option, PropertyStatus, Walk, saved_line, turn_text

STEP = re.compile(r"step-(0|[1-9][0-9]{0,8})")

OUT_OF_DATE = "Nothing was done: in another tab, the walk has gone on since that page was shown. Here it is now."


class WalkSite:
    """Answers requests about a walk; `tell` gets a line for each saved trace."""

    def __init__(self, walk: Walk, out: Path, tell: Callable[[str], None]) -> None:
        self.walk = walk
        self.saved: list[Path] = []
        self._out = out
        self._tell = tell
        self._one_at_a_time = threading.Lock()

    def get(self, name: str) -> Answer | None:
        """Show the state at the address; the address of the whole walk, or of a step that is no longer there, leads to
        the present state."""
        with self._one_at_a_time:
            match = STEP.fullmatch(name)
            if name not in ("", "start") and match is None:
                return None
            place = int(match[1]) if match else -1
            if name and self.walk.go_to(place):
                return self._shown()
            return self._present()

    def post(self, name: str, form: Mapping[str, str]) -> Answer | None:
        """Take the step or save the walk that a form asks for, and lead to the state after it."""
        with self._one_at_a_time:
            if name not in ("take", "save"):
                return None
            here, place = self.walk.place, form.get("place", "")
            is_there = place in map(str, range(self.walk.first, self.walk.last + 1)) and self.walk.go_to(int(place))
            if not is_there or form.get("mark") != self._mark():
                self.walk.go_to(here)
                return self._shown(OUT_OF_DATE, 409)
            try:
                if name == "take":
                    self._take(form.get("option", ""))
                else:
                    self._save()
            except UsageError as error:
                return self._shown(str(error), 409)
            return self._present()

    # ---------------------------------------------------------------------------------------------------------- actions

    def _take(self, number: str) -> None:
        options = self.walk.options()
        if number not in map(str, range(len(options))):
            raise UsageError("there is no such step here")
        self.walk.take(options[int(number)])

    def _save(self) -> None:
        path = self.walk.save(self._out)
        if path not in self.saved:
            self.saved.append(path)
            self._tell(saved_line(path))

    def _mark(self) -> str:
        """What identifies the walk up to here."""
        return f"{hash(self.walk.trace.states if self.walk.has_begun else ()) & (1 << 64) - 1:016x}"

    # ------------------------------------------------------------------------------------------------------------ pages

    def _present(self) -> Answer:
        return Answer(location=address_of(self.walk.place))

    def _shown(self, notice: str = "", status: int = 200) -> Answer:
        walk = self.walk
        finding = walk.finding if walk.has_begun else None
        title = f"A walk through {label(walk.instance)}"
        broken = [one.prop.name for one in walk.statuses() if one.verdict in BROKEN]
        view = View(
            title=title if finding is None or finding.prop is None else headline(finding),
            verdict="" if finding is None else finding.verdict or "",
            subtitle=heading(walk.instance),
            place=walk.place,
            first=walk.first,
            last=walk.last,
            mark=self._mark(),
            choices=self._choices(),
            unjudged=[prop.name for prop in walk.instance.properties if prop.kind in NOT_JUDGED_AHEAD],
            scene=scene_of(walk.whole) if walk.has_begun else None,
            indices=indices_of(walk.instance),
            told=walk.told(),
            broken=broken,
            saved=[saved_line(path) for path in self.saved],
            notice=notice,
        )
        return Answer(page_of(view), security(), status)

    def _choices(self) -> list[Choice]:
        walk = self.walk
        options = walk.options()
        if walk.has_begun:
            words = [step_in_words(walk.instance, one.step, walk.cells) for one in options if one.step is not None]
        else:
            words = differences(walk.instance, [one.after for one in options if one.after is not None])
        return [
            Choice(
                told or one.text,
                one.text,
                [self._turn(one, turned) for turned in walk.turning(one)],
                walk.changes(one),
                one.problem,
            )
            for one, told in zip(options, words, strict=True)
        ]

    def _turn(self, option: Option, turned: PropertyStatus) -> Turn:
        if turned.problem:
            return Turn(turn_text(turned), turned.prop.name, "VIOLATED")
        return Turn(headline(self.walk.trace_of(option, turned)), turn_text(turned), turned.verdict or "")


def differences(instance: Instance, states: Sequence[Cells]) -> list[str]:
    """Return for each state what those of its lanes show that are not the same in all states."""
    scenes = [scene_of(Trace(instance, (cells,), (), None, None, "")) for cells in states]
    columns = [
        [f"{title}: {_text(scene.moments[0].lanes[lane])}" for scene in scenes]
        for lane, title in enumerate(scenes[0].lanes)
    ]
    differing = [column for column in columns if len(set(column)) > 1]
    return ["; ".join(column[number] for column in differing) for number in range(len(states))]


def _text(lane: Lane) -> str:
    log = " ".join(cell.text for cell in lane.cells if cell.text)
    return ", ".join(one for one in (lane.title, log, *lane.notes, *lane.alarms) if one)
