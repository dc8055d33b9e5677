"""From the first process to the last: what is started, sampled, held and torn down."""
