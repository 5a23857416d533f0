"""The pages of the atlas: what the tables say, where they lead, and that nothing in them is markup.

The words of the pages of the atlas: what each cell says about an answer.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conformance.tests.checker.atlas.small_record import (
    CLUSTERS,
    FACTS,
    FARTHER,
    HOLDS,
    OPEN,
    SMALL,
    THREE,
    TO_DEPTH,
    failing,
    found,
    part,
    whole,
    works,
)
from isrcheck.checker.answers.questions import Question, Topic
from isrcheck.checker.atlas import folder, tables
from isrcheck.checker.atlas.cells import clusters
from isrcheck.checker.atlas.page import WHOLE, Facts
from isrcheck.checker.atlas.proofs import Histories, Searches
from isrcheck.checker.atlas.tables import TOPICS, Grave, Line, Sheet, Status
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import named
from isrcheck.models.messages import UsageError

pytestmark = pytest.mark.sampled


@pytest.fixture(scope="module")
def files():
    return folder.files_of([SMALL], FACTS)


class Read(HTMLParser):
    """The texts of the cells of each row, the addresses, and the identifiers of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.addresses: list[str] = []
        self.identifiers: list[str] = []
        self.tags: list[str] = []
        self._is_cell = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.tags.append(tag)
        self.addresses += [known["href"]] if "href" in known else []
        self.identifiers += [known["id"]] if "id" in known else []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._is_cell = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._is_cell = False

    def handle_data(self, data):
        if self._is_cell:
            self.rows[-1][-1] += data


def data_of(page: bytes) -> dict:
    return json.loads(re.search(r'id="atlas">(.*?)</script>', page.decode(), re.DOTALL)[1])


def followed_links(files: Mapping[str, bytes]) -> tuple[int, list[tuple[str, str]]]:
    """How many links the pages have, those of the script's data among them; and those that lead nowhere."""
    read = {name: Read(content.decode()) for name, content in files.items() if name.endswith(".html")}
    followed, missing = 0, []
    for name, page in read.items():
        script = data_of(files[name]) if b'id="atlas"' in files[name] else {"cells": [], "marks": []}
        more = [cell[2] for cell in script["cells"] if cell[2]] + [mark[1] for mark in script["marks"]]
        for address in [*page.addresses, *more]:
            path, _, fragment = address.partition("#")
            target = posixpath.normpath((Path(name).parent / path).as_posix()) if path else name
            is_there = target in files and (not target.startswith("searches/") or fragment in read[target].identifiers)
            followed += 1
            if not is_there:
                missing.append((name, address))
    return followed, missing


# ---------------------------------------------------------------------------------------------------------- the table


def test_the_table_of_a_small_record(files):
    rows = Read(files[WHOLE + "index.html"].decode()).rows
    assert rows[0] == [
        *("Answer", "Kafka", "acks", "replicas", "min ISR", "unclean election", "leader rebalance"),
        *("Acknowledged records", "Known defects", "One loss of power", "Power loss, all flushed"),
        *("Power loss of all", "One lost disk", "Brokers lost", "Writes", "Reads"),
    ]
    quiet = [
        *("no loss, to the end", "no loss, to the end"),
        *("lost after 6 steps: not promised", "no loss, to the end"),
    ]
    # Without acks=all no record is promised to survive a lost broker.
    up_to_one = ["with up to 1 down"] * 2
    unasked, one, two = (["not asked here"], ["up to 1 broker"], ["up to 2 brokers"])
    lost = "lost after 3 steps: your settings allow this"
    assert rows[1:] == [
        ["Can lose records", "4.1", "1", "3", "2", "off", "any", lost, "none known", *quiet, *unasked, *up_to_one],
        [
            *("Can lose records", "3.7 \u2013 4.0", "1", "3", "2", "off", "on"),
            *(f"{lost}derived by rule: <b>a rule</b>", "none known", *quiet, *unasked, *up_to_one),
        ],
        [
            *("Known defects", "4.1", "all", "3", "2", "off", "on"),
            *("no loss to depth 10", "exposed to 1 known defect 8.24", *quiet, *one, *up_to_one),
        ],
        [
            *("Cannot tell", "3.7 \u2013 4.0", "all", "3", "3", "off", "on"),
            *("not recorded", "1 known defect not decided 8.25", *quiet, *two),
            *["only with all brokers up; with 1 down, for 2 of 3 sets of brokers"] * 2,
        ],
        [
            *("Keeps its promises", "3.7 \u2013 4.0", "all", "3", "2", "off", "on", "no loss, to the end"),
            *("not exposed, to depth 14with a loss of power or of a disk: 8.10", *quiet, *one, *up_to_one),
        ],
    ]


