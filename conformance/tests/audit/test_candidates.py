"""The ranking of candidates for an election: the report, what the options change, and what cannot be known."""

from __future__ import annotations

import pytest

from conformance.tests.audit.building import batch, batches, broker
from conformance.tests.audit.running import audit
from conformance.tests.metadata_log.building import change, folder, partition, records, spelled_id, topic
from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED


@pytest.fixture
def incident(tmp_path, monkeypatch):
    """Broker 1 wrote in epoch 1 what nobody copied; broker 2 led in epoch 2; broker 3 was slow."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 0, 0, 1, 1), high_watermark=4, epochs=[(0, 0), (1, 4)])
    broker(tmp_path / "broker2", batches(0, 0, 0, 0, 2), high_watermark=4, epochs=[(0, 0), (2, 4)])
    broker(tmp_path / "broker3", batches(0, 0, 0), high_watermark=3)
    (tmp_path / "acked.txt").write_text("2 m2\n4 m4\n5 m5\n", encoding="utf-8")
    return ["broker1", "broker2", "broker3"]


@pytest.fixture
def ask(capsys):
    """Return the lines about the candidates, and the exit code."""

    def run(*words):
        told = audit(capsys, *words, "--candidates")
        text = told.out.partition("\n\n")[2].partition("\n\n")[0]
        return text.splitlines(), told.code

    return run


REPLACED = "replaced: a later leader began without them: acknowledged only if its election was unclean"
MAYBE = (
    "replaced: a later leader began without them. It lacked committed records, too, so these may have been acknowledged"
)
LISTED = "committed: the list of acknowledged records has them, or a later record of the same log"
COMMITTED = "committed: below the high watermark of a broker that has them"
PERHAPS = "perhaps acknowledged: no broker that has them has a high watermark above them on its disk"
UNCOMMITTED = "not committed: a broker of the ISR or ELR lacks them"
WAIT = "  committed or perhaps acknowledged: if it can come back, wait for "
OTHERS = "not known: whether the partition has other replicas, and what they have; --replicas names them"
MEMBERS = (
    "not known: which brokers were in the ISR or ELR, and so have every committed record; --isr and --elr name them"
)
LAG = (
    "not known: whether the records that are perhaps acknowledged were acknowledged: a high watermark on disk lags by"
    " up to 5 s; "
)


def elect(leader: str) -> str:
    return (
        f"advice: if nobody else can come back, elect {leader}. An unclean election takes the first live replica of the"
        f" assignment: keep the other replicas down until {leader.partition(' ')[0]} leads"
    )


def test_the_report(ask, incident):
    assert ask(*incident) == (
        [
            "t-0: candidates, the best first (newest leader epoch, then longest log), and what each loses:",
            "  broker   last epoch  log end  high watermark  committed  perhaps acknowledged  replaced  not committed",
            "  broker2           2        5               4          0                     0         2              0",
            "  broker1           1        6               4          0                     1         0              0",
            "  broker3           0        3               3          1                     1         2              0",
            "broker2 loses 2 records:",
            f"  offsets 4 to 5 of epoch 1, on broker1: {REPLACED}",
            "  broker1 truncates its log at offset 4: it removes 2 records",
            "broker1 loses 1 record:",
            f"  offset 4 of epoch 2, on broker2: {PERHAPS}",
            "  broker2 truncates its log at offset 4: it removes 1 record",
            "  compared with broker2: 1 record fewer, 2 more (offsets 4 to 5 of epoch 1)",
            f"{WAIT}broker2, which has 1 of these",
            "broker3 loses 4 records:",
            f"  offset 3 of epoch 0, on broker1 and broker2: {COMMITTED}",
            f"  offsets 4 to 5 of epoch 1, on broker1: {REPLACED}",
            f"  offset 4 of epoch 2, on broker2: {PERHAPS}",
            "  broker1 truncates its log at offset 3: it removes 3 records",
            "  broker2 truncates its log at offset 3: it removes 2 records",
            "  compared with broker2: 2 records fewer, 0 more",
            f"{WAIT}broker2, which has 2 of these; or for broker1, which has 1 of these",
            elect("broker2"),
            OTHERS,
            MEMBERS,
            f"{LAG}--acked tells it",
        ],
        UNDECIDED,
    )


def told(lines, word):
    return [line for line in lines if line.startswith(word)]


def test_the_audit_stays_as_it_is(capsys, incident):
    plain, ranked = audit(capsys, *incident), audit(capsys, *incident, "--candidates")
    begin, end = ranked.out.index("\n\n"), ranked.out.rindex("\n\nread: ")
    assert (plain.code, plain.out) == (ranked.code, ranked.out[:begin] + ranked.out[end:])
    assert "election" not in audit(capsys, *incident, "--json").json["partitions"][0]


def test_a_member_of_the_isr_whose_log_was_longer_once_is_no_clean_leader(ask, tmp_path, monkeypatch):
    """No high watermark tells that records are committed, but broker 2's recovery point tells that it had them."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 0, 0), high_watermark=None)
    broker(tmp_path / "broker2", batches(0, 0), high_watermark=None, recovery_point=4)
    lines, _ = ask("broker1", "broker2", "--isr", "broker2", "--replicas", "broker1,broker2")
    assert told(lines, "advice") == [
        "advice: broker2 was in the ISR, yet its log ends at 2 and once reached 4: its disk lost records, perhaps"
        " committed ones. Kafka may elect it when it starts: keep it down until another broker leads",
        elect("broker1"),
    ]
    assert f"  offsets 2 to 3 of epoch 0, on broker1: {PERHAPS}" in lines


