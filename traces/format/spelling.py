"""Prints the contents of states: cells as the model declares them, and entries of Kafka's logs.

In:  an instance, and a cell or an entry.
Out: text. A cell of one of Kafka's logs holds a record or the marker that ends a transaction; markers are numbered
     after the records and are not printed as letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance
from isrcheck.models.language.states import FieldLayout, spell_element
from isrcheck.models.language.states import spell_value as spelled_value
from isrcheck.models.run import Cells, State

ENTRIES = ("exposed_record", "log_record", "response_record")
"""The fields of Kafka's model that hold log entries."""


def spell_cell(instance: Instance, position: int) -> str:
    """Return the name of a cell with its indices, such as log_record[1][0]."""
    layout = _layout_at(instance, position)
    index = list(layout.indices())[position - layout.offset]
    return spell_place(layout, index)


def spell_place(layout: FieldLayout, index: Sequence[int]) -> str:
    """Return the name of a field with its first indices."""
    domains = zip(layout.field.over, index, strict=False)
    indices = [f"[{spell_element(one) if domain.letters else int(one)}]" for domain, one in domains]
    if layout.field.outer is None:
        return layout.name + "".join(indices)
    record, _, part = layout.name.partition(".")
    outer = layout.field.outer
    return f"{record}{''.join(indices[:outer])}.{part}{''.join(indices[outer:])}"


def spell_cell_value(instance: Instance, position: int, value: int) -> str:
    """Return the value of a cell as text; a number outside the cell's range is printed as a number."""
    layout = _layout_at(instance, position)
    return spell_value(instance, layout, value) if layout.low <= value <= layout.high else str(value)


def spelled_at(instance: Instance, cells: Cells, positions: Iterable[int]) -> dict[str, str]:
    """Return the values of the cells at these positions of a state as text, by name; a set or a queue is one value."""
    found = {}
    for at in positions:
        layout = _layout_at(instance, at)
        if layout.field.contents is None:
            found[spell_cell(instance, at)] = spell_cell_value(instance, at, cells[at])
        else:
            index = list(layout.indices())[at - layout.offset][:-1]
            found[spell_place(layout, index)] = spell_part(instance, layout, cells, index)
    return found


def changed_cells(instance: Instance, before: Cells, after: Cells) -> list[tuple[str, str, str]]:
    """Return the cells, sets and queues that differ between two states: name, old value, new value."""
    positions = [cell for cell, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    new_values = spelled_at(instance, after, positions)
    return [(name, old, new_values[name]) for name, old in spelled_at(instance, before, positions).items()]


def spell_part(instance: Instance, layout: FieldLayout, cells: Cells, index: tuple[int, ...] = ()) -> str:
    """Return a field, or its element at `index`, as nested lists; a list of truth values as a set of elements."""
    if len(index) == len(layout.sizes):
        at = layout.position(index)
        return spell_value(instance, layout, cells[at])
    if layout.field.contents is not None and len(index) + 1 == len(layout.sizes):
        at = layout.position((*index, 0))
        return spell_contents(layout, cells[at : at + layout.sizes[-1]])
    parts = [spell_part(instance, layout, cells, (*index, one)) for one in range(layout.sizes[len(index)])]
    if layout.field.values.is_flag and len(index) + 1 == len(layout.sizes):
        letters = layout.field.over[-1].letters
        members = [spell_element(i) if letters else str(i) for i, part in enumerate(parts) if part == "true"]
        return "{" + ",".join(members) + "}"
    return "[" + " ".join(parts) + "]"


def spell_contents(layout: FieldLayout, cells: Sequence[int]) -> str:
    """Return a set or a queue with these cells as text."""
    contents = layout.field.contents
    assert contents is not None
    elements = contents.elements(cells)
    if contents.filler is not None:
        return contents.text.format(", ".join(map(layout.spell, elements)))
    return contents.text.format(", ".join(spelled_value(contents.element, one) for one in elements))


def _layout_at(instance: Instance, position: int) -> FieldLayout:
    return next(layout for layout in reversed([*instance.layouts.values()]) if layout.offset <= position)


def spell_value(instance: Instance, layout: FieldLayout, value: int) -> str:
    """Return the value of a cell of this field as text."""
    if layout.name in ENTRIES and instance.model.entries.keys() >= {"records", "transactions"}:
        transaction = value - instance.configuration.records
        if transaction >= 0:
            return f"marker{transaction}" if instance.configuration.transactions > 1 else "marker"
    return layout.spell(value)


# ------------------------------------------------------------------------------------------------------ Kafka's entries


def spell_entry(s: State, entry: int, epoch: int) -> str:
    """Return an entry of a log: `a0` for record a of epoch 0, `C0` for a commit marker, `1A0` for the abort marker of
    transaction 1.

    A `?` replaces a missing entry or epoch below the log end, which occurs only in unreachable states.
    """
    written = "?" if epoch == NONE else str(epoch)
    if entry == NONE:
        return "?"
    if entry < s.records:
        return f"{spell_element(entry)}{written}"
    transaction = entry - s.records
    return f"{transaction if s.transactions > 1 else ''}{_decision(s, transaction)[0].upper()}{written}"


def name_entry(s: State, entry: int) -> str:
    """Return an entry as part of a sentence: `record a`, `the commit marker of transaction 1`."""
    if entry < s.records:
        return f"record {spell_element(entry)}"
    transaction = entry - s.records
    of = f" of {name_transaction(s, transaction)}" if s.transactions > 1 else ""
    return f"the {_decision(s, transaction)} marker{of}"


def name_transaction(s: State, transaction: int) -> str:
    """Return a transaction as part of a sentence, with its number if there are several."""
    return f"transaction {transaction}" if s.transactions > 1 else "transaction"


def _decision(s: State, transaction: int) -> str:
    from isrcheck.models.kafka.state.values import TransactionState  # here, for other models do without Kafka's

    return "commit" if s.transaction_state[transaction] == TransactionState.COMMITTED else "abort"
