"""The coffee can problem of Carel Scholten, as told by Dijkstra and Gries: what is the color of the last bean?

After specifications/CoffeeCan/CoffeeCan.tla by Andrew Helwer (2026-05-12; github.com/tlaplus/Examples, MIT license).
Model file: CoffeeCan100Beans.cfg, with MaxBeanCount = 100.

The same: every state and step, also the step that changes nothing at the end. Different: the can is two fields. The
hypothesis about the last bean is two properties; TLA+ evaluates the hypothesis' premise in the first state only, but no
step changes whether the premise is true.
"""

from collections.abc import Iterator
from typing import Any

from isrcheck.models.language import (
    action,
    always_step,
    any_action,
    between,
    bound,
    eventually,
    field,
    initial,
    leads_to,
    require,
)


class Configuration:
    most_beans = bound(100, "beans in the can at most (MaxBeanCount)", least=1, most=120, option="--most-beans")


class State:
    black = field(values=between(0, "most_beans"))
    white = field(values=between(0, "most_beans"))


@initial
def some_beans(configuration: Any) -> Iterator[dict[str, Any]]:
    for black in range(configuration.most_beans + 1):
        for white in range(configuration.most_beans + 1 - black):
            if black + white > 0:
                yield {"black": black, "white": white}


def beans(s):
    return s.black + s.white


@action
def pick_same_color_black(s):
    """Two black beans are taken out, and one of them is put back."""
    require(s.black >= 2)
    s.black -= 1


@action
def pick_same_color_white(s):
    """Two white beans are thrown away, and a black one is put in."""
    require(s.white >= 2)
    s.white -= 2
    s.black += 1


@action
def pick_different_color(s):
    """A black and a white bean are taken out; the black bean is thrown away, and the white bean is put back."""
    require(s.black >= 1)
    require(s.white >= 1)
    s.black -= 1


@action
def terminate(s):
    """One bean is left, and nothing changes."""
    require(beans(s) == 1)


@always_step
def monotonic_decrease(before, after, taken):
    return taken == terminate or beans(after) < beans(before)


@always_step
def loop_invariant(before, after):
    """The parity of the number of white beans never changes."""
    return before.white % 2 == after.white % 2


@eventually(fair=any_action)
def eventually_terminates(s):
    return beans(s) == 1


def white_is_even(s):
    return s.white % 2 == 0


def white_is_odd(s):
    return s.white % 2 == 1


@leads_to(when=white_is_even, fair=any_action)
def even_ends_in_black(s):
    return s.black == 1 and s.white == 0


@leads_to(when=white_is_odd, fair=any_action)
def odd_ends_in_white(s):
    return s.black == 0 and s.white == 1
