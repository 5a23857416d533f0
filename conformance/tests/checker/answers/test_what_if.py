"""What happens to a partition if brokers are lost, lose power or restart; and the order of a rolling restart.

test_what_if_searched.py compares the same rules with searches.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.checker.cluster.live.stub import StubCluster, served
from conformance.tests.support.engine import checking
from isrcheck.checker import cli
from isrcheck.checker.answers.what_if import (
    Cause,
    Effect,
    Event,
    Kind,
    Rules,
    Standing,
    after,
    after_all,
    one_loss_away,
    rolling_restart,
)
from isrcheck.commands.exit_codes import SAFE, USAGE, VIOLATED

MIN_2 = Rules(min_insync_replicas=2, controllers_minimum=2)
ELR = Rules(min_insync_replicas=2, controllers_minimum=2, has_elr=True)
ELR_ACKS_1 = replace(ELR, acks_all=False)
UNCLEAN = Rules(unclean_election=True)
ACKS_1 = Rules(acks_all=False)
FLUSHED = Rules(flushes_every_message=True)
LOST, POWER, RESTART = Kind.LOST, Kind.POWER, Kind.RESTART
STOPS = {Effect.NO_READS, Effect.NO_WRITES}
LOSES = {Effect.LOSS} | STOPS


def ids(*brokers: int) -> frozenset[int]:
    return frozenset(brokers)


def partition(*replicas: int, isr: str = "", elr: str = "", leader: int | None = None) -> Standing:
    """A partition; all replicas are in sync, and the first one leads, unless the arguments say otherwise."""
    in_sync = frozenset(map(int, isr)) or frozenset(replicas)
    return Standing(replicas, in_sync, leader or replicas[0], frozenset(map(int, elr)))


@pytest.mark.parametrize(
    ("standing", "rules", "kind", "steps", "effects", "cause", "leader"),
    [
        (partition(1, 2, 3), MIN_2, LOST, ["1"], set(), None, 2),
        (partition(1, 2, 3), MIN_2, LOST, ["1", "2"], {Effect.NO_WRITES}, None, 3),
        (partition(1, 2, 3), MIN_2, LOST, ["123"], {Effect.LOSS} | STOPS, Cause.NOBODY_LEFT, None),
        (partition(1, 2, 3, isr="12"), MIN_2, LOST, ["12"], {Effect.LOSS} | STOPS, Cause.NOBODY_LEFT, None),
        (partition(1, 2, 3, isr="12"), UNCLEAN, LOST, ["12"], {Effect.LOSS}, Cause.UNCLEAN, 3),
        (partition(1, 2), ACKS_1, LOST, ["1"], {Effect.LOSS}, Cause.ONLY_LEADER, 2),
        (partition(1, 2), ACKS_1, LOST, ["2"], set(), None, 1),
        (partition(1, 2, 3, isr="1", elr="2"), ELR, LOST, ["1"], {Effect.LOSS} | STOPS, Cause.PERHAPS_UNCLEAN, None),
        (partition(1, 2, 3), ELR, POWER, ["12"], {Effect.NO_WRITES}, None, 3),
        (partition(1, 2, 3), ELR, POWER, ["123"], {Effect.LOSS} | STOPS, Cause.UNFLUSHED, None),
        (partition(1, 2), FLUSHED, POWER, ["12"], STOPS, None, None),
        (partition(1, 2), MIN_2, RESTART, ["12"], STOPS, None, None),
        (partition(1, 2), ACKS_1, RESTART, ["12"], {Effect.LOSS} | STOPS, Cause.ONLY_LEADER, None),
        (partition(1), ACKS_1, RESTART, ["1"], STOPS, None, None),
        (partition(1, 2, isr="1"), UNCLEAN, RESTART, ["12"], {Effect.LOSS} | STOPS, Cause.UNCLEAN, None),
        (partition(1, 2), MIN_2, LOST, ["7"], set(), None, 1),
        (partition(2, 5, 8, isr="2", elr="5"), ELR_ACKS_1, RESTART, ["258"], LOSES, Cause.ONLY_LEADER, None),
        (partition(2, 5, 8, isr="2", elr="5"), ELR_ACKS_1, POWER, ["2"], LOSES, Cause.ONLY_LEADER, None),
        (partition(2, 5, 8, isr="2"), ELR_ACKS_1, RESTART, ["258"], STOPS, None, None),
        (partition(2, 5, 8, isr="2", elr="5"), ELR, POWER, ["2"], LOSES, Cause.PERHAPS_UNCLEAN, None),
        (partition(2, 5, 8, isr="2", elr="5"), ELR, POWER, ["25"], LOSES, Cause.UNFLUSHED, None),
    ],
)
def test_what_an_event_does(standing, rules, kind, steps, effects, cause, leader):
    events = [Event(frozenset(map(int, step)), kind) for step in steps]
    after = after_all(standing, events, rules)
    assert (after.effects(rules), after.cause, after.leader) == (effects, cause, leader)


def test_brokers_that_leave_a_small_isr_are_awaited_with_elr():
    """min.insync.replicas=2: 3 leaves an ISR that is large enough, and only 2 and 1 join the ELR."""
    events = [Event(ids(broker), Kind.RESTART) for broker in (3, 2, 1)]
    after = after_all(partition(1, 2, 3), events, ELR)
    assert (after.isr, after.elr, after.leader) == (ids(), ids(1, 2), None)


@pytest.mark.parametrize("kind", [RESTART, POWER])
def test_brokers_with_ephemeral_storage_come_back_without_their_logs(kind):
    every = Event(ids(1, 2, 3), kind, emptied=ids(1, 2, 3))
    assert after(partition(1, 2, 3), every, FLUSHED).cause is Cause.EMPTIED
    assert after(partition(1, 2, 3), replace(every, emptied=ids(3)), FLUSHED).cause is Cause.EMPTIED
    assert after(partition(1, 2, 3, isr="12"), replace(every, emptied=ids(3)), FLUSHED).cause is None
    assert after(partition(1, 2, 3), replace(every, brokers=ids(1, 2)), FLUSHED).cause is None
    assert after(Standing((1, 2), ids(1), None), every, FLUSHED).cause is Cause.NOBODY_LEFT
    assert after(partition(1, 2), replace(every, has_majority=False), FLUSHED).cause is Cause.EMPTIED
    unnoticed = replace(FLUSHED, keeps_unnoticed_leader=True)
    assert after(partition(1, 2, 3), Event(ids(1), kind, emptied=ids(1)), unnoticed).cause is Cause.EMPTIED
    assert after(partition(1, 2, 3), Event(ids(1), kind, emptied=ids(2)), unnoticed).cause is None


def test_one_more_loss():
    assert one_loss_away(partition(1, 2, 3), MIN_2) == set()
    assert one_loss_away(partition(1, 2, 3, isr="12"), MIN_2) == {Effect.NO_WRITES}
    assert one_loss_away(partition(1, 2, 3, isr="1"), MIN_2) == {Effect.LOSS, Effect.NO_READS}
    assert one_loss_away(Standing((1, 2), ids(1), None), MIN_2) == {Effect.LOSS}
    assert one_loss_away(partition(1, 2), ACKS_1) == {Effect.LOSS}


def test_strangers_in_the_elr_keep_the_last_known_leader_from_being_elected():
    """After a reassignment from three replicas to one, 2 and 3 stay in the ELR (8.28)."""
    alone = Standing((1,), ids(1), 1, strangers=ids(2, 3))
    rules = Rules(min_insync_replicas=1, controllers_minimum=1, has_elr=True)
    restarted = after(alone, Event(ids(1), Kind.RESTART), rules)
    assert (restarted.cause, restarted.leader, restarted.awaited) == (Cause.BLOCKED, None, set())
    assert after(replace(alone, strangers=ids()), Event(ids(1), Kind.RESTART), rules).cause is None
    leaderless = Standing((1, 4), ids(), None, last_known=ids(1), strangers=ids(2, 3))
    assert after(leaderless, Event(ids(1)), rules).cause is Cause.NOBODY_LEFT
    assert after(leaderless, Event(ids(4)), rules).cause is None
    assert one_loss_away(leaderless, rules) == {Effect.LOSS}
    # An ISR that is large enough empties the ELR.
    enough = after(replace(partition(1, 2, 3), strangers=ids(9)), Event(ids(3)), ELR)
    assert after(enough, Event(ids(1, 2), Kind.RESTART), ELR).strangers == set()


def test_if_nobody_is_known_to_have_the_records_each_replica_can_have_the_only_copy():
    """A change of min.insync.replicas makes the controller forget who may lead a leaderless partition (8.32)."""
    forgotten = Standing((1, 2), ids(), None)
    assert after(forgotten, Event(ids(1)), ELR).cause is Cause.NOBODY_LEFT
    assert after(forgotten, Event(ids(7)), ELR).cause is None
    assert one_loss_away(forgotten, ELR) == {Effect.LOSS}


@pytest.mark.parametrize(
    ("standing", "rules", "steps", "effects", "cause", "leader"),
    [
        (partition(1, 2, 3), MIN_2, [""], set(), None, 1),
        (partition(1, 2, 3), MIN_2, ["3"], {Effect.NO_WRITES}, None, 1),
        (partition(1, 2, 3, isr="12"), MIN_2, ["3"], set(), None, 1),
        (partition(1, 2, 3), MIN_2, ["1"], STOPS, None, None),
        (partition(1, 2, 3), MIN_2, ["1", "23"], {Effect.LOSS} | STOPS, Cause.NOBODY_LEFT, None),
        (partition(1, 2, 3, isr="1"), UNCLEAN, ["1"], {Effect.LOSS} | STOPS, Cause.UNCLEAN, None),
        (partition(1, 2), ACKS_1, ["2"], set(), None, 1),
        (partition(1, 2), ACKS_1, ["2", "1"], {Effect.LOSS} | STOPS, Cause.NOBODY_LEFT, None),
    ],
)
def test_without_a_majority_of_controllers_nobody_is_elected_and_no_isr_changes(
    standing, rules, steps, effects, cause, leader
):
    """The controllers lose their majority in the first event."""
    events = [Event(frozenset(map(int, step)), has_majority=bool(number)) for number, step in enumerate(steps)]
    after = after_all(standing, events, rules)
    assert (after.effects(rules), after.cause, after.leader) == (effects, cause, leader)
    assert (after.isr, after.elr, after.joiners) == (standing.isr, standing.elr, ids())


@pytest.mark.parametrize("has_majority", [True, False])
@pytest.mark.parametrize(
    ("kind", "flushes", "keeps", "cause"),
    [
        (POWER, False, True, Cause.UNNOTICED),
        (POWER, False, False, None),
        (POWER, True, True, None),
        (RESTART, False, True, None),
    ],
)
def test_up_to_3_9_a_leader_that_loses_power_leads_again_before_a_controller_notices(
    kind, flushes, keeps, cause, has_majority
):
    rules = replace(MIN_2, flushes_every_message=flushes, keeps_unnoticed_leader=keeps)
    event = Event(ids(1), kind, has_majority=has_majority)
    assert after(partition(1, 2, 3), event, rules).cause is cause
    assert after(partition(1, 2, 3), replace(event, brokers=ids(2)), rules).cause is None


def test_one_more_loss_can_end_the_majority_of_controllers():
    assert one_loss_away(partition(1, 2, 3), MIN_2, ids(3)) == {Effect.NO_WRITES}
    assert one_loss_away(partition(1, 2, 3), MIN_2, ids(1)) == STOPS
    unled = after(partition(1, 2, isr="12"), Event(ids(1), has_majority=False), MIN_2)
    assert one_loss_away(unled, MIN_2) == {Effect.LOSS}


def test_a_lagging_broker_restarts_first_and_frees_others():
    """2 and 3 have to wait for 1, which lags; 4 has the only replica of a partition, so it may never restart."""
    standings = [(partition(3, 2, 1, isr="32"), MIN_2), (partition(4), MIN_2), (partition(5, 2, 1), MIN_2)]
    restart = rolling_restart(standings, lambda broker: ("", broker))
    assert (restart.order, restart.not_now) == ([1, 2, 3, 5], {2: [0], 3: [0], 4: [1]})


# --- The command ---

TOPICS = """\
Topic: orders\tTopicId: 2Wz1sSgYTGaQ4pmf5V9Zhw\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,3,5\tIsr: 1,3,5\tElr: \tLastKnownElr: 
\tTopic: orders\tPartition: 1\tLeader: 3\tReplicas: 3,2,1\tIsr: 3,2\tElr: \tLastKnownElr: 
Topic: audit\tTopicId: 4Wz1sSgYTGaQ4pmf5V9Zhw\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1
\tTopic: audit\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: 
"""  # noqa: W291
NODES = """\
a:9092 (id: 1 rack: az1 isFenced: false) -> (
\tProduce(0): 0 to 13 [usable: 13],
\tUpdateFeatures(57): UNSUPPORTED
)
b:9092 (id: 3 rack: az2) -> ERROR: timed out
c:9092 (id: 5 rack: null isFenced: false) -> (
)
"""
SERVER = "node.id=2\nbroker.rack=az1\nprocess.roles=broker\ncontroller.quorum.bootstrap.servers=a:1\n"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Ask `check doctor` about the files; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"topics.txt": TOPICS, "nodes.txt": NODES, "server.properties": SERVER}.items():
        Path(name).write_text(text, encoding="utf-8")
    check = checking(cli.main, capsys)
    files = ["doctor", "topics.txt", "nodes.txt", "server.properties", "--kafka-version", "4.1"]
    return lambda *words: check(*files, *words)


AUDIT = (
    "  audit   can lose acknowledged records, no reads, no writes: partition 0 of 1: nobody else surely has the records"
)


def test_a_lost_rack(ask):
    code, out, _ = ask("--lose", "rack:az1")
    lines = out.splitlines()
    assert (code, lines[0]) == (
        SAFE,
        "If rack az1 (brokers 1, 2) is lost: of 2 topics, 1 can lose acknowledged records, 1 cannot be read,"
        " 2 cannot be written",
    )
    assert lines[-2:] == [
        f"{AUDIT} of brokers 1, 2; no leader",
        "  orders  no writes: partition 1 of 2: 1 in sync (3), min.insync.replicas=2;"
        " one more loss away from lost records, no reads: 2 of 2 partitions",
    ]
    assert "  Racks    the rack of broker 5 is not known: counted in no rack (--rack NAME=ID,ID)" in lines


def test_a_loss_that_stops_nothing(ask):
    lines = ask("--lose", "broker:5")[1].splitlines()
    away = "one more loss away from"
    assert (lines[0], lines[-2:]) == (
        "If broker 5 is lost: every topic goes on",
        [f"  orders  {away} no writes: 2 of 2 partitions", "  audit   goes on"],
    )


VOTERS = "a.properties"
FEW = "1 of 3 voters is left (3002), 2 are needed: nobody is elected, and no ISR changes"


@pytest.fixture
def ask_with_voters(ask, tmp_path):
    """Ask about the same cluster; a node that is also a broker (3), and two others (3001, 3002) vote."""
    (tmp_path / VOTERS).write_text("controller.quorum.voters=3@a:1,3001@b:1,3002@[::1]:1\n", encoding="utf-8")
    return lambda *words: ask(VOTERS, *words)


def test_the_controllers_lose_their_majority(ask_with_voters):
    lines = ask_with_voters("--lose", "broker:3,controller:3001")[1].splitlines()
    assert lines[0] == (
        "If broker 3 and controller 3001 are lost: of 2 topics, 1 cannot be read, 1 cannot be written;"
        " the controllers have no majority"
    )
    assert f"  Controllers  {FEW}" in lines
    assert lines[-2:] == [
        "  orders  no reads, no writes: partition 1 of 2: no leader until the controllers have a majority and broker 2"
        " is up; no writes: partition 0 of 2: acks=all waits for broker 3: without a majority of controllers no ISR"
        " changes; one more loss away from lost records: 2 of 2 partitions",
        "  audit   one more loss away from no reads, no writes: 1 of 1 partitions",
    ]


def test_the_loss_of_a_node_in_combined_mode_is_that_of_a_broker_and_a_voter(ask_with_voters):
    answer = json.loads(ask_with_voters("--lose", "controller:3002 then controller:3", "--json")[1])
    assert answer["events"] == [
        {"says": "controller 3002", "kind": "lost", "brokers": [], "controllers": [3002]},
        {"says": "controller 3 (a broker, too)", "kind": "lost", "brokers": [3], "controllers": [3]},
    ]
    assert answer["controllers"] == {"voters": [3, 3001, 3002], "left": [3001], "have_majority": False}
    majority = "2 of 3 voters are left (3001, 3002): a majority, which the loss of one more ends"
    assert f"  Controllers  {majority}" in ask_with_voters("--lose", "broker:3")[1].splitlines()


def test_a_running_cluster_shows_its_voters_and_racks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with served(StubCluster()) as cluster:
        words = ("doctor", "--bootstrap-server", cluster.address, "--json", "--lose")
        _, of_controllers, _ = checking(cli.main, capsys)(*words, "controller:1,controller:2")
        _, of_a_rack, _ = checking(cli.main, capsys)(*words, "rack:az1")
    lost, rack = json.loads(of_controllers), json.loads(of_a_rack)
    assert lost["controllers"] == {"voters": [1, 2, 3], "left": [3], "have_majority": False}
    assert rack["controllers"] == {"voters": [1, 2, 3], "left": [2, 3], "have_majority": True}


def test_a_rack_has_controllers(ask_with_voters):
    out = ask_with_voters("--rack", "az3=5,3001,3002", "--lose", "rack:az3")[1]
    assert out.splitlines()[0] == (
        "If rack az3 (broker 5, controllers 3001, 3002) is lost: of 2 topics, 1 cannot be written;"
        " the controllers have no majority"
    )
    unknown = "the rack of broker 5, controllers 3001, 3002 is not known: counted in no rack (--rack NAME=ID,ID)"
    assert f"  Racks        {unknown}" in ask_with_voters("--lose", "rack:az1")[1].splitlines()


COLUMNS = "NodeId\tDirectoryId\tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus\t\n"
LEADER = "3001\tAAAAAAAAAAAAAAAAAAAAAA\t2302\t0\t1692962115018\t1692962115018\tLeader\t\n"
UP = "3002\tAAAAAAAAAAAAAAAAAAAAAB\t2302\t0\t1692962114900\t1692962114900\tFollower\t\n"
NEVER = "3003\tAAAAAAAAAAAAAAAAAAAAAC\t0\t2302\t-1\t-1\tFollower\t\n"
SLOW = "3003\tAAAAAAAAAAAAAAAAAAAAAC\t2000\t302\t1692962114900\t1692962025018\tFollower\t\n"
OLD = "3003\tAAAAAAAAAAAAAAAAAAAAAC\t2000\t302\t1692962025018\t1692962025018\tFollower\t\n"
AGO = (
    "3001\tA\t9\t0\t1 ms ago\t1 ms ago\tLeader\t\n"
    "3002\tB\t9\t0\t12 ms ago\t12 ms ago\tFollower\t\n"
    "3003\tC\t5\t4\t90001 ms ago\t90001 ms ago\tFollower\t\n"
)
STATUS = """\
ClusterId:              fMCL8kv1SWm87L_Md-I2hg
LeaderId:               {leader}
LeaderEpoch:            2
HighWatermark:          10
MaxFollowerLag:         180
MaxFollowerLagTimeMs:   {lag}
CurrentVoters:          [3001,3002,3003]
CurrentObservers:       [1,2,3]
"""
UNSURE = (
    "2 of 3 voters are left (3002, 3003): it is not sure that they are a majority (2 are needed); if not, nobody is"
)


@pytest.mark.parametrize(
    ("quorum", "doubts"),
    [
        (COLUMNS + LEADER + UP + NEVER, ["voter 3003 has never fetched from the active controller (q.txt:4)"]),
        (COLUMNS + LEADER + UP + SLOW, ["voter 3003 lags by 90 s (q.txt:4)"]),
        (COLUMNS + LEADER + UP + OLD, ["voter 3003 lags by 90 s (q.txt:4)"]),
        (COLUMNS + AGO, ["voter 3003 lags by 90 s (q.txt:4)"]),
        (COLUMNS + LEADER + UP + UP.replace("3002", "3003"), []),
        (STATUS.format(leader=3001, lag=90000), ["one of the voters lags by 90 s (q.txt:6)"]),
        (STATUS.format(leader=3001, lag=-1), ["one of the voters lags by 180 records (q.txt:6)"]),
        (STATUS.format(leader=3001, lag=400), []),
        (STATUS.format(leader=-1, lag=400), ["no controller is active (q.txt:2)"]),
    ],
)
def test_a_voter_that_lags_does_not_count_as_surely_up(ask, tmp_path, quorum, doubts):
    (tmp_path / "q.txt").write_text(quorum, encoding="utf-8")
    lines = ask("q.txt", "--lose", "controller:3001")[1].splitlines()
    assert lines[0].endswith("; it is not sure that the controllers have a majority") is bool(doubts)
    (of_controllers,) = [line for line in lines if line.startswith("  Controllers")]
    sure = "  Controllers  2 of 3 voters are left (3002, 3003): a majority, which the loss of one more ends"
    says = f"  Controllers  {UNSURE} elected, and no ISR changes; {'; '.join(doubts)}"
    assert of_controllers == (says if doubts else sure)
    shown = ", except those that a file shows to lag" if doubts else ""
    assert f"  Assumed      the controllers that vote are up{shown}" in lines
    answer = json.loads(ask("q.txt", "--lose", "controller:3001", "--json")[1])
    assert answer["controllers"]["have_majority"] is (None if doubts else True)


def test_a_reading_shows_a_voter_that_lags_and_that_no_controller_is_active(tmp_path, monkeypatch, capsys):
    """Voter 9 is no broker; voter 3 is, so it was up."""
    monkeypatch.chdir(tmp_path)
    check = checking(cli.main, capsys)
    with served(StubCluster()) as cluster:
        check("doctor", "--bootstrap-server", cluster.address, "--save", "r.json", "--lose", "broker:1")
    reading = json.loads(Path("r.json").read_text(encoding="utf-8"))
    reading["quorum"] |= {"voters": [1, 3, 9], "behind": [3, 9]}
    Path("r.json").write_text(json.dumps(reading), encoding="utf-8")
    lines = check("doctor", "r.json", "--lose", "broker:1")[1].splitlines()
    (says,) = [line for line in lines if line.startswith("  Controllers")]
    assert says.startswith("  Controllers  2 of 3 voters are left (3, 9): it is not sure that they are a majority")
    assert "; voter 9 lags behind the active controller (" in says
    reading["quorum"] |= {"leader": None, "behind": []}
    Path("r.json").write_text(json.dumps(reading), encoding="utf-8")
    (doubt,) = json.loads(check("doctor", "r.json", "--json")[1])["now"]["of_controllers"]
    assert doubt.startswith("no controller is active (")


def test_it_is_not_sure_that_a_majority_survives_the_loss_of_any_rack_if_no_controller_is_active(ask, tmp_path):
    (tmp_path / "q.txt").write_text(STATUS.format(leader=-1, lag=90000), encoding="utf-8")
    racks = ["--rack", "az1=3001", "--rack", "az2=3002", "--rack", "az3=3003"]
    lines = ask("q.txt", *racks, "--lose", "each-rack")[1].splitlines()
    assert lines[0].endswith("; it is not sure that the controllers have a majority (az1, az2, az3)")
    doubts = "no controller is active (q.txt:2); one of the voters lags by 90 s (q.txt:6)"
    survives = "the majority survives the loss of any one rack, if all voters are up"
    assert f"  Controllers  {survives}; {doubts}" in lines
    assert sum("  not sure  " in line for line in lines) == 3
    now = [line for line in ask("q.txt")[1].splitlines() if line.startswith("  Now: ")]
    assert now[:2] == [f"  Now: {doubt}" for doubt in doubts.split("; ")]


def test_the_loss_of_a_majority_of_the_voters_is_sure_whichever_are_up(ask, tmp_path):
    (tmp_path / "q.txt").write_text(COLUMNS + LEADER + UP + NEVER, encoding="utf-8")
    words = ("q.txt", "--lose", "controller:3001,controller:3002", "--json")
    assert json.loads(ask(*words)[1])["controllers"]["have_majority"] is False
    words = ("q.txt", "--lose", "controller:3003")
    majority = "2 of 3 voters are left (3001, 3002): a majority, which the loss of one more ends"
    assert f"  Controllers  {majority}; voter 3003 has never fetched" in ask(*words)[1]


TWO_AND_A_HALF = ["--rack", "az1=3001", "--rack", "az2=5", "--rack", "az3=3002"]


def test_each_rack_is_lost_in_turn(ask_with_voters):
    code, out, _ = ask_with_voters(*TWO_AND_A_HALF, "--lose", "each-rack")
    lines = out.splitlines()
    assert (code, lines[0]) == (
        SAFE,
        "If one of 3 racks is lost: acknowledged records can be lost (az1); topics cannot be read (az1);"
        " topics cannot be written (az1, az2)",
    )
    assert "  Controllers  the majority survives the loss of any one rack" in lines
    assert [line.split("  ") for line in lines[-4:]] == [
        line.split("  ")
        for line in (
            "  rack  nodes                          majority of controllers  can lose acknowledged records"
            "  cannot be written  cannot be read",
            "  az1   brokers 1, 2, controller 3001  yes: 2 of 3 left         audit                        "
            "  audit, orders      audit",
            "  az2   brokers 3, 5                   yes: 2 of 3 left         none                         "
            "  orders             none",
            "  az3   controller 3002                yes: 2 of 3 left         none                         "
            "  none               none",
        )
    ]
    assert ask_with_voters(*TWO_AND_A_HALF, "--lose", "each-rack", "--fail-on", "can-lose")[0] == VIOLATED
    power = ask_with_voters(*TWO_AND_A_HALF, "--lose-power", "each-rack")[1]
    assert power.startswith("If one of 3 racks loses power and comes back: acknowledged records can be lost (az1); ")


def test_two_racks_do_not_place_a_majority(ask_with_voters):
    racks = ["--rack", "az1=3001,3002", "--rack", "az2=5"]
    out = ask_with_voters(*racks, "--lose", "each-rack", "--details")[1]
    advice = "without az1 (2 of 3) no majority is left, so it must not fail: move a voter from az1 to a third rack"
    assert f"  Controllers  {advice}" in out.splitlines()
    assert out.splitlines()[0].endswith("; the controllers have no majority (az1)")
    single = ask_with_voters(*racks, "--lose", "rack:az2", "--details")[1].splitlines()
    assert out.splitlines()[-3:] == ["  az2", *(f"  {line}" for line in single[-6:-4])]


def test_the_majority_is_not_known_if_the_racks_of_voters_are_not(ask_with_voters):
    answer = json.loads(ask_with_voters("--rack", "az1=3001", "--lose", "each-rack", "--json")[1])
    assert [(rack["rack"], rack["have_majority"]) for rack in answer["racks"]] == [("az1", None), ("az2", None)]
    assert answer["advice"] is None


@pytest.mark.parametrize(
    ("version", "says"),
    [
        (
            "4.1",
            "the controllers keep their majority, as no file names those that vote; add the output of"
            " kafka-metadata-quorum describe --status",
        ),
        ("2.4", "ZooKeeper keeps its majority"),
    ],
)
def test_a_majority_is_assumed_if_no_voters_are_known(tmp_path, capsys, version, says):
    line = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3"
    line += "\tElr: \tLastKnownElr: \n" if version == "4.1" else "\n"
    (tmp_path / "t.txt").write_text(line, encoding="utf-8")
    cli.main(["doctor", str(tmp_path / "t.txt"), "--kafka-version", version, "--lose", "1", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["assumed"][-1] == says
    assert answer["controllers"] == {"voters": [], "left": [], "have_majority": None}


@pytest.mark.parametrize("words", [["--fail-on", "can-lose"], ["--strict"]])
def test_a_loss_can_be_made_a_failure(ask, words):
    assert ask("--lose", "rack:az1", *words)[0] == VIOLATED
    assert ask("--lose", "broker:5", *words)[0] == SAFE


def test_events_in_turn_are_one_expression_or_several_options(ask):
    out = ask("--lose", "rack:az1 then broker:5")[1]
    assert out == ask("--lose", "rack:az1", "--lose", "broker:5")[1]
    assert out.startswith("If rack az1 (brokers 1, 2) and then broker 5 are lost: ")


def test_details_show_every_partition(ask):
    assert ask("--lose", "broker:3,5", "--details")[1].splitlines()[-1] == (
        "  orders-1  replicas 3,2,1  in sync 2,3 -> 2    no writes: 1 in sync (2), min.insync.replicas=2,"
        " until broker 1 is in sync again; one more loss away from lost records, no reads"
    )


def test_a_restart_and_a_loss_of_power_of_all_brokers(ask):
    meanwhile = "meanwhile 2 cannot be read, 2 cannot be written"
    assert ask("--restart-all")[1].startswith(f"If all brokers restart at once: of 2 topics, {meanwhile}\n")
    lost = f"of 2 topics, 2 can lose acknowledged records, {meanwhile}\n"
    assert ask("--lose-power", "all")[1].startswith(f"If all brokers lose power and come back: {lost}")


EPHEMERAL = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: c}
spec:
  kafka:
    storage: {type: ephemeral}
"""
POOL = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaNodePool
metadata: {name: p}
spec:
  roles: [controller, broker]
  storage: {type: ephemeral}
