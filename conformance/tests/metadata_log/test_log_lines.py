"""Lines of text logs, in the forms of several releases, and how they join the history of the metadata log."""

from __future__ import annotations

import pytest

from conformance.tests.metadata_log.building import change, folder, metadata, partition, records, spelled_id, topic
from isrcheck.commands.exit_codes import DIVERGED, DONE
from isrcheck.conformance.metadata_log.log_lines import claims_of
from isrcheck.conformance.metadata_log.states import PartitionState

AT = "[2026-11-27 22:13:34,672] INFO "
UPDATE = f"{AT}[Partition t-0 broker=1]"
ID = "y5EHNoXZQKqRdv53Cf3Wew"
CONTROLLER = "DEBUG [QuorumController id=100] "
LEADER = f"{AT}[Broker id=2] Leader t-0 with topic id Some({ID}) starts at leader epoch 1 from offset 4 with partition"
FOLLOWER = f"{AT}[Broker id=3] Follower t-0 starts at leader epoch 1 from offset 4 with partition epoch 1 and high"
ALTERED = "isr: [1, 2] -> [1], replicaSet: [1, 2, 3] -> [1, 2], partitionEpoch: 3 -> 4, leaderEpoch: 1 -> 2"
BOTH = [
    PartitionState(isr=(1, 2), replicas=(1, 2, 3), partition_epoch=3, leader_epoch=1),
    PartitionState(isr=(1,), replicas=(1, 2), partition_epoch=4, leader_epoch=2),
]
"""The states before and after `ALTERED`."""

OFFLINE = "(isr: [], replicaSet: [1, 2], partitionEpoch: 4, leaderEpoch: 2)"
WITHOUT_LEADER = PartitionState(isr=(), replicas=(1, 2), partition_epoch=4, leader_epoch=2)
UPDATED = PartitionState(leader=1, isr=(1, 2), partition_epoch=3)


