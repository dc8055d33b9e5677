"""From the first process to the last: starting, sampling, holding and tearing down."""
