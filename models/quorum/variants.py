"""Replication by majority: Raft, and Kafka's own dialect of it, KRaft.

A variant has a module for how entries travel (push.py, pull.py), and values of switches, which docs/quorum.md explains.
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
