// The objective of every solve, the lower confidence bound of the total loss, Eq. (6), and the
// price of moving there:
//
//     G(s) = sum_i w_i (phi_i(s)' theta_i - beta_i |R_i^{-1} phi_i(s)|) + sum_j price_j |s_j -
//     now_j|.
//
// Along one knob x the features of a criterion are a polynomial in x, and so is
// u(x) = R^{-1} phi(x) = sum_r u_r x^r. Hence the sum is a polynomial, the means, minus
// w_i beta_i |u_i(x)| for every criterion that reads the knob: a Line.
#pragma once

#include <algorithm>
#include <cmath>

#include "cholesky.hpp"
#include "features.hpp"
#include "line.hpp"
#include "views.hpp"

namespace trimtab {

// The bound and its domain: values, not estimators. Knob j is in [low, high], or on its levels.
struct Objective {
    static constexpr Index MOST_DEGREE = 32;

    Monomials maps;
    ConstIndices blocks;  // (m + 1,) the augmented factor of criterion i in R
    ConstReals R;
    ConstReals weights;          // (m,) w_i
    ConstReals radii;            // (m,) beta_i
    ConstIndices scope_offsets;  // (m + 1,)
    ConstIndices scope;          // the knobs that a criterion reads
    ConstIndices touch_offsets;  // (k + 1,)
    ConstIndices touch;          // the criteria that read a knob
    ConstReals low;              // (k,)
    ConstReals high;             // (k,)
    ConstIndices level_offsets;  // (k + 1,)
    ConstReals levels;
    Index degree;        // the highest power of a knob
    Index most_readers;  // criteria that read one knob
    Index widest;        // features of one criterion

    Index knobs() const { return size_of(low); }
    Index criteria() const { return size_of(weights); }
    Index dim(Index i) const { return maps.dim(i); }
    const double* factor(Index i) const { return &R[blocks[i]]; }
    const double* v(Index i) const { return factor(i) + triangle_size(dim(i)); }  // R_i^{-1} b_i

    ConstIndices scope_of(Index i) const {
        return slice(scope, scope_offsets[i], scope_offsets[i + 1]);
    }
    ConstIndices readers_of(Index j) const {
        return slice(touch, touch_offsets[j], touch_offsets[j + 1]);
    }
    ConstReals levels_of(Index j) const {
        return slice(levels, level_offsets[j], level_offsets[j + 1]);
    }

    // Whether a minimiser over these knobs may be anywhere: not only at levels or at vertices.
    bool is_curved(ConstIndices free, ConstIndices which) const {
        const auto on_levels = [&](Index j) { return !levels_of(j).empty(); };
        return !std::all_of(free.begin(), free.end(), on_levels) && !maps.all_linear(which, free);
    }

    // phi_i' theta_i and phi_i' V_i^{-1} phi_i at s; `room` holds `widest` numbers.
    MeanAndSpread predict(Index i, const double* s, double* room) const {
        for (Index f = 0; f < dim(i); ++f) room[f] = maps.feature(i, maps.offsets[i] + f, s);
        return mean_and_spread(factor(i), room, dim(i), room);
    }

    // F of these criteria at s.
    double value(ConstIndices which, const double* s, double* room) const {
        double mean = 0.0, width = 0.0;
        for (const Index i : which) {
            const auto at = predict(i, s, room);
            mean += weights[i] * at.mean;
            width += weights[i] * radii[i] * std::sqrt(at.spread);
        }
        return mean - width;
    }

    // Find the highest degree, the most readers and the widest criterion.
    void measure() {
        degree = widest = most_readers = 0;
        for (std::size_t f = 0; f < maps.p.size(); ++f) {
            const Index p = maps.p[f], q = maps.q[f];
            degree = std::max(degree, maps.a[f] == maps.b[f] ? p + q : std::max(p, q));
        }
        for (Index i = 0; i < criteria(); ++i) widest = std::max(widest, dim(i));
        for (Index j = 0; j < knobs(); ++j)
            most_readers = std::max(most_readers, size_of(readers_of(j)));
    }

    // What criterion i adds to F where u = R_i^{-1} phi_i is this.
    double term(Index i, const double* u) const {
        double mean = 0.0, square = 0.0;
        const double* row = v(i);
        for (Index f = 0; f < dim(i); ++f) {
            mean += u[f] * row[f];
            square += u[f] * u[f];
        }
        return weights[i] * (mean - radii[i] * std::sqrt(square));
    }
};

// A state of the objective's knobs, and what is kept to move one of them at a low cost. Only
// entries of criteria that were prepared are ever touched.
class Position {
public:
    explicit Position(const Objective& objective)
        : s(objective.knobs()),
          current(objective.knobs()),
          price(objective.knobs()),
          line(objective.degree, objective.most_readers),
          objective_(objective),
          U_(objective.blocks.back() - objective.maps.offsets.back() - objective.criteria()),
          u_(objective.maps.offsets.back()),
          rise_(objective.most_readers * (objective.degree + 1) * objective.widest) {}

    Room<double> s;        // (k,) the state
    Room<double> current;  // (k,) where the system is
    Room<double> price;    // (k,) what moving a knob by 1 costs
    Line line;             // G along the knob last faced

    const Objective& objective() const { return objective_; }
    const double* u(Index i) const { return &u_[objective_.maps.offsets[i]]; }
    double toll(Index j) const { return price[j] * std::abs(s[j] - current[j]); }

    // R_i^{-1}, column after column, the zeros above the diagonal left out. A triangle here has a
    // row of d_i + 1 numbers less than in R, so that it needs no offsets of its own.
    const double* inverse(Index i) const {
        return &U_[objective_.blocks[i] - objective_.maps.offsets[i] - i];
    }

