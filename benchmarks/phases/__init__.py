"""Measurements of where the time of a search goes."""
