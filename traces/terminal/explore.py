"""The screen of `trace explore`: a walk through a model in the terminal, drawn by the package textual.

walk.py computes what is shown. Text from a model or a trace passes through `plain`, so it is never read as markup.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, HorizontalScroll, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option as Entry

from isrcheck.models.messages import UsageError, escaped_lines
from isrcheck.traces.explaining.presentation import room_of
from isrcheck.traces.format.trace import PERMITTED, REACHED, VIOLATED, Trace, label
from isrcheck.traces.lanes.table import Look
from isrcheck.traces.terminal.show import full_state, step_table
from isrcheck.traces.terminal.walk import Option, Walk, turn_text

MOST_GUARDS = 500
"""The most steps of one action whose guards are listed; an action over subsets can have thousands."""

STYLES = {VIOLATED: "bold $error", PERMITTED: "bold $warning", REACHED: "$success"}


def plain(text: str, style: str = "") -> Content:
    """Return text that is shown literally: without markup, and without control characters."""
    shown = escaped_lines(text)
    return Content.styled(shown, style) if style else Content(shown)


class Options(OptionList):
    """The list of the possible next steps, or of the initial states; the footer of the screen shows its key, Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "take")]


class Explorer(App[None]):
    """The screen: the walk so far, the possible next steps with their changes, and the verdicts on the properties."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (70, "-wide")]  # noqa: RUF012 - textual's
    CSS = """
    #where { height: 1; background: $panel; }
    #past { height: 2fr; overflow-x: auto; }
    #lanes { width: auto; min-width: 100%; height: 1fr; }
    #titles { width: auto; height: 1; text-style: bold; }
    #steps { width: auto; min-width: 100%; height: 1fr; }
    #history { width: auto; }
    #choice { height: 3fr; border-top: solid $panel; }
    .-narrow #choice { layout: vertical; }
    #options { width: 1fr; height: 1fr; border: none; padding: 0; }
    #coming { width: 1fr; height: 1fr; border-left: solid $panel; }
    .-narrow #coming { border-left: none; border-top: solid $panel; }
    #filter { display: none; height: 1; border: none; padding: 0; }
    #promises { height: 2fr; border-top: solid $panel; }
    #over { background: $surface; border: solid $primary; }
    #actions { height: 1fr; border: none; padding: 0; }
    #guards { height: 2fr; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace", "go_back", "back"),
        Binding("f", "go_forward", "forward"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("g", "guards", "why not"),
        Binding("v", "state", "state"),
        Binding("s", "save", "save"),
        Binding("escape", "unfilter", "all", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, walk: Walk, out: Path) -> None:
        super().__init__()
        self.walk = walk
        self.out = out
        self.saved: list[Path] = []
        self.shown: list[Option] = []

    def compose(self) -> ComposeResult:
        """The panels of the screen, from the walk so far to the next steps."""
        yield Static(id="where", markup=False)
        with HorizontalScroll(id="past"), Vertical(id="lanes"):
            yield Static(id="titles", markup=False)
            with VerticalScroll(id="steps"):
                yield Static(id="history", markup=False)
        with Horizontal(id="choice"):
            yield Options(id="options", markup=False)
            with VerticalScroll(id="coming"):
                yield Static(id="preview", markup=False)
        yield Input(id="filter", placeholder="words of a step", compact=True)
        with VerticalScroll(id="promises"):
            yield Static(id="properties", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Show the beginning of the walk."""
        self.title = "trace explore"
        self.query_one("#options").focus()
        self.show_state()

    def on_resize(self) -> None:
        """Lay out the table of the steps again, for the new width."""
        self.call_after_refresh(self.show_history)

    # ------------------------------------------------------------------------------------------- contents of the panels

    def show_state(self, taken: str | None = None) -> None:
        """Show everything about the current state, with the cursor on the option `taken` or the first."""
        self.show_history()
        self.show_options(taken)
        self.query_one("#properties", Static).update(verdicts_of(self.walk))

    def show_history(self) -> None:
        """Show the walk so far, scrolled to its last step."""
        walk = self.walk
        where = f"step {walk.position}" if walk.has_begun else "choose an initial state"
        self.query_one("#where", Static).update(plain(f"{label(walk.instance)}: {where}"))
        self.query_one("#past").display = self.query_one("#promises").display = walk.has_begun
        titles, *lines = step_table(walk.trace, Look(self.size.width - 2)) if walk.has_begun else [""]
        self.query_one("#titles", Static).update(plain(titles))
        self.query_one("#history", Static).update(plain("\n".join(lines)))
        self.query_one("#steps", VerticalScroll).scroll_end(animate=False)

    def show_options(self, taken: str | None = None) -> None:
        """Show the options that contain all words of the filter, with the cursor on the option `taken` or the first."""
        words = self.query_one("#filter", Input).value.split()
        options = self.walk.options()
        self.shown = [option for option in options if all(word in option.text for word in words)]
        entries = self.query_one("#options", OptionList)
        entries.clear_options()
        entries.add_options([Entry(self.prompt(option)) for option in self.shown])
        if not self.shown:
            nothing = f"no enabled step contains {' and '.join(words)}" if options else "no step is enabled: a dead end"
            entries.add_option(Entry(plain(nothing), disabled=True))
            self.query_one("#preview", Static).update("")
            return
        texts = [option.text for option in self.shown]
        entries.highlighted = texts.index(taken) if taken in texts else 0
        self.show_preview(self.shown[entries.highlighted])

    def prompt(self, option: Option) -> Content:
        """Return the line of an option in the list; for an initial state, with the title and contents of each lane."""
        if option.step is not None or option.after is None:
            return plain(option.text, "$error" if option.problem else "")
        trace = Trace(self.walk.instance, (option.after,), (), None, None, "")
        lanes = room_of(trace.instance).lanes
        columns = zip(lanes.titles(trace.instance), lanes.rows(trace)[0].cells, strict=True)
        contents = "; ".join(f"{title}: {', '.join(lines)}" for title, lines in columns if lines)
        return plain(f"{option.text}: {contents}")

    def show_preview(self, option: Option) -> None:
        """Show the changes of an option; an initial state is shown in full."""
        if option.problem:
            lines = [plain(f"the step causes an error: {option.problem}", "$error")]
        elif option.step is None and option.after is not None:
            lines = [plain(line) for line in full_state(self.walk.instance, option.after)]
        else:
            lines = [plain(turn_text(turn), STYLES[turn.verdict or VIOLATED]) for turn in self.walk.turning(option)]
            lines += map(plain, self.walk.changes(option) or ["the step changes nothing"])
        self.query_one("#preview", Static).update(Content("\n").join(lines))
        self.query_one("#coming", VerticalScroll).scroll_home(animate=False)

    # ------------------------------------------------------------------------------------------------------------- keys

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the changes of the option to which the cursor moved."""
        if event.option_list.id == "options" and event.option_index < len(self.shown):
            self.show_preview(self.shown[event.option_index])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the option that was selected with Enter."""
        if event.option_list.id != "options":
            return
        try:
            self.walk.take(self.shown[event.option_index])
        except UsageError as error:
            self.tell(str(error), is_wrong=True)
            return
        self.query_one("#filter", Input).value = ""
        self.hide_filter()
        self.show_state()

    def action_go_back(self) -> None:
        """Go back one step, with the cursor on the step that is undone."""
        last = self.walk.trace.steps[-1] if self.walk.position else None
        if self.walk.back():
            self.show_state(None if last is None else self.walk.instance.spell_step(last))

    def action_go_forward(self) -> None:
        """Redo the step that was undone last."""
        if self.walk.forward():
            self.show_state()

    def action_filter(self) -> None:
        """Open the filter's input line, for the words that a shown option has to contain."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def action_unfilter(self) -> None:
        """Show all options again."""
        self.query_one("#filter", Input).value = ""
        self.hide_filter()

    def hide_filter(self) -> None:
        """Move the focus to the list of options, which stays filtered; hide the filter's input line if it is empty."""
        field = self.query_one("#filter", Input)
        field.display = bool(field.value)
        self.query_one("#options").focus()

    def on_input_changed(self) -> None:
        """Show the options that match the changed filter."""
        self.show_options()

    def on_input_submitted(self) -> None:
        """Move from the filter to the options that match it, after Enter."""
        self.hide_filter()

    def action_guards(self) -> None:
        """Open the screen that explains why the disabled steps are not enabled."""
        if self.walk.has_begun:
            at = self.query_one("#options", OptionList).highlighted
            step = self.shown[at].step if at is not None and at < len(self.shown) else None
            self.push_screen(Guards(self.walk, None if step is None else step.action))

    def action_state(self) -> None:
        """Open the screen that shows every field of the state."""
        if self.walk.has_begun:
            self.push_screen(WholeState(self.walk))

    def action_save(self) -> None:
        """Save the walk as a trace."""
        try:
            path = self.walk.save(self.out)
        except UsageError as error:
            self.tell(str(error), is_wrong=True)
            return
        if path not in self.saved:
            self.saved.append(path)
        self.tell(f"saved: {path}")

    def tell(self, message: str, is_wrong: bool = False) -> None:
        """Show `message` as a notification; `is_wrong` makes it an error."""
        self.notify(str(plain(message)), severity="error" if is_wrong else "information", markup=False)


def verdicts_of(walk: Walk) -> Content:
    """Return the verdicts on the properties, with the false ones first and explained."""
    return Content("\n").join(plain(line, STYLES.get(verdict, "")) for line, verdict in walk.verdict_lines())


class Overlay(ModalScreen[None]):
    """A screen on top of the walk's screen; escape, g, v or q closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,g,v,q", "dismiss", "close")]


class Guards(Overlay):
    """A screen that lists each action, the number of its enabled steps, and each disabled step's first false guard."""

    def __init__(self, walk: Walk, action: str | None) -> None:
        super().__init__()
        self.walk = walk
        self.first = walk.actions.index(action) if action in walk.actions else 0

    def compose(self) -> ComposeResult:
        """The list of actions at the top, the steps of the selected action below."""
        enabled = [option.step.action for option in self.walk.options() if option.step is not None]
        steps = [step.action for step in self.walk.instance.steps]
        counts = (f"{action}: {enabled.count(action)} of {steps.count(action)} enabled" for action in self.walk.actions)
        with Vertical(id="over"):
            yield OptionList(*map(Entry, map(plain, counts)), id="actions", markup=False)
            with VerticalScroll(id="guards"):
                yield Static(id="reasons", markup=False)

    def on_mount(self) -> None:
        """Put the cursor on the action of the selected option."""
        self.query_one(OptionList).highlighted = self.first

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the steps of the action to which the cursor moved."""
        event.stop()
        guards = self.walk.guards(self.walk.actions[event.option_index])
        lines = [
            plain(f"{step}: {why}") if why else plain(f"{step}: enabled", STYLES[REACHED])
            for step, why in guards[:MOST_GUARDS]
        ]
        if len(guards) > MOST_GUARDS:
            lines.append(plain(f"and {len(guards) - MOST_GUARDS} more steps"))
        self.query_one("#reasons", Static).update(Content("\n").join(lines))


class WholeState(Overlay):
    """A screen that shows every field of the current state."""

    def __init__(self, walk: Walk) -> None:
        super().__init__()
        self.walk = walk

    def compose(self) -> ComposeResult:
        """The panel, with one field per line."""
        with VerticalScroll(id="over"):
            yield Static(plain("\n".join(full_state(self.walk.instance, self.walk.cells))), markup=False)
