"""The command line of `check`: from words to options, and the console.

In:  the words that a person typed.
Out: `Options`, or one line that says what is wrong with them.
May import: kafka_config, analyses, tables, session and everything below them.
"""
