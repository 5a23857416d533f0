"""`conform report`: writes a folder about a known failure, from which an issue of Kafka can be filed.

In:  the library of known failures, whose files hold all texts.
Out: a page of one screen, the text of an issue, the failure's history as a page, its drawing and trace, a test, and
     a script.
May import: models, the drawings of traces, and what the executable cluster implements.
"""
