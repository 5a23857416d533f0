"""Shared by the tests of `--report`: a model with hostile names and texts, and parsers of the written files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from conformance.tests.support.markup import Parts
from conformance.tests.support.small_models import (
    action,
    claim,
    define,
    domain,
    entries,
    helper,
    in_the_language,
    model,
    state,
)

HOSTILE = in_the_language(
    model(
        '"""A <script>alert(1)</script> & a climber."""\n',
        entries(
            'most = bound(3, "how many steps there are", least=1, most=127, option="--most")',
            'limit = setting(2, "how far it is safe", option="--limit")',
        ),
        state('height: between(0, "most")'),
        domain("Foot", 1),
        define(
            'action(shows="<img src=x onerror=alert(1)> \\x1b[31m {foot}")',
            "climber_steps(s, foot: Foot)",
            "require(s.height < s.most)",
            "s.height += 1",
        ),
        action("climber_falls(s)", "require(s.height > s.most)", "s.height = 0"),
        helper("is_even(s)", "s.height == 2"),
        define(
            "always",
            "stays_safe(s)",
            '"""]]></failure><script>alert(2)</script> \\x1b]0;owned\\x07 \\u202e"""',
            "return s.height <= s.limit",
        ),
        claim("always(permitted=is_even)", "avoids_two(s)", "s.height != 2"),
        claim("always", "stays_whole(s)", "s.height >= 0"),
        claim("sometimes", "gets_up(s)", "s.height == s.most"),
        claim("sometimes", "falls(s)", "s.height > s.most"),
        claim("terminal", "may_end(s)", "True"),
    )
)
"""`stays_safe` is VIOLATED at step 3, `avoids_two` PERMITTED at step 2, `stays_whole` HOLDS, `gets_up` is REACHED, and
`falls` UNREACHABLE."""

NAME = "<b>&'.py"
"""The name of the model's file."""


def page_of(folder: Path) -> Parts:
    return Parts((folder / "index.html").read_text(encoding="utf-8"))


def banners_of(folder: Path) -> list[str]:
    return [one.words for one in page_of(folder).named("p", "banner")]


def cases_of(folder: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """The outcome of each test and its message, by suite and name."""
    found = {}
    for suite in ET.parse(folder / "junit.xml").getroot():
        for case in suite.iter("testcase"):
            (outcome,) = list(case) or [ET.Element("passed", message="")]
            found[suite.attrib["name"], case.attrib["name"]] = (outcome.tag, outcome.attrib["message"])
    return found


def counts_of(folder: Path) -> list[tuple[str, int, int, int, int]]:
    """For each suite: its name, tests, failures, errors and skipped, after a check against its test cases."""
    found = []
    for suite in ET.parse(folder / "junit.xml").getroot():
        said = tuple(int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped"))
        assert said == tuple(len(list(suite.iter(tag))) for tag in ("testcase", "failure", "error", "skipped"))
        found.append((suite.attrib["name"], *said))
    return found


def run_of(folder: Path) -> dict[str, Any]:
    """The only run in results.sarif, after a check against the requirements of SARIF 2.1.0."""
    content = json.loads((folder / "results.sarif").read_text(encoding="utf-8"))
    assert set(content) == {"$schema", "version", "runs"}
    assert content["version"] == "2.1.0"
    (run,) = content["runs"]
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    assert isinstance(driver["version"], str)
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for invocation in run["invocations"]:
        assert type(invocation["executionSuccessful"]) is bool
        assert type(invocation["exitCode"]) is int
        for notification in invocation["toolExecutionNotifications"]:
            assert notification["message"]["text"]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert result["kind"] in ("fail", "open")
        # Only failures have a level, which says how grave they are.
        assert (result["level"] == "none") == (result["kind"] != "fail")
        assert all(type(value) is str for value in result["partialFingerprints"].values())
        for suppression in result.get("suppressions", []):
            assert suppression["kind"] in ("inSource", "external")
        threads = [thread for flow in result.get("codeFlows", []) for thread in flow["threadFlows"]]
        flows = [step for thread in threads for step in thread["locations"]]
        for location in [*result["locations"], *(step["location"] for step in flows)]:
            place = location["physicalLocation"]
            assert place["region"]["startLine"] >= 1
            assert place["artifactLocation"].get("uriBaseId") in (None, *run["originalUriBaseIds"])
        for step in flows:
            assert all(type(value["text"]) is str for value in step.get("state", {}).values())
    return dict(run)


def written(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
