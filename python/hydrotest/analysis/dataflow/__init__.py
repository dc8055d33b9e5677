"""Dataflows: what came out of each step, and how late."""
