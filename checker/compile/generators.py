"""Compiles the generators of initial states: the model's functions that make an initial state from their arguments.

Each generator becomes one compiled function, which tries all combinations of arguments from a given combination on, and
packs the states that the generator makes. A call ends after the last combination, when there is no room for further
states, or after a certain amount of work; it returns the number of packed states.

As in checker/compile/kernel_code.py, a guard is evaluated in the outermost loop in which all its arguments are known. A
careful function packs no states: it evaluates all guards for every combination, and stops where a value leaves its
declared range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from isrcheck.checker.compile.kernel import generators_key
from isrcheck.checker.compile.kernel_code import KernelCode
from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.machine_code import code_path, compiled, load
from isrcheck.checker.compile.ranges import conjuncts
from isrcheck.checker.compile.staging import Apart, Code, Module, Value, failed, kinds_of, load_word, store_word
from isrcheck.checker.resources.cache import kept_or_made
from isrcheck.models.language.ir.nodes import Routine
from isrcheck.models.language.model import ArgumentRange, Instance

DONE, PAUSED, FAILED = 0, 1, 2
"""How a call of a generator's function ends: DONE after the last combination of arguments, PAUSED before the
combination in `place`, FAILED in or before that combination."""

PARAMETERS = 7
"""The number of parameters of a compiled function, which are: two working buffers with the default state; the address
for the packed states, and the most states; the most combinations to try; the address of the combination to begin with
(one word per argument); and the address for how the call ended."""


class GeneratorCode(KernelCode):
    """Builds one function of machine code for each generator of initial states."""

    def __init__(self, module: Module, instance: Instance, layout: Layout, *, is_careful: bool = False) -> None:
        super().__init__(module, instance, layout)
        self.is_careful = is_careful

    def build(self) -> None:
        """Build the functions `begin_0`, `begin_1`, ... of all generators, in the order of the model."""
        ranges = self.instance.generator_ranges
        for number, (function, choices) in enumerate(zip(self.instance.model.generators, ranges, strict=True)):
            build = partial(self.begin, function.routine, choices)
            self.module.define(f"begin_{number}", kinds_of(build), build, is_exported=True)

    def begin(
        self,
        routine: Routine,
        choices: Sequence[ArgumentRange],
        code: Code,
        before: Apart,
        s: Apart,
        words: Value,
        room: Value,
        most: Value,
        place: Value,
        status: Value,
    ) -> None:
        """Build the function of one generator. The built function starts with the combination of arguments at address
        `place`, packs at most `room` states, and returns the number of packed states."""
        count, work = code.variable(0), code.variable(0)
        begun = [load_word(place + 8 * depth) for depth in range(len(choices))]

        def stop(arguments: Sequence[Value], how: int) -> None:
            """Build code that ends the call with status `how`. The code stores the combination of arguments where the
            call ends (`arguments`, completed with zeros)."""
            for depth in range(len(choices)):
                store_word(place + 8 * depth, arguments[depth] if depth < len(arguments) else 0)
            store_word(status, how)
            code.return_(count)

        @contextmanager
        def goes_on(depth: int, arguments: Sequence[Value]) -> Iterator[Value]:
            """Build a loop over the values of argument `depth`; its first pass begins where the last call stopped."""
            is_begun = [value == first for value, first in zip(arguments, begun, strict=False)]
            first = code.choice([(code.every(*is_begun), begun[depth])], 0) if is_begun else begun[depth]
            with code.loop(first, choices[depth].count) as value:
                work.set(work + 1)
                with code.when(code.some(work > most, lambda: count == room)):
                    stop([*arguments, value], PAUSED)
                yield value

        if all(
            choice.count for choice in choices
        ):  # without an element there is no initial state, and no guard is evaluated
            guards = [] if self.is_careful else conjuncts(routine)
            step = self.step(routine, choices, skip=0 if self.is_careful else len(routine.guards))
            with self.guarded_loops(code, routine, choices, before, guards, goes_on) as arguments:
                is_enabled = code.call(step, s, *arguments)
                if self.is_careful:
                    with code.when(failed(s)):
                        stop(arguments, FAILED)
                    with code.when(is_enabled):
                        self.copy(before, s)
                else:
                    with code.when(is_enabled):
                        with code.when(failed(s)):
                            stop(arguments, FAILED)
                        self.pack(s, words + count * self.words_size)
                        count.set(count + 1)
                        self.copy(before, s)
        with code.when(code.some(failed(s), partial(failed, before))):
            store_word(status, FAILED)
        with code.otherwise():
            store_word(status, DONE)
        code.return_(count)


def compiled_generators(
    instance: Instance, layout: Layout, *, is_careful: bool = False
) -> Sequence[Callable[..., int]]:
    """Returns a compiled function for each generator of initial states, in the model's order; compiles only if the
    cache has no code. A careful function stops where a value leaves its declared range. Raises OutOfTimeError."""
    path = code_path("kernels", f"generators\0{is_careful}\0{generators_key(instance)}")

    def build(module: Module) -> None:
        GeneratorCode(module, instance, layout, is_careful=is_careful).build()

    code = kept_or_made(path, lambda: compiled(build, is_quick=True))
    names = (f"begin_{number}" for number in range(len(instance.model.generators)))
    return tuple(load(code, dict.fromkeys(names, PARAMETERS)).values())
