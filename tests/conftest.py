"""Settings that hold for all tests."""

from hypothesis import settings

# A test run says the same each time, and a slow machine fails nothing.
settings.register_profile("adage", derandomize=True, deadline=None)
settings.load_profile("adage")
