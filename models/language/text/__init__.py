"""Plain numbers and words: what a model's file gives, former names, sealed functions, shortened texts.

In:  what stands in a model's file.
Out: plain data.
May import: messages.
"""
