"""A tuner to watch: the recommender of `trimtab demo`, tuned while the service runs."""

from __future__ import annotations

import threading

import numpy as np

from trimtab.demo.contenders import service as recommender
from trimtab.errors import TrimtabError
from trimtab.serve.tuners import OpenTuners
from trimtab.serve.watch import Watch

BEFORE = 40  # rounds that are played at once, so that there is something to see
PACE = 1.0  # seconds of a round after that
ACTOR = "demo"


class Demo:
    """A simulated system in a thread, which asks and tells like any other client."""

    def __init__(self, tuners: OpenTuners, watch: Watch, *, pace: float = PACE) -> None:
        self._tuners, self._watch, self._pace = tuners, watch, pace
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play, name="trimtab-demo", daemon=True)

    def start(self) -> None:
        """Begin to play."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _play(self) -> None:
        spec, world = recommender()
        rng = np.random.default_rng(0)
        names = [objective.name for objective in spec.objectives]
        tuner = self._tuners.begin(spec, shadow=None, actor=ACTOR)
        wait = 0.0
        while not self._stop.wait(wait):
            try:
                decision = tuner.ask(actor=ACTOR)
                wait = 0.0 if decision.round <= BEFORE else self._pace
                state = np.asarray(spec.state(decision.values))
                losses = world.draw(state, rng, decision.round)
                told = dict(zip(names, losses.tolist(), strict=True))
                tuner.tell(decision.id, told, actor=ACTOR)
                self._watch.touch()
            except TrimtabError:  # the store may be busy; the same round again
                wait = self._pace
