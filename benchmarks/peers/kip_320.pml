/*
 * KIP-320 with 3 replicas and logs of 2 entries: the same states and steps as models/published/kip_320.py, which
 * translates Kip320.tla of hachikuji/kafka-specification. RECORDS is at most 4; the epochs are 0..MAX_EPOCH.
 *
 * One process with one loop, so that the position in the program is the same in every state. Each step is a d_step,
 * which leaves no states in between; with PROPERTIES, each state is tested once, and a violation is a failing assertion.
 * Each state of the model is one state here: a replica or an epoch is one more than its number there, and 0 is none; a
 * set of replicas is one byte, a bit for each; an entry of a log is one byte, of its epoch (as said) and, in the two
 * lowest bits, of its record; 0 is no entry.
 */
#define LOG_SIZE 2
#define has(set, r) ((set >> (r)) & 1)
#define with(set, r) (set | (1 << (r)))
#define without(set, r) (set & (7 - (1 << (r))))
#define entry(r, offset) log[(r) * LOG_SIZE + (offset)]

byte log[6];
byte end[3];
byte high_watermark[3];
byte epoch[3];
byte leader[3];
byte isr[3];
byte quorum_leader;
byte quorum_epoch;
byte quorum_isr = 7;
byte next_record;
byte next_epoch;
byte request_leader[MAX_EPOCH + 1];
byte request_isr[MAX_EPOCH + 1];

#define quorum_writes_leader(who) \
    quorum_leader = who; \
    quorum_epoch = next_epoch + 1; \
    request_leader[next_epoch] = who; \
    request_isr[next_epoch] = quorum_isr; \
    next_epoch = next_epoch + 1

#define adopt(r, e) \
    epoch[r] = e + 1; \
    leader[r] = request_leader[e]; \
    isr[r] = request_isr[e]

#define presumes_leadership(r) (leader[r] == r + 1)
#define is_true_leader(r) (leader[r] == r + 1 && quorum_leader == r + 1 && quorum_epoch == epoch[r])
#define follows_epoch(f, l) (leader[f] == l + 1 && epoch[f] == epoch[l])
#define ready(m, l) (!has(isr[l], m) || (follows_epoch(m, l) && high_watermark[l] < end[m]))

/* The steps of one replica: the controller's (four options for three actions), and those of a leader alone. */
#define steps_of(r) \
    :: d_step { next_epoch <= MAX_EPOCH && quorum_leader != r + 1 && has(quorum_isr, r) -> \
        quorum_isr = without(quorum_isr, r); quorum_writes_leader(quorum_leader) } \
    :: d_step { next_epoch <= MAX_EPOCH && quorum_leader == r + 1 -> \
        quorum_isr = (without(quorum_isr, r) -> without(quorum_isr, r) : quorum_isr); quorum_writes_leader(0) } \
    :: d_step { next_epoch <= MAX_EPOCH && quorum_leader != r + 1 && has(quorum_isr, r) -> \
        quorum_writes_leader(r + 1) } \
    :: d_step { presumes_leadership(r) && next_record < RECORDS && end[r] < LOG_SIZE -> \
        entry(r, end[r]) = (epoch[r] << 2) | next_record; end[r] = end[r] + 1; next_record = next_record + 1 } \
    :: d_step { presumes_leadership(r) && high_watermark[r] < end[r] && ready(0, r) && ready(1, r) && ready(2, r) -> \
        high_watermark[r] = high_watermark[r] + 1 }

