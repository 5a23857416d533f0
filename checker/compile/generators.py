"""Compiles the generators of initial states: every combination of arguments, with guards as early as possible.

In:  an `Instance` with generators, and its `Layout`.
Out: `Generators`, one compiled function for each. It goes on from a combination of arguments, packs the states that it
     makes, and returns their number when there is no room for more, or after much work.

As in checker/compile/lower.py, a guard is evaluated in the outermost loop that binds everything it reads. A careful
function evaluates every combination as a whole instead, and stops at the first that leaves a declared range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isrcheck.checker.compile import native
from isrcheck.checker.compile.compiling import compiled
from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.lower import KernelText, guarded_loops
from isrcheck.checker.compile.lowering.routines import INDENT
from isrcheck.checker.compile.machine_code import code_path, kept_or_compiled
from isrcheck.models.language.ir.building import routine_of
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.syntax import Function

DONE, PAUSED, FAILED = 0, 1, 2
"""How a call ends: after the last combination; before the combination in `place`; in or before the one in `place`."""

PARAMETERS = 7
"""The parameters of a compiled function: two working buffers with the default state, the address of the packed states
and the most of them, the most combinations to try, and the addresses of the combination to begin with (one word per
argument) and of how the call ended."""


@dataclass(frozen=True)
class Generators:
    """The compiled functions of the generators, in order."""

    functions: Sequence[Callable[..., int]]


def compiled_generators(instance: Instance, layout: Layout, *, is_careful: bool = False) -> Generators:
    """Compile the generators of an instance, or load them from the cache. Raises OutOfTimeError."""
    text = _GeneratorText(instance, layout, is_careful).text()
    names = {f"begin_{number}": PARAMETERS for number in range(len(instance.model.generators))}
    path = code_path("kernels", f"generators\0{layout!r}\0{text}")
    code = kept_or_compiled(path, lambda: compiled(text, layout, is_quick=True, exported=names))
    return Generators(tuple(native.load(code, names).values()))


class _GeneratorText(KernelText):
    """Collects the functions of the generators."""

    def __init__(self, instance: Instance, layout: Layout, is_careful: bool) -> None:
        super().__init__(instance, layout)
        self.is_careful = is_careful

    def text(self) -> str:
        """The source text of all generators."""
        ranges = self.instance.generator_ranges
        for number, (function, choices) in enumerate(zip(self.instance.model.generators, ranges, strict=True)):
            self.parts.append("\n".join(self._begin(number, function, choices)))
        return "\n\n".join(self.parts)

    def choices(self, function: Function) -> Sequence[ArgumentRange]:
        """The ranges of the arguments of a generator."""
        return self.instance.generator_ranges[self.instance.model.generators.index(function)]

    def _begin(self, number: int, function: Function, choices: Sequence[ArgumentRange]) -> list[str]:
        lines = [f"def begin_{number}(before, s, words, room, most, place, status):", "    count = 0", "    work = 0"]
        lines += (f"    f{depth} = load_word(place + {8 * depth})" for depth in range(len(choices)))
        if all(one.count for one in choices):  # without an element there is no initial state, and no guard is evaluated
            lines += self._loops(function, choices)
        return [
            *(*lines, "    if failed(s) or failed(before):", f"        store_word(status, {FAILED})"),
            *("    else:", f"        store_word(status, {DONE})", "    return count"),
        ]

    def _loops(self, function: Function, choices: Sequence[ArgumentRange]) -> list[str]:
        loops = guarded_loops(self, function, choices, INDENT, hoists=not self.is_careful)
        lines: list[str] = []
        indent = INDENT
        for depth, line in loops:
            indent = line[: len(line) - len(line.lstrip())] + INDENT
            if depth < 0:
                lines.append(line)
                continue
            first = f"f{depth}"
            if depth:
                first += f" if {' and '.join(f'p{one} == f{one}' for one in range(depth))} else 0"
            lines.append(line.replace("range(", f"range({first}, "))
            lines += [f"{indent}work = work + 1", f"{indent}if work > most or count == room:"]
            lines += self._stop(depth + 1, len(choices), PAUSED, indent + INDENT)
        hoisted = 0 if self.is_careful else len(routine_of(function).guards)
        name = self.function(function, is_action=True, skip=hoisted)
        arguments = "".join(f", p{depth}" for depth in range(len(choices)))
        failed = [
            f"{indent}if failed(s):",
            *self._stop(len(choices), len(choices), FAILED, indent + INDENT),
        ]
        done = [f"pack(s, words + count * {8 * self.layout.words})", "count = count + 1", "copy(before, s)"]
        if self.is_careful:
            enabled = [f"{indent}if is_enabled:", f"{indent}    copy(before, s)"]
            return [*lines, f"{indent}is_enabled = {name}(s{arguments})", *failed, *enabled]
        return [
            *lines,
            f"{indent}if {name}(s{arguments}):",
            *(f"{INDENT}{line}" for line in failed),
            *(f"{indent}    {line}" for line in done),
        ]

    def _stop(self, known: int, arguments: int, how: int, indent: str) -> list[str]:
        """Store the first combination with the first `known` arguments, and how the call ends; return."""
        values = [f"p{depth}" if depth < known else "0" for depth in range(arguments)]
        return [
            *(f"{indent}store_word(place + {8 * depth}, {value})" for depth, value in enumerate(values)),
            f"{indent}store_word(status, {how})",
            f"{indent}return count",
        ]
