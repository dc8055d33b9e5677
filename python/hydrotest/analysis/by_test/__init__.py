"""Rows of the kinds of test that have no room of their own."""
