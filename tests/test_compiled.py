"""Structures in kernels, and how kernels are put together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core.types.functions import BaseFunction

import trimtab as tt
from trimtab.arrays import Array, Ints, read_only
from trimtab.bases.monomial import fill
from trimtab.compiled import Structure, bare, inner, kernel, library
from trimtab.compiled.structure import StructureType
from trimtab.errors import InvalidInput


@dataclass(frozen=True, kw_only=True, eq=False)
class Inside(Structure):
    u: Array
    n: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Outside(Structure):
    x: float
    table: Array  # two axes
    inside: Inside
    small: np.ndarray[tuple[int], np.dtype[np.int32]]
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]]
    empty: Ints


@bare
def total(outside: Outside) -> float:
    """Everything there is, with shapes."""
    inside = outside.inside
    found = outside.x
    for r in range(outside.table.shape[0]):
        for c in range(outside.table.shape[1]):
            found += outside.table[r, c]
    for e in range(inside.n):
        found += inside.u[e]
    for e in range(outside.small.size):
        found += outside.small[e] + 10 * outside.flags[e]
    return float(found + 1000 * outside.empty.size)


@bare
def write(outside: Outside) -> None:
    """To every array, whatever its kind."""
    outside.table[1, 2] = 7.0
    outside.inside.u[0] = 8.0
    outside.small[1] = -9
    outside.flags[0] = False


def sample() -> Outside:
    return Outside(
        x=0.5,
        table=np.arange(6.0).reshape(2, 3),
        inside=Inside(u=np.array([0.25, 4.0, 100.0]), n=2),
        small=np.array([3, 5], np.int32),
        flags=np.array([True, False]),
        empty=np.empty(0, np.int64),
    )


def test_a_kernel_reads_and_writes_what_a_structure_points_at() -> None:
    outside = sample()
    assert total(outside) == 0.5 + 15.0 + 4.25 + 8.0 + 10.0
    write(outside)
    assert outside.table.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 7.0]]
    assert outside.inside.u.tolist() == [8.0, 4.0, 100.0]
    assert outside.small.tolist() == [3, -9]
    assert outside.flags.tolist() == [False, False]


def test_one_compilation_serves_all_structures_of_a_kind_read_only_or_not() -> None:
    total(sample())
    before = len(total.signatures)  # type: ignore[attr-defined]
    other = sample()
    other.table.setflags(write=False)
    assert total(other) == total(sample())
    assert len(total.signatures) == before  # type: ignore[attr-defined]


def test_types_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba takes longer over a type than a small kernel runs."""
    sample()
    made = []
    monkeypatch.setattr(StructureType, "__init__", lambda *given: made.append(given))
    sample()
    assert made == []


def test_what_kernels_cannot_take_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"Inside.u is not contiguous"):
        Inside(u=np.arange(6.0)[::2], n=3)
    with pytest.raises(InvalidInput, match=r"Inside.n is a str; structures hold"):
        Inside(u=np.zeros(1), n="3")  # type: ignore[arg-type]


@inner
def _third(x: float) -> float:
    return x / 3.0


@bare
def sixth(x: float) -> float:
    """Called by Python and by kernels."""
    return _third(x) / 2.0


@bare
def ninth(x: float) -> float:
    """Called by Python; two levels of parts below."""
    return sixth(x) * 2.0 / 3.0


def test_a_kernel_takes_in_its_parts_and_theirs() -> None:
    assert ninth(9.0) == 1.0
    assert not sixth.overloads  # type: ignore[attr-defined]  # no machine code of its own yet
    assert sixth(9.0) == 1.5


def test_a_call_of_an_inner_kernel_from_python_is_an_error() -> None:
    ninth(9.0)
    with pytest.raises(TypeError, match="takes_nothing"):
        _third(9.0)
    with pytest.raises(TypeError):
        _third(9)  # of a type that no kernel has used


# What is cached


def thrice(x: float) -> float:
    return 3.0 * x


def hits_of_a_new_process() -> int:
    """How often a kernel made now is found on disk."""
    made = kernel.Kernel(thrice, kernel.BARE)
    assert made(2.0) == 6.0
    return sum(made.stats.cache_hits.values())


def test_a_cached_kernel_is_out_of_date_when_any_source_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It contains kernels of other files, which numba does not look at."""
    hits_of_a_new_process()
    assert hits_of_a_new_process() == 1
    monkeypatch.setattr(kernel, "sources", lambda: b"others")
    assert hits_of_a_new_process() == 0
    assert hits_of_a_new_process() == 1


def test_all_sources_that_kernels_may_use_count(tmp_path: Path) -> None:
    def digest(folder: str, text: str) -> bytes:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "some.py").write_text(text)
        kernel.sources.cache_clear()
        return kernel.sources(tmp_path)

    try:
        assert digest("solvers", "A = 1") != digest("solvers", "A = 2")
        assert digest("cli", "A = 1") == digest("cli", "A = 2")
    finally:
        kernel.sources.cache_clear()


def test_the_layers_on_top_have_no_kernels() -> None:
    for layer in kernel.NO_KERNELS:
        for path in (kernel.PACKAGE / layer).rglob("*.py"):
            assert "trimtab.compiled" not in path.read_text(), path


# How kernels are compiled


def compiled_part(power: int) -> Any:
    """A part that is compiled now, from a source of its own."""

    def part(x: float) -> float:
        return x * x + power

    kernel: Any = inner(part)
    kernel.compile((types.float64,))
    return kernel.overloads[(types.float64,)]


def test_bare_kernels_take_the_few_steps_they_need() -> None:
    steps = compiled_part(1).metadata["pipeline_times"]["bare"]
    assert len(steps) == len(library.STEPS)


def test_operators_are_looked_for_once_and_only_while_our_own_kernels_compile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find, looked = library._find_call, []

    def counted(function: Any, *args: Any) -> Any:
        looked.append(function)
        return find(function, *args)

    monkeypatch.setattr(library, "_find_call", counted)
    monkeypatch.setattr(library, "_calls", {})
    compiled_part(2)
    assert looked
    looked.clear()
    compiled_part(2)
    assert not looked
    assert BaseFunction.get_call_type is not library._known_call


def test_features_are_one_kernel_read_only_or_not() -> None:
    problem = tt.Problem(tt.Graph.complete(2))
    phi = np.empty(problem.features.offsets[-1])
    state, criteria = np.full(2, 0.5), np.arange(2)
    problem.features.fill(phi, state, criteria)
    known = len(fill.signatures)  # type: ignore[attr-defined]
    problem.features.fill(phi, read_only(state), read_only(criteria))
    assert len(fill.signatures) == known  # type: ignore[attr-defined]
    assert phi[1] > 0.0
