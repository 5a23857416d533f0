"""The library of known failures: every file is complete, and `check failures` finds what the files say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import chain

import pytest

from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.engine import assert_refused
from conformance.tests.support.golden import steps_of
from isrcheck.checker import cli
from isrcheck.checker.answers.questions import is_in
from isrcheck.checker.cluster.releases import version_of_binaries
from isrcheck.checker.failures import run as choose
from isrcheck.commands.exit_codes import UNEXPECTED
from isrcheck.models.kafka.failures import catalogue
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures
from isrcheck.models.messages import UsageError

FAILURES = {one.name: one for one in failures()}
OF_THE_NOTES = {str(number) for number in range(1, 46)}

SLOW = {"diverging_fetch_counts", "epoch_entry_at_the_log_end", "new_incarnation", "stale_record"}
SLOW |= {"rebooted_follower_joins_the_isr", "late_fetch_of_an_earlier_process", "last_replica_standing"}
SLOW |= {"high_watermark_of_a_diverging_response", "retries_change_the_order", "missed_demotion", "minimum_of_one"}
SLOW |= {"cancelled_reassignment_leaves_a_stranger", "reassignment_through_an_eligible_stranger"}
SLOW |= {"changed_minimum_forgets_who_may_lead", "deleted_folder_counts_as_clean", "minimum_of_partition_0"}
SLOW |= {"raised_minimum_overtakes_the_leader", "reported_directory_empties_the_elr"}
"""The failures whose searches take three seconds and more."""


@pytest.fixture
def search(check):
    return lambda words: check("failures", *words.split())


@pytest.fixture
def altered(monkeypatch):
    """Replace one failure of the library."""

    def put(failure: Failure) -> None:
        monkeypatch.setattr(choose, "failures", lambda: (failure,))

    return put


# --------------------------------------------------------------------------------------------------------- the library


def test_every_failure_of_the_notes_has_a_file():
    found = {match[1] for one in failures() if (match := re.match(r"8\.(\d+)", one.number))}
    assert found == OF_THE_NOTES
    assert len({one.number for one in failures()}) == len({one.name for one in failures()}) == len(failures()) == 73


def test_the_failures_are_in_the_order_of_their_numbers():
    numbers = [one.number for one in failures()]
    assert numbers.index("8.7a") < numbers.index("8.7b") < numbers.index("8.8") < numbers.index("8.10") < len(numbers)
    assert numbers[0] == "8.1"


@pytest.mark.parametrize("name", FAILURES)
def test_a_file_is_complete(name):
    one = FAILURES[name]
    assert one.title
    assert not one.title.endswith(".")
    assert one.story.endswith((".", ")"))
    assert one.advice.endswith((".", ")"))
    assert bool(one.history) != bool(one.why_not)
    assert bool(one.history) or not one.changes
    for release in (*({one.since} - {"", NO_RELEASE}), *one.repaired):
        assert version_of_binaries(release).text == release
    assert sorted(one.repaired, key=lambda text: version_of_binaries(text).numbers) == list(one.repaired)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name, one in FAILURES.items() if one.history])
def test_a_configuration_is_one_of_the_model_and_each_change_changes_it(name):
    history = FAILURES[name].history
    assert history.property_name in {prop.name for prop in history.instance.properties}
    for change in FAILURES[name].changes:
        changed = history.changed(change.change)
        assert changed.digest != history.instance.digest
        assert history.property_name in {prop.name for prop in changed.model.properties}


@pytest.mark.parametrize("name", [name for name, one in FAILURES.items() if one.history])
def test_a_history_is_a_behaviour_that_fails_at_its_last_step(name):
    """In plain Python. For a state from which there is no way out, the search shows it; its path is taken here."""
    history = FAILURES[name].history
    trace = steps_of(history)
    assert (trace.verdict, trace.length) == (history.verdict, history.depth)


def test_a_history_with_one_step_less_does_not_fail():
    history = FAILURES["truncation_to_high_watermark"].history
    with pytest.raises(UsageError, match="acked_not_lost is not broken at step 5"):
        steps_of(replace(history, steps=history.steps[:-1]))


def test_names_by_which_others_know_a_failure_are_written_as_kafka_writes_them():
    names = set(chain.from_iterable(one.known_as for one in failures()))
    assert [
        name for name in names if name.startswith(("KAFKA", "KIP")) and not re.match(r"(KAFKA|KIP)-\d+\b", name)
    ] == []


def test_an_unknown_key_is_an_error(tmp_path, monkeypatch):
    text = (catalogue.FOLDER / "configuration" / "acks_0.toml").read_text(encoding="utf-8")
    (tmp_path / "configuration").mkdir()
    (tmp_path / "configuration" / "mine.toml").write_text(f'rarity = "often"\n{text}', encoding="utf-8")
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    with pytest.raises(TypeError, match="rarity"):
        failures.__wrapped__()  # without the library that is loaded already


# ------------------------------------------------------------------------------------------------------------ releases


@pytest.mark.parametrize(
    ("name", "releases", "others"),
    [
        ("truncation_to_high_watermark", ["0.8.2", "0.10.2"], ["0.11.0", "2.1", "4.1"]),
        ("diverging_fetch_counts", ["2.7", "2.7.1", "2.8"], ["2.6", "2.7.2", "2.8.1", "3.0"]),
        ("expansion_against_a_lagging_high_watermark", ["1.1", "2.0"], ["2.0.1", "2.1"]),
        ("missed_demotion", ["0.10.2", "2.1", "3.9", "4.1"], []),
        ("marker_is_refused_for_ever", [], ["4.1", "4.2"]),
        ("exhausted_producer_id_is_kept", ["4.0.1", "4.1"], ["4.0.0", "3.9"]),
        ("fence_after_the_last_epoch", ["4.0.0"], ["3.9", "4.0.1", "4.1"]),
        ("acks_1", ["0.8.2", "4.1"], []),
    ],
)
def test_which_releases_have_a_failure(name, releases, others):
    assert [text for text in (*releases, *others) if is_in(FAILURES[name], version_of_binaries(text))] == releases


# ---------------------------------------------------------------------------------------------------------- the search


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "truncation_to_high_watermark",
        "late_record_reopens_the_transaction",
        "zombie_leader",
        *(exhaustive(name) for name in sorted(FAILURES.keys() - SLOW)),
        *(recorded(name) for name in sorted(SLOW)),
    ],
)
def test_a_failure_is_found_and_ends_as_its_file_says(search, name):
    code, out, err = search(f"{name} --memory 8G --json")
    (found,) = json.loads(out)["failures"]
    assert (code, err.replace("compiling", ""), found["differs"]) == (0, err.replace("compiling", ""), [])
    failure = FAILURES[name]
    if failure.history is None:
        assert found["search"] is None
        return
    assert (found["search"]["verdict"], found["search"]["depth"]) == (failure.history.verdict, failure.history.depth)
    assert len(found["search"]["changes"]) == len(failure.changes)
    for told, change in zip(found["search"]["changes"], failure.changes, strict=True):
        assert told["exhausted"] == (change.explored is None)
        assert told["verdict"] in {"HOLDS", "NO VIOLATION TO DEPTH", "PERMITTED"}


def test_a_failure_is_told_in_full(search):
    code, out, _ = search("KIP-101")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "8.1  A follower truncates to its high watermark"
    assert "  shortest history: acked_not_lost VIOLATED at step 6" in lines
    assert "  needs: 1 restart, 1 election" in lines
    assert "      protocol=0.11: HOLDS (414 states)" in lines
    assert lines[-1] == "as recorded: 1 failure searched with 2 changes that end them, 0 not expressed"


def test_a_line_for_each_failure_of_a_release(search, altered):
    altered(FAILURES["zombie_leader"])
    code, out, _ = search("--kafka-version 2.1")
    assert code == 0
    assert re.search(r"^8\.18 +zombie_leader +all +acked_not_lost PERMITTED at step 2 +1 setting$", out, re.MULTILINE)


TRUNCATION = FAILURES["truncation_to_high_watermark"]
DEEPER, EARLIER = (
    replace(TRUNCATION.history, steps=steps)
    for steps in ((*TRUNCATION.history.steps, "one more"), TRUNCATION.history.steps[:5])
)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (
            replace(TRUNCATION, history=DEEPER),
            "acked_not_lost is VIOLATED at step 6; the library of known failures says VIOLATED at step 7",
        ),
        (
            replace(TRUNCATION, history=EARLIER),
            "acked_not_lost does not fail; the library of known failures says VIOLATED at step 5",
        ),
        (
            replace(TRUNCATION, changes=(replace(TRUNCATION.changes[0], change="protocol=0.8"),)),
            "acked_not_lost still fails with protocol=0.8",
        ),
    ],
    ids=["another depth", "not found", "not ended by its change"],
)
def test_what_is_not_as_recorded_is_reported(search, altered, other, says):
    altered(other)
    code, out, _ = search("8.1")
    assert (code, says in out) == (UNEXPECTED, True), out
    assert out.splitlines()[-1].startswith("NOT AS RECORDED: 1 failure; ")


def test_a_change_searched_less_far_than_recorded_is_undecided(search, altered):
    one = FAILURES["acks_0"]
    altered(replace(one, changes=(replace(one.changes[0], explored=None),)))
    code, out, _ = search("9.1 --seconds 1e-9")
    assert code == 3
    assert out.splitlines()[-1].startswith("UNDECIDED: a limit ended the search; ")


# --------------------------------------------------------------------------------------------------------------- pages


def test_pages_tell_what_happens_and_load_nothing(search, tmp_path):
    code, _, _ = search("8.18 8.7c --page shown")
    assert code == 0
    names = sorted(path.name for path in (tmp_path / "shown").iterdir())
    assert names == ["index.html", "response_without_last_fetched_epoch.html", "zombie_leader.html"]
    index = (tmp_path / "shown" / "index.html").read_text(encoding="utf-8")
    assert '<a href="zombie_leader.html">' in index
    for path in (tmp_path / "shown").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert re.search(r'(src|href)="(https?:)?//', text) is None
    shown = (tmp_path / "shown" / "zombie_leader.html").read_text(encoding="utf-8")
    assert FAILURES["zombie_leader"].story[:60] in shown


def test_a_folder_with_files_is_not_written_to(search, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine", encoding="utf-8")
    code, out, err = search("8.18 --page mine")
    assert (code, out) == (2, "")
    assert err == "check: mine: has files, which are not overwritten; give a new folder with --page DIR\n"
    assert (tmp_path / "mine" / "index.html").read_text(encoding="utf-8") == "mine"


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("KAFKA-99999", "no known failure KAFKA-99999; "),
        ("8.99", "no known failure 8.99; "),
        ("--bound 6", "--bound does not go with failures: each failure has bounds of its own; leave --bound out"),
        ("8.1 --protocol 2.1", "--protocol does not go with failures: each failure has bounds of its own"),
        ("8.1 --engine z3", "--engine z3 does not go with failures, which are searched explicitly"),
        ("8.1 --kafka-version 3.7", "Kafka 3.7 does not have the failure 8.1; leave --kafka-version out"),
        ("--kafka-version x", "--kafka-version: 'x' is not a version of Kafka; write for example"),
        ("8.1 --replicas 3", "--replicas is no option of check failures; see check failures --help"),
        ("8.1 --report DIR", "--report does not go with failures, which write pages of their own; use --page DIR"),
    ],
)
def test_bad_input_is_one_line_with_the_cure(search, words, says):
    assert_refused(search(words), says)


def test_the_option_for_pages_goes_with_failures_only(search, capsys):
    assert cli.main(["kafka", "--page", "x"]) == 2
    assert capsys.readouterr().err.startswith("check: --page goes with failures, as in: check failures --page x")
