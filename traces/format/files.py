"""Writes files completely or not at all; reads trace files, which are ITF JSON (Apalache's ADR-015, Quint's `mbt::`).

A trace that is read from a file is certified. A UsageError reports a file that cannot be read or written, or whose text
is defective. Nothing in a text is ever executed: a model is looked up by name or given by the user, and its digest has
to match.

`recheck` decides whether a recorded trace is still possible under the current version of its model. If the file was
written with exactly the same model, the trace is certified first. Then the steps in the file are taken again from the
file's first state; the other states in the file are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shlex
import stat
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path
from typing import Any

from isrcheck import models
from isrcheck.commands.program import version
from isrcheck.commands.settings import words_of_name, words_of_values
from isrcheck.models import registry, run
from isrcheck.models.language.declarations import WHOLE, Contents, Kind, Values
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, ArgumentRange, Instance, Model, Step, parse
from isrcheck.models.language.states import FieldLayout, spell_element
from isrcheck.models.language.states import spell_value as spelled_value
from isrcheck.models.messages import ModelError, UsageError, escaped
from isrcheck.models.run import Cells
from isrcheck.traces.format.certify import (
    MOST_STATES,
    NotCertifiedError,
    certify,
    continuations,
    judgements,
)
from isrcheck.traces.format.trace import (
    NOT_INDUCTIVE,
    PERMITTED,
    REACHED,
    VERDICTS,
    VIOLATED,
    FalseTraceError,
    Trace,
    error_at_end,
    label,
    spell_configuration,
    spell_value,
    without_folders,
)
from isrcheck.traces.format.why_false import false_guard

# ------------------------------------------------------------------------------------------------------------- any file


def put(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file; with `replace`, overwrite an existing file. Raises UsageError."""
    if path.is_dir():
        raise UsageError(f"{path}: a folder; name a file in it")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(f"{path}: a link, a pipe or a device, which is not overwritten; name a regular file")
    try:
        with _draft(path.parent, content) as draft:
            if replace:
                draft.replace(path)
            else:
                give_name(draft, path)
    except FileExistsError:
        raise UsageError(f"{path}: exists already and is not overwritten; choose a new name, or add --force") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}; name a file elsewhere") from None


DRAFT = ".draft-"
"""The prefix of the names of unfinished files (drafts). A finished draft is renamed to the name that the user gave."""


def draft_in(folder: Path) -> Path:
    """Return a path for an unfinished file (a draft), at which no other user can have put a file or a link, even in a
    folder that others can write to."""
    return folder / f"{DRAFT}{secrets.token_hex(8)}"


@contextlib.contextmanager
def _draft(folder: Path, content: bytes) -> Iterator[Path]:
    """Write a draft, and remove it at the end of the `with` block, unless the block renamed it. Raises OSError."""
    draft = draft_in(folder)
    try:
        write_through(draft, content)
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_through(path: Path, content: bytes) -> None:
    """Write a draft and flush it to the disk, so that it is complete before it is renamed. Links are not followed.
    Raises FileExistsError instead of overwriting a file."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def give_name(draft: Path, path: Path) -> None:
    """Rename `draft` to `path` atomically. Raises FileExistsError if `path` exists."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # The file system has no hard links: create the name, then move the content over it.
        path.open("xb").close()
        draft.replace(path)


# ---------------------------------------------------------------------------------------------------- folders of traces


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
    content = to_text(trace).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _draft(folder, content) as draft:
            path = _publish(draft, folder / _stem(trace), content)
    except OSError as error:
        raise UsageError(
            f"{folder}: the trace cannot be written: {error.strerror}; make room or give another folder with --out DIR"
        ) from None
    _point_latest_to(path)
    return path


def _stem(trace: Trace) -> str:
    instance, kind = trace.instance, "not-inductive" if trace.verdict == NOT_INDUCTIVE else ""
    name = trace.property_name or "behaviour"
    parts = (instance.model.name, instance.protocol.name, name, kind, configuration_digest(instance))
    return "_".join(re.sub(r"[^\w.-]", "-", part.replace("/", "."))[:60] for part in parts if part)


