// G along one knob x, every other knob fixed:
//
//     G(x) = A(x) - sum_i a_i sqrt(Q_i(x)) + price |x - anchor|,
//
// a polynomial minus roots of polynomials of twice its degree, one for each criterion that reads
// the knob, and what moving the knob away from its anchor costs. F is G without the price.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "views.hpp"

namespace trimtab {

// A value and its first two derivatives.
struct Curve {
    double y, slope, bend;

    Curve operator-(Curve other) const {
        return {y - other.y, slope - other.slope, bend - other.bend};
    }
};

class Line {
public:
    static constexpr Index SAMPLES_PER_DEGREE = 4;  // evenly spaced
    static constexpr Index AT_ONCE = 4;             // points that processors do together

    Line(Index most_degree, Index most_readers)
        : A(most_degree + 1),
          bonus(most_readers),
          x(most_points(most_degree, most_readers)),
          y(x.size()),
          slope(x.size()),
          bend(x.size()),
          stride_(2 * most_degree + 1),
          Q_(most_readers * stride_) {}

    Index degree = 0;   // of the knob at hand
    Index readers = 0;  // criteria that read it
    double anchor = 0.0;
    double price = 0.0;
    Room<double> A;                  // (degree + 1,)
    Room<double> bonus;              // (readers,) a_i = w_i beta_i
    Room<double> x, y, slope, bend;  // points to look at, F there and its derivatives

    double* Q(Index c) { return &Q_[c * stride_]; }
    const double* Q(Index c) const { return &Q_[c * stride_]; }
    std::size_t bytes() const { return A.bytes() + bonus.bytes() + 4 * x.bytes() + Q_.bytes(); }

    double toll(double at) const { return price * std::abs(at - anchor); }

    // The width of all readers.
    double width(double at) const {
        double sum = 0.0;
        for (Index c = 0; c < readers; ++c) {
            double q = 0.0;
            for (Index r = 2 * degree; r >= 0; --r) q = q * at + Q(c)[r];
            sum += bonus[c] * std::sqrt(std::max(q, 0.0));
        }
        return sum;
    }

    double value(double at) const { return mean<0>(at).y - width(at) + toll(at); }

    // Below, D is the degree where that is known as this is compiled, which is much faster, else 0.

    // A and its first two derivatives.
    template <Index D>
    Curve mean(double at) const {
        return polynomial<D>(&A[0], degree, at);
    }

    // Q of one reader, and its first two derivatives.
    template <Index D>
    Curve square(double at, Index c) const {
        return polynomial<2 * D>(Q(c), 2 * degree, at);
    }

    // F, its slope and its bend.
    template <Index D>
    Curve curve(double at) const {
        Curve found = mean<D>(at);
        for (Index c = 0; c < readers; ++c) found = found - root(bonus[c], square<D>(at, c));
        return found;
    }

    // The same at the first points, side by side so that processors do several at once.
    template <Index D>
    void curves(Index points) {
        double *py = &y[0], *ps = &slope[0], *pb = &bend[0];
        const double* px = &x[0];
        for (Index n = 0; n < points; ++n) {
            const Curve found = mean<D>(px[n]);
            py[n] = found.y;
            ps[n] = found.slope;
            pb[n] = found.bend;
        }
        for (Index c = 0; c < readers; ++c) {
            std::array<double, 2 * D + 1> own;  // nobody else writes to it
            if (D > 0) std::copy_n(Q(c), own.size(), own.begin());
            const double *q = D > 0 ? own.data() : Q(c), a = bonus[c];
            for (Index n = 0; n < points; ++n) {
                const Curve w = root(a, polynomial<2 * D>(q, 2 * degree, px[n]));
                py[n] -= w.y;
                ps[n] -= w.slope;
                pb[n] -= w.bend;
            }
        }
    }

private:
    static Index most_points(Index degree, Index readers) {
        return SAMPLES_PER_DEGREE * std::max<Index>(degree, 1) + 1 + 3 * degree * readers + AT_ONCE;
    }

    template <Index D>
    static Curve polynomial(const double* c, Index any, double x) {
        if constexpr (D == 4) {
            return {(((c[4] * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0],
                    ((4.0 * c[4] * x + 3.0 * c[3]) * x + 2.0 * c[2]) * x + c[1],
                    (12.0 * c[4] * x + 6.0 * c[3]) * x + 2.0 * c[2]};
        }
        Curve found{0.0, 0.0, 0.0};
        for (Index r = D > 0 ? D : any; r >= 0; --r) {
            found.bend = found.bend * x + 2.0 * found.slope;
            found.slope = found.slope * x + found.y;
            found.y = found.y * x + c[r];
        }
        return found;
    }

    // a sqrt(Q) and its derivatives; 0 where Q is, or would be but for rounding.
    static Curve root(double a, Curve q) {
        const double there = q.y > 0.0 ? a : 0.0;
        const double size = std::sqrt(q.y > 0.0 ? q.y : 1.0);
        const double part = 1.0 / size;
        const double half = 0.5 * there * part;
        const double fall = q.slope * part;
        return {there * size, half * q.slope, half * (q.bend - 0.5 * fall * fall)};
    }

    Index stride_;
    Room<double> Q_;
};

}  // namespace trimtab
