"""Measurements, as ratios within one run; nothing here is asserted by a test."""