def _publish(draft: Path, stem: Path, content: bytes) -> Path:
    """Give the draft the next free name, unless an earlier file has the same content. Return the path of the file."""
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
    """Make the link `latest` point to this trace, unless links are impossible or `latest` exists and is not a link."""
    link = path.parent / LATEST
    draft = draft_in(path.parent)
    if link.exists() and not link.is_symlink():
        return
    with contextlib.suppress(OSError):
        draft.symlink_to(path.name)
        draft.replace(link)


def read(path: Path, model: Model | None = None) -> Trace:
    """Read and certify the trace in a file; `model` is the user's own model, if given. Raises UsageError."""
    with blaming(path):
        document = parse_document(read_text(path))
        trace = read_trace(document, model)
        certify_file(trace)
        stated, actual = document["#meta"]["isrcheck"].get("error"), _error(trace).get("error")
        if stated != actual:
            difference = f"its error is {_shown(stated)}, but the model's is {_shown(actual)}"
            raise UsageError(f"{difference}; write the trace again")
    return trace


@contextlib.contextmanager
def blaming(part: object) -> Iterator[None]:
    """Put `part`, the name of a file or of a part of a file, before the message of a UsageError."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{part}: {error}") from None


def certify_file(trace: Trace) -> None:
    """Certify a trace that was read from a file. Raises UsageError, which says what to do, if that is impossible."""
    try:
        certify(trace)
    except FalseTraceError as error:
        raise UsageError(f"{error}; {EDITED}") from None


def read_header(path: Path) -> tuple[Header, int, int | None]:
    """Return the header of a trace file, the number of its steps, and the state to which its loop returns (or None),
    without certifying the trace. Raises UsageError."""
    with blaming(path):
        document = parse_document(read_text(path))
        header = header_of(document)
        states = len(document["states"])
        return header, states - 1 + header.has_erring_step, read_loop(document, states)


def changed(header: Header) -> list[str]:
    """Return the configuration entries of a trace file that differ from the model's defaults (for a user's own model,
    which is not loaded here, all entries), and the actions that are taken from another protocol."""
    usual: dict[str, str] = {}
    if header.file is None:
        with contextlib.suppress(UsageError):
            usual = spell_configuration(registry.load(header.model)[0].instance(header.protocol or None))
    entries = [f"{name}={value}" for name, value in header.configuration.items() if value != usual.get(name)]
    return entries + [f"{action} of {origin}" for action, origin in header.swaps.items()]


def read_text(path: Path) -> str:
    """Return the text of a file. Raises UsageError if it is no text; the caller puts the path before the message."""
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


FORMAT_DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
INITIAL_ACTION = "init"
MOST_NAMES = 1 << 16
"""How many values of a cell, from the least on, may have names; other values are numbers, or end with them."""
MOST_TEXT = 4096
"""The longest name or command accepted in a file, in characters; genuine ones are far shorter."""


@dataclass(frozen=True)
class Header:
    """The header of a trace file: model, configuration, property, verdict and command."""

    model: str
    digest: str
    """The digest of the model."""
    file: str | None
    """The path of a user's own model, which is not loaded automatically; None for a built-in model."""
    protocol: str
    configuration: Mapping[str, str]
    """Every entry, as the command line spells it."""
    configuration_digest: str
    swaps: Mapping[str, str]
    """For each swapped action, the protocol from which it comes."""
    property_name: str | None
    verdict: str | None
    command: str
    """The command that reproduces the trace."""
    error: Mapping[str, Any] | None
    """The error at the end of the trace, as ITF: `step` and `message`."""

    @property
    def has_erring_step(self) -> bool:
        """Whether the trace ends with a step that causes an error and so has no successor."""
        return self.error is not None and self.error.get("step") is not None


# -------------------------------------------------------------------------------------------------------------- writing


def to_text(trace: Trace) -> str:
    """Return the text of a trace file, one state per line."""
    head = json.dumps(_head(trace), indent=1, ensure_ascii=False).removesuffix("\n}")
    states = (json.dumps(_state(trace, position), ensure_ascii=False) for position in range(len(trace.states)))
    return head + ',\n "states": [\n  ' + ",\n  ".join(states) + "\n ]\n}\n"


