"""Intervals, percentiles, series of progress: what every answer is computed with."""
