"""Checkpoints of a search on Spark, from which another run can continue.

The checkpoint folder is shared by driver and executors, and named in Hadoop's form (`/path`, `hdfs://...`,
`s3a://...`). It has the levels of states as Parquet, and the counts and results of the driver as JSON.

After a checkpoint, the running search reads the levels from the folder. So if an executor is lost, only the levels
since the last checkpoint are computed again. Files in the folder are never overwritten.

Each JSON file has a digest over the whole checkpoint: the data that identifies the search, the file's own name and
content, and for each folder of levels its name and the checksum of each row. A file that was changed, exchanged or
taken from another checkpoint is reported as damaged.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from pyspark import RDD

from isrcheck.checker.spark.faults import explained
from isrcheck.checker.spark.level import BLOB_STATES
from isrcheck.checker.spark.session import Session
from isrcheck.checker.spark.shuffle import Pairs, ShuffleWriter, partitioned, unpack
from isrcheck.models.messages import UsageError


class Folder:
    """A folder in Hadoop's file system with small text files; no reader sees a file that is written only in part. If
    the file system fails, methods raise UsageError or SparkLostError (checker/spark/faults.py)."""

    def __init__(self, session: Session, name: str) -> None:
        self.name = name.rstrip("/") or "/"
        self._evidence = session.evidence
        context: Any = session.context
        with explained(self._evidence):
            self._java = context._jvm.org.apache.hadoop  # noqa: SLF001 - PySpark has no word of its own for files
            self._files = self._path("").getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
            # Readers detect damaged files themselves, and checksum files would clutter the folder.
            self._files.setVerifyChecksum(False)
            self._files.setWriteChecksum(False)

    def _path(self, name: str) -> Any:
        return self._java.fs.Path(self.at(name))

    def at(self, name: str) -> str:
        """The full name of an entry of the folder."""
        return f"{self.name}/{name}" if name else self.name

    def names(self) -> list[str]:
        """The names of the folder's entries, sorted; an empty list if the folder does not exist."""
        with explained(self._evidence):
            if not self._files.exists(self._path("")):
                return []
            return sorted(status.getPath().getName() for status in self._files.listStatus(self._path("")))

    def remove(self, name: str) -> None:
        """Remove an entry if it exists."""
        with explained(self._evidence):
            self._files.delete(self._path(name), True)

    def read(self, name: str) -> str:
        """The content of a text file."""
        with explained(self._evidence), closing(self._files.open(self._path(name))) as stream:
            return bytes(stream.readAllBytes()).decode()

    def write(self, name: str, text: str) -> None:
        """Write a text file under a temporary name, and rename it when it is complete."""
        with explained(self._evidence):
            with closing(self._files.create(self._path(f"{name}.partial"), True)) as stream:
                stream.write(bytearray(text.encode()))
            self._files.rename(self._path(f"{name}.partial"), self._path(name))


VERSION = 4
SEARCH = "search.json"
SCHEMA = "depth int, chunk int, first long, size long, blob binary, sum long"
"""A row is a part of a chunk: depth, chunk, position, size, Arrow batch with predecessors and steps, checksum."""