def test_a_member_of_the_isr_leads_cleanly(ask, incident):
    lines, code = ask(*incident, "--isr", "broker2", "--replicas", "broker1,broker2,broker3")
    assert told(lines, "advice") == [
        "advice: start broker2: it was in the ISR, so Kafka elects it and loses nothing committed, unless its disk lost"
        " what others have"
    ]
    assert told(lines, "not known") == [f"{LAG}--acked tells it"]
    assert code == DONE
    lines, _ = ask(*incident, "--elr", "broker1", "--replicas", "broker1,broker2,broker3")
    assert told(lines, "advice") == [
        "advice: start broker1: it was in the ELR, so Kafka elects it, if the ISR is empty, and loses nothing"
        " committed, unless its disk lost what others have"
    ]
    assert f"  offset 4 of epoch 2, on broker2: {UNCOMMITTED}" in lines
    assert told(lines, "not known") == []


def test_a_member_of_the_elr_leads_only_while_the_isr_is_empty(ask, incident):
    lines, _ = ask("broker1", "broker2", "--isr", "broker2", "--elr", "broker1", "--replicas", "broker2,broker1")
    assert told(lines, "advice") == [
        "advice: start broker2: it was in the ISR, so Kafka elects it and loses nothing committed, unless its disk lost"
        " what others have",
        "advice: start broker1: it was in the ELR, so Kafka elects it, once the controller has fenced broker2, and"
        " loses nothing committed, unless its disk lost what others have",
    ]


def test_an_option_that_is_repeated_adds_brokers(ask, incident):
    both = ask(*incident, "--isr", "broker1,broker2", "--elr", "broker1,broker3")
    assert ask(*incident, "--isr", "broker1", "--isr", "broker2", "--elr", "broker1", "--elr", "broker3") == both


def test_a_member_of_the_elr_that_is_no_replica(ask, incident):
    """A broker that a reassignment has removed may stay in the ELR; Kafka elects replicas only."""
    lines, _ = ask(*incident, "--replicas", "broker1,broker3", "--elr", "broker2,broker1,5")
    assert told(lines, "Kafka elects")[0] == (
        "Kafka elects: broker1, once it is live, in a clean election from the ELR, if the ISR is empty"
    )
    lines, _ = ask(*incident, "--replicas", "broker1,broker3", "--elr", "broker2,5")
    assert told(lines, "Kafka elects")[0] == (
        "Kafka elects: nobody, for broker2 and 5 are no replicas, in a clean election from the ELR, if the ISR is empty"
    )
    assert told(lines, "advice") == [
        "advice: broker2 was in the ELR, but is no replica: Kafka does not elect it, and puts its copy aside as a stray"
        " one when it starts. Save its folder before",
        elect("broker1"),
    ]


