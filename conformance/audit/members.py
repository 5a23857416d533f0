"""Reads from a metadata log who was a replica, in the ISR, in the ELR and the last known leader of each partition.

In:  the PATHs of `conform audit --metadata`, and the log folders of the audit.
Out: the membership of each partition at the end of the metadata log, with the names that the audit gives the brokers.

The metadata log has the ids of brokers. The id of a log folder is in its file `meta.properties`; if that file is not
there, the number at the end of the folder's name is assumed to be the id. The options for brokers are read likewise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isrcheck.conformance.audit.candidates import Membership
from isrcheck.conformance.audit.copies import Found
from isrcheck.conformance.kafka_format.log_folder import FileError, broker_id_of
from isrcheck.conformance.metadata_log.reading import files_in, history_of
from isrcheck.models.messages import UsageError

META = "meta.properties"


def members_in(
    paths: Sequence[Path], folders: Found, complain: Callable[[str], object]
) -> tuple[Mapping[str, Membership], list[str]]:
    """The membership of each partition of the folders that the metadata log has, and remarks about what was assumed.

    `complain` is called with a line about each file that cannot be read. Raises UsageError.
    """
    files = files_in(paths)
    for line in files.unreadable:
        complain(line)
    history = history_of(files, lambda topic, partition: f"{topic}-{partition}" in folders.copies, complain)
    history.close()
    names, remarks = _names(folders)
    found: dict[str, Membership] = {}
    for (topic_id, number), changes in sorted(history.changes.items(), key=lambda item: item[1][-1].offset or 0):
        state = changes[-1].state
        name = f"{history.name_of(topic_id)}-{number}"
        if changes[-1].what != "topic deleted":
            lists = (state.replicas, state.isr, state.elr, state.last_known_elr)
            replicas, isr, elr, last = (
                tuple(names.get(broker, f"broker {broker}") for broker in each or ()) for each in lists
            )
            members = Membership(replicas, isr, elr, last, is_exact=None not in lists, topic_id=topic_id)
            found[name] = members
    others = {name: _other_topic(name, found[name].topic_id, folders) for name in sorted(found)}
    for name, complaint in others.items():
        if complaint is not None:
            complain(complaint)
            del found[name]
    if not others:
        raise UsageError(
            f"--metadata {paths[0]}: no state of a partition of these log folders in it; give the folder"
            " __cluster_metadata-0 of the same cluster"
        )
    return found, [*remarks, *history.remarks]


def _other_topic(partition: str, topic_id: str | None, folders: Found) -> str | None:
    """A line that says that the copies of a partition are of other topics than the metadata log's topic of the same
    name; None if a copy is of that topic, or if no copy tells its topic id."""
    ids = {copy.broker: copy.topic_id for copy in folders.copies[partition] if copy.topic_id is not None}
    if not ids or topic_id in ids.values():
        return None
    there = ", ".join(f"{told} on {broker}" for broker, told in ids.items())
    return (
        f"--metadata: the topic of {partition} has the id {topic_id} in the metadata log, and another in the log"
        f" folders ({there}): its replicas, ISR and ELR are those of another topic, and are not used; give files of one"
        " cluster and of one moment"
    )


def _names(folders: Found) -> tuple[dict[int, str], list[str]]:
    """The name of the folder of each broker id, and a remark for each id that is assumed. Raises UsageError."""
    names: dict[int, str] = {}
    ids, remarks = ids_of(folders)
    for broker, folder in folders.folders.items():
        number = ids.get(broker)
        if number is None:
            raise UsageError(
                f"--metadata: {folder} does not tell the id of its broker: copy {META} of its log folder, or name"
                " the folder with the id, as in broker3"
            )
        if number in names:
            raise UsageError(f"--metadata: {names[number]} and {broker} are folders of one broker, with id {number}")
        names[number] = broker
    return names, list(remarks.values())


def ids_of(folders: Found) -> tuple[dict[str, int], dict[str, str]]:
    """The id of the broker of each folder, as far as it is known, and a remark on each folder whose id is assumed.
    Raises UsageError."""
    ids: dict[str, int] = {}
    remarks: dict[str, str] = {}
    for broker, folder in folders.folders.items():
        try:
            number = broker_id_of(folder / META) if (folder / META).exists() else None
        except FileError as error:
            raise UsageError(str(error)) from None
        match = re.search(r"([0-9]{1,9})/*$", broker)
        if number is None and match:
            number = int(match[1])
            remarks[broker] = f"assumed: {broker} is the broker with id {number}, because its folder has no {META}"
        if number is not None:
            ids[broker] = number
    return ids, remarks


class BrokerNames:
    """Finds the folder that an option means by the name of a broker: the name of the folder, or the broker's id."""

    def __init__(self, folders: Found) -> None:
        self._folders = folders
        self._read: tuple[dict[str, int], dict[str, str]] | None = None

    def folder_of(self, option: str, name: str) -> str:
        """The name of the folder; `name` itself if no folder is known to be this broker's. A remark tells if the id of
        the folder is assumed. Raises UsageError if several folders can be meant."""
        if not re.fullmatch("[0-9]{1,9}", name, re.ASCII):
            return name
        ids, remarks = self._read = self._read or ids_of(self._folders)
        meant = [broker for broker, number in ids.items() if number == int(name)]
        certain = [broker for broker in meant if broker not in remarks]
        meant = certain or meant
        if name in self._folders.brokers and name not in meant:
            meant = [name, *meant]
        if len(meant) > 1:
            cure = "give the folders other names" if name in meant else "name the folder"
            raise UsageError(f"{option}: {name} may be any of the folders {', '.join(meant)}; {cure}")
        if not meant:
            return name
        (broker,) = meant
        if broker != name and broker in remarks and remarks[broker] not in self._folders.remarks:
            self._folders.remarks.append(remarks[broker])
        return broker
