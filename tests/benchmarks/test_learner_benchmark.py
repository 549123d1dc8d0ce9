"""The measurement of the recommended policy: it runs, and its marks can be missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.learner import __main__ as command
from benchmarks.learner import marks
from benchmarks.learner.marks import RISE, SECTIONS, SHORT, Mark, Size, table
from benchmarks.learner.runs import CHANGES, EARLY, Job, Run, ends, place_of, play, rises

FINE = Run(total=10.0, second_half=5.0, start=1.0, rises=(-0.5, -0.1), ends=(), alarms=())
TWO = Size(seeds=2)


def of(*, usual: Run = FINE, **changed: Run) -> marks.Play:
    """Runs as if played: `usual` ones, others where a job has what the name says."""

    def played(jobs: Sequence[Job]) -> list[Run]:
        return [changed.get(kind(job), usual) for job in jobs]

    def kind(job: Job) -> str:
        if job.delay:
            return "delayed"
        if not job.alarm:
            return "deaf"
        return "disturbed" if job.noise in ("spikes", "heavy tails") else ""

    return played


def test_short_form_measures_every_section(capsys: pytest.CaptureFixture[str]) -> None:
    status = command.main(["--short"])
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == sum(
        (
            2 * len(marks.REAL),
            2 * len(marks.FITTING),
            len(marks.SPIKY) + len(marks.SHAPES) * len(SHORT.misfit),
            len(CHANGES) * len(SHORT.changing),
            len(marks.DELAYED),
        )
    )
    assert status == int("miss" in printed)
    assert all("; 1 seed;" in line for line in lines)


def test_unknown_section_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["mooves"])
    assert "unknown section 'mooves'; choose from moves" in capsys.readouterr().err


def verdicts(name: str, play: marks.Play) -> set[bool]:
    return {mark.met for mark in SECTIONS[name](play, TWO)}


def test_every_section_passes_and_fails() -> None:
    dear, cheap = (replace(FINE, total=x, second_half=x) for x in (30.0, 2.0))
    rung = replace(FINE, alarms=(400,))
    assert verdicts("moves", of()) == {True}
    assert verdicts("moves", of(usual=replace(FINE, rises=(2 * RISE, -1.0), ends=(3,)))) == {False}
    assert verdicts("outliers", of(disturbed=cheap)) == {True}
    assert verdicts("outliers", of(disturbed=dear)) == {False}
    assert verdicts("false-alarms", of()) == {True}
    assert verdicts("false-alarms", of(usual=rung, disturbed=rung)) == {False}
    assert verdicts("changes", of(deaf=dear)) == {True}
    assert verdicts("changes", of(deaf=FINE)) == {False}
    assert verdicts("delays", of(delayed=replace(FINE, total=31.0))) == {True}  # 20 at the start
    assert verdicts("delays", of(delayed=replace(FINE, total=32.0))) == {False}


def test_alarms_count_up_to_the_round_asked_for() -> None:
    found = SECTIONS["false-alarms"](
        of(usual=replace(FINE, alarms=(1_500,))), Size(seeds=2, misfit=(1_000, 2_000))
    )
    assert [mark.figure for mark in found if "saturation" in mark.conditions] == [0, 2]


def test_a_missed_mark_is_bold_and_an_unknown_figure_is_missed() -> None:
    good, bad = (Mark("cost", "here", x, 1.0, f"{x:g}") for x in (0.5, 2.0))
    assert "| 0.5 | 1 | pass |" in table([good])
    assert "| **2** | 1 | **miss** |" in table([bad])
    assert not replace(good, figure=np.nan).met


def test_rises_and_ends_of_a_path() -> None:
    place = place_of(Job("recommender", 1, 30))
    best = place.world.at(1)[0].optimum.state
    assert best[2] < 0.9
    wrong = place.start.copy()
    wrong[2] = 1.0
    path = [place.start, place.start, best, place.start, wrong]
    up = rises(place, path)
    assert up[:2] == pytest.approx((-1.0, 1.0))  # a hold is no move
    assert len(up) == 3
    assert ends(place, path) == (2,)
    assert ends(place, [place.start] * (EARLY + 1) + [wrong]) == ()  # not early
    there = place.start.copy()
    there[best == 0.0] = 0.0
    assert ends(place, [place.start, there]) == ()  # the best state is there


def test_the_alarm_is_heard_only_by_who_watches() -> None:
    (world, *_) = CHANGES
    jobs = [Job(world, seed, 400, alarm=alarm) for seed in (1, 2) for alarm in (True, False)]
    heard, deaf, *_ = runs = [play(job) for job in jobs]
    assert any(run.alarms for run in runs[::2])
    assert not any(run.alarms for run in runs[1::2])
    assert heard.start == deaf.start


def test_noise_of_a_job_replaces_that_of_the_world() -> None:
    for world in ("recommender", "saturation"):
        clean, spiky = (place_of(Job(world, 1, 30, noise=noise)) for noise in ("none", "spikes"))
        one, other = (
            np.array(
                [
                    place.world.at(t)[0].draw(place.start, np.random.default_rng(t), t)
                    for t in range(1, 100)
                ]
            )
            for place in (clean, spiky)
        )
        off = np.abs(one - other)
        assert 0.0 < (off > 0.5).mean() < 0.05  # paired but for the spikes
        assert (off[off <= 0.5] < 1e-12).all()
    with pytest.raises(TypeError, match="noise of its own"):
        place_of(Job("cache-service, recorded", 1, 30, noise="spikes"))
