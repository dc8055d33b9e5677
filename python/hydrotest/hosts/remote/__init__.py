"""Machines of their own, which ssh or another command reaches."""
