"""With reg, radius and factor given, paths are those of before every policy learned with a prior.

They are those of the searches and the draws of noise that the core has. Searches of earlier
versions lead elsewhere where several minima are nearly as good, and for blocks of Async: there
these paths' solves are as close to those of a search many times as long, or closer.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.policies.paper_paths import CASES, RECORDED, RUNS

CLOSE = 1e-3  # a search ends where gains are lost in rounding; another rule is further off
KNOWN = json.loads(RECORDED.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=" / ".join)
def test_paths_are_those_recorded_before(case: tuple[str, str, str]) -> None:
    """Rounds of changes, causes and solves exactly; states, movement and bound closely."""
    found, known = RUNS[case[0]](*case[1:]), KNOWN[" / ".join(case)]
    assert len(found["changes"]) >= 5
    for name in ("changes", "causes", "solves", "certified"):
        assert found[name] == known[name], name
    for name in ("movement", "bound", "states"):
        np.testing.assert_allclose(found[name], known[name], rtol=CLOSE, atol=CLOSE, err_msg=name)


def test_every_recorded_path_is_compared_and_alarms_are_among_them() -> None:
    assert sorted(KNOWN) == sorted(" / ".join(case) for case in CASES)
    rang = {name for name, run in KNOWN.items() if run["causes"].get("alarm", 0) > 0}
    assert len(rang) >= 12
