"""The kinds of systems, workloads, tests and hosts.

Each is one object, registered once. It names its parts in higher layers by text.
"""
