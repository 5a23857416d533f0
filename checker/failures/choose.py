"""Which known failures a command asks for.

In:  `Options`: names, numbers, KIPs or JIRA issues, and a release.
Out: the failures, or a UsageError.
"""

from __future__ import annotations

from isrcheck.checker.command.form import Options
from isrcheck.checker.kafka_settings.releases import version_of_binaries
from isrcheck.checker.questions.concerns import is_in
from isrcheck.models.kafka.failures.catalogue import Failure, failures, refusal
from isrcheck.models.messages import UsageError


def chosen(options: Options) -> list[Failure]:
    """Return the failures that the words name (all without a word), and that the release has. Raises UsageError."""
    words = [word for word in (options.target, *options.rest) if word is not None]
    found = list(failures())
    for word in words:
        if word.startswith("-"):
            raise UsageError(f"{word.partition('=')[0]} is no option of check failures; see check failures --help")
        if not any(one.is_called(word) for one in found):
            raise UsageError(refusal(word))
    if words:
        found = [one for one in found if any(one.is_called(word) for word in words)]
    if options.kafka_version is None:
        return found
    try:
        version = version_of_binaries(options.kafka_version)
    except ValueError as error:
        raise UsageError(f"--kafka-version: {error}") from None
    had = [one for one in found if is_in(one, version)]
    if words and not had:
        raise UsageError(f"Kafka {options.kafka_version} does not have {' '.join(words)}; leave --kafka-version out")
    return had