def _head(trace: Trace) -> dict[str, Any]:
    instance, model = trace.instance, trace.instance.model
    outcome = f": {trace.property_name} {trace.verdict}" if trace.property_name else ""
    return {
        "#meta": {
            "format": "ITF",
            "format-description": FORMAT_DESCRIPTION,
            "source": f"{model.name}: {escaped(spell_path(model))}",
            "description": f"{label(instance)}, {trace.length} steps{outcome}",
            "status": "violation" if trace.verdict in (VIOLATED, PERMITTED) else "example",
            "isrcheck": {
                "version": version(),
                "model": model.name,
                "model-digest": model.digest,
                "model-file": None if is_built_in(model) else escaped(spell_path(model)),
                "protocol": instance.protocol.name,
                "configuration": spell_configuration(instance),
                "configuration-digest": configuration_digest(instance),
                "swaps": dict(instance.swaps),
                "property": trace.property_name,
                "verdict": trace.verdict,
                "command": escaped(trace.command),
                **_error(trace),
            },
        },
        "params": [],
        "vars": [*instance.layouts, ACTION, PICKS],
        # The last state is the one to which it returns.
        **({} if trace.loop is None else {"loop": trace.loop}),
    }


def _error(trace: Trace) -> dict[str, Any]:
    """The header's entry (ignored by other viewers) for the error at the end of the trace; empty without an error."""
    if trace.error is None:
        return {}
    step = None if trace.erring is None else _step(trace.instance, trace.erring)
    return {"error": {"step": step, "message": without_folders(trace.instance, trace.error.message)}}


def _step(instance: Instance, step: Step) -> dict[str, Any]:
    pairs = zip(instance.argument_ranges[step.action_index], step.ordinals, strict=True)
    return {ACTION: step.action, PICKS: {argument.parameter.name: _pick(argument, o) for argument, o in pairs}}


def _state(trace: Trace, position: int) -> dict[str, Any]:
    instance = trace.instance
    step = _step(instance, trace.steps[position - 1]) if position else {ACTION: INITIAL_ACTION, PICKS: {}}
    values = {layout.name: _value(instance, layout, trace.states[position]) for layout in instance.layouts.values()}
    return {"#meta": {"index": position}, **step, **values}


def _value(instance: Instance, layout: FieldLayout, cells: Cells, index: tuple[int, ...] = ()) -> Any:
    """The value of a field, or of its element at `index`, as ITF."""
    contents = layout.field.contents
    if contents is not None and len(index) == len(layout.field.own):
        first = layout.position((*index, 0))
        return _contents(contents, cells[first : first + layout.sizes[-1]])
    if len(index) < len(layout.sizes):
        return [_value(instance, layout, cells, (*index, number)) for number in range(layout.sizes[len(index)])]
    return _cell(instance, layout, cells[layout.position(index)])


def _contents(contents: Contents, cells: Sequence[int]) -> Any:
    """Return a set or a queue as ITF. In an unreachable state, a queue may have gaps, which are null."""
    elements = [None if value == contents.filler else _member(contents, value) for value in contents.elements(cells)]
    return {"#set": elements} if contents.filler is None else elements


def _member(contents: Contents, value: int) -> Any:
    return _atom(contents.element, value, spelled_value(contents.element, value))


def _cell(instance: Instance, layout: FieldLayout, value: int) -> Any:
    return _atom(layout.field.values, value, spell_value(instance, layout, value))


def _atom(values: Values, value: int, text: str) -> Any:
    return bool(value) if values.is_flag else {"#bigint": text} if text == str(value) else text


def _pick(argument: ArgumentRange, ordinal: int) -> Any:
    if not argument.is_subset:
        return _element(argument, ordinal)
    return {"#set": [_element(argument, element) for element in range(argument.elements) if ordinal >> element & 1]}


def _element(argument: ArgumentRange, element: int) -> Any:
    domain = argument.parameter.domain
    letters = getattr(getattr(domain, "of", domain), "letters", False)
    return spell_element(element) if letters else {"#bigint": str(element)}


def configuration_digest(instance: Instance) -> str:
    """Return eight hexadecimal digits that identify a configuration and the actions taken from another protocol."""
    content = json.dumps([spell_configuration(instance), sorted(instance.swaps.items())])
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def is_built_in(model: Model) -> bool:
    """Whether a model is built in, so that it can be found by its name."""
    try:
        return registry.load(model.name)[0].path == model.path
    except UsageError:
        return False


