"""How a search makes its states fewer: what its kernel does with each successor, as plain data.

In:  an `Instance`, and what the user asks for.
Out: a `Reduction`, which goes with a kernel (checker/compile/kernel.py), also to another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isrcheck.checker.reductions.symmetry import Symmetry, symmetry_of
from isrcheck.models.language.declare import WHOLE, Domain, Subset
from isrcheck.models.language.model import Instance


@dataclass(frozen=True)
class Reduction:
    """What a kernel does with each successor before it is packed."""

    symmetry: Symmetry

    @property
    def says(self) -> str:
        """The reduction in words."""
        return f"symmetry: one state of each orbit of {self.symmetry.says}"


def reduction_of(instance: Instance, *, symmetry: bool = False, whole: str = "") -> tuple[Reduction | None, str]:
    """The reduction of a search; and if there is none although the model declares one, what a report says of it.

    `symmetry` asks for all symmetric domains; without it, those count that the model declares. `whole` says why the
    search has to visit every state (empty: it need not). Raises LanguageError, UsageError.
    """
    if not symmetry and not any(domain.symmetric for domain in _domains(instance)):
        return None, ""
    found = symmetry_of(instance, declared=not symmetry)
    if found is None:
        return None, ""
    possible = [prop.name for prop in instance.properties if prop.kind in WHOLE]
    if possible and not whole:
        whole = f"{', '.join(possible)} is judged on the graph of all states"
    return (None, f"no symmetry: {whole}") if whole else (Reduction(found), "")


def _domains(instance: Instance) -> Iterator[type[Domain]]:
    """The domains of the fields' indices and of the actions' parameters."""
    for field in instance.model.fields.values():
        yield from field.over
    for action in instance.model.actions:
        for parameter in action.parameters:
            assert parameter.domain is not None
            yield parameter.domain.of if issubclass(parameter.domain, Subset) else parameter.domain