def test_a_member_of_the_isr_without_committed_records_proves_nothing(ask, incident):
    lines, code = ask(*incident, "--isr", "broker3", "--replicas", "broker1,broker2,broker3")
    assert told(lines, "advice") == [
        "advice: broker3 was in the ISR, yet lacks 1 committed record: did its disk lose them? Kafka may elect it when"
        " it starts: keep it down until another broker leads",
        elect("broker2"),
    ]
    assert f"  offset 4 of epoch 2, on broker2: {PERHAPS}" in lines
    assert code == VIOLATED


def test_a_broker_without_a_folder_is_named(ask, incident):
    lines, _ = ask(*incident, "--replicas", "broker4,broker1,broker2,broker3,broker5", "--elr", "broker4")
    assert told(lines, "advice") == [
        "advice: wait for broker4, if it can come back: it was in the ELR, so it has every committed record unless its"
        " disk lost some",
        elect("broker2"),
    ]
    assert told(lines, "not known") == [
        "not known: what broker4 has: its folder was not given",
        "not known: what broker5 has: its folder was not given",
        f"{LAG}--acked tells it",
    ]


ALLOWED = "if settings or an administrator allow an unclean election, the first live one of"
COSTS = (
    "broker3 (loses 4 records), broker1 (loses 1 record), broker4 (no folder: its loss is not known), broker2 (loses 2"
    " records)"
)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["--isr", "broker2"], ["broker2, once it is live, in a clean election from the ISR"]),
        (["--isr", "broker2,broker1"], ["a live one of broker2, broker1, in a clean election from the ISR"]),
        (
            ["--replicas", "broker3,broker1,broker4,broker2", "--isr", "broker2,broker1"],
            [
                "the first live one of broker1, broker2, in a clean election from the ISR",
                f"otherwise, {ALLOWED} {COSTS}",
            ],
        ),
        (["--replicas", "broker3,broker1,broker4,broker2"], [f"{ALLOWED} {COSTS}"]),
        (
            ["--elr", "broker1", "--last-known-elr", "broker2"],
            [
                "broker1, once it is live, in a clean election from the ELR, if the ISR is empty",
                "none of them that stopped uncleanly: such a broker leaves ISR and ELR when it registers again",
                "if ISR and ELR are empty, broker2, once it is live, as the last known leader, in an unclean election:"
                " loses 2 records",
            ],
        ),
        (
            ["--replicas", "broker3,broker1,broker4,broker2", "--isr", "broker2", "--elr", "broker1"],
            [
                "broker2, once it is live, in a clean election from the ISR",
                "once the controller has fenced broker2, and so moved the whole ISR to the ELR: the first live one of"
                " broker1, broker2, in a clean election from the ELR",
                "none of them that stopped uncleanly: such a broker leaves ISR and ELR when it registers again",
                f"otherwise, {ALLOWED} {COSTS}",
            ],
        ),
        (
            ["--last-known-elr", "broker3"],
            [
                "if ISR and ELR are empty, broker3, once it is live, as the last known leader, in an unclean election:"
                " loses 4 records"
            ],
        ),
        (
            ["--last-known-elr", "broker3,broker1"],
            ["no last known leader, because LastKnownElr has 2 members instead of one"],
        ),
        ([], []),
    ],
)
def test_whom_kafka_elects(ask, incident, words, lines):
    assert told(ask(*incident, *words)[0], "Kafka elects") == [f"Kafka elects: {line}" for line in lines]


def log_of(tmp_path, *, name="t", isr=(), elr=(), last=()):
    """A metadata log at whose end the partition t-0 with the replicas 3, 1, 4, 2 has no leader."""
    end = change(name, 0, isr=isr, leader=-1, elr=elr, last_known_elr=last)
    return folder(tmp_path / "controller", records(topic(name), partition(name, 0, 3, 1, 4, 2), end))


ASSUMED = [
    f"assumed: broker{number} is the broker with id {number}, because its folder has no meta.properties"
    for number in (1, 2, 3)
]
LAST = "broker3, once it is live, as the last known leader, in an unclean election: loses 4 records"