def spell_path(model: Model) -> str:
    """Return the path of a model: relative to the project for built-in models, relative to the current folder for files
    inside it."""
    path = Path(model.path).resolve()
    root = Path(models.__file__).resolve().parent.parent if is_built_in(model) else Path.cwd()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


# -------------------------------------------------------------------------------------------------------------- reading


def parse_document(text: str) -> dict[str, Any]:
    """Parse the JSON document of a trace file. Raises UsageError if isrcheck did not write it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON ({error}): damaged or truncated; write the trace again") from None
    if not isinstance(document, dict) or not isinstance(document.get("states"), list):
        raise UsageError("not an ITF trace: it has no list of states; give a file written by check")
    meta = document.get("#meta")
    if not isinstance(meta, dict) or not isinstance(meta.get("isrcheck"), dict):
        raise UsageError("an ITF trace of another tool: it names no isrcheck model; give a file written by check")
    return document


def header_of(document: Mapping[str, Any]) -> Header:
    """Return the header of a trace file with this JSON document. Raises UsageError."""
    meta = document["#meta"]["isrcheck"]
    property_name, verdict, file = (
        None if meta.get(key) is None else _checked(meta[key], key) for key in ("property", "verdict", "model-file")
    )
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f"unknown verdict {verdict}; the verdicts are: {', '.join(VERDICTS)}")
    return Header(
        _checked(meta.get("model"), "model"),
        _checked(meta.get("model-digest"), "model-digest"),
        file,
        _checked(meta.get("protocol"), "protocol"),
        _texts(meta, "configuration"),
        _checked(meta.get("configuration-digest"), "configuration-digest"),
        _texts(meta, "swaps"),
        property_name,
        verdict,
        _checked(meta.get("command"), "command"),
        _read_error(meta.get("error")),
    )


def _read_error(error: object) -> Mapping[str, Any] | None:
    """Return the error at the end of a trace, or None: its `message`, and its `step`, which is null if the evaluation
    of a property causes the error. Raises UsageError for a malformed error."""
    if error is None:
        return None
    if not isinstance(error, dict) or set(error) != {"step", "message"}:
        raise UsageError("its error has no message; write the trace again")
    if not isinstance(error["step"], dict | None):
        raise UsageError(f"the step of its error is {_shown(error['step'])}, not an object; write the trace again")
    _checked(error["message"], "message of its error")
    return error


def _checked(value: object, name: str) -> str:
    """Return text that is safe to print, so that no file controls the terminal. Raises UsageError for other text."""
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise UsageError(f"its {name} is missing or not text of one line; write the trace again")
    return value


def _texts(meta: Mapping[str, Any], key: str) -> dict[str, str]:
    value = meta.get(key)
    if not isinstance(value, dict):
        raise UsageError(f"its {key} is missing or not an object; write the trace again")
    return {_checked(name, key): _checked(text, f"{key} {name}") for name, text in value.items()}


def model_of(header: Header, user_model: Model | None) -> Model:
    """Return the model of a file: the user's own model, if given, or a built-in one. Raises UsageError."""
    cure = f"give it: --model {shlex.quote(header.file or '')}"
    if user_model is None and header.file is not None:
        raise UsageError(f"the trace's model, the file {header.file}, is not loaded automatically; {cure}")
    model = user_model or registry.load(header.model)[0]
    if model.name != header.model:
        cure = "leave --model out" if header.file is None else cure
        raise UsageError(f"a trace of the model {header.model}, but --model names {model.name}; {cure}")
    if model.digest != header.digest:
        version = "given" if user_model else "current"
        raise UsageError(
            f"written with another version of model {header.model} (digest {header.digest[:8]}; the {version} version"
            f" has {model.digest[:8]}); write the trace again with check"
        )
    return model


