"""Settings that hold for every test."""

from hypothesis import settings

# The first example pays for numba's compilation, so time per example means nothing;
# and a run that failed must fail again.
settings.register_profile("trimtab", deadline=None, derandomize=True)
settings.load_profile("trimtab")
