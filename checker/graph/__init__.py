"""`check graph`: writes the state graph of a model to a file.

In:  an instance of a model, and the options of `check graph`.
Out: a page, a DOT file or a GraphML file.
May import: command and everything below it.
"""
