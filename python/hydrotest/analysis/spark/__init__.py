"""Spark: its event log, where the time of its jobs goes, what binds and ends them, how they scale."""
