"""What a search for paths rests on: variables of many states, the states that it begins with, the order of nodes, and
promises, which are kept in every state, or judged on a whole path.

In:  packed states; numbers of nodes.
Out: columns of values; a truth value for each state; the next nodes to expand.
"""
