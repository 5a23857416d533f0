"""How check, trace, conform and isrcheck are declared and run: options, subcommands, exit codes, errors, Ctrl-C.

A declaration is a value; by it, the words of a command line become parsed values, or one line on stderr and an exit
code.
May import: models.
"""
