"""Group coordinators on brokers that replicate: when a write is answered, leadership that moves, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isrcheck.conformance.cluster.acts import append, apply, ask, complete_parked_fetch, payloads
from isrcheck.conformance.cluster.configuration.protocol import generation
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.coordinator.coordinator import RecordKind
from isrcheck.conformance.cluster.coordinator.system import CoordinatedCluster
from isrcheck.conformance.cluster.network.messages import Errors, MetadataImage

COMMIT, MEMBER, CLASSIC = RecordKind.COMMIT, RecordKind.MEMBER, RecordKind.CLASSIC
RULES = generation("4.3")
LISTENS = replace(generation("4.0"), LISTENS_AS_FOLLOWER=True)
FLUSHES = replace(RULES, FLUSHES_EMPTY_BATCH=True)
FENCES = replace(RULES, APPENDS_IN_ITS_EPOCH=True)


def answers(cluster: CoordinatedCluster) -> list[Errors | None]:
    return [write.answer for write in cluster.observe_coordinators().writes]


def fetch(cluster: CoordinatedCluster, follower: int, leader: int) -> None:
    """A whole fetch, which brings one record at most, and the high watermark."""
    if ask(cluster, follower, leader) is None:
        complete_parked_fetch(cluster, leader, follower)
    apply(cluster, follower, leader)


def learn(cluster: CoordinatedCluster, *brokers: int) -> None:
    """Brokers read the metadata log to its end."""
    for message in cluster.messages():
        if message.destination in brokers and isinstance(message.payload, MetadataImage):
            cluster.deliver(message.number)


def lead(cluster: CoordinatedCluster, broker: int) -> None:
    """Leadership moves, all brokers read it, and the leader's coordinator is loaded."""
    cluster.move_leadership(broker)
    learn(cluster, *cluster.brokers)
    while cluster.coordinator_of(broker).queue:
        cluster.coordinator_of(broker).handle_event()


def written(cluster: CoordinatedCluster, broker: int, kind: RecordKind, name: str) -> None:
    """A write is handled and flushed."""
    cluster.write(broker, kind, name)
    cluster.coordinator_of(broker).flush()


def test_a_write_changes_the_state_at_once_and_is_answered_when_the_high_watermark_has_passed_it() -> None:
    cluster = CoordinatedCluster(RULES)
    cluster.write(0, COMMIT, "a")
    context = cluster.observe_coordinators().coordinators[0]
    assert context is not None
    assert (context.group.commits, context.batch, payloads(cluster, 0)) == ({"a"}, ("a",), ())
    cluster.coordinator_of(0).flush()
    fetch(cluster, 1, 0)
    assert (payloads(cluster, 1), answers(cluster)) == (("commit a",), [None])
    fetch(cluster, 1, 0)
    assert answers(cluster) == [None]
    cluster.coordinator_of(0).handle_high_watermark()
    assert answers(cluster) == [Errors.NONE]


@pytest.mark.parametrize(("rules", "lost"), [(LISTENS, True), (RULES, False)], ids=["before KAFKA-20634", "since"])
def test_the_coordinator_of_a_follower_hears_the_high_watermark_until_kafka_20634(rules, lost) -> None:
    cluster = CoordinatedCluster(rules)
    written(cluster, 0, COMMIT, "a")
    lead(cluster, 1)
    written(cluster, 1, COMMIT, "b")
    for _ in range(3):  # the logs diverge; then the record, and the high watermark
        fetch(cluster, 0, 1)
    view = cluster.observe_coordinators()
    assert (payloads(cluster, 0), view.cluster.brokers[0].high_watermark) == (("commit b",), 1)
    coordinator = view.coordinators[0]
    assert coordinator is not None
    assert coordinator.noted_high_watermark == (1 if lost else None)
    if lost:
        cluster.coordinator_of(0).handle_high_watermark()
    while cluster.coordinator_of(0).queue:
        cluster.coordinator_of(0).handle_event()
    assert answers(cluster) == [Errors.NONE if lost else Errors.NOT_COORDINATOR, None]
    assert payloads(cluster, 1) == ("commit b",)


@pytest.mark.parametrize(("rules", "log"), [(FLUSHES, ("classic a", "member b")), (RULES, ("classic a",))])
def test_the_flush_of_an_empty_batch_reverts_a_conversion_until_kafka_20845(rules, log) -> None:
    cluster = CoordinatedCluster(rules)
    cluster.write(0, CLASSIC, "a")
    cluster.write(0, MEMBER, "b")
    cluster.coordinator_of(0).flush()
    assert payloads(cluster, 0) == log
    assert answers(cluster) == [None, None if len(log) == 2 else Errors.GROUP_ID_NOT_FOUND]


