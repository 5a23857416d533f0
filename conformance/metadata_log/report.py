"""Formats a history: tables for people, and the JSON object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isrcheck.conformance.metadata_log.history import History, Key
from isrcheck.conformance.metadata_log.log_lines import TextLogs
from isrcheck.conformance.metadata_log.states import (
    NAMES,
    NO_LEADER,
    Change,
    PartitionState,
    spelled,
    spelled_name,
)

MOST_PARTITIONS = 20
"""With more partitions than this, only those are shown that had no leader or an unclean election, and not more."""

COLUMNS = ("offset", "time", "partition epoch", "leader epoch", "leader", "ISR", "ELR", "last known ELR", "replicas")
TEXTS = ("change", "in text logs")
"""The last columns, which are aligned to the left."""

OPTIONAL = ("offset", "ELR", "last known ELR", "in text logs")
"""Columns that are left out if all their cells are empty."""

EMPTY = ("-", "?")


def spell_history(history: History) -> Iterator[str]:
    """The tables of the partitions, and the changes of brokers, topics, settings and features."""
    shown = chosen(history, MOST_PARTITIONS)
    for key in shown:
        yield title_of(history, key)
        yield from _aligned(rows_of(history.changes[key]))
        yield ""
    left_out = len(history.changes) - len(shown)
    if left_out:
        yield f"{left_out:,} more partitions are not shown: name them with --topic or --partition; --json prints all"
        yield ""
    if history.events:
        yield "brokers, topics, settings and features"
        yield from _aligned(event_rows(history))
        yield ""


def chosen(history: History, most: int) -> list[Key]:
    """The partitions to show, in the order of their names: all; of more than `most`, at most `most` of those that had
    no leader or an unclean election."""
    keys = sorted(history.changes, key=lambda key: (history.name_of(key[0]), key[1], _first_offset(history, key)))
    if len(keys) > most:
        return [key for key in keys if any(map(is_notable, history.changes[key]))][:most]
    return keys


def _first_offset(history: History, key: Key) -> int:
    return history.changes[key][0].offset or -1


def is_notable(change: Change) -> bool:
    """Whether the change leaves the partition without a leader, or elects a leader uncleanly."""
    return change.is_unclean or change.state.leader == NO_LEADER


def title_of(history: History, key: Key) -> str:
    """The name of a partition, its topic id, and the number of its states."""
    named = "" if key[0] == history.name_of(key[0]) else f" (topic id {key[0]})"
    return f"{history.name_of(key[0])}-{key[1]}{named}: {count(len(history.changes[key]), 'state')}"


def rows_of(changes: Sequence[Change]) -> list[tuple[str, ...]]:
    """The headings of the table of a partition, and a row for each of its changes."""
    rows = [(*COLUMNS, *TEXTS), *map(_row, changes)]
    kept = [
        column
        for column, name in enumerate(rows[0])
        if name not in OPTIONAL or any(row[column] not in EMPTY for row in rows[1:])
    ]
    return [tuple(row[column] for column in kept) for row in rows]


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The rows of a table, in which texts are aligned to the left, and numbers and brokers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if name in (*TEXTS, "time", "subject") else cell.rjust(width)
            for name, cell, width in zip(rows[0], row, widths, strict=True)
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _row(change: Change) -> tuple[str, ...]:
    state = change.state
    cells = (state.partition_epoch, state.leader_epoch, state.leader, state.isr, state.elr, state.last_known_elr)
    offset = "-" if change.offset is None else str(change.offset)
    return (offset, change.time, *map(spelled, cells), _replicas(state), _change(change), _places(change))


def _places(change: Change) -> str:
    """The first line of a text log that shows the state, and the number of further lines that show it."""
    places = [*([change.source] if change.offset is None else []), *(change.seen_in or ())]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{places[0]}{more}" if places else "-"


def _replicas(state: PartitionState) -> str:
    """The replicas, and those that a reassignment adds (+) and removes (-)."""
    marks = [f"+{broker}" for broker in state.adding or ()] + [f"-{broker}" for broker in state.removing or ()]
    return spelled(state.replicas) + (f" ({' '.join(marks)})" if marks else "")


def _change(change: Change) -> str:
    """What has changed, in words."""
    words = [] if change.what in ("changed", "logged") else [change.what]
    changed = fields_changed(change)
    if "leader" in changed and "leader_epoch" in changed:
        changed.remove("leader_epoch")
    words += map(spelled_name, changed)
    if change.is_unclean:
        words.append("UNCLEAN ELECTION")
    return ", ".join(words) or "-"


def fields_changed(change: Change) -> list[str]:
    """The names of the fields, but for the partition epoch, that are known before and after a change, and differ."""
    if change.before is None or change.what == "topic deleted":
        return []
    pairs = [(name, getattr(change.before, name), getattr(change.state, name)) for name in NAMES]
    return [name for name, *values in pairs if name != "partition_epoch" and _differ(*values)]


def _differ(before: object, after: object) -> bool:
    return before is not None and after is not None and before != after


def event_rows(history: History) -> list[tuple[str, ...]]:
    """The headings of the table of brokers, topics, settings and features, and a row for each of their changes."""
    rows = [(str(event.offset), event.time, event.subject, event.what) for event in history.events]
    return [("offset", "time", "subject", "change"), *rows]


def closing(history: History, files: int, texts: TextLogs, unreadable: int) -> Iterator[str]:
    """The last lines: what was read, remarks, contradictions, and the verdict."""
    skipped = ", ".join(f"{number:,} {name}" for name, number in sorted(history.skipped.items()))
    read = [
        count(files, "file"),
        count(sum(history.kinds.values()), "record of the metadata log", "records of the metadata log"),
    ]
    if texts.lines:
        read.append(f"{count(texts.lines, 'line')} of text logs, of which {texts.claims:,} tell a state")
    yield f"read: {', '.join(read)}" + (f"; not decoded: {skipped}" if skipped else "")
    yield from (f"note: {remark}" for remark in remarks_of(history, texts))
    yield from (f"CONTRADICTED: {contradiction}" for contradiction in history.contradictions)
    yield verdict(history, unreadable)


def remarks_of(history: History, texts: TextLogs) -> list[str]:
    """What limits the history, in words."""
    remarks = list(history.remarks)
    if texts.not_understood:
        remarks.append(
            f"{count(texts.not_understood, 'line')} of text logs about an ISR or a leader not understood, the first is"
            f" {texts.first_not_understood}"
        )
    if texts.unplaced:
        remarks.append(
            f"{count(len(texts.unplaced), 'line')} of text logs not used, because several topics had the name, the"
            f" first is {texts.unplaced[0]}"
        )
    return remarks


def verdict(history: History, unreadable: int) -> str:
    """The verdict in one line."""
    states = sum(map(len, history.changes.values()))
    found = f"{count(states, 'state')} of {count(len(history.changes), 'partition')}"
    if history.contradictions:
        return f"CONTRADICTED: {count(len(history.contradictions), 'contradiction')} in {found}"
    if unreadable:
        return f"UNREADABLE: {count(unreadable, 'place')} in the files; the rest has {found}"
    return f"READ: {found}" if states else "NOTHING: the files have no state of a partition"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """The number and the noun, in the plural unless the number is 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def object_of(history: History, texts: TextLogs, unreadable: Sequence[str]) -> dict[str, Any]:
    """The whole history, as values for `json.dumps`; docs/metadata_log.md describes the keys."""
    return {
        "partitions": [
            {
                "topic": history.name_of(key[0]),
                "topic_id": None if key[0] == history.name_of(key[0]) else key[0],
                "partition": key[1],
                "states": [_object(change) for change in changes],
            }
            for key, changes in sorted(history.changes.items())
        ],
        "events": [
            {"offset": event.offset, "time": event.time, "subject": event.subject, "what": event.what}
            for event in history.events
        ],
        "records": dict(sorted(history.kinds.items())),
        "contradictions": list(history.contradictions),
        "unreadable": list(unreadable),
        "remarks": remarks_of(history, texts),
        "verdict": verdict(history, len(unreadable)).partition(":")[0],
    }


def _object(change: Change) -> dict[str, Any]:
    values = {name: getattr(change.state, name) for name in NAMES}
    return {
        "offset": change.offset,
        "time": change.time,
        "source": change.source,
        "what": change.what,
        "is_unclean": change.is_unclean,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in values.items()},
        "seen_in": list(change.seen_in or ()),
    }
