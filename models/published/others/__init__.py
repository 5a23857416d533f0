"""Models that others published, written again: each module is one model, and counts.csv has what its authors report."""
