"""The Paxos consensus algorithm, by Leslie Lamport.

After specifications/PaxosHowToWinATuringAward/Paxos.tla by Leslie Lamport
(2024-03-25; github.com/tlaplus/Examples, MIT license). Model file: MCPaxosTiny.cfg, with
three acceptors, two values, and ballots 0 and 1; every pair of acceptors is a quorum.

The same: every state and step. Messages are never removed. Different: the set `msgs` is an array of truth values for
each kind of message. Each acceptor sends at most one promise (1b) for a ballot, so the vote that the promise reports is
one entry per acceptor and ballot. `phase_2a` has two more parameters, the quorum and the acceptor whose vote shows that
the value is safe: TLC too generates a successor for each quorum and each such acceptor. Left out: the property that the
algorithm refines the module Voting. `agreement` states what follows from this property.
"""

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    bound,
    field,
    optional,
    require,
    sometimes,
)


class Configuration:
    acceptors = bound(3, "acceptors", least=3, option="--acceptors")
    values = bound(2, "values that can be proposed", least=1, option="--values")
    ballots = bound(2, "ballots (MaxBallot + 1)", least=1, option="--ballots")


class Acceptor(Domain, size="acceptors"):
    pass


class Value(Domain, size="values"):
    pass


class Ballot(Domain, size="ballots"):
    pass


class Quorum(Domain, size="acceptors"):
    """All acceptors but the one with this number; any two quorums have a member in common."""


class Witness(Domain, size=lambda configuration: configuration.acceptors + 1):
    """The member of a quorum whose vote has the highest ballot; the last number means that no member has voted."""


class State:
    max_ballot = field(Acceptor, values=optional(Ballot), initially=-1)
    voted_ballot = field(Acceptor, values=optional(Ballot), initially=-1)
    voted_value = field(Acceptor, values=optional(Value), initially=-1)
    sent_1a = field(Ballot, values=Flag)
    sent_1b = field(Acceptor, Ballot, values=Flag)
    promised_ballot = field(Acceptor, Ballot, values=optional(Ballot), initially=-1)  # mbal of a message 1b
    promised_value = field(Acceptor, Ballot, values=optional(Value), initially=-1)  # mval of a message 1b
    sent_2a = field(Ballot, Value, values=Flag)
    sent_2b = field(Acceptor, Ballot, Value, values=Flag)


@action
def phase_1a(s, ballot: Ballot):
    """The leader of `ballot` asks the acceptors for promises, perhaps not for the first time."""
    s.sent_1a[ballot] = True


@action
def phase_1b(s, acceptor: Acceptor, ballot: Ballot):
    """An acceptor promises to ignore ballots below `ballot`, and reports its last vote."""
    require(s.sent_1a[ballot])
    require(ballot > s.max_ballot[acceptor])
    s.max_ballot[acceptor] = ballot
    s.sent_1b[acceptor][ballot] = True
    s.promised_ballot[acceptor][ballot] = s.voted_ballot[acceptor]
    s.promised_value[acceptor][ballot] = s.voted_value[acceptor]


def nobody_has_voted(s, quorum, ballot):
    return all(s.promised_ballot[a][ballot] < 0 for a in range(s.acceptors) if a != quorum)


def voted_last(s, quorum, ballot, acceptor):
    return (
        acceptor != quorum
        and s.promised_ballot[acceptor][ballot] >= 0
        and all(
            s.promised_ballot[acceptor][ballot] >= s.promised_ballot[a][ballot]
            for a in range(s.acceptors)
            if a != quorum
        )
    )


@action(shows="{value} in ballot {ballot}, quorum without {quorum}, witness {witness}")
def phase_2a(s, ballot: Ballot, value: Value, quorum: Quorum, witness: Witness):
    """The ballot's leader asks for votes for the value of the last vote in `quorum` or, if nobody voted, any value."""
    require(not any(s.sent_2a[ballot][v] for v in range(s.values)))
    require(all(s.sent_1b[a][ballot] for a in range(s.acceptors) if a != quorum))
    require(
        nobody_has_voted(s, quorum, ballot)
        if witness == s.acceptors
        else voted_last(s, quorum, ballot, witness) and s.promised_value[witness][ballot] == value
    )
    s.sent_2a[ballot][value] = True


@action(shows="{acceptor} for {value} in ballot {ballot}")
def phase_2b(s, acceptor: Acceptor, ballot: Ballot, value: Value):
    """An acceptor votes for `value` in `ballot`, unless it has promised to ignore this ballot."""
    require(s.sent_2a[ballot][value])
    require(ballot >= s.max_ballot[acceptor])
    s.max_ballot[acceptor] = ballot
    s.voted_ballot[acceptor] = ballot
    s.voted_value[acceptor] = value
    s.sent_2b[acceptor][ballot][value] = True


def is_chosen(s, value):
    """All acceptors of a quorum have voted for the value in the same ballot."""
    return any(
        all(s.sent_2b[a][ballot][value] for a in range(s.acceptors) if a != quorum)
        for ballot in range(s.ballots)
        for quorum in range(s.acceptors)
    )


@always
def agreement(s):
    """At most one value is ever chosen."""
    return not any(
        one < other and is_chosen(s, one) and is_chosen(s, other)
        for one in range(s.values)
        for other in range(s.values)
    )


@always
def a_vote_is_remembered(s):
    """An acceptor's last vote was sent in a message 2b, after the ballot's leader had asked for this vote (2a)."""
    return all(
        s.voted_ballot[a] <= s.max_ballot[a]
        and (s.voted_ballot[a] < 0) == (s.voted_value[a] < 0)
        and all(
            s.sent_2b[a][b][v] and s.sent_2a[b][v]
            for b in range(s.ballots)
            for v in range(s.values)
            if s.voted_ballot[a] == b and s.voted_value[a] == v
        )
        for a in range(s.acceptors)
    )


@sometimes
def some_value_is_chosen(s):
    return any(is_chosen(s, value) for value in range(s.values))
