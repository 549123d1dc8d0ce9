"""The demo as a newcomer meets it: what it takes, the page it ends with, and its rivals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.browser import DESK, visit
from trimtab.demo import contenders

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COMMAND = Path(sys.executable).with_name("trimtab")
NARROW = (390, 844)
SECTIONS = ["rivals", "now", "timeline", "worth", "moves", "known", "health"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The page of `trimtab demo`, and the CPU seconds that it took."""
    folder = tmp_path_factory.mktemp("demo")
    child = subprocess.Popen([COMMAND, "demo"], cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return folder / "trimtab-demo.html", usage.ru_utime + usage.ru_stime


@pytest.mark.slow
def test_it_takes_little(demo: tuple[Path, float]) -> None:
    _, seconds = demo
    assert seconds < 20.0


@pytest.mark.slow
@pytest.mark.needs("chromium")
@pytest.mark.parametrize(("size", "scheme"), [(NARROW, "dark"), (DESK, "light")])
def test_its_page_opens(
    chromium: Browser, demo: tuple[Path, float], size: tuple[int, int], scheme: str
) -> None:
    with visit(chromium, demo[0], size=size, color_scheme=scheme) as seen:
        assert seen.drawn() == 9
        assert seen.page.locator("section").evaluate_all("all => all.map(e => e.id)") == SECTIONS
        assert seen.fetched == []
        assert seen.complaints == []
        assert seen.overflow() == 0
        assert seen.without_words() == []
        assert seen.faults() == []


def stand_in() -> ModuleType:
    """A module with what the demo uses of Optuna; it suggests at random."""
    rng = np.random.default_rng(0)
    asked: list[tuple[dict[str, float], float]] = []

    class Trial:
        def __init__(self, given: dict[str, float]) -> None:
            self.params = given

        def suggest_float(self, name: str, low: float, high: float) -> float:
            return self.params.setdefault(name, float(rng.uniform(low, high)))

    class Study:
        queue: list[dict[str, float]]

        def __init__(self) -> None:
            self.queue = []

        def enqueue_trial(self, params: dict[str, float]) -> None:
            self.queue.append(dict(params))

        def ask(self) -> Trial:
            return Trial(self.queue.pop() if self.queue else {})

        def tell(self, trial: Trial, value: float) -> None:
            asked.append((trial.params, value))

        @property
        def best_params(self) -> dict[str, float]:
            return min(asked, key=lambda pair: pair[1])[0]

    module: Any = ModuleType("optuna")
    module.logging = SimpleNamespace(set_verbosity=lambda level: None, ERROR=40)
    module.samplers = SimpleNamespace(TPESampler=lambda seed: None)
    module.create_study = lambda sampler: Study()
    module.asked = asked
    found: ModuleType = module
    return found


def test_optuna_searches_for_a_third_and_stays_with_its_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = stand_in()
    monkeypatch.setitem(sys.modules, "optuna", module)
    spec, world = contenders.service()
    run = contenders.optuna(spec, world, horizon=30, seed=0)
    assert len(module.asked) == 10
    assert np.array_equal(run.states[0], spec.start)
    best = [
        module.asked[int(np.argmin([y for _, y in module.asked]))][0][k.name] for k in spec.knobs
    ]
    assert (run.states[10:] == best).all()
    assert run.loss == pytest.approx([world.loss(state) for state in run.states])
    assert int(run.moved.sum()) in (9, 10)


def test_the_spec_of_the_demo_is_its_world() -> None:
    spec, world = contenders.service()
    graph = world.problem.graph
    names = [knob.name for knob in spec.knobs]
    for i, objective in enumerate(spec.objectives):
        assert objective.knobs == tuple(names[j] for j in graph.scope(i).tolist())
    assert np.allclose(spec.problem.move_cost, world.problem.move_cost)
