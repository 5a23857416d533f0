"""Which known failures a command asks for.

In:  `Options`: names, numbers, KIPs or JIRA issues, and a release.
Out: the failures, or a UsageError.
"""

from __future__ import annotations

from isrcheck.checker.command.form import Options
from isrcheck.checker.kafka_settings.releases import Version, version_of_binaries
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures
from isrcheck.models.language.model import nearest
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped


def chosen(options: Options) -> list[Failure]:
    """Return the failures that the words name (all without a word), and that the release has. Raises UsageError."""
    words = [word for word in (options.target, *options.rest) if word is not None]
    found = list(failures())
    for word in words:
        if word.startswith("-"):
            raise UsageError(f"{word.partition('=')[0]} is no option of check failures; see check failures --help")
        if not any(one.is_called(word) for one in found):
            names = [name for one in found for name in (one.number, one.name, *one.known_as)]
            raise UsageError(f"no known failure {escaped(word)}; {nearest(word, names)}; check failures lists them all")
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


def is_in(failure: Failure, version: Version) -> bool:
    """Whether a release has a failure. A failure that depends on the configuration alone is in every release."""
    if failure.since == NO_RELEASE or (failure.since and not version.has_patch(failure.since)):
        return False
    return not any(_has_repair(version, release, failure.repaired[-1]) for release in failure.repaired)


def _has_repair(version: Version, release: str, last: str) -> bool:
    """Whether the repair of a release is in a version: of the same branch, or of any later one if it is the last."""
    is_of_branch = release == last or version_of_binaries(release).release == version.release
    return is_of_branch and version.has_patch(release)
