"""Rows of the kinds of test that need no package of their own."""
