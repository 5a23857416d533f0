"""Replication by majority: Raft, and Kafka's own dialect of it, KRaft.

A variant is data: how entries travel, and values of switches. docs/quorum.md explains each switch.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.quorum import elections, fields, goals, outside, promises, pull, push, start

KRAFT_SWITCHES = {
    "LEADER_CHANGE_RECORD": True,
    "records": 1,
    "elections": 2,
    "log_size": 3,
    "replicas": 4,
    "observers": 1,
    "restarts": 0,
}

MODEL = assemble(
    "quorum",
    [fields, start, elections, outside, promises, goals],
    {"raft": (push, {}), "kraft": (pull, KRAFT_SWITCHES)},
)