"""
NODE_IDS = "status: {nodeIds: [1, 2]}\n"
CONTROLLERS = POOL.replace("controller, broker", "controller")


@pytest.mark.parametrize(
    ("resource", "losing", "reason"),
    [
        (EPHEMERAL, 2, "brokers 1, 2 come back with empty disks (ephemeral storage), so that no record is left"),
        (POOL, 2, "brokers 1, 2 come back with empty disks (ephemeral storage), so that no record is left"),
        (POOL + NODE_IDS, 2, "brokers 1, 2 come back with empty disks (ephemeral storage), so that no record is left"),
        (CONTROLLERS, 0, ""),
    ],
)
def test_a_restart_of_brokers_on_ephemeral_storage(ask, tmp_path, resource, losing, reason):
    (tmp_path / "s.yaml").write_text(resource, encoding="utf-8")
    code, out, _ = ask("s.yaml", "--restart-all", "--strict")
    loses = f"{losing} can lose acknowledged records, " if losing else ""
    meanwhile = "meanwhile 2 cannot be read, 2 cannot be written"
    controllers = "; the controllers have no majority" if NODE_IDS in resource else ""
    assert out.startswith(f"If all brokers restart at once: of 2 topics, {loses}{meanwhile}{controllers}\n")
    assert code == (VIOLATED if losing else SAFE)
    assert reason in out
    assert ("all brokers have the ephemeral storage of s.yaml:6" in out) is (resource in (EPHEMERAL, POOL))
    beware = "(ephemeral storage), and must copy all their replicas before the next one restarts"
    assert (beware in ask("s.yaml", "--roll")[1]) is bool(losing)


WAITS = "orders-1 has 2 in sync (2, 3), min.insync.replicas=2, until broker 1 is in sync again"


def test_a_rolling_restart(ask):
    code, out, _ = ask("--roll")
    assert (code, out.splitlines()[:5]) == (
        VIOLATED,
        [
            "2 of 4 brokers may not restart now",
            "  Order    1, 5, 2, 3",
            "           each restarts once all replicas of the one before it are in sync again",
            f"  Not now  broker 2: {WAITS}",
            f"  Not now  broker 3: {WAITS}",
        ],
    )


def test_a_rolling_restart_with_a_partition_without_a_leader(ask, tmp_path):
    """Only broker 3 may lead, and is down: no broker has to wait, but the cluster is not fit for a rolling restart."""
    line = "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2,3\tIsr: 3\tElr: \tLastKnownElr: \n"
    (tmp_path / "topics.txt").write_text(line, encoding="utf-8")
    code, out, _ = ask("--roll")
    assert (code, out.splitlines()[0]) == (
        VIOLATED,
        "All 3 brokers may restart, one at a time; 1 partition without a leader",
    )
    assert "  Beware   no leader: t-0; first bring up a broker that may lead" in out.splitlines()
    assert json.loads(ask("--roll", "--json")[1])["leaderless"] == ["t-0"]


def test_a_minimum_above_the_number_of_replicas_is_shown_as_it_is_set(ask, tmp_path):
    (tmp_path / "topics.txt").write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=3\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n",
        encoding="utf-8",
    )
    says = "t-0 has 2 in sync (1, 2), min.insync.replicas=3 (counts as 2), 2 replicas: add 2 replicas or lower"
    assert f"  Never    broker 1: {says} min.insync.replicas" in ask("--roll")[1].splitlines()


@pytest.mark.parametrize(
    ("replicas", "isr", "minimum", "words", "until"),
    [
        ("1,2,3,4", "1", 2, ["--roll"], "until 2 of the brokers 2, 3, 4 are in sync again"),
        ("1,2,3", "2", 2, ["--roll"], "until brokers 1, 3 are in sync again"),
        ("1,2,3", "1,2", 2, ["--roll"], "until broker 3 is in sync again"),
        ("1,2,3,4", "1,2", 2, ["--roll"], "until one of the brokers 3, 4 is in sync again"),
        ("1,2,3,4,5", "1,2", 3, ["--lose", "broker:2"], "until 2 of the brokers 3, 4, 5 are in sync again"),
        ("1,2,3", "1,2", 3, ["--lose", "broker:2"], "min.insync.replicas=3"),
    ],
)
def test_as_many_brokers_are_awaited_as_are_needed(ask, tmp_path, replicas, isr, minimum, words, until):
    (tmp_path / "topics.txt").write_text(
        f"Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas={minimum}\n"
        f"\tTopic: t\tPartition: 0\tLeader: {isr[0]}\tReplicas: {replicas}\tIsr: {isr}\tElr: \tLastKnownElr: \n",
        encoding="utf-8",
    )
    lines = [line.partition("; one more")[0] for line in ask(*words)[1].splitlines()]
    assert [line for line in lines if "in sync (" in line and line.endswith(until)]


@pytest.mark.parametrize(
    ("version", "elr", "is_lost"),
    [("3.9", "Elr: \tLastKnownElr: ", True), ("3.9", "Elr: N/A\tLastKnownElr: N/A", False)],
)
def test_a_leader_that_loses_power_can_lead_again_up_to_3_9_with_kraft(tmp_path, capsys, version, elr, is_lost):
    """An Elr that is not N/A shows KRaft; the other cluster has ZooKeeper."""
    line = f"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\t{elr}\n"
    (tmp_path / "t.txt").write_text(line, encoding="utf-8")
    cli.main(["doctor", str(tmp_path / "t.txt"), "--kafka-version", version, "--lose-power", "broker:1"])
    says = "broker 1 leads again without what it had not flushed, if it is back before a controller has noticed its end"
    assert (says in capsys.readouterr().out) is is_lost


@pytest.mark.parametrize("topic", ["__transaction_state", "__consumer_offsets", "__remote_log_metadata", "t"])
def test_the_topics_that_brokers_write_have_acks_all(ask, tmp_path, topic):
    line = f"\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n"
    (tmp_path / "topics.txt").write_text(line, encoding="utf-8")
    (tmp_path / "producer.properties").write_text("acks=1\n", encoding="utf-8")
    out = ask("--producer", "producer.properties", "--lose", "broker:1")[1]
    assert ("without acks=all, the leader can have the only copy" in out) is (topic == "t")


def test_only_members_of_the_isr_are_said_to_be_in_sync(ask, tmp_path):
    line = "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tElr: 2\tLastKnownElr: \n"
    (tmp_path / "topics.txt").write_text(line, encoding="utf-8")
    assert "all in sync (1) lose what they have not flushed" in ask("--lose-power", "all")[1]


@pytest.mark.parametrize(("elr", "until"), [("", " until broker 2 is up"), ("7", "")])
def test_the_last_known_leader_is_not_awaited_if_the_elr_has_a_broker_that_is_no_replica(ask, tmp_path, elr, until):
    line = f"\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2,3\tIsr: \tElr: {elr}\tLastKnownElr: 2\n"
    (tmp_path / "topics.txt").write_text(line, encoding="utf-8")
    _, out, _ = ask("--lose", "broker:1")
    assert out.splitlines()[-1] == (
        f"  t  no reads, no writes (already now): partition 0 of 1: no leader{until};"
        " one more loss away from lost records: 1 of 1 partitions"
    )


@pytest.mark.parametrize(
    ("last_known", "lost", "reason"),
    [
        ("", "all", "nobody is known to have all records, and every copy is gone"),
        ("", "broker:1", "nobody is known to have all records, and broker 1 can have the only copy"),
        ("1", "broker:1", "nobody else surely has the records of broker 1"),
    ],
)
def test_the_loss_of_brokers_while_isr_and_elr_are_empty(ask, tmp_path, last_known, lost, reason):
    line = f"\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: \tElr: \tLastKnownElr: {last_known}\n"
    (tmp_path / "topics.txt").write_text(line, encoding="utf-8")
    code, out, _ = ask("--lose", lost, "--strict")
    assert (code, out.splitlines()[-1]) == (
        VIOLATED,
        f"  t  can lose acknowledged records, no reads, no writes: partition 0 of 1: {reason}; no leader",
    )


def test_the_answer_is_for_the_replicas_of_each_partition_as_it_is_now(ask, tmp_path):
    """What the files say of a kind of topic (the fewest replicas, those after a reassignment) does not count here."""
    fields = "Elr: \tLastKnownElr: "
    (tmp_path / "topics.txt").write_text(
        f"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\t{fields}\n"
        f"\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1,2,3,4\tIsr: 1,2,3\t{fields}"
        "\tAdding Replicas: 4\tRemoving Replicas: 3\n",
        encoding="utf-8",
    )
    code, out, _ = ask("--lose", "broker:2", "--json")
    answer = json.loads(out)
    assert (code, [(each["in_sync"], each["effects"]) for each in answer["partitions"]]) == (
        SAFE,
        [([1], []), ([1, 3], [])],
    )
    assert answer["remarks"][-2:] == [
        "partitions of t have 1 to 3 replicas",
        "t-1 is being reassigned (Adding Replicas 4, Removing Replicas 3)",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--lose", "broker:9"],
            "--lose broker:9: no described partition is on broker 9; the known brokers are 1, 2, 3, 5",
        ),
        (["--lose", "rack:x"], "--lose rack:x: no broker is in rack x; the racks are az1, az2"),
        (
            ["--lose", "banana"],
            "--lose banana: 'banana' names no brokers; write broker:3, rack:az1, broker:3,4 or rack:az1 then broker:5",
        ),
        (
            ["--rack", "az2=1", "--roll"],
            "--rack az2=1: node 1 is in rack az2 here, and in rack az1 in another place; keep the place that is right",
        ),
        (
            ["--lose", "rack:az1 then"],
            "--lose rack:az1 then: nothing is lost after then; write broker:3, rack:az1, broker:3,4 or rack:az1 then"
            " broker:5",
        ),
        (
            ["--lose", "controller:1"],
            "--lose controller:1: 1 is not known as a controller that votes; no file names them; add the output of"
            " kafka-metadata-quorum describe --status",
        ),
        (
            ["--lose", "each-rack then broker:1"],
            "--lose each-rack then broker:1: each-rack goes with nothing else, as in --lose each-rack",
        ),
        (["--rack", "az2", "--roll"], "--rack az2: not a rack with its brokers; write it as --rack az1=1,2,3"),
        (["--roll", "--restart-all"], "--roll does not go with --restart-all; give one of them"),
        (["--lose", "broker:1", "--report", "r"], "--report does not go with --lose; leave one of them out"),
        (["--roll", "--alerts", "a.yml"], "--alerts does not go with --roll; leave one of them out"),
    ],
)
def test_bad_input(ask, words, message):
    assert ask(*words) == (USAGE, "", f"check: {message}\n")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("controller:9", "9 is not known as a controller that votes; the voters are 3, 3001, 3002"),
        ("broker:3001", "no described partition is on broker 3001; write controller:3001"),
    ],
)
def test_an_unknown_controller(ask_with_voters, target, message):
    assert ask_with_voters("--lose", target) == (USAGE, "", f"check: --lose {target}: {message}\n")


def test_no_described_partition(ask, capsys):
    assert cli.main(["doctor", "server.properties", "--roll"]) == USAGE
    says = "no partition is described: give the output of kafka-topics --describe"
    assert capsys.readouterr().err == f"check: --roll: {says}\n"


def test_no_known_rack(ask, capsys):
    assert cli.main(["doctor", "topics.txt", "--kafka-version", "4.1", "--lose", "rack:a"]) == USAGE
    cure = "give --rack a=1,2,3, the brokers' files, or the output of kafka-broker-api-versions"
    assert capsys.readouterr().err == f"check: --lose rack:a: no broker is in rack a; no rack is known: {cure}\n"
    assert cli.main(["doctor", "topics.txt", "--kafka-version", "4.1", "--lose", "each-rack"]) == USAGE
    assert (
        capsys.readouterr().err
        == f"check: --lose each-rack: no rack is known; {cure.replace('rack a=', 'rack az1=')}\n"
    )
