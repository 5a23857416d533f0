"""The published models have exactly the published figures."""

import pytest

from isrcheck.checker.comparisons.published import PUBLISHED_MODELS
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.published import MODEL
from isrcheck.models.registry import PUBLISHED

ROWS = PUBLISHED_MODELS.rows
PUBLISHED_ROWS = 50


def name(row):
    return f"{row.leading[0]}-{'-'.join(str(size) for size in row.sizes.values())}"


def test_the_whole_table_is_present():
    assert len(ROWS) == PUBLISHED_ROWS
    assert {row.leading[0] for row in ROWS} == set(MODEL.protocols)


@pytest.mark.sampled
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_figures_equal_those_of_tlc(row):
    exploration = explore(row.instance(), Limits(memory=1 << 30), count_all=True)
    assert exploration.exhausted
    assert PUBLISHED_MODELS.figures_of(exploration) == row.tlc == row.expected


def test_the_bound_of_a_violation_is_one_less_than_its_level():
    bounds = {"replicas": 2, "log_size": 1, "records": 1, "max_epoch": 2}
    instance = MODEL.instance("truncate_to_high_watermark", bounds)
    exploration = explore(instance, Limits(7, 1 << 30))
    assert exploration.findings["weak_isr"].found.count == 0
    exploration = explore(instance, Limits(8, 1 << 30))
    assert exploration.findings["weak_isr"].found.path.depth == 8


def test_a_swapped_action_is_a_mutant_between_two_variants():
    """KIP-320 with the ISR expansion of KIP-279 admits followers of an older epoch."""
    bounds = {"replicas": 3, "log_size": 1, "records": 1, "max_epoch": 1}
    plain = explore(MODEL.instance("kip_320", bounds), Limits(memory=1 << 30), count_all=True)
    mutant = MODEL.instance("kip_320", bounds, {"leader_expands_isr": "kip_279"})
    swapped = explore(mutant, Limits(memory=1 << 30), count_all=True)
    assert (plain.distinct, len(plain.levels)) == (6787, 18)
    assert PUBLISHED_MODELS.figures_of(swapped) == {
        "distinct": "7717",
        "levels": "18",
        "weak_isr": "-",
        "strong_isr": "12@12",
        "leader_in_isr": "277@1",
        "log_matching": "-",
        "epoch_monotone": "-",
    }


def test_swapping_everything_gives_the_other_variant():
    bounds = {"replicas": 2, "log_size": 2, "records": 2, "max_epoch": 1}
    every = {one.name: "kip_101" for one in MODEL.actions}
    swapped = explore(MODEL.instance("kip_320", bounds, every), Limits(memory=1 << 30), count_all=True)
    row = next(row for row in ROWS if row.leading[0] == "kip_101" and list(row.sizes.values()) == [2, 2, 2, 1])
    assert PUBLISHED_MODELS.figures_of(swapped) == row.tlc


def test_the_names_of_its_protocols_are_known_without_loading_it() -> None:
    assert tuple(MODEL.protocols) == PUBLISHED