/* The steps of a leader l and another replica r. */
#define steps_of_two(l, r) \
    :: d_step { is_true_leader(l) && has(isr[l], r) && (!follows_epoch(r, l) || end[r] < end[l]) -> \
        isr[l] = without(isr[l], r); quorum_isr = isr[l] } \
    :: d_step { is_true_leader(l) && !has(isr[l], r) && follows_epoch(r, l) && high_watermark[l] <= end[r] \
        && (high_watermark[l] == end[l] || (high_watermark[l] < end[l] \
            && (entry(l, high_watermark[l]) >> 2) == epoch[l])) -> \
        isr[l] = with(isr[l], r); quorum_isr = isr[l] } \
    :: d_step { presumes_leadership(l) && follows_epoch(r, l) && end[r] < end[l] -> \
        entry(r, end[r]) = entry(l, end[r]); end[r] = end[r] + 1; \
        high_watermark[r] = (high_watermark[l] < end[r] -> high_watermark[l] : end[r]) }

#define leads(e) \
    :: d_step { request_leader[e] != 0 && e + 1 > epoch[request_leader[e] - 1] -> adopt(request_leader[e] - 1, e) }

/* The follower keeps its log up to the last offset at which the leader of this epoch has the same entry. */
#define same(e, r, offset) \
    (entry(r, offset) != 0 && entry(request_leader[e] - 1, offset) == entry(r, offset))

#define follows(e, r) \
    :: d_step { request_leader[e] != 0 && request_leader[e] != r + 1 && e + 1 > epoch[r] \
        && leader[request_leader[e] - 1] == request_leader[e] && epoch[request_leader[e] - 1] == e + 1 -> \
        entry(r, 1) = (same(e, r, 1) -> entry(r, 1) : 0); \
        entry(r, 0) = (entry(r, 1) != 0 || same(e, r, 0) -> entry(r, 0) : 0); \
        end[r] = (entry(r, 1) != 0 -> 2 : (entry(r, 0) != 0 -> 1 : 0)); \
        high_watermark[r] = (end[r] < high_watermark[r] -> end[r] : high_watermark[r]); \
        adopt(r, e) }

#define steps_of_request(e) \
    leads(e) \
    follows(e, 0) \
    follows(e, 1) \
    follows(e, 2)

/* The properties of the model but leader_in_isr, which is false at first: each says when it is violated. */
#define epoch_at(r, offset) (entry(r, offset) >> 2)
#define lacks(a, b, offset) \
    (offset < high_watermark[a] && (entry(a, offset) == 0 || entry(a, offset) != entry(b, offset)))
#define lost_in(set, a, b) (presumes_leadership(a) && has(set, b) && (lacks(a, b, 0) || lacks(a, b, 1)))
#define lost(a, b) (lost_in(isr[a], a, b) || lost_in(quorum_isr, a, b))
#define meet(a, b, offset) \
    (entry(a, offset) != 0 && entry(b, offset) != 0 && epoch_at(a, offset) == epoch_at(b, offset))
#define differ(a, b, offset) (entry(a, offset) != entry(b, offset))
#define mismatch(a, b) \
    ((meet(a, b, 0) && differ(a, b, 0)) || (meet(a, b, 1) && (differ(a, b, 1) || differ(a, b, 0))))
#define decreases(r) (entry(r, 1) != 0 && epoch_at(r, 0) > epoch_at(r, 1))
#define violated (lost(0, 0) || lost(0, 1) || lost(0, 2) || lost(1, 0) || lost(1, 1) || lost(1, 2) \
    || lost(2, 0) || lost(2, 1) || lost(2, 2) || mismatch(0, 1) || mismatch(0, 2) || mismatch(1, 2) \
    || decreases(0) || decreases(1) || decreases(2))

active proctype steps() {
    do
#ifdef PROPERTIES
    :: d_step { violated -> assert(false) }
#endif
    steps_of(0)
    steps_of(1)
    steps_of(2)
    steps_of_two(0, 1)
    steps_of_two(0, 2)
    steps_of_two(1, 0)
    steps_of_two(1, 2)
    steps_of_two(2, 0)
    steps_of_two(2, 1)
    steps_of_request(0)
    steps_of_request(1)
#if MAX_EPOCH > 1
    steps_of_request(2)
#endif
#if MAX_EPOCH > 2
    steps_of_request(3)
#endif
    od
}
