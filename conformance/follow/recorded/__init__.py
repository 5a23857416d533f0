"""What a recording says: its lines, as they are read, and as they are folded.

In:  a file of observations, or the objects that a wire recording was converted into.
Out: a `Recording`, for the searches in observations/ and online/.

reading.py reads one line (lines.py), recording.py a whole recording, of which folding.py folds batches. reassigning.py
says from where to where a request of an operator may be taken.
"""
