"""What a person may ask of Spark on the command line of `check` or `conform`.

In:  a parser, and what it has read. Out: a `SparkRequest`. Nothing here needs Spark.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

from isrcheck.checker.spark.request import ENGINE, SparkRequest
from isrcheck.checker.spark.runtime.session import SparkOptions
from isrcheck.checker.spark.summary import Mode
from isrcheck.models.messages.errors import UsageError


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """The options of `--engine spark`."""
    group = parser.add_argument_group("with --engine spark")
    group.add_argument(
        "--spark-mode",
        choices=[mode.value for mode in Mode],
        help="parts: initial states are divided, each part is searched for itself (default); search: one search by all",
    )
    group.add_argument(
        "--split-depth", metavar="D", help="parts: divide the states at this depth (default: where there are enough)"
    )
    add_session_options(group)
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="search: where it is kept level by level; the same command takes it up again",
    )


def add_session_options(group: argparse._ActionsContainer) -> None:
    """The options that say which Spark, for every command that has `--engine spark`."""
    group.add_argument("--master", metavar="URL", help="of Spark (default: what spark-submit says, or local[*])")
    group.add_argument(
        "--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="an entry of Spark's own configuration"
    )


def read_session_options(known: argparse.Namespace) -> SparkOptions:
    """Which Spark. Raises UsageError, also where something was said of it and `--engine spark` was not."""
    _require_engine(known, {"--master": known.master, "--spark-conf": known.spark_conf})
    return SparkOptions(known.master, tuple(_entry(text) for text in known.spark_conf))


def _require_engine(known: argparse.Namespace, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value and known.engine != ENGINE:
            raise UsageError(f"{option} goes with --engine {ENGINE}; add that, or leave {option} out")


def read_spark_options(known: argparse.Namespace) -> SparkRequest:
    """What was asked of Spark. Raises UsageError, also where something was and `--engine spark` was not."""
    given = {"--spark-mode": known.spark_mode, "--split-depth": known.split_depth, "--checkpoint": known.checkpoint}
    _require_engine(known, given)
    session = read_session_options(known)
    if known.engine == ENGINE and known.threads is not None:
        raise UsageError(f"--threads is for one process: leave it out, or --engine {ENGINE}, which uses Spark's cores")
    mode = Mode(known.spark_mode or Mode.PARTS)
    if known.split_depth is not None and mode is not Mode.PARTS:
        raise UsageError("--split-depth divides the work into parts; leave it, or --spark-mode search, out")
    if known.checkpoint is not None and mode is not Mode.SEARCH:
        raise UsageError("--checkpoint keeps one search; add --spark-mode search, or leave it out")
    if known.split_depth is not None and not re.fullmatch(r"[0-9]{1,4}", known.split_depth):
        raise UsageError(f"--split-depth {known.split_depth}: not a depth; give 0 to 9999")
    return SparkRequest(
        mode,
        None if known.split_depth is None else int(known.split_depth),
        session,
        known.checkpoint,
    )


def _entry(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("spark."):
        raise UsageError(f"--spark-conf {text}: write it as --spark-conf spark.executor.memory=4g")
    return name, value


SPARK_OPTIONS = ("--spark-mode", "--split-depth", "--master", "--spark-conf", "--checkpoint")
"""The options of `check` that are about Spark."""
