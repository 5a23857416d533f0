"""What a search for paths rests on: variables of many states, the order of nodes, and promises that are kept.

In:  packed states; numbers of nodes.
Out: columns of values; a truth value for each state; the next nodes to expand.
"""
