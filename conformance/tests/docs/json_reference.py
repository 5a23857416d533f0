"""Makes docs/json.md from docs/json.schema.json: python -m conformance.tests.docs.json_reference > docs/json.md"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.tests.support.places import PROJECT

SCHEMA: dict[str, Any] = json.loads((PROJECT / "docs" / "json.schema.json").read_text(encoding="utf-8"))

OPENING = """\
# The JSON object of `check`

With `--json`, `check` prints one object on standard output. [`json.schema.json`](json.schema.json) is the JSON Schema
(draft 2020-12) of this object. For every [form](#forms) of the object, a test validates the output of `check` with the
schema. This page is made from the schema: `python -m conformance.tests.docs.json_reference > docs/json.md`.

```console
$ check examples/two_phase_commit --json
{
  "runs": [
    {
      "model": "examples/two_phase_commit",
...
  "verdict": "HOLDS"
}
```

A key is always present unless the table says *may be absent*. The [README](../README.md#verdicts) explains the
verdicts.
"""


def reference() -> str:
    """The text of docs/json.md."""
    parts = [OPENING, "## Forms\n\nThe object has one of these forms; the command determines which:\n"]
    forms = [name_of(one) for one in SCHEMA["oneOf"]]
    parts.append("".join(f"- [`{name}`](#{name}): {SCHEMA['$defs'][name]['description']}\n" for name in forms))
    for name, schema in SCHEMA["$defs"].items():
        if name == "plain_run":
            continue
        parts.append(f"## {name}\n\n{schema['description']}\n")
        rows = list(rows_of(schema))
        if rows:
            parts.append("| key | type | |\n|---|---|---|\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows))
        elif "enum" in schema:
            parts.append(", ".join(f"`{one}`" for one in schema["enum"]) + "\n")
    return "\n".join(parts)


def name_of(schema: dict[str, Any]) -> str:
    """The name of the definition that a schema refers to."""
    return schema["$ref"].removeprefix("#/$defs/").replace("plain_run", "run")


def rows_of(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """The table rows of an object: its keys, and the keys of nested objects."""
    required = set(schema.get("required", ()))
    for key, value in schema.get("properties", {}).items():
        says = value.get("description") or SCHEMA["$defs"][name_of(value)]["description"]
        absent = "" if key in required or key in searched() else " *May be absent.*"
        yield f"`{prefix}{key}`", type_of(value), says + absent
        inner, path = within(value), f"{prefix}{key}{'[]' if value.get('type') == 'array' else ''}."
        if inner is not None:
            yield from rows_of(inner, path)


def searched() -> set[str]:
    """The keys of a run that depend on its engine, according to the description."""
    return {key for form in SCHEMA["$defs"]["run"]["oneOf"] for key in form["required"]}


def within(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The object that is nested in a schema, if there is one."""
    for one in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if "properties" in one:
            return one
    return None


def type_of(schema: dict[str, Any]) -> str:
    """A type in words."""
    if "$ref" in schema:
        return f"[`{name_of(schema)}`](#{name_of(schema)})"
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join("null" if one is None else f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    words = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "array" in words:
        words = [f"array of {type_of(schema['items'])}" if word == "array" else word for word in words]
    if isinstance(schema.get("additionalProperties"), dict):
        words = [f"name to {type_of(schema['additionalProperties'])}"]
    return " or ".join(words)


if __name__ == "__main__":
    print(reference(), end="")