def read_trace(document: Mapping[str, Any], user_model: Model | None = None) -> Trace:
    """Return the trace in the JSON document of a trace file, not yet certified. Raises UsageError."""
    header = header_of(document)
    instance = _instance(header, model_of(header, user_model))
    if document.get("vars") != [*instance.layouts, ACTION, PICKS]:
        raise UsageError("its variables are not the fields of its model; write the trace again")
    states: list[Cells] = []
    steps: list[Step] = []
    for position, state in enumerate(document["states"]):
        with blaming(f"state {position}"):
            states.append(_read_state(instance, state, position))
            if position:
                steps.append(_read_step(instance, state))
            elif state.get(ACTION) != INITIAL_ACTION or state.get(PICKS) != {}:
                raise UsageError(f"its first state is not reached by `{INITIAL_ACTION}`; write the trace again")
    if not states:
        raise UsageError("it has no states; write the trace again")
    ending, erring = (header.property_name, header.verdict), _read_erring(instance, header)
    length = len(steps) + (erring is not None)
    command = reproduction(header.command, instance, header.file, *ending, length)
    trace = Trace(instance, tuple(states), tuple(steps), *ending, command, erring, read_loop(document, len(states)))
    if header.error is None and trace.property_name == IN_RANGE.name:
        raise UsageError("it does not name the step or the property that causes its error; write the trace again")
    return trace


def read_loop(document: Mapping[str, Any], states: int) -> int | None:
    """Return the number of the state to which a lasso returns; None without a loop. Raises UsageError."""
    loop = document.get("loop")
    if loop is None:
        return None
    if type(loop) is not int or not 0 <= loop < states:
        raise UsageError(f"its loop returns to state {_shown(loop)}, but there is no such state; write the trace again")
    return loop


def _read_erring(instance: Instance, header: Header) -> Step | None:
    if header.error is None or not header.has_erring_step:
        return None
    if set(header.error["step"]) != {ACTION, PICKS}:
        raise UsageError("its error names no step; write the trace again")
    with blaming("the step of its error"):
        return _read_step(instance, header.error["step"])


def _instance(header: Header, model: Model) -> Instance:
    """The model with the configuration in the file's header. Raises UsageError unless the header has every entry."""
    differing = set(model.entries) ^ set(header.configuration)
    if differing:
        names = ", ".join(sorted(differing))
        raise UsageError(f"its configuration and its model do not both have the entry {names}; write the trace again")
    try:
        values = {name: parse(name, model.entries[name], text) for name, text in header.configuration.items()}
    except ValueError as error:
        raise UsageError(f"its configuration has an unreadable number ({error}); write the trace again") from None
    instance = model.instance(header.protocol, values, header.swaps)
    if configuration_digest(instance) != header.configuration_digest:
        raise UsageError("its configuration was edited: it does not fit its digest; write the trace again with check")
    return instance


def _read_state(instance: Instance, state: object, position: int) -> Cells:
    if not isinstance(state, dict):
        raise UsageError("not an object; write the trace again")
    if state.get("#meta") != {"index": position}:
        raise UsageError(f'its "#meta" is not {{"index": {position}}}; write the trace again with all states in order')
    unknown = set(state) - set(instance.layouts) - {"#meta", ACTION, PICKS}
    if unknown:
        raise UsageError(f"{_shown(min(unknown))} is not a field of the model; write the trace again")
    cells: list[int] = []
    for layout in instance.layouts.values():
        if layout.name not in state:
            raise UsageError(f"the field {layout.name} is missing; write the trace again")
        _read_value(instance, layout, state[layout.name], layout.sizes, cells)
    return tuple(cells)


def _read_value(
    instance: Instance, layout: FieldLayout, value: object, sizes: tuple[int, ...], cells: list[int]
) -> None:
    if not sizes:
        cells.append(_read_cell(instance, layout, value))
        return
    if layout.field.contents is not None and len(sizes) == 1:
        cells += _read_contents(layout, layout.field.contents, value)
        return
    if not isinstance(value, list) or len(value) != sizes[0]:
        raise UsageError(f"{layout.name} is {_shown(value)}; give a list of length {sizes[0]}")
    for element in value:
        _read_value(instance, layout, element, sizes[1:], cells)


