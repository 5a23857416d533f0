"""A trace as ITF JSON (Apalache's ADR-015, with Quint's `mbt::` keys), and back.

In:  a Trace; or the text of a file that anybody may have written.
Out: text; or a Trace that is well formed (certify.py says whether it is true). What is wrong with a text is one
     UsageError. Nothing in a text is ever run: a model is looked up by name or given, and its digest has to agree.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isrcheck import models
from isrcheck.models import registry
from isrcheck.models.language.in_range import IN_RANGE
from isrcheck.models.language.model import Choice, Instance, Model, Place, Step, parse, spell, spell_element
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.models.run import Cells
from isrcheck.models.version import version
from isrcheck.traces.format.erring import without_folders
from isrcheck.traces.format.reproduce import reproduction
from isrcheck.traces.format.spelling import spell_value
from isrcheck.traces.format.trace import PERMITTED, VERDICTS, VIOLATED, Trace

FORMAT_DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"
ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
INITIAL_ACTION = "init"
MOST_TEXT = 4096
"""Characters of a name or a command in a file; an honest one is far shorter."""


@dataclass(frozen=True)
class Header:
    """What a trace file says about itself. `file` is the path of a model that a person wrote, never to be followed."""

    model: str
    digest: str
    file: str | None
    protocol: str
    configuration: Mapping[str, str]
    configuration_digest: str
    swaps: Mapping[str, str]
    property_name: str | None
    verdict: str | None
    command: str
    error: Mapping[str, Any] | None = None

    @property
    def has_erring_step(self) -> bool:
        """Whether a step stands behind the last state, in which the model leaves its declaration."""
        return self.error is not None and self.error.get("step") is not None


# ---------------------------------------------------------------------------------------------------------- writing


def to_text(trace: Trace) -> str:
    """The text of a trace file: one state a line."""
    head = json.dumps(_head(trace), indent=1, ensure_ascii=False).removesuffix("\n}")
    states = (json.dumps(_state(trace, position), ensure_ascii=False) for position in range(len(trace.states)))
    return head + ',\n "states": [\n  ' + ",\n  ".join(states) + "\n ]\n}\n"


def _head(trace: Trace) -> dict[str, Any]:
    instance = trace.instance
    model = instance.model
    outcome = f": {trace.property_name} {trace.verdict}" if trace.property_name else ""
    is_violation = trace.verdict in (VIOLATED, PERMITTED)
    return {
        "#meta": {
            "format": "ITF",
            "format-description": FORMAT_DESCRIPTION,
            "source": f"{model.name}: {escaped(spell_path(model))}",
            "description": f"{label(instance)}, {trace.length} steps{outcome}",
            "status": "violation" if is_violation else "example",
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
        "vars": [*instance.places, ACTION, PICKS],
    }


def _error(trace: Trace) -> dict[str, Any]:
    """What leaves the declaration at the end. It is no state, so other viewers need not know of it."""
    if trace.error is None:
        return {}
    step = None if trace.erring is None else _step(trace.instance, trace.erring)
    return {"error": {"step": step, "message": without_folders(trace.instance, trace.error.message)}}


def _step(instance: Instance, step: Step) -> dict[str, Any]:
    choices = instance.slot_choices[step.slot]
    picks = {c.parameter.name: _pick(c, o) for c, o in zip(choices, step.ordinals, strict=True)}
    return {ACTION: step.action, PICKS: picks}


def _state(trace: Trace, position: int) -> dict[str, Any]:
    instance = trace.instance
    step = _step(instance, trace.steps[position - 1]) if position else {ACTION: INITIAL_ACTION, PICKS: {}}
    values = {place.name: _value(instance, place, trace.states[position]) for place in instance.places.values()}
    return {"#meta": {"index": position}, **step, **values}


def _number(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


def _value(instance: Instance, place: Place, cells: Cells, index: tuple[int, ...] = ()) -> Any:
    """A field, or the part of it below `index`, as ITF."""
    if len(index) < len(place.sizes):
        return [_value(instance, place, cells, (*index, one)) for one in range(place.sizes[len(index)])]
    offset = 0
    for size, one in zip(place.sizes, index, strict=True):
        offset = offset * size + one
    return _cell(instance, place, cells[place.offset + offset])


def _cell(instance: Instance, place: Place, value: int) -> Any:
    if place.field.values.is_flag:
        return bool(value)
    spelled = spell_value(instance, place, value)
    return _number(value) if spelled == str(value) else spelled


def _pick(choice: Choice, ordinal: int) -> Any:
    """An argument of a step: an element, or a set of them."""
    if not choice.is_subset:
        return _element(choice, ordinal)
    return {"#set": [_element(choice, element) for element in range(choice.elements) if ordinal >> element & 1]}


def _element(choice: Choice, element: int) -> Any:
    domain = choice.parameter.domain
    letters = getattr(getattr(domain, "of", domain), "letters", False)
    return spell_element(element) if letters else _number(element)


def spell_configuration(instance: Instance) -> dict[str, str]:
    """The configuration as people write it, in the order of its declaration."""
    return {name: spell(instance.model.entries[name], value) for name, value in instance.configuration.items()}


def configuration_digest(instance: Instance) -> str:
    """Eight hexadecimal digits that tell one configuration, with its swapped actions, from another."""
    content = json.dumps([spell_configuration(instance), sorted(instance.swaps.items())])
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def label(instance: Instance) -> str:
    """A model and its protocol as the one name that people type."""
    return "/".join(part for part in (instance.model.name, instance.protocol.name) if part)


def is_built_in(model: Model) -> bool:
    """Whether a model is one that the project brings along, to be found again by its name."""
    try:
        return registry.load(model.name)[0].path == model.path
    except UsageError:
        return False


def spell_path(model: Model) -> str:
    """The path of a model: below the project for its own models, below the current folder for others in there."""
    path = Path(model.path).resolve()
    root = Path(models.__file__).resolve().parent.parent if is_built_in(model) else Path.cwd()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


# ---------------------------------------------------------------------------------------------------------- reading


def parse_document(text: str) -> dict[str, Any]:
    """The JSON of a trace file, as far as it is one of ours. Raises UsageError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON ({error}): damaged, or cut off; write the trace anew") from None
    if not isinstance(document, dict) or not isinstance(document.get("states"), list):
        raise UsageError("not an ITF trace: there is no list of states; give a file that check wrote")
    meta = document.get("#meta")
    if not isinstance(meta, dict) or not isinstance(meta.get("isrcheck"), dict):
        raise UsageError("an ITF trace of another tool: it names no model of ours; give a file that check wrote")
    return document


