"""Sequence diagrams as text: a whole short diagram, and escaped names."""

from __future__ import annotations

from conformance.tests.support import trace
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.drawing.sequence import mermaid, plantuml
from isrcheck.traces.lanes.scene import LOST, Arrow, Lane, Mark, Moment, Scene

STEPS = ("producer_appends at 0", "leader_handles_fetch 0 from 1", "response_is_lost to 1 from 0", "broker_crashes 0")
EVIL = 'x;y#z<b>"%%{init}%%\nend @enduml'


def history() -> Scene:
    return scene_of(trace.kafka(STEPS, None, replicas=2, min_insync_replicas=1))


def evil() -> Scene:
    moment = Moment(EVIL, (Lane(EVIL), Lane()), (Arrow(0, 1, EVIL, LOST),), (Mark(1, EVIL),))
    return Scene(EVIL, EVIL, EVIL, (EVIL, "b"), (), (moment,))


def test_mermaid() -> None:
    lines = mermaid(history()).splitlines()
    assert lines[:7] == [
        "sequenceDiagram",
        "  title A behaviour of 4 steps",
        "  participant p0 as controller",
        "  participant p1 as broker 0",
        "  participant p2 as broker 1",
        "  participant p3 as producer",
        "  participant p4 as readers",
    ]
    assert lines[-10:] == [
        "  Note over p0,p4: 2 leader_handles_fetch 0 from 1",
        "  p2->>p1: fetch from 0",
        "  p1--)p2: a0, HW 1",
        "  Note over p2: follows 0 in epoch 0#59; |#59; fetch answered by 0",
        "  Note over p0,p4: 3 response_is_lost to 1 from 0",
        "  p1--xp2: response",
        "  Note over p2: follows 0 in epoch 0#59; |",
        "  Note over p0,p4: 4 broker_crashes 0",
        "  Note over p1: CRASHES",
        "  Note over p1: down#59; a0 |",
    ]


def test_plantuml() -> None:
    lines = plantuml(history()).splitlines()
    assert lines[:3] == ["@startuml", "skinparam sequenceMessageAlign center", "title A behaviour of 4 steps"]
    assert lines[3] == 'participant "controller" as p0'
    assert lines[-4:] == [
        "== 4 broker<U+005F>crashes 0 ==",
        "note over p1 : CRASHES",
        "note over p1 : down; a0 <U+007C>",
        "@enduml",
    ]
    assert "p1 -->x p2 : response" in lines


def test_names_are_never_diagram_commands() -> None:
    name = "x#59;y#35;z#60;b#62;#34;#37;#37;#123;init#125;#37;#37; end @enduml"
    assert mermaid(evil()).splitlines() == [
        "sequenceDiagram",
        f"  title {name}",
        f"  participant p0 as {name}",
        "  participant p1 as b",
        f"  Note over p0,p1: 0 {name}",
        f"  p0--xp1: {name}",
        f"  Note over p1: {name}",
        f"  Note over p0: {name}",
    ]
    lines = plantuml(evil()).splitlines()
    assert len(lines) == len(mermaid(evil()).splitlines()) + 2, "skinparam and @enduml"
    assert lines.count("@enduml") == 1
    assert not any(sign in line for line in lines[1:-1] for sign in ("<b>", "%%", "@enduml"))
