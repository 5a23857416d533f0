"""A folder that driver and executors share: on a disk, in HDFS, or in an object store.

In:  its name in Hadoop's form (`/path`, `hdfs://...`, `s3a://...`).
Out: small text files, written completely or not at all.
"""

from __future__ import annotations

from typing import Any

from isrcheck.checker.spark.runtime.faults import explained
from isrcheck.checker.spark.runtime.session import Session


class Folder:
    """A shared folder. Methods raise UsageError or SparkLostError, as in checker/spark/runtime/faults.py."""

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
        """The names of the entries, sorted; none if the folder does not exist."""
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
        with explained(self._evidence):
            stream = self._files.open(self._path(name))
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a text file under a temporary name, and rename it when it is complete."""
        with explained(self._evidence):
            stream = self._files.create(self._path(f"{name}.partial"), True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()
            self._files.rename(self._path(f"{name}.partial"), self._path(name))