def read_header(document: Mapping[str, Any]) -> Header:
    """What a file says about itself. Raises UsageError."""
    meta = document["#meta"]["isrcheck"]
    property_name, verdict, file = (_text(meta, key, optional=True) for key in ("property", "verdict", "model-file"))
    if verdict is not None and verdict not in VERDICTS:
        raise UsageError(f"no verdict {verdict}; there are: {', '.join(VERDICTS)}")
    return Header(
        _text(meta, "model") or "",
        _text(meta, "model-digest") or "",
        file,
        _text(meta, "protocol") or "",
        _texts(meta, "configuration"),
        _text(meta, "configuration-digest") or "",
        _texts(meta, "swaps"),
        property_name,
        verdict,
        _text(meta, "command") or "",
        _read_error(meta.get("error")),
    )


def _read_error(error: object) -> Mapping[str, Any] | None:
    """What a file says of the error that it ends with: a message, and the step that errs unless a property does."""
    if error is None:
        return None
    if not isinstance(error, dict) or set(error) != {"step", "message"}:
        raise UsageError("its error is no step with a message; write the trace anew")
    if not isinstance(error["step"], dict | None):
        raise UsageError(f"its error names the step {_shown(error['step'])}; write the trace anew")
    _checked(error["message"], "message of its error")
    return error


