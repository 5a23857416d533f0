"""`check graph`: the state graph of a model, as a file.

In:  an instance of a model, and the options of the graph.
Out: a page, a DOT file or a GraphML file.
May import: command and everything below it.
"""
