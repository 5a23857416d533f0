"""The links of the documents have targets, and the README links every document."""

from __future__ import annotations

import pytest

from conformance.tests.docs.markdown import DOCUMENTS, PAGES, anchors, links
from conformance.tests.support.places import PROJECT

README = PROJECT / "README.md"
MOST_LINES = 130


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_readme_links_every_document():
    assert {f"docs/{path.name}" for path in DOCUMENTS if path != README} - set(links(README)) == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_links_have_targets(path):
    for link in links(path):
        if link.startswith("https://"):
            continue
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
