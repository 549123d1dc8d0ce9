"""Random Fourier features: Example 2 of the paper, for smooth losses of any shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab import _core
from trimtab.arrays import Array, Ints, number, read_only, whole
from trimtab.errors import InvalidInput
from trimtab.model.bases.features import offsets_of
from trimtab.model.bases.registry import register
from trimtab.model.domain import BoundBalls, BoundDomain
from trimtab.model.graph import Graph


@dataclass(frozen=True)
class RandomWaves:
    """Waves of random frequencies, normal with standard deviation 1/lengthscale."""

    dim: int
    lengthscale: float = 0.5
    seed: int = 0
    normalize: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", whole(self.dim, "dim", low=1))
        object.__setattr__(self, "seed", whole(self.seed, "seed", low=0))
        number(self.lengthscale, "lengthscale", low=0.0, strict=True)

    def frequencies(self, knobs: int) -> Array:
        """W of a group of knobs, a cosine and a sine of each frequency: (dim, knobs)."""
        rng = np.random.default_rng((self.seed, knobs))
        half = rng.normal(scale=1.0 / self.lengthscale, size=((self.dim + 1) // 2, knobs))
        return np.asarray(np.repeat(half, 2, axis=0)[: self.dim])

    @property
    def phases(self) -> Array:
        """b of every wave: (dim,)."""
        return np.tile([0.0, -np.pi / 2], (self.dim + 1) // 2)[: self.dim]

    def refuse_balls(self, domain: BoundDomain) -> None:
        """Raise InvalidInput if the domain is made of balls."""
        if isinstance(domain, BoundBalls):
            raise InvalidInput(f"{type(self).__name__} on Balls; balls take a Linear basis only")


@register
@dataclass(frozen=True)
class FourierFeatures(RandomWaves):
    r"""Features of a Gaussian kernel on the scope: phi(x) = sqrt(2/dim) cos(W x + b).

    The rows of W are normal with standard deviation 1/lengthscale and come in
    pairs with phases 0 and -pi/2, a cosine and a sine of the same frequency: the
    kernel is met more closely than with random phases, and for an even `dim` the
    features have length exactly 1 everywhere. Scopes of one size share their W.

    >>> FourierFeatures(50, lengthscale=0.3, seed=1)
    FourierFeatures(dim=50, lengthscale=0.3, seed=1, normalize=True)
    """

    def bind(self, graph: Graph, domain: BoundDomain) -> Fourier:
        """The feature maps of every criterion of the graph on the domain."""
        self.refuse_balls(domain)
        sizes = np.diff(graph.scope_offsets)
        pairs = (self.dim + 1) // 2
        blocks: list[Array] = []
        starts = np.zeros(int(sizes.max()) + 1, np.int64)
        for n in np.unique(sizes):
            starts[n] = sum(block.size for block in blocks)
            blocks.append(self.frequencies(int(n)).ravel())
        longest = np.sqrt(2.0 / self.dim * pairs)
        amplitude = np.sqrt(2.0 / self.dim) / (longest if self.normalize else 1.0)
        return Fourier(
            FourierArrays(
                offsets=read_only(offsets_of(np.full(graph.criteria, self.dim))),
                scope_offsets=graph.scope_offsets,
                scope_knobs=graph.scope_knobs,
                w_start=starts[sizes],
                W=np.concatenate(blocks),
                b=self.phases,
                amplitude=float(amplitude),
            ),
            read_only(np.full(graph.criteria, 1.0 if self.normalize else longest)),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierArrays:
    """Feature f of criterion i is amplitude * cos(W_i[f] . s|scope(i) + b[f])."""

    offsets: Ints  # (m + 1,)
    scope_offsets: Ints  # (m + 1,)
    scope_knobs: Ints
    w_start: Ints  # (m,) where criterion i's rows begin in W
    W: Array
    b: Array  # (dim,)
    amplitude: float


class Fourier:
    """The Fourier feature maps of all criteria."""

    def __init__(self, arrays: FourierArrays, bounds: Array) -> None:
        self.arrays = arrays
        self.fill = _core.Features(arrays).fill
        self.offsets = arrays.offsets
        self.bounds = bounds
        self.shortest_wave = 2.0 * np.pi / float(np.abs(arrays.W).max())  # along a knob

    def jacobian(self, criterion: int, state: Array) -> Array:
        """The derivatives of phi_i by the knobs of its scope: (d_i, size of the scope)."""
        maps, i = self.arrays, criterion
        scope = maps.scope_knobs[maps.scope_offsets[i] : maps.scope_offsets[i + 1]]
        size = maps.b.size * scope.size
        W = maps.W[maps.w_start[i] : maps.w_start[i] + size].reshape(maps.b.size, scope.size)
        slope = -maps.amplitude * np.sin(W @ state[scope] + maps.b)
        return np.asarray(slope[:, None] * W)

    def owned(self, criterion: int, knob: int) -> Ints:
        """Every feature, for a knob of the scope: each one mixes all of them."""
        maps, i = self.arrays, criterion
        scope = maps.scope_knobs[maps.scope_offsets[i] : maps.scope_offsets[i + 1]]
        return np.arange(maps.b.size if knob in scope else 0)
