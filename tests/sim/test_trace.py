"""The run-length record of a run against a plain table of every round."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.policies import Told
from trimtab.policies.base import Cause
from trimtab.sim.trace import Recorder, Trace


class Run(NamedTuple):
    """Stretches of rounds as they are told to a recorder; neighbours may be equal."""

    start: Array  # (k,)
    states: Array  # (r, k)
    rounds: list[int]
    rates: Array  # (r,) the expected loss of a round; it may change although the state does not
    best: Array  # (r,)
    left: Array  # (k,) the state deployed after the last round
    prices: Array  # (k,)

    def record(self) -> Trace:
        recorder = Recorder(self.start, criteria=2)
        stretches = zip(self.states, self.rounds, self.rates, self.best, strict=True)
        for state, n, rate, best in stretches:
            recorder.played(state, n, rate=float(rate), best=float(best))
        recorder.left_at(self.left, rate=float(self.rates[-1]), best=float(self.best[-1]))
        return recorder.trace(prices=self.prices)

    @property
    def dense(self) -> Array:
        """The state of every round: (T, k)."""
        return np.repeat(self.states, self.rounds, axis=0)

    @property
    def path(self) -> Array:
        """How far each knob moved before every round, and after the last: (T + 1, k)."""
        return np.abs(np.diff(np.vstack((self.start, self.dense, self.left)), axis=0))

    @property
    def costs(self) -> Array:
        """The expected loss of every round and the best one of its time: (T, 2)."""
        return np.repeat(np.column_stack((self.rates, self.best)), self.rounds, axis=0)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Up to 12 stretches; few different values, so that knobs often stay or come back."""
    k = draw(st.integers(1, 4))
    r = draw(st.integers(1, 12))
    value = st.sampled_from([0.0, 0.3, 1.0]) | st.floats(0, 1)
    state = st.lists(value, min_size=k, max_size=k)
    start = draw(state)
    rows = draw(st.lists(state | st.just(start), min_size=r, max_size=r))
    level = st.lists(st.sampled_from([-2.0, 0.5]) | st.floats(-2, 2), min_size=r, max_size=r)
    return Run(
        start=np.array(start),
        states=np.array(rows),
        rounds=draw(st.lists(st.integers(1, 5), min_size=r, max_size=r)),
        rates=np.array(draw(level | st.just([0.5] * r))),
        best=np.array(draw(level | st.just([-2.0] * r))),
        left=np.array(draw(state | st.just(rows[-1]))),
        prices=np.array(draw(st.lists(st.floats(0, 10), min_size=k, max_size=k))),
    )


# Knob 0 moves at once, comes back, and goes on with knob 1; two stretches are not new.
SAMPLE = Run(
    start=np.array([0.5, 0.5]),
    states=np.array([[0.75, 0.5], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]),
    rounds=[1, 2, 1, 3, 1],
    rates=np.array([4.0, 3.0, 3.0, 2.0, 2.0]),
    best=np.ones(5),
    left=np.array([0.0, 1.0]),
    prices=np.array([1.0, 10.0]),
)


def test_a_run_by_hand() -> None:
    trace = SAMPLE.record()
    assert trace.horizon == 8
    assert trace.ends.tolist() == [1, 4, 8]
    assert trace.lengths.tolist() == [1, 3, 4]
    assert trace.states.tolist() == [[0.75, 0.5], [0.5, 0.5], [0.0, 1.0]]
    assert trace.state(1).tolist() == [0.75, 0.5]
    assert trace.state(4).tolist() == [0.5, 0.5]
    assert trace.state(5).tolist() == [0.0, 1.0]
    assert (trace.moves, trace.knobs_changed) == (3, 4)
    assert trace.movement == 0.25 + 0.25 + 1.0
    assert trace.move_cost == 0.25 + 0.25 + 0.5 + 5.0
    assert trace.rates.tolist() == [4.0, 3.0, 2.0]
    assert trace.best.tolist() == [1.0, 1.0, 1.0]
    assert trace.loss == 4.0 + 9.0 + 8.0
    assert trace.regret == 21.0 - 8.0
    assert trace.regret_at([0, 1, 3, 8]).tolist() == [0.0, 3.0, 7.0, 13.0]
    assert trace.movement_at([1, 2, 4, 5, 8]).tolist() == [0.25, 0.5, 0.5, 1.5, 1.5]
    assert "horizon=8" in repr(trace)


