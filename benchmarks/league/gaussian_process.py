"""BoTorch: a Gaussian process and its upper confidence bound, the standard recipe."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.league.rivals import Searcher
from benchmarks.league.worlds import Place
from trimtab.arrays import Array

BETA = 4.0  # two standard deviations
RANDOM = 5  # trials before the first model


class GPUCB(Searcher):
    """`SingleTaskGP` with standardised values and `UpperConfidenceBound`, fitted anew every trial.

    Recommends the trial with the best posterior mean.
    """

    SHARE, HOLD = 0.2, 25

    def __init__(self, place: Place, *, horizon: int, seed: int) -> None:
        super().__init__(place, horizon=horizon, seed=seed)
        self._on_trial = self.unit(place.start)
        self._X, self._y = list[Array](), list[float]()

    def judge(self, value: float) -> None:
        """Remember the trial."""
        self._X.append(self._on_trial)
        self._y.append(value)

    def suggest(self) -> Array:
        """The maximiser of the bound; random states at first."""
        if len(self._y) < RANDOM:
            self._on_trial = self.rng.random(self.k)
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
        if len(self._y) < RANDOM:
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
    """Without the warnings that torch and BoTorch give about themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
