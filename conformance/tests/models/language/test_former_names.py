"""A model file may still import `models.language`: it gets the language of this program, not a second copy."""

from __future__ import annotations

import sys

import pytest

from conformance.tests.support.engine import COUNTER
from conformance.tests.support.places import PROJECT
from isrcheck.models import log
from isrcheck.models.language import declarations as declare
from isrcheck.models.language.reading.source import former_names, name_today
from isrcheck.models.messages import UsageError
from isrcheck.models.registry import load_file

FORMER = COUNTER.replace("isrcheck.language", "models.language")
TODAY = "from isrcheck.language import action, always, between, field, require"
IMPORTS = TODAY.replace("isrcheck.", "models.")


@pytest.fixture
def load(tmp_path):
    """Write a model file into an empty folder, load it, and return the model."""
    before = dict(sys.modules)

    def loaded(text):
        path = tmp_path / "model.py"
        path.write_text(text, encoding="utf-8")
        return load_file(path)

    yield loaded
    assert {name: sys.modules.get(name) for name in before} == before
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


@pytest.mark.parametrize(
    "imports",
    [
        IMPORTS,
        "from models.language.declarations import action, always, between, field, require",
        "from models import language\naction, always, between, field, require = (\n    language.action,"
        " language.always, language.between, language.field, language.require\n)",
        "import models.language\naction, always, between, field, require = (\n    models.language.action,"
        " models.language.always, models.language.between, models.language.field, models.language.require\n)",
    ],
)
def test_every_form_of_import_finds_the_language(load, imports):
    model = load(FORMER.replace(IMPORTS, imports))
    assert [action.name for action in model.actions] == ["counter_steps"]
    assert model.instance().initial_states[0] == (0,)
    assert not [name for name in sys.modules if name_today(name) != name]


def test_a_folder_may_have_its_own_package_models(load, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "__init__.py").write_text("")
    (tmp_path / "models" / "limits.py").write_text("MOST = 2\n")
    model = load(f"from models.limits import MOST\n{FORMER.replace('s.count < 2', 's.count < MOST')}")
    assert model.properties[0].function.python.__globals__["MOST"] == 2
    assert sorted(model.sources.values()) == ["model.py", "models/__init__.py", "models/limits.py"]


def test_a_folder_may_have_its_own_module_models(load, tmp_path):
    (tmp_path / "models.py").write_text("MOST = 2\n")
    model = load(f"from models import MOST\n{FORMER.replace('s.count < 2', 's.count < MOST')}")
    assert sorted(model.sources.values()) == ["model.py", "models.py"]


def test_a_checkout_of_the_project_gives_no_second_copy(load, monkeypatch):
    monkeypatch.syspath_prepend(PROJECT)
    from models.language import declarations as second  # what a checkout on the path makes possible

    assert second is not declare
    model = load("from models.log import has_entry\nfrom models import language as the_language\n" + FORMER)
    (module,) = (found for found in sys.modules.values() if getattr(found, "__file__", None) == model.path)
    assert model.actions[0].name == "counter_steps"
    assert module.action is declare.action
    assert module.the_language.action is declare.action
    assert module.has_entry is log.has_entry
    assert sys.modules["models.language.declarations"] is second


def test_both_import_names_give_the_same_model(load):
    assert load(FORMER).digest == load(COUNTER).digest


def test_the_files_of_the_language_are_not_part_of_the_model(load, monkeypatch):
    monkeypatch.syspath_prepend(PROJECT)
    assert sorted(load(FORMER).sources.values()) == ["model.py"]


def test_an_unknown_name_of_the_language_is_one_line(load):
    with pytest.raises(UsageError, match=r"model\.py:3: loading the model failed: ImportError: cannot import name 'no"):
        load(FORMER.replace("import action", "import nothing, action"))


def test_nothing_is_left_after_an_error(load):
    before = dict(sys.modules)
    with pytest.raises(UsageError, match="loading the model failed: ValueError: too bad"):
        load("import models.language\nraise ValueError('too bad')\n")
    assert {name for name in sys.modules if name_today(name) != name} == set()
    assert sys.modules.get("models") is before.get("models")


def test_other_imports_are_unchanged():
    with former_names():
        assert sys.modules["models.language.declarations"] is declare
    assert "models.language.declarations" not in sys.modules
