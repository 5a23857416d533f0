"""The tables of the documents list exactly the actions, properties, switches, golden traces, verdicts and rooms."""

from __future__ import annotations

import re
import tomllib

import pytest

from conformance.tests.docs.markdown import blocks
from conformance.tests.support.places import GOLDEN_FOLDER, PROJECT
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import Model

KAFKA = registry.load("kafka")[0]
TRANSACTIONS = registry.load("transactions")[0]
QUORUM = registry.load("quorum")[0]
SCENARIOS = registry.load("kafka_scenarios")[0]


def first_column(document: str, heading: str) -> list[str]:
    """The code spans in the first column of the table below a heading, without the table's head."""
    text = (PROJECT / document).read_text(encoding="utf-8")
    section = re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    cells = re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE)[1:]
    return [name for cell in cells for name in re.findall(r"`([^`]*)`", cell)]


def promises_of(model: Model) -> list[str]:
    return [prop.name for prop in model.properties if prop.kind is not Kind.SOMETIMES]


def switches_of(model: Model) -> list[str]:
    return [name for name in model.entries if name.isupper()]


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Actions", sorted(action.name for action in KAFKA.actions)),
        ("Promises", promises_of(KAFKA)),
        ("What has to be able to happen", [one.name for one in SCENARIOS.properties if one.kind is Kind.SOMETIMES]),
        ("Generations", [*KAFKA.protocols]),
        ("Switches", sorted(switches_of(KAFKA))),
    ],
)
def test_the_document_on_kafka_names_what_there_is(heading, names):
    column = first_column("docs/kafka_model.md", heading)
    assert (sorted(column) if heading in ("Actions", "Switches") else column) == names


def test_the_golden_traces_of_repairs_are_in_the_table():
    traces = {path.stem for path in GOLDEN_FOLDER.glob("kafka_*.txt") if "\ngone: " in path.read_text(encoding="utf-8")}
    assert set(first_column("docs/kafka_model.md", "What each generation repaired")) == traces


def test_the_document_on_transactions_names_what_there_is():
    assert first_column("docs/transactions.md", "Promises") == promises_of(TRANSACTIONS)
    generations = first_column("docs/transactions.md", "Generations")
    assert sorted(name for name in generations if name.isupper()) == sorted(switches_of(TRANSACTIONS))
    traces = sorted(path.stem.removeprefix("transactions_") for path in GOLDEN_FOLDER.glob("transactions_*.txt"))
    assert sorted(first_column("docs/transactions.md", "What breaks")) == traces


def test_every_verdict_is_in_the_table():
    shown = {re.sub(r" (at step )?N$| for every length$", "", one) for one in first_column("README.md", "Verdicts")}
    assert shown == {word.value.removesuffix(" at step") for word in Word}


@pytest.mark.parametrize("folder", ["checker", "traces", "conformance"])
def test_every_room_is_on_the_tour(folder):
    rooms = {path.name for path in (PROJECT / folder).iterdir() if path.is_dir() and path.name != "__pycache__"}
    text = (PROJECT / "docs" / "tour.md").read_text(encoding="utf-8")
    assert rooms == set(re.findall(rf"\[`(\w+)/`\]\(\.\./{folder}/\w+\)", text))


def test_the_matrix_in_the_document_is_the_record():
    record = tomllib.loads((PROJECT / "models" / "verdicts.toml").read_text(encoding="utf-8"))["run"]
    violated, permitted = (
        {(run["protocol"], name): depth for run in record for name, depth in run[kind].items()}
        for kind in ("violated", "permitted")
    )
    shown = set()
    applies = {(protocol, prop.name) for protocol in KAFKA.protocols for prop in KAFKA.instance(protocol).properties}
    applies |= {(run["protocol"], name) for run in record for name in run.get("properties", [])}
    known = set(first_column("docs/kafka_model.md", "Promises"))
    for text in (block for block in blocks(PROJECT / "docs" / "asking.md") if block.info == ("text",)):
        (_, *columns), *rows = (re.split(r"\s{2,}", line) for line in text.lines)
        protocols = [column.removeprefix("kafka ") for column in columns]
        shown |= {(protocol, row[0]) for protocol in protocols for row in rows}
        assert rows == [
            [
                name,
                *(
                    f"VIOLATED at step {violated[protocol, name]}"
                    if (protocol, name) in violated
                    else f"PERMITTED at step {permitted[protocol, name]}"
                    if (protocol, name) in permitted
                    else "HOLDS"
                    if (protocol, name) in applies
                    else "n/a"
                    for protocol in protocols
                ),
            ]
            for name in [row[0] for row in rows]
        ]
        assert {row[0] for row in rows} <= known
    assert {protocol for protocol, _ in shown} == set(KAFKA.protocols)
    assert set(violated) | set(permitted) <= shown


def test_the_document_on_quorums_names_what_there_is():
    """Also where a property has a published name: figure 3.2 of Ongaro's thesis, invariants of KRaft.tla."""
    assert first_column("docs/quorum.md", "Properties") == promises_of(QUORUM)
    assert first_column("docs/quorum.md", "Switches") == switches_of(QUORUM)
    liveness = [prop.name for prop in registry.load("quorum_liveness")[0].properties]
    assert first_column("docs/quorum.md", "Pre-vote and check quorum") == liveness
