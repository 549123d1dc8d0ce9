"""The doctor's rehearsal: the same tuner as the live one, and figures that mean something."""

from __future__ import annotations

import numpy as np
import pytest

from tests.live.tuners import spec_with
from trimtab.advise.rehearsal import rehearse
from trimtab.live import Spec
from trimtab.live.spec.spec import example

LEARNS = {"policy": {"kind": "SteadyGraphLinUCB"}}


def test_the_example_is_worth_it() -> None:
    found = rehearse(Spec.parse(example()), worlds=3, rounds=80)
    assert rehearse(Spec.parse(example()), worlds=3, rounds=80) == found
    assert 0.2 < found.cost < 1.1
    assert 0.0 <= found.breach <= 1.0
    assert found.moves < 60.0
    assert found.left_out == ("error_rate <= 2",)
    assert f"costs {found.cost:.2f} (+-{found.error:.2f}) of staying put" in str(found)
    shares = [rehearse(Spec.parse(example()), worlds=n, rounds=80).cost * n for n in (1, 2)]
    each = np.diff([0.0, *shares, 3 * found.cost])
    assert found.error == pytest.approx(np.std(each, ddof=1) / np.sqrt(3))


def test_what_cannot_move_costs_what_staying_costs() -> None:
    found = rehearse(spec_with(policy={"kind": "FixedState"}), worlds=2, rounds=20)
    assert (found.cost, found.moves, found.half, found.harm) == (1.0, 0.0, None, 0.0)


def test_a_tight_guardrail_that_is_only_watched_breaks_more_often() -> None:
    def share(safety: float) -> float:
        rule = {"rule": "errors <= 1.1 * baseline", "kind": "guardrail", "safety": safety}
        return rehearse(spec_with(**LEARNS, constraints=[rule]), worlds=4, rounds=60).breach

    assert share(0.975) <= share(0.0)
    assert share(0.0) > 0.0
