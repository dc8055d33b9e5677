"""hydrotest pressure-tests data pipelines: how much they take, at what latency, and what bounds them."""

__version__ = "0.1.0"
