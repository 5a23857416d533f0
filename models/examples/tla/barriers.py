"""A reusable barrier: processes wait for one another in two chambers, one after the other, by Jarod Differdange.

After specifications/barriers/Barriers.tla by Jarod Differdange
(2025-08-07; github.com/tlaplus/Examples, MIT license). Model file: Barriers.cfg, with N = 6.

The same: every state and step of the PlusCal process; each label is an action. Different: processes are counted from 0.
Left out: that the algorithm refines the module Barrier.
"""

from enum import IntEnum

from isrcheck.models.language import Domain, action, always, between, bound, field, require


class Configuration:
    processes = bound(6, "processes that meet at the barrier", least=1, option="--processes")


class Process(Domain, size="processes"):
    pass


class Label(IntEnum):
    A0 = 0
    A1 = 1
    A2 = 2
    A3 = 3
    A4 = 4
    A5 = 5
    A6 = 6
    A7 = 7
    A8 = 8
    A9 = 9
    A10 = 10
    A11 = 11
    A12 = 12


class State:
    label = field(Process, values=Label)
    lock = field(values=between(0, 1), initially=1)
    first_gate = field(values=between(0, "processes"))
    second_gate = field(values=between(0, "processes"))
    rendezvous = field(values=between(0, "processes"))


@action
def a0_arrive(s, process: Process):
    require(s.label[process] == Label.A0)
    s.label[process] = Label.A1


@action
def a1_lock(s, process: Process):
    require(s.label[process] == Label.A1)
    require(s.lock == 1)
    s.lock = 0
    s.label[process] = Label.A2


@action
def a2_count_up(s, process: Process):
    require(s.label[process] == Label.A2)
    s.rendezvous += 1
    s.label[process] = Label.A3


@action
def a3_ask_whether_all_are_here(s, process: Process):
    require(s.label[process] == Label.A3)
    s.label[process] = Label.A4 if s.rendezvous == s.processes else Label.A5


@action
def a4_open_the_first_gate(s, process: Process):
    require(s.label[process] == Label.A4)
    s.first_gate += s.processes
    s.label[process] = Label.A5


@action
def a5_unlock(s, process: Process):
    require(s.label[process] == Label.A5)
    s.lock = 1
    s.label[process] = Label.A6


@action
def a6_pass_the_first_gate(s, process: Process):
    require(s.label[process] == Label.A6)
    require(s.first_gate > 0)
    s.first_gate -= 1
    s.label[process] = Label.A7


@action
def a7_lock(s, process: Process):
    require(s.label[process] == Label.A7)
    require(s.lock == 1)
    s.lock = 0
    s.label[process] = Label.A8


@action
def a8_count_down(s, process: Process):
    require(s.label[process] == Label.A8)
    s.rendezvous -= 1
    s.label[process] = Label.A9


@action
def a9_ask_whether_all_have_left(s, process: Process):
    require(s.label[process] == Label.A9)
    s.label[process] = Label.A10 if s.rendezvous == 0 else Label.A11


@action
def a10_open_the_second_gate(s, process: Process):
    require(s.label[process] == Label.A10)
    s.second_gate += s.processes
    s.label[process] = Label.A11


@action
def a11_unlock(s, process: Process):
    require(s.label[process] == Label.A11)
    s.lock = 1
    s.label[process] = Label.A12


@action
def a12_pass_the_second_gate(s, process: Process):
    require(s.label[process] == Label.A12)
    require(s.second_gate > 0)
    s.second_gate -= 1
    s.label[process] = Label.A0


def has_the_lock(s, process):
    return Label.A2 <= s.label[process] <= Label.A5 or Label.A8 <= s.label[process] <= Label.A11


def is_counted(s, process):
    return Label.A3 <= s.label[process] <= Label.A8


def is_in_the_first_chamber(s, process):
    return s.label[process] <= Label.A6


@always
def lock_invariant(s):
    """At most one process is in the critical section, and then the lock is taken."""
    return not any(has_the_lock(s, p) for p in range(s.processes)) or (
        s.lock == 0 and sum(1 for p in range(s.processes) if has_the_lock(s, p)) == 1
    )


@always
def barrier_invariant(s):
    """The counter agrees with the labels, a gate is open only while a process is at it, and not both gates are open."""
    return (
        s.rendezvous == sum(1 for p in range(s.processes) if is_counted(s, p))
        and (s.first_gate == 0 or any(Label.A5 <= s.label[p] <= Label.A6 for p in range(s.processes)))
        and (s.second_gate == 0 or any(Label.A11 <= s.label[p] <= Label.A12 for p in range(s.processes)))
        and (s.first_gate == 0 or s.second_gate == 0)
    )


@always
def nobody_overtakes(s):
    """No process enters the barrier again before all others have left it."""
    return not any(s.label[p] <= Label.A4 for p in range(s.processes)) or not any(
        Label.A7 <= s.label[p] <= Label.A10 for p in range(s.processes)
    )


@always
def flush_invariant(s):
    """An open gate lets exactly the processes pass that wait in its chamber."""
    return (
        s.first_gate == 0 or s.first_gate == sum(1 for p in range(s.processes) if is_in_the_first_chamber(s, p))
    ) and (
        s.second_gate == 0 or s.second_gate == sum(1 for p in range(s.processes) if not is_in_the_first_chamber(s, p))
    )