def test_the_move_after_the_last_round_by_hand() -> None:
    trace = SAMPLE._replace(left=np.array([0.0, 0.75])).record()
    assert trace.horizon == 8
    assert trace.ends.tolist() == [1, 4, 8, 8]
    assert trace.lengths.tolist() == [1, 3, 4, 0]
    assert trace.states[-1].tolist() == [0.0, 0.75]
    assert trace.state(8).tolist() == [0.0, 1.0]  # deployed is not played
    assert (trace.moves, trace.knobs_changed) == (4, 5)
    assert trace.movement == 1.5 + 0.25
    assert trace.move_cost == 6.0 + 2.5
    assert trace.movement_at([0, 7, 8]).tolist() == [0.0, 1.5, 1.5]  # it comes after them
    assert (trace.loss, trace.regret) == (21.0, 13.0)
    assert trace.regret_at([0, 3, 8]).tolist() == [0.0, 7.0, 13.0]


def test_a_drift_by_hand() -> None:
    # The loss rises by 2 after round 3, the best one by 1 after round 7.
    drift = SAMPLE._replace(
        rates=np.array([4.0, 3.0, 5.0, 4.0, 4.0]), best=np.array([1.0, 1.0, 1.0, 1.0, 2.0])
    )
    trace = drift.record()
    assert trace.ends.tolist() == [1, 3, 4, 7, 8]
    assert trace.rates.tolist() == [4.0, 3.0, 5.0, 4.0, 4.0]
    assert trace.best.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert (trace.moves, trace.knobs_changed, trace.movement) == (3, 4, 1.5)  # as ever
    assert trace.offsets.tolist() == [0, 1, 2, 2, 4, 4]
    assert trace.loss == 4.0 + 6.0 + 5.0 + 12.0 + 4.0
    assert trace.regret == 3.0 + 4.0 + 4.0 + 9.0 + 2.0
    assert trace.regret_at([3, 4, 7, 8]).tolist() == [7.0, 11.0, 20.0, 22.0]


@given(runs())
def test_states(run: Run) -> None:
    trace, dense = run.record(), run.dense
    assert trace.horizon == len(dense)
    assert [trace.state(t).tolist() for t in range(1, len(dense) + 1)] == dense.tolist()
    assert np.repeat(trace.states, trace.lengths, axis=0).tolist() == dense.tolist()
    assert trace.start.tolist() == run.start.tolist()
    assert trace.states[-1].tolist() == run.left.tolist()


@given(runs())
def test_equal_stretches_are_merged(run: Run) -> None:
    trace, path = run.record(), run.path
    changes = np.asarray(path[:-1].any(axis=1))
    changes[1:] |= np.diff(run.costs, axis=0).any(axis=1)
    changes[0] = True  # the first round begins a stretch, moved or not
    moved_on = bool(path[-1].any())  # and an empty one follows if the last tell has moved
    assert trace.ends.size == changes.sum() + moved_on
    assert trace.ends.size == trace.rates.size == trace.best.size == len(trace.states)
    assert trace.offsets.size == trace.ends.size + 1
    assert trace.changed.size == trace.values.size == np.count_nonzero(path)
    played = trace.lengths[:-1] if moved_on else trace.lengths
    assert (played >= 1).all()
    assert trace.lengths.sum() == played.sum() == trace.horizon


@given(runs())
def test_movement(run: Run) -> None:
    trace, path = run.record(), run.path
    assert trace.moves == path.any(axis=1).sum()
    assert trace.knobs_changed == np.count_nonzero(path)
    assert trace.movement == pytest.approx(path.sum(), abs=1e-12)
    assert trace.move_cost == pytest.approx((path @ run.prices).sum(), abs=1e-11)
    rounds = np.arange(len(path))
    np.testing.assert_allclose(
        trace.movement_at(rounds),
        np.concatenate(([0.0], path[:-1].sum(axis=1).cumsum())),
        rtol=0,
        atol=1e-12,
    )


