"""Tables of the past: CSV, Parquet, data frames, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.live.tuners import Clock, assert_same, direct, matrices, spec_with, tuner_at
from trimtab.live.replay import replay
from trimtab.live.spec.spec import Spec, example
from trimtab.live.store.opening import open_journal

SPEC = spec_with()
TABLE: dict[str, list[Any]] = {
    "time": ["2026-01-01", "2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"],
    "ttl": [100, 100, 100, 1000.5, 100, 100],
    "size": [2, 2, 2, 7, 2, 2],
    "mix": [0.25, 0.25, 0.25, 0.75, 0.25, 0.25],
    "metric": ["latency", "sales", "latency", "latency", "errors", "latency"],
    "value": [120.0, 4.0, 130.0, 80.0, 1.0, None],
    "noise": [None, None, 5.0, 10.0, None, 5.0],
}
SEEN = [
    ({"ttl": 100, "size": 2, "mix": 0.25}, {"latency": [128.0, None, 5], "sales": [4.0, None, 1]}),
    ({"ttl": 1000.5, "size": 7, "mix": 0.75}, {"latency": [80.0, None, 1]}),
]


class Frame:
    """What a data frame offers."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return iter(self._columns[name])


def csv(folder: Path) -> Path:
    rows = zip(*TABLE.values(), strict=True)
    text = [",".join(TABLE), *(",".join("" if x is None else str(x) for x in row) for row in rows)]
    (folder / "table.csv").write_text("\n".join(text) + "\n")
    return folder / "table.csv"


def parquet(folder: Path) -> Path:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    pq.write_table(pa.table(TABLE), folder / "table.parquet")
    return folder / "table.parquet"


@pytest.mark.parametrize("form", [lambda folder: TABLE, csv, parquet, lambda folder: Frame(TABLE)])
def test_a_table_is_learned_from_once(tmp_path: Path, form: Any) -> None:
    with tuner_at(tmp_path, Clock()) as tuner:
        assert tuner.warm_start(form(tmp_path)) == 4  # errors are no objective, one is missing
        number = tuner.status().events
        assert tuner.warm_start(form(tmp_path)) == 4
        assert tuner.status().events == number == 2
        seen = [(SPEC.state(values), told) for values, told in SEEN]
        assert_same(matrices(tuner), direct(SPEC, seen))
        first = tuner.ask()
        assert not first.changed  # nothing was observed here yet
    with tuner_at(tmp_path, Clock()) as again:
        assert_same(matrices(again), direct(SPEC, seen))


def test_a_long_table_makes_several_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.live.warm_start.CHUNK", 3)
    columns = {name: [values[0]] * 8 for name, values in TABLE.items()}
    columns["ttl"] = [40.0 + i for i in range(8)]
    with tuner_at(tmp_path, Clock()) as tuner:
        assert tuner.warm_start(columns) == 8
        assert tuner.status().events == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ttl": None}, "no column 'ttl'"),
        ({"metric": ["latncy"] * 6}, "row 1 of the table: 'latncy' is no metric; did you mean"),
        ({"value": [1.0, 2.0, "x", 1.0, 1.0, 1.0]}, "row 3 of the table: value = 'x' is no number"),
        ({"ttl": [100, 100, 5, 100, 100, 100]}, "row 3 of the table: ttl = 5 s is outside"),
        ({"size": [2, 2.5, 2, 2, 2, 2]}, "row 2 of the table: size = 2.5 is none of its values"),
        ({"noise": [0.0] * 6}, "row 1 of the table: noise = 0"),
        ({"value": [1e30] * 6}, "out of all proportion"),
        ({"mix": [0.1]}, "differ in length"),
        ({"value": [np.array([1, 2])] * 6}, "row 1 of the table: value is a ndarray"),
        ({"mix": 0.1}, "give a list"),
        ({"mix": [None] * 6}, "row 1 of the table: mix"),
    ],
)
def test_a_table_that_makes_no_sense(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    columns = {name: x for name, x in (TABLE | change).items() if x is not None}
    with tuner_at(tmp_path, Clock()) as tuner:
        with pytest.raises(tt.InvalidInput, match=message):
            tuner.warm_start(columns)
        assert tuner.status().events == 1


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text("a,b\n1\n")
    (tmp_path / "no.parquet").write_text("hello")
    with tuner_at(tmp_path, Clock()) as tuner:
        for wrong in ("empty.csv", "ragged.csv", "no.parquet", "nowhere.csv", "nowhere.parquet"):
            with pytest.raises(tt.InvalidInput, match=wrong):
                tuner.warm_start(tmp_path / wrong)
        with pytest.raises(tt.InvalidInput, match="give a path"):
            tuner.warm_start(7)


def test_a_table_after_the_system_was_moved_by_hand_is_learned_from(tmp_path: Path) -> None:
    """What the knobs can be follows the system: a look that is due then begins where it is."""
    spec = replace(Spec.parse(example()), name="shop")
    clock, rng = Clock(), np.random.default_rng(0)
    with tt.Tuner(spec, storage=str(tmp_path / "a.db"), clock=clock) as tuner:
        ends = [{knob.name: knob.value(place) for knob in spec.knobs} for place in (0.0, 1.0)]
        for n in range(12):
            decision = tuner.ask()
            tuner.tell(decision.id, {o.name: o.value(rng.random()) for o in spec.objectives})
            clock.wait(minutes=30)
            values = ends[n % 2]
            tuner.attach(values)
            rows = {name: [x] * 3 for name, x in values.items()}
            names = [o.name for o in spec.objectives]
            means = [o.value(rng.random()) for o in spec.objectives]
            tuner.warm_start({**rows, "metric": names, "value": means, "count": [8] * 3})
            tuner.ask()
        assert any("look" in event.payload for event in tuner._follower.read())
    with open_journal(tmp_path / "a.db", read_only=True) as journal:
        assert replay(journal, "shop").same
