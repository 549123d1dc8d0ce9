"""The rule by which a published number is judged."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from scipy.stats import t

from trimtab.errors import InvalidInput
from trimtab.paper.experiment import Comparison, Measured, Published, Setting, ratios, values
from trimtab.paper.verdict import interval, together, verdicts

STATED = Setting(name="square", stated=True, facts={})
OTHER = Setting(name="circle", stated=False, facts={})
AROUND_5, AROUND_9 = (4.0, 5.0, 6.0, 5.0), (8.0, 9.0, 10.0, 9.0)


def published(value: float, name: str = "x", **more: object) -> Published:
    fields = {"quantity": name, "where": "", "printed": "", "rounding": 0.0, "runs": 10}
    return Published(name=name, value=value, **{**fields, **more})  # type: ignore[arg-type]


def compared(number: Published, square: tuple[float, ...], circle: tuple[float, ...]) -> Comparison:
    return Comparison(
        published=number,
        measured=(
            Measured(setting="square", values=square),
            Measured(setting="circle", values=circle),
        ),
    )


def test_the_interval_by_hand() -> None:
    found = interval(published(0.0, runs=7), Measured(setting="square", values=AROUND_5))
    sd = np.std(AROUND_5, ddof=1)
    reach = t.ppf(0.975, 3) * sd * np.sqrt(1 / 4 + 1 / 7)
    assert (found.mean, found.runs) == (5.0, 4)
    np.testing.assert_allclose([found.sd, found.low, found.high], [sd, 5.0 - reach, 5.0 + reach])


def test_the_interval_covers_the_mean_of_new_runs() -> None:
    """20,000 draws at a level of 0.95: a share beyond 0.945 to 0.955 has probability 1e-3."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(3.0, 2.0, (20_000, 5)), rng.normal(3.0, 2.0, (20_000, 8)).mean(axis=1)
    reach = t.ppf(0.975, 4) * ours.std(axis=1, ddof=1) * np.sqrt(1 / 5 + 1 / 8)
    inside = (np.abs(ours.mean(axis=1) - theirs) <= reach).mean()
    assert 0.945 < inside < 0.955
    for draw, mean in zip(ours[:200], theirs[:200], strict=True):
        found = interval(published(mean, runs=8), Measured(setting="", values=values(draw)))
        assert found.holds == (abs(draw.mean() - mean) <= (found.high - found.low) / 2)


def test_rounding_widens_what_was_printed_and_nothing_else() -> None:
    measured = Measured(setting="square", values=(5.0, 5.0))
    assert interval(published(5.4, rounding=0.5), measured).holds
    assert interval(published(5.5, rounding=0.5), measured).holds
    assert not interval(published(5.6, rounding=0.5), measured).holds
    assert not interval(published(5.4), measured).holds


def test_one_run_has_no_interval() -> None:
    with pytest.raises(InvalidInput, match="x in 'square' has 1 runs; an interval needs two"):
        interval(published(1.0), Measured(setting="square", values=(1.0,)))


@pytest.mark.parametrize(
    ("value", "kind", "setting"),
    [
        (5.1, "reproduces", "square"),
        (9.1, "under other settings", "circle"),
        (11.5, "does not", "circle"),
        (2.0, "does not", "square"),
    ],
)
def test_three_verdicts(value: float, kind: str, setting: str) -> None:
    comparison = compared(published(value), AROUND_5, AROUND_9)
    verdict = verdicts([comparison], [STATED, OTHER])["x"]
    assert (verdict.kind, verdict.decisive.setting) == (kind, setting)
    assert [each.setting for each in verdict.intervals] == ["square", "circle"]
    assert str(verdict.decisive) in verdict.why or kind != "does not"


def test_a_group_holds_only_together() -> None:
    """The first alone holds where the paper says, its partner only elsewhere."""
    first = compared(published(5.0, "first", group="pair"), AROUND_5, AROUND_5)
    second = compared(published(9.0, "second", group="pair"), AROUND_5, AROUND_9)
    found = verdicts([first, second], [STATED, OTHER])
    assert {each.kind for each in found.values()} == {"under other settings"}
    assert "inside by itself in square" in found["first"].why
    assert found["second"].why.startswith("Where settings agree with the text, above 5.00 [")
    apart = [
        dataclasses.replace(each, published=dataclasses.replace(each.published, group=""))
        for each in (first, second)
    ]
    assert verdicts(apart, [STATED, OTHER])["first"].kind == "reproduces"
    assert together(apart, [STATED, OTHER]) == ["circle"]
    nowhere = compared(published(9.0, "second", group="pair"), AROUND_5, AROUND_5)
    alone = verdicts([first, nowhere], [STATED, OTHER])["first"]
    assert alone.kind == "does not"
    assert alone.why.startswith("Inside by itself in square; circle, but in none of 2 settings")


def test_intervals_of_a_group_cover_together() -> None:
    numbers = [compared(published(5.0, f"n{k}", group="g"), AROUND_5, AROUND_9) for k in range(5)]
    found = verdicts(numbers, [STATED, OTHER])["n0"].intervals[0]
    reach = t.ppf(1 - 0.025 / 5, 3) * np.std(AROUND_5, ddof=1) * np.sqrt(1 / 4 + 1 / 10)
    np.testing.assert_allclose(found.high, 5.0 + reach)


def test_claims_in_words_are_not_asked_to_hold_with_the_numbers() -> None:
    number = compared(published(5.0, "number"), AROUND_5, AROUND_9)
    claim = compared(published(1.0, "claim", claim=True), AROUND_5, AROUND_9)
    assert together([number, claim], [STATED, OTHER]) == ["square"]
    assert together([claim], [STATED, OTHER]) == []


def test_reasons_do_not_repeat_the_published_number() -> None:
    for value in (5.123, 9.123, 12.123):
        comparison = compared(published(value), AROUND_5, AROUND_9)
        why = verdicts([comparison], [STATED, OTHER])["x"].why
        assert re.findall(r"\d*\.?123|12\.1", why) == []


def test_ratios_spread_as_the_ratio_of_means_does() -> None:
    """Against 4,000 samples; their standard deviation is known to 1.1 %, so 6 % is 5 sigma."""
    rng = np.random.default_rng(1)
    below = rng.normal(4.0, 0.5, (4000, 50))
    above = 3.0 * below + rng.normal(0.0, 1.0, below.shape)
    direct = above.mean(axis=1) / below.mean(axis=1)
    for row in (0, 1):
        found = ratios(above[row], below[row])
        assert np.mean(found) == pytest.approx(direct[row], rel=1e-12)
    spreads = [
        np.std(ratios(a, b), ddof=1) / np.sqrt(50) for a, b in zip(above, below, strict=True)
    ]
    assert np.mean(spreads) == pytest.approx(direct.std(ddof=1), rel=0.06)


def test_every_section_begins_with_its_conclusion() -> None:
    from tests.paper.small_reproduction import small_results
    from trimtab.paper.figures import svg
    from trimtab.paper.report import to_html

    for result in small_results():
        kinds = [verdict.kind for verdict in result.verdicts.values()]
        assert result.conclusion.startswith(
            f"Of {len(kinds)} published numbers {kinds.count('reproduces')} reproduce, "
        )
        drawn = {figure.name: svg(figure.draw(2)) for figure in result.figures}
        text = to_html([result], seed=0, drawn=drawn)
        assert f"<p><strong>{result.conclusion}</strong></p>" in text
