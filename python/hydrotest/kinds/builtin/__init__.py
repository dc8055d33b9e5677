"""hydrotest's own kinds: a file for each system with its workloads, one for all tests, and one for all
hosts."""

BUILTIN = ("kafka", "dataflow", "cassandra", "hdfs", "s3", "spark", "command", "tests", "hosts")
"""The modules, each with `KINDS`. Systems start, and appear in docs/experiment.md, in this order."""
