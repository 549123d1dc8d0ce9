// Normal and gamma numbers from a NumPy bit generator, by methods that are exact.
#pragma once

#include <cmath>
#include <cstdint>

#include "views.hpp"

namespace trimtab {

// What the capsule of a NumPy BitGenerator points at (numpy/random/bitgen.h).
struct BitGenerator {
    void* state;
    std::uint64_t (*next_uint64)(void*);
    std::uint32_t (*next_uint32)(void*);
    double (*next_double)(void*);  // in [0, 1)
    std::uint64_t (*next_raw)(void*);
};

class Draws {
public:
    explicit Draws(BitGenerator* bits) : bits_(bits) {}

    double uniform() { return bits_->next_double(bits_->state); }

    // Marsaglia's polar method; the second number of a pair is left, so that nothing is kept.
    double normal() {
        while (true) {
            const double x = 2.0 * uniform() - 1.0, y = 2.0 * uniform() - 1.0;
            const double r = x * x + y * y;
            if (0.0 < r && r < 1.0) return x * std::sqrt(-2.0 * std::log(r) / r);
        }
    }

    // Marsaglia and Tsang's method, for any shape >= 0.
    double gamma(double shape) {
        if (shape == 0.0) return 0.0;
        if (shape < 1.0) {
            const double below = std::pow(1.0 - uniform(), 1.0 / shape);
            return below * gamma(shape + 1.0);
        }
        const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
        while (true) {
            const double x = normal(), v = 1.0 + c * x;
            if (v <= 0.0) continue;
            const double cube = v * v * v;
            if (std::log(1.0 - uniform()) < 0.5 * x * x + d - d * cube + d * std::log(cube))
                return d * cube;
        }
    }

    // The mean of n normal numbers with deviation sigma.
    double mean_of(Index n, double sigma) {
        return normal() * sigma / std::sqrt(static_cast<double>(n));
    }

    // And their squares about it, which are independent of the mean by Cochran's theorem.
    double squares_of(Index n, double sigma) {
        return gamma(0.5 * static_cast<double>(n) - 0.5) * 2.0 * sigma * sigma;
    }

private:
    BitGenerator* bits_;
};

}  // namespace trimtab
