"""What all tests share."""

from hypothesis import settings

from tests.unstable import pytest_sessionfinish, pytest_terminal_summary

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary"]

# A machine that is busy with something else makes no property wrong.
settings.register_profile("hydrotest", deadline=None)
settings.load_profile("hydrotest")
