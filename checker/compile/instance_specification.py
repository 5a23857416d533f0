"""What an executor is told of an instance of a model, so that it can make the same one.

In:  an `Instance` on the driver. Out: a `Subject`, which can be sent; and from it, elsewhere, the instance again.

Functions are not sent. A registered model is loaded by its name from the package that the executor has, and has to be
the same text; a model that a person wrote travels as the text of its files, which are run there as they were here.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages.errors import UsageError


class DifferingModelError(UsageError):
    """An executor has another text of the model than the driver."""


@dataclass(frozen=True)
class Subject:
    """A model by name, or as the text of its files (the first of them is the model); protocol, values and swaps."""

    name: str
    digest: str
    protocol: str
    values: tuple[tuple[str, int], ...]
    swaps: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, instance: Instance) -> Subject:
        """What has to be sent to make this instance elsewhere."""
        model = instance.model
        return cls(
            model.name,
            model.digest,
            instance.protocol.name,
            tuple(instance.configuration.items()),
            tuple(sorted(instance.swaps.items())),
            () if _is_registered(model) else _files_of(model),
        )

    def instance(self) -> Instance:
        """The instance. Raises DifferingModelError."""
        return _instance(self)

    def kernel(self) -> Kernel:
        """Its kernel, compiled where the cache of this machine does not have it."""
        return _kernel(self)


@lru_cache(maxsize=64)
def _instance(subject: Subject) -> Instance:
    model = _model(subject.name, subject.files)
    if model.digest != subject.digest:
        raise DifferingModelError(
            f"{subject.name}: an executor has another text of this model; give driver and executors the same isrcheck"
        )
    return model.instance(subject.protocol, dict(subject.values), dict(subject.swaps))


@lru_cache(maxsize=64)
def _kernel(subject: Subject) -> Kernel:
    return kernel_of(_instance(subject))


@lru_cache(maxsize=8)
def _model(name: str, files: tuple[tuple[str, str], ...]) -> Model:
    if not files:
        return registry.load(name)[0]
    with tempfile.TemporaryDirectory(prefix="isrcheck_model_") as folder:
        for file, text in files:
            path = Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
        model = registry.load_file(Path(folder) / files[0][0])
        # While the files are there.
        assert model.digest
        return model


def _is_registered(model: Model) -> bool:
    try:
        return registry.load(model.name)[0] is model
    except UsageError:
        return False


def _files_of(model: Model) -> tuple[tuple[str, str], ...]:
    """The model's own file first, and what else it is made of, by the paths by which an import finds them."""
    paths = {model.sources[model.path]: model.path}
    for file, path in model.sources.items():
        if paths.setdefault(path, file) != file:
            raise UsageError(
                f"{file}: {paths[path]} is found by the same name, so one of them cannot be sent; rename one"
            )
    return tuple(
        (path, Path(file).read_bytes().decode("utf-8", "surrogateescape"))
        for path, file in paths.items()
        if not path.startswith("isrcheck/models/")  # of this program, which executors have
    )