def test_the_data_of_the_script_are_the_same_table(files):
    """Each cell, text and mark is in the page once, and the script has only to put them together."""
    data = data_of(files["index.html"])
    rows = Read(files[WHOLE + "index.html"].decode()).rows[1:]
    made = []
    for answer, _, texts, cells in data["rows"]:
        row = [data["answers"][answer][1], *(data["texts"][one] for one in texts)]
        for _, text, _, marks, remark, beside in (data["cells"][one] for one in cells):
            after = "".join(f" {data['marks'][one][0]}" for one in beside)
            row.append(text + "".join(f" {data['marks'][one][0]}" for one in marks) + remark + after)
        made.append(row)
    assert made == rows
    assert [masks for _, masks, *_ in data["rows"]] == [
        [1, 1, 1, 1, 1, 3],
        [2, 1, 1, 1, 1, 1],
        [1, 2, 1, 1, 1, 1],
        [2, 2, 1, 2, 1, 1],
        [2, 2, 1, 1, 1, 1],
    ]


def test_every_case_is_in_exactly_one_row():
    for sheet in whole():
        settings = tables.settings_of(sheet.kind.settings)
        cells = tables.Cells(Histories(), Searches())
        rows = tables.rows_of(sheet, settings, lambda line, one=sheet, made=cells: made.of(line, one.kind.columns))
        assert sum(row.cases for row in rows) == len(sheet.lines)
        for line in sheet.lines:
            values = [one.of(line) for one in settings]
            mine = [row for row in rows if all(one in some for one, some in zip(values, row.values, strict=True))]
            assert [row.cells for row in mine] == [cells.of(line, sheet.kind.columns)]


def test_any_means_every_value_that_occurs_with_these_replicas():
    sheet = whole()[0]
    settings = tables.settings_of(sheet.kind.settings)
    cells = tables.Cells(Histories(), Searches())
    rows = tables.rows_of(sheet, settings, lambda line: cells.of(line, sheet.kind.columns))
    spelling = tables.Spelling(sheet.lines, settings)
    texts = [spelling.texts(row) for row in rows if "4.1" in row.values[0] and row.values[1] == {"1", "0"}]
    assert texts[0] == ["4.1", "0, 1", "2", "1", "on", "any"]
    assert [one for one in texts if one[2] == "1"] == [["any", "0, 1", "1", "1", "any", "any"]]


def test_the_tables_of_two_releases():
    topics, producers, transactions = whole()
    assert [len(one.lines) for one in (topics, producers, transactions)] == [360, 360, 15]
    assert list(dict.fromkeys(line.releases for line in topics.lines)) == ["4.1", "4.0"]
    assert {line.case.acks for line in producers.lines if line.case.enable_idempotence} == {"all"}
    asked = {
        kind: sorted({one.name for line in sheet.lines for one in line.findings[-1] if one.name})
        for kind, sheet in zip("pt", (producers, transactions), strict=True)
    }
    assert asked == {
        "p": ["duplicate_in_a_new_epoch", "snapshot_forgets_batches", "unknown_producer_out_of_order"],
        "t": [
            "exhausted_producer_id_is_kept",
            "late_marker_ends_the_next_transaction",
            "next_producer_id_is_forgotten",
        ],
    }
    assert tables.sheet_of(Question(Topic.DEFECT, name="missed_demotion")) is TOPICS
    assert tables.sheet_of(Question(Topic.DEFECT, name="duplicate_in_a_new_epoch")) is tables.PRODUCERS
    assert tables.sheet_of(Question(Topic.DEFECT, name="late_record_reopens_the_transaction")) is tables.TRANSACTIONS