def _read_contents(layout: FieldLayout, contents: Contents, value: object) -> list[int]:
    filler, size = contents.filler, layout.sizes[-1]
    members = _members(value) if filler is None else value
    if not isinstance(members, list) or len(members) > size:
        raise UsageError(f"{layout.name} is {_shown(value)}; give a {contents.word} of at most {size} elements")
    elements = [_read_member(layout, contents, member) for member in members]
    if filler is not None:
        return [*elements, *[filler] * (size - len(elements))]
    if len(set(elements)) < len(elements):
        raise UsageError(f"{layout.name} is {_shown(value)}, with an element twice; write the trace again")
    return [int(element in elements) for element in range(size)]


def _members(value: object) -> object:
    return value.get("#set") if isinstance(value, dict) and len(value) == 1 else None


def _read_member(layout: FieldLayout, contents: Contents, value: object) -> int:
    if value is None and contents.filler is not None:
        return contents.filler
    for element in range(layout.sizes[-1]) if contents.filler is None else _candidates(layout, value):
        if element != contents.filler and _is_same(value, _member(contents, element)):
            return element
    raise UsageError(f"{layout.name} cannot contain {_shown(value)}; give elements that its declaration allows")


def _read_cell(instance: Instance, layout: FieldLayout, value: object) -> int:
    for candidate in _candidates(layout, value):
        if _is_same(value, _cell(instance, layout, candidate)):
            return candidate
    values = "..".join(spell_value(instance, layout, end) for end in (layout.low, layout.high))
    raise UsageError(f"{layout.name} cannot be {_shown(value)}; its values are {values}")


def _candidates(layout: FieldLayout, value: object) -> Iterator[int]:
    """Yield the numbers that the JSON `value` may mean in a cell of the field; the caller tries them in this order."""
    text = str(value.get("#bigint")) if isinstance(value, dict) else str(value)
    digits = re.search(r"-?[0-9]{1,10}$", text)
    if digits is not None and layout.low <= int(digits[0]) <= layout.high:
        yield int(digits[0])
    yield from range(layout.low, min(layout.high, layout.low + MOST_NAMES) + 1)


def _is_same(value: object, expected: object) -> bool:
    """Whether two JSON values are equal; true is not equal to 1."""
    return type(value) is type(expected) and value == expected


def _read_step(instance: Instance, state: Mapping[str, Any]) -> Step:
    action = _checked(state.get(ACTION), ACTION)
    actions = [declared.name for declared in instance.model.actions]
    if action not in actions:
        # The model raises the error, which proposes the nearest name.
        return instance.step(instance.number(action[:80], ()))
    picks = state.get(PICKS)
    ranges = {argument.parameter.name: argument for argument in instance.argument_ranges[actions.index(action)]}
    if not isinstance(picks, dict) or picks.keys() != ranges.keys():
        names = ", ".join(ranges) or "none"
        raise UsageError(f"the arguments of {action} are {_shown(picks)}; give values for: {names}")
    return instance.step(instance.number(action, [_read_pick(ranges[name], picks[name]) for name in ranges]))


def _read_pick(argument: ArgumentRange, value: object) -> int:
    if not argument.is_subset:
        return _read_element(argument, value)
    members = _members(value)
    if not isinstance(members, list):
        raise UsageError(f'{argument.parameter.name} is {_shown(value)}; give a set: {{"#set": [...]}}')
    return sum(1 << element for element in {_read_element(argument, member) for member in members})


def _read_element(argument: ArgumentRange, value: object) -> int:
    for element in range(argument.elements):
        if value == _element(argument, element):
            return element
    raise UsageError(
        f"{argument.parameter.name} cannot be {_shown(value)}; its domain has {argument.elements} elements"
    )


def _shown(value: object) -> str:
    return textwrap.shorten(json.dumps(value), 60, placeholder="...")


# -------------------------------------------------------------------------------------------------- reproducing a trace


AND = "&&"
PROGRAMS = ("check", "trace", "conform")
OPTIONS = frozenset(
    {"--bound", "--protocol", "--set", "--switch", "--swap", "--engine", "--prove", "--counterexamples", "--model"}
    | {"--walks", "--seed", "--steps", "--bug", "--simulate", "--depth", "--no-deadlock"}
)
"""The options that affect which trace is found; none of them writes or executes a file."""


