"""A play moves a real consumer to where the trace's consumer fetches, even if an error does not move it."""

import asyncio

from conformance.tests.support.replay import steps_in, trace_of
from isrcheck.conformance.cluster.network.messages import ConsumerFetchRequest, Errors, Isolation
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.wire.driving.events import be_silent
from isrcheck.conformance.wire.script import consuming, stage
from isrcheck.conformance.wire.script.played import Played

VALUES = {"replicas": 2, "min_insync_replicas": 1, "records": 1, "consumers": 1, "follower_fetching": 1}
STEPS = steps_in(
    "producer_appends at 0; leader_handles_fetch 0 from 1; follower_applies_response 1 from 0;"
    " leader_handles_fetch 0 from 1; consumer_is_sent_to_follower 0 by 0 to 1;"
    " consumer_returns_to_leader 0"
)


class Unmoved:
    """A consumer that has learned of the leader in the midst of a move: an error leaves it where it is."""

    def __init__(self, *_):
        self.read = []

    def end(self):
        pass


async def fetches(cast, answers):
    """What it does on the network: the broker and the answer of each fetch, until it fetches from the leader again."""
    broker = 0
    while True:
        answer = await cast.ask(broker, ConsumerFetchRequest(0, Isolation.READ_UNCOMMITTED, 0), "reader 0")
        answers.append((broker, answer.error, answer.preferred_read_replica))
        if answer.preferred_read_replica is not None:
            broker = answer.preferred_read_replica


async def play(trace, answers):
    driver = Driver(None)
    driver.begin(trace)
    cast = stage.Stage(driver.cluster, "topic", be_silent)
    consumers = consuming.Consuming(trace, cast, "", Played(), be_silent)
    consumers.begin()
    client = asyncio.create_task(fetches(cast, answers))
    try:
        for position, step in enumerate(trace.steps, start=1):
            await consumers.before(step, position)
            driver.take(step)
            await consumers.after(step, position)
    finally:
        client.cancel()
    return [each.broker for each in cast.fetches]


def test_a_consumer_that_an_error_does_not_move_is_sent_to_the_leader(monkeypatch):
    """The real one is such a consumer in about one play of a hundred, on a busy machine (librdkafka 2.16)."""
    monkeypatch.setattr(consuming, "PositionedConsumer", Unmoved)
    monkeypatch.setattr(stage, "SECONDS", 0.2)
    answers = []
    assert asyncio.run(play(trace_of(STEPS, "2.4", **VALUES), answers)) == [0]
    assert answers == [(0, Errors.NONE, 1), (1, Errors.NONE, 0)]