def test_the_names_of_releases_leave_none_out_between_their_ends():
    """Two tables say different things of 2.8 with ZooKeeper: it must not be in the range of another row."""
    everything = clusters()
    for sheet in tables.sheets(everything, lambda case, question: None):
        places = defaultdict(list)
        for name in {line.releases for line in sheet.lines}:
            for number, one in enumerate(everything):
                if is_in_name(one, name):
                    places[number].append(name)
        shown = [
            number for number, one in enumerate(everything) if sheet.kind is not tables.TRANSACTIONS or one.transactions
        ]
        assert {number: names for number, names in places.items() if len(names) > 1} == {}
        assert sorted(places) == shown


def is_in_name(cluster, name):
    """Whether a reader takes the name of a row to speak of a release in its mode."""
    order = list(dict.fromkeys(one.release.text for one in clusters()))
    for shown in name.split("; "):
        mode = next((one for one in ("KRaft", "ZooKeeper") if shown.endswith(one)), None)
        text = shown.removesuffix(f" {mode}")
        if mode not in (None, cluster.mode):
            continue
        for one in text.split(", "):
            first, _, last = one.partition(" \u2013 ")
            if order.index(first) <= order.index(cluster.release.text) <= order.index(last or first):
                return True
    return False


def test_the_verification_of_transactions_is_a_setting():
    *_, transactions = tables.sheets(clusters(), lambda case, question: None)
    (verification,) = (setting.of for setting in tables.SETTINGS if setting.field == "transactions")
    of_3_7 = [line for line in transactions.lines if "3.7" in line.releases and line.case.replication_factor == 3]
    assert {verification(line) for line in of_3_7} == {"as in the release", "off"}
    with_it = {dict(line.case.transactions).get("TXN_VERIFY") for line in of_3_7 if verification(line) == "off"}
    assert with_it == {"OFF"}


def test_one_replica_has_no_known_failure_of_replication():
    topics, producers, _ = tables.sheets(clusters(), lambda case, question: None)
    for sheet in (topics, producers):
        place = [one.topic for one in sheet.kind.columns].index(Topic.DEFECT)
        alone = [line.findings[place] for line in sheet.lines if line.case.replication_factor == 1]
        assert alone
        searched = {one.name for asked in alone for one in asked if named(one.name).history is not None}
        assert searched <= {"buffer_is_reused_in_flight"}, "a failure of producers alone"


def test_a_cluster_asks_about_its_own_defects_only():
    (topics, *_) = tables.sheets(CLUSTERS[:1], lambda case, question: None)
    assert topics.lines[0].releases == "4.0"
    assert {finding for line in topics.lines for some in line.findings for finding in some.values()} == {None}


@pytest.mark.parametrize(
    ("graves", "status"),
    [
        ((Grave.ALLOWED, Grave.BROKEN), Status.FAILS),
        ((Grave.BROKEN, Grave.BROKEN), Status.DEFECTS),
        ((Grave.BROKEN, Grave.NOTHING), Status.FAILS),
        ((Grave.TO_THE_END, Grave.BROKEN), Status.DEFECTS),
        ((Grave.OPEN, Grave.BROKEN), Status.DEFECTS),
        ((Grave.OPEN, Grave.TO_THE_END), Status.UNKNOWN),
        ((Grave.TO_DEPTH, Grave.OPEN), Status.UNKNOWN),
        ((Grave.TO_DEPTH, Grave.NOTHING), Status.KEEPS),
    ],
)
def test_the_answer_of_a_row(graves, status):
    """What is undecided is never a promise that is kept; what breaks without a known defect is said."""
    cells = [tables.Cell(tables.Words(grave, ""), "") for grave in graves]
    assert tables.status_of(tables.TRANSACTIONS.columns, cells) is status


def files_of_line(line, *findings, facts=FACTS):
    """The files of a table with one line, which has these findings."""
    return folder.files_of([Sheet(TOPICS, [replace(line, findings=findings)])], facts)


def rows_of_line(line, *findings):
    return Read(files_of_line(line, *findings)[WHOLE + "index.html"].decode()).rows[1:]


