"""Measures the processor time that commands take to start: the minimum of several runs of each.

In:  the number of runs of each command, as an argument (default: 5).
Out: a line for each command, with its seconds of processor time (user and system) and their limit.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

CLUSTER = Path(__file__).resolve().parent.parent / "models" / "examples" / "kafka_defaults.properties"

COMMANDS = {
    ("checker", "--help"): 0.25,
    ("traces", "list"): 0.25,
    ("conformance", "--help"): 0.25,
    ("checker", "--bound", "6"): 0.8,
    ("checker", "doctor", str(CLUSTER)): 0.6,
}
"""The commands, by package, and the limit on their seconds on an idle machine."""


def processor_time(words: tuple[str, ...], folder: str) -> float:
    """The seconds of user and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = f"import sys; from isrcheck.{words[0]}.__main__ import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", start, *words[1:]], cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(times: int) -> None:
    """Run every command this many times, and print the minimum time of each."""
    with tempfile.TemporaryDirectory() as folder:
        for words, most in COMMANDS.items():
            least = min(processor_time(words, folder) for _ in range(times))
            print(f"{' '.join(words).replace(str(CLUSTER), CLUSTER.name):<40} {least:6.3f} s of {most} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
