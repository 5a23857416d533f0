"""Small models in tests: their texts leave out the line that imports the language, which is the same for all."""

from __future__ import annotations

import re
from pathlib import Path

from isrcheck import language

IMPORT = f"from isrcheck.language import {', '.join(sorted(language.__all__))}\n\n"


def in_the_language(text: str) -> str:
    """The text of a model with that line, behind its documentation; others stay as they are."""
    before, is_model, _ = text.partition("class State")
    if not is_model or "from isrcheck.language import" in before:
        return text
    documentation = re.match(r'\s*(?:"""[^"]*"""\s*\n)?', text)
    end = 0 if documentation is None else documentation.end()
    return f"{text[:end]}{IMPORT}{text[end:]}"


def write_model(path: Path, text: str) -> Path:
    """Write the text of a model to a file; returns the file."""
    path.write_text(in_the_language(text), encoding="utf-8")
    return path