def test_the_metadata_log_tells_the_members(capsys, ask, incident, tmp_path):
    place = log_of(tmp_path, last=(3,))
    lines, _ = ask(*incident, "--metadata", place)
    costs = COSTS.replace("broker4", "broker 4")
    assert told(lines, "Kafka elects") == [f"Kafka elects: {LAST}", f"Kafka elects: otherwise, {ALLOWED} {costs}"]
    assert told(lines, "not known") == [
        "not known: what broker 4 has: its folder was not given",
        f"{LAG}--acked tells it",
    ]
    told_json = audit(capsys, *incident, "--candidates", "--metadata", place, "--json").json
    assert told_json["partitions"][0]["election"]["kafka_elects"][0] == LAST
    assert told_json["remarks"] == ASSUMED


def test_the_metadata_log_may_be_in_a_log_folder(ask, incident, tmp_path):
    log_of(tmp_path, last=(3,)).rename(tmp_path / "broker2" / "__cluster_metadata-0")
    lines, _ = ask(*incident, "--partition", "t-0", "--metadata", "broker2")
    assert told(lines, "Kafka elects")[0] == f"Kafka elects: {LAST}"


def test_the_isr_of_the_metadata_log_counts_in_the_audit(ask, incident, tmp_path):
    lines, code = ask(*incident, "--metadata", log_of(tmp_path, isr=(2,)))
    assert told(lines, "advice") == [
        "advice: start broker2: it was in the ISR, so Kafka elects it and loses nothing committed, unless its disk lost"
        " what others have"
    ]
    assert code == DONE


def test_an_elr_of_the_metadata_log(ask, incident, tmp_path):
    lines, _ = ask(*incident, "--metadata", log_of(tmp_path, elr=(4, 1), last=(2,)))
    assert told(lines, "Kafka elects")[:3] == [
        "Kafka elects: the first live one of broker1, broker 4, in a clean election from the ELR (the ISR is empty)",
        "Kafka elects: none of them that stopped uncleanly: such a broker leaves ISR and ELR when it registers again",
        "Kafka elects: if ISR and ELR are empty, broker2, once it is live, as the last known leader, in an unclean"
        " election: loses 2 records",
    ]


def test_the_id_is_in_the_log_folder(ask, incident, tmp_path):
    for number in (1, 2, 3):
        (tmp_path / f"broker{number}" / "meta.properties").write_text(f"version=1\nnode.id={4 - number}\n")
    lines, _ = ask(*incident, "--metadata", log_of(tmp_path, last=(3,)))
    assert told(lines, "Kafka elects")[0] == (
        "Kafka elects: broker1, once it is live, as the last known leader, in an unclean election: loses 1 record"
    )


@pytest.mark.parametrize("places", [("broker2", "broker3"), ("x/n2/kafka-logs", "x/n3/kafka-logs")])
def test_the_options_name_brokers_by_their_ids(capsys, ask, tmp_path, monkeypatch, places):
    """As in the output of kafka-topics: 3 is the broker whose meta.properties says so, whatever its folder's name."""
    monkeypatch.chdir(tmp_path)
    for number, place in zip((2, 3), places, strict=True):
        broker(tmp_path / place, batches(*[0] * (7 - number)), high_watermark=2)
        (tmp_path / place / "meta.properties").write_text(f"version=1\nnode.id={number}\n")
    second, third = places
    lines, code = ask(*places, "--replicas", "3,2", "--isr", "3")
    assert told(lines, "Kafka elects") == [
        f"Kafka elects: {third}, once it is live, in a clean election from the ISR",
        f"Kafka elects: otherwise, {ALLOWED} {third} (loses 1 record), {second} (loses nothing)",
    ]
    assert told(lines, "advice") == [
        f"advice: start {third}: it was in the ISR, so Kafka elects it and loses nothing committed, unless its disk"
        " lost what others have"
    ]
    assert told(lines, "not known") == []
    assert code == DONE
    assert audit(capsys, *places, "--isr", "3").errors == ""


