"""What documents show of the language and of the smallest engine is what the code says."""

from __future__ import annotations

import pytest

from conformance.tests.docs.generated import PART, PARTS, made
from conformance.tests.docs.markdown import PAGES
from conformance.tests.support.places import PROJECT
from isrcheck.models.language.ir.constructs import CONSTRUCTS

PATHS = [path for path in PAGES if PART.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_document_is_made_of_the_code(path, request):
    text = path.read_text(encoding="utf-8")
    if request.config.getoption("--rewrite-golden"):
        path.write_text(made(text), encoding="utf-8")
    else:
        assert made(text) == text, "rewrite with: pytest --rewrite-golden"


def test_the_documents_show_the_whole_language_and_the_whole_interpreter():
    shown = {
        path.name: [name for _, name, _ in PART.findall(path.read_text(encoding="utf-8"))]
        for path in (PROJECT / "docs/language.md", PROJECT / "docs/adding_an_engine.md")
    }
    language, engine = shown.values()
    assert sorted(language) == sorted(name for name in PARTS if "." not in name)
    assert {*CONSTRUCTS, "refusals", "limits"} <= set(language)
    assert sorted(engine) == sorted(name for name in PARTS if "." in name)
