"""docs/json.schema.json describes the output of `check --json` for every form of the command."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from conformance.tests.checker.answers.fake import Fake
from conformance.tests.docs.json_reference import SCHEMA, reference
from conformance.tests.sampling import sampled
from conformance.tests.support.engine import COUNTER
from conformance.tests.support.places import PROJECT
from isrcheck.checker import cli
from isrcheck.checker.answers import doctor

DURABLE = PROJECT / "models" / "examples" / "durable_topic.properties"
DESCRIBED = "Topic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\n"

FORMS = [
    ("model", "counter.py"),
    ("model", "counter.py --bound 1 --continue --strict"),
    ("model", "counter.py --counterexamples 2"),
    ("model", "counter.py --prove"),
    ("model", "examples/two_phase_commit --prove"),
    ("model", "counter.py --bound 2 --engine z3"),
    ("model", "counter.py --bound 2 --engine all"),
    ("model", "counter.py --seconds 1e-9"),
    ("model", "counter.py --disk states --bound 1"),
    ("model", "leaves.py"),
    ("model", "kafka --protocol 0.10 --bound 6"),
    ("matrix", "--bound 2"),
    ("published", "published"),
    ("published", "published --seconds 1e-9"),
    ("published", "examples/tla --seconds 1e-9"),
    ("mutate", "mutate counter.py"),
    ("mutate", "mutate examples/two_phase_commit"),
    ("graph", "graph counter.py --bound 3 -o counter.html"),
    ("simulation", "counter.py --simulate 3 --depth 4"),
    ("cut", "graph counter.py --bound 3 --seconds 1e-9 -o counter.html"),
    ("sweep", "sweep kafka --vary protocol=0.10,2.1 --vary replicas=2,3 --bound 2"),
    ("sweep", "sweep kafka --vary min.insync.replicas=2,9 --bound 1"),
    ("failures", "failures 8.1 8.7c"),
    ("failures", "failures 8.3 --seconds 1e-9"),
    ("family", "family isr_by_lag"),
    ("family", "family isr_by_lag --seconds 1e-9"),
    ("schemes", "compare-schemes --most-replicas 1"),
    ("schemes", "compare-schemes --seconds 1e-9"),
    ("cluster_answer", f"--config {DURABLE}"),
    ("cluster_answer", f"--config {DURABLE} --kafka-version 4.2"),
    ("cluster_answer", f"--config {DURABLE} --describe described.txt"),
    ("cluster_answer", "doctor described.txt transactional.properties --kafka-version 4.1"),
    ("cluster_answer", "--consumer consumer.properties"),
    ("forecast", "doctor described.txt --lose broker:1 --kafka-version 4.1"),
    ("racks", "doctor described.txt --rack a=1 --rack b=2 --lose each-rack --kafka-version 4.1"),
    ("rolling_restart", "doctor described.txt --roll --kafka-version 4.1"),
    ("comparison", "doctor described.txt --kafka-version 3.7 --compare 3.9"),
    ("comparison", "doctor described.txt --kafka-version 3.7 --compare-with described.txt"),
    ("cluster_answer", "--config broken.properties --kafka-version 2.1"),
]

LEAVES = COUNTER.replace("require(s.count < 3)", "require(s.count < 4)")
"""The counter without its last guard: a step writes a value outside the range."""


def validator(form: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{form}", "$defs": SCHEMA["$defs"]})


def forms_of(content: object) -> list[str]:
    names = [one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]]
    return [name for name in names if validator(name).is_valid(content)]


@pytest.fixture
def check_json(tmp_path, monkeypatch, capsys, no_proofs_of_the_matrix, no_searches_for_a_cluster):
    """Run `check --json` in a folder with some files; return the object."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "counter.py": COUNTER,
        "leaves.py": LEAVES,
        "described.txt": DESCRIBED,
        "transactional.properties": "acks=all\ntransactional.id=t\ngroup.id=g\n",
        "broken.properties": "acks=all\nmin.insync.replicas=3\nreplication.factor=2\n",
        "consumer.properties": "group.id=g\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")

    def run(words):
        cli.main([*words.split(), "--json"])
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def no_proofs_of_the_matrix(request):
    """Run the matrix without proofs, which take long and do not change the keys of its object."""
    if request.node.callspec.params.get("form") == "matrix":
        request.getfixturevalue("no_proofs")


@pytest.fixture
def no_searches_for_a_cluster(monkeypatch):
    """Answer for a cluster by simple rules."""
    monkeypatch.setattr(doctor, "answerer_of", lambda options, opening, left: Fake())


def test_the_schema_is_valid():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("form", "words"),
    sampled(FORMS, lambda one: one[1] != "published" and one[0] != "matrix"),
    ids=lambda word: word.replace(str(DURABLE), DURABLE.name),
)
def test_the_object_matches_the_schema(check_json, form, words):
    content = check_json(words)
    error = best_match(validator(form).iter_errors(content))
    assert error is None, f"{list(error.absolute_path)}: {error.message}"
    assert forms_of(content) == [form]


def test_every_form_of_the_command_is_tested():
    """The form `watched` is tested with a running cluster, in checker/answers/test_watch.py."""
    forms = {one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]}
    assert forms == {form for form, _ in FORMS} | {"watched"}


def test_the_page_is_generated_from_the_schema():
    assert (PROJECT / "docs" / "json.md").read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("form", ["counter.py"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run.pop("distinct"),
        lambda run: run.update(more=1),
        lambda run: run.update(distinct="6"),
        lambda run: run.update(verdict="FINE"),
        lambda run: run["properties"][0].pop("trace"),
        lambda run: run["properties"][0].update(more=1),
        lambda run: run.update(nodes=1),
    ],
)
def test_an_undescribed_object_is_detected(check_json, form, spoil):
    content = check_json(form)
    assert forms_of(content) == ["model"]
    spoiled = deepcopy(content)
    spoil(spoiled["runs"][0])
    assert forms_of(spoiled) == []
