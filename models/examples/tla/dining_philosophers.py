"""The dining philosophers, as Chandy and Misra solved the problem: dirty forks are handed over, clean ones are kept.

After specifications/DiningPhilosophers/DiningPhilosophers.tla by Jeff Hemphill
(2024-04-10; github.com/tlaplus/Examples, MIT license). Model file: DiningPhilosophers.cfg, with NP = 5.

The same: every state and step of the PlusCal process, whose labels Loop, Eat and Think are the actions here.
Different: philosophers and forks are counted from 0, and a fork is two fields, `holder` and `is_clean`.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    always_eventually,
    bound,
    field,
    initial,
    require,
    weak_fairness,
)


class Configuration:
    philosophers = bound(5, "philosophers at the table", least=2, option="--philosophers")


class Philosopher(Domain, size="philosophers"):
    pass


class Fork(Domain, size="philosophers"):
    """A fork. It lies to the left of the philosopher with the same number."""


class Label(IntEnum):
    LOOP = 0
    EAT = 1
    THINK = 2


class State:
    holder = field(Fork, values=Philosopher)
    is_clean = field(Fork, values=Flag)
    label = field(Philosopher, values=Label)
    is_hungry = field(Philosopher, values=Flag)


@initial
def everyone_is_hungry(configuration: Any) -> Iterator[dict[str, Any]]:
    """All forks are dirty. Philosopher 0 holds two of them, and the others hold at most one."""
    everyone = range(configuration.philosophers)
    yield {"holder": [0 if fork == 1 else fork for fork in everyone], "is_hungry": [True for _ in everyone]}


def right_fork(s, philosopher):
    return 0 if philosopher == s.philosophers - 1 else philosopher + 1


def left_neighbour(s, philosopher):
    return s.philosophers - 1 if philosopher == 0 else philosopher - 1


def right_neighbour(s, philosopher):
    return 0 if philosopher == s.philosophers - 1 else philosopher + 1


def can_eat(s, philosopher):
    return (
        s.holder[philosopher] == philosopher
        and s.holder[right_fork(s, philosopher)] == philosopher
        and s.is_clean[philosopher]
        and s.is_clean[right_fork(s, philosopher)]
    )


@action
def loop(s, philosopher: Philosopher):
    """A hungry philosopher who can eat goes on to Eat, a sated one to Think. A dirty fork is handed over, cleaned."""
    require(s.label[philosopher] == Label.LOOP)
    right = right_fork(s, philosopher)
    if s.is_hungry[philosopher]:
        if can_eat(s, philosopher):
            s.label[philosopher] = Label.EAT
    else:
        s.label[philosopher] = Label.THINK
    if s.holder[philosopher] == philosopher and not s.is_clean[philosopher]:
        s.holder[philosopher] = left_neighbour(s, philosopher)
        s.is_clean[philosopher] = True
    elif s.holder[right] == philosopher and not s.is_clean[right]:
        s.holder[right] = right_neighbour(s, philosopher)
        s.is_clean[right] = True


@action
def eat(s, philosopher: Philosopher):
    require(s.label[philosopher] == Label.EAT)
    s.is_hungry[philosopher] = False
    s.is_clean[philosopher] = False
    s.is_clean[right_fork(s, philosopher)] = False
    s.label[philosopher] = Label.LOOP


@action
def think(s, philosopher: Philosopher):
    require(s.label[philosopher] == Label.THINK)
    s.is_hungry[philosopher] = True
    s.label[philosopher] = Label.LOOP


def share_a_fork(s, one, other):
    return (
        one == other
        or one == right_fork(s, other)
        or right_fork(s, one) == other
        or right_fork(s, one) == right_fork(s, other)
    )


@always
def exclusive_access(s):
    """Two philosophers who share a fork do not eat at the same time."""
    return not any(
        one != other and share_a_fork(s, one, other) and s.label[one] == Label.EAT and s.label[other] == Label.EAT
        for one in range(s.philosophers)
        for other in range(s.philosophers)
    )


EVERY_PHILOSOPHER = weak_fairness(loop, eat, think, each="philosopher")
"""Each philosopher eventually eats."""


def does_not_starve(s, philosopher):
    """The philosopher is not hungry, or does not exist. NobodyStarves: always eventually true of the first five."""
    return philosopher >= s.philosophers or not s.is_hungry[philosopher]


@always_eventually(fair=EVERY_PHILOSOPHER)
def philosopher_0_does_not_starve(s):
    return does_not_starve(s, 0)


@always_eventually(fair=EVERY_PHILOSOPHER)
def philosopher_1_does_not_starve(s):
    return does_not_starve(s, 1)


@always_eventually(fair=EVERY_PHILOSOPHER)
def philosopher_2_does_not_starve(s):
    return does_not_starve(s, 2)


@always_eventually(fair=EVERY_PHILOSOPHER)
def philosopher_3_does_not_starve(s):
    return does_not_starve(s, 3)


@always_eventually(fair=EVERY_PHILOSOPHER)
def philosopher_4_does_not_starve(s):
    return does_not_starve(s, 4)
