"""The page of a state graph: its contents, self-containment, layout, and behaviour in a real browser."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from conformance.tests.checker.graph.test_state_graph import LIGHT, drawn
from conformance.tests.sampling import exhaustive
from conformance.tests.support.browser import Page, contrast, overlaps
from isrcheck.checker.graph.drawing import MOST_LABELS, lay_out
from isrcheck.checker.graph.files import page
from isrcheck.commands.program import product

pytestmark = pytest.mark.sampled

GRAPHS = {
    "light": lambda folder: drawn(folder / "light.py"),
    "two_phase_commit": lambda folder: drawn("examples/two_phase_commit", 3),
    "kafka": lambda folder: drawn("kafka", 4, fold=["isr", "leader"], protocol="0.10"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("graphs")
    (made / "light.py").write_text(LIGHT)
    for name, graph in GRAPHS.items():
        (made / f"{name}.html").write_text(page(graph(made)).alone(), encoding="utf-8")
    return made


class Contents:
    """The contents of a page, parsed as XML."""

    def __init__(self, text):
        self.text = text
        start = text.index('<svg viewBox="', text.index("<main>"))
        self.drawing = ET.fromstring(text[start : text.index("</svg>", start) + len("</svg>")])
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
        self.data = json.loads(data[1])

    def marked(self):
        return [one for one in self.drawing.iter("g") if one.get("class")]


# ----------------------------------------------------------------------------------------------------- what is in it


def test_the_page_is_self_contained_and_model_text_is_escaped(folder):
    contents = Contents((folder / "light.html").read_text())
    assert [one.get("class") for one in contents.marked()] == [
        *("edge", "edge", "edge", "edge violated"),
        *("node initial component", "node permitted component", "node violated dead"),
    ]
    assert contents.text.count("<script") == 2
    assert "<title>State graph of light - isrcheck</title>" in contents.text
    assert f"<p>{product()}</p>" in contents.text
    assert re.findall(r"(?:src|href)=|https?:|@import|url\((?!#)", contents.text) == []
    assert "\x1b" not in contents.text
    assert [node["fields"] for node in contents.data["nodes"]] == [
        [["light", "<script>alert(1)</script>"]],
        [["light", 'a "b" \\ &amp;']],
        [["light", "\\x1b[31mout\\u2028]]></svg>"]],
    ]
    assert contents.data["nodes"][2]["notes"] == ["dead end", "is_lit is VIOLATED", "is_red is VIOLATED"]
    titles = [one.find("title").text for one in contents.marked()]
    assert titles[3:5] == [
        "1 to 2: light_burns_out; does_not_burn_out_when_green VIOLATED",
        "light <script>alert(1)</script>\ninitial\nstrongly connected component 1",
    ]
    assert [(one["depth"], one["notes"][-1]) for one in contents.data["nodes"][:2]] == [
        (0, "strongly connected component 1"),
        (1, "strongly connected component 1"),
    ]


def texts(contents, kind):
    return [one.text for one in contents.drawing.iter("text") if one.get("class") == kind]


def test_the_texts_in_the_drawing(folder):
    light = Contents((folder / "light.html").read_text())
    assert texts(light, "number") == ["0", "1~", "2!"]
    assert texts(light, "component") == ["c1", "c1"]
    assert texts(light, "depth") == ["depth 0", "depth 1"]
    assert texts(light, "label") == ["light_changes", "light_burns_out", "light_changes", "light_burns_out"]
    kafka = Contents((folder / "kafka.html").read_text())
    assert len(kafka.data["edges"]) > MOST_LABELS
    assert texts(kafka, "label") == []
    assert texts(kafka, "note")[:3] == ["isr [{0,1} {} {}]", "leader [0 0 0]", "(146 states)"]


def test_long_and_numerous_lines_are_truncated():
    folded = drawn("kafka", 1, fold=["isr", "leader", "controller_leader", "is_up", "log_record"], protocol="0.10")
    contents = Contents(page(folded).alone())
    assert texts(contents, "note")[:4] == ["isr [{0,1} {} {}]", "leader [0 0 0]", "…", "(3 states)"]
    long = drawn("kafka", 1, fold=["log_record"], protocol="0.10")
    assert texts(Contents(page(long).alone()), "note")[0] == "log_record [[none none] [no…"


def test_a_tall_column_is_split():
    graph = drawn("examples/two_phase_commit", 3)
    layout = lay_out(graph, 84, 46, 30)
    assert [column.depth for column in layout.columns] == [0, 1, 2, 3]
    assert [column.width for column in layout.columns] == [84 * strands + 30 for strands in (1, 1, 2, 4)]
    assert layout.places[0] == complex(57, layout.height / 2)
    of_depth = {node.number: layout.columns[node.depth] for node in graph.nodes()}
    assert all(of_depth[n].left < p.real < of_depth[n].left + of_depth[n].width for n, p in layout.places.items())
    assert len(set(layout.places.values())) == len(graph.nodes())


# ------------------------------------------------------------------------------------------------------- in a browser


def test_the_page_in_a_browser(browser, folder):
    opened = Page(browser, folder / "light.html", scheme="dark")
    with opened as shown:
        shown.click("[data-node='2']")
        panel = shown.inner_text("#panel").splitlines()
        assert [line for line in panel if line.strip()] == [
            *("Node 2, depth 1", "dead end", "is_lit is VIOLATED", "is_red is VIOLATED"),
            "light\t\\x1b[31mout\\u2028]]></svg>",
            *("comes from", "0: light_burns_out", "1: light_burns_out; does_not_burn_out_when_green VIOLATED"),
        ]
        shown.click("#panel button >> nth=0")
        assert "light\t<script>alert(1)</script>" in shown.inner_text("#panel").splitlines()
        near = shown.evaluate("[...document.querySelectorAll('.near')].map(one => one.dataset.edge).sort()")
        assert near == ["0", "1", "2"]
        shown.focus("[data-node='1']")
        shown.keyboard.press("Enter")
        assert shown.inner_text("#panel h2") == "Node 1, depth 1"
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
        assert opened.complaints == []
        assert opened.requests == [(folder / "light.html").as_uri()]


def test_the_graph_can_be_panned_and_zoomed(browser, folder):
    with Page(browser, folder / "light.html") as shown:

        def view():
            return [float(one) for one in shown.get_attribute("#graph", "viewBox").split()]

        whole = view()
        shown.click("#in")
        assert view()[2] == pytest.approx(whole[2] / 1.4)
        shown.click("#fit")
        assert view() == whole
        shown.mouse.move(100, 700)
        shown.mouse.wheel(0, 100)
        shown.wait_for_function(f"document.getElementById('graph').viewBox.baseVal.width > {whole[2] + 1}")
        shown.click("#fit")
        shown.mouse.move(100, 700)
        shown.mouse.down()
        shown.mouse.move(150, 650, steps=5)
        shown.mouse.up()
        assert view()[0] < whole[0] - 10
        assert view()[1] > whole[1] + 10
        assert view()[2:] == whole[2:]


EMPTY_PICTURE = 10_000
"""More bytes than a picture without a drawing has."""

PLACES = """
  apart('regions', all(document, 'header, #graph, aside'));
  apart('header', all(document, 'header > *'));
  apart('controls', all(document, '#controls > *'));
  apart('legend', all(document, '.legend > *'));
  apart('beside', all(document, 'aside > *'));
  apart('drawing', all(document, '#graph .node, .label, .depth'));
  const frame = document.getElementById('graph').getBoundingClientRect();
  for (const [name, b] of all(document, '#graph .node, .label, .depth, .edge')) {
    if (b.left < frame.left || b.right > frame.right || b.top < frame.top || b.bottom > frame.bottom)
      found.push(name + ' leaves the drawing');
  }
  for (const number of document.querySelectorAll('#graph .number')) {
    const shape = number.parentNode.querySelector('.shape').getBoundingClientRect();
    if (number.getBoundingClientRect().width > shape.width) found.push(number.textContent + ' leaves its node');
  }
"""


@pytest.mark.parametrize("scheme", ["light", exhaustive("dark")])
@pytest.mark.parametrize("width", [1280, exhaustive(1920)])
@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_overlaps_and_all_text_is_readable(name, width, scheme, browser, folder):
    opened = Page(browser, folder / f"{name}.html", width, width * 5 // 8, scheme)
    with opened as shown:
        shown.locator("[data-node='1']").dispatch_event("click")
        assert overlaps(shown, PLACES) == []
        assert contrast(shown, "h1, h2, h3, p, span, td, button, #graph text") >= 4.5
        assert opened.keep(f"graph_{name}_{width}_{scheme}").stat().st_size > EMPTY_PICTURE


def test_the_check_for_overlaps_detects_one(browser, folder):
    with Page(browser, folder / "light.html") as shown:
        shown.evaluate("""() => {
          const [, one, other] = document.querySelectorAll('#graph .node');
          other.setAttribute('transform', one.getAttribute('transform'));
        }""")
        assert len(overlaps(shown, PLACES)) == 1
        shown.evaluate("() => { document.querySelector('#graph .shape').style.fill = '#555'; }")
        assert contrast(shown, "#graph text") < 4.5
