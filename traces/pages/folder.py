"""Writes pages into a new or empty folder; a folder that has files is refused, unless they may be replaced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from isrcheck.models.messages import UsageError
from isrcheck.traces.format.files import put
from isrcheck.traces.pages.shell import SCRIPT, STYLE, Page, script_of, style_of

INDEX = "index.html"
"""The name of the file with the index of several pages."""


def begin(folder: Path, how: str, *, replace: bool = False, or_else: str = "") -> None:
    """Create a folder for pages. Raises UsageError if it already has files, unless `replace` is true.

    Error messages end with `how`, which says how to choose another folder, such as `with -o DIR`. The message about
    existing files then adds `or_else`, a second remedy, such as `, or add --force`.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file, where a folder is needed; give another name {how}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not replace and any(folder.iterdir()):
            raise UsageError(f"{folder}: has files, which are not overwritten; give a new folder {how}{or_else}")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; give another folder {how}") from None


def alone(files: Mapping[str, Page | str]) -> dict[str, str]:
    """Return the text of each file by its name; each page contains its style and script."""
    return {name: file.alone() if isinstance(file, Page) else file for name, file in files.items()}


def sharing(files: Mapping[str, Page | str]) -> dict[str, str]:
    """Return the text of each file by its name, and two more files: the style sheet and the script of all pages."""
    pages = {name: page for name, page in files.items() if isinstance(page, Page)}
    styles = dict.fromkeys(style for page in pages.values() for style in page.styles)
    scripts = dict.fromkeys(script for page in pages.values() for script in page.scripts)
    linked = {name: page.linked("../" * name.count("/")) for name, page in pages.items()}
    texts = {name: linked.get(name, str(file)) for name, file in files.items()}
    return {**texts, STYLE: style_of(list(styles)), SCRIPT: script_of(list(scripts))}


def write_all(folder: Path, texts: Mapping[str, str], *, replace: bool = False) -> list[Path]:
    """Write each text into the file of its name in `folder`, and return the paths. Raises UsageError."""
    for name, text in texts.items():
        put(folder / name, text.encode(), replace=replace)
    return [folder / name for name in texts]