def _text(meta: Mapping[str, Any], key: str, optional: bool = False) -> str | None:
    value = meta.get(key)
    if value is None and optional:
        return None
    return _checked(value, key)


def _checked(value: object, what: str) -> str:
    """Text that can be printed as it is: a file must not move the cursor of whoever reads it."""
    if not isinstance(value, str) or len(value) > MOST_TEXT or not value.isprintable():
        raise UsageError(f"its {what} is missing, or no line of text; write the trace anew")
    return value


def _texts(meta: Mapping[str, Any], key: str) -> dict[str, str]:
    value = meta.get(key)
    if not isinstance(value, dict):
        raise UsageError(f"its {key} is missing, or not a table; write the trace anew")
    return {_checked(name, key): _checked(text, f"{key} {name}") for name, text in value.items()}


def model_of(header: Header, given: Model | None) -> Model:
    """The model that a file speaks about: the one that the person gave, or a built-in one. Raises UsageError."""
    if given is None and header.file is not None:
        raise UsageError(
            f"its model is the file {header.file}, which is never loaded by itself;"
            f" give it: --model {shlex.quote(header.file)}"
        )
    model = given or registry.load(header.model)[0]
    if model.name != header.model:
        cure = "leave --model out" if header.file is None else f"give it: --model {shlex.quote(header.file)}"
        raise UsageError(f"a trace of the model {header.model}, and --model names {model.name}; {cure}")
    if model.digest != header.digest:
        raise UsageError(
            f"made with another version of model {header.model} (digest {header.digest[:8]},"
            f" {'given' if given else 'here'} {model.digest[:8]}); make the trace anew with check"
        )
    return model


def read_trace(document: Mapping[str, Any], given: Model | None = None) -> Trace:
    """The trace that a document spells. Raises UsageError."""
    header = read_header(document)
    instance = _instance(header, model_of(header, given))
    names = document.get("vars")
    if names != [*instance.places, ACTION, PICKS]:
        raise UsageError("its variables are not the fields of its model; write the trace anew")
    states: list[Cells] = []
    steps: list[Step] = []
    for position, state in enumerate(document["states"]):
        try:
            states.append(_read_state(instance, state, position))
            if position:
                steps.append(_read_step(instance, state))
            else:
                _require_initial(state)
        except UsageError as error:
            raise UsageError(f"state {position}: {error}") from None
    if not states:
        raise UsageError("it has no states; write the trace anew")
    about, erring = (header.property_name, header.verdict), _read_erring(instance, header)
    length = len(steps) + (erring is not None)
    command = reproduction(header.command, instance, header.file, *about, length)
    trace = Trace(instance, tuple(states), tuple(steps), *about, command, erring)
    if header.error is None and trace.property_name == IN_RANGE.name:
        raise UsageError("it does not say what leaves the declaration; write the trace anew")
    return trace


def _read_erring(instance: Instance, header: Header) -> Step | None:
    if header.error is None or header.error["step"] is None:
        return None
    if set(header.error["step"]) != {ACTION, PICKS}:
        raise UsageError("its error names no step; write the trace anew")
    try:
        return _read_step(instance, header.error["step"])
    except UsageError as error:
        raise UsageError(f"the step of its error: {error}") from None


def require_same_error(document: Mapping[str, Any], trace: Trace) -> None:
    """What a file says of its error has to be what the model says of it. Raises UsageError."""
    told = document["#meta"]["isrcheck"].get("error")
    found = _error(trace).get("error")
    if told != found:
        raise UsageError(f"its error is {_shown(told)}, the model says {_shown(found)}; write the trace anew")


def _require_initial(state: Mapping[str, Any]) -> None:
    if state.get(ACTION) != INITIAL_ACTION or state.get(PICKS) != {}:
        raise UsageError(f"it is not reached by `{INITIAL_ACTION}`, as the first state is; write the trace anew")


