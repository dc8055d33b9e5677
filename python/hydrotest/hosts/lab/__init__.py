"""Hosts that are emulated on this machine: each with a network of its own, and its share of cores, memory, disk and link."""
