// G along one knob x, every other knob fixed:
//
//     G(x) = A(x) - sum_i a_i sqrt(Q_i(x)) + price |x - anchor|,
//
// a polynomial minus roots of polynomials of twice its degree, one for each criterion that reads
// the knob, and what moving the knob away from its anchor costs. F is G without the price.
#pragma once

#include <cmath>

#include "views.hpp"

namespace trimtab {

// A value and its first two derivatives.
struct Curve {
    double y, slope, bend;
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

    double value(double at) const { return mean(at).y - width(at) + toll(at); }

    // A and its first two derivatives.
    Curve mean(double at) const { return polynomial(&A[0], degree, at); }

    // Q of one reader, and its first two derivatives.
    Curve square(double at, Index c) const {
        return degree == 2 ? quartic(Q(c), at) : polynomial(Q(c), 2 * degree, at);
    }

    // F, its slope and its bend.
    Curve curve(double at) const {
        Curve found = mean(at);
        for (Index c = 0; c < readers; ++c) {
            const Curve w = root(bonus[c], square(at, c));
            found.y -= w.y;
            found.slope -= w.slope;
            found.bend -= w.bend;
        }
        return found;
    }

    // F and its derivatives at the first points, side by side so that processors do several at
    // once where the degree is 2, as it nearly always is.
    void curves(Index points) {
        if (degree != 2) {
            for (Index n = 0; n < points; ++n) set(n, curve(x[n]));
            return;
        }
        double *py = &y[0], *ps = &slope[0], *pb = &bend[0];
        const double* px = &x[0];
        const double a0 = A[0], a1 = A[1], a2 = A[2];
        for (Index n = 0; n < points; ++n) {
            py[n] = (a2 * px[n] + a1) * px[n] + a0;
            ps[n] = 2.0 * a2 * px[n] + a1;
            pb[n] = 2.0 * a2;
        }
        for (Index c = 0; c < readers; ++c) {
            const double a = bonus[c];
            const double* coefficients = Q(c);
            const double q[5] = {coefficients[0], coefficients[1], coefficients[2], coefficients[3],
                                 coefficients[4]};
            for (Index n = 0; n < points; ++n) {
                const Curve w = root(a, quartic(q, px[n]));
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

    static Curve polynomial(const double* c, Index degree, double x) {
        Curve found{0.0, 0.0, 0.0};
        for (Index r = degree; r >= 0; --r) {
            found.bend = found.bend * x + 2.0 * found.slope;
            found.slope = found.slope * x + found.y;
            found.y = found.y * x + c[r];
        }
        return found;
    }

    static Curve quartic(const double* c, double x) {
        return {(((c[4] * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0],
                ((4.0 * c[4] * x + 3.0 * c[3]) * x + 2.0 * c[2]) * x + c[1],
                (12.0 * c[4] * x + 6.0 * c[3]) * x + 2.0 * c[2]};
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

    void set(Index n, Curve found) {
        y[n] = found.y;
        slope[n] = found.slope;
        bend[n] = found.bend;
    }

    Index stride_;
    Room<double> Q_;
};

}  // namespace trimtab
