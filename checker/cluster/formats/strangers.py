"""Refuses files that isrcheck does not read: says what a file is, and how to get what is needed instead.

A text is recognised by its lines, and a document of YAML or JSON by the names of its entries, each in one table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from isrcheck.checker.cluster.contents import listed
from isrcheck.checker.cluster.formats.format import Part
from isrcheck.checker.cluster.formats.shape import is_yaml_or_json
from isrcheck.checker.cluster.formats.tree import Tree
from isrcheck.checker.cluster.property_files import PropertiesError, quoted
from isrcheck.checker.cluster.releases import roles_that_know

_EXTRACT = "give kafka-topics --describe, and kafka-configs --describe --all --entity-type brokers"
_AS_PROPERTIES = (
    "which isrcheck does not read; give its settings as KEY=VALUE lines of a .properties file, with the names of"
    " Kafka's brokers, topics and Java clients"
)
_STATE = "give the .tf files with the values in them, or the output of terraform show -no-color"

_MOST_OF_A_LINE = 1000
"""The number of characters that are looked at in each line: a file of JSON may be one line."""

_ERROR = r"""
    \A(?:Error\ while\ executing\ |Exception\ in\ thread\ |Missing\ required\ argument|Error\ from\ server
    |error:\ (?:the|no|unable|unknown|You)\ |No\ resources\ found|.*\ is\ not\ a\ recognized\ option
    |.*:\ (?:command\ )?not\ found$|\[.*\[(?:AdminClient|Producer|Consumer)\ clientId=
    |(?:\[.*\]\ .*)?org\.apache\.kafka\.common\.errors\.)
"""
_CODE = r"""
    ^[ \t]*(?:(?:package|import|using)\ [\w.*]+;?$|import\ .*\bfrom\b|from\ [\w.]+\ import\b|import\ [({]
    |(?:const|let|var|val)\ .*=|(?:func|def|fn|fun)\ \w+\(|class\ \w+.*[:{]$
    |(?:public|private|protected|abstract|final|static)\ .*(?:class|interface|\w+\()
    |use\ \w+::|[^=:\n]*\w\(.*\);\s*$|[\w.]+\.(?:put|set|setProperty)\(|module\.exports\b|require[ (]['"])|\A<\?php
"""
_STRANGE_TEXTS = (
    (
        _ERROR,
        "an error message of a command, not its output; correct the command (Kafka's tools need --bootstrap-server, and"
        " often --command-config), run it again, and give what it prints",
    ),
    (r"\A\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d", f"a log; {_EXTRACT}, or read its history with `conform metadata`"),
    (
        r"\A(?:NAME\s+PARTITIONS\s+REPLICAS|PARTITION\s+LEADER\s+EPOCH|SUMMARY$)",
        "a table of rpk; give the output of rpk topic describe TOPIC... --format json",
    ),
    (r"\AGROUP\s+TOPIC\s+PARTITION", f"the output of kafka-consumer-groups, which shows no replicas; {_EXTRACT}"),
    (
        _CODE,
        "code; give the settings of its clients, such as acks, as KEY=VALUE lines of a .properties file (--producer"
        " FILE)",
    ),
    (
        r"^[\s\x1b\[\dm;]*(?:[+~-]|-/\+|\+/-)[\s\x1b\[\dm;]+(?:resource|data)[ ]\"|\ATerraform[ ].*(?:will|has)[ ]",
        f"the output of terraform plan; {_STATE}",
    ),
    (
        r"^\[[\w-]+:(?:vars|children)\]\s*$",
        "an inventory of Ansible in INI; give the output of ansible-inventory -i FILE --list -y",
    ),
    (r"\A<", f"XML, {_AS_PROPERTIES}"),
    (r"\A\[[A-Za-z][\w .:\"'-]*\]\s*$", f"a file with sections (INI or TOML), {_AS_PROPERTIES}"),
    (r"^.*[\w\"'=:][ \t]*\{\s*\n", f"a file with nested braces (HOCON), {_AS_PROPERTIES}"),
)
"""For each kind of text, a pattern that only such texts have, what it is, and what to do. The patterns are tried in
this order, in the first line (\\A) or in each of the first lines; of YAML and JSON they see the first line only."""

_PATTERNS = [
    (re.compile(pattern, re.MULTILINE | re.VERBOSE if pattern.startswith("\n") else re.MULTILINE), what)
    for pattern, what in _STRANGE_TEXTS
]


def refuse_stranger(part: Part, *, is_output: bool = False) -> None:
    """Raise a PropertiesError for a text that isrcheck does not read: it would be read as the keys of a property file.
    `is_output` says that the text is output of Kafka's tools if it is nothing else, so an empty one is left to them."""
    if what := _what(part, says_nothing=not is_output and part.role is None):
        raise PropertiesError(f"{part.path}: is {what}")


def _what(part: Part, *, says_nothing: bool) -> str:
    """Return what a text is, and what to do; empty for a text that may be YAML, JSON or a property file. An empty file
    with a role says that its settings have their defaults; an empty file without a role `says_nothing`."""
    if all(line.lstrip().startswith("!") for line in part.head):  # a comment, as a line with # is
        is_default = "or say whose settings all have their defaults (--broker FILE, --topic FILE, --producer FILE)"
        empty = "empty: it has only comments" if part.text.strip() else "empty"
        return f"{empty}; {_EXTRACT}, {is_default}" if says_nothing else ""
    is_document = is_yaml_or_json(part)
    lines = [part.first] if is_document else part.head
    text = "\n".join(line[:_MOST_OF_A_LINE] for line in lines)
    if what := next((what for pattern, what in _PATTERNS if pattern.search(text)), ""):
        return what
    if is_document:
        return ""
    if template := next((line.strip() for line in part.head if line.lstrip().startswith(("{%", "{{"))), ""):
        return f"a template ({quoted(template)}); give what it renders"
    if all(re.fullmatch(r"[\w.-]+", line.strip()) and not roles_that_know(line.strip()) for line in part.head):
        return "a list of names, such as the output of kafka-topics --list; give the output of kafka-topics --describe"
    return f"a file of variables of Terraform; {_STATE}" if part.path.suffix == ".tfvars" else ""


_STRANGE_DOCUMENTS = (
    (("AWSTemplateFormatVersion",), "a template of CloudFormation; give aws kafka describe-configuration-revision"),
    (
        ("terraform_version",),
        "a state or plan of Terraform; give the .tf files that declare the cluster and its topics",
    ),
    (("resource",), f"Terraform in JSON; {_STATE}"),
    (("variable",), f"Terraform in JSON; {_STATE}"),
    (("redpanda",), "a configuration of Redpanda, which replicates by Raft; give the files of a cluster of Kafka"),
    (("version", "partitions"), "an assignment for kafka-reassign-partitions; give kafka-topics --describe"),
    (("openapi",), f"a description of an API; {_EXTRACT}"),
)
"""What documents are that have entries with certain names, and what to do."""


def refusal_of_documents(documents: Sequence[Tree]) -> str:
    """Return what documents without a known format are, and what to do."""
    first = documents[0]
    for names, what in _STRANGE_DOCUMENTS:
        if all(name in first.entries for name in names):
            return f"is {what}"
    kinds = list(dict.fromkeys(kind for document in documents if (kind := document.text_at("kind"))))
    what, instead = f"is YAML or JSON ({listed(list(first.entries)) or 'a list'})", _EXTRACT
    if kinds:
        what = f"has resources of Kubernetes ({listed(kinds)})"
        instead = "give the output of kubectl get kafka,kafkanodepool,kafkatopic,statefulset,configmap -o yaml"
    if kinds == ["ConfigMap"]:
        files = listed([name for document in documents for name in document.at("data").entries])
        what, instead = f"has a ConfigMap with {files or 'no entries'}", _EXTRACT
    return (
        f"{what}, in which isrcheck knows no description of Kafka; {instead}, or a file that docs/your_cluster.md lists"
    )
