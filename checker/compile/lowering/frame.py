"""The text that all kernels share: reading states from the visited set, and writing successors.

In:  nothing; checker/compile/lower.py replaces the names in braces.
Out: functions in the small subset of Python that checker/compile/native.py compiles.
"""

from __future__ import annotations

PRELUDE = '''def note(result, state, step):
    """Count one finding of a property, and keep the state and step of the first."""
    if load_word(result) == 0:
        store_word(result + {state_offset}, state)
        store_word(result + {step_offset}, step)
    store_word(result, load_word(result) + 1)


def pause(results, status, state, count, has_failed):
    """Write the status: the next state, the number of successors, whether the model left a declared range."""
    store_word(results + status, state)
    store_word(results + status + {successors_offset}, count)
    store_word(results + status + {failed_offset}, has_failed)
    return count'''

MARK = '''def mark(result, state, judgement):
    """Write the judgement of one state into the bytes whose address stands in the result, if there is one."""
    if load_word(result + {state_offset}) != 0:
        store_byte(load_word(result + {state_offset}) + state, judgement)'''

EMIT = '''def emit(before, after, words, parents, steps, fired, active, results, count, state, step, slot):
    """Write one successor, judge the transition, and undo the step in the working buffer."""
    store_half(parents + count * 4, state)
    store_half(steps + count * 4, step)
    store_word(fired + slot * 8, load_word(fired + slot * 8) + 1)
    observe_step(before, after, slot, active, results, state, step)
    keep(after, words + count * {words_size})
    copy(before, after)
    return count + 1'''

EXPAND_HEAD = '''def expand(store, first, last, before, s, words, parents, steps, room, fired, active, results):
    """Successors of states first..last-1, in order, as long as there is room for those of a whole state."""
    count = 0
    for i in range(first, last):
        if count + {steps} > room:
            return pause(results, {status}, i, count, 0)
        unpack(store + i * {words_size}, before)
        copy(before, s)'''

EXPAND_TAIL = """        if failed(s) or failed(before):
            return pause(results, {status}, i, count, 1)
    return pause(results, {status}, last, count, 0)"""

CHECK = '''def check(store, first, last, s, active, results):
    """Judge states first..last-1; returns the state at which the model left a declared range, or `last`."""
    for i in range(first, last):
        unpack(store + i * {words_size}, s)
        observe_state(s, active, results, i, -1)
        if failed(s):
            return i
    return last'''

KEEP = """def keep(state, words):
    pack(state, words)"""

REDUCE = '''def reduce(words, count, s):
    """Replace each of the packed states by the one that the search keeps in its place."""
    for i in range(0, count):
        unpack(words + i * {words_size}, s)
        keep(s, words + i * {words_size})
    return count'''
