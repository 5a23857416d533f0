"""Sums several test runs in one line: `N passed, N failed, N skipped`.

In:  the JUnit files of the runs.
Out: the line; exit code 1 if a file is missing, which means that its test run did not end.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def main(paths: list[str]) -> int:
    """Print the sum; return the exit code."""
    total: Counter[str] = Counter()
    missing = [path for path in paths if not Path(path).exists()]
    for path in missing:
        print(f"{path}: this test run did not end; see above")
    for path in paths:
        if path in missing:
            continue
        for suite in ET.parse(path).getroot().iter("testsuite"):  # noqa: S314  (written by pytest a moment ago)
            for name in ("tests", "failures", "errors", "skipped"):
                total[name] += int(suite.get(name, "0"))
    failed = total["failures"] + total["errors"]
    print(f"{total['tests'] - failed - total['skipped']} passed, {failed} failed, {total['skipped']} skipped")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
