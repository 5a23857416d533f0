"""docs/api.md: its examples give the shown results. They run in a folder with the examples of isrcheck."""

from __future__ import annotations

import doctest
import sys

import pytest

from conformance.tests.support.places import PROJECT
from isrcheck.examples import copy_to

DOCUMENT = PROJECT / "docs" / "api.md"


@pytest.mark.sampled
def test_the_examples_give_the_documented_results(tmp_path, monkeypatch):
    copy_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    tried = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    sys.modules.pop("own_broker", None)
    assert (tried.failed, tried.attempted) == (0, 27)
