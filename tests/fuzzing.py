"""What the fuzz tests share: how many examples there are of each.

`make fuzz` sets TRIMTAB_FUZZ_EXAMPLES, how many all fuzz tests have together.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

IN_CI = 2000
TOTAL = int(os.environ.get("TRIMTAB_FUZZ_EXAMPLES", IN_CI))
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)


def examples(share: float) -> settings:
    """The settings of a test that gets this share of all examples.

    In CI they are always the same, so that a run that failed fails again; more are new each time.
    """
    return settings(
        max_examples=max(round(TOTAL * share), 1),
        deadline=None,
        derandomize=TOTAL <= IN_CI,
        suppress_health_check=SLOW,
    )
