"""A module for each kind of test."""
