"""Dataflows: the output of each step, and its delay."""
