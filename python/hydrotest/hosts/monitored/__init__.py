"""Machines whose counters somebody else collects: node_exporter, exporters of JVMs, Prometheus."""
