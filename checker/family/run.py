"""`check family`: searches every case of the small models, and compares with what is recorded.

In:  `Options`, and a session.
Out: a `CommandResult`: exit code 10 if something differs, 3 if a search was cut short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isrcheck.checker.command.form import Options
from isrcheck.checker.family.cases import FOR, STATES, Case, Table, chosen
from isrcheck.checker.outcome.exit_codes import SAFE, UNDECIDED, UNEXPECTED
from isrcheck.checker.outcome.exploration import Exploration
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Word, verdicts
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.formatting import counted, tables
from isrcheck.checker.session.session import CutShortError, SearchSession
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

WIDEST = 132
ABSENT = Word.NOT_APPLICABLE.value
CUT_SHORT, NONE = "?", "none"


@dataclass
class _Searching:
    """Searches cases within the limits of a command. After Ctrl-C, nothing more is searched."""

    session: SearchSession
    limits: Limits
    is_interrupted: bool = False

    def answer(self, table: Table, case: Case) -> dict[str, str]:
        """The states, the verdicts and the least values of a case, as text by column. Raises CutShortError."""
        exploration = self._explore(case.instance, case.says)
        found = {STATES: str(exploration.distinct)}
        judged = {one.prop.name: one.bare for one in verdicts(exploration)}
        for column in table.columns:
            setting, is_least, prop = column.partition(FOR)
            if is_least:
                found[column] = self._least(case, setting, prop, case.recorded[column])
            else:
                found[column] = judged.pop(column, ABSENT)
        # A range that is left, or a deadlock, is no column.
        return found | {name: text for name, text in judged.items() if name in ("in_range", "deadlock")}

    def _least(self, case: Case, setting: str, prop: str, recorded: str) -> str:
        """The least value of the setting with which the property holds, or NONE. The recorded one is tried first."""
        entry = case.instance.model.entries[setting]
        assert entry.most is not None
        low, high = entry.least, entry.most + 1  # that no value will do stands above the greatest one
        guess = high if recorded == NONE else int(recorded) if recorded.isdecimal() else (low + high) // 2
        guess = max(low, min(guess, high))
        while low < high:
            # What is recorded takes two searches: one with it, and one with a value less.
            tried = guess if low <= guess < high else guess - 1 if low <= guess - 1 < high else (low + high) // 2
            if self._holds(case, setting, prop, tried):
                high = tried
            else:
                low = tried + 1
        return NONE if low > entry.most else str(low)

    def _holds(self, case: Case, setting: str, prop: str, value: int) -> bool:
        instance = case.instance
        values = dict(instance.configuration.items()) | {setting: value}
        other = instance.model.instance(instance.protocol.name, values)
        found = self._explore(other, f"{case.says}, {setting}={value}", prop)
        return all(one.word is Word.HOLDS for one in verdicts(found) if one.prop.name == prop)

    def _explore(self, instance: Instance, says: str, prop: str = "") -> Exploration:
        if self.is_interrupted:
            raise KeyboardInterrupt
        only = (prop,) if prop else ()
        return self.session.explore_whole(instance, self.limits, count_all=not prop, subject=says, only=only)


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the cases of the models that are named, or of all. Raises UsageError for an unknown name."""
    searching = _Searching(session, options.limits)
    blocks: list[str] = []
    found, differing, cut, why = [], 0, 0, ""
    for table in chosen(_names(options)):
        rows = [["case", STATES, *(column.partition(FOR)[0] for column in table.columns)]]
        for case in table.cases:
            try:
                ours = searching.answer(table, case)
            except (CutShortError, KeyboardInterrupt) as error:
                searching.is_interrupted = isinstance(error, KeyboardInterrupt)
                why, cut = str(error) or WHY_STOPPED["interrupt"], cut + 1
                rows.append([case.says, *[CUT_SHORT] * (1 + len(table.columns))])
                continue
            differing += ours != case.recorded
            rows.append([case.says, *_cells(ours, case.recorded, table)])
            found.append({"model": table.name, "case": case.says, "found": ours, "recorded": dict(case.recorded)})
        blocks += [f"{table.name}: {_title(table)}", "", *tables(rows, WIDEST, ABSENT), ""]
    closing = f"{counted(len(found), 'case')}: "
    differ = "differs" if differing == 1 else "differ"
    closing += f"{differing} {differ} from the record" if differing else "all as recorded"
    if cut:
        closing = f"{Word.UNDECIDED.value}: {why}; {counted(cut, 'case')} cut short; {closing}"
    code = UNEXPECTED if differing else UNDECIDED if cut else SAFE
    words = {SAFE: "as recorded", UNDECIDED: Word.UNDECIDED.value, UNEXPECTED: "differs"}
    content = {"cases": found, "verdict": words[code]}
    return CommandResult("\n".join([*blocks, closing]), content, code, is_interrupted=searching.is_interrupted)


def _names(options: Options) -> list[str]:
    """The names of models on the command line. Raises UsageError for an option of a model."""
    names = [*([options.target] if options.target else []), *options.rest]
    given = next((place for place, name in enumerate(names) if name.startswith("-")), None)
    if given is not None:
        model = names[0] if given else "isr_by_lag"
        raise UsageError(
            f"{names[given]} does not go with {options.form.name}, whose cases are recorded; search the model itself,"
            f" as in: check {model} {' '.join(names[given:])}"
        )
    return names


def _title(table: Table) -> str:
    """The first line about the model."""
    return table.cases[0].instance.model.documentation.splitlines()[0]


def _cells(ours: Mapping[str, str], recorded: Mapping[str, str], table: Table) -> Iterator[str]:
    """The printed cells of a case; one that differs says what is recorded."""
    for name in (STATES, *table.columns):
        text = f"{int(ours[name]):,}" if name == STATES else ours[name]
        yield text if ours[name] == recorded.get(name) else f"{text} (recorded: {recorded.get(name)})"
