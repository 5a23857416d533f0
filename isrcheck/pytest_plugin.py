"""A plugin of pytest in which each property of a model is a test. docs/api.md shows how to use it.

    pytest --isrcheck model.py
    pytest --isrcheck "kafka protocol=2.1 bound=6 acks=all"

The ini setting `isrcheck` names models in the same form, one per line. The tests of a model share one search; a failing
test shows the trace. pytest loads this file whenever isrcheck is installed, so it imports other modules only when a
model is named.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from isrcheck.result import PropertyResult, Result

MARKER = "isrcheck"
IMPLICIT = ("in_range", "deadlock")
"""The built-in properties of every model: no value or index leaves its declared range, and no state is stuck."""

PASSED = ("PROVED", "HOLDS", "NO VIOLATION TO DEPTH", "REACHED", "PERMITTED")
SKIPPED = ("n/a", "NOT REACHED TO DEPTH")
"""The verdicts for which a test is skipped, because they say neither that the property holds nor that it fails."""

NUMBERS = {"bound": int, "threads": int, "seconds": float}
TRUTHS = ("prove", "count_all", "deadlock", "symmetry", "reduction")
OPTIONS = {*NUMBERS, *TRUTHS, "protocol", "engine", "memory", "out"}
"""The arguments of `isrcheck.check` that a user can set in --isrcheck; every other name is a configuration entry."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option and the ini setting that name models."""
    says = "check a model, with each property as a test; 'MODEL NAME=VALUE ...' sets arguments of isrcheck.check"
    parser.getgroup("isrcheck").addoption("--isrcheck", action="append", default=[], metavar="MODEL", help=says)
    parser.addini("isrcheck", "models to check, one per line, in the form of --isrcheck", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of the tests of models, so that `pytest -m isrcheck` selects them."""
    config.addinivalue_line("markers", f"{MARKER}: a property of a model, checked by isrcheck")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Append the tests of the named models after all other tests."""
    for words in [*config.getini("isrcheck"), *config.getoption("--isrcheck")]:
        checked: Checked = Checked.from_parent(session, name=words)
        report: pytest.CollectReport = checked.ihook.pytest_make_collect_report(collector=checked)
        checked.ihook.pytest_collectreport(report=report)
        items.extend(item for item in report.result if isinstance(item, pytest.Item))


class Checked(pytest.Collector):
    """A model that is checked, and the search that the tests of its properties share."""

    def __init__(self, name: str, **rest: Any) -> None:
        model, *settings = shlex.split(name) or [""]
        super().__init__(name=name, nodeid=model, **rest)
        self.model = model
        entries = dict(_argument(name, word) for word in settings)
        self.arguments = {key: entries.pop(key) for key in OPTIONS & entries.keys()} | {"settings": entries}

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the test of each property of the model. Raises CollectError if there is no such model."""
        import isrcheck

        try:
            properties = isrcheck.load(self.model).properties
        except isrcheck.UsageError as error:
            raise self.CollectError(str(error)) from None
        for name in (*(prop.name for prop in properties), *IMPLICIT):
            item: CheckedProperty = CheckedProperty.from_parent(self, name=name)
            item.add_marker(MARKER)
            if self.config.pluginmanager.hasplugin("xdist"):
                item.add_marker(pytest.mark.xdist_group(self.name))  # or each worker would search
            yield item

    @cached_property
    def result(self) -> Result:
        """Return the result of the search, which runs when it is needed for the first time."""
        import isrcheck

        return isrcheck.check(self.model, **self.arguments)


def _argument(words: str, word: str) -> tuple[str, Any]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        what = f"--isrcheck {words}: {word}: not a name with a value"
        raise pytest.UsageError(f"{what}; write it as NAME=VALUE, as in bound=6")
    try:
        if name in NUMBERS:
            return name, NUMBERS[name](value)
    except ValueError:
        raise pytest.UsageError(f"--isrcheck {words}: {word}: not a number") from None
    if name in TRUTHS:
        return name, value.lower() in ("1", "true", "on")
    return name, value


class CheckedProperty(pytest.Item):
    """The test of one property of a model."""

    parent: Checked

    def runtest(self) -> None:
        """Run the search if it has not run yet; pass, skip or raise BrokenPropertyError, as the verdict on this
        property demands."""
        import isrcheck

        try:
            result = self.parent.result
        except isrcheck.UsageError as error:
            raise BrokenPropertyError(str(error)) from None
        result_of_property = result.properties.get(self.name)
        if result_of_property is None:
            return  # nothing violates an implicit property
        if result_of_property.verdict in SKIPPED:
            pytest.skip(f"{self.name}: {result_of_property.text}")
        if result_of_property.verdict not in PASSED:
            raise BrokenPropertyError(_report(result_of_property, result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of a failed test: the trace, in place of a traceback."""
        if isinstance(excinfo.value, BrokenPropertyError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return the location of the test: the model and the property."""
        return self.parent.model, None, f"{self.parent.name}: {self.name}"


class BrokenPropertyError(AssertionError):
    """Raised if a property fails or is undecided; the message shows why."""


def _report(failing: PropertyResult, result: Result) -> str:
    shown = failing.trace or failing.permitted_trace
    return f"{failing.name}: {failing.text}\n\n{shown or f'reproduce: {result.command}'}"
