// Lower bounds of one criterion's term on boxes, by values at corners alone.
//
// With u = R^{-1} phi the term is h(phi) = v'u - beta |u|, concave in phi. At a corner, for a
// drift e of the features with rho = R^{-1} e, |rho| <= P and K = sqrt(|u|^2 + P^2), concavity of
// the root gives |u + rho| <= K + u'rho / K, hence
//
//     floor >= v'u - beta K + min over e of (v - beta u / K)' R^{-1} e.
//
// P^2 is the lesser of q'|V^{-1}|q, q = max |e| (only the positive entries of V^{-1} where all
// drifts have one sign), and |q|^2 times the largest eigenvalue of V^{-1}.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "views.hpp"

namespace trimtab {

// The regression of one criterion, as matrices in C order.
struct BoxBound {
    static constexpr double ROUNDING = 1e-12;  // of the summands: what a floor is lowered by

    Index d;
    const double* inverse;    // (d, d) R^{-1}
    const double* v;          // (d,)
    const double* V_inverse;  // (d, d)
    double longest;           // the largest eigenvalue of V^{-1}
    double beta;

    struct Bounds {
        double term, floor;
    };

    // The term, and its floor under drifts in [lo, hi], lo <= 0 <= hi.
    Bounds at(const double* phi, const double* lo, const double* hi, std::vector<double>& room) {
        room.resize(static_cast<std::size_t>(3 * d));
        double *u = room.data(), *q = u + d, *pull = q + d;
        double mean = 0.0, size = 0.0, square = 0.0, far = 0.0;
        bool falls = true;
        for (Index f = 0; f < d; ++f) {
            u[f] = 0.0;
            for (Index g = 0; g <= f; ++g) u[f] += inverse[f * d + g] * phi[g];
            mean += u[f] * v[f];
            size += std::abs(u[f] * v[f]);
            square += u[f] * u[f];
            q[f] = std::max(-lo[f], hi[f]);
            far += q[f] * q[f];
            falls = falls && hi[f] <= 0.0;
        }
        const double K = std::sqrt(square + std::min(reach(q, falls), longest * far));
        for (Index f = 0; f < d; ++f) pull[f] = K > 0.0 ? v[f] - beta * u[f] / K : v[f];
        const double lost = least_pull(pull, q, lo, hi);
        return {mean - beta * std::sqrt(square),
                mean - beta * K + lost - ROUNDING * (size + beta * K - lost)};
    }

private:
    double reach(const double* q, bool falls) const {
        double sum = 0.0;
        for (Index f = 0; f < d; ++f) {
            if (!(q[f] > 0.0)) continue;
            for (Index g = 0; g < d; ++g) {
                const double entry = V_inverse[f * d + g];
                sum += q[f] * q[g] * (falls ? std::max(entry, 0.0) : std::abs(entry));
            }
        }
        return sum;
    }

    double least_pull(const double* pull, const double* q, const double* lo,
                      const double* hi) const {
        double lost = 0.0;
        for (Index f = 0; f < d; ++f) {
            if (!(q[f] > 0.0)) continue;
            double ell = 0.0;
            for (Index g = f; g < d; ++g) ell += inverse[g * d + f] * pull[g];
            lost += std::min(ell * lo[f], ell * hi[f]);
        }
        return lost;
    }
};

// lead[a, b] += min over r of (rows[a, r] - rows[b, r]): Goldstein's criterion for elimination.
inline void add_least_lead(const double* rows, Index count, Index width, double* lead) {
    for (Index a = 0; a < count; ++a)
        for (Index b = 0; b < count; ++b) {
            double least = std::numeric_limits<double>::infinity();
            for (Index r = 0; r < width; ++r)
                least = std::min(least, rows[a * width + r] - rows[b * width + r]);
            lead[a * count + b] += least;
        }
}

}  // namespace trimtab
