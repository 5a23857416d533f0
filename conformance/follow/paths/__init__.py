"""What a search for paths rests on: variables of many states, the states that it begins with, the order of nodes, cells
that nothing reads any more, states that later lines contradict, and promises that are kept.

In:  packed states; numbers of nodes.
Out: columns of values; a truth value for each state; the next nodes to expand.
"""
