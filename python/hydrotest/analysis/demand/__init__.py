"""What operations cost a system: CPU by what it did, from the windows of a run."""
