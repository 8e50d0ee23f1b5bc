"""What holds for every test: examples are found the same way in every run, and no clock decides."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("default", deadline=None, derandomize=True, max_examples=80, suppress_health_check=_QUIET)
# A search for new counterexamples: HYPOTHESIS_PROFILE=search python -m pytest tests/contract
settings.register_profile(
    "search",
    deadline=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "3000")),
    suppress_health_check=_QUIET,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