def rows_with(case, survival):
    """The rows of a case with nothing else that fails, whose answers to the loss of 1, 2, ... brokers are these."""
    first = SMALL.lines[0]
    place = [one.topic for one in TOPICS.columns].index(Topic.SURVIVES)
    lost = {Question(Topic.SURVIVES, number): finding for number, finding in survival.items()}
    findings = ({Question(Topic.LOSS): HOLDS}, {}, *first.findings[2:place], lost, *first.findings[place + 1 :])
    return rows_of_line(Line("4.1", replace(first.case, **case), ()), *findings)


def test_one_lost_broker_that_can_have_the_only_copy_loses_records():
    """min.insync.replicas=1 is worse than 2, and one replica is the worst, whatever the searches of losses find."""
    only = "none, because one can have the only copy: your settings allow this"
    gone = {1: found(Word.UNREACHABLE, part(Word.UNREACHABLE))}
    for case in ({"min_insync_replicas": 1}, {"replication_factor": 1, "min_insync_replicas": 1}):
        (row,) = rows_with(case, gone)
        assert (row[0], row[13]) == ("Can lose records", only)
    (row,) = rows_with({}, {1: found(Word.REACHED, part(Word.REACHED)), 2: gone[1]})
    assert (row[0], row[13]) == ("Keeps its promises", "up to 1 broker")
    (row,) = rows_with({}, {1: found(Word.REACHED, part(Word.REACHED)), 2: None})
    assert (row[0], row[13]) == ("Cannot tell", "up to 1 broker; with 2 lost: not recorded")


# ------------------------------------------------------------------------------------------------- pages behind cells


def test_every_link_leads_to_a_page_of_the_folder(files):
    names = set(files)
    assert {one for one in names if one.startswith("traces/")} == {"traces/4.1_1.html", "traces/3.7_1.html"}
    assert {one for one in names if one.startswith("defects/")} == {
        *("defects/missed_demotion.html", "defects/stale_record.html", "defects/last_replica_standing.html")
    }
    followed, missing = followed_links(files)
    assert missing == []
    assert followed > len(files)


def test_a_history_has_one_page_for_all_of_its_cases(files):
    page = files["traces/4.1_1.html"].decode()
    text = html.unescape(page)
    assert "Can an acknowledged record be lost by these settings?" in text
    says = "3 answers of the table have these steps"
    assert f"The shortest history that was found, searched on {FACTS.day}. {says}" in text
    assert 'href="../index.html"' in page


def test_what_was_searched_is_told_with_the_command_that_repeats_it(files):
    text = html.unescape(re.sub("<[^>]+>", " ", files["searches/4.1.html"].decode()))
    assert "NO VIOLATION TO DEPTH, searched on 2026-11-24." in text
    assert "a broker crashes, leadership moves: NO VIOLATION TO DEPTH, to depth 10 (1,234 states)" in text
    assert "check kafka --protocol 4.1 --bound 10 --replicas 2" in text
    assert "check kafka --protocol 4.1 --replicas 2" in text


UNREACHED = "within its bounds, the search does not reach what it must be able to reach: a leader is elected"


def test_witnesses_are_told_under_the_searches_whose_answer_they_bear_out():
    """Another answer with the same searches and other witnesses has a text of its own."""
    searches = Searches()
    search, result = part(Word.REACHED, 7, depth=3, states=120, is_exhausted=False)
    goals = replace(search, model="kafka_scenarios")
    reached = replace(HOLDS, witnesses=((goals, result),))
    missed = goals, replace(result, word=Word.UNREACHABLE, depth=None, is_exhausted=True)
    unreached = replace(found(Word.UNDECIDED, part(), note=UNREACHED), witnesses=(missed,))
    for finding in (HOLDS, reached, unreached, reached):
        searches.address("Can a record be lost?", [("", finding)])
    searches.address("And twice?", [("", reached)])
    ((name, page),) = searches.pages()
    text = page.alone()
    sections = [
        " ".join(html.unescape(re.sub("<[^>]+>", " ", one)).split())
        for one in re.findall('<section id="s[0-9]">(.*?)</section>', text, re.DOTALL)
    ]
    searched = "a broker crashes: HOLDS, to the end (1,234 states) check kafka --protocol 4.1 --replicas 2"
    told = "Witnesses, which show that what these searches look for can happen:"
    assert name == "searches/4.1.html"
    assert sections == [
        f"Can a record be lost? HOLDS, searched on {FACTS.day}. {searched}",
        f"Can a record be lost? HOLDS, searched on {FACTS.day}. {searched} {told}"
        " a broker crashes: REACHED 3, to depth 7 (120 states)"
        " check kafka_scenarios --protocol 4.1 --bound 7 --replicas 2",
        f"Can a record be lost? UNDECIDED, searched on {FACTS.day}. {UNREACHED} {searched} {told}"
        " a broker crashes: UNREACHABLE, to the end (120 states) check kafka_scenarios --protocol 4.1 --replicas 2",
        f"And twice? HOLDS, searched on {FACTS.day}. Its searches.",
    ]
    legends = [html.unescape(one) for one in re.findall("<dt>(.*?)</dt>", text)]
    assert legends == [
        *("UNREACHABLE", "UNDECIDED", "HOLDS", "REACHED 1"),
        *("to the end", "to depth 14", "1,482 states", "witness"),
    ]


