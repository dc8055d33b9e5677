"""Rates from the counters of hosts and services."""
