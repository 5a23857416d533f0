"""What the code of a kernel depends on, so that it can be looked up without being built.

In:  an `Instance`, and what makes states fewer.
Out: text, which is equal only for instances whose kernels have the same code.

What a kernel takes from an instance: its functions (a mutant has other functions than its model), the bounds, the
ranges of the fields and the sizes of domains, the places of settings, and the numbers of steps. A run-time setting is
not in it, unless a range of values or the size of a domain depends on it: then each of its values has a kernel of its
own. The generating code itself is in the name of every cache file (checker/compile/machine_code.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.ir import digest
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.reading.reader import Function


def kernel_key(instance: Instance, reduction: Reduction | None) -> str:
    """All that the code of a kernel depends on."""
    model = instance.model
    functions = [
        *(action.alternatives for action in model.actions),
        *((one.function, one.permitted, one.premise) for one in model.properties),
        model.terminals,
        model.constraints,
    ]
    actions = [one.name for one in model.actions], [one is None for one in instance.alternatives]
    properties = [(one.kind, [each.name for each in one.function.parameters]) for one in model.properties]
    steps = instance.first_steps, list(map(_choices, instance.argument_ranges))
    return repr((actions, properties, steps, _common(instance, functions), _reduction(reduction)))


def generators_key(instance: Instance) -> str:
    """All that the code of the generators of initial states depends on."""
    choices = list(map(_choices, instance.generator_ranges))
    return repr((choices, _common(instance, [instance.model.generators])))


def _common(instance: Instance, functions: Sequence[Sequence[Function | None]]) -> Any:
    """What these functions do, and where the cells and settings are that they use."""
    values = dict(instance.configuration.items())
    domains = [str(digest.domain(one)) for one in instance.model.domains]
    is_ambiguous = len(set(domains)) < len(domains)  # in two modules, with sizes that are functions
    return (
        [[one and digest.of_routine(one.routine) for one in several] for several in functions],
        [*zip(domains, instance.sizes, strict=True), is_ambiguous and instance.model.digest],
        [
            (name, one.values is bool, values[name] if one.is_bound else (one.least, one.most))
            for name, one in instance.model.entries.items()
        ],
        [
            (one.name, one.offset, one.sizes, one.low, one.high, one.field.values.is_flag)
            for one in instance.layouts.values()
        ],
    )


def _choices(choices: Sequence[ArgumentRange]) -> list[tuple[int, bool]]:
    return [(one.elements, one.is_subset) for one in choices]


def _reduction(reduction: Reduction | None) -> Any:
    """A reduction, with its sets in order."""
    if reduction is None or reduction.symmetry is None:
        return reduction
    symmetry = reduction.symmetry
    return (
        symmetry.blocks,
        symmetry.sizes,
        symmetry.cells,
        sorted(symmetry.unordered),
        sorted(symmetry.configured),
        reduction.dead,
    )
