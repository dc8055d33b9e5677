"""What binds: use of resources, gauges inside the systems, the suspicion, the squeeze and its proof."""