def test_an_answer_without_its_witness_is_not_decided(files):
    loss = {Question(Topic.LOSS): found(Word.UNDECIDED, part(), note=UNREACHED)}
    (row,) = rows_of_line(SMALL.lines[0], loss, {}, *SMALL.lines[0].findings[2:])
    assert (row[0], row[7]) == ("Cannot tell", f"not decided; nothing found{UNREACHED}")


def test_the_page_of_a_known_failure_needs_no_search(files):
    text = html.unescape(files["defects/missed_demotion.html"].decode())
    assert "8.24: " in text
    needs = "3 elections (1 preferred), 3 late messages"
    assert f"Shortest history: acked_not_lost VIOLATED at step 11. It needs: {needs}." in text
    assert "What ends it" in text


def test_searches_of_other_models_have_pages_of_their_own():
    searches = Searches()
    search, result = part()
    found_in = {
        name: found(Word.HOLDS, (replace(search, model=name, protocol=protocol, configuration=""), result))
        for name, protocol in (
            *(("examples/isr_changes", ""), ("transactions", "3.7"), ("kafka", "3.7")),
            ("kafka_scenarios", "3.7"),  # has the actions of kafka, and asks about brokers that are down or lost
        )
    }
    addresses = [searches.address("?", [("", one)]) for one in found_in.values()]
    assert addresses == [
        *("searches/examples_isr_changes.html#s1", "searches/transactions_3.7.html#s1", "searches/3.7.html#s1"),
        "searches/3.7.html#s2",
    ]
    assert [name for name, _ in searches.pages()] == [one.partition("#")[0] for one in addresses[:3]]
    assert all(folder.OURS.fullmatch(name) for name, _ in searches.pages())


def test_a_history_of_another_model_is_refused():
    line = SMALL.lines[1]
    loss = line.findings[0][Question(Topic.LOSS)]
    bad = replace(loss, history=replace(loss.history, steps=("no such step",)))
    with pytest.raises(UsageError, match="has no step `no such step`"):
        files_of_line(line, {Question(Topic.LOSS): bad}, *line.findings[1:])


# ------------------------------------------------------------------------------------------------------------- safety

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"


def test_hostile_text_stays_text():
    line = SMALL.lines[0]
    evil = found(Word.NOT_APPLICABLE, note=EVIL)
    says = found(Word.HOLDS, part(says=EVIL), note=EVIL)
    findings = ({Question(Topic.LOSS): evil}, line.findings[1], {Question(Topic.POWER): says}, *line.findings[3:])
    files = files_of_line(replace(line, releases=EVIL), *findings, facts=Facts(EVIL, EVIL, EVIL, None))
    for name, content in files.items():
        if name.endswith(".html"):
            tags = Read(content.decode()).tags
            assert "img" not in tags
            assert tags.count("script") == (2 if name.startswith(("index", "traces", "defects")) else 1), name
            assert "\x1b" not in content.decode()


def test_every_page_forbids_what_it_does_not_contain(files):
    for name, content in files.items():
        if name.endswith(".html"):
            policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content.decode())[1]
            rest, _, allowed = policy.partition("; script-src ")
            assert rest == "default-src 'none'; style-src 'unsafe-inline'"
            runs = re.findall("<script>(.*?)</script>", content.decode(), re.DOTALL)
            digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in runs]
            assert allowed.split() == [f"'sha256-{one}'" for one in digests], name