    std::size_t bytes() const {
        return 3 * s.bytes() + line.bytes() + U_.bytes() + u_.bytes() + rise_.bytes();
    }

    // Invert the factors of the criteria that take part.
    void prepare(ConstIndices criteria) {
        for (const Index i : criteria)
            invert(objective_.factor(i), objective_.dim(i), const_cast<double*>(inverse(i)));
    }

    // u_i = R_i^{-1} phi_i(s) from scratch, and F(s) of these criteria.
    double refresh(ConstIndices criteria) {
        double value = 0.0;
        for (const Index i : criteria) {
            const Index lo = objective_.maps.offsets[i], d = objective_.dim(i);
            double* u = &u_[lo];
            const double* column = inverse(i);
            std::fill_n(u, d, 0.0);
            for (Index f = 0; f < d; ++f) {
                const double x = objective_.maps.feature(i, lo + f, &s[0]);
                for (Index r = f; r < d; ++r) u[r] += x * column[r - f];
                column += d - f;
            }
            value += objective_.term(i, u);
        }
        return value;
    }

    // Make `line` what G is along knob j.
    void face(Index j) {
        const ConstIndices readers = objective_.readers_of(j);
        line.degree = 0;
        line.readers = size_of(readers);
        line.anchor = current[j];
        line.price = price[j];
        std::fill_n(&line.A[0], line.A.size(), 0.0);
        for (Index c = 0; c < line.readers; ++c) {
            const Index i = readers[c], degree = rise_along(j, i, c);
            line.bonus[c] = objective_.weights[i] * objective_.radii[i];
            if (objective_.degree == 2)
                add_reader<2>(i, c, s[j]);
            else if (objective_.degree == 6)
                add_reader<6>(i, c, s[j]);
            else
                add_reader<0>(i, c, s[j]);
            line.degree = std::max(line.degree, degree);
        }
    }

    // Move knob j to x, along the line just made.
    void move(Index j, double x) {
        const ConstIndices readers = objective_.readers_of(j);
        s[j] = x;
        for (Index c = 0; c < size_of(readers); ++c) {
            const Index i = readers[c], d = objective_.dim(i);
            double* u = &u_[objective_.maps.offsets[i]];
            for (Index g = 0; g < d; ++g) {
                double y = 0.0;
                for (Index r = line.degree; r >= 0; --r) y = y * x + rise(c, r)[g];
                u[g] = y;
            }
        }
    }

private:
    // u_r of reader c of the knob faced.
    double* rise(Index c, Index r) {
        return &rise_[(c * (objective_.degree + 1) + r) * objective_.widest];
    }

    // The u_r of criterion i, reader c of knob j, for r > 0; its degree.
    Index rise_along(Index j, Index i, Index c) {
        const Monomials& maps = objective_.maps;
        const Index lo = maps.offsets[i], d = objective_.dim(i);
        for (Index r = 1; r <= objective_.degree; ++r) std::fill_n(rise(c, r), d, 0.0);
        Index degree = 0;
        const double* column = inverse(i);
        for (Index f = 0; f < d; ++f) {
            const Index a = maps.a[lo + f], b = maps.b[lo + f];
            const int p = maps.p[lo + f], q = maps.q[lo + f];
            const Index r = (a == j ? p : 0) + (b == j ? q : 0);
            if (r > 0) {
                double x = maps.scale[i];
                if (a != j) x *= power(s[a], p);
                if (b != j) x *= power(s[b], q);
                degree = std::max(degree, r);
                double* u_r = rise(c, r);
                for (Index g = f; g < d; ++g) u_r[g] += x * column[g - f];
            }
            column += d - f;
        }
        return degree;
    }

    // What criterion i, reader c, adds to the line at x. Its sums go side by side, and D is the
    // degree where that is known as this is compiled: both are much faster.
    template <Index D>
    void add_reader(Index i, Index c, double x) {
        constexpr Index SIZE = (D > 0 ? D : Objective::MOST_DEGREE) + 1;
        const Index degree = D > 0 ? D : objective_.degree;
        const double *u = this->u(i), *v = objective_.v(i);
        double z[SIZE], mean[SIZE], both[SIZE][SIZE];
        for (Index r = 0; r <= degree; ++r) {
            mean[r] = 0.0;
            std::fill_n(both[r], degree + 1, 0.0);
        }
        for (Index g = 0; g < objective_.dim(i); ++g) {
            double known = 0.0;
            for (Index r = degree; r > 0; --r) {
                z[r] = rise(c, r)[g];
                known = (known + z[r]) * x;
            }
            rise(c, 0)[g] = z[0] = u[g] - known;
            for (Index r = 0; r <= degree; ++r) {
                mean[r] += z[r] * v[g];
                for (Index t = 0; t <= degree; ++t) both[r][t] += z[r] * z[t];
            }
        }
        double* Q = line.Q(c);
        std::fill_n(Q, 2 * degree + 1, 0.0);
        for (Index r = 0; r <= degree; ++r) {
            line.A[r] += objective_.weights[i] * mean[r];
            for (Index t = r; t <= degree; ++t) Q[r + t] += (r == t ? 1.0 : 2.0) * both[r][t];
        }
    }

    const Objective& objective_;
    Room<double> U_;     // R_i^{-1} of all criteria
    Room<double> u_;     // (sum d,) R_i^{-1} phi_i at s
    Room<double> rise_;  // (most readers, degree + 1, widest d) the u_r of each reader
};

}  // namespace trimtab