class Checkpoints:
    """The checkpoints of one search. Raises UsageError if the folder belongs to another search, or has other files but
    no checkpoints."""

    def __init__(self, session: Session, name: str, question: Mapping[str, Any]) -> None:
        self.session = session
        self.folder = Folder(session, name)
        self.question = {"kind": "checkpoint", "version": VERSION, **question}
        self.written: list[int] = []
        self.digests: list[str] = []
        # Ignore incomplete files of an interrupted run.
        names = [name for name in self.folder.names() if not name.endswith(".partial")]
        if SEARCH in names:
            self._require_same()
        elif names:
            raise UsageError(f"--checkpoint {name}: the folder holds other files ({names[0]}); give a new folder")
        else:
            self.folder.write(SEARCH, json.dumps(self.question))

    def _require_same(self) -> None:
        question, where = self._json(SEARCH), f"--checkpoint {self.folder.name}"
        if question.get("kind") != "checkpoint" or question.get("version") != VERSION:
            raise UsageError(f"{where}: another version of isrcheck wrote {SEARCH}; give a new folder")
        for name, ours in self.question.items():
            if question.get(name) != json.loads(json.dumps(ours)):
                raise UsageError(f"{where}: the folder belongs to another search ({name} differs); give a new folder")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads(self.folder.read(name))
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise self._damaged(name)
        return content

    def newest(self, most: int | None) -> dict[str, Any] | None:
        """Return the counts and results of the newest checkpoint whose depth is at most `most` (None: any depth), or
        None if no checkpoint qualifies. Raises UsageError if the checkpoint's file is damaged."""
        names = self.folder.names()
        depths = [int(name[6:-5]) for name in names if re.fullmatch(r"depth-[0-9]{4}\.json", name)]
        depths = [depth for depth in depths if most is None or depth <= most]
        if not depths:
            return None
        name = _statistics(max(depths))
        statistics = self._json(name)
        if statistics.pop("digest", None) != self._digest(name, statistics):
            raise self._damaged(name)
        self.written, self.digests = statistics.pop("written"), statistics.pop("digests")
        return statistics

    def _digest(self, name: str, statistics: Mapping[str, Any]) -> str:
        content = json.dumps([self.question, name, statistics], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def _damaged(self, name: str) -> UsageError:
        return UsageError(f"--checkpoint {self.folder.name}: {name} is damaged; give a new folder")

    def write(
        self, levels: Mapping[int, Pairs], chunks: Mapping[int, Sequence[int]], statistics: Mapping[str, Any]
    ) -> None:
        """Write a checkpoint with the search's levels since the last checkpoint (`levels`, by depth) and its counts and
        results (`statistics`). `chunks` has, for each depth, the number of states in each chunk of the level. Raises
        UsageError if another run has written this checkpoint."""
        last = max(levels)
        name = _statistics(last)
        if name in self.folder.names():
            raise UsageError(f"--checkpoint {self.folder.name}: another run has written {name}; give a new folder")
        # Remove incomplete files of an interrupted run.
        self.folder.remove(_levels(last))
        rows = self.session.context.union([pairs.map(partial(_row, depth)) for depth, pairs in levels.items()])
        self.session.spark.createDataFrame(rows, SCHEMA, verifySchema=False).write.parquet(
            self.folder.at(_levels(last))
        )
        self.written.append(last)
        self.digests.append(self._listed(last, chunks))
        written = {**statistics, "written": self.written, "digests": self.digests}
        self.folder.write(name, json.dumps({**written, "digest": self._digest(name, written)}))

    def require_whole(self, last: int, chunks: Mapping[int, Sequence[int]]) -> None:
        """Raise UsageError unless the levels of the checkpoint at depth `last` are complete and unchanged. Without this
        check, the search could miss the states of a lost file. `chunks` has the size of each chunk, by depth."""
        if self._listed(last, chunks) != self.digests[self.written.index(last)]:
            raise self._damaged(_levels(last))

    def _listed(self, last: int, chunks: Mapping[int, Sequence[int]]) -> str:
        """Return the digest of the rows of the checkpoint at depth `last`. Raises UsageError if rows are missing."""
        wanted = [
            (depth, chunk, first, min(BLOB_STATES, size - first))
            for depth, sizes in chunks.items()
            for chunk, size in enumerate(sizes)
            for first in range(0, size, BLOB_STATES)
        ]
        rows = sorted(map(tuple, self._rows(last).select("depth", "chunk", "first", "size", "sum").collect()))
        if [row[:4] for row in rows] != sorted(wanted):
            raise self._damaged(_levels(last))
        return hashlib.sha256(json.dumps([_levels(last), rows]).encode()).hexdigest()

    def ordered(self, depth: int, shards: int) -> Pairs:
        """Return the level at a depth, in breadth-first order, as Arrow batches, each with the number of its chunk."""
        last = min(last for last in self.written if last >= depth)
        rows: RDD[Any] = self._rows(last).where(f"depth = {depth}").select("chunk", "blob", "sum").rdd
        return partitioned(rows.map(_pair), shards).mapPartitions(_in_order, preservesPartitioning=True)

    def by_shard(self, last: int, shards: int) -> Pairs:
        """Return the states that the checkpoint at depth `last` has added, as Arrow batches by shard."""
        rows: RDD[Any] = self._rows(last).select("depth", "blob", "sum").rdd
        return partitioned(rows.mapPartitions(partial(_by_hash, shards)), shards)

    def _rows(self, last: int) -> Any:
        return self.session.spark.read.schema(SCHEMA).parquet(self.folder.at(_levels(last)))


def _levels(last: int) -> str:
    return f"levels-{last:04}"


def _statistics(last: int) -> str:
    return f"depth-{last:04}.json"


def _row(depth: int, pair: tuple[int, bytes]) -> tuple[int, int, int, int, bytearray, int]:
    chunk, packed = pair
    blob = unpack(packed)
    return depth, chunk, blob.about["first"], blob.size, bytearray(packed), zlib.crc32(packed)


def _pair(row: Any) -> tuple[int, bytes]:
    """Return the number (of a chunk or depth) and the Arrow batch of a stored row, whose third entry is the batch's
    checksum. Raises UsageError if the batch is damaged."""
    number, packed, checksum = row
    if zlib.crc32(packed) != checksum:
        raise UsageError("--checkpoint: a stored state is damaged; give a new folder")
    return number, bytes(packed)


def _in_order(pairs: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    return sorted(pairs, key=lambda pair: unpack(pair[1]).about["first"])


def _by_hash(shards: int, rows: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
    """Sort the states in stored rows into shards by hash, and yield pairs of a shard's number and an Arrow batch."""
    for depth, packed in map(_pair, rows):
        blob = unpack(packed)
        outbox = ShuffleWriter(blob.words, shards, depth=depth)
        yield from outbox.send_all(blob.states, {})
        yield from outbox.rest()