@given(runs())
def test_loss_and_regret(run: Run) -> None:
    trace = run.record()
    rates, best = run.costs.T
    assert trace.loss == pytest.approx(rates.sum(), abs=1e-11)
    assert trace.regret == pytest.approx((rates - best).sum(), abs=1e-11)
    np.testing.assert_allclose(
        trace.regret_at(np.arange(len(rates) + 1)),
        np.concatenate(([0.0], (rates - best).cumsum())),
        rtol=0,
        atol=1e-11,
    )
    assert np.repeat(trace.rates, trace.lengths).tolist() == rates.tolist()
    assert np.repeat(trace.best, trace.lengths).tolist() == best.tolist()


def test_nothing_has_moved_before_the_first_round() -> None:
    assert SAMPLE.record().movement_at([0]).tolist() == [0.0]
    assert SAMPLE.record().movement_at(1).tolist() == [0.25]


@given(runs())
def test_round_by_round_is_stretch_by_stretch(run: Run) -> None:
    one_by_one = run._replace(
        states=run.dense,
        rounds=[1] * len(run.dense),
        rates=run.costs[:, 0],
        best=run.costs[:, 1],
    )
    a, b = run.record(), one_by_one.record()
    for name in ("start", "ends", "offsets", "changed", "values", "rates", "best", "prices"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist()


def test_a_long_stretch_costs_one_entry() -> None:
    recorder = Recorder(np.zeros(2), criteria=1)
    recorder.played(np.array([0.5, 0.0]), 10**12, rate=0.25, best=0.125)
    recorder.played(np.array([0.5, 0.0]), 10**12, rate=0.25, best=0.125)
    recorder.left_at(np.array([0.5, 0.0]), rate=0.25, best=0.0)
    trace = recorder.trace(prices=np.ones(2))
    assert trace.ends.tolist() == [2 * 10**12]
    assert trace.loss == 0.5e12
    assert trace.regret == 0.25e12
    assert trace.state(10**12 + 1).tolist() == [0.5, 0.0]


CAUSES: tuple[Cause, ...] = get_args(Cause)


@given(st.lists(st.tuples(st.sampled_from(CAUSES), st.sets(st.integers(0, 3)))))
def test_counts_are_kept_apart(looks: list[tuple[Cause, set[int]]]) -> None:
    recorder = Recorder(np.zeros(1), criteria=4)
    recorder.played(np.zeros(1), 1, rate=0.0, best=0.0)
    for cause, triggered in looks:
        recorder.told(
            Told(
                triggered=np.array(sorted(triggered), np.int64),
                cause=cause,
                moved=0.0,
                next_review=1,
            )
        )
    trace = recorder.trace(prices=np.zeros(1))
    causes = [cause for cause, _ in looks]
    assert trace.solves == len(looks) - causes.count("none")
    assert trace.reviews == causes.count("review")
    assert trace.attributions.tolist() == [sum(i in x for _, x in looks) for i in range(4)]
    assert (trace.moves, trace.knobs_changed, trace.movement) == (0, 0, 0.0)  # looking is free


@pytest.mark.parametrize("round_", [0, -1, 9])
def test_a_round_that_was_not_played_is_refused(round_: int) -> None:
    message = f"round {round_} was not played; they run from 1 to 8"
    with pytest.raises(InvalidInput, match=f"^{re.escape(message)}$"):
        SAMPLE.record().state(round_)


@pytest.mark.parametrize("curve", ["regret_at", "movement_at"])
@pytest.mark.parametrize(
    ("rounds", "says"),
    [
        ([1, 9], "rounds[1] = 9 is not within the run's 8 rounds"),
        ([-1], "rounds[0] = -1 is not within the run's 8 rounds"),
        ([0, 1, float("nan")], "rounds[2] = nan is not within the run's 8 rounds"),
    ],
)
def test_curves_stay_within_the_run(curve: str, rounds: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{re.escape(says)}$"):
        getattr(SAMPLE.record(), curve)(rounds)


def test_a_trace_cannot_be_changed() -> None:
    trace = SAMPLE.record()
    for name in ("ends", "offsets", "changed", "values", "rates", "best", "attributions"):
        assert not getattr(trace, name).flags.writeable
    with pytest.raises(FrozenInstanceError):
        trace.best = np.zeros(3)  # type: ignore[misc]