MOST_BYTES_OF_A_PAGE, MOST_BYTES = 60_000, 1_500_000
"""For two releases; more would mean that the pages repeat what rows share."""


def test_the_page_with_filters_stays_small():
    files = folder.files_of(whole(), FACTS)
    assert len(files["index.html"]) < MOST_BYTES_OF_A_PAGE
    assert sum(map(len, files.values())) < MOST_BYTES


# ------------------------------------------------------------------------------------------------------------ Parquet


def test_the_parquet_file_has_a_row_for_each_question(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'isrcheck[spark]'")
    path = tmp_path / "atlas.parquet"
    path.write_bytes(folder.parquet([SMALL]))
    table = pq.read_table(path)
    assert table.column_names == [column.name for column in folder.CELLS.columns]
    rows = table.to_pylist()
    assert len(rows) == 6 * 5 + 5 + (2 + 2 + 3) + 5 * 6 + 4
    first = rows[0]
    assert {name: first[name] for name in ("table", "releases", "generation", "acks", "replication_factor")} == {
        "table": "topics",
        "releases": "4.1",
        "generation": "4.1",
        "acks": "all",
        "replication_factor": 3,
    }
    assert [first[name] for name in ("question", "verdict", "step", "to_the_end", "to_depth", "states")] == [
        *("loss", "NO VIOLATION TO DEPTH", None, False, 10, 2468)
    ]
    lost = next(row for row in rows if row["acks"] == "1")
    assert (lost["verdict"], lost["step"], len(lost["steps"])) == ("PERMITTED", 3, 3)
    assert [row["flushes_every_message"] for row in rows if row["question"] == "power"] == [False, True] * 6
    lost_of_all = [row for row in rows if row["question"] == "power-of-all"]
    assert [(row["verdict"], row["step"], len(row["steps"])) for row in lost_of_all] == [("PERMITTED", 6, 6)] * 6
    survival = [row for row in rows if row["question"] == "survives"]
    assert [(row["min_insync_replicas"], row["brokers_lost"], row["verdict"]) for row in survival] == [
        *((2, 1, "REACHED"), (2, 2, "UNREACHABLE"), (2, 1, "REACHED"), (2, 2, "UNREACHABLE")),
        *((3, 1, "REACHED"), (3, 2, "REACHED"), (3, 3, "UNREACHABLE")),
    ]
    assert {row["brokers_down"] for row in survival} == {None}
    assert {row["brokers_lost"] for row in rows if row["question"] in ("writes", "reads")} == {None}
    missing = [row for row in rows if row["verdict"] is None]
    assert [(row["question"], row["to_the_end"], row["steps"]) for row in missing] == [
        *(("loss", None, []), ("defect", None, []))
    ]


@pytest.mark.parametrize(
    ("topic", "finding", "grave", "text"),
    [
        (Topic.LOSS, HOLDS, Grave.TO_THE_END, "no loss, to the end"),
        (Topic.LOSS, TO_DEPTH, Grave.TO_DEPTH, "no loss to depth 10"),
        (Topic.LOSS, failing("acks_1"), Grave.ALLOWED, "lost after 3 steps: your settings allow this"),
        (Topic.LOSS, failing("missed_demotion"), Grave.BROKEN, "lost after 11 steps, against Kafka's promise"),
        (Topic.LOSS, OPEN, Grave.OPEN, "not decided; nothing found to depth 7"),
        (Topic.POWER, failing("whole_isr_loses_power"), Grave.ALLOWED, "lost after 6 steps: not promised"),
        (Topic.POWER, failing("acks_1"), Grave.ALLOWED, "lost after 3 steps: your settings allow this"),
        (Topic.ORDER, HOLDS, Grave.TO_THE_END, "in order, to the end"),
        (Topic.ORDER, found(Word.NOT_APPLICABLE, note="why"), Grave.NOTHING, "not asked here"),
    ],
)
def test_the_words_of_an_answer(topic, finding, grave, text):
    words = tables.said(topic, finding)
    assert (words.grave, words.text) == (grave, text)


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        (THREE, Grave.FACT, "with up to 1 down"),
        (works((1, 0), (0, 2)), Grave.FACT, "only with all brokers up"),
        (works((1, 0), (2, 0)), Grave.FACT, "with up to 1 down"),
        (works((0, 1)), Grave.BROKEN, "never, even with all brokers up"),
        ({0: None}, Grave.OPEN, "not recorded"),
        ({0: OPEN}, Grave.OPEN, "not decided"),
        ({0: works((1, 0))[0], 1: None}, Grave.OPEN, "only with all brokers up; with 1 down: not recorded"),
        ({0: works((1, 0))[0], 1: OPEN}, Grave.OPEN, "only with all brokers up; with 1 down: not decided"),
    ],
)
def test_the_words_about_brokers_that_are_down(findings, grave, text):
    words = tables.available({Question(Topic.WRITES, down): finding for down, finding in findings.items()})
    assert (words.grave, words.text) == (grave, text)


