"""Property tests draw the same examples on every run: a failure is found again by running the test again."""

from hypothesis import settings

settings.register_profile("seeded", derandomize=True, deadline=None)
settings.load_profile("seeded")
