"""The frame of every HTML page: head, content security policy, light and dark style, and parts that pages share.

In:  titles, elements, and the further style sheets and scripts of a page.
Out: HTML files: each self-contained, or the pages of a folder with one style sheet and one script beside them.
May import: format.
"""
