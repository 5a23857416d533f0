"""Vector graphics of traces: well formed and complete, without duplicates, with all text escaped."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.support import trace
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.traces.drawing.graphics import ZOOM, Drawing, changes, draw_lane, ladder_svg, png, step_svg
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.lanes.scene import Arrow, Cell, Lane, Mark, Moment, Scene
from isrcheck.traces.pages.shell import COLOURS, style_of

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<script>alert('&\"')</script>\x1b[31m\x00"
SHOWN = "<script>alert('&\"')</script>�[31m�"


def evil() -> Scene:
    lane = Lane(EVIL, EVIL, (Cell(EVIL, 0),), ((EVIL, 0), ("HW", 1)), (EVIL,), (EVIL,))
    moment = Moment(EVIL, (lane, lane), (Arrow(0, 1, EVIL),), (Mark(0, EVIL),), (), ((EVIL,),), EVIL + "!")
    return Scene(EVIL, EVIL, EVIL, (EVIL, EVIL), (EVIL,), (moment,))


def classic() -> Scene:
    return scene_of(trace.kafka(trace.CLASSIC, "acked_not_lost"))


def texts(root: ET.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_the_ladder_has_every_step_and_every_message() -> None:
    scene = classic()
    root = ET.fromstring(ladder_svg(scene))
    found = texts(root)
    assert found[: len(scene.lanes)] != []
    for moment in scene.moments:
        assert all(arrow.text in found for arrow in moment.arrows)
        assert all(mark.text in found for mark in moment.marks)
    assert len([one for one in root.iter(f"{SVG}g") if one.get("class") == "moment"]) == 7


@pytest.mark.parametrize(
    "name",
    [
        "kafka_acks_all_truncation_to_high_watermark",  # the drawing in the README
        "kafka_stale_record",  # AlterPartition, metadata records, and a pending change that is dropped
    ],
)
def test_golden_drawing(name: str, request: pytest.FixtureRequest) -> None:
    path = golden_support.FOLDER / f"{name}.svg"
    golden = golden_support.read(path.with_suffix(".txt").read_text(encoding="utf-8"))
    drawn = ladder_svg(scene_of(golden_support.derive(golden))) + "\n"
    if request.config.getoption("--rewrite-golden"):
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8"), "rewrite with: pytest --rewrite-golden"


def test_repeated_contents_of_a_lane_are_drawn_once() -> None:
    scene = classic()
    root = ET.fromstring(ladder_svg(scene))
    names = [one.get("id") for one in next(root.iter(f"{SVG}defs"))]
    assert len(names) == len(set(names)) == len({lane for moment in scene.moments for lane in moment.lanes}) == 17
    used = {(one.get("href") or "").removeprefix("#") for one in root.iter(f"{SVG}use")}
    assert used == set(names)


def test_a_row_shows_the_lanes_that_changed() -> None:
    drawing = Drawing(classic())
    assert drawing.changed_lanes(0) == [0, 1, 2, 3, 4, 5]
    assert drawing.changed_lanes(1) == [1, 4]
    assert drawing.changed_lanes(4) == [1, 2, 4, 5]


def test_changed_values_have_an_outline() -> None:
    drawing = Drawing(classic())
    assert len(drawing.changes(0)) == 0
    outlined = [
        [key for key, (_, content) in after.things.items() if content != before.things.get(key, (None, None))[1]]
        for position, lane in ((1, 1), (4, 1), (6, 4))
        for before, after in [(drawing.fragment(position - 1, lane), drawing.fragment(position, lane))]
    ]
    assert outlined == [
        ["offset 0", "LEO", "note acks=all waits: a: 0"],
        ["HW", "note followers at 1:1 2:0: 0"],
        ["note a is lost: 0"],
    ]
    assert [len(drawing.changes(position)) for position in range(7)] == [0, 4, 1, 2, 6, 2, 5]


def test_a_note_that_only_moved_has_no_outline() -> None:
    before = draw_lane(Lane(notes=("a: committed",), alarms=("a is lost",)))
    after = draw_lane(Lane(notes=("a: committed", "b: sent"), alarms=("a is lost",)))
    assert list(changes(before, after)) == [(after.things["note b: sent: 0"][0], False)]


def test_what_another_broker_makes_of_a_lane_is_no_change_of_its_title() -> None:
    before, after = (draw_lane(Lane("leads in epoch 0", role)) for role in ("leader", "zombie"))
    assert list(changes(before, after)) == []


def test_everything_is_drawn_within_its_lane() -> None:
    pointers = {"start": 0, "LSO": 0, "HW": 3, "LEO": 6}
    fragment = draw_lane(Lane("", "", (Cell("a0", 0),) * 6, tuple(pointers.items())))
    assert fragment.things.keys() == {*(f"offset {offset}" for offset in range(6)), *pointers}
    for box, _ in fragment.things.values():
        assert box.left >= 0 and box.left + box.width <= fragment.width
        assert box.top >= 0 and box.top + box.height <= fragment.height


def test_a_drawing_has_a_title_and_a_description_for_screen_readers() -> None:
    headline = (
        "An acknowledged record is lost: broker 1 cuts it from its log when it restarts, and is elected, although"
        " broker 0 still has it"
    )
    for drawn, first, last in ((ladder_svg(classic()), 0, 6), (step_svg(classic(), 6), 6, 6)):
        root = ET.fromstring(drawn)
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None and title.text == headline
        assert description is not None and description.text is not None
        words = "6: the controller takes broker 0 for dead, and elects broker 1"
        assert description.text.startswith(f"acked_not_lost, 6 steps, kafka/0.10, default configuration. {first}: ")
        assert description.text.endswith(words if first == last else f"; {words}")
        assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title description")
        assert " ".join(texts(root)).startswith(
            f"{headline} acked_not_lost, 6 steps, kafka/0.10, default configuration"
        )


def test_the_elected_broker_is_shown_in_the_step_that_elects_it() -> None:
    scene = classic()
    assert [" ".join(lane.role for lane in scene.moments[step].lanes) for step in (5, 6)] == [
        "controller leader follower follower client client",
        "controller zombie elected follower client client",
    ]
    assert "elected for epoch 1" in scene.moments[6].lanes[2].notes


def test_a_removed_record_is_crossed_out() -> None:
    drawing = Drawing(classic())
    kinds = [[one.get("class") for one in drawing.changes(position)] for position in range(7)]
    assert kinds[5] == ["changed", "gone"]
    assert [position for position, found in enumerate(kinds) if "gone" in found] == [5]
    assert "✗ a is lost" in texts(ET.fromstring(ladder_svg(classic())))


def test_one_step_shows_all_lanes() -> None:
    root = ET.fromstring(step_svg(classic(), 6))
    assert len(list(root.iter(f"{SVG}use"))) == 6
    assert "elects 1" in texts(root)
    assert "ack a" not in texts(root)


def test_names_and_values_are_escaped() -> None:
    for drawn in (ladder_svg(evil()), step_svg(evil(), 0)):
        root = ET.fromstring(drawn)
        assert not [one for one in root.iter() if one.tag.endswith("script")]
        assert texts(root).count(SHOWN) >= 4
        assert "<script" not in drawn


def test_graphics_contain_their_colours() -> None:
    drawn = step_svg(classic(), 6)
    assert "var(" not in drawn
    assert all(f"fill:{COLOURS[name][0]}" in drawn for name in ("paper", "e0", "e7"))
    style = style_of(())
    assert all(f"--{name}:{colour}" in style for name, pair in COLOURS.items() for colour in pair)


def test_a_picture_is_a_png_with_the_size_of_the_drawing() -> None:
    pytest.importorskip("resvg_py", reason="pip install 'isrcheck[viewer]'")
    drawn = step_svg(classic(), 6)
    root = ET.fromstring(drawn)
    content = png(drawn)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert abs(width - ZOOM * float(root.get("width") or 0)) <= ZOOM
    assert abs(height - ZOOM * float(root.get("height") or 0)) <= ZOOM


def test_a_long_action_is_broken_at_an_underscore() -> None:
    golden = golden_support.read((golden_support.FOLDER / "kafka_stale_record.txt").read_text(encoding="utf-8"))
    found = texts(ET.fromstring(step_svg(scene_of(golden_support.derive(golden)), 5)))
    assert found[: found.index("partition of 0")][-1] == "controller_handles_alter_"


def test_the_last_step_of_a_lasso_says_how_it_goes_on() -> None:
    history = next(one.history for one in failures() if one.number == "8.21a")
    assert history is not None
    last = scene_of(golden_support.steps_of(history)).moments[-1]
    assert last.words == "broker 0 hears that broker 1 leads, in epoch 3 (stays here for ever)"
    assert last.step == "broker_becomes_follower 0 in epoch 3, stays here for ever"
