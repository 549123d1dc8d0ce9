// Feature maps: monomials (Example 1 of the paper and the default) and Fourier (Example 2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "views.hpp"

namespace trimtab {

// x^n for a whole n >= 0.
inline double power(double x, int n) {
    double y = 1.0;
    for (int r = 0; r < n; ++r) y *= x;
    return y;
}

// Feature f of criterion i is scale[i] s[a[f]]^p[f] s[b[f]]^q[f].
struct Monomials {
    ConstIndices offsets;             // (m + 1,)
    std::span<const std::int32_t> a;  // (sum d,)
    std::span<const std::int32_t> b;  // (sum d,)
    std::span<const std::int8_t> p;   // (sum d,)
    std::span<const std::int8_t> q;   // (sum d,)
    ConstReals scale;                 // (m,)
    Index knobs;                      // no feature reads a knob beyond these

    Index criteria() const { return size_of(scale); }
    Index dim(Index i) const { return offsets[i + 1] - offsets[i]; }

    double feature(Index i, Index f, const double* s) const {
        double x = scale[i];
        for (int r = 0; r < p[f]; ++r) x *= s[a[f]];
        for (int r = 0; r < q[f]; ++r) x *= s[b[f]];
        return x;
    }

    // Whether every feature of these criteria is linear in these knobs, ascending, together.
    bool all_linear(ConstIndices which, ConstIndices free) const {
        const auto is_free = [&](Index j) {
            return std::binary_search(free.begin(), free.end(), j);
        };
        for (const Index i : which)
            for (Index f = offsets[i]; f < offsets[i + 1]; ++f)
                if (p[f] + q[f] > 1 && (is_free(a[f]) ? p[f] : 0) + (is_free(b[f]) ? q[f] : 0) > 1)
                    return false;
        return true;
    }

    // phi_i(s) into its slice of phi, for these criteria.
    void fill(Reals phi, const double* s, ConstIndices which) const {
        for (const Index i : which)
            for (Index f = offsets[i]; f < offsets[i + 1]; ++f) phi[f] = feature(i, f, s);
    }
};

// Feature f of criterion i is amplitude cos(W_i[f] . s|scope(i) + b[f]).
struct Fourier {
    ConstIndices offsets;        // (m + 1,)
    ConstIndices scope_offsets;  // (m + 1,)
    ConstIndices scope;
    ConstIndices w_start;  // (m,) where criterion i's rows begin in W
    ConstReals W;
    ConstReals b;  // (dim,)
    double amplitude;
    Index knobs;  // no feature reads a knob beyond these

    // phi_i(s) into its slice of phi, for these criteria.
    void fill(Reals phi, const double* s, ConstIndices which) const {
        for (const Index i : which) {
            Index w = w_start[i];
            for (Index f = 0; f < size_of(b); ++f) {
                double angle = b[f];
                for (Index n = scope_offsets[i]; n < scope_offsets[i + 1]; ++n)
                    angle += W[w++] * s[scope[n]];
                phi[offsets[i] + f] = amplitude * std::cos(angle);
            }
        }
    }
};

}  // namespace trimtab
