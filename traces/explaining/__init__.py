"""Why a trace ends as it does: who lost or changed what, which steps bring it about.

In:  a certified trace.
Out: attributions, divergences, the cause, the slice of the trace.
May import: kafka, lanes, format.
"""
