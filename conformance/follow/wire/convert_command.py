"""`conform convert`: converts a wire recording of Kafka to observations."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path

from isrcheck.commands.declarations import Option, path
from isrcheck.commands.exit_codes import DONE
from isrcheck.commands.program import say
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.conformance.follow.wire.messages import FILE, is_wire
from isrcheck.models.messages import UsageError

OPTIONS = (
    Option("DIR", f"a folder with {FILE} and perhaps broker<i>/; or such a file", path, destination="recording"),
    Option("-o --out FILE.ndjson", "the file of observations; a new one", path, is_required=True),
)


def run(arguments: argparse.Namespace) -> int:
    """Write the observations of a wire recording to a new file, and return the exit code."""
    wire = arguments.recording / FILE if arguments.recording.is_dir() else arguments.recording
    if not is_wire(wire):
        defect = "its lines are no requests and responses"
        raise UsageError(f"{wire}: {defect}; give a recording of the wire (docs/conformance.md#wire-recordings)")
    out: Path = arguments.out
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out}: it exists already and is not overwritten; give another -o FILE.ndjson")
    kinds: Counter[str] = Counter()
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            for _, observation in observations_of(wire):
                kinds[observation["kind"]] += 1
                file.write(json.dumps(observation, separators=(",", ":")) + "\n")
        draft.rename(out)
    finally:
        draft.unlink(missing_ok=True)
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common() if kind != "header")
    say(f"written: {out}: {counts}", f"follow it: conform follow {out}")
    return DONE
