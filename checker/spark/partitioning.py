"""How blobs get from one partition to another: each has the number of where it belongs beside it.

In:  an RDD of (number, blob). Out: an RDD in which blob n is in partition n.
"""

from __future__ import annotations

from pyspark import RDD

Pairs = RDD[tuple[int, bytes]]


def carried(pairs: Pairs, shards: int) -> Pairs:
    """Each blob to its partition. What was carried in the same way can be read together without moving again."""
    return pairs.partitionBy(shards, _itself)


def _itself(number: int) -> int:
    return number