@pytest.mark.parametrize(
    ("line", "states"),
    [
        # 2.0 to 2.7, 2.7 with AlterIsr, 2.8 to 3.1, 3.2 to 3.4, 3.5 and later
        (f"{UPDATE} ISR updated to [1,2] and zkVersion updated to [3] (kafka.cluster.Partition)", [UPDATED]),
        (f"{UPDATE} ISR updated from AlterIsr to 1,2 and version updated to [3] (kafka.cluster.Partition)", [UPDATED]),
        (f"{UPDATE} ISR updated to 1,2 and version updated to [3] (kafka.cluster.Partition)", [UPDATED]),
        (f"{UPDATE} ISR updated to 1,2 and version updated to 3 (kafka.cluster.Partition)", [UPDATED]),
        (f"{UPDATE} ISR updated to 1,2  and version updated to 3 (kafka.cluster.Partition)", [UPDATED]),
        (f"{UPDATE} ISR updated to 1,2 (under-min-isr) and version updated to 3 (kafka.Partition)", [UPDATED]),
        (
            f"{LEADER} epoch 1, high watermark 4, ISR [2,3], adding replicas [] and removing replicas [] . Previous"
            " leader Some(1) and previous leader epoch was 0. (state.change.logger)",
            [PartitionState(leader=2, leader_epoch=1, partition_epoch=1, isr=(2, 3))],
        ),
        (
            f"{FOLLOWER} watermark 4. Current leader is 2. Previous leader Some(1) and previous leader epoch was 0.",
            [PartitionState(leader=2, leader_epoch=1, partition_epoch=1)],
        ),
        (
            f"{AT}[Controller id=1 epoch=1] Changed partition t-0 from OfflinePartition to OnlinePartition with state"
            " LeaderAndIsr(leader=1, leaderEpoch=2, isr=List(1, 2), zkVersion=3) (state.change.logger)",
            [PartitionState(leader=1, leader_epoch=2, isr=(1, 2), partition_epoch=3)],
        ),
        (
            f"{AT}[Controller id=1 epoch=1] Changed partition t-0 from NewPartition to OnlinePartition with state"
            " LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1), leaderRecoveryState=RECOVERED, partitionEpoch=0)",
            [PartitionState(leader=1, leader_epoch=0, isr=(1,), partition_epoch=0)],
        ),
        (
            f"{AT}[Controller id=1 epoch=1] Changed partition t-0 from NewPartition to OnlinePartition with state"
            " LeaderAndIsr(leader=1, leaderEpoch=0, isrWithBrokerEpoch=List(BrokerState(brokerId=1, brokerEpoch=-1),"
            " BrokerState(brokerId=2, brokerEpoch=25)), leaderRecoveryState=RECOVERED, partitionEpoch=0)",
            [PartitionState(leader=1, leader_epoch=0, isr=(1, 2), partition_epoch=0)],
        ),
        (
            f"{AT}[QuorumController id=1] Created partition t-0 with topic ID {ID} and PartitionRegistration("
            "replicas=[1, 2], isr=[1, 2], removingReplicas=[], addingReplicas=[], leader=1,"
            " leaderRecoveryState=RECOVERED, leaderEpoch=0, partitionEpoch=0). (ReplicationControlManager)",
            [
                PartitionState(
                    replicas=(1, 2),
                    isr=(1, 2),
                    removing=(),
                    adding=(),
                    leader=1,
                    is_recovering=False,
                    leader_epoch=0,
                    partition_epoch=0,
                )
            ],
        ),
        # a line of a real Kafka 4.5 in development
        (
            "[22:35:14.739] INFO [QuorumController id=100] UNCLEAN partition change for t-0 with topic ID"
            " XlBTPCuDRGyfAG0hSNzfgw: isr: [] -> [2], leader: -1 -> 2, leaderRecoveryState: RECOVERED -> RECOVERING,"
            " leaderEpoch: 1 -> 2, elr: [1] -> [], lastKnownElr: [2] -> [], partitionEpoch: 4 -> 5"
            " (ReplicationControlManager)",
            [
                PartitionState(
                    isr=(),
                    leader=-1,
                    is_recovering=False,
                    leader_epoch=1,
                    elr=(1,),
                    last_known_elr=(2,),
                    partition_epoch=4,
                ),
                PartitionState(
                    isr=(2,), leader=2, is_recovering=True, leader_epoch=2, elr=(), last_known_elr=(), partition_epoch=5
                ),
            ],
        ),
        # 4.2 and later, in the forms of Partition.makeLeader and makeFollower
        *(
            (
                f"{AT}[Broker id=1] Skipped the become-{role} state change for t-0 with topic id Some({ID}), partition"
                " registration PartitionRegistration(replicas=[1, 2], directories=[AAAAAAAAAAAAAAAAAAAAAQ,"
                " AAAAAAAAAAAAAAAAAAAAAA], isr=[1], removingReplicas=[], addingReplicas=[], elr=[2], lastKnownElr=[],"
                f" leader=1, leaderRecoveryState=RECOVERED, leaderEpoch=3, partitionEpoch=7) and isNew=false {why}",
                [
                    PartitionState(
                        replicas=(1, 2),
                        isr=(1,),
                        removing=(),
                        adding=(),
                        elr=(2,),
                        last_known_elr=(),
                        leader=1,
                        is_recovering=False,
                        leader_epoch=3,
                        partition_epoch=7,
                    )
                ],
            )
            for role, why in (
                (
                    "leader",
                    "since it is already the leader with leader epoch 3. Current high watermark 4, ISR [1], adding"
                    " replicas [] and removing replicas [].",
                ),
                ("follower", "since the follower is already at a newer partition epoch 8."),
            )
        ),
        # 4.3 and later, in the forms of ReplicationControlManager
        (
            f"{CONTROLLER}Replayed partition change PartitionChangeRecord(partitionId=0, topicId={ID}, isr=[2],"
            " leader=2, replicas=null, removingReplicas=null, addingReplicas=null, leaderRecoveryState=1,"
            " directories=null, eligibleLeaderReplicas=[], lastKnownElr=[]) for topic t. (isr: [] -> [2],"
            " replicaSet: [1, 2] -> [1, 2], partitionEpoch: 5, leaderEpoch: 2) (ReplicationControlManager)",
            [
                PartitionState(isr=(), replicas=(1, 2), partition_epoch=4),
                PartitionState(
                    replicas=(1, 2),
                    isr=(2,),
                    elr=(),
                    last_known_elr=(),
                    leader=2,
                    leader_epoch=2,
                    partition_epoch=5,
                    is_recovering=True,
                ),
            ],
        ),
        (
            f"{CONTROLLER}Replayed partition assignment change PartitionChangeRecord(partitionId=0, topicId={ID},"
            " isr=null, leader=-2, replicas=[1, 2, 3], removingReplicas=null, addingReplicas=[3],"
            " leaderRecoveryState=-1, directories=[AAAAAAAAAAAAAAAAAAAAAA], eligibleLeaderReplicas=null,"
            " lastKnownElr=null) for topic t. (isr: [1, 2] -> [1, 2], replicaSet: [1, 2] -> [1, 2, 3],"
            " partitionEpoch: 1, leaderEpoch: 0)",
            [
                PartitionState(isr=(1, 2), replicas=(1, 2), partition_epoch=0),
                PartitionState(replicas=(1, 2, 3), isr=(1, 2), adding=(3,), leader_epoch=0, partition_epoch=1),
            ],
        ),
        (f"{CONTROLLER}Node 1 has altered ISR for t-0. {ALTERED}", BOTH),
        (
            f"{CONTROLLER}AlterPartition request from node 1 for t-0 completed the ongoing partition reassignment."
            f" {ALTERED}",
            BOTH,
        ),
        (
            f"{CONTROLLER}AlterPartition request from node 1 for t-0 completed the ongoing partition reassignment and"
            f" triggered a leadership change {ALTERED}. Returning NEW_LEADER_ELECTED.",
            BOTH,
        ),
        (
            f"{CONTROLLER}Rejecting AlterPartition request from node 1 for t-0 because it specified ineligible replicas"
            " [3 (fenced)] in the new ISR. Proposed ISR was [BrokerState(brokerId=1, brokerEpoch=-1)] and current ISR"
            " is [1, 2]. Current replica set is [1, 2, 3]. Current partitionEpoch is 4. Current leaderEpoch is 2.",
            [PartitionState(isr=(1, 2), replicas=(1, 2, 3), partition_epoch=4, leader_epoch=2)],
        ),
        (f"{CONTROLLER}Triggering unclean leader election for offline partition t-0. {OFFLINE}", [WITHOUT_LEADER]),
        (
            f"{CONTROLLER}Cannot trigger unclean leader election for offline partition t-0: ELIGIBLE_LEADERS_NOT"
            f"_AVAILABLE. {OFFLINE}",
            [WITHOUT_LEADER],
        ),
        (
            f"{CONTROLLER}Cannot trigger unclean leader election for offline partition t-0 because unclean leader"
            f" election is disabled for this topic. {OFFLINE}",
            [WITHOUT_LEADER],
        ),
        # the same lines before 4.3 have no epochs
        (f"{CONTROLLER}Node 1 has altered ISR for t-0 to [1, 2].", []),
        (f"{CONTROLLER}Triggering unclean leader election for offline partition t-0.", []),
        # before 3.3, there is no partition epoch in these lines; and requests are not states
        (f"{AT}[Broker id=2] Leader t-0 starts at leader epoch 1 from offset 4 with high watermark 4 ISR [2,3]", []),
        (f"{AT}[Partition t-0 broker=1] Shrinking ISR from 1,2 to 1. Leader: (highWatermark: 3, endOffset: 4).", []),
        (f"{AT}[Partition t-0 broker=1] ISR updated to 1,2 in a new way (kafka.cluster.Partition)", []),
    ],
)
def test_a_line_tells_states(line, states):
    claims = list(claims_of(line, "server.log:1"))
    assert [claim.state for claim in claims] == states
    assert {(claim.topic, claim.partition) for claim in claims} <= {("t", 0)}


