"""Kernels that are used again for other instances: only where their text is the same."""

from __future__ import annotations

import pytest

from isrcheck.checker.compile.kernel import Kernels
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.registry import load_file

COUNTS = '''
"""A count goes up."""

from isrcheck.language import Domain, action, always, between, field, require, setting


class Configuration:
    most = setting(2, "the greatest count, and the steps of a stride", least=1, most=6)
    limit = setting(5, "when counting ends", least=1, most=6)


class Stride(Domain, size="most"):
    pass


class State:
    count = field(values=between(0, {range}))


@action
def counts(s):
    require(s.count < s.limit)
    s.count += {stride}


@always
def small(s):
    return s.count < 5
'''
"""A range, or a number of the text, that is a run-time setting."""


def counting(folder, **parts):
    path = folder / "counting.py"
    path.write_text(COUNTS.format(**parts), encoding="utf-8")
    return load_file(path)


def searched(kernels, model, **values):
    instance = model.instance("", values)
    found = explore(instance, Limits(deadlock=False), kernel=kernels.of(instance), count_all=True)
    return found.distinct, {name: one.found.path and one.found.path.depth for name, one in found.findings.items()}


@pytest.mark.parametrize(("first", "second"), [(3, 2), (2, 3)])
def test_a_range_that_is_a_setting_has_a_kernel_for_each_value(tmp_path, first, second):
    """Ranges up to 2 and 3 take as many bits."""
    model = counting(tmp_path, range='"most"', stride="1")
    kernels = Kernels()
    for most in (first, second):
        distinct, failures = searched(kernels, model, most=most)
        assert (distinct, failures) == (most + 1, {"small": None, "in_range": most + 1})


@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 2)])
def test_a_domain_whose_size_is_a_setting_has_a_kernel_for_each_value(tmp_path, first, second):
    model = counting(tmp_path, range="9", stride="len(Stride)")
    kernels = Kernels()
    for most in (first, second):
        distinct, failures = searched(kernels, model, most=most)
        assert distinct == 1 + -(-5 // most)
        assert failures == {"small": -(-5 // most)}


def test_another_value_of_a_setting_that_no_range_needs_has_the_same_kernel(tmp_path):
    model = counting(tmp_path, range="9", stride="1")
    kernels = Kernels()
    instances = [model.instance("", {"limit": limit}) for limit in (2, 6)]
    assert kernels.of(instances[0]) is kernels.of(instances[1])
    assert searched(kernels, model, limit=2) == (3, {"small": None})
    assert searched(kernels, model, limit=6) == (7, {"small": 5})
