"""`check compare-schemes`: the figures are those of the record, of searches with named brokers, and of the textbook."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from conformance.tests.checker.comparisons.named_brokers import Scheme
from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.engine import interrupt_search_after
from isrcheck.checker import cli
from isrcheck.checker.comparisons import schemes
from isrcheck.commands.exit_codes import UNEXPECTED
from isrcheck.models.messages import UsageError
from isrcheck.models.quorum.schemes import MODEL

RECORDED = schemes.recorded()


@pytest.fixture
def compare(check):
    return lambda words: check("compare-schemes", *words.split())


def number(row: dict[str, str], column: str) -> int | None:
    return None if row[column] == "-" else int(row[column])


# ---------------------------------------------------------------------------------------------------------- the figures


@pytest.mark.parametrize("most", [3, recorded(7)])
def test_the_record_is_what_the_command_computes(compare, most: int) -> None:
    rows = [row for row in RECORDED if int(row["replicas"]) <= most]
    code, text, err = compare(f"--most-replicas {most} --csv again.csv")
    assert (code, err) == (0, "")
    assert text.splitlines()[-1] == f"{len(rows)} rows, as recorded in models/quorum/schemes.csv"
    assert list(csv.DictReader(Path("again.csv").read_text(encoding="utf-8").splitlines())) == rows


def test_the_record_has_every_row() -> None:
    keys = [(row["replicas"], row["scheme"], row["min_isr"], row["lag"]) for row in RECORDED]
    sizes = {one: ["-"] if one == "majority" else None for one in MODEL.protocols}
    assert keys == [
        (str(replicas), scheme, size, lag)
        for replicas in range(1, 8)
        for scheme in MODEL.protocols
        for size in sizes[scheme] or [str(one) for one in range(1, replicas + 1)]
        for lag in ("off", "on")
    ]


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: " ".join(list(row.values())[:4]))
def test_the_record_agrees_with_the_textbook(row: dict[str, str]) -> None:
    """2n+1 replicas for n failures with majorities; n+1 with an ISR, but with followers that may be slow 2n+1, too."""
    n, k, lag = int(row["replicas"]), number(row, "min_isr"), row["lag"] == "on"
    half = n // 2 + 1
    if k is None:
        expected = (half, n - half, n - half, half - 1)
    elif not lag:
        expected = (n, n - k, n - 1, n - 1)
    elif row["scheme"] == "isr":
        expected = (k, 0, 0, k - 1)
    else:
        expected = (k, min(n - k, k - 1), k - 1, k - 1)
    assert tuple(number(row, name) for name in ("waits_for", "writes", "reads", "data")) == expected


SMALL = [row for row in RECORDED if int(row["replicas"]) <= 4]


@pytest.mark.parametrize(
    "row",
    [row if int(row["replicas"]) <= 3 else exhaustive(row) for row in SMALL],
    ids=lambda row: " ".join(list(row.values())[:4]),
)
def test_brokers_that_are_counted_behave_like_brokers_with_names(row: dict[str, str]) -> None:
    scheme = Scheme(int(row["replicas"]), number(row, "min_isr"), row["scheme"] == "isr_with_elr", row["lag"] == "on")
    found = [scheme.tolerates(failures) for failures in range(scheme.replicas + 1)]
    for column in ("writes", "reads", "data"):
        holds = [one[column] for one in found]
        assert holds == [failures <= int(row[column]) for failures in range(scheme.replicas + 1)]


# ---------------------------------------------------------------------------------------------------------- the command


def test_the_table(compare) -> None:
    _, text, _ = compare("--most-replicas 3")
    lines = text.splitlines()
    assert lines[0].split() == ["replicas", "scheme", "min", "ISR", "waits", "for", "writes", "reads", "data"]
    assert "       3  ISR             2  3rd fastest/2nd fastest     1/0    2/0   2/1" in lines
    needed = "       1                  3               3         2 (1)          -              2 (1)           3 (2)"
    assert needed in lines


def test_the_object(compare) -> None:
    code, text, _ = compare("--most-replicas 1 --json")
    found = json.loads(text)
    assert (code, found["verdict"], len(found["rows"])) == (0, "as recorded", 6)
    who = {"replicas": 1, "scheme": "majority", "min_isr": None, "lag": False}
    assert found["rows"][0] == who | {"waits_for": 1, "writes": 0, "reads": 0, "data": 0}


def test_a_figure_that_is_not_as_recorded_is_told(compare, monkeypatch) -> None:
    wrong = [row | {"data": "2"} if row["scheme"] == "majority" else row for row in RECORDED]
    monkeypatch.setattr(schemes, "recorded", lambda: wrong)
    code, text, _ = compare("--most-replicas 2")
    assert code == UNEXPECTED
    assert text.splitlines()[-1] == "4 of 16 rows not as recorded; the first: 1 replicas, majority, min ISR -, lag off"
    assert json.loads(compare("--most-replicas 1 --json")[1])["verdict"] == "differs"


def test_a_limit_leaves_it_undecided_and_writes_no_file(compare) -> None:
    code, text, _ = compare("--seconds 1e-9 --csv some.csv")
    assert (code, text.splitlines()[-1]) == (3, "UNDECIDED: the time limit is reached; 0 rows until then")
    assert not Path("some.csv").exists()


def test_a_file_that_exists_is_not_overwritten(compare) -> None:
    Path("some.csv").write_text("mine", encoding="utf-8")
    says = "check: --csv some.csv: exists already and is not overwritten; give another name\n"
    assert compare("--most-replicas 1 --csv some.csv") == (2, "", says)
    assert Path("some.csv").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("raises", [False, True])
def test_ctrl_c_keeps_the_rows_until_then(compare, monkeypatch, raises: bool) -> None:
    """Whether the key is pressed within a search, which then ends early, or before one."""
    interrupt_search_after(monkeypatch, 6, raises=raises)
    code, text, err = compare("--most-replicas 1")
    assert (code, text.splitlines()[-1]) == (130, "UNDECIDED: the user interrupted it; 3 rows until then")
    assert err == "check: interrupted; this is what was found so far\n"


AS_IN = "does not go with compare-schemes, which has its own model; as in: check compare-schemes --most-replicas 3"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--most-replicas 0", "--most-replicas 0: not a number of replicas; give 1 to 7"),
        ("--most-replicas 8", "--most-replicas 8: not a number of replicas; give 1 to 7"),
        ("--most-replicas x", "--most-replicas x: not a number of replicas; give 1 to 7"),
        (
            "--csv nowhere/some.csv",
            "--csv nowhere/some.csv: not the name of a file in a folder that exists; give another name",
        ),
        ("kafka", f"kafka {AS_IN}"),
        ("--replicas 3", f"--replicas {AS_IN}"),
        ("--bound 3", f"--bound {AS_IN}"),
        ("--config some.properties", f"--config {AS_IN}"),
        ("--prove", f"--prove {AS_IN}"),
    ],
)
def test_what_it_does_not_take_is_refused_in_one_line(compare, words: str, says: str) -> None:
    assert compare(words) == (2, "", f"check: {says}\n")


def test_other_forms_refuse_its_options(capsys) -> None:
    says = "check: --csv goes with compare-schemes, as in: check compare-schemes --csv some.csv\n"
    assert (cli.main(["kafka", "--csv", "some.csv"]), capsys.readouterr().err) == (2, says)


# ------------------------------------------------------------------------------------------------------------ the model


def test_an_isr_that_cannot_be_large_enough_is_refused() -> None:
    with pytest.raises(UsageError, match="lower --min-isr"):
        MODEL.instance("isr", {"replicas": 2, "min_isr": 3})
