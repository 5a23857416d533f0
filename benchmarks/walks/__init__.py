"""Measurements of random walks: how fast a simulation is."""
