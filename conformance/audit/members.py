"""Reads from a metadata log who was a replica, in the ISR, in the ELR and the last known leader of each partition.

In:  the PATHs of `conform audit --metadata`, and the log folders of the audit.
Out: the membership of each partition at the end of the metadata log, with the names that the audit gives the brokers.

The metadata log has the ids of brokers. The id of a log folder is in its file `meta.properties`; if that file is not
there, the number at the end of the folder's name is assumed to be the id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isrcheck.conformance.audit.candidates import Membership
from isrcheck.conformance.audit.copies import Found
from isrcheck.conformance.kafka_format.log_folder import broker_id_of
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
        if changes[-1].what != "topic deleted":
            lists = (state.replicas, state.isr, state.elr, state.last_known_elr)
            replicas, isr, elr, last = (
                tuple(names.get(broker, f"broker {broker}") for broker in each or ()) for each in lists
            )
            members = Membership(replicas, isr, elr, last, is_exact=None not in lists)
            found[f"{history.name_of(topic_id)}-{number}"] = members
    if not found:
        raise UsageError(
            f"--metadata {paths[0]}: no state of a partition of these log folders in it; give the folder"
            " __cluster_metadata-0 of the same cluster"
        )
    return found, [*remarks, *history.remarks]


def _names(folders: Found) -> tuple[dict[int, str], list[str]]:
    """The name of the folder of each broker id, and a remark for each id that is assumed. Raises UsageError."""
    names: dict[int, str] = {}
    remarks = []
    for broker, folder in folders.folders.items():
        number = broker_id_of(folder / META) if (folder / META).exists() else None
        if number is None:
            match = re.search(r"([0-9]{1,9})/*$", broker)
            if not match:
                raise UsageError(
                    f"--metadata: {folder} does not tell the id of its broker: copy {META} of its log folder, or name"
                    " the folder with the id, as in broker3"
                )
            number = int(match[1])
            remarks.append(f"assumed: {broker} is the broker with id {number}, because its folder has no {META}")
        if number in names:
            raise UsageError(f"--metadata: {names[number]} and {broker} are folders of one broker, with id {number}")
        names[number] = broker
    return names, remarks
