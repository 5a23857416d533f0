"""The rules by which cases share searches: each is checked by search on samples, in both settings."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.answers import planning, questions
from isrcheck.checker.answers.findings import FAILS, Source
from isrcheck.checker.answers.planning import isolated, numbers, planned, repaired
from isrcheck.checker.answers.questions import (
    ALL_LOSE_POWER,
    FEWER_IN_SYNC,
    KAFKA,
    LEAST,
    LIVENESS,
    RULES,
    Case,
    Question,
    Topic,
    asked_instead,
    defects_of,
    key_of,
    read_by,
    simplified,
    sizes,
    why_unasked,
)
from isrcheck.checker.atlas.cells import clusters
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word
from isrcheck.models.kafka.failures.catalogue import failures, named, pairs
from isrcheck.models.kafka.generations import MODEL

LOSS, POWER, DUPLICATES, ORDER = (Question(one) for one in (Topic.LOSS, Topic.POWER, Topic.DUPLICATES, Topic.ORDER))
WRITES_1, READS_1, READS_2 = Question(Topic.WRITES, 1), Question(Topic.READS, 1), Question(Topic.READS, 2)
STALE, MISSED = (Question(Topic.DEFECT, name=name) for name in ("stale_record", "missed_demotion"))
TWO = Case("2.4", replication_factor=2, enable_idempotence=False)


@pytest.fixture
def ask_as_it_is(ask, monkeypatch):
    """Search a question without the rules."""

    def answer(case, question):
        with monkeypatch.context() as patch:
            patch.setattr(planning, "asked_instead", lambda case, question: (case, question))
            return ask(case, question)

    return answer


def words(found):
    """What two answers have to have in common: the word, the depth, and whether the searches went to the end."""
    return found.word, found.depth, all(part.result.is_exhausted for part in found.parts)


MORE_IN_SYNC = Case("2.4", replication_factor=4, min_insync_replicas=3, unclean_election=True)


def test_with_more_replicas_in_sync_an_unclean_election_loses_as_with_fewer(ask):
    """The rule FEWER_IN_SYNC: the search is that of three replicas, of which two have to be in sync."""
    assert MODEL.entries["min_insync_replicas"].default == LEAST
    found = ask(MORE_IN_SYNC, LOSS)
    assert (found.word, found.depth, found.source, found.rule) == (Word.PERMITTED, 7, Source.RULE, FEWER_IN_SYNC)
    says = "brokers crash, an unclean election, with 3 of 4 replicas and min.insync.replicas=2"
    assert found.parts[0].search.says == says
    fewer = ask(replace(MORE_IN_SYNC, replication_factor=3, min_insync_replicas=2), LOSS)
    assert (fewer.history, fewer.depth) == (found.history, 7)
    whole = planned(replace(MORE_IN_SYNC, min_insync_replicas=4), LOSS)
    assert [one.rule for one in whole] == [""] * len(whole), "a record that every replica has to have"


@pytest.mark.parametrize("depth", [recorded(11)])
def test_the_rule_for_fewer_in_sync_is_confirmed_by_a_search_of_the_case_itself(searcher, depth):
    """Two more replicas fetch and confirm the record, and one more fails: eleven steps, where the case's own searches
    go to depth 10."""
    own = [one for one in planned(MORE_IN_SYNC, LOSS) if not one.rule and "unclean" in one.says]
    found = searcher.result(replace(own[0], depth=depth), Limits())
    assert (found.word, found.depth) == (Word.PERMITTED, 11)


ASKED = [Question(one) for one in (Topic.LOSS, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK)]
RESENT = [DUPLICATES, ORDER]
OF_BROKERS = [Question(topic, down) for topic in (Topic.WRITES, Topic.READS, Topic.SURVIVES) for down in (0, 1, 2)]


def cases_of(name, rule, seed, replicas):
    """Random cases of known releases, and questions about them, in which a rule changes the case."""
    draw = random.Random(f"{name} {seed}")
    while True:
        case = replace(chosen(draw), replication_factor=draw.randint(1, replicas), transactions=())
        case = replace(case, min_insync_replicas=draw.randint(1, case.replication_factor + 3))
        release = next(one.release for one in clusters() if one.case.protocol == case.protocol)
        of_defects = [one for one in defects_of(case, release) if named(one.name).history is not None]
        question = draw.choice([*ASKED, *RESENT, *OF_BROKERS, *of_defects])
        is_possible = question.number < case.replication_factor and not why_unasked(case, question)
        if is_possible and rule(case, question) != case:
            yield case, question


def history_of(found):
    """The steps of the history of an answer, without the generation and the entries that a rule may change."""
    return None if found.history is None else found.history.steps


def disagreement(ask, monkeypatch, name, rule, count, seed, replicas, depth):
    """The first of so many random cases whose answer by a rule differs from the one without it, in the word, the depth,
    how far the searches went, or the steps of the history; None if all agree. `depth` limits how long an answer takes.
    """
    others = {other: RULES[other] for other in RULES if other != name}
    for case, question in itertools.islice(cases_of(name, rule, seed, replicas), count):
        answers = []
        for some in (others, {**others, name: rule}):
            with monkeypatch.context() as patch:
                patch.setattr(questions, "RULES", some)
                found = ask(case, question, depth=depth)
            answers.append((words(found), history_of(found)))
        if answers[0] != answers[1]:
            return case, question
    return None


@pytest.mark.parametrize(
    ("seed", "replicas", "depth"),
    [(0, 2, 14), exhaustive((1, 2, 14)), recorded((2, 2, 14)), recorded((3, 2, 14)), recorded((4, 3, None))],
)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_changes_no_answer(ask, monkeypatch, name, seed, replicas, depth):
    assert disagreement(ask, monkeypatch, name, RULES[name], 3, seed, replicas, depth) is None


def test_a_rule_that_is_not_true_is_seen(ask, monkeypatch):
    """Clusters begin with an ISR that min.insync.replicas allows, and the ELR depends on it."""

    def false(case, question):
        return case if case.acks == "all" else replace(case, min_insync_replicas=1)

    name = "min.insync.replicas without acks=all"
    case, _ = disagreement(ask, monkeypatch, name, false, 40, 0, 2, 14)
    assert case.acks != "all"
    assert case.min_insync_replicas > 1


@pytest.mark.parametrize("cluster", [pytest.param(one, id=f"{one.release} {one.mode}") for one in clusters()])
def test_generations_that_are_repaired_alike_are_the_same(cluster):
    # What no operator decides is searched in 4.1 for 4.3.
    protocol = "4.1" if cluster.case.protocol == "4.3" else cluster.case.protocol
    assert repaired(simplified(cluster.case, LOSS)) == repaired(replace(cluster.case, protocol=protocol))


DEFECTS = [one for one in failures() if one.history is not None and one.history.model in (KAFKA, LIVENESS)]


@pytest.mark.sampled
@pytest.mark.parametrize("failure", DEFECTS, ids=lambda one: one.name)
def test_a_defect_is_searched_with_the_same_rules_where_other_mistakes_differ(failure):
    """The rule VARYING_MISTAKES: the instance is the same whether a release has the other mistakes or not."""
    question, shared = Question(Topic.DEFECT, name=failure.name), 0
    for cluster in clusters():
        plain, instead = cluster.case, simplified(cluster.case, question)
        assert instead.protocol == plain.protocol
        searched = [MODEL.instance(one.protocol, isolated(one, failure)).configuration for one in (plain, instead)]
        assert dict(searched[0].items()) == dict(searched[1].items())
        shared += plain != instead
    is_of_generations = any("protocol" in pairs(one.change) for one in failure.changes)
    assert (shared == 0) is is_of_generations


@pytest.mark.parametrize("case", [Case("4.3"), Case("4.3", (("ELR", "off"),)), Case("4.1", (("ELR", "off"),))])
def test_what_no_operator_decides_is_the_same_in_4_1_and_4_3(case):
    """The rule "without reassignments": no search but those of defects has an operator's act, and the generations
    differ in nothing else (LAST_KNOWN_LEADER_IS_ACTIVE is about eligible leader replicas alone)."""
    of_operators = ("reassignments", "directory_reports")
    inert = {"ASSIGNED_DIRECTORY_ERASES_ELR", "REASSIGNED_ONCE_ADDED"}
    inert |= set() if case.has_elr else {"LAST_KNOWN_LEADER_IS_ACTIVE"}
    instead = simplified(case, LOSS)
    assert instead.protocol == ("4.1" if case.has_elr else "4.0")
    values = [
        dict(MODEL.instance(one.protocol, numbers(MODEL, dict(one.switches))).configuration.items())
        for one in (case, instead)
    ]
    assert {name for name in values[0] if values[0][name] != values[1][name]} <= inert
    assert simplified(case, Question(Topic.DEFECT, name="stale_record")) == case
    for topic in (Topic.LOSS, Topic.POWER, Topic.POWER_OF_ALL, Topic.DISK, Topic.DUPLICATES, Topic.ORDER, Topic.WRITES):
        searches = planned(replace(case, min_insync_replicas=2), Question(topic))
        assert searches
        for scenario in searches:
            assert [getattr(scenario.instance.configuration, name, 0) for name in of_operators] == [0, 0]


@pytest.mark.parametrize(
    ("replicas", "least"), [exhaustive((4, 1)), exhaustive((4, 3)), recorded((4, 4)), recorded((5, 3))]
)
def test_a_broker_less_is_as_good(ask, ask_as_it_is, replicas, least):
    for topic in (Topic.WRITES, Topic.READS):
        for down in range(replicas):
            case, question = Case("2.4", replication_factor=replicas, min_insync_replicas=least), Question(topic, down)
            assert asked_instead(case, question)[0].replication_factor == 3
            plain, derived = ask_as_it_is(case, question), ask(case, question)
            assert {part.result.word for part in plain.parts} == {part.result.word for part in derived.parts}


@pytest.mark.parametrize(
    ("protocol", "replicas", "least"),
    [("3.7", 3, 2), ("2.4", 3, 1), exhaustive(("3.7", 3, 3)), exhaustive(("2.4", 3, 3)), recorded(("4.1", 3, 2))],
)
def test_a_loss_of_power_of_all_loses_as_with_fewer_replicas(ask, monkeypatch, protocol, replicas, least):
    """The rule ALL_LOSE_POWER: what two replicas lose together, all replicas of the case lose as well."""
    case = Case(protocol, replication_factor=replicas, min_insync_replicas=least)
    question = Question(Topic.POWER_OF_ALL)
    by_rule = ask(case, question)
    assert (by_rule.word, by_rule.rule) == (Word.PERMITTED, ALL_LOSE_POWER)
    monkeypatch.setattr(planning, "fewest_copies", lambda case: [(replicas, least)])
    plain = ask(case, question)
    assert (plain.word, plain.rule) == (Word.PERMITTED, "")
    assert plain.depth >= by_rule.depth


@pytest.mark.parametrize(
    ("protocol", "replicas", "least"), [("2.4", 4, 2), exhaustive(("3.7", 4, 4)), recorded(("4.1", 5, 3))]
)
def test_as_many_lost_brokers_are_survived_by_fewer_replicas(ask, ask_as_it_is, protocol, replicas, least):
    """The rule BROKER_LESS where the ISR is at its smallest: all but one of its members can be lost."""
    case = Case(protocol, replication_factor=replicas, min_insync_replicas=least)
    for lost in range(1, least + 1):
        question = Question(Topic.SURVIVES, lost)
        plain, derived = ask_as_it_is(case, question), ask(case, question)
        assert plain.word is derived.word is (Word.REACHED if lost < least else Word.UNREACHABLE)


@pytest.mark.sampled
@pytest.mark.parametrize(("least", "word", "depth"), [(1, Word.VIOLATED, 14), (2, Word.HOLDS, None)])
def test_min_insync_replicas_makes_a_difference_without_acks_all(ask, least, word, depth):
    """9.6 in 4.1: the ELR depends on it whatever acks is. A rule that took 1 for 2 told of a loss that cannot be."""
    case = Case("4.1", acks="1", replication_factor=2, unclean_election=True, enable_idempotence=False)
    question = Question(Topic.DEFECT, name="truncation_is_not_noticed")
    found = ask(replace(case, min_insync_replicas=least), question)
    assert (found.word, found.depth) == (word, depth)
    if word is Word.HOLDS:
        assert [(part.result.states, part.result.is_exhausted) for part in found.parts] == [(345_396, True)]


@pytest.mark.parametrize("acks", ["all", "1"])
@pytest.mark.parametrize(("replicas", "least"), [(2, 3), (4, 5)])
def test_what_was_committed_is_read_where_nothing_can_be_written(ask, replicas, least, acks):
    """The record was committed before. A minimum above the replicas refuses writes, and hides nothing."""
    case = Case("2.4", acks=acks, replication_factor=replicas, min_insync_replicas=least)
    found = [ask(case, Question(Topic.READS, down)) for down in range(replicas)]
    assert [{part.result.word for part in one.parts} for one in found] == [{Word.REACHED}] * replicas


@pytest.mark.parametrize("protocol", ["3.3", "3.7", "4.1"])
def test_a_write_that_needs_every_replica_fails_with_a_broker_down(ask, protocol):
    """From 3.7 on, min.insync.replicas above the replicas asks for all of them: it has to become less with them."""
    for least in (4, 5):
        case = Case(protocol, replication_factor=4, min_insync_replicas=least)
        for down in (1, 3):
            found = ask(case, Question(Topic.WRITES, down))
            assert {part.result.word for part in found.parts} == {Word.UNREACHABLE}


@pytest.mark.parametrize(
    ("case", "question"),
    [
        (Case("2.4", acks="1", replication_factor=4), LOSS),
        exhaustive((Case("2.4", replication_factor=4, unclean_election=True), LOSS)),
        exhaustive((Case("2.4", replication_factor=4, min_insync_replicas=2), POWER)),
        recorded(
            (Case("2.1", replication_factor=4, min_insync_replicas=2), Question(Topic.DEFECT, name="missed_demotion"))
        ),
        recorded(
            (Case("4.1", replication_factor=4, min_insync_replicas=2), Question(Topic.DEFECT, name="stale_record"))
        ),
    ],
)
def test_a_failure_with_fewer_replicas_is_one_of_the_case(ask, monkeypatch, case, question):
    by_rule = ask(case, question)
    monkeypatch.setattr(planning, "sizes", lambda case, _=3: [case.replication_factor])
    monkeypatch.setattr(planning, "depth_of", lambda replicas, depth=None: None)
    searched = ask(case, question, depth=by_rule.depth)
    assert (searched.word, searched.depth) == (by_rule.word, by_rule.depth)
    assert (by_rule.rule != "", searched.rule) == (True, "")
    assert f"replicas={case.replication_factor}" in searched.history.configuration


@pytest.mark.parametrize(
    ("values", "word", "shared"),
    [
        ({}, "HOLDS", True),
        ({"flushes_every_message": True}, "HOLDS", False),
        ({"min_insync_replicas": 1}, "PERMITTED", False),
    ],
)
def test_of_one_entry_a_loss_of_power_leaves_as_much_as_one_of_the_disk(
    ask, searcher, monkeypatch, values, word, shared
):
    """The rule ONE_ENTRY, with two replicas: a second answer without a search is that of a search."""
    case = Case("4.1", **{"replication_factor": 2, "min_insync_replicas": 2, **values})
    monkeypatch.setattr(searcher, "held", {})
    made = []
    search = searcher.search

    def noted(scenario, limits):
        if not scenario.is_witness:
            made.append(scenario)
        return search(scenario, limits)

    monkeypatch.setattr(searcher, "search", noted)
    ask(case, POWER)
    found = ask(case, Question(Topic.DISK))
    assert (found.word.value, len(made)) == (word, 1 if shared else 2)
    monkeypatch.setattr(searcher, "held", {})
    assert ask(case, Question(Topic.DISK)) == found
    assert (found.history is not None) is (word == "PERMITTED")
    assert found.history is None or any("loses_disk" in step for step in found.history.steps)


def test_the_sizes_to_search():
    assert sizes(Case("2.4", replication_factor=5, min_insync_replicas=2)) == [3, 5]
    assert sizes(Case("2.4", replication_factor=5, min_insync_replicas=4)) == [5]
    assert sizes(Case("2.4", replication_factor=3, min_insync_replicas=2), least=2) == [2, 3]
    assert sizes(Case("2.4", replication_factor=2, min_insync_replicas=3)) == [2]


def chosen(draw: random.Random) -> Case:
    """A random case of a known release."""
    cluster = draw.choice(clusters())
    replicas = draw.randint(1, 5)
    is_idempotent = draw.random() < 0.5 and cluster.case.has_record_epochs
    return replace(
        cluster.case,
        acks="all" if is_idempotent else draw.choice(("all", "1", "0")),
        replication_factor=replicas,
        min_insync_replicas=draw.randint(1, replicas),
        unclean_election=draw.random() < 0.5,
        leader_rebalance=draw.random() < 0.5,
        flushes_every_message=draw.random() < 0.5,
        enable_idempotence=is_idempotent,
        retries=is_idempotent or draw.random() < 0.5,
        max_in_flight_requests=1 if is_idempotent else draw.choice((1, 5)),
        transactions=draw.choice(((), *cluster.transactions)) if is_idempotent else (),
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_a_question_does_not_read_makes_no_difference(seed):
    draw = random.Random(seed)
    topics = [one for one in Topic if one is not Topic.DEFECT]
    for _ in range(12):
        case, other = chosen(draw), chosen(draw)
        release = next(one.release for one in clusters() if one.case.protocol == case.protocol)
        question = draw.choice([*(Question(topic) for topic in topics), *defects_of(case, release)])
        same = replace(other, **{name: getattr(case, name) for name in read_by(question)})
        if why_unasked(case, question) or why_unasked(same, question):
            continue
        assert key_of(case, question) == key_of(same, question)
        assert planned(case, question) == planned(same, question)


ENOUGH_KEYS = 50
"""With fewer different keys, the drawn cases say little."""


def test_cases_with_one_key_have_the_same_searches():
    """The key leaves nothing out that a search depends on."""
    draw = random.Random(0)
    searches: dict[tuple[str, str], list[str]] = {}
    for _ in range(80):
        case = chosen(draw)
        for question in (LOSS, POWER, DUPLICATES, Question(Topic.READS, 1)):
            if question.number >= case.replication_factor or why_unasked(case, question):
                continue
            found = [one.identity for one in planned(case, question)]
            assert searches.setdefault(key_of(case, question), found) == found
    assert len(searches) > ENOUGH_KEYS


def test_a_failure_ends_the_searches(ask):
    found = ask(Case("2.4", acks="1", replication_factor=5), LOSS)
    assert [part.result.word in FAILS for part in found.parts] == [True]
