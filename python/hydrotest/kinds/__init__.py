"""What kinds of systems, workloads, tests and hosts there are: each is one object, registered once. It names by text what the layers above have for it."""
