"""`conform convert`: converts a wire recording of Kafka to observations.

In:  the command line.
Out: a file of observations; errors on stderr, an exit code.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path

from isrcheck.conformance.console import DONE, say
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.conformance.follow.wire.messages import FILE, is_wire
from isrcheck.models.messages import UsageError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conform convert`."""
    parser.add_argument(
        "recording", metavar="DIR", type=Path, help=f"a folder with {FILE} and perhaps broker<i>/; or such a file"
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE.ndjson", type=Path, required=True, help="the file of observations; a new one"
    )
    parser.set_defaults(run=_convert)


def _convert(arguments: argparse.Namespace) -> int:
    path = arguments.recording / FILE if arguments.recording.is_dir() else arguments.recording
    if not is_wire(path):
        what = "its lines are no requests and responses"
        raise UsageError(f"{path}: {what}; give a recording of the wire (docs/conformance.md#wire-recordings)")
    out: Path = arguments.out
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out}: it exists already and is not overwritten; give another -o FILE.ndjson")
    kinds: Counter[str] = Counter()
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            for _, observation in observations_of(path):
                kinds[observation["kind"]] += 1
                file.write(json.dumps(observation, separators=(",", ":")) + "\n")
        draft.rename(out)
    finally:
        draft.unlink(missing_ok=True)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common() if kind != "header")
    say(f"written: {out}: {told}", f"follow it: conform follow {out}")
    return DONE
