"""A folder of several files that isrcheck writes and may replace: a report, the pages of the atlas.

In:  a folder, and the content of every file in it.
Out: the files, and a marker file that names them.

New files replace the files that the marker names: first all new files are written to a temporary folder, then they are
moved into place, and then those earlier files that were not replaced are deleted. Files that the marker does not name
are never touched, and a folder that has files but no marker is refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models.messages import UsageError
from isrcheck.traces.format.files import DRAFT, draft_in, write_through

MOST_MARKER = 16 << 20
INDEX = "index.html"


@dataclass(frozen=True)
class MarkedFolder:
    """A kind of folder that isrcheck writes, such as the folder of a report.

    `what` names the content ("report"), `version` is the version of the files, and `option` is the command-line option
    for the folder ("--report DIR"). `ours` matches the paths that files may have in the folder. Other paths in a marker
    file are ignored, so that a forged marker deletes no other files. `folders` names the subfolders.
    """

    what: str
    version: int
    option: str
    ours: re.Pattern[str]
    folders: tuple[str, ...]

    @property
    def marker(self) -> str:
        """The name of the marker file."""
        return f"isrcheck-{self.what}.json"

    @property
    def cure(self) -> str:
        """The end of a message that refuses a folder: what the user can do."""
        return f"move it away, or give another folder with {self.option}"

    def put(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Replace the files that the folder's marker names by `files`, index.html last. Raises UsageError, OSError."""
        earlier = self._named(folder)
        draft = draft_in(folder)
        try:
            draft.mkdir(0o700)
            for name, content in files.items():
                _write(draft / name, content)
            # The marker comes first and names the old and the new files: a half-replaced folder is still recognised.
            _write(draft / self.marker, self._marker({**dict.fromkeys(earlier, b""), **files}))
            (draft / self.marker).replace(folder / self.marker)
            for name in self.folders:
                (folder / name).mkdir(exist_ok=True)
            for name in sorted(files, key=lambda name: (name == INDEX, name)):
                (draft / name).replace(folder / name)
            for name in set(earlier) - set(files):
                (folder / name).unlink(missing_ok=True)
            _write(draft / self.marker, self._marker(files))
            (draft / self.marker).replace(folder / self.marker)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _marker(self, files: Mapping[str, bytes]) -> bytes:
        content = {"isrcheck": self.what, "version": self.version, "files": sorted(files)}
        return (json.dumps(content, indent=1) + "\n").encode(errors="replace")

    def _named(self, folder: Path) -> list[str]:
        """Return the files that the folder's marker names; none if there is no marker. Raises UsageError, OSError."""
        marker = folder / self.marker
        try:
            if marker.stat().st_size > MOST_MARKER:
                raise UsageError(f"{marker}: too large to be a file of isrcheck; {self.cure}")
            content = json.loads(marker.read_bytes())
            version, files = content["version"], content["files"]
            if content["isrcheck"] != self.what or not isinstance(files, list) or type(version) is not int:
                raise ValueError
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(f"{marker}: damaged, or not written by isrcheck; {self.cure}") from None
        if version > self.version:
            raise UsageError(f"{folder}: written by a newer isrcheck ({self.what} version {version}); {self.cure}")
        return [name for name in files if isinstance(name, str) and self.ours.fullmatch(name)]

    def refuse_strangers(self, folder: Path) -> None:
        """Raise UsageError if `folder` is a file, or has files but no valid marker; OSError if it cannot be read."""
        if not os.path.lexists(folder):
            return
        if not folder.is_dir():
            raise UsageError(f"{folder}: not a folder; give a folder with {self.option}")
        for name in self.folders:
            if (folder / name).is_symlink():
                raise UsageError(f"{folder / name}: is a symbolic link; {self.cure}")
        self._named(folder)
        with contextlib.closing(os.scandir(folder)) as entries:
            is_empty = all(entry.name.startswith(DRAFT) for entry in entries)
        if not is_empty and not (folder / self.marker).is_file():
            raise UsageError(f"{folder}: contains files, but no {self.what} from isrcheck; {self.cure}")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_through(path, content)