def test_a_name_may_have_hyphens_and_digits():
    (claim,) = claims_of(f"{AT}[Partition a-1.b-2-13 broker=1] ISR updated to 1 and version updated to 3", "here")
    assert (claim.topic, claim.partition, claim.time) == ("a-1.b-2", 13, "2026-11-27 22:13:34,672")


@pytest.mark.parametrize(
    "line",
    [
        f"{UPDATE} ISR updated to {'1' * 9000} and version updated to 3",
        f"{UPDATE} ISR updated to 1 and version updated to {'3' * 9000}",
        f"partition change for t-0 with topic ID {ID}: isr: [1] -> [{'2' * 9000}], partitionEpoch: 0 -> 1",
    ],
)
def test_a_number_of_thousands_of_digits_is_none(line):
    assert list(claims_of(line, "here")) == []


def test_a_long_line_is_one_line(capsys, tmp_path):
    path = tmp_path / "server.log"
    path.write_text(
        "x" * 100_000 + f"{UPDATE} ISR updated to 9 and version updated to 9\n"
        f"{LEADER.replace('partition', '')}{' with partition epoch 1,' * 20_000}\n"
        f"{UPDATE} ISR updated to 1 and version updated to 3\n"
    )
    told = metadata(capsys, path, "--json")
    assert told.json["partitions"][0]["states"][0]["source"] == f"{path}:3"
    assert (told.code, told.states) == (DONE, [(None, 1, None, 3, [1], None)])


