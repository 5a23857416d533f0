"""How check, trace, conform and isrcheck are declared and run: options, subcommands, exit codes, errors, Ctrl-C.

A command is declared as a Python value. With this value, the words of a command line are turned into parsed values; bad
words end the command, with one line on stderr and an exit code.
May import: models.
"""
