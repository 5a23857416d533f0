"""Replication by majority: Raft, and Kafka's own dialect of it, KRaft.

A variant is data: how entries travel, and values of switches. docs/quorum.md explains each switch.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.quorum import actions, promises, pull, push, state

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
    [state, actions, promises],
    {"raft": (push, {}), "kraft": (pull, KRAFT_SWITCHES)},
)
