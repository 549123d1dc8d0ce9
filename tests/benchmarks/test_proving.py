"""The proving ground: everybody takes turns, totals add up, and recordings come back whole."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from math import isnan, nan
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from benchmarks.league import plans
from benchmarks.league.recorded import recorded
from benchmarks.proving import windows as raw
from benchmarks.proving.arms import (
    ENTRIES,
    FIXED,
    LATE,
    OURS,
    WATCHING,
    Arm,
    BestKnown,
    Fixed,
    Rival,
    Tuned,
    entries,
)
from benchmarks.proving.command import main
from benchmarks.proving.conduct import conduct, judged
from benchmarks.proving.record import BLOCK, record, tour
from benchmarks.proving.recording import Recording
from benchmarks.proving.report import report
from benchmarks.proving.scores import complete, losses, machine, scores
from benchmarks.proving.validate import validate
from benchmarks.proving.windows import Window
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.live import Spec

ROOT = Path(__file__).parents[2]

TEXT = """
name = "fake"
baseline_observations = 3
[knobs.threads]
low = 1
high = 5
start = 2
scale = "integer"
stability = { move_cost = 0.5 }
[knobs.cache]
low = 1
high = 100
start = 10
scale = "log"
stability = { move_cost = 0.25 }
[objectives.latency]
knobs = ["threads", "cache"]
low = 0
high = 10
[objectives.memory]
knobs = ["cache"]
low = 0
high = 100
weight = 2
[metrics]
errors = "%"
[[constraints]]
rule = "latency <= 1.5 * baseline"
kind = "guardrail"
"""
SPEC = Spec.parse(TEXT)
START = SPEC.values(SPEC.start)


class FakeLane:
    """Latency falls with threads and cache, memory grows; every seventh window lacks a metric."""

    def __init__(self, name: str, served: list[str], gaps: bool) -> None:
        self._name, self._served, self._gaps, self._n = name, served, gaps, 0
        self.slower = 0.0

    def window(self, values: Mapping[str, float]) -> dict[str, float]:
        self._served.append(self._name)
        self._n += 1
        latency = 8.0 / values["threads"] + 20.0 / values["cache"] + 0.01 * (self._n % 5)
        latency += self.slower
        if self._gaps and self._n % 7 == 0:
            latency = nan
        return {"latency": latency, "memory": values["cache"], "errors": 0.0}


class Fake:
    """A system without a machine."""

    name = "fake"

    def __init__(self, *, gaps: bool = False) -> None:
        self.spec, self.served, self._gaps = SPEC, list[str](), gaps
        self.lanes: list[FakeLane] = []

    def lane(self, name: str) -> FakeLane:
        self.lanes.append(FakeLane(name, self.served, self._gaps))
        return self.lanes[-1]

    def change(self) -> None:
        for lane in self.lanes:
            lane.slower = 5.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


class Listed:
    """An arm that plays listed values, then stays with the last."""

    def __init__(self, *path: dict[str, float]) -> None:
        self._path, self._n, self.heard = path, -1, list[Mapping[str, float]]()

    def values(self) -> dict[str, float]:
        self._n = min(self._n + 1, len(self._path) - 1)
        return self._path[self._n]

    def told(self, metrics: Mapping[str, float]) -> None:
        self.heard.append(metrics)

    def close(self) -> None: ...


def window(number: int, arm: str, loss: float, *, price: float = 0.0, **values: float) -> Window:
    """A window of run 1, at the start values but for those given."""
    return Window(
        run=1,
        number=number,
        planned=6,
        arm=arm,
        at=float(number),
        seconds=0.5,
        values=START | values,
        metrics={"latency": 1.0, "memory": 1.0, "errors": 0.0},
        loss=loss,
        price=price,
        broken=False,
    )


@pytest.fixture(autouse=True)
def plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rivals that search in short runs too."""
    monkeypatch.setitem(plans.PLANS, "hill climbing", {300: plans.Plan(0.5, 2)})


# A run.


