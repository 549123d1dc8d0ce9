"""Random numbers for starting points, a pure function of where they are used.

Solves happen often and locally: a knob's start must not depend on which other knobs
are free, nor cost a generator. So each number is a hash of (seed, start, knob), by
the finaliser of SplitMix64.
"""

from __future__ import annotations

import numpy as np

from trimtab.compiled import bare, inner


@bare
def mix(x: np.uint64) -> np.uint64:
    """The next number of SplitMix64 after x."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def uniform(seed: int, start: int, knob: int) -> float:
    """A number in [0, 1) that looks random for every (seed, start, knob)."""
    z = mix(mix(mix(np.uint64(seed)) + np.uint64(start)) + np.uint64(knob))
    return float(z >> np.uint64(11)) * 2.0**-53
