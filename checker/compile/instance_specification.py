"""A description of an instance that can be sent to an executor of Spark, which rebuilds the instance from it.

Functions are not sent. A registered model is loaded by name from the package on the executor, which must have the same
text. A user's model is sent as the text of its files, and run there.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Model
from isrcheck.models.messages import UsageError


class DifferingModelError(UsageError):
    """The executor has another version of the model than the driver."""


@dataclass(frozen=True)
class InstanceSpecification:
    """A description of one instance: the model, by its name or as the text of its files, and everything else that
    determines the instance and its kernel."""

    name: str
    digest: str
    protocol: str
    values: tuple[tuple[str, int], ...]
    """The configuration."""
    swaps: tuple[tuple[str, str], ...]
    """The swapped actions, with the protocols from which they are taken."""
    files: tuple[tuple[str, str], ...] = ()
    """The import paths and texts of the files of a user's model; none for a registered model."""
    reduction: Reduction | None = None

    @classmethod
    def of(cls, instance: Instance, reduction: Reduction | None = None) -> InstanceSpecification:
        """The description of this instance, and of the reduction with which its kernel is compiled."""
        model = instance.model
        return cls(
            model.name,
            model.digest,
            instance.protocol.name,
            tuple(instance.configuration.items()),
            tuple(sorted(instance.swaps.items())),
            () if registry.is_registered(model) else _files_of(model),
            reduction,
        )

    @lru_cache(maxsize=64)  # noqa: B019 - few specifications are kept alive
    def instance(self) -> Instance:
        """Rebuild the instance. Raises DifferingModelError if this machine's model is not the described version."""
        model = _model(self.name, self.files)
        if model.digest != self.digest:
            raise DifferingModelError(
                f"{self.name}: an executor of Spark has another version of this model; install the driver's version"
                " on it"
            )
        return model.instance(self.protocol, dict(self.values), dict(self.swaps))

    @lru_cache(maxsize=64)  # noqa: B019 - as above
    def kernel(self) -> Kernel:
        """The optimized kernel of the instance, compiled if this machine's cache does not have it."""
        return kernel_of(self.instance(), is_optimized=True, reduction=self.reduction)


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
        # Compute the digest while the files exist.
        assert model.digest
        return model


def _files_of(model: Model) -> tuple[tuple[str, str], ...]:
    """The import path and the text of each file of the model, except files of isrcheck; the main file comes first."""
    paths = {model.sources[model.path]: model.path}
    for file, path in model.sources.items():
        if paths.setdefault(path, file) != file:
            raise UsageError(
                f"{file}: {paths[path]} has the same import name, so executors can get only one file; rename one file"
            )
    return tuple(
        (path, Path(file).read_bytes().decode("utf-8", "surrogateescape"))
        for path, file in paths.items()
        if not path.startswith("isrcheck/models/")  # executors have the models of isrcheck
    )