def test_a_folder_with_the_id_of_another_broker_as_its_name(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, place in ((2, "3"), (3, "4")):
        (broker(tmp_path / place, batches(0)) / "meta.properties").write_text(f"node.id={number}\n")
    assert audit(capsys, "3", "4", "--isr", "3") == (
        USAGE,
        "",
        "conform: --isr 3: 3 may be any of the folders 3, 4; give the folders other names\n",
    )


def test_an_id_at_the_end_of_a_name_is_told(capsys, incident, tmp_path):
    told = audit(capsys, *incident, "--isr", "2,broker2")
    assert "assumed: broker2 is the broker with id 2, because its folder has no meta.properties\n" in told.out
    assert "assumed" not in audit(capsys, *incident, "--isr", "broker2").out
    (tmp_path / "broker1" / "meta.properties").write_text("broker.id=2\n")
    assert "assumed" not in audit(capsys, *incident, "--isr", "2").out
    (tmp_path / "broker1").rename(tmp_path / "old2")
    (tmp_path / "old2" / "meta.properties").unlink()
    told = audit(capsys, "old2", "broker2", "--isr", "2")
    assert (told.code, told.errors) == (
        USAGE,
        "conform: --isr 2: 2 may be any of the folders old2, broker2; name the folder\n",
    )
    (tmp_path / "old2" / "meta.properties").write_text("broker.id=two\n")
    told = audit(capsys, "old2", "broker2", "--isr", "2")
    assert (told.code, told.errors.partition(" is not")[0]) == (
        USAGE,
        "conform: old2/meta.properties: byte 0: 'two'",
    )


def test_a_metadata_log_that_cannot_help(capsys, incident, tmp_path):
    def complaint(*words):
        told = audit(capsys, *words)
        assert (told.code, told.out) == (USAGE, "")
        return told.errors

    other = log_of(tmp_path, name="u")
    assert complaint(*incident, "--candidates", "--metadata", other) == (
        f"conform: --metadata {other}: no state of a partition of these log folders in it; give the folder"
        " __cluster_metadata-0 of the same cluster\n"
    )
    assert complaint(*incident, "--metadata", other) == (
        "conform: --metadata is read only with --candidates; add --candidates\n"
    )
    assert complaint(*incident, "--candidates", "--metadata", other, "--isr", "broker1") == (
        "conform: --isr: --metadata tells this, too; leave one of them out\n"
    )
    (tmp_path / "broker1").rename(tmp_path / "first")
    assert complaint("first", "broker2", "--candidates", "--metadata", other) == (
        "conform: --metadata: first does not tell the id of its broker: copy meta.properties of its log folder, or name"
        " the folder with the id, as in broker3\n"
    )
    (tmp_path / "first" / "meta.properties").write_text("broker.id=2\n")
    assert complaint("first", "broker2", "--candidates", "--metadata", other) == (
        "conform: --metadata: first and broker2 are folders of one broker, with id 2\n"
    )


def with_topic_ids(folder, **ids):
    """Write the topic ids of brokers' copies of t-0."""
    for name, topic_id in ids.items():
        (folder / name / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")


def test_a_metadata_log_with_another_topic_of_the_name(capsys, incident, tmp_path):
    place, other = log_of(tmp_path, isr=(2,)), spelled_id("old")
    with_topic_ids(tmp_path, broker1=other, broker2=other, broker3=other)
    answer = audit(capsys, *incident, "--candidates", "--metadata", place)
    assert answer.errors == (
        f"conform: --metadata: the topic of t-0 has the id {spelled_id('t')} in the metadata log, and another in the"
        f" log folders ({other} on broker1, {other} on broker2, {other} on broker3): its replicas, ISR and ELR are"
        " those of another topic, and are not used; give files of one cluster and of one moment\n"
    )
    assert answer.code == USAGE
    assert f"{elect('broker2')}\n" in answer.out
    assert f"{MEMBERS}\n" in answer.out
    with_topic_ids(tmp_path, broker1=spelled_id("t"), broker2=spelled_id("t"), broker3=spelled_id("t"))
    answer = audit(capsys, *incident, "--candidates", "--metadata", place)
    assert (answer.code, answer.errors) == (DONE, "")


def test_the_metadata_log_tells_which_topic_id_is_right(ask, incident, tmp_path):
    with_topic_ids(tmp_path, broker1=spelled_id("old"), broker2=spelled_id("old"), broker3=spelled_id("t"))
    lines, code = ask(*incident, "--metadata", log_of(tmp_path, isr=(2,)))
    assert code == USAGE
    assert lines[2].split()[0] == "broker3"
    assert told(lines, "advice") == [
        "advice: look for the right folder of broker2: it was in the ISR, but its copy has another topic id",
        elect("broker3"),
    ]
    left_out = "its copy has another topic id: its loss is not known"
    costs = "broker3 (loses nothing), broker1 ({0}), broker 4 (no folder: its loss is not known), broker2 ({0})"
    assert f"Kafka elects: otherwise, {ALLOWED} {costs.format(left_out)}" in lines
    assert told(lines, "not known") == [
        "not known: what broker1 has: its copy has another topic id, and is left out",
        "not known: what broker 4 has: its folder was not given",
        "not known: what broker2 has: its copy has another topic id, and is left out",
    ]


def test_copies_of_two_topics_of_one_name(ask, incident, tmp_path):
    with_topic_ids(tmp_path, broker2="A" * 22, broker3="B" * 22)
    lines, code = ask("broker2", "broker3", "--replicas", "broker2,broker3")
    assert code == USAGE
    assert told(lines, "advice") == [
        f"advice: first find out which topic id is the right one (kafka-topics.sh --describe prints it): broker2 has"
        f" {'A' * 22}, broker3 has another. --metadata tells it, too",
        elect("broker2"),
    ]
    assert "not known: what broker3 has: its copy has another topic id, and is left out" in lines


def test_a_list_counts_what_each_candidate_loses(ask, incident):
    lines, _ = ask(*incident, "--acked", "acked.txt")
    assert [line.split()[-1] for line in lines[1:5]] == ["listed", "1", "0", "2"]
    assert told(lines, "  listed") == [
        "  listed as acknowledged: offsets 5",
        "  listed as acknowledged: offsets 4, 5",
    ]
    assert told(lines, "advice") == [
        elect("broker2"),
        "advice: broker1 loses fewer committed records (0 instead of 2), but also what later leaders wrote: an earlier"
        " election was unclean, and you have to choose",
        "advice: broker1 loses fewer of the listed records (0 instead of 1)",
    ]
    assert f"  offsets 4 to 5 of epoch 1, on broker1: {LISTED}" in lines
    assert (
        f"  offset 4 of epoch 2, on broker2: {PERHAPS}" in lines
    )  # m4 is in both epochs: either may be the listed one
    assert told(lines, "not known")[-1] == f"{LAG}the list tells it only of what it lists"


@pytest.mark.parametrize("option", ["--isr", "--elr"])
def test_a_member_without_a_listed_record_is_no_clean_leader(capsys, ask, tmp_path, monkeypatch, option):
    """Both high watermarks are below the record: only its producer knows that it was committed."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker2", batches(*[0] * 9), high_watermark=5)
    broker(tmp_path / "broker3", batches(*[0] * 6), high_watermark=5)
    (tmp_path / "acked.txt").write_text("6 m6\n", encoding="utf-8")
    words = ["broker2", "broker3", "--replicas", "broker3,broker2", option, "broker3", "--acked", "acked.txt"]
    group = option.removeprefix("--").upper()
    lines, code = ask(*words)
    assert code == VIOLATED
    assert told(lines, "advice") == [
        f"advice: broker3 was in the {group}, yet lacks 1 committed record: did its disk lose them? Kafka may elect it"
        " when it starts: keep it down until another broker leads",
        elect("broker2"),
    ]
    assert f"  offset 6 of epoch 0, on broker2: {LISTED}" in lines
    assert f"  offsets 7 to 8 of epoch 0, on broker2: {PERHAPS}" in lines
    assert [line.partition(" which ")[2] for line in audit(capsys, *words, "--candidates").findings] == [
        f"broker2 holds: a committed record is missing, for broker3 was in the {group}"
    ]


def test_a_listed_record_that_no_copy_has(ask, tmp_path, monkeypatch):
    """Broker 3 was in the ISR, and nobody has more: that it lacks other records does not tell that they were not
    committed."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker2", batches(*[0] * 4), high_watermark=2)
    broker(tmp_path / "broker3", batches(*[0] * 3), high_watermark=2)
    (tmp_path / "acked.txt").write_text("7 m7\n", encoding="utf-8")
    lines, _ = ask("broker2", "broker3", "--isr", "broker3", "--acked", "acked.txt")
    assert told(lines, "advice") == [
        "advice: start broker3: it was in the ISR, so Kafka elects it and loses nothing committed that a copy has,"
        " unless its disk lost what others have",
        "advice: no copy has 1 listed record (offsets 7): only a replica without a folder here can have them",
    ]
    assert f"  offset 3 of epoch 0, on broker2: {PERHAPS}" in lines


def test_records_of_a_leader_that_a_leader_with_a_loss_replaced(ask, incident, tmp_path):
    """The list proves that the election of broker 2 was unclean: the others may be acknowledged, too."""
    (tmp_path / "acked.txt").write_text('{"offset": 4, "value": "w4"}\n', encoding="utf-8")
    broker(tmp_path / "broker4", [*batches(0, 0, 0, 0), *batches(1, 1, start=4, values="w")], epochs=[(0, 0), (1, 4)])
    lines, _ = ask("broker2", "broker4", "--acked", "acked.txt")
    assert f"  offset 4 of epoch 1, on broker4: {LISTED}" in lines
    assert f"  offset 5 of epoch 1, on broker4: {MAYBE}" in lines


def test_an_earlier_unclean_election_is_a_choice(ask, tmp_path, monkeypatch):
    """Broker 2 was elected without committed records of broker 1: the newest epoch does not lose the least."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 0, 0), high_watermark=4)
    broker(tmp_path / "broker2", batches(0, 0, 1), high_watermark=3, epochs=[(0, 0), (1, 2)])
    broker(tmp_path / "broker3", batches(0, 0, 1), high_watermark=3, epochs=[(0, 0), (1, 2)])
    lines, code = ask("broker1", "broker2", "broker3")
    assert [line.split()[:5] for line in lines[2:5]] == [
        ["broker2", "1", "3", "3", "2"],
        ["broker3", "1", "3", "3", "2"],
        ["broker1", "0", "4", "4", "1"],
    ]
    assert told(lines, "advice") == [
        elect("broker2 (or broker3: the same log)"),
        "advice: broker1 loses fewer committed records (1 instead of 2), but also what later leaders wrote: an earlier"
        " election was unclean, and you have to choose",
    ]
    assert code == VIOLATED


def test_committed_records_that_no_copy_has(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0), high_watermark=4)
    lines, _ = ask("broker1")
    assert lines[3:6] == [
        "broker1 loses nothing that a copy has",
        "advice: no copy has offsets 2 to 3, which were committed (high watermark 4 of broker1): only a replica without"
        " a folder here can have them",
        elect("broker1"),
    ]


def test_what_one_copy_has_deleted_is_no_loss(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 0, 0), high_watermark=4, log_start=3)
    broker(tmp_path / "broker2", batches(0, 0), high_watermark=2)
    lines, _ = ask("broker1", "broker2")
    assert lines[4:11] == [
        "broker1 loses nothing that a copy has",
        "  broker2 truncates its log at offset 0: it removes 2 records",
        "  the others delete what they have below its log start offset 3",
        "broker2 loses 1 record:",
        f"  offset 3 of epoch 0, on broker1: {COMMITTED}",
        "  broker1 truncates its log at offset 2: it removes 1 record",
        "  compared with broker1: 1 record fewer, 0 more",
    ]


def test_compaction_is_no_loss(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    epochs = [(0, 0), (1, 1), (2, 3)]
    broker(tmp_path / "broker1", batches(0, 1, 1, 2), high_watermark=4, epochs=epochs)
    compacted = [batch(0, ["m0"]), batch(3, ["m3"], 2)]
    broker(tmp_path / "broker2", compacted, high_watermark=4, epochs=epochs, cleaned=3)
    lines, _ = ask("broker1", "broker2")
    assert lines[4:6] == ["broker1 loses nothing that a copy has", "broker2 loses nothing that a copy has"]


def test_what_was_not_read_is_not_known(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 0), high_watermark=None, epochs=None)
    damaged = bytearray(b"".join(batches(0, 0, 0)))
    damaged[100] ^= 1
    broker(tmp_path / "broker2", [bytes(damaged)], high_watermark=3)
    (tmp_path / "acked.txt").write_text("2 m2\n", encoding="utf-8")
    lines, code = ask("broker1", "broker2", "--acked", "acked.txt", "--isr", "broker2", "--replicas", "broker1,broker2")
    assert told(lines, "not known") == [
        "not known: which records of broker1 are committed: it has no high watermark on disk",
        "not known: the leader epochs of broker1: its checkpoint is missing, and its batches stand in for it",
        "not known: what broker2 has from offset 1 on, which was not read: it may lose less, or hold more",
        "not known: whether broker2 has 1 listed record: what is there was not read, or compacted",
    ]
    assert lines[3].split() == ["broker2", "0", "at", "least", "1", "3", "2", "0", "0", "0", "0"]
    assert told(lines, "advice")[0] == (
        "advice: broker2 was in the ISR, yet may lack 2 committed records: did its disk lose them? Kafka may elect it"
        " when it starts: keep it down until another broker leads"
    )
    assert code == USAGE


def test_the_object(capsys, incident):
    (partition,) = audit(capsys, *incident, "--candidates", "--json", "--acked", "acked.txt").json["partitions"]
    assert list(partition["election"]) == ["candidates", "kafka_elects", "advice", "not_known"]
    assert partition["election"]["candidates"][1] == {
        "broker": "broker1",
        "losses": [
            {
                "first_offset": 4,
                "last_offset": 4,
                "epoch": 2,
                "brokers": ["broker2"],
                "standing": "perhaps acknowledged",
            }
        ],
        "fewer_than_the_best": [
            {
                "first_offset": 4,
                "last_offset": 4,
                "epoch": 2,
                "brokers": ["broker2"],
                "standing": "perhaps acknowledged",
            }
        ],
        "more_than_the_best": [
            {"first_offset": 4, "last_offset": 5, "epoch": 1, "brokers": ["broker1"], "standing": "committed"}
        ],
        "truncations": [{"broker": "broker2", "offset": 4, "removed": 1}],
        "deleted_below": None,
        "acknowledged_lost": [],
        "acknowledged_unknown": 0,
    }
    assert f"advice: {partition['election']['advice'][0]}" == elect("broker2")


def test_many_ranges_are_counted(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(*range(12)), high_watermark=12, epochs=[(epoch, epoch) for epoch in range(12)])
    broker(tmp_path / "broker2", [], high_watermark=0, epochs=[])
    lines, _ = ask("broker1", "broker2")
    assert lines[5] == "broker2 loses 12 records:"
    assert lines[16] == "  and 2 more ranges, which --json lists"


def test_leader_epochs_that_go_back(ask, tmp_path, monkeypatch):
    """As when Kafka reads them, the later entry counts: broker 2 truncates to where its epoch 3 begins."""
    monkeypatch.chdir(tmp_path)
    broker(tmp_path / "broker1", batches(0, 0, 1), high_watermark=2, epochs=[(0, 0), (1, 2)])
    broker(tmp_path / "broker2", batches(0, 0, 0, 0), high_watermark=2, epochs=[(5, 0), (3, 1)])
    lines, code = ask("broker1", "broker2")
    assert lines[4:7] == [
        "broker1 loses 2 records:",
        f"  offsets 2 to 3 of epoch 0, on broker2: {MAYBE}",
        "  broker2 truncates its log at offset 1: it removes 3 records",
    ]
    assert code == VIOLATED


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--elr", "broker1"], "--elr is read only with --candidates; add --candidates"),
        (["--replicas", "broker1"], "--replicas is read only with --candidates; add --candidates"),
        (
            ["--candidates", "--elr", "broker9"],
            "--elr broker9: 'broker9' is no broker; the brokers are: broker1, broker2, broker3",
        ),
        (
            ["--candidates", "--replicas", "broker1,broker4", "--isr", "broker9"],
            "--isr broker9: 'broker9' is no broker; the brokers are: broker1, broker2, broker3, broker4",
        ),
        (
            ["--candidates", "--replicas", "broker1,,broker4"],
            "--replicas broker1,,broker4: '' is no broker; the brokers are: broker1, broker2, broker3",
        ),
        (["--candidates", "--elr", "u-0=broker1"], "u-0=broker1: no log folder has the partition u-0"),
    ],
)
def test_words_that_make_no_sense(capsys, incident, words, line):
    assert audit(capsys, *incident, *words) == (USAGE, "", f"conform: {line}\n")
