"""Copies the examples of isrcheck into a folder, where a user can change them.

The README.md among them says what each file is for.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib.resources import files
from operator import attrgetter
from pathlib import Path

from isrcheck.commands.declarations import Option
from isrcheck.commands.exit_codes import DONE
from isrcheck.commands.program import say
from isrcheck.models.messages import UsageError, escaped

OPTIONS = (Option("DIR", "the folder, created if it does not exist; no file is overwritten"),)
"""The arguments of `isrcheck examples`."""

FOLDERS = (
    ("isrcheck.models", "examples", ""),
    ("isrcheck.conformance", "examples", ""),
    ("isrcheck.conformance", "recordings", "recordings/"),
)
"""The sources of the examples: a package, a folder in it, and the target folder of the folder's files."""

SUFFIXES = (".py", ".properties", ".ndjson")

README = """\
# Examples of isrcheck

A model of your own, in the modelling language:

    check two_phase_commit.py

Clusters, as Kafka's own property files describe them:

    check doctor durable_topic.properties

A broker of your own, compared with the model after every step:

    conform replay --driver own_broker.py --walks 200 --set replicas=2 --set elections=0 --set bounces=0 --set crashes=0

Recorded runs of Kafka: does the model allow each of them?

    conform follow recordings/kafka-3.9-missed_demotion_control.ndjson

Tables of a sweep, as Parquet files, and queries on them (this needs `isrcheck[spark]`):

    check sweep --vary acks=0,1,all --bound 4 --tables tables
    python ask_the_tables.py tables
"""


def run(arguments: argparse.Namespace) -> int:
    """Copy the examples into a folder, and print the paths of the files; return the exit code."""
    say(*(escaped(str(path)) for path in copy_to(arguments.dir)))
    return DONE


def copy_to(folder: str | os.PathLike[str]) -> list[Path]:
    """Copy the examples into a folder, which is created if it does not exist. Nothing is overwritten.

    Returns the paths of the files. Raises UsageError if a file exists with other contents, or writing fails.
    """
    target = Path(folder)
    contents = {target / name: content for name, content in _contents()}
    try:
        for path, content in contents.items():
            if path.exists() and not (path.is_file() and path.read_bytes() == content):
                what = f"{path}: a different file has this name and is not overwritten"
                raise UsageError(f"{what}; name a different folder")
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        what = f"{target}: the examples cannot be written: {error.strerror}"
        raise UsageError(f"{what}; name a different folder") from None
    return list(contents)


def _contents() -> Iterator[tuple[str, bytes]]:
    yield "README.md", README.encode()
    for package, folder, place in FOLDERS:
        for file in sorted(files(package).joinpath(folder).iterdir(), key=attrgetter("name")):
            if file.name.endswith(SUFFIXES) and file.name != "__init__.py":
                yield f"{place}{file.name}", file.read_bytes()