def _instance(header: Header, model: Model) -> Instance:
    """The model under the configuration of the file, which has to name every entry."""
    differing = set(model.entries) ^ set(header.configuration)
    if differing:
        raise UsageError(f"its configuration and its model differ in {', '.join(sorted(differing))}; write it anew")
    try:
        values = {name: parse(name, model.entries[name], text) for name, text in header.configuration.items()}
    except ValueError as error:
        raise UsageError(f"its configuration has a number that cannot be read ({error}); write it anew") from None
    instance = model.instance(header.protocol, values, header.swaps)
    if configuration_digest(instance) != header.configuration_digest:
        raise UsageError("its configuration was edited: it does not fit its digest; make the trace anew with check")
    return instance


def _read_state(instance: Instance, state: object, position: int) -> Cells:
    if not isinstance(state, dict):
        raise UsageError("not an object; write the trace anew")
    if state.get("#meta") != {"index": position}:
        raise UsageError(f'its "#meta" is not {{"index": {position}}}: states are missing, or out of order')
    unknown = set(state) - set(instance.places) - {"#meta", ACTION, PICKS}
    if unknown:
        raise UsageError(f"{_shown(min(unknown))} is no field of the model")
    cells: list[int] = []
    for place in instance.places.values():
        if place.name not in state:
            raise UsageError(f"the field {place.name} is missing")
        _read_value(instance, place, state[place.name], place.sizes, cells)
    return tuple(cells)


def _read_value(instance: Instance, place: Place, value: object, sizes: tuple[int, ...], cells: list[int]) -> None:
    if not sizes:
        cells.append(_read_cell(instance, place, value))
        return
    if not isinstance(value, list) or len(value) != sizes[0]:
        raise UsageError(f"{place.name} has to hold {sizes[0]} values where it says {_shown(value)}")
    for one in value:
        _read_value(instance, place, one, sizes[1:], cells)


def _read_cell(instance: Instance, place: Place, value: object) -> int:
    for candidate in range(place.low, place.high + 1):
        if _is_same(value, _cell(instance, place, candidate)):
            return candidate
    values = "..".join(spell_value(instance, place, end) for end in (place.low, place.high))
    raise UsageError(f"{place.name} cannot hold {_shown(value)}; its values are {values}")


def _is_same(value: object, expected: object) -> bool:
    """Equality of JSON values, in which true is not 1."""
    return type(value) is type(expected) and value == expected


def _read_step(instance: Instance, state: Mapping[str, Any]) -> Step:
    action = _checked(state.get(ACTION), ACTION)
    slot = next((slot for slot, one in enumerate(instance.model.slots) if one.name == action), None)
    if slot is None:
        # The model words the message, and proposes the nearest name.
        return instance.step(instance.number(action[:80], ()))
    picks = state.get(PICKS)
    choices = instance.slot_choices[slot]
    if not isinstance(picks, dict) or set(picks) != {choice.parameter.name for choice in choices}:
        names = ", ".join(choice.parameter.name for choice in choices) or "no arguments"
        raise UsageError(f"{action} takes {names}, the trace says {_shown(picks)}")
    return instance.step(instance.number(action, [_read_pick(c, picks[c.parameter.name]) for c in choices]))


def _read_pick(choice: Choice, value: object) -> int:
    if not choice.is_subset:
        return _read_element(choice, value)
    members = value.get("#set") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(members, list):
        raise UsageError(f"{choice.parameter.name} is a set, the trace says {_shown(value)}")
    return sum(1 << element for element in {_read_element(choice, member) for member in members})


def _read_element(choice: Choice, value: object) -> int:
    for element in range(choice.elements):
        if value == _element(choice, element):
            return element
    raise UsageError(f"{choice.parameter.name} cannot be {_shown(value)}; there are {choice.elements} elements")


def _shown(value: object) -> str:
    """A foreign value in a message: short, on one line."""
    return textwrap.shorten(json.dumps(value), 60, placeholder="...")
