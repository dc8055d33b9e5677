"""A TCP echo server under hydrotest: a system, a workload and its generator, added from outside."""
