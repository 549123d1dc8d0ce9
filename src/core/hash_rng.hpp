// Random numbers for starting points, a pure function of where they are used.
//
// Solves happen often and locally: a knob's start must not depend on which other knobs are free,
// nor cost a generator. So each number is a hash of (seed, start, knob), by SplitMix64's finaliser.
#pragma once

#include <cstdint>

#include "views.hpp"

namespace trimtab {

inline std::uint64_t mix(std::uint64_t x) {
    std::uint64_t z = x + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A number in [0, 1) that looks random for every (seed, start, knob).
inline double uniform(Index seed, Index start, Index knob) {
    const auto z =
        mix(mix(mix(static_cast<std::uint64_t>(seed)) + static_cast<std::uint64_t>(start)) +
            static_cast<std::uint64_t>(knob));
    return static_cast<double>(z >> 11) * 0x1p-53;
}

}  // namespace trimtab
