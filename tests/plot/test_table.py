"""The table between runs and figures says what the run says."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.plot.runs import NAMES, simulated, tuner
from trimtab.errors import InvalidInput
from trimtab.plot.moves import moves_of


def test_a_trace_adds_up() -> None:
    world, _, trace = simulated()
    table = tt.plot.rounds(trace, **NAMES)
    assert table.horizon == 120
    assert table.count.sum() == 120
    assert float(table.steps.sum()) == pytest.approx(trace.movement)
    assert float(table.price.sum()) == pytest.approx(trace.move_cost)
    assert int(table.moved.sum()) == trace.moves
    assert table.saved is not None
    stay = 120 * world.loss(trace.start)
    assert table.saved[-1] == pytest.approx(stay - trace.loss - trace.move_cost)
    assert {"learn", "improve"} <= set(table.kinds)


def test_kinds_are_those_of_the_records() -> None:
    _, _, trace = simulated()
    table = tt.plot.rounds(trace)
    moved = [record for record in trace.records if not record.held]
    kinds = [kind for kind in table.kinds if kind]
    assert kinds == ["improve" if record.improves else "learn" for record in moved]


def test_objectives_of_a_trace_are_the_worlds() -> None:
    world, _, trace = simulated()
    table = tt.plot.rounds(trace, **NAMES)
    losses = np.array([metric.values for metric in table.metrics])
    assert world.problem.weights @ losses == pytest.approx(trace.rates)
    assert [metric.noise for metric in table.metrics] == [0.1] * 8


def test_a_trace_without_its_world() -> None:
    trace = pickle.loads(pickle.dumps(simulated()[2]))
    table = tt.plot.rounds(trace)
    assert table.metrics == ()
    assert table.stay is not None  # its first stretch was at the start
    with pytest.raises(InvalidInput, match="has no world"):
        tt.plot.objectives(trace)
    with pytest.raises(InvalidInput, match="has no world"):
        tt.plot.graph(trace)


def test_a_tuner_adds_up(tmp_path: Path) -> None:
    with tuner(tmp_path) as live:
        table, status = tt.plot.rounds(live), live.status()
        rows = live.history(kinds=("decide",))
    assert table.horizon == len(table.first) == status.rounds
    assert float(table.price.sum()) == pytest.approx(sum(row.price for row in rows))
    values = [float(knob.value(table.states[-1, j])) for j, knob in enumerate(table.knobs)]
    assert values == pytest.approx(list(status.values.values()))
    latency, errors = table.metrics[0], table.metrics[-1]
    assert np.isnan(latency.values).sum() == 1
    assert not np.isnan(errors.values).any()
    assert np.isnan(table.loss).sum() == 1
    assert "person" in table.kinds
    assert latency.limits[0].value == pytest.approx(1.2 * status.baselines["latency_p99"])
    assert errors.limits[0].value == 2.0
    frame = table.to_pandas()
    assert len(frame) == status.rounds
    assert frame["cache_ttl"].iloc[-1] == pytest.approx(status.values["cache_ttl"])


def test_the_journal_of_a_spec_is_the_tuners(tmp_path: Path) -> None:
    from trimtab.live.spec.spec import example

    spec = tmp_path / "search.toml"
    text = example().replace("sqlite:///search.db", f"sqlite:///{tmp_path / 'search.db'}")
    spec.write_text(text, encoding="utf-8")
    with tuner(tmp_path, rounds=20) as live:
        expected = tt.plot.rounds(live)
        found = tt.plot.rounds(spec)
    assert np.array_equal(found.states, expected.states)
    assert found.kinds == expected.kinds


def test_moves_say_what_came_of_them() -> None:
    _, _, trace = simulated()
    moves = moves_of(tt.plot.rounds(trace, **NAMES))
    assert len(moves) == trace.moves
    rates = trace.rates
    assert [move.realised for move in moves] == pytest.approx((rates[:-1] - rates[1:]).tolist())
    records = [record for record in trace.records if not record.held]
    assert [move.expected for move in moves] == [record.expected for record in records]
    assert moves[0].steps[0].startswith("diversity mix 0.1 → ")
    assert {move.verdict for move in moves} <= {"better", "worse"}  # nothing is noisy here


def test_what_has_no_rounds() -> None:
    with pytest.raises(InvalidInput, match="a float has no rounds"):
        tt.plot.knobs(1.0)
    with pytest.raises(InvalidInput, match="at least one run"):
        tt.plot.cost({})


def test_budgets_count_within_their_window(tmp_path: Path) -> None:
    with tuner(tmp_path, rounds=40) as live:
        table = tt.plot.rounds(live)
    j = int(table.steps.sum(axis=0).argmax())
    knob = replace(table.knobs[j], budget=1.0, seconds=None, rounds=None)
    assert table.at is not None
    ages = np.array([[(now - at).total_seconds() for at in table.at] for now in table.at])
    passed = table.first[:, None] - table.first[None, :]
    windows: list[tuple[dict[str, Any], Any]] = [
        ({"rounds": 5}, passed < 5),
        ({"seconds": 3600.0}, ages < 3600.0),
        ({}, passed >= 0),
    ]
    assert np.count_nonzero(table.steps[:, j]) > 2
    for change, near in windows:
        knobs = [*table.knobs]
        knobs[j] = replace(knob, **change)
        expected = (near & (passed >= 0)) @ table.steps[:, j]
        assert replace(table, knobs=tuple(knobs)).used(j) == pytest.approx(expected)