def test_every_arm_plays_once_in_every_window_in_changing_order() -> None:
    system = Fake()
    arms: dict[str, Arm] = {name: Listed(START) for name in ("a", "b", "c")}
    list(conduct(system, arms, run=1, windows=30, seed=4))
    turns = [tuple(system.served[n : n + 3]) for n in range(0, 90, 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) == 6  # all orders; one missing has a probability below 0.03, seed fixed
    again = Fake()
    list(conduct(again, arms, run=1, windows=30, seed=4))
    assert again.served == system.served


def test_losses_and_prices_can_be_recomputed_from_raw_windows(tmp_path: Path) -> None:
    path = [START, START | {"threads": 4}, START | {"threads": 3, "cache": 100.0}]
    arms: dict[str, Arm] = {FIXED: Listed(START), "listed": Listed(*path)}
    played = judged(list(conduct(Fake(gaps=True), arms, run=1, windows=9, seed=0)), SPEC)
    back = raw.read(raw.write(played, SPEC, tmp_path), SPEC)
    assert len(back) == 18
    mine = [w for w in back if w.arm == "listed"]
    assert [w.price for w in mine[:4]] == pytest.approx([0.0, 0.25, 0.125 + 0.125, 0.0])
    for w in back:
        latency, memory = w.metrics["latency"], w.metrics["memory"]
        if isnan(latency):
            assert isnan(w.loss)
            assert w.number == 7
        else:
            assert w.loss == pytest.approx(latency / 10 + 2 * memory / 100, rel=1e-6)
    scored = scores(complete(back)[1], SPEC)["listed"]
    assert (scored.missing, scored.changes, scored.moves) == (1, 3, 2)
    assert losses(mine)[6] == mine[5].loss


def test_a_guardrail_is_judged_by_the_fixed_arms_baseline_from_the_first_window() -> None:
    arms: dict[str, Arm] = {FIXED: Listed(START), "slow": Listed(START | {"threads": 1})}
    played = judged(list(conduct(Fake(), arms, run=1, windows=5, seed=0)), SPEC)
    assert [w.broken for w in played if w.arm == FIXED] == [False] * 5
    assert [w.broken for w in played if w.arm == "slow"] == [True] * 5


@pytest.mark.parametrize("make", [Fixed, Tuned, ENTRIES["hill climbing"].make])
def test_arms_stay_in_the_domain_and_bear_missing_metrics(make: Any, tmp_path: Path) -> None:
    arm = make(SPEC, horizon=30, seed=1, folder=tmp_path)
    lane = FakeLane("arm", [], gaps=True)
    try:
        for n in range(20):
            values = arm.values()
            SPEC.state(values)  # refuses what is outside
            if n == 0:
                assert values == START
            arm.told(lane.window(values))
    finally:
        arm.close()
    assert isinstance(arm, Fixed | Rival | Tuned)


def test_the_best_values_of_the_recording_are_set_before_the_first_window(tmp_path: Path) -> None:
    world = recorded("cache-service")
    arm = BestKnown(world.spec, horizon=30, seed=1, folder=tmp_path)
    played = world.spec.state(arm.values())
    assert world.loss(played) < 1.02 * world.optimum.value  # but for the steps of integer knobs


def test_the_fixed_arm_always_plays_and_unknown_arms_are_refused() -> None:
    assert [entry.name for entry in entries(["trimtab"])] == [FIXED, "trimtab"]
    with pytest.raises(InvalidInput, match="'random' is no arm; the arms are fixed, trimtab"):
        entries(["random"])


# A report.


def test_a_report_has_the_right_ratios() -> None:
    fixed = [window(n, FIXED, 1.0) for n in range(1, 7)]
    ours = [window(1, "trimtab", 1.0)]
    ours += [window(2, "trimtab", 0.5, price=0.75, threads=5)]  # dearer until window 3
    ours += [window(n, "trimtab", 0.5, threads=5) for n in range(3, 7)]
    climbing = [window(n, "hill climbing", 0.75) for n in range(1, 7)]
    windows = [*fixed, *ours, *climbing]
    scored = scores(complete(windows)[1], SPEC)
    ours_scored = scored["trimtab"]
    assert ours_scored.share == pytest.approx(4.25 / 6)
    assert (ours_scored.changes, ours_scored.moves, ours_scored.helps_from) == (1, 1, 3)
    assert scored["hill climbing"].helps_from == 1
    assert scored[FIXED].helps_from is None
    text = report(windows, SPEC)
    row = next(line for line in text.splitlines() if line.startswith("| trimtab"))
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["0.708", "0.708", "0.94", "0.583"]
    assert "1 run of 6 windows" in text
    assert "share x windows of a trial: hill climbing 0.5 x 2." in text


def test_a_run_that_was_cut_counts_only_the_windows_that_all_have() -> None:
    windows = [window(n, FIXED, 1.0) for n in range(1, 5)]
    windows += [window(n, "trimtab", 0.5) for n in range(1, 4)]
    assert [len(played) for played in complete(windows)[1].values()] == [3, 3]
    with pytest.raises(InvalidInput, match="play more"):
        report(windows[:2], SPEC)


def test_spikes_and_drift_are_seen_in_the_fixed_arm() -> None:
    rng = np.random.default_rng(0)
    level = np.repeat([1.0, 1.0, 1.2], 100) + 0.01 * rng.standard_normal(300)
    level[50] = 3.0
    seen = machine([window(n, FIXED, x) for n, x in enumerate(level.tolist(), start=1)])
    assert seen.largest == pytest.approx(3.0, rel=0.05)
    assert seen.thirds == pytest.approx((1.0, 1.0, 1.2), abs=0.05)
    assert seen.above > 1 / 300


def test_losses_before_the_first_known_one_count_as_it() -> None:
    given = [window(n, FIXED, x) for n, x in enumerate([nan, nan, 2.0, nan, 3.0], start=1)]
    assert losses(given).tolist() == [2.0, 2.0, 2.0, 2.0, 3.0]


# A recording.


def test_a_recording_comes_back_as_it_was_played(tmp_path: Path) -> None:
    out = record(Fake(gaps=True), tmp_path / "fake.csv.gz", states=30, hold=3, seed=2)
    recording = Recording.read(out)
    path = tour(SPEC, states=30, seed=2)
    assert (recording.system, recording.knobs) == ("fake", ("threads", "cache"))
    assert recording.metrics == ("latency", "memory", "errors")
    assert recording.number.tolist() == np.repeat(np.arange(32), 3).tolist()
    assert recording.settled.tolist() == [False, True, True] * 32
    np.testing.assert_allclose(recording.states, np.repeat(path, 3, axis=0), atol=5e-5)
    expected = SPEC.losses({"memory": SPEC.values(path[5])["cache"]})[1]
    assert recording.losses(SPEC)[16, 1] == pytest.approx(expected, rel=1e-4)
    assert np.isnan(recording.losses(SPEC)[6, 0])
    assert not list(tmp_path.glob("*.part.csv"))
    again = record(Fake(gaps=True), tmp_path / "again.csv.gz", states=30, hold=3, seed=2)
    assert again.read_bytes() == out.read_bytes()
    assert out.read_bytes()[4:8] == bytes(4)  # no time of writing
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(InvalidInput, match="is no recording"):
        Recording.read(tmp_path / "other.gz")


def test_the_tour_visits_the_start_in_every_block_and_steps_moderately() -> None:
    path = tour(SPEC, states=100, seed=0)
    assert len(path) == 105
    np.testing.assert_array_equal(path[:: BLOCK + 1], np.tile(SPEC.start, (5, 1)))
    for state in path:
        SPEC.values(state)  # refuses what is between the steps of an integer knob
    shuffled = np.random.default_rng(0).permutation(path)
    steps, random_steps = (np.abs(np.diff(p, axis=0)).sum(axis=1) for p in (path, shuffled))
    assert np.median(steps) < 0.5 * np.median(random_steps)


class Cut(Fake):
    """A system that fails after a number of windows."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def lane(self, name: str) -> FakeLane:
        whole = super().lane(name)
        serve = whole.window

        def cut(values: Mapping[str, float]) -> dict[str, float]:
            if len(self.served) == self._after:
                raise KeyboardInterrupt
            return serve(values)

        whole.window = cut  # type: ignore[method-assign]
        return whole


def test_a_recording_that_was_cut_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fake.csv.gz"
    command = ["record", "--states", "8", "--out", str(out)]
    assert main(lambda: Cut(14), command) == 1
    assert "cut short" in capsys.readouterr().err
    part = tmp_path / "fake.csv.gz.part.csv"
    assert part.read_text().count("\n") == 2 + 14
    part.write_text(part.read_text() + "15,2,1,0.5")  # the fifth window of a state, half written
    with pytest.raises(InvalidInput, match="belongs to another recording"):
        record(Fake(), out, states=8, hold=5, seed=1)
    system = Fake()
    record(system, out, states=8, hold=5, seed=0)
    assert len(system.served) == 9 * 5 - 10
    whole = record(Fake(), tmp_path / "whole.csv.gz", states=8, hold=5, seed=0)
    cut, uncut = Recording.read(out), Recording.read(whole)
    np.testing.assert_array_equal(cut.states, uncut.states)
    np.testing.assert_array_equal(cut.number, uncut.number)
    np.testing.assert_array_equal(cut.values, uncut.values)


class Model:
    """A recorded world that is right but for a factor."""

    def mean(self, state: Array) -> Array:
        values = SPEC.values(state)
        latency = 8.0 / values["threads"] + 20.0 / values["cache"] + 0.02
        return np.asarray(1.1 * SPEC.losses({"latency": latency, "memory": values["cache"]}))

    def draw(self, state: Array, rng: np.random.Generator, t: int) -> Array:
        return self.mean(state) + 0.01 * rng.standard_normal(2)


def test_a_recorded_world_is_compared_at_fresh_states() -> None:
    found = validate(Fake(), Model(), windows=5, seed=3)
    assert found.rank_correlation == pytest.approx(1.0)
    assert np.divide(found.said, found.measured) == pytest.approx(1.1, rel=1e-9)
    assert found.start_said[0] / found.start[0] == pytest.approx(1.1, rel=0.01)
    assert found.start_said[1] == pytest.approx(0.01 * 5**0.5, rel=0.2)  # weights 1 and 2
    assert "rank correlation of the fresh states: 1.00" in found.table()


# The command.


def test_play_writes_table_picture_and_windows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = ["--arms", "fixed", "hill climbing"]
    sizes = ["--runs", "2", "--windows", "10", "--out", str(tmp_path / "new")]
    assert main(Fake, ["play", *arms, *sizes]) == 0
    table = (tmp_path / "new" / "report.md").read_text()
    said = capsys.readouterr()
    assert table in said.out
    assert "run 2: window 10 of 10" in said.err
    assert "| hill climbing | " in table
    assert (tmp_path / "new" / "windows.png").read_bytes().startswith(b"\x89PNG")
    back = raw.read(tmp_path / "new" / "windows.csv", SPEC)
    assert len(back) == 2 * 2 * 10
    again = ["report", str(tmp_path / "new" / "windows.csv"), "--out", str(tmp_path / "again")]
    assert main(Fake, again) == 0
    assert (tmp_path / "again" / "report.md").read_text() == table


def test_a_change_of_the_workload_is_reported_beside_a_tuner_that_begins_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--runs", "1", "--windows", "60", "--out", str(tmp_path)]
    assert main(Fake, ["play", "--arms", OURS, "--change", "40", *sizes]) == 0
    text = (tmp_path / "report.md").read_text()
    assert "| arm | up to window 40 | the next 100 | after that |" in text
    assert f"| {LATE} | 0.802 | " in text  # as the fixed arm's, before the change
    assert "Run 1: the alarm of trimtab rang before window " in text
    played = raw.read(tmp_path / "windows.csv", SPEC)
    late = {w.number: w.values for w in played if w.arm == LATE}
    assert all(late[n] == START for n in range(1, 41))
    latency = [w.metrics["latency"] for w in played if w.arm == FIXED]
    assert min(latency[40:]) > max(latency[:40]) + 4.0
    assert main(Fake, ["play", "--arms", OURS, "--change", "60", *sizes]) == 2
    assert "give one of the first windows" in capsys.readouterr().err


def test_another_spec_of_the_same_knobs_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(TEXT.replace("1.5 * baseline", "1.01 * baseline"))
    sizes = ["--runs", "1", "--windows", "12", "--out", str(tmp_path)]
    assert main(Fake, ["play", "--arms", OURS, WATCHING, "--spec", str(other), *sizes]) == 0
    assert f"| {WATCHING} | " in (tmp_path / "report.md").read_text()
    other.write_text(TEXT.replace("threads", "workers"))
    assert main(Fake, ["play", "--arms", OURS, "--spec", str(other), *sizes]) == 2
    assert "has other knobs than fake" in capsys.readouterr().err


def test_what_was_played_before_ctrl_c_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--runs", "1", "--windows", "50", "--out", str(tmp_path)]
    assert main(lambda: Cut(9), ["play", "--arms", "fixed", "hill climbing", *sizes]) == 0
    assert len(raw.read(tmp_path / "windows.csv", SPEC)) == 9
    assert "cut short" in capsys.readouterr().err
    assert "1 run of 4 windows" in (tmp_path / "report.md").read_text()


def test_what_is_missing_is_one_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Fake:
        raise ImportError("redis is not installed")

    record_it = ["record", "--out", str(tmp_path / "x.csv.gz")]
    assert main(broken, record_it) == 2
    assert capsys.readouterr().err == "redis is not installed\n"
    entry = replace(ENTRIES["hill climbing"], needs=("no_such_package",))
    monkeypatch.setitem(ENTRIES, "hill climbing", entry)
    assert main(Fake, ["play", "--arms", "hill climbing", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said == "no_such_package is not installed, and hill climbing needs it\n"


def test_large_windows_are_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [window(n, FIXED, 1.0) for n in range(1, 5)]
    assert raw.write(given, SPEC, tmp_path).name == "windows.csv"
    monkeypatch.setattr(raw, "LARGE", 10)
    packed = raw.write(given, SPEC, tmp_path)
    assert packed.name == "windows.csv.gz"
    assert not (tmp_path / "windows.csv").exists()
    assert raw.read(packed, SPEC) == given


# The log shipper.


@pytest.fixture
def shipper(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example with small windows."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples" / "log-shipper"), *sys.path])
    with import_module("log_shipper").LogShipper(size=1500) as system:
        yield system


def test_more_compression_means_fewer_bytes_and_more_cpu(shipper: Any) -> None:
    lanes = {level: shipper.lane(str(level)) for level in (1, 9)}
    start = shipper.spec.values(shipper.spec.start) | {"batch_records": 200.0, "linger_ms": 200.0}
    start |= {"window_bits": 15, "dictionary_kb": 0.25}
    seen: dict[int, list[dict[str, float]]] = {1: [], 9: []}
    for _ in range(8):
        for level, lane in lanes.items():
            seen[level].append(lane.window(start | {"level": level}))
    light, hard = (np.array([[w["wire_bytes"], w["cpu_us"]] for w in seen[n]]) for n in (1, 9))
    assert (hard[:, 0] < light[:, 0]).all()
    # Level 9 takes more than twice the CPU; medians of eight bear three disturbed windows.
    assert np.median(hard[:, 1]) > 1.2 * np.median(light[:, 1])


def test_longer_batches_wait_longer_and_need_fewer_bytes(shipper: Any) -> None:
    lanes = shipper.lane("short"), shipper.lane("long")
    start = shipper.spec.values(shipper.spec.start)
    short = lanes[0].window(start | {"batch_records": 10.0, "linger_ms": 5.0})
    long = lanes[1].window(start | {"batch_records": 200.0, "linger_ms": 100.0})
    assert long["delay_ms"] > 5 * short["delay_ms"]
    assert long["delay_p95_ms"] > long["delay_ms"] > 10.0
    assert long["wire_bytes"] < short["wire_bytes"]
    assert long["memory_kb"] > short["memory_kb"]
    aged = lanes[0].window(start | {"batch_records": 1000.0, "linger_ms": 5.0})
    assert aged["delay_ms"] < 0.5 * long["delay_ms"]  # sent by age, long before they are full


def test_every_lane_ships_the_same_records_and_all_arrive(shipper: Any) -> None:
    one, two = shipper.lane("one"), shipper.lane("two")
    start = shipper.spec.values(shipper.spec.start)
    names = {each.name for each in shipper.spec.objectives} | set(shipper.spec.metrics)
    for _ in range(3):
        first, second = one.window(start), two.window(start)
        assert set(first) == names
        assert first["wire_bytes"] == second["wire_bytes"]  # to the byte
        assert first["memory_kb"] == second["memory_kb"]
    assert shipper.records(3) != shipper.records(4)
    assert shipper.records(3) == import_module("log_shipper").LogShipper(size=1500).records(3)
    lines = [line for _, line in shipper.records(0)]
    assert len(lines) == 1500
    assert all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)
    at = [time for time, _ in [*shipper.records(0), *shipper.records(1)]]
    assert at == sorted(at)
