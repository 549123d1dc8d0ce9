"""The command line and its demo: what is printed is what the library computes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import trimtab as tt
from trimtab import errors
from trimtab.cli import main
from trimtab.demo import contenders, story
from trimtab.plot.moves import moves_of
from trimtab.plot.table import Rounds
from trimtab.sim.recommender import CRITERIA, KNOBS, START, recommender

COMMAND = str(Path(sys.executable).with_name("trimtab"))


@cache
def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with its output in UTF-8, wide enough for every table."""
    return subprocess.run(
        arguments,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
        check=False,
    )


def cells(output: str) -> list[list[str]]:
    """The cells of every line of every table."""
    lines = [line for line in output.splitlines() if line.startswith(("│", "┃"))]
    return [[cell.strip() for cell in line[1:-1].replace("┃", "│").split("│")] for line in lines]


def rows(output: str) -> dict[str, list[str]]:
    """The lines of the tables by their first cell."""
    return {first: rest for first, *rest in cells(output) if first}


@pytest.mark.parametrize("command", [(COMMAND,), (sys.executable, "-m", "trimtab")])
def test_version(command: tuple[str, ...]) -> None:
    child = run(*command, "--version")
    assert (child.returncode, child.stdout, child.stderr) == (0, f"trimtab {tt.__version__}\n", "")


