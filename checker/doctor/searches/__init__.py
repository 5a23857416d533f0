"""The searches of the doctor: with larger budgets, several side by side, and their early answers.

In:  the questions that will be asked of a case, in their order.
Out: a `Result` for each search; a line on stderr that says how far nothing was found.
"""
