"""The frame of every HTML page: head, content security policy, light and dark style, and parts that pages share.

In:  titles, elements, and the further style sheets and scripts of a page.
Out: HTML files: self-contained pages, or a folder whose pages share one style sheet and one script.
May import: format.
"""
