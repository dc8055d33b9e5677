"""Hosts that are emulated on this machine: each with its own network and its share of cores, memory, disk
and link."""
