"""A trace of transactions as a scene: lanes, and the messages of every action."""

from __future__ import annotations

from conformance.tests.support.golden import steps_of
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.lanes.scene import Cell, Lane, Scene
from isrcheck.traces.transactions.messages import SENT

WITHOUT_MESSAGES = {"producer_begins_transaction"}


def hanging() -> Scene:
    history = next(one.history for one in failures() if one.number == "8.17a")
    assert history is not None
    return scene_of(steps_of(history))


def told(scene: Scene, position: int) -> list[str]:
    moment = scene.moments[position]
    sent = [f"{scene.lanes[a.source]} > {scene.lanes[a.target]}: {a.text} ({a.kind})" for a in moment.arrows]
    return [*sent, *(f"{scene.lanes[one.lane]}: {one.text} ({one.kind})" for one in moment.marks)]


def test_every_action_has_messages() -> None:
    for model in ("transactions", "transactions_liveness"):
        names = {action.name for action in registry.load(model)[0].actions}
        assert names == SENT.keys() | WITHOUT_MESSAGES


def test_the_messages_of_a_hanging_transaction() -> None:
    scene = hanging()
    assert [told(scene, position) for position in range(13)] == [
        [],
        [],
        ["producer 0 > coordinator: add partition 0 (request)"],
        ["coordinator: Ongoing is in the log (election)"],
        ["producer 0 > partition 0: record a (response)"],
        ["producer 0 > coordinator: EndTxn abort (response)"],
        ["producer 0 > coordinator: EndTxn abort (request)"],
        ["producer 0: stops (fault)"],
        ["coordinator: PrepareAbort is in the log (election)"],
        ["coordinator > partition 0: abort marker (response)"],
        ["coordinator > partition 0: abort marker (request)"],
        ["partition 0 > coordinator: marker appended (request)"],
        ["producer 0 > partition 0: record a (request)", "partition 0: record a is late (fault)"],
    ]


NOTES = ("knows producer epoch 0", "knows coordinator epoch 0", "marker answered")


def test_the_lanes_of_a_hanging_transaction() -> None:
    scene = hanging()
    assert scene.lanes == ("coordinator", "producer 0", "partition 0", "partition 1")
    assert scene.moments[4].lanes == (
        Lane(
            title="Ongoing",
            role="controller",
            cells=(),
            pointers=(),
            notes=("coordinator epoch 0", "producer epoch 0", "partitions 0"),
            alarms=(),
            characters=26,
        ),
        Lane(
            title="in transaction",
            role="client",
            cells=(),
            pointers=(),
            notes=("epoch 0", "transaction a, input 0"),
            alarms=(),
            characters=26,
        ),
        Lane(
            title="",
            role="",
            cells=(Cell(text="", epoch=None, kind="free"),),
            pointers=(("HW", 0), ("LEO", 0)),
            notes=("under way: a",),
            alarms=(),
            characters=26,
        ),
        Lane(
            title="",
            role="",
            cells=(Cell(text="", epoch=None, kind="free"),),
            pointers=(("HW", 0), ("LEO", 0)),
            notes=(),
            alarms=(),
            characters=26,
        ),
    )
    assert scene.moments[12].lanes[2] == Lane("", "", (Cell("a"),), (("HW", 0), ("LEO", 1)), NOTES)
