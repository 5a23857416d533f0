"""What a model's file declares: the configuration, domains, fields of the state, actions and properties, as plain data.

In:  a model's file.
Out: declarations, and where a field lies in the cells of a state.
May import: text, messages.
"""
