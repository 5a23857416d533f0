"""Kafka's replication of one partition, one generation after the other.

A generation is data: values of switches, and the actions that it swaps. The switches go by the names of the fact sheet
in models/README.md.
"""

from models.kafka import controller, faults, follower, leader, metadata, producer, properties, state
from models.language.model import assemble

MODEL = assemble(
    "kafka",
    [state, producer, leader, follower, controller, metadata, faults, properties],
    {"0.10": (None, {})},
)
