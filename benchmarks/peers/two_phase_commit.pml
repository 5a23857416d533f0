/*
 * Two-phase commit: the same states and steps as models/examples/two_phase_commit.py.
 *
 * One process with one loop, so that the position in the program is the same in every state. Each step is a d_step,
 * which leaves no states in between; with PROPERTIES, each state is tested once, and a violation is a failing assertion.
 * A set of resource managers is one byte, a bit for each; MANAGERS is 7 or 8.
 */
#define WORKING 0
#define PREPARED 1
#define COMMITTED 2
#define ABORTED 3
#define OPEN 0
#define COMMIT 1
#define ABORT 2
#define ALL ((1 << MANAGERS) - 1)
#define has(set, rm) ((set >> rm) & 1)
#define add(set, rm) set = set | (1 << rm)

byte phase[MANAGERS];
byte decision;
byte knows_prepared;
byte was_sent;

#define steps_of(rm) \
    :: d_step { decision == OPEN && has(was_sent, rm) -> add(knows_prepared, rm) } \
    :: d_step { phase[rm] == WORKING -> phase[rm] = PREPARED; add(was_sent, rm) } \
    :: d_step { phase[rm] == WORKING -> phase[rm] = ABORTED } \
    :: d_step { decision == COMMIT -> phase[rm] = COMMITTED } \
    :: d_step { decision == ABORT -> phase[rm] = ABORTED }

/* Some resource manager is in this phase. */
#if MANAGERS > 7
#define the_last(which) phase[7] == which
#else
#define the_last(which) false
#endif
#define some(which) \
    (phase[0] == which || phase[1] == which || phase[2] == which || phase[3] == which || phase[4] == which \
        || phase[5] == which || phase[6] == which || the_last(which))

active proctype steps() {
    do
#ifdef PROPERTIES
    :: d_step { some(COMMITTED) && some(ABORTED) -> assert(false) }
#endif
    :: d_step { decision == OPEN && knows_prepared == ALL -> decision = COMMIT }
    :: d_step { decision == OPEN -> decision = ABORT }
    steps_of(0)
    steps_of(1)
    steps_of(2)
    steps_of(3)
    steps_of(4)
    steps_of(5)
    steps_of(6)
#if MANAGERS > 7
    steps_of(7)
#endif
    od
}
