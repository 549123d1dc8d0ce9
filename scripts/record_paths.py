"""Records the paths of policies that are given reg, radius and factor, for tests to compare with.

    python scripts/record_paths.py

The file in the repository was recorded with the sources of commit cc43254, before every policy
learned with a prior: check that commit out elsewhere, copy `tests/policies/paper_paths.py` and
this script there, and run it in an environment of its own.
"""

from __future__ import annotations

import json

import trimtab
from tests.policies.paper_paths import CASES, RECORDED, RUNS


def main() -> None:
    """Play all cases and write what came of them."""
    found = {" / ".join(case): RUNS[case[0]](*case[1:]) for case in CASES}
    lines = [f"{json.dumps(name)}: {json.dumps(run)}" for name, run in found.items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(found)} runs of {trimtab.__file__} in {RECORDED}")  # noqa: T201


if __name__ == "__main__":
    main()
