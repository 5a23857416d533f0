"""Simplifies states: what is on its way and can have no effect any more is dropped, and news without effect is heard.

In:  states as a table, after a move of the window.
Out: the same states, each replaced by one that allows all that it allows.

Each of these changes is a step that is possible at any time and is not recorded, or one whose absence changes nothing.
So every behaviour from the old state is one from the new one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from isrcheck.conformance.follow.online.window.settled import least_position
from isrcheck.conformance.follow.online.window.table import Table
from isrcheck.models.kafka.state.values import AlterPartition, Controller, Fetch
from isrcheck.models.language.declarations import NONE

Request = tuple[int, int, int]
"""A leader's request to change the ISR: the replica, and the leader epoch and partition epoch that it names."""

OF_REQUEST = ("alter_partition", "requested_leader_epoch", "requested_partition_epoch", "requested_isr")
OF_RESPONSE = {
    "fetch": Fetch.NONE,
    "fetch_offset": 0,
    "response_high_watermark": 0,
    "response_log_start_offset": 0,
    "response_record": NONE,
    "response_epoch": NONE,
    "diverging_epoch": 0,
    "diverging_end_offset": 0,
}


def read_ahead(table: Table, frozen: frozenset[int]) -> None:
    """Let brokers apply the metadata records that change nothing for them (KRaft).

    A record that is older than what the broker knows only moves its position; and so does a change of the ISR, for a
    broker that follows in its epoch.
    """
    if table.instance.configuration.CONTROLLER != Controller.KRAFT:
        return
    newest = table["controller_partition_epoch"].astype(int)
    position, known = table["metadata_position"].astype(int), table["partition_epoch"].astype(int)
    announced = table["metadata_leader_epoch"]
    numbers = np.arange(announced.shape[-1])
    for replica in range(position.shape[1]):
        if replica in frozen:
            continue
        is_up = table["is_up"][:, replica] == 1
        ahead = np.maximum(position[:, replica], np.minimum(known[:, replica] - 1, newest))
        unread = (numbers > ahead[:, None]) & (numbers <= newest[:, None])
        same = (~unread | (announced == table["leader_epoch"][:, replica][:, None])).all(axis=1)
        follows = same & (table["leader"][:, replica] != replica) & (table["leader"][:, replica] != NONE)
        position[:, replica] = np.where(is_up, np.where(follows, newest, ahead), position[:, replica])
        known[:, replica] = np.where(is_up & follows, np.maximum(known[:, replica], newest), known[:, replica])
    table["metadata_position"], table["partition_epoch"] = position, known
    heard = numbers <= least_position(table)[:, None]
    table["metadata_leader"] = np.where(heard, NONE, table["metadata_leader"])
    table["metadata_leader_epoch"] = np.where(heard, 0, announced)
    table["metadata_isr"] = np.where(heard[:, :, None], 0, table["metadata_isr"])


def drop_late_responses(table: Table) -> None:
    """Drop responses to fetches from before the guard: a log that holds the guard never ends there again."""
    is_late = (table["fetch"] >= Fetch.ANSWERED) & (table["fetch_offset"] == 0)
    is_late &= (table["log_end_offset"] > 0)[:, :, None] & (table["is_truncating"] == 0)[:, :, None]
    for name, empty in OF_RESPONSE.items():
        if table.has(name):
            cube = table[name]
            table[name] = np.where(is_late.reshape(*is_late.shape, *(1,) * (cube.ndim - 3)), empty, cube)


def drop_late_requests(table: Table, expected: Iterable[Request]) -> None:
    """Let the controller refuse requests to change the ISR that it can only refuse, and leaders hear answers to changes
    that they have given up; but for requests that a later line shows (`expected`).
    """
    if not table.has("alter_partition"):
        return
    stage, epoch = table["alter_partition"], table["requested_leader_epoch"]
    known = table["requested_partition_epoch"]
    newest, partition = table["controller_epoch"][:, None], table["controller_partition_epoch"][:, None]
    refused = (stage == AlterPartition.REQUESTED) & ((epoch < newest) | (known < partition))
    given_up = (stage > AlterPartition.REQUESTED) & ~table["proposed_isr"].any(axis=2)
    is_late = refused | given_up
    for leader, leader_epoch, partition_epoch in expected:
        is_late[:, leader] &= (epoch[:, leader] != leader_epoch) | (known[:, leader] != partition_epoch)
    for name in OF_REQUEST:
        cube = table[name]
        table[name] = np.where(is_late.reshape(*is_late.shape, *(1,) * (cube.ndim - 2)), 0, cube)
    if table.has("requested_broker_epoch"):
        table["requested_broker_epoch"] = np.where(is_late[:, :, None], 0, table["requested_broker_epoch"])
