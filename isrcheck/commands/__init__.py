"""How check, trace, conform and isrcheck are declared and run: options, subcommands, exit codes, errors, Ctrl-C.

A command is declared as a Python value. From this value comes the parser, which turns the words of a command line into
parsed values, or prints one line on stderr and ends with an exit code.
May import: models.
"""
