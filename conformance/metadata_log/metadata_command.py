"""`conform metadata`: the history of leader, ISR, ELR and epochs, from the metadata log and from text logs."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.exit_codes import DIVERGED, DONE, NOTHING, USAGE
from isrcheck.commands.program import say
from isrcheck.conformance.console import complain, gravest
from isrcheck.conformance.metadata_log.agreement import add_claims
from isrcheck.conformance.metadata_log.history import History, Key
from isrcheck.conformance.metadata_log.log_lines import Claim, TextLogs, claims_in
from isrcheck.conformance.metadata_log.observations import write, write_new
from isrcheck.conformance.metadata_log.page import page_of
from isrcheck.conformance.metadata_log.reading import Files, files_in, history_of
from isrcheck.conformance.metadata_log.report import closing, object_of, spell_history
from isrcheck.models.messages import UsageError, escaped, nearest

FOLLOW = (
    "before `conform follow`, add a line of kind fault where a broker stopped, froze or started, or an operator asked"
    " for an election: the metadata log does not tell these"
)
"""What to do with the observations."""

OPTIONS = (
    Option(
        "PATH ...",
        "a folder __cluster_metadata-0, a segment, a snapshot (*.checkpoint), wire.ndjson, or a text log such as"
        " server.log; or a folder with such files",
        path,
        destination="paths",
    ),
    Option("--topic TOPIC", "only the partitions of this topic (repeatable)", is_repeated=True),
    Option(
        "--partition TOPIC-N[@ID]",
        "only this partition; ID is the topic id, if several topics had the name one after the other (repeatable)",
        is_repeated=True,
    ),
    Option(
        "-o --out FILE.ndjson",
        "write the states of one partition as observations for `conform follow`; a new file",
        path,
    ),
    Option("--page FILE.html", "write the history as one self-contained page with a filter; a new file", path),
    Option("--json", "print one JSON object instead of text"),
)


def run(arguments: argparse.Namespace) -> int:
    """Print the history, even if some files cannot be read; return the exit code."""
    is_wanted = _wanted(arguments.topic, arguments.partition)
    files = files_in(arguments.paths)
    unreadable = list(files.unreadable)
    history, texts = history_of(files, is_wanted, unreadable.append), TextLogs()
    history.close()
    add_claims(history, _claims(files, texts, is_wanted, unreadable.append), texts)
    history.changes = {key: changes for key, changes in history.changes.items() if _is_named(key, history, arguments)}
    codes = {complain(line) for line in unreadable}
    if not files.number:
        return USAGE
    _check_names(arguments, history)
    if arguments.topic or arguments.partition:
        history.keep_events_of({history.name_of(topic_id) for topic_id, _ in history.changes})
    written = None if arguments.out is None else write(history, arguments.out)
    last = list(closing(history, files.number, texts, len(unreadable)))
    if arguments.page is not None:
        write_new(arguments.page, page_of(history, last).alone(), "--page FILE.html")
    if arguments.json:
        say(json.dumps(object_of(history, texts, unreadable), indent=2))
    else:
        say(*map(escaped, (*spell_history(history), *last)))
        if written is not None:
            say(f"written: {escaped(str(arguments.out))}: {written} metadata lines", FOLLOW)
        if arguments.page is not None:
            say(f"written: {escaped(str(arguments.page))}")
    codes |= {DIVERGED} if history.contradictions else set()
    return gravest(codes | ({DONE} if history.changes else {NOTHING}))


def _claims(
    files: Files, texts: TextLogs, is_wanted: Callable[[str, int], bool], unreadable: Callable[[str], object]
) -> Iterator[Claim]:
    for text in files.texts:
        for claim in claims_in(text, texts, unreadable):
            if is_wanted(claim.topic, claim.partition):
                yield claim


def _wanted(topics: Sequence[str], partitions: Sequence[str]) -> Callable[[str, int], bool]:
    """Which partitions are asked for: with neither option, all. Raises UsageError."""
    named = set()
    for text in partitions:
        topic, partition, _ = _parted(text)
        named.add((topic, partition))
    return lambda topic, partition: not (topics or named) or topic in topics or (topic, partition) in named


def _parted(text: str) -> tuple[str, int, str | None]:
    """The topic, the number and the topic id in a value of --partition. Raises UsageError."""
    match = re.fullmatch(r"([^@]+)-([0-9]{1,9})(?:@([A-Za-z0-9_-]+))?", text, re.ASCII)
    if not match:
        raise UsageError(
            f"--partition {text}: not a partition; write it as TOPIC-N, or as TOPIC-N@ID with its topic id"
        )
    return match[1], int(match[2]), match[3]


def _is_named(key: Key, history: History, arguments: argparse.Namespace) -> bool:
    """Whether a partition whose name is asked for is asked for with its topic id, or without any."""
    topic = history.name_of(key[0])
    ids = {told for name, partition, told in map(_parted, arguments.partition) if (name, partition) == (topic, key[1])}
    return topic in arguments.topic or not ids or bool({None, key[0]} & ids)


def _check_names(arguments: argparse.Namespace, history: History) -> None:
    """Raise UsageError for a topic or partition that no file has."""
    found = {(history.name_of(topic_id), partition) for topic_id, partition in history.changes}
    names = sorted(set(history.topics.values())) or ["none"]
    for topic in arguments.topic:
        if topic not in {name for name, _ in found}:
            raise UsageError(f"--topic {topic}: no file has a state of this topic; {nearest(topic, names)}")
    for text in arguments.partition:
        topic, number, topic_id = _parted(text)
        if topic_id is not None and (topic_id, number) not in history.changes:
            ids = [told for told, name in history.topics.items() if name == topic]
            raise UsageError(
                f"--partition {text}: no file has a state of this topic id; {nearest(topic_id, ids or ['none'])}"
            )
        if (topic, number) not in found:
            cure = "choose another partition of the topic" if topic in names else nearest(topic, names)
            raise UsageError(f"--partition {text}: no file has a state of this partition; {cure}")
