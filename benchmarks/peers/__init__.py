"""Measurements against other model checkers: the models here are written anew in their languages, for nothing else."""
