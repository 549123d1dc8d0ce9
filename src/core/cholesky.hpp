// The augmented Cholesky factor: one triangle per criterion that holds its whole regression.
//
// For a criterion with d features let A be the (d + 1) x (d + 1) matrix
//
//     A = [ V   b ]      V = V0 + sum_t n_t phi_t phi_t',   b = sum_t n_t phi_t y_t,
//         [ b'  c ]      c = sum_t n_t y_t^2.
//
// Its lower factor, A = R R', is stored row after row in (d + 1)(d + 2)/2 numbers. The first d
// rows are the factor of V; the last row is (v', rho) with v = R^{-1} b, so that
// theta = R^{-T} v, and rho^2 is the least value of the ridge objective. V is never formed,
// inverted or factorised anew.
#pragma once

#include <cmath>

#include "views.hpp"

namespace trimtab {

inline Index triangle_size(Index n) { return n * (n + 1) / 2; }

// The vectors of one sweep of rotations.
struct Sweep {
    explicit Sweep(Index n) : x(n), cos(n), sin(n) {}

    Room<double> x, cos, sin;
};

// R R' + x x' takes the place of R R', by one sweep of plane rotations; R has n rows.
inline void add_datum(double* R, Index n, Sweep& sweep) {
    for (Index i = 0; i < n; ++i) {
        double x = sweep.x[i];
        for (Index j = 0; j < i; ++j, ++R) {
            const double r = *R;
            *R = sweep.cos[j] * r + sweep.sin[j] * x;
            x = sweep.cos[j] * x - sweep.sin[j] * r;
        }
        const double r = *R;
        const double h = std::sqrt(r * r + x * x);
        sweep.cos[i] = h > 0.0 ? r / h : 1.0;
        sweep.sin[i] = h > 0.0 ? x / h : 0.0;
        *R++ = h;
    }
}

// The next sweep adds the loss y at features x with this weight.
inline void set_datum(const double* x, double y, double weight, Index d, Sweep& sweep) {
    const double root = std::sqrt(weight);
    for (Index f = 0; f < d; ++f) sweep.x[f] = root * x[f];
    sweep.x[d] = root * y;
}

struct MeanAndSpread {
    double mean;    // phi' theta
    double spread;  // phi' V^{-1} phi
};

// One triangular solve gives both: u = R^{-1} phi, then u.v and u.u.
inline MeanAndSpread mean_and_spread(const double* R, const double* phi, Index d, double* u) {
    for (Index i = 0; i < d; ++i) {
        double x = phi[i];
        for (Index j = 0; j < i; ++j) x -= *R++ * u[j];
        u[i] = x / *R++;
    }
    MeanAndSpread found{0.0, 0.0};
    for (Index i = 0; i < d; ++i) {
        found.mean += u[i] * R[i];
        found.spread += u[i] * u[i];
    }
    return found;
}

// R^{-1} of the first d rows, column after column, the zeros above the diagonal left out.
inline void invert(const double* R, Index d, double* U) {
    for (Index c = 0; c < d; ++c) {
        for (Index r = c; r < d; ++r) {
            const double* row = R + triangle_size(r);
            double x = r == c ? 1.0 : 0.0;
            for (Index j = c; j < r; ++j) x -= row[j] * U[j - c];
            U[r - c] = x / row[r];
        }
        U += d - c;
    }
}

}  // namespace trimtab
