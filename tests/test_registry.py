"""A package that users install joins every list: its policy, its world and its basis are found.

The package is really installed, as far as Python is concerned: modules and metadata in a folder of
the path. Nothing here imports it; every command is a process of its own.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.errors import InvalidInput
from trimtab.registry import Registry

COMMAND = str(Path(sys.executable).with_name("trimtab"))
MODULE = '''
"""What somebody else has written."""

from dataclasses import dataclass

import numpy as np

import trimtab as tt
from trimtab.policies import LazyPolicy, Told


class FromAfar(LazyPolicy):
    """Algorithm 1, by somebody else."""

    def _check(self) -> Told:
        triggered = self.learner.estimators.triggered()
        if triggered.size or self._review_due():
            return self._told(triggered, self._solve_globally())
        return self._told(triggered, None)


@dataclass(frozen=True, kw_only=True)
class Cosines:
    """A constant, and a few cosines of every knob."""

    waves: int = 2

    def bind(self, graph, domain):
        if self.waves < 1:
            raise ValueError(f"waves = {self.waves}; at least one is needed")
        n = np.arange(1, self.waves + 1)
        widest = max(len(graph.scope(i)) for i in range(graph.criteria))
        one = tt.bases.Custom(
            function=lambda i, x: np.append(1.0, np.cos(np.pi * np.outer(x, n))),
            jacobian=lambda i, x: np.vstack((np.zeros(x.size), *(
                np.outer(-np.pi * n * np.sin(np.pi * n * x[j]), np.eye(x.size)[j])
                for j in range(x.size)
            ))),
            bound=float(np.sqrt(1 + self.waves * widest)),
        )
        return one.bind(graph, domain)


def rolling(graph, *, seed=0, basis=None):
    """A world of waves."""
    problem = tt.Problem(graph, basis=basis or Cosines())
    rng = np.random.default_rng(seed)
    theta = [rng.normal(size=d) / d for d in problem.dims]
    return tt.worlds.World(problem, theta=theta, noise=tt.worlds.Gaussian(0.1))
'''
POINTS = """
[trimtab.policies]
FromAfar = afar:FromAfar
[trimtab.worlds]
rolling = afar:rolling
[trimtab.bases]
Cosines = afar:Cosines
"""
SPEC = """
name = "mine"
storage = "sqlite:///mine.db"
[knobs.a]
low = 0.0
high = 1.0
start = 0.5
[objectives.x]
knobs = ["a"]
low = 0.0
high = 1.0
[policy]
kind = "FromAfar"
factor = 1.5
[basis]
kind = "Cosines"
waves = 3
"""
SWEEP = """
seeds = 2
horizon = 40
[policies.mine]
kind = "FromAfar"
start = 0.5
radius = 0.5
[policies.stay]
kind = "FixedState"
start = 0.5
[worlds.waves]
kind = "rolling"
graph = { kind = "ring", knobs = 3 }
basis = { kind = "Cosines", waves = 2 }
"""


def install(folder: Path, *, module: str = MODULE, points: str = POINTS) -> None:
    """A package as an installer leaves it."""
    (folder / "afar.py").write_text(module, encoding="utf-8")
    info = folder / "afar-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: afar\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points, encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the package, a spec and a sweep that name what is in it."""
    install(tmp_path)
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def trimtab(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command, in a process that can import the package."""
    return subprocess.run(
        [COMMAND, *words],
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(home), "COLUMNS": "200", "NO_COLOR": "1"},
        check=False,
    )


def printed(home: Path, *words: str) -> str:
    """What a command prints that went well."""
    done = trimtab(home, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_spec_names_its_policy_and_its_basis(home: Path) -> None:
    for loss in (0.4, 0.6):  # each command restores the tuner
        decision = json.loads(printed(home, "ask", "mine.toml", "--json"))
        printed(home, "tell", "mine.toml", decision["id"], f"x={loss}")
    told = json.loads(printed(home, "replay", "mine.toml", "--json"))
    assert (told["decisions"], told["differing"]) == (2, [])
    begun = json.loads(printed(home, "storage", "export", "mine.db").splitlines()[0])
    chosen = json.loads(begun["payload"]["configuration"])
    assert chosen["policy"] == {"kind": "FromAfar", "factor": 1.5}
    assert chosen["basis"] == {"kind": "Cosines", "waves": 3}


@pytest.mark.slow
def test_the_doctor_shows_the_policy(home: Path) -> None:
    spec, _, _ = SPEC.partition("[basis]")
    (home / "mine.toml").write_text(spec, encoding="utf-8")
    assert "FromAfar" in printed(home, "doctor", "mine.toml", "--horizon", "20")


@pytest.mark.slow
def test_a_sweep_names_them_all_and_its_workers_find_them(home: Path) -> None:
    printed(home, "sweep", "sweep.toml", "--workers", "2", "--table", "rows.csv", "--out", "out")
    with (home / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["policy"], row["world"], row["seed"]) for row in rows) == [
        (policy, "waves", seed) for policy in ("mine", "stay") for seed in "01"
    ]


@pytest.mark.slow
def test_without_the_package_each_name_is_refused(home: Path) -> None:
    (home / "afar-1.0.dist-info" / "entry_points.txt").unlink()
    refused = trimtab(home, "ask", "mine.toml")
    assert refused.returncode == 2
    assert "policy.kind = 'FromAfar'" in refused.stderr
    assert "basis.kind = 'Cosines'" in refused.stderr
    assert not (home / "mine.db").exists()


@pytest.mark.slow
def test_options_that_a_basis_refuses_or_does_not_know(home: Path) -> None:
    for old, new, said in (
        ("waves = 3", "waves = 0", "basis.kind = 'Cosines': it refuses its options: waves = 0"),
        ("waves = 3", "wavs = 3", "basis.wavs"),
    ):
        (home / "mine.toml").write_text(SPEC.replace(old, new), encoding="utf-8")
        refused = trimtab(home, "ask", "mine.toml")
        assert refused.returncode == 2
        assert said in refused.stderr


@pytest.mark.parametrize(
    ("module", "points", "said"),
    [
        ("import nowhere", "Far = afar:Far", "cannot be loaded: No module named 'nowhere'"),
        ("", "Far = afar:Far", "cannot be loaded: module 'afar' has no attribute 'Far'"),
        ("class Other: ...", "Far = afar:Other", "must have the name of the class or function"),
    ],
)
def test_a_package_that_is_broken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, points: str, said: str
) -> None:
    install(tmp_path, module=module, points=f"[trimtab.policies]\n{points}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "afar", raising=False)
    policies = Registry("policy", group="trimtab.policies")
    with pytest.raises(InvalidInput, match=said):
        policies.named("Far")
