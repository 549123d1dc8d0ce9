"""BoTorch: a Gaussian process and its upper confidence bound, the standard recipe."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.league.place import Place
from benchmarks.league.plans import Plan
from benchmarks.league.rivals import Searcher
from trimtab.arrays import Array

BETA = 4.0  # two standard deviations


class GPUCB(Searcher):
    """`SingleTaskGP` with standardised values and `UpperConfidenceBound`, fitted anew every trial.

    `startup` counts the trials before the first model, the start among them; the others are random
    but for the second one, which is the middle of the domain with `middle`.
    Recommends the trial with the best posterior mean.
    """

    name = "BoTorch GP-UCB"
    what = "SingleTaskGP, beta 4; stays with the best mean"
    needs = ("botorch", "torch")
    slow = True
    DEFAULTS: ClassVar = {"middle": 0, "startup": 5}

    def __init__(self, place: Place, *, horizon: int, seed: int, plan: Plan | None = None) -> None:
        super().__init__(place, horizon=horizon, seed=seed, plan=plan)
        self._on_trial = self.unit(place.start)
        self._X, self._y = list[Array](), list[float]()

    def judge(self, value: float) -> None:
        """Remember the trial."""
        self._X.append(self._on_trial)
        self._y.append(value)

    def suggest(self) -> Array:
        """The maximiser of the bound; random states at first."""
        if len(self._y) < self.options["startup"]:
            middle = len(self._y) == 1 and self.options["middle"]
            self._on_trial = np.full(self.k, 0.5) if middle else self.rng.random(self.k)
            return self._on_trial
        with quiet():
            torch, model = import_module("torch"), self._model()
            torch.manual_seed(self.seed + len(self._y))
            bound = import_module("botorch.acquisition").UpperConfidenceBound(model, beta=BETA)
            found, _ = import_module("botorch.optim").optimize_acqf(
                bound,
                bounds=torch.stack((torch.zeros(self.k), torch.ones(self.k))).double(),
                q=1,
                num_restarts=4,
                raw_samples=64,
            )
        self._on_trial = np.asarray(found.detach().numpy()[0])
        return self._on_trial

    def recommend(self) -> Array:
        """The trial that the model likes best, or the best of too few for a model."""
        if len(self._y) < self.options["startup"]:
            return self._X[int(np.argmin(self._y))]
        with quiet():
            at = import_module("torch").tensor(np.array(self._X))
            mean = self._model().posterior(at).mean.detach().numpy()[:, 0]
        return self._X[int(mean.argmax())]

    def _model(self) -> Any:
        torch, gpytorch = import_module("torch"), import_module("gpytorch")
        torch.set_num_threads(1)
        model = import_module("botorch.models").SingleTaskGP(
            torch.tensor(np.array(self._X)),
            torch.tensor(-np.array(self._y))[:, None],  # it maximises
            outcome_transform=import_module("botorch.models.transforms").Standardize(m=1),
        )
        import_module("botorch.fit").fit_gpytorch_mll(
            gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
        )
        return model


@contextmanager
def quiet() -> Iterator[None]:
    """Without what torch, BoTorch, Ax and Xopt have to say about themselves."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
