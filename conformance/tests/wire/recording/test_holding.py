"""Rules of a script: which lines are rules, and what they do to messages."""

import pytest

from conformance.tests.wire.recording.proxying import answer, answered, ask, node, passing, soon
from isrcheck.conformance.wire.recording.rules import COMMANDS, MOST_BYTES, Party, Pattern, Rule, read_script
from isrcheck.models.messages import UsageError

NOT_YET = 0.03
"""Seconds in which a message that is not held has long passed."""

FETCHER, OTHER = "broker-2-fetcher-0", "broker-3-fetcher-0"


def script(folder, *lines, nodes=(1, 2, "controller")):
    path = folder / "script.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_script(path, nodes)


def test_a_script_is_read(tmp_path):
    assert script(
        tmp_path,
        "# the follower is slow",
        "hold fetch from broker 2 to controller until Fetch from broker 3 to broker 1",
        "",
        "delay produce to broker 1 by 200 ms  # a comment",
        "hold response AlterPartition from controller to broker 1 after begun until released",
    ) == (
        Rule(
            2,
            "hold fetch from broker 2 to controller until Fetch from broker 3 to broker 1",
            Pattern("request", "fetch", Party(2), Party("controller")),
            None,
            None,
            Pattern("request", "fetch", Party(3), Party(1)),
        ),
        Rule(4, "delay produce to broker 1 by 200 ms", Pattern("request", "produce", None, Party(1)), 0.2, None, None),
        Rule(
            5,
            "hold response AlterPartition from controller to broker 1 after begun until released",
            Pattern("response", "alter_partition", Party("controller"), Party(1)),
            None,
            "begun",
            "released",
        ),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("lose fetch", "lose: no such rule; write hold MESSAGE until MOMENT, or delay MESSAGE by N ms"),
        ("hold", "the line ends too early; name an API, such as fetch, produce, alter_partition, or any"),
        ("hold fetsh until released", "fetsh: no such API; did you mean fetch?"),
        (
            "hold xyzzy until released",
            "xyzzy: no such API; write, for example, fetch, produce, alter_partition, or any",
        ),
        ("hold fetch", "the hold has no end; write until released, or until MESSAGE"),
        ("hold fetch until", "the line ends too early; name an API, such as fetch, produce, alter_partition, or any"),
        ("hold fetch from until released", "until: write broker N, controller, or client ID"),
        ("hold fetch to broker x until released", "broker x: not the id of a broker; write its number"),
        ("hold fetch to broker 7 until released", "7: there is no such node; the nodes are 1, 2, controller (--node)"),
        (
            "hold fetch to client a until released",
            "client: only brokers and controllers get requests and send responses; name a broker or controller",
        ),
        (
            "hold fetch from controller until released",
            "controller: a controller that sends requests is named with its id; write controller-ID",
        ),
        ("delay fetch until released", "the delay has no length; write, for example, by 200 ms"),
        ("delay fetch by 0 ms", "0: not a valid delay; give 1 to 3600000 ms"),
        ("delay fetch by 1 s", "the delay is not in milliseconds; write, for example, by 200 ms"),
        ("hold fetch until released now", "now: it does not belong here; write hold MESSAGE until MOMENT, or delay"),
    ],
)
def test_a_bad_rule_is_named_with_its_line_and_the_cure(line, message, tmp_path):
    with pytest.raises(UsageError) as caught:
        script(tmp_path, "# first", line)
    assert str(caught.value).startswith(f"{tmp_path}/script.txt:2: {message}")


def test_a_script_is_bounded(tmp_path):
    with pytest.raises(UsageError, match="it has more than 65536 bytes"):
        script(tmp_path, "#" * (MOST_BYTES + 1))
    with pytest.raises(UsageError, match="101 rules are too many; give at most 100"):
        script(tmp_path, *["hold any until released"] * 101)
    with pytest.raises(UsageError, match="cannot be read: No such file or directory; name a file with one rule a line"):
        read_script(tmp_path / "none", (1,))


@pytest.mark.parametrize("client", ["2", "raft-client-2", "broker-2-fetcher-0", "broker-2-to-controller"])
def test_a_broker_has_several_client_ids(client):
    assert Party(2).is_client(client)
    assert not Party(22).is_client(client)
    assert not Party(None, "producer").is_client(client)


def test_a_client_is_named_by_its_id_or_the_start_of_it():
    assert Party(None, "prod*").is_client("producer")
    assert not Party(None, "prod").is_client("producer")
    assert not Party(2).is_client(None)
    assert Party("controller-100").is_client("raft-client-100")


