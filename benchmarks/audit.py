"""Every choice of Algorithm 1 and Async on fresh problems, against an independent search.

    python -m benchmarks.audit

The problems and the search are those of tests/solve/test_audit.py, NumPy alone, with other seeds,
scopes of up to 6 knobs, and every choice of 60 rounds instead of every third of 40. An excess is
what the bound of a choice is above the least one that the audit found, in widths.
"""

from __future__ import annotations

from collections import defaultdict

from tests.solve.test_audit import choices

SEEDS = range(5000, 5040)
LIMIT = 1e-3


def main() -> None:
    """Print the worst choices by the number of free knobs."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for seed in SEEDS:
        name = ("Algorithm 1", "Async")[seed // 2 % 2]
        for choice in choices(seed, widest=6, every=1, rounds=60):
            found[name, choice.free].append(choice.excess)
    print("| policy | free knobs | choices | worst excess, W | above 1e-3 |\n|---|--:|--:|--:|--:|")
    for (name, free), excess in sorted(found.items()):
        bad = sum(each > LIMIT for each in excess)
        print(f"| {name} | {free} | {len(excess)} | {max(excess):.1e} | {bad} |")


if __name__ == "__main__":
    main()