@cache
def demo(seed: int = 1) -> tuple[subprocess.CompletedProcess[str], str]:
    """A small demo: what it printed, and its report."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "report.html"
        child = run(COMMAND, "demo", "--rounds", "60", "--seed", str(seed), "--out", str(out))
        assert child.stdout.splitlines()[-1] == f"Report: {out}"
        return child, out.read_text(encoding="utf-8")


@cache
def demo_by_hand() -> dict[str, Rounds]:
    """The runs of the demo, called as the command calls them."""
    spec, world = contenders.service()
    with contenders.tuned(spec, world, horizon=60, seed=1, advance=lambda n: None) as tuner:
        ours = contenders.as_expected(tt.plot.rounds(tuner), world)
    return {"trimtab": ours, "LinUCB": contenders.linucb(spec, world, horizon=60, seed=1)}


def test_demo_prints_what_it_cost() -> None:
    child, _ = demo()
    assert child.returncode == 0, child.stderr
    assert child.stderr == ""
    table = rows(child.stdout)
    assert "6 knobs and 8 things" in child.stdout
    assert "60 rounds" in child.stdout
    heads = ["", "loss", "moves", "movement", "price", "total", "of staying put"]
    assert heads in cells(child.stdout)
    spec, world = contenders.service()
    stay = 60 * world.loss(np.array(spec.start))
    for name, run in demo_by_hand().items():
        loss = sum(world.loss(state) * n for state, n in zip(run.states, run.count, strict=True))
        movement = np.abs(np.diff(run.states, axis=0, prepend=[run.start])).sum()
        total = loss + 2.0 * movement
        assert table[name] == [
            f"{loss:,.0f}",
            str(int(run.moved.sum())),
            f"{movement:.1f}",
            f"{2.0 * movement:.0f}",
            f"{total:,.0f}",
            f"{total / stay:.0%}",
        ]
    assert table["stay put"] == [f"{stay:,.0f}", "0", "0.0", "0", f"{stay:,.0f}", "100%"]


def test_the_demo_is_worth_its_moves() -> None:
    """Not a bound: a check that the story told is the one that happens, for this seed."""
    ours = demo_by_hand()["trimtab"]
    assert ours.saved is not None
    assert ours.saved[-1] > 0.2 * float(ours.stay @ ours.count)  # type: ignore[operator]
    assert 5 < ours.moved.sum() < 30


def test_demo_has_honest_words() -> None:
    words = " ".join(demo()[0].stdout.split())  # lines are broken to fit
    moves = moves_of(demo_by_hand()["trimtab"])
    learning = sum(move.kind == "learn" for move in moves)
    worse = sum(move.realised < 0.0 for move in moves)
    assert f"Of its {len(moves)} moves {len(moves) - learning} were expected to pay" in words
    assert f"{worse} raised the true loss" in words
    saved = demo_by_hand()["trimtab"].saved
    assert saved is not None
    first = int(np.flatnonzero(saved <= 0.0)[-1]) + 2
    assert f"From round {first} on it had cost less than staying put." in words


def test_demo_takes_its_seed() -> None:
    other, _ = demo(2)
    assert other.returncode == 0
    assert rows(other.stdout)["LinUCB"] != rows(demo()[0].stdout)["LinUCB"]


def test_demo_without_plotly_has_a_table_and_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(story, "find_spec", lambda name: None)
    story.run(rounds_=5, seed=0, out=tmp_path / "report.html")
    said = capsys.readouterr().out
    assert "pip install 'trimtab[plot]'" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("out", "said"), [("", "is a folder; name a file"), ("no/report.html", "there is no folder")]
)
def test_a_demo_that_could_not_write_plays_nothing(tmp_path: Path, out: str, said: str) -> None:
    child = run(COMMAND, "demo", "--rounds", "5", "--out", str(tmp_path / out))
    assert (child.returncode, child.stdout) == (2, "")
    assert child.stderr.startswith(f"trimtab: out = '{tmp_path / out}'")
    assert said in child.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--rounds", "0"), "--rounds"),
        (("--rounds", "-5"), "--rounds"),
        (("--rounds", "many"), "--rounds"),
        (("--rounds", "1.5"), "--rounds"),
        (("--rounds", "5", "--seed", "-1"), "--seed"),
    ],
)
def test_a_demo_that_makes_no_sense_is_refused(options: tuple[str, ...], wrong: str) -> None:
    child = run(COMMAND, "demo", *options)
    assert child.returncode == 2
    assert child.stdout == ""  # nothing was played
    assert child.stderr.startswith("Usage: trimtab demo")
    assert child.stderr.splitlines()[-1].startswith(f"Error: Invalid value for '{wrong}': ")
    assert "Traceback" not in child.stderr


def test_a_command_that_does_not_exist_is_refused() -> None:
    child = run(COMMAND, "fly")
    assert child.returncode == 2
    assert child.stderr.startswith("Usage: trimtab")
    assert "Traceback" not in child.stderr


@pytest.mark.parametrize("kind", [errors.InvalidInput, errors.NotFound, errors.Conflict])
def test_an_error_that_was_foreseen_ends_with_one_line(
    kind: type[errors.TrimtabError],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*, rounds_: int, seed: int, out: Path) -> None:
        raise kind(f"rounds = {rounds_}; the knobs are stuck, oil them")

    monkeypatch.setattr("trimtab.demo.story.run", fail)
    monkeypatch.setattr(sys, "argv", ["trimtab", "demo", "--rounds", "7"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == kind.exit_code == (1 if kind is errors.Conflict else 2)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "trimtab: rounds = 7; the knobs are stuck, oil them\n")


# The recommender of the demo.


def test_recommender_has_six_knobs_and_eight_criteria() -> None:
    problem = recommender().problem
    assert (problem.knobs, problem.criteria) == (len(KNOBS), len(CRITERIA)) == (6, 8)
    for i, (_, scope, _) in enumerate(CRITERIA):
        assert problem.graph.scope(i).tolist() == list(scope)
    assert {j for _, scope, _ in CRITERIA for j in scope} == set(range(6))
    assert problem.domain.contains(START)


def test_recommender_has_the_losses_it_names() -> None:
    world = recommender()
    rng = np.random.default_rng(1)
    corners = np.array(list(product((0.0, 1.0), repeat=6)))
    for state in np.concatenate((corners, rng.random((200, 6)))):
        direct = [loss(*(state[j] for j in scope)) for _, scope, loss in CRITERIA]
        np.testing.assert_allclose(world.mean(state), direct, rtol=0, atol=1e-9)


def test_recommender_passes_its_options_on() -> None:
    world = recommender(noise=0.25, move_cost=[1, 2, 3, 4, 5, 6])
    assert world.noise.scales(world.problem.graph).tolist() == [0.25] * 8
    assert world.problem.move_cost.tolist() == [1, 2, 3, 4, 5, 6]


def test_the_start_of_the_recommender_leaves_something_to_gain() -> None:
    world = recommender()
    best = world.optimum
    assert ((best.state > 0.05) & (best.state < 0.95)).all()  # a compromise, no corner
    assert world.loss(np.array(START)) > 1.5 * best.value > 0
