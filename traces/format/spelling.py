"""How what a state holds is written: cells as the model declares them, and the entries of Kafka's logs.

In:  an instance, and a cell or an entry.
Out: text. A cell of Kafka's logs holds a record, or the marker that ends a transaction: markers are numbered after the
     records, and are no further letters.
"""

from __future__ import annotations

from isrcheck.models.language.declare import NONE
from isrcheck.models.language.model import Instance, Place, spell_element
from isrcheck.models.run import Cells, State

ENTRIES = ("exposed_record", "log_record", "response_record")
"""The fields of Kafka's model that hold entries of a log."""


def spell_cell(instance: Instance, position: int) -> str:
    """The name of a cell with its indices: log_record[1][0]."""
    place = _place_at(instance, position)
    index = list(place.indices())[position - place.offset]
    domains = zip(place.field.over, index, strict=True)
    return place.name + "".join(f"[{spell_element(one) if domain.letters else one}]" for domain, one in domains)


def spell_cell_value(instance: Instance, position: int, value: int) -> str:
    """What a cell holds, as people read it; a number that the cell cannot hold stays a number."""
    place = _place_at(instance, position)
    return spell_value(instance, place, value) if place.low <= value <= place.high else str(value)


def changed_cells(instance: Instance, before: Cells, after: Cells) -> list[tuple[str, str, str]]:
    """The cells in which two states differ: name, old value, new value."""
    return [
        (spell_cell(instance, cell), spell_cell_value(instance, cell, old), spell_cell_value(instance, cell, new))
        for cell, (old, new) in enumerate(zip(before, after, strict=True))
        if old != new
    ]


def _place_at(instance: Instance, position: int) -> Place:
    for place in instance.places.values():
        if place.offset <= position < place.offset + place.count:
            return place
    raise IndexError(position)


def spell_value(instance: Instance, place: Place, value: int) -> str:
    """What a cell of this field holds, as people read it."""
    if place.name in ENTRIES and "transactions" in instance.model.entries:
        transaction = value - instance.configuration.records
        if transaction >= 0:
            return f"marker{transaction}" if instance.configuration.transactions > 1 else "marker"
    return place.spell(value)


# ----------------------------------------------------------------------------------------------------- Kafka's entries


def spell_entry(s: State, entry: int, epoch: int) -> str:
    """An entry in a log: `a0` record a of epoch 0, `C0` a commit marker, `1A0` the abort marker of transaction 1.

    A `?` stands for what a log lacks within its ends, an entry or its epoch: only a state that need not be reachable
    has that.
    """
    written = "?" if epoch == NONE else str(epoch)
    if entry == NONE:
        return "?"
    if entry < s.records:
        return f"{spell_element(entry)}{written}"
    transaction = entry - s.records
    return f"{transaction if s.transactions > 1 else ''}{_decision(s, transaction)[0].upper()}{written}"


def name_entry(s: State, entry: int) -> str:
    """An entry in a sentence: `record a`, `the commit marker of transaction 1`."""
    if entry < s.records:
        return f"record {spell_element(entry)}"
    transaction = entry - s.records
    of = f" of {name_transaction(s, transaction)}" if s.transactions > 1 else ""
    return f"the {_decision(s, transaction)} marker{of}"


def name_transaction(s: State, transaction: int) -> str:
    """A transaction in a sentence: by its number, where there are several."""
    return f"transaction {transaction}" if s.transactions > 1 else "transaction"


def _decision(s: State, transaction: int) -> str:
    from isrcheck.models.kafka.state.fields import TransactionState  # here, for other models do without Kafka's

    return "commit" if s.transaction_state[transaction] == TransactionState.COMMITTED else "abort"
