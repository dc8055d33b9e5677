"""What happens when all run at once: the safe working point, interference, who is starved of what."""
