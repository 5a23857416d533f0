"""The plots of a report: readable ticks, a mark for each value, and a text for each mark."""

from __future__ import annotations

import pytest

from isrcheck.checker.reports.page import Bar, bars, line, log_ticks, short, ticks


@pytest.mark.parametrize(
    ("most", "found"),
    [
        (0, [0, 1]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (7, [0, 2, 4, 6, 8]),
        (10, [0, 2, 4, 6, 8, 10]),
        (43, [0, 10, 20, 30, 40, 50]),
        (0.003, [0, 0.001, 0.002, 0.003]),
        (31_741, [0, 10_000, 20_000, 30_000, 40_000]),
    ],
)
def test_ticks_are_round_and_cover_all_values(most, found):
    assert ticks(most) == found


@pytest.mark.parametrize(
    ("most", "found"),
    [(0, [1, 10]), (1, [1, 10]), (10, [1, 10]), (11, [1, 10, 100]), (1000, [1, 10, 100, 1000])],
)
def test_logarithmic_ticks_are_powers_of_ten(most, found):
    assert log_ticks(most) == found


@pytest.mark.parametrize(
    ("value", "found"), [(0, "0"), (0.25, "0.25"), (950, "950"), (1500, "1.5k"), (2e7, "20M"), (1.25e10, "12.5G")]
)
def test_numbers_are_short(value, found):
    assert short(value) == found


def test_a_line_has_a_point_for_each_value_inside_the_plot():
    drawn = line("three levels", [1, 10, 5])
    assert drawn.get("aria-label") == "three levels"
    assert [title.text for title in drawn.iter("title")] == ["depth 0: 1", "depth 1: 10", "depth 2: 5"]
    points = [(float(one.get("cx")), float(one.get("cy"))) for one in drawn.iter("circle")]
    assert points == [(64.0, 199.2), (285.0, 12.0), (506.0, 116.0)]
    assert [one.text for one in drawn.iter("text")] == ["0", "2", "4", "6", "8", "10", "0", "1", "2", "depth"]


def test_a_logarithmic_line_omits_values_without_logarithm():
    drawn = line("levels", [1, 0, 100], is_log=True)
    points = [(float(one.get("cx")), float(one.get("cy"))) for one in drawn.iter("circle")]
    assert points == [(64.0, 220.0), (506.0, 12.0)]


@pytest.mark.parametrize("values", [[], [0], [5], [0, 0, 0]])
@pytest.mark.parametrize("is_log", [False, True])
def test_few_values_can_be_plotted(values, is_log):
    drawn = line("levels", values, is_log=is_log)
    assert len(list(drawn.iter("circle"))) == len([value for value in values if value or not is_log])


def test_bars_are_as_long_as_their_values_and_no_text_leaves_the_plot():
    rows = [Bar("a", 10, 5, "ten"), Bar("b" * 80, 5, 0, "five"), Bar("c", 0, 0, "never", "never")]
    drawn = bars("three bars", rows)
    long, half, none = ([float(one.get("width")) for one in group.iter("rect")] for group in drawn.iter("g"))
    assert long[1] * 2 == pytest.approx(long[0], abs=0.2)
    assert half[0] * 2 == pytest.approx(long[0], abs=0.2)
    assert none == [1, 0]
    assert [title.text for title in drawn.iter("title")] == ["a: ten", f"{'b' * 80}: five", "c: never"]
    names = [next(group.iter("text")).text for group in drawn.iter("g")]
    assert names == ["a", "b" * 43 + "\u2026", "c"]
    assert 330 + long[0] + 6 + len("never") * 7.3 <= float(drawn.get("width"))


def test_an_empty_plot_can_be_drawn():
    assert bars("nothing", []).get("height") == "24"
