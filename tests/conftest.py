"""What all tests share."""

from hypothesis import settings

# A machine that is busy with something else makes no property wrong.
settings.register_profile("hydrotest", deadline=None)
settings.load_profile("hydrotest")