def test_a_hold_ends_with_a_message_and_keeps_the_order_of_its_connection(tmp_path):
    rules = script(tmp_path, "hold heartbeat from broker 2 to broker 1 until heartbeat from broker 3 to broker 2")
    with (
        node(answer) as one,
        node(answer) as two,
        passing({1: one, 2: two}, rules) as proxy,
        proxy.connect(1) as held,
        proxy.connect(1) as free,
        proxy.connect(2) as ending,
    ):
        ask(ending, 1, OTHER)  # before anything is held, it ends nothing
        assert answered(ending) == 1
        ask(held, 5, FETCHER)
        ask(held, 6, FETCHER)
        soon(lambda: "held" in proxy.sink.kinds())
        ask(free, 7, OTHER)
        assert answered(free) == 7
        assert answered(held, NOT_YET) is None
        ask(ending, 2, OTHER)
        assert [answered(held), answered(held), answered(ending)] == [5, 6, 2]
        ask(held, 8, FETCHER)  # the hold is over
        assert answered(held) == 8
    lines = [one for one in proxy.sink.lines if one["kind"] in ("fault", "held")]
    passed = [
        one["correlation"] for one in proxy.sink.lines if (one["kind"], one.get("client")) == ("request", FETCHER)
    ]
    assert passed == [5, 6, 8]
    about = {"client": FETCHER, "broker": 1, "api": "Heartbeat", "version": 0, "correlation": 5}
    body = {"group_id": "g", "generation_id": 7, "member_id": "m"}
    assert lines == [
        {"kind": "fault", "what": "hold", "rule": "line 1", "text": rules[0].text},
        {"kind": "held", "what": "request", "rule": "line 1", **about, "body": body},
        {"kind": "fault", "what": "release", "rule": "line 1", "held_now": 1},
    ]


def test_a_response_is_held_until_a_person_releases_it(tmp_path):
    rules = script(tmp_path, "", "hold response heartbeat to client me after begun until released")
    with node(answer) as port, passing({1: port}, rules) as proxy, proxy.connect() as connection:
        ask(connection, 1, "me")
        assert answered(connection) == 1
        proxy.say("begin 2")
        ask(connection, 2, "me")
        soon(lambda: "held" in proxy.sink.kinds())
        assert answered(connection, NOT_YET) is None
        proxy.say("note broker 1 is stopped")
        proxy.say("release 2")
        assert answered(connection) == 2
        ask(connection, 3, "me")
        assert answered(connection) == 3
        proxy.say("release 2")
        proxy.say("release 9")
        proxy.say("jump")
        proxy.say("")
        found = [one for one in proxy.sink.lines if one["kind"] in ("held", "fault")]
    assert [(one["kind"], one["what"]) for one in found] == [
        ("fault", "hold"),
        ("held", "response"),
        ("fault", "note"),
        ("fault", "release"),
    ]
    assert (found[1]["body"], found[2]["text"]) == ({"error_code": "none"}, "broker 1 is stopped")
    assert proxy.told[-3:] == [
        "line 2 is over already",
        "9: no such rule; the lines of the rules are: 2",
        f"jump: no such command; the commands are: {COMMANDS}",
    ]


def test_held_messages_pass_one_by_one(tmp_path):
    rules = script(tmp_path, "hold heartbeat until released")
    with node(answer) as port, passing({1: port}, rules) as proxy, proxy.connect() as connection:
        for number in (1, 2, 3):
            ask(connection, number, "me")
        for number in (1, 2):
            soon(lambda number=number: proxy.sink.kinds().count("held") == number)
            assert answered(connection, NOT_YET) is None
            proxy.say("pass 1")
            assert answered(connection) == number
        proxy.say("release 1")
        assert answered(connection) == 3
    acts = [(one["what"], one["held_now"]) for one in proxy.sink.lines[1:] if one["kind"] == "fault"]
    assert acts[:2] == [("pass", 1), ("pass", 1)] and acts[2][0] == "release"


def test_a_message_that_begins_a_hold_passes(tmp_path):
    rules = script(tmp_path, "hold heartbeat to broker 1 after heartbeat to broker 1 until released")
    with node(answer) as port, passing({1: port}, rules) as proxy, proxy.connect() as connection:
        ask(connection, 1, "me")
        assert answered(connection) == 1
        ask(connection, 2, "me")
        assert answered(connection, NOT_YET) is None


def test_a_delay_is_as_long_as_it_says_and_ends_when_it_should(tmp_path):
    rules = script(tmp_path, "delay heartbeat from client slow by 60 ms until heartbeat from client other")
    with node(answer) as port, passing({1: port}, rules) as proxy, proxy.connect() as slow, proxy.connect() as other:
        ask(slow, 1, "slow")
        assert answered(slow, NOT_YET) is None
        assert answered(slow) == 1
        ask(other, 2, "other")
        assert answered(other) == 2
        ask(slow, 3, "slow")
        assert answered(slow) == 3
        assert proxy.sink.kinds().count("held") == 1


def test_a_message_whose_client_gives_up_is_dropped(tmp_path):
    reached = []

    def keep(connection):
        reached.append(connection.recv(1))

    rules = script(tmp_path, "hold heartbeat until released")
    with node(keep) as port, passing({1: port}, rules) as proxy:
        with proxy.connect() as connection:
            ask(connection, 4, "me")
            soon(lambda: "held" in proxy.sink.kinds())
        soon(lambda: "dropped" in proxy.sink.kinds())
        proxy.say("release 1")
    about = {"client": "me", "broker": 1, "api": "Heartbeat", "version": 0, "correlation": 4}
    assert proxy.sink.lines[2:] == [
        {"kind": "dropped", "what": "request", "rule": "line 1", **about},
        {"kind": "fault", "what": "release", "rule": "line 1", "held_now": 0},
    ]
    assert reached == [b""]


def test_what_is_held_at_the_end_is_dropped(tmp_path):
    with node(answer) as port:
        with passing({1: port}, script(tmp_path, "hold heartbeat until released")) as proxy:
            connection = proxy.connect()
            ask(connection, 4, "me")
            soon(lambda: "held" in proxy.sink.kinds())
        connection.close()
    assert proxy.sink.kinds() == ["fault", "held", "dropped"]
