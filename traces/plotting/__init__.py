"""Plots of fields over the steps of a trace."""
