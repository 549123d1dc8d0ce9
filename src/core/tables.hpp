// The lower confidence bound as a sum of tables over candidate values of the free knobs.
//
// A criterion's term w_i (u_i.v_i - beta_i |u_i|), u_i = R_i^{-1} phi_i, depends on the knobs of
// its own scope only, so it is a table over their candidates. The combinations are visited in the
// order of a reflected Gray code, in which each differs from the one before in one knob. Then u_i
// changes by the columns of R_i^{-1} of that knob's features, which are lower triangular, so that
// the sums u.v and u.u are the same up to the first of these.
#pragma once

#include <cmath>
#include <vector>

#include "objective.hpp"
#include "views.hpp"

namespace trimtab {

// The free knobs that each criterion reads, and the candidates of each free knob.
struct Candidates {
    ConstIndices knobs;     // (n,) the free ones
    ConstIndices criteria;  // (c,)
    ConstIndices offsets;   // (c + 1,)
    ConstIndices reads;     // positions in `knobs`, criterion after criterion
    ConstIndices firsts;    // (n + 1,) where the candidates of a knob begin
    ConstReals values;      // the candidates

    Index count(Index n) const { return firsts[n + 1] - firsts[n]; }
    ConstIndices scope(Index c) const { return slice(reads, offsets[c], offsets[c + 1]); }
};

class Tabulation {
public:
    // `state` has the knobs that are not free where they stay.
    Tabulation(const Objective& objective, const Candidates& candidates, ConstReals state)
        : F_(objective),
          from_(candidates),
          s_(state.begin(), state.end()),
          U_(triangle_size(objective.widest)),
          phi_(objective.widest),
          u_(objective.widest),
          means_(objective.widest + 1),
          squares_(objective.widest + 1) {}

    // The table of the c-th criterion, in C order over its free knobs.
    void fill(Index c, double* table) {
        const Index i = from_.criteria[c], d = F_.dim(i);
        scope_ = from_.scope(c);
        begin(i);
        Index entry = 0;
        for (Index visited = 0;; ++visited) {
            if (visited % REFRESH == 0) refresh(i);
            table[entry] = F_.weights[i] * (means_[d] - F_.radii[i] * std::sqrt(squares_[d]));
            const Index p = next_knob();
            if (p < 0) return;
            digits_[p] += ways_[p];
            entry += ways_[p] * strides_[p];
            set_knob(p);
            update(i, p);
        }
    }

private:
    static constexpr Index REFRESH = 64;  // entries from one u computed from scratch to the next

    // Invert the factor, list the features of each knob and go to the first combination.
    void begin(Index i) {
        const Index lo = F_.maps.offsets[i], d = F_.dim(i), n = size_of(scope_);
        invert(F_.factor(i), d, &U_[0]);
        means_[0] = squares_[0] = 0.0;
        owned_.assign(static_cast<std::size_t>(n), {});
        digits_.assign(static_cast<std::size_t>(n), 0);
        ways_.assign(static_cast<std::size_t>(n), 1);
        strides_.resize(static_cast<std::size_t>(n));
        Index stride = 1;
        for (Index p = n - 1; p >= 0; --p) {
            const Index knob = from_.knobs[scope_[p]];
            for (Index f = 0; f < d; ++f)
                if ((F_.maps.a[lo + f] == knob && F_.maps.p[lo + f] > 0) ||
                    (F_.maps.b[lo + f] == knob && F_.maps.q[lo + f] > 0))
                    owned_[p].push_back(f);
            strides_[p] = stride;
            stride *= from_.count(scope_[p]);
            set_knob(p);
        }
    }

    void set_knob(Index p) {
        s_[from_.knobs[scope_[p]]] = from_.values[from_.firsts[scope_[p]] + digits_[p]];
    }

    // The knob that the Gray code moves next, or -1 at its end.
    Index next_knob() {
        for (Index p = size_of(scope_) - 1; p >= 0; --p) {
            const Index digit = digits_[p] + ways_[p];
            if (0 <= digit && digit < from_.count(scope_[p])) return p;
            ways_[p] = -ways_[p];
        }
        return -1;
    }

    // phi, u = R^{-1} phi and the sums, from scratch.
    void refresh(Index i) {
        const Index lo = F_.maps.offsets[i], d = F_.dim(i);
        const double* column = &U_[0];
        std::fill_n(&u_[0], d, 0.0);
        for (Index f = 0; f < d; ++f) {
            phi_[f] = F_.maps.feature(i, lo + f, s_.data());
            for (Index r = f; r < d; ++r) u_[r] += phi_[f] * column[r - f];
            column += d - f;
        }
        sum_from(i, 0);
    }

    // The same after the p-th knob of the scope has moved.
    void update(Index i, Index p) {
        const Index lo = F_.maps.offsets[i], d = F_.dim(i);
        Index first = d;
        for (const Index f : owned_[p]) {
            first = std::min(first, f);
            const double x = F_.maps.feature(i, lo + f, s_.data()), change = x - phi_[f];
            const double* column = &U_[0] + f * d - f * (f - 1) / 2;
            phi_[f] = x;
            for (Index r = f; r < d; ++r) u_[r] += change * column[r - f];
        }
        sum_from(i, first);
    }

    void sum_from(Index i, Index first) {
        const double* v = F_.v(i);
        double mean = means_[first], square = squares_[first];
        for (Index r = first; r < F_.dim(i); ++r) {
            mean += u_[r] * v[r];
            square += u_[r] * u_[r];
            means_[r + 1] = mean;
            squares_[r + 1] = square;
        }
    }

    const Objective& F_;
    const Candidates& from_;
    std::vector<double> s_;
    ConstIndices scope_;
    Room<double> U_, phi_, u_;
    Room<double> means_, squares_;                // the sums of the first terms of u.v and u.u
    std::vector<std::vector<Index>> owned_;       // the features that contain a knob of the scope
    std::vector<Index> digits_, ways_, strides_;  // which candidate, up or down, and its stride
};

}  // namespace trimtab
