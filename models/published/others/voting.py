"""Voting, the algorithm that Paxos implements: quorums and ballots without messages, by Leslie Lamport.

After specifications/PaxosHowToWinATuringAward/Voting.tla by Leslie Lamport (github.com/tlaplus/Examples, MIT license).
Model file: MCVoting.cfg, with three acceptors, two values, ballots 0 to 2, and as quorums all pairs.

The same: every state and step. Different: a vote is an entry of an array, because an acceptor votes at most once in a
ballot. `vote_for` has three more parameters, which show that the value is safe: a quorum; the ballot after the last
earlier ballot in which a member of this quorum voted (0 if there is no such ballot); and a member that voted for the
value in that last ballot (without such a ballot, the acceptor outside the quorum). TLC, too, generates a successor for
each of their values. Left out: that Voting refines the module Consensus; `agreement` states what follows from this.
"""

from isrcheck.models.language import (
    NONE,
    Domain,
    action,
    always,
    bound,
    field,
    optional,
    require,
    sometimes,
    terminal,
)


class Configuration:
    acceptors = bound(3, "acceptors", least=3, option="--acceptors")
    values = bound(2, "values that can be chosen", least=1, option="--values")
    ballots = bound(3, "ballots", least=1, option="--ballots")


class Acceptor(Domain, size="acceptors"):
    pass


class Value(Domain, size="values"):
    pass


class Ballot(Domain, size="ballots"):
    pass


class Quorum(Domain, size="acceptors"):
    """A quorum: all acceptors except the acceptor with this number. Any two quorums have a member in common."""


class State:
    vote = field(Acceptor, Ballot, values=optional(Value), initially=NONE)
    max_ballot = field(Acceptor, values=optional(Ballot), initially=NONE)


def is_chosen_in(s, ballot, value):
    """All acceptors of a quorum have voted for `value` in `ballot`; a quorum is all acceptors but one."""
    return any(all(s.vote[a][ballot] == value for a in Acceptor if a != quorum) for quorum in Quorum)


def is_chosen(s, value):
    return any(is_chosen_in(s, ballot, value) for ballot in Ballot)


def can_choose_nothing_else(s, ballot, value):
    """Each acceptor of some quorum has voted for `value` in `ballot`, or has not voted in `ballot` and never will."""
    return any(
        all(
            s.vote[a][ballot] == value or (s.max_ballot[a] > ballot and s.vote[a][ballot] == NONE)
            for a in Acceptor
            if a != quorum
        )
        for quorum in Quorum
    )


def is_safe_at(s, ballot, value):
    """In no ballot below `ballot` is a value other than `value` chosen, now or later."""
    return all(can_choose_nothing_else(s, earlier, value) for earlier in Ballot if earlier < ballot)


def shows_safe(s, quorum, ballot, last):
    """The acceptors of `quorum` are at `ballot` or later, and voted in no ballot between `last` and `ballot`."""
    return all(
        s.max_ballot[a] >= ballot and all(s.vote[a][b] == NONE for b in Ballot if last < b and b < ballot)
        for a in Acceptor
        if a != quorum
    )


@action
def increase_max_ballot(s, acceptor: Acceptor, ballot: Ballot):
    """An acceptor promises to vote in no ballot below `ballot`."""
    require(ballot > s.max_ballot[acceptor])
    s.max_ballot[acceptor] = ballot


@action(
    shows="{acceptor} for {value} in ballot {ballot}, quorum without {quorum}, voted before {votes_end}, by {witness}"
)
def vote_for(s, acceptor: Acceptor, ballot: Ballot, value: Value, quorum: Quorum, votes_end: Ballot, witness: Acceptor):
    """An acceptor votes for `value` if it is a safe value, and nobody has voted for a different value in `ballot`."""
    require(s.max_ballot[acceptor] <= ballot)
    require(s.vote[acceptor][ballot] == NONE)
    require(all(s.vote[a][ballot] in (NONE, value) for a in Acceptor))
    require(votes_end <= ballot)
    require(shows_safe(s, quorum, ballot, votes_end - 1))
    require(witness == quorum if votes_end == 0 else witness != quorum and s.vote[witness][votes_end - 1] == value)
    s.vote[acceptor][ballot] = value
    s.max_ballot[acceptor] = ballot


@terminal
def ballots_are_used_up(s):
    """Every acceptor is at the last ballot, where a behaviour may end: the model file has CHECK_DEADLOCK FALSE."""
    return all(s.max_ballot[a] == s.ballots - 1 for a in Acceptor)


@always
def votes_are_safe(s):
    """VotesSafe: whoever voted for a value, voted for a safe one."""
    return all(
        s.vote[a][ballot] != value or is_safe_at(s, ballot, value)
        for a in Acceptor
        for ballot in Ballot
        for value in Value
    )


@always
def one_value_per_ballot(s):
    """OneValuePerBallot: all votes in a ballot are for the same value."""
    return all(
        s.vote[a][ballot] == NONE or s.vote[b][ballot] == NONE or s.vote[a][ballot] == s.vote[b][ballot]
        for a in Acceptor
        for b in Acceptor
        for ballot in Ballot
    )


@always
def agreement(s):
    """At most one value is ever chosen."""
    return not any(one != other and is_chosen(s, one) and is_chosen(s, other) for one in Value for other in Value)


@sometimes
def some_value_is_chosen(s):
    return any(is_chosen(s, value) for value in Value)
