"""Ax with BONSAI: Bayesian optimisation that leaves knobs alone whose change gains nothing."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

import numpy as np

from benchmarks.league.gaussian_process import quiet
from benchmarks.league.place import Place
from benchmarks.league.plans import Plan
from benchmarks.league.rivals import Searcher
from trimtab.arrays import Array


class Ax(Searcher):
    """Ax's client with `simplify_parameter_changes`; the start is its baseline and first trial.

    So every trial of its model is pruned against the start state. `startup` counts the trials
    before the first model, the start among them; the package has five. With `middle`, its default,
    the second one is the middle of the domain. Recommends the trial that its model likes best, or
    the best one where it does not trust the model.
    """

    name = "Ax BONSAI"
    what = "changes pruned against the start; stays with the best trial"
    needs = ("ax",)
    slow = True
    DEFAULTS: ClassVar = {"startup": 5, "middle": 1}

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        with quiet():
            api = import_module("ax.api.client")
            configs = import_module("ax.api.configs")
            import_module("torch").set_num_threads(1)
            self._names = [f"x{j}" for j in range(self.k)]
            self._client = api.Client(random_seed=seed)
            self._client.configure_experiment(
                parameters=[
                    configs.RangeParameterConfig(name=n, parameter_type="float", bounds=(0.0, 1.0))
                    for n in self._names
                ]
            )
            self._client.configure_optimization(objective="-loss")
            self._client.configure_generation_strategy(
                initialization_budget=int(self.options["startup"]),
                initialization_random_seed=seed,
                initialize_with_center=False,  # would not come after a baseline
                simplify_parameter_changes=True,
            )
            first = zip(self._names, self.unit(place.start).tolist(), strict=True)
            self._trial = self._client.attach_baseline(dict(first))

    def judge(self, value: float) -> None:
        """Complete the trial."""
        with quiet():
            self._client.complete_trial(self._trial, raw_data={"loss": value})

    def suggest(self) -> Array:
        """The next trial."""
        with quiet():
            import_module("torch").manual_seed(self.seed + self._trial)
            if self._trial == 0 and self.options["middle"]:
                middle = dict.fromkeys(self._names, 0.5)
                self._trial = self._client.attach_trial(middle)
                return self._vector(middle)
            ((self._trial, found),) = self._client.get_next_trials(max_trials=1).items()
        return self._vector(found)

    def recommend(self) -> Array:
        """The trial that the model likes best."""
        with quiet():
            found, *_ = self._client.get_best_parameterization()
        return self._vector(found)

    def _vector(self, found: dict[str, float]) -> Array:
        return np.array([float(found[name]) for name in self._names])