SURVIVED = found(Word.REACHED, part(Word.REACHED))
GONE = found(Word.UNREACHABLE, part(Word.REACHED, choices=2), part(Word.UNREACHABLE))
NOT_DEEP_ENOUGH = found(Word.NOT_REACHED, part(Word.NOT_REACHED, 9))


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        ({}, Grave.NOTHING, "not asked here"),
        ({1: GONE}, Grave.ALLOWED, "none, because one can have the only copy: your settings allow this"),
        ({1: SURVIVED, 2: GONE}, Grave.FACT, "up to 1 broker"),
        ({1: SURVIVED, 2: SURVIVED, 3: GONE}, Grave.FACT, "up to 2 brokers"),
        ({1: None, 2: GONE}, Grave.OPEN, "not recorded"),
        ({1: OPEN, 2: GONE}, Grave.OPEN, "not decided"),
        ({1: NOT_DEEP_ENOUGH, 2: GONE}, Grave.OPEN, "not decided"),
        ({1: SURVIVED, 2: None}, Grave.OPEN, "up to 1 broker; with 2 lost: not recorded"),
        ({1: SURVIVED, 2: SURVIVED, 3: OPEN}, Grave.OPEN, "up to 2 brokers; with 3 lost: not decided"),
    ],
)
def test_the_words_about_lost_brokers(findings, grave, text):
    words = tables.survived({Question(Topic.SURVIVES, lost): finding for lost, finding in findings.items()})
    assert (words.grave, words.text) == (grave, text)


UNMODELLED = found(Word.NOT_APPLICABLE, note="the model has no such thing")


@pytest.mark.parametrize(
    ("findings", "grave", "text"),
    [
        ({}, Grave.NOTHING, "none known"),
        ({"stale_record": HOLDS}, Grave.TO_THE_END, "not exposed, to the end"),
        ({"stale_record": HOLDS, "missed_demotion": FARTHER}, Grave.TO_DEPTH, "not exposed, to depth 14"),
        # The failure takes 11 steps: ten say nothing about it.
        ({"stale_record": HOLDS, "missed_demotion": TO_DEPTH}, Grave.OPEN, "1 known defect not decided"),
        (
            {"stale_record": HOLDS, "new_incarnation": UNMODELLED},
            *(Grave.TO_THE_END, "not exposed, to the end; 1 not searched"),
        ),
        ({"new_incarnation": UNMODELLED}, Grave.NOTHING, "1 not searched"),
        # A loss that the settings permit says nothing about a failure that breaks a promise.
        ({"new_incarnation": failing("minimum_of_one")}, Grave.TO_THE_END, "not exposed, to the end"),
        ({"stale_record": OPEN, "missed_demotion": HOLDS}, Grave.OPEN, "1 known defect not decided"),
        (
            {"stale_record": None, "missed_demotion": failing("missed_demotion")},
            *(Grave.BROKEN, "exposed to 1 known defect; 1 not decided"),
        ),
    ],
)
def test_the_words_about_known_defects(findings, grave, text):
    asked = {Question(Topic.DEFECT, name=name): finding for name, finding in findings.items()}
    words = tables.said_of(tables.exposures(asked))
    assert (words.grave, words.text) == (grave, text)