@pytest.mark.parametrize("kind", [MEMBER, CLASSIC])
@pytest.mark.parametrize("kept", [1, 2])
def test_a_log_in_which_a_record_of_a_consumer_group_comes_behind_its_conversion_is_not_loaded(kept, kind) -> None:
    """The coordinator fails, and refuses every write. If only the conversion was copied, it is loaded."""
    cluster = CoordinatedCluster(FLUSHES)
    written(cluster, 0, CLASSIC, "a")
    written(cluster, 0, kind, "b")
    for _ in range(kept):
        fetch(cluster, 1, 0)
    lead(cluster, 1)
    cluster.write(1, COMMIT, "c")
    assert answers(cluster) == [None, None, None if kept == 1 else Errors.NOT_COORDINATOR]


@pytest.mark.parametrize(("rules", "log"), [(RULES, ("commit b", "commit a")), (FENCES, ("commit b",))])
def test_a_batch_survives_a_change_of_leadership_and_back(rules, log) -> None:
    cluster = CoordinatedCluster(rules)
    cluster.write(0, COMMIT, "a")
    lead(cluster, 1)
    written(cluster, 1, COMMIT, "b")
    fetch(cluster, 0, 1)
    cluster.move_leadership(0)
    learn(cluster, 0)
    cluster.coordinator_of(0).flush()
    assert payloads(cluster, 0) == log
    assert answers(cluster)[0] in (Errors.NOT_COORDINATOR, Errors.NOT_LEADER_OR_FOLLOWER)
    while cluster.coordinator_of(0).queue:
        cluster.coordinator_of(0).handle_event()
    loaded = cluster.observe_coordinators().coordinators[0]
    assert loaded is not None
    assert (loaded.epoch, loaded.group.commits) == (2, {payload.removeprefix("commit ") for payload in log})


def test_a_coordinator_that_finds_a_record_of_somebody_else_in_its_log_is_loaded_again() -> None:
    cluster = CoordinatedCluster(RULES)
    append(cluster, "commit x", leader=0)
    written(cluster, 0, COMMIT, "a")
    assert (payloads(cluster, 0), answers(cluster)) == (("commit x", "commit a"), [Errors.NOT_COORDINATOR])
    assert cluster.observe_coordinators().coordinators[0] is None
    cluster.coordinator_of(0).handle_event()
    loaded = cluster.observe_coordinators().coordinators[0]
    assert loaded is not None
    assert (loaded.epoch, loaded.group.commits, loaded.last_written_offset) == (0, {"a", "x"}, 2)


def test_a_coordinator_whose_broker_leads_again_and_has_missed_that_it_did_not_stays() -> None:
    cluster = CoordinatedCluster(RULES)
    written(cluster, 0, COMMIT, "a")
    cluster.move_leadership(1)
    cluster.move_leadership(0)
    images = [each for each in cluster.messages() if each.destination == 0 and isinstance(each.payload, MetadataImage)]
    for image in images[:-1]:
        cluster.drop(image.number)
    learn(cluster, 0)
    before = cluster.observe_coordinators().coordinators[0]
    cluster.coordinator_of(0).handle_event()
    assert before is not None
    assert cluster.observe_coordinators().coordinators[0] == replace(before, epoch=2)


def test_loading_that_comes_after_leadership_has_moved_on_loads_nothing() -> None:
    cluster = CoordinatedCluster(RULES)
    for leader in (1, 0):
        cluster.move_leadership(leader)
        learn(cluster, 0, 1)
    loads, unloads = (event.kind.value for event in cluster.coordinator_of(1).queue[1:])
    assert (loads, unloads) == ("load", "unload")
    for _ in range(3):
        cluster.coordinator_of(1).handle_event()
        assert cluster.observe_coordinators().coordinators[1] is None


def test_a_new_process_has_a_coordinator_that_is_not_loaded_and_that_of_the_old_one_answers_nothing() -> None:
    cluster = CoordinatedCluster(RULES)
    written(cluster, 0, COMMIT, "a")
    cluster.crash(0)
    with pytest.raises(ClusterError, match="broker 0 does not run, so it has no coordinator; restart it first"):
        cluster.coordinator_of(0)
    assert sorted(cluster.observe_coordinators().coordinators) == [1]
    cluster.end_session(0)
    cluster.restart(0)
    cluster.write(0, COMMIT, "b")
    assert cluster.observe_coordinators().coordinators[0] is None
    assert answers(cluster) == [None, Errors.NOT_COORDINATOR]


def test_what_a_coordinator_cannot_do_is_one_clear_line() -> None:
    cluster = CoordinatedCluster(RULES)
    coordinator = cluster.coordinator_of(0)
    with pytest.raises(ClusterError, match=r"^the coordinator has no open batch to flush$"):
        coordinator.flush()
    with pytest.raises(ClusterError, match=r"^the coordinator has no new high watermark to handle$"):
        coordinator.handle_high_watermark()
    with pytest.raises(ClusterError, match=r"^no event waits in the queue of the coordinator$"):
        coordinator.handle_event()
    with pytest.raises(ClusterError, match=r"^the coordinator of this broker is not active$"):
        cluster.coordinator_of(1).flush()
    cluster.write(0, COMMIT, "a")
    with pytest.raises(ClusterError, match=r"^the records of a conversion need a batch of their own; flush the open"):
        cluster.write(0, CLASSIC, "b")
    assert answers(cluster) == [None]
