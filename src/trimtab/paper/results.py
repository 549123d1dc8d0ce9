"""Every number of a reproduction as plain data, the same bytes for the same seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trimtab import __version__
from trimtab.paper.experiment import Comparison, Table
from trimtab.paper.verdict import RULE, Judged, Verdict

DIGITS = 6  # significant, in the file


def to_json(results: Sequence[Judged], *, seed: int) -> str:
    """The file `results.json`: settings, comparisons, tables and remarks of every experiment.

    Nothing in it depends on the machine, the time or the number of workers.
    """
    plain = {
        "trimtab": __version__,
        "seed": seed,
        "rule": RULE,
        "experiments": {result.name: _plain(result) for result in results},
    }
    return json.dumps(_rounded(plain), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _plain(result: Judged) -> dict[str, Any]:
    return {
        "title": result.title,
        "question": result.question,
        "settings": {
            setting.name: {"stated": setting.stated, "facts": dict(setting.facts)}
            for setting in result.settings
        },
        "comparisons": {
            each.published.name: _compared(each, result.verdicts[each.published.name])
            for each in result.comparisons
        },
        "all_printed_numbers_hold_in": result.together,
        "tables": {table.name: _tabulated(table) for table in result.tables},
        "figures": {
            figure.name: {"title": figure.title, "where": figure.where, "alt": figure.alt}
            for figure in result.figures
        },
        "remarks": list(result.remarks),
    }


def _compared(comparison: Comparison, verdict: Verdict) -> dict[str, Any]:
    published = comparison.published
    return {
        "quantity": published.quantity,
        "where": published.where,
        "published": {
            "value": published.value,
            "printed": published.printed,
            "rounding": published.rounding,
            "runs": published.runs,
            "group": published.group,
            "claim": published.claim,
        },
        "measured": {
            each.setting: {
                "mean": each.mean,
                "sd": each.sd,
                "low": each.low,
                "high": each.high,
                "runs": each.runs,
                "values": list(measured.values),
            }
            for each, measured in zip(verdict.intervals, comparison.measured, strict=True)
        },
        "holds_in": [each.setting for each in verdict.intervals if each.holds],
        "verdict": verdict.kind,
        "why": verdict.why,
    }


def _tabulated(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "where": table.where,
        "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
    }


def _rounded(value: Any) -> Any:
    """The same, with rounded floats: further digits depend on the mathematics library."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value
