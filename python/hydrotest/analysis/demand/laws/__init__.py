"""What a workload's operations make each host of its system do: one law for each kind of workload."""
