"""A fleet over days: load, failures, burst credits and disks, as a fluid."""
