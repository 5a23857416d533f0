"""Elevators: a person calls an elevator, which stops, opens its doors and takes the person to another floor.

After specifications/MultiCarElevator/Elevator.tla by Andrew Helwer (github.com/tlaplus/Examples, MIT license). Model
file: ElevatorLivenessMedium.cfg, with two persons, two elevators and two floors.

The same: every state and step, and the fairness TemporalAssumptions. Different: floors are counted from 0; a location
is a floor, or the number of floors plus the number of an elevator; of two elevators that are equally close to a call,
the first one is sent, which TLC's CHOOSE takes as well. TemporalInvariant is stated of the calls from the lowest and
the highest floor, which are all calls if there are two floors, and of the first person: the specification treats all
persons alike.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    Record,
    Set,
    action,
    always,
    between,
    bound,
    field,
    initial,
    leads_to,
    require,
    strong_fairness,
)


class Configuration:
    persons = bound(2, "persons (Person)", least=1, option="--persons")
    elevators = bound(2, "elevators (Elevator)", least=1, option="--elevators")
    floors = bound(2, "floors (FloorCount)", least=2, option="--floors")


class Person(Domain, size="persons"):
    pass


class Elevator(Domain, size="elevators"):
    pass


class Floor(Domain, size="floors"):
    pass


class Way(Domain, size=2):
    """A direction of travel: UP or DOWN."""


class Direction(IntEnum):
    UP = 0
    DOWN = 1
    STATIONARY = 2


class PersonState(Record):
    location = field(values=between(0, lambda configuration: configuration.floors + configuration.elevators - 1))
    destination = field(values=Floor)
    is_waiting = field(values=Flag)


class ElevatorState(Record):
    floor = field(values=Floor)
    direction = field(values=Direction, initially=Direction.STATIONARY)
    doors_are_open = field(values=Flag)
    buttons = field(values=Set(of=Floor))


class State:
    person = field(Person, values=PersonState)
    elevator = field(Elevator, values=ElevatorState)
    is_called = field(Floor, Way, values=Flag)  # ActiveElevatorCalls


class People(Domain, size=lambda configuration: (configuration.floors**2) ** configuration.persons):
    """A location and a destination of each person, as one number."""


class Places(Domain, size=lambda configuration: configuration.floors**configuration.elevators):
    """A floor of each elevator, as one number."""


@initial
def anybody_is_anywhere(s, people: People, places: Places):
    rest = people
    for p in Person:
        s.person[p].location = rest % s.floors
        rest = rest // s.floors
        s.person[p].destination = rest % s.floors
        rest = rest // s.floors
    left = places
    for e in Elevator:
        s.elevator[e].floor = left % s.floors
        left = left // s.floors


def direction_to(current, destination):
    """GetDirection: the direction of travel from one floor to another."""
    return Direction.UP if destination > current else Direction.DOWN


def distance(one, other):
    return one - other if one > other else other - one


def can_serve(s, elevator, floor, way):
    """CanServiceCall: the elevator is at the floor of the call, and moves in its direction."""
    return s.elevator[elevator].floor == floor and s.elevator[elevator].direction == way


def waits_for(s, person, floor, way):
    """PeopleWaiting: the person waits at this floor for an elevator in this direction."""
    return (
        s.person[person].location == floor
        and s.person[person].is_waiting
        and direction_to(floor, s.person[person].destination) == way
    )


def gets_on(s, person, elevator):
    return waits_for(s, person, s.elevator[elevator].floor, s.elevator[elevator].direction)


def gets_off(s, person, elevator):
    return (
        s.person[person].location == s.floors + elevator and s.person[person].destination == s.elevator[elevator].floor
    )


def can_enter(s, elevator):
    return (
        s.elevator[elevator].doors_are_open
        and s.elevator[elevator].direction != Direction.STATIONARY
        and any(gets_on(s, person, elevator) for person in Person)
    )


def can_exit(s, elevator):
    return s.elevator[elevator].doors_are_open and any(gets_off(s, person, elevator) for person in Person)


def can_open(s, elevator):
    floor = s.elevator[elevator].floor
    return not s.elevator[elevator].doors_are_open and (
        any(s.is_called[floor][way] and s.elevator[elevator].direction == way for way in Way)
        or floor in s.elevator[elevator].buttons
    )


def next_floor(s, elevator):
    return s.elevator[elevator].floor + (1 if s.elevator[elevator].direction == Direction.UP else -1)


def is_floor(s, number):
    return 0 <= number < s.floors


@action
def picks_new_destination(s, person: Person, floor: Floor):
    require(not s.person[person].is_waiting and s.person[person].location < s.floors)
    require(floor != s.person[person].location)
    s.person[person].destination = floor


@action(fair="person")
def calls_elevator(s, person: Person):
    require(not s.person[person].is_waiting and s.person[person].location != s.person[person].destination)
    floor = s.person[person].location
    way = direction_to(floor, s.person[person].destination)
    if not any(can_serve(s, elevator, floor, way) and s.elevator[elevator].doors_are_open for elevator in Elevator):
        s.is_called[floor][way] = True
    s.person[person].is_waiting = True


@action(fair="elevator")
def opens_doors(s, elevator: Elevator):
    require(can_open(s, elevator))
    floor = s.elevator[elevator].floor
    s.elevator[elevator].doors_are_open = True
    s.elevator[elevator].buttons.discard(floor)
    if s.elevator[elevator].direction != Direction.STATIONARY:
        s.is_called[floor][s.elevator[elevator].direction] = False


@action(fair="elevator")
def lets_people_enter(s, elevator: Elevator):
    """All people enter who wait at this floor, and travel in the same direction."""
    require(can_enter(s, elevator))
    for person in Person:
        if gets_on(s, person, elevator):
            s.person[person].location = s.floors + elevator
            s.elevator[elevator].buttons.add(s.person[person].destination)


@action(fair="elevator")
def lets_people_exit(s, elevator: Elevator):
    require(can_exit(s, elevator))
    for person in Person:
        if gets_off(s, person, elevator):
            s.person[person].location = s.elevator[elevator].floor
            s.person[person].is_waiting = False


@action(fair=strong_fairness(each="elevator"))
def closes_doors(s, elevator: Elevator):
    require(not can_enter(s, elevator) and not can_exit(s, elevator))
    require(s.elevator[elevator].doors_are_open)
    s.elevator[elevator].doors_are_open = False


def is_served_by_another(s, elevator, floor, way):
    return any(other != elevator and can_serve(s, other, floor, way) for other in Elevator)


@action(fair=strong_fairness(each="elevator"))
def moves(s, elevator: Elevator):
    """The elevator moves to the next floor, unless it has to open its doors here."""
    require(s.elevator[elevator].direction != Direction.STATIONARY)
    require(not s.elevator[elevator].doors_are_open)
    require(s.elevator[elevator].floor not in s.elevator[elevator].buttons)
    require(
        all(
            not s.is_called[floor][way]
            or not can_serve(s, elevator, floor, way)
            or is_served_by_another(s, elevator, floor, way)
            for floor in Floor
            for way in Way
        )
    )
    require(is_floor(s, next_floor(s, elevator)))
    s.elevator[elevator].floor = next_floor(s, elevator)


@action(fair="elevator")
def stops(s, elevator: Elevator):
    """The elevator stops when it has moved as far as it can in one direction."""
    require(not can_open(s, elevator))
    require(not s.elevator[elevator].doors_are_open)
    require(not is_floor(s, next_floor(s, elevator)))
    s.elevator[elevator].direction = Direction.STATIONARY


def can_be_sent(s, elevator, floor, way):
    """The elevator is stationary, or moves towards the floor of the call in its direction."""
    return s.elevator[elevator].direction == Direction.STATIONARY or (
        s.elevator[elevator].direction == way
        and (s.elevator[elevator].floor == floor or direction_to(s.elevator[elevator].floor, floor) == way)
    )


def is_closest(s, elevator, floor, way):
    return can_be_sent(s, elevator, floor, way) and all(
        not can_be_sent(s, other, floor, way)
        or distance(s.elevator[elevator].floor, floor) <= distance(s.elevator[other].floor, floor)
        for other in Elevator
    )


@action(fair=strong_fairness(each=("floor", "way")))
def is_sent(s, floor: Floor, way: Way):
    """The closest elevator is chosen for a call. A stationary one appears at its floor (DispatchElevator)."""
    require(s.is_called[floor][way])
    require(any(can_be_sent(s, elevator, floor, way) for elevator in Elevator))
    closest = min((elevator for elevator in Elevator if is_closest(s, elevator, floor, way)), default=0)
    if s.elevator[closest].direction == Direction.STATIONARY:
        s.elevator[closest].floor = floor
        s.elevator[closest].direction = way


@always
def buttons_are_pressed_by_people(s):
    """A button is pressed only if a person in the elevator goes to that floor."""
    return all(
        floor not in s.elevator[elevator].buttons
        or any(
            s.person[person].location == s.floors + elevator and s.person[person].destination == floor
            for person in Person
        )
        for elevator in Elevator
        for floor in Floor
    )


@always
def people_travel_in_their_direction(s):
    """A person is in an elevator only if it moves towards the person's destination, or is there."""
    return all(
        s.person[person].location != s.floors + elevator
        or s.elevator[elevator].floor == s.person[person].destination
        or s.elevator[elevator].direction == direction_to(s.elevator[elevator].floor, s.person[person].destination)
        for person in Person
        for elevator in Elevator
    )


@always
def no_ghost_calls(s):
    return all(
        not s.is_called[floor][way] or any(waits_for(s, person, floor, way) for person in Person)
        for floor in Floor
        for way in Way
    )


def there_is_a_call_up(s):
    return s.is_called[0][0]


def there_is_a_call_down(s):
    return s.is_called[s.floors - 1][1]


@leads_to(when=there_is_a_call_up)
def call_up_is_served(s):
    """Every call is eventually served by an elevator: a call up from the lowest floor."""
    return any(can_serve(s, elevator, 0, 0) for elevator in Elevator)


@leads_to(when=there_is_a_call_down)
def call_down_is_served(s):
    """A call down from the highest floor."""
    return any(can_serve(s, elevator, s.floors - 1, 1) for elevator in Elevator)


def person_waits(s):
    return s.person[0].is_waiting


@leads_to(when=person_waits)
def person_arrives(s):
    """A person who waits for an elevator eventually arrives at the destination."""
    return s.person[0].location == s.person[0].destination
