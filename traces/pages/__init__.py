"""The shell of every page: its head, content policy, light and dark style, and the parts that pages have in common.

In:  titles, elements, and the style and script that a kind of page adds.
Out: HTML files: each self-contained, or the pages of a folder with one style sheet and one script beside them.
May import: format.
"""
