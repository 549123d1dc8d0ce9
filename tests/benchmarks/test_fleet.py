"""The short form of `benchmarks/fleet.py`: nothing lost, doubled or decided twice under fire."""

from __future__ import annotations

import pytest

from benchmarks.fleet import parsed, run


@pytest.mark.slow
@pytest.mark.needs("postgresql")
def test_nothing_is_lost_when_replicas_and_the_server_are_killed() -> None:
    short = "--tuners 6 --replicas 2 --clients 4 --seconds 10 --kill-every 6 --restart-every 4"
    figures = run(parsed([*short.split(), "--pgbench", "1", "--least", "20"]))
    assert figures["tells acknowledged"] >= 20  # it goes on until there are as many
    assert figures["replicas killed"] >= 1
    assert figures["server restarts"] >= 1
    wrong = ("tells lost", "tells doubled", "decisions lost", "rounds decided twice")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0)
