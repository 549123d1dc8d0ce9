"""Xopt with a limit on travel: Bayesian optimisation that goes only so far from trial to trial."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

import numpy as np

from benchmarks.league.gaussian_process import quiet
from benchmarks.league.place import Place
from benchmarks.league.plans import Plan
from benchmarks.league.rivals import Searcher
from trimtab.arrays import Array


class Xopt(Searcher):
    """Xopt's upper confidence bound with `max_travel_distances`, from the start state.

    `travel` is how far a knob may go between two trials, in units of its side; `startup` counts the
    trials before the first model, the start among them: random steps within the same limit.
    `beta` is the package's. Recommends the trial that its model likes best.
    """

    name = "Xopt"
    what = "upper bound, travel from trial to trial limited; stays with the best mean"
    needs = ("xopt",)
    slow = True
    DEFAULTS: ClassVar = {"startup": 3, "travel": 0.2, "beta": 2.0}

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        with quiet():
            import_module("torch").set_num_threads(1)
            self._names = [f"x{j:03}" for j in range(self.k)]  # Xopt sorts them
            vocs = import_module("xopt").VOCS(
                variables={name: [0.0, 1.0] for name in self._names},
                objectives={"loss": "MINIMIZE"},
            )
            bayesian = import_module("xopt.generators.bayesian")
            self._generator = bayesian.UpperConfidenceBoundGenerator(
                vocs=vocs,
                beta=self.options["beta"],
                max_travel_distances=[self.options["travel"]] * self.k,
            )
        self._on_trial = self.unit(place.start)
        self._X, self._y = list[Array](), list[float]()

    def judge(self, value: float) -> None:
        """Hand the trial over."""
        self._X.append(self._on_trial)
        self._y.append(value)
        row = dict(zip(self._names, self._on_trial, strict=True), loss=value)
        with quiet():
            self._generator.add_data(import_module("pandas").DataFrame([row]))

    def suggest(self) -> Array:
        """What the generator proposes; random steps at first."""
        if len(self._y) < self.options["startup"]:
            travel = self.options["travel"]
            step = self.rng.uniform(-travel, travel, self.k)
            self._on_trial = np.clip(self._on_trial + step, 0.0, 1.0)
            return self._on_trial
        with quiet():
            import_module("torch").manual_seed(self.seed + len(self._y))
            (found,) = self._generator.generate(1)
        self._on_trial = np.array([float(found[name]) for name in self._names])
        return self._on_trial

    def recommend(self) -> Array:
        """The trial that the model likes best, or the best of too few for a model."""
        if len(self._y) < self.options["startup"]:
            return self._X[int(np.argmin(self._y))]
        with quiet():
            at = import_module("torch").tensor(np.array(self._X))
            model = self._generator.train_model()
            mean = model.posterior(at).mean.detach().numpy()[:, 0]
        return self._X[int(mean.argmin())]
