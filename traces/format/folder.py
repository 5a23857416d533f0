"""Trace files: their names, writing them without overwriting anything, and reading them.

In:  a Trace and a folder; or the path of a file.
Out: the path of the trace file; or a certified Trace. Every failure is one UsageError.
"""

from __future__ import annotations

import contextlib
import re
import stat
from itertools import count
from pathlib import Path

from isrcheck.models import registry
from isrcheck.models.language.model import Model
from isrcheck.models.messages import UsageError
from isrcheck.traces.format import itf
from isrcheck.traces.format.certify import NotCertifiedError, certify
from isrcheck.traces.format.output import draft_in, give_name, write_through
from isrcheck.traces.format.trace import NOT_INDUCTIVE, FalseTraceError, Trace

DEFAULT = Path("counterexamples")
SUFFIX = ".itf.json"
LATEST = "latest"
EDITED = "the file was edited or damaged; write it again with the command that it names"
MOST_BYTES = 16 << 20
"""The largest file that is read, in bytes; a trace of a thousand steps takes a few megabytes."""


def write(trace: Trace, folder: Path = DEFAULT) -> Path:
    """Write a trace into a folder, and return its path. Identical content is written once; no file is ever overwritten.

    Raises UsageError if the folder cannot be written to, and NotCertifiedError if the trace cannot be certified.
    """
    try:
        certify(trace)
    except UsageError as error:
        raise NotCertifiedError(
            f"the trace is not written, because plain Python does not confirm it: {error}"
        ) from error
    content = itf.to_text(trace).encode()
    draft = draft_in(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_through(draft, content)
        path = _publish(draft, folder / _stem(trace), content)
    except OSError as error:
        raise UsageError(
            f"{folder}: the trace cannot be written: {error.strerror}; make room or give another folder with --out DIR"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    _point_latest_to(path)
    return path


def _stem(trace: Trace) -> str:
    parts = [trace.instance.model.name, trace.instance.protocol.name, trace.property_name or "behaviour"]
    parts += ["not-inductive"] if trace.verdict == NOT_INDUCTIVE else []
    parts.append(itf.configuration_digest(trace.instance))
    return "_".join(re.sub(r"[^\w.-]", "-", part.replace("/", "."))[:60] for part in parts if part)


def _publish(draft: Path, stem: Path, content: bytes) -> Path:
    """Rename the finished draft to the next free name, unless an earlier file has the same content."""
    for number in count(1):
        path = stem.with_name(f"{stem.name}_{number}{SUFFIX}")
        try:
            give_name(draft, path)
        except FileExistsError:
            if path.is_file() and path.read_bytes() == content:
                return path
        else:
            return path
    raise AssertionError("the numbers do not end")


def _point_latest_to(path: Path) -> None:
    """Point the link `latest` at this trace, unless the file system has no links or another file has that name."""
    link = path.parent / LATEST
    draft = draft_in(path.parent)
    if link.exists() and not link.is_symlink():
        return
    with contextlib.suppress(OSError):
        draft.symlink_to(path.name)
        draft.replace(link)


def read(path: Path, model: Model | None = None) -> Trace:
    """Read and certify the trace in a file; `model` is the user's own model, if given. Raises UsageError."""
    try:
        document = itf.parse_document(read_text(path))
        trace = itf.read_trace(document, model)
        certify_file(trace)
        itf.require_same_error(document, trace)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return trace


def certify_file(trace: Trace) -> None:
    """Certify a trace that was read from a file. Raises UsageError, with the cure, if it is not true."""
    try:
        certify(trace)
    except FalseTraceError as error:
        raise UsageError(f"{error}; {EDITED}") from None


def read_header(path: Path) -> tuple[itf.Header, int, int | None]:
    """Read the header of a file, unchecked, its number of steps, and where its loop returns. Raises UsageError."""
    try:
        document = itf.parse_document(read_text(path))
        header = itf.read_header(document)
        states = len(document["states"])
        return header, states - 1 + header.has_erring_step, itf.read_loop(document, states)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def changed(header: itf.Header) -> list[str]:
    """The configuration entries that differ from the model's defaults; all entries for a user's own model, which is not
    loaded here."""
    usual: dict[str, str] = {}
    if header.file is None:
        with contextlib.suppress(UsageError):
            usual = itf.spell_configuration(registry.load(header.model)[0].instance(header.protocol or None))
    told = [f"{name}={value}" for name, value in header.configuration.items() if value != usual.get(name)]
    return told + [f"{action} of {origin}" for action, origin in header.swaps.items()]


def read_text(path: Path) -> str:
    """Return the text of a file with any content. Raises UsageError, whose message does not contain the path."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UsageError("a folder, not a trace; list its traces with: trace list DIR")
        if not stat.S_ISREG(status.st_mode):
            raise UsageError("not a regular file; give a file written by check")
        if status.st_size > MOST_BYTES:
            raise UsageError(f"{status.st_size >> 20} MiB are too large for a trace; give a file written by check")
        return path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}; list the traces with: trace list") from None
    except UnicodeDecodeError:
        raise UsageError("not UTF-8 text; give a file written by check") from None


def files(folder: Path) -> list[Path]:
    """Return the trace files of a folder, sorted by name. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; check writes traces to ./{DEFAULT}, or to --out DIR")
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}; give another folder") from None
