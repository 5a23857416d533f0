"""Real clients through the proxy, which stands before the project's own server."""

from conformance.tests.wire.recording.proxying import passing
from conformance.tests.wire.serving import TOPIC, producer, read, running, send
from isrcheck.conformance.wire.recording.rules import read_script


def through(server, proxy):
    """Let clients find the proxy's ports instead of those of the server."""
    server.call(lambda: server.server.advertise(proxy.ports))
    server.bootstrap = server.server.bootstrap


def values_of(line, *path):
    """The values of all records of a request or response."""
    found = line["body"]
    for name in path:
        found = [one for each in (found if isinstance(found, list) else [found]) for one in each[name] or ()]
    return [one["value"] for batch in found for one in batch["records"]]


def test_clients_deliver_and_read_the_same_records_through_the_proxy():
    with running() as server, passing({number: port for number, (_, port) in enumerate(server.addresses)}) as proxy:
        through(server, proxy)
        with producer(server) as found:
            assert send(found, "a", "b", "c") == [(None, 0), (None, 1), (None, 2)]
            server.do("elect 2")
            assert send(found, "d") == [(None, 3)]
        assert read(server) == list(enumerate("abcd"))
    lines = proxy.sink.lines
    assert [one for one in lines if "undecoded" in one] == []
    produced = [one for one in lines if (one["kind"], one["api"]) == ("request", "Produce")]
    path = ("topic_data", "partition_data", "records")
    assert [value for one in produced if one["broker"] == 0 for value in values_of(one, *path)][:3] == list("abc")
    assert [value for one in produced if one["broker"] == 2 for value in values_of(one, *path)] == ["d"]
    assert {topic["name"] for one in produced for topic in one["body"]["topic_data"]} == {TOPIC}
    fetched = [one for one in lines if (one["kind"], one["api"]) == ("response", "Fetch")]
    path = ("responses", "partitions", "records")
    assert [value for one in fetched for value in values_of(one, *path)] == list("abcd")
    answers = [one for one in lines if one["kind"] == "response"]
    asked = {(one["broker"], one["api"], one["correlation"]) for one in lines if one["kind"] == "request"}
    assert {(one["broker"], one["api"], one["correlation"]) for one in answers} <= asked


def test_the_acknowledgement_of_a_real_producer_is_held(tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("hold response produce from broker 0 until released", encoding="utf-8")
    with running() as server:
        targets = {number: port for number, (_, port) in enumerate(server.addresses)}
        with passing(targets, read_script(script, targets)) as proxy:
            through(server, proxy)
            told = []
            with producer(server) as found:
                found.produce(TOPIC, "a", on_delivery=lambda error, one: told.append((error, one.offset())))
                assert found.flush(0.3) == 1
                assert read(server) == [(0, "a")]  # it is in the log, and its producer does not know
                assert told == []
                proxy.say("release 1")
                assert found.flush(10) == 0
            assert told == [(None, 0)]
    (held,) = (one for one in proxy.sink.lines if one["kind"] == "held")
    assert (held["what"], held["rule"], held["broker"], held["api"]) == ("response", "line 1", 0, "Produce")
