"""The record of the atlas: what searches have found about every combination of settings and releases.

README.md describes the file, checker/answers/recorded.py reads it. May import: the standard library.
"""

from pathlib import Path

RECORD = Path(__file__).parent / "record.jsonl"
"""The path of the file with the record."""