def changed(differences: str, name: str = "t") -> str:
    return f"[12:00:00.000] {CONTROLLER}partition change for t-0 with topic ID {spelled_id(name)}: {differences}\n"


def test_what_a_line_leaves_out_is_as_before(capsys, tmp_path):
    path = tmp_path / "controller.log"
    path.write_text(
        changed("isr: [1, 2] -> [1], partitionEpoch: 0 -> 1")
        + changed("leader: 1 -> 2, leaderEpoch: 4 -> 5, isr: [1] -> [2], elr: [] -> [1], partitionEpoch: 1 -> 2")
        + changed("isr: [2] -> [1, 2], partitionEpoch: 7 -> 8")
    )
    told = metadata(capsys, path, "--json")
    assert told.states == [
        (None, 1, 4, 0, [1, 2], []),
        (None, 1, 4, 1, [1], []),
        (None, 2, 5, 2, [2], [1]),
        (None, None, None, 7, [2], None),
        (None, None, None, 8, [1, 2], None),
    ]
    states = told.json["partitions"][0]["states"]
    assert [one["is_unclean"] for one in states] == [False, False, True, False, False]
    assert [one["time"] for one in states] == [
        "before 12:00:00.000",
        "12:00:00.000",
        "12:00:00.000",
        "before 12:00:00.000",
        "12:00:00.000",
    ]


def test_a_line_of_the_change_tells_its_time_better_than_the_line_of_the_next(capsys, tmp_path):
    """The next change says only that the state was there before; a later file has the line of the change itself."""
    first, second = tmp_path / "controller.log", tmp_path / "server.log"
    first.write_text(changed("isr: [1] -> [1, 2], partitionEpoch: 1 -> 2"))
    second.write_text("[11:00:00.000] [Partition t-0 broker=1] ISR updated to 1 and version updated to 1 (kafka)\n")
    states = metadata(capsys, first, second, "--json").json["partitions"][0]["states"]
    assert [(one["time"], len(one["seen_in"])) for one in states] == [("11:00:00.000", 1), ("12:00:00.000", 0)]


def replayed(differences: str, record: str) -> str:
    return (
        f"[12:00:00.000] {CONTROLLER}Replayed partition change PartitionChangeRecord(partitionId=0,"
        f" topicId={spelled_id('t')}, {record}) for topic t. (isr: {differences})\n"
    )


def test_a_line_with_both_epochs_does_not_tell_the_leader_before(capsys, tmp_path):
    path = tmp_path / "controller.log"
    path.write_text(
        replayed("[1, 2] -> [1], replicaSet: [1, 2] -> [1, 2], partitionEpoch: 1, leaderEpoch: 4", "isr=[1], leader=-2")
        + replayed("[1] -> [2], replicaSet: [1, 2] -> [1, 2], partitionEpoch: 2, leaderEpoch: 5", "isr=[2], leader=2")
        + f"{CONTROLLER}Node 2 has altered ISR for t-0. isr: [2] -> [1, 2], replicaSet: [1, 2] -> [1, 2],"
        " partitionEpoch: 2 -> 3, leaderEpoch: 5 -> 5\n"
        f"{CONTROLLER}Node 2 has altered ISR for t-0. isr: [3] -> [1, 2], replicaSet: [1, 2] -> [1, 2],"
        " partitionEpoch: 2 -> 3, leaderEpoch: 5 -> 5\n"
    )
    told = metadata(capsys, path, "--json")
    assert told.states == [
        (None, None, None, 0, [1, 2], None),
        (None, None, 4, 1, [1], None),
        (None, 2, 5, 2, [2], None),
        (None, None, 5, 3, [1, 2], None),
    ]
    assert told.json["contradictions"] == [f"t-0, partition epoch 2: ISR is 2 by {path}:2, 3 by {path}:4"]


