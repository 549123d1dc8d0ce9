"""A policy of one's own: registered once, it is restored, swept, specified and advised on."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import trimtab as tt
import trimtab.policies
from trimtab.cli import app
from trimtab.errors import InvalidInput
from trimtab.live import Spec
from trimtab.policies import LazyPolicy, Told
from trimtab.policies.registry import HOMES, POLICIES
from trimtab.sweeps.describe.policies import make_policy, policy_faults

SPEC = """
name = "mine"
[knobs.a]
low = 0.0
high = 1.0
start = 0.5
[objectives.x]
knobs = ["a"]
low = 0.0
high = 1.0
[policy]
kind = "EveryHundred"
factor = 3.0
"""


class EveryHundred(LazyPolicy):
    """Algorithm 1 with a review every 100 rounds."""

    def _check(self) -> Told:
        triggered = self.learner.estimators.triggered()
        if triggered.size or self._review_due():
            return self._told(triggered, self._solve_globally())
        return self._told(triggered, None)

    @property
    def _review_at(self) -> int:
        return self._last_global + 100


@pytest.fixture
def registered() -> Iterator[None]:
    POLICIES.register(EveryHundred)
    yield
    POLICIES.remove("EveryHundred")


def test_every_policy_is_public() -> None:
    assert set(POLICIES) <= set(tt.__all__)


def test_every_module_of_policies_is_where_the_list_looks_for_it() -> None:
    for module in pkgutil.walk_packages(trimtab.policies.__path__, "trimtab.policies."):
        importlib.import_module(module.name)
    assert set(POLICIES) == set(HOMES)
    assert {name: kind.__module__ for name, kind in POLICIES.items()} == HOMES
    assert set(dir(trimtab.policies)) >= set(trimtab.policies.__all__) > set(HOMES)


def test_a_name_of_ours_cannot_be_taken() -> None:
    steady = type("SteadyGraphLinUCB", (LazyPolicy,), {})
    with pytest.raises(InvalidInput, match="there is a policy 'SteadyGraphLinUCB' already"):
        POLICIES.register(steady)


@pytest.mark.usefixtures("registered")
def test_it_is_restored_bit_for_bit() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    policy = EveryHundred(world.problem, start=[0.5] * 3)
    tt.play(policy, world, horizon=250)
    again = tt.restore(world.problem, policy.snapshot())
    assert isinstance(again, EveryHundred)
    for each in (policy, again):
        tt.play(each, world, horizon=250, seed=7)
    assert np.array_equal(policy.ask(), again.ask())


@pytest.mark.usefixtures("registered")
def test_it_is_swept() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    settings = {"kind": "EveryHundred", "start": 0.5, "radius": 1.0}
    assert policy_faults(settings, "policies.mine") == []
    assert isinstance(make_policy(settings, world, seed=1, horizon=10), EveryHundred)


@pytest.mark.usefixtures("registered")
def test_it_is_in_a_spec() -> None:
    policy = Spec.parse(SPEC).new_policy(seed=1)
    assert isinstance(policy, EveryHundred)
    with pytest.raises(InvalidInput, match=r"policy\.factr"):
        Spec.parse(SPEC.replace("factor", "factr"))


@pytest.mark.usefixtures("brief", "registered")
def test_it_is_advised_on_and_the_doctor_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SPEC, encoding="utf-8")
    shown = CliRunner().invoke(app, ["doctor", str(path), "--horizon", "20"])
    assert shown.exit_code == 0, shown.output
    assert "EveryHundred" in shown.output


def test_a_spec_with_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidInput, match="EveryHundred"):
        Spec.parse(SPEC)


def test_two_policies_cannot_have_one_name() -> None:
    def clash() -> None: ...

    clash.__name__ = "LinUCB"
    with pytest.raises(InvalidInput, match="already"):
        POLICIES.register(clash)


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'LazyOGD'"):
        POLICIES.named("LazyODG")
