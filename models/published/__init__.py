"""The five published models of Kafka's replication, one module per generation.

A generation is a set of actions: those of `replication.py`, some replaced by actions of the generation's own module.
"""

from isrcheck.models.language.model import assemble
from isrcheck.models.published import (
    kip_101,
    kip_279,
    kip_320,
    kip_320_first_try,
    replication,
    truncate_to_high_watermark,
)

GENERATIONS = (truncate_to_high_watermark, kip_101, kip_279, kip_320_first_try, kip_320)

MODEL = assemble("published", replication, {module.__name__.rpartition(".")[2]: (module, {}) for module in GENERATIONS})
