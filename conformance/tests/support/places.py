"""The paths of files that tests read."""

from __future__ import annotations

from pathlib import Path

import isrcheck

PROJECT = Path(isrcheck.__file__).resolve().parents[1]
CONFORMANCE = PROJECT / "conformance"
RECORDINGS = CONFORMANCE / "recordings"
GOLDEN_FOLDER = CONFORMANCE / "tests" / "golden"
SHARED = PROJECT.parent / "shared"
"""Recordings and samples beside the project: tests that read them are skipped where they are absent."""
