"""What the fairness benchmark changes to find its reasons, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fairness import exact, floor, smoothed
from trimtab.paper.fairness.play import Settings, Shape, world_of

SETTINGS = Settings(by="race")


@pytest.mark.slow
def test_smoothing_by_nothing_is_the_world_and_by_more_only_small_groups_change() -> None:
    world = world_of(SETTINGS, Shape("logit", "cubic"), training=False)
    same, other = (smoothed(SETTINGS, "cubic", x, training=False) for x in (1e-12, 0.3))
    rng = np.random.default_rng(0)
    for state in rng.random((5, world.problem.knobs)):
        np.testing.assert_allclose(same.mean(state), world.mean(state), atol=1e-6)
        changed = np.abs(other.mean(state) - world.mean(state)) > 1e-6
        assert set(np.flatnonzero(changed[:6])) <= {
            3,
            5,
        }  # errors of women, black and of other races


@pytest.mark.slow
def test_the_losses_of_the_basis_itself_have_no_floor() -> None:
    world = world_of(SETTINGS, Shape("logit", "cubic"), training=False)
    start = world.state(SETTINGS.start)
    held = exact(world)
    assert floor(world, start) > 0.02
    assert floor(held, start) < 1e-6
    np.testing.assert_allclose(held.theta, world.theta)
