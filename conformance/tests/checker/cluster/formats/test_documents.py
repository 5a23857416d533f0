"""YAML and JSON become trees with the lines of their values; hostile files are refused in one line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from isrcheck.checker.cluster.formats.documents import MOST_NESTED, MOST_REPEATED, read_trees
from isrcheck.checker.cluster.formats.tree import MOST_CHARACTERS, Tree
from isrcheck.checker.cluster.property_files import PropertiesError

F = Path("f")


def tree(text: str) -> Tree:
    (document,) = read_trees(F, text)
    return document


def refused(text: str) -> str:
    with pytest.raises(PropertiesError) as refusal:
        read_trees(F, text)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def plain(value: Tree) -> object:
    """A tree as the values of JSON, without its lines."""
    if value.entries:
        return {name: plain(entry) for name, entry in value.entries.items()}
    return [plain(item) for item in value.items] if value.items else value.text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: 03\nc: '2'\nd: 1e3\n", {"a": "1", "b": "03", "c": "2", "d": "1e3"}),
        ("a: yes\nb: False\nc: 'no'\nd: on\n", {"a": "true", "b": "false", "c": "no", "d": "true"}),
        ("a: ~\nb:\nc: null\nd: ''\n", {"a": None, "b": None, "c": None, "d": ""}),
        ('{"a": [1, true, null, "x"], "b": {}}', {"a": ["1", "true", None, "x"], "b": None}),
        ('{\n\t"a":\t"x\\/\\u00e9\\n",\r\n\t"b": -1.5}', {"a": "x/é\n", "b": "-1.5"}),
        ("a:\n  - b: 1\n    c: 2\n", {"a": [{"b": "1", "c": "2"}]}),
        ("a: |\n  x=1\n  y=2\n", {"a": "x=1\ny=2\n"}),
        ("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n", {"x": {"a": "1", "b": "2"}, "y": {"a": "1", "b": "3"}}),
        ("x: &x {a: 1}\nz: &z {a: 2, b: 2}\ny:\n  b: 3\n  <<: [*x, *z]\n",
         {"x": {"a": "1"}, "z": {"a": "2", "b": "2"}, "y": {"a": "1", "b": "3"}}),
        ("x: &x 5\ny: *x\n", {"x": "5", "y": "5"}),
    ],
)  # fmt: skip
def test_values_are_read_as_they_are_written(text: str, value: object) -> None:
    assert plain(tree(text)) == value


def test_values_know_their_lines() -> None:
    document = tree("# first\nspec:\n  kafka:\n    version: 4.1.0\n    config:\n      acks: all\n  list:\n  - 1\n")
    kafka = document.at("spec", "kafka")
    assert (kafka.text_at("version"), kafka.at("version").place) == ("4.1.0", "f:4")
    assert document.at("spec", "kafka", "config", "acks").place == "f:6"
    assert document.at("spec", "list").items[0].place == "f:8"
    missing = document.at("spec", "none", "deeper")
    assert (bool(missing), missing.text, missing.path) == (False, None, F)


def test_several_documents_and_empty_ones() -> None:
    assert [plain(one) for one in read_trees(F, "a: 1\n---\n# nothing\n---\n- 2\n---\nplain text\n...\n")] == [
        {"a": "1"},
        ["2"],
    ]


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("a: !vault |\n  $ANSIBLE_VAULT;1.1\n", "a value with the tag !vault"),
        ("a: !ENV {b: 1}\n", "a value with the tag !ENV"),
        ("a: '{{ x }}'\n", "a template"),
        ("a: {{ x }}\n", "a template"),
        ("a: {% if x %}\n", ""),
        ("a: ${X}\n", ""),
    ],
)
def test_values_that_another_program_fills_in_are_marked(text: str, unknown: str) -> None:
    if "{%" in text:
        assert refused(text) == (
            "f:1: is neither YAML nor JSON (found character that cannot start any token); it seems to be a template;"
            " give what it renders (helm template, ansible-inventory --host)"
        )
    else:
        assert tree(text).at("a").unknown == unknown


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_a_gigabyte_of_aliases_is_refused_at_once() -> None:
    """Nine levels of ten aliases are 1,000 million values, which a list of Python would hold in 8 GiB."""
    began = time.process_time()
    assert refused(laughs(9)) == (
        f"f:5: the aliases (*a3) repeat more than {MOST_REPEATED:,} values; write the values that count without aliases"
    )
    assert time.process_time() - began < 1


def test_aliases_within_the_limit_are_repeated() -> None:
    assert tree(laughs(4)).at("a3").size == 11_111


TOO_DEEP = f"f:1: is nested more than {MOST_NESTED} values deep, which no file of Kafka is; give the part that has"
TOO_DEEP += " settings"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]\n", "f:1: *a repeats no value that has ended above it"),
        ("a: *nobody\n", "f:1: *nobody repeats no value that has ended above it"),
        ("x: 1\na: [1\nb: 2\n", "f:3: is neither YAML nor JSON (did not find expected ',' or ']'); correct it there"),
        ("acks: all\nb: 1\nacks: 1\n", "f:3: acks is given twice, first in line 1; keep one"),
        ('{"acks": "all",\n "acks": "all"}', "f:2: acks is given twice, first in line 1; keep one"),
        ("[" * 101, TOO_DEEP),
        ("[" * 10_000, TOO_DEEP),
        ('{"a": "' + "x" * MOST_CHARACTERS + '"}', "f: is YAML, JSON or HCL of more than 64 MiB; give a part of it"),
    ],
    ids=["itself", "nobody", "syntax", "twice", "twice in JSON", "deep", "deeper", "long"],
)
def test_what_cannot_be_read_is_refused_in_one_line(text: str, message: str) -> None:
    assert refused(text) == message


def test_the_name_of_an_entry_is_what_is_written() -> None:
    (tree,) = read_trees(Path("f"), "on: on\nnull: 1\n")
    assert {name: entry.text for name, entry in tree.entries.items()} == {"on": "true", "null": "1"}