def reproduction(
    command: str, instance: Instance, file: str | None, property_name: str | None, verdict: str | None, length: int
) -> str:
    """Return a command that is safe to run and finds a trace again: `command`, if it is empty or runs only isrcheck's
    programs; otherwise a new command, or "" if the trace has no property. The new command proves the property (if it is
    NOT INDUCTIVE), or searches the instance: to the depth `length` (for a deadlock, one more), or without a bound if
    the property has to be judged on all reachable states. `file` is the user's own model, or None."""
    options = OPTIONS | {entry.option for entry in instance.model.entries.values() if entry.option is not None}
    if not command or _is_ours(command, options, file):
        return command
    if property_name is None:
        return ""
    name = instance.model.name
    name = file or (f"{name}/{instance.protocol.name}" if name == "published" else name)
    if verdict == NOT_INDUCTIVE:
        search = ["--prove"]
    elif any(prop.name == property_name and prop.kind in WHOLE for prop in instance.model.properties):
        search = []
    else:
        search = ["--bound", str(length + (property_name == DEADLOCK.name))]
    return shlex.join(["check", *words_of_name(name, instance), *search, *words_of_values(instance)])


def _is_ours(command: str, options: Collection[str], file: str | None) -> bool:
    """Whether a command runs only isrcheck's programs, with only these options, and nothing that a shell expands."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    parts = [[*part] for is_end, part in groupby(words, AND.__eq__) if not is_end]
    if f" {AND} ".join(map(shlex.join, parts)) != command:
        return False
    named = {word.partition("=")[0] for word in words if word.startswith("-")}
    return (
        all(part[0] in PROGRAMS for part in parts)
        and named <= {*options}
        and all(word == file for word in words if word.endswith(".py"))
    )


# --------------------------------------------------------------------------------------------------- rechecking a trace


@dataclass(frozen=True)
class Recheck:
    """The result of `recheck`: whether a trace is still possible under the current model, and why."""

    is_possible: bool
    says: str


def recheck(path: Path, model_file: Path | None = None) -> Recheck:
    """Take the steps of a trace again, and return whether the trace is still possible. `model_file`, which is executed,
    holds the user's own model, if the trace is about such a model. Raises UsageError."""
    with blaming(path):
        document = parse_document(read_text(path))
        header = header_of(document)
        if model_file is None and header.file is not None:
            raise UsageError(
                f"the trace's model, the file {header.file}, is not loaded automatically; pass its path as `model_file`"
            )
        model = registry.load(header.model)[0] if model_file is None else registry.load_file(model_file)
        is_same = header.digest == model.digest
        document["#meta"]["isrcheck"]["model-digest"] = model.digest
        trace = read_trace(document, model)
        if trace.prop is None or trace.prop.kind is Kind.SOMETIMES or trace.verdict in (None, REACHED, NOT_INDUCTIVE):
            raise UsageError("not a trace of a violated property; give a file written by check")
        if is_same:
            certify_file(trace)
        return _replayed(trace)


def _replayed(trace: Trace) -> Recheck:
    instance, prop = trace.instance, trace.prop
    assert prop is not None
    if trace.states[0] not in instance.initial_states:
        return Recheck(False, "its first state is no longer an initial state")
    states = [trace.states[0]]
    for position, step in enumerate(trace.steps, 1):
        try:
            after, why = run.take(instance, states[-1], step), None
        except ModelError as error:
            after, why = None, str(error)
        if after is None:
            why = why or false_guard(instance, states[-1], step)
            return Recheck(False, f"step {position} ({instance.spell_step(step)}) is no longer possible: {why}")
        states.append(after)
    allowed = Recheck(True, f"the model allows it: {prop.name} is {trace.verdict} after {trace.length} steps")
    if prop is IN_RANGE:
        if error_at_end(instance, states, trace.steps, trace.erring) is None:
            return Recheck(False, "its steps are possible, but the error no longer occurs after them")
        return allowed
    if prop.kind is Kind.ALWAYS_POSSIBLE and continuations(instance, prop, states[-1]).is_possible is None:
        raise UsageError(
            f"more than {MOST_STATES:,} states can follow its steps, too many to search for one in which {prop.name} is"
            " true; search the model again with check"
        )
    if not {trace.verdict, VIOLATED} & {*judgements(instance, prop, states, trace.steps)}:
        return Recheck(False, f"its steps are possible, but {prop.name} is no longer {trace.verdict} after them")
    return allowed
