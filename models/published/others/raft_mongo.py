"""Raft as used in MongoDB: followers pull entries, and learn the commit point from one another.

After RaftMongo.tla by Siyuan Zhou and William Schultz (github.com/will62794/mongo-repl-tla-models, after
github.com/visualzhou/mongo-repl-tla). Its README.md reports what TLC finds for the model files 1_LearnCommitPoint*.cfg:
three or five servers, terms and logs up to 3, and all servers symmetric.

As in the original, an election is one step, after which every server knows the term and the leader; there are no
messages, no crashes, and no candidates. A server appends the next entry of any server whose log continues its own, or
removes its last entry if another log ends in a later term. The states and the symmetry are those of the original.
`LEARNS_FROM_SYNC_SOURCE` says which action replaces CommitPointAction of the original.

Different: the variable syncSource is left out, because no action of these model files sets it to anything but Nil. An
entry is its term; the place in the log is its index. The StateConstraint of the original cuts off some steps (an
election after the last term, a write to a full log): TLC generates such a successor and drops it. In this model, these
steps lead back to the same state; so both TLC and this model count such a successor as generated, but not as a state.
"""

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    between,
    bound,
    field,
    require,
    sometimes,
    switch,
)


class Configuration:
    servers = bound(3, "servers", least=1, option="--servers")
    max_term = bound(3, "greatest term", least=1, option="--max-term")
    max_log_length = bound(3, "entries that a log can hold", least=1, option="--max-log-length")
    LEARNS_FROM_SYNC_SOURCE = switch(
        True, "a server learns the commit point from a node whose log continues its own; if off, from any node"
    )


class Server(Domain, size="servers", symmetric=True):
    pass


class Index(Domain, size="max_log_length"):
    pass


class State:
    term = field(values=between(0, "max_term"))
    leads = field(Server, values=Flag)
    log = field(Server, Index, values=between(0, "max_term"))  # 0: no entry
    log_length = field(Server, values=between(0, "max_log_length"))
    commit_term = field(Server, values=between(0, "max_term"))
    commit_length = field(Server, values=between(0, "max_log_length"))


def last_term(s, i):
    return s.log[i][s.log_length[i] - 1] if s.log_length[i] > 0 else 0


def continues(s, j, i):
    """The log of `j` is longer than the log of `i`, and has the same term where the log of `i` ends."""
    return s.log_length[i] < s.log_length[j] and (
        s.log_length[i] == 0 or s.log[i][s.log_length[i] - 1] == s.log[j][s.log_length[i] - 1]
    )


def can_roll_back(s, i, j):
    """Server `i` can remove its last entry: the log of `j` ends in a later term and does not continue that of `i`."""
    return (
        s.log_length[i] > 0
        and last_term(s, i) < last_term(s, j)
        and (s.log_length[i] > s.log_length[j] or s.log[j][s.log_length[i] - 1] != last_term(s, i))
    )


def agree_on(s, me, length):
    """The number of servers whose entry number `length` (from 1) has the same term as entry number `length` of `me`."""
    return sum(
        1 for node in Server if s.log_length[node] >= length and s.log[node][length - 1] == s.log[me][length - 1]
    )


def is_committed(s, me):
    """A majority has the last entry of `me`. This entry is of the current term: an older entry might be rolled back."""
    return s.log_length[me] > 0 and 2 * agree_on(s, me, s.log_length[me]) > s.servers and last_term(s, me) == s.term


def is_not_behind(s, me, j):
    return last_term(s, me) > last_term(s, j) or (
        last_term(s, me) == last_term(s, j) and s.log_length[me] >= s.log_length[j]
    )


def knows_less(s, i, j):
    """The commit point of `i` is before that of `j`."""
    return s.commit_term[i] < s.commit_term[j] or (
        s.commit_term[i] == s.commit_term[j] and s.commit_length[i] < s.commit_length[j]
    )


@action(shows="{i} from {j}")
def append_oplog(s, i: Server, j: Server):
    """Server `i` appends the next entry of the log of `j`, which continues its own log. The leader can do so, too."""
    require(continues(s, j, i))
    s.log[i][s.log_length[i]] = s.log[j][s.log_length[i]]
    s.log_length[i] += 1


@action(shows="{i} because of {j}")
def rollback_oplog(s, i: Server, j: Server):
    """A server removes its last entry, because another log ends in a later term."""
    require(can_roll_back(s, i, j))
    s.log_length[i] -= 1
    s.log[i][s.log_length[i]] = 0


@action
def become_primary_by_magic(s, i: Server):
    """A server whose log is as new as those of a majority, or newer, leads the next term; all know it at once."""
    require(2 * sum(1 for j in Server if is_not_behind(s, i, j)) > s.servers)
    if s.term < s.max_term:
        for j in Server:
            s.leads[j] = j == i
        s.term += 1


@action
def client_write(s, i: Server):
    require(s.leads[i])
    if s.log_length[i] < s.max_log_length:
        s.log[i][s.log_length[i]] = s.term
        s.log_length[i] += 1


@action
def advance_commit_point(s, i: Server):
    require(s.leads[i])
    require(is_committed(s, i))
    s.commit_term[i] = last_term(s, i)
    s.commit_length[i] = s.log_length[i]


@action(shows="{i} from {j}")
def learn_commit_point(s, i: Server, j: Server):
    """Server `i` learns the commit point of `j`, which is later than its own."""
    require(knows_less(s, i, j))
    require(not s.LEARNS_FROM_SYNC_SOURCE or continues(s, j, i))
    s.commit_term[i] = s.commit_term[j]
    s.commit_length[i] = s.commit_length[j]


@always
def never_rollback_before_commit_point(s):
    """NeverRollbackBeforeCommitPoint: no server can remove an entry up to the commit point that it has learned."""
    return not any(
        can_roll_back(s, i, j)
        and (
            last_term(s, i) < s.commit_term[i]
            or (last_term(s, i) == s.commit_term[i] and s.log_length[i] <= s.commit_length[i])
        )
        for i in Server
        for j in Server
    )


@sometimes
def everybody_knows_a_commit_point(s):
    return all(s.commit_length[i] > 0 for i in Server)