def test_lines_of_brokers_join_the_metadata_log(capsys, tmp_path):
    place = folder(tmp_path, records(topic("t"), partition("t", 0, 1, 2), change("t", 0, isr=(1,))))
    path = tmp_path / "server.log"
    path.write_text(
        f"{AT}[Partition t-0 broker=1] ISR updated to 1 (under-min-isr) and version updated to 1 (kafka)\n"
        f"{AT}[Partition t-0 broker=1] ISR updated to 2,1 and version updated to 2 (kafka)\n"
        f"{AT}[Partition t-0 broker=1] ISR updated to 1,2 in a new way\n"
        f"{AT}[Partition other-0 broker=1] ISR updated to 1,2 and version updated to 3\n"
    )
    told = metadata(capsys, place, path, "--partition", "t-0", "--json")
    assert (told.code, told.json["contradictions"]) == (DONE, [])
    assert told.states == [(1, 1, 0, 0, [1, 2], []), (2, 1, 0, 1, [1], []), (None, 1, None, 2, [2, 1], None)]
    assert [one["seen_in"] for one in told.json["partitions"][0]["states"]] == [[], [f"{path}:1"], []]
    assert told.json["remarks"] == [
        f"1 line of text logs about an ISR or a leader not understood, the first is {path}:3"
    ]


def test_a_line_that_contradicts_the_metadata_log(capsys, tmp_path):
    place = folder(tmp_path, records(topic("t"), partition("t", 0, 1, 2), change("t", 0, isr=(1,))))
    path = tmp_path / "controller.log"
    path.write_text(changed("isr: [1, 2] -> [2], partitionEpoch: 0 -> 1"))
    told = metadata(capsys, place, path)
    assert told.code == DIVERGED
    assert told.out.splitlines()[-2:] == [
        f"CONTRADICTED: t-0, partition epoch 1: ISR is 1 by the record at offset 2, 2 by {path}:1",
        "CONTRADICTED: 1 contradiction in 2 states of 1 partition",
    ]


def test_a_line_of_a_topic_that_was_made_again_is_not_placed(capsys, tmp_path):
    path = tmp_path / "controller.log"
    path.write_text(
        changed("isr: [1, 2] -> [2], partitionEpoch: 0 -> 1")
        + changed("isr: [1, 2] -> [1], partitionEpoch: 0 -> 1", "again")
        + f"{AT}[Partition t-0 broker=1] ISR updated to 1 and version updated to 1\n"
    )
    told = metadata(capsys, path, "--json")
    wish = f"1 line of text logs not used, because several topics had the name, the first is {path}:3"
    assert (told.code, told.json["remarks"]) == (DONE, [wish])


def test_logs_of_a_cluster_with_zookeeper(capsys, tmp_path):
    (tmp_path / "server.log.2020-10-25-03").write_text(
        f"{AT}[Partition t-0 broker=1] ISR updated to [1] and zkVersion updated to [1] (kafka.cluster.Partition)\n"
    )
    (tmp_path / "state-change.log").write_text(
        f"{AT}[Controller id=1 epoch=1] Changed partition t-0 from NewPartition to OnlinePartition with state"
        " LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1, 2), zkVersion=0) (state.change.logger)\n"
    )
    told = metadata(capsys, tmp_path, "--json")
    assert told.states == [(None, 1, 0, 0, [1, 2], None), (None, 1, None, 1, [1], None)]
    assert told.json["partitions"][0]["topic_id"] is None
