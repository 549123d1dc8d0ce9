// One lazy ridge regression per criterion: sums while the state stays, factors when it changes.
//
// Criteria are rows of the same flat arrays. The counters `n`, `tells` and `owed` are kept
// *relative*: a round that every criterion has seen only raises a common counter, and what a
// criterion has really seen is that counter plus its own entry. A frozen round touches none.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cholesky.hpp"
#include "features.hpp"
#include "trigger_queue.hpp"
#include "views.hpp"
#include "wide.hpp"

namespace trimtab {

constexpr double TIE = 1e-12;  // log-det ratios this close to log C are equal; ties do not trigger
constexpr Index NEVER = Index{1} << 62;  // more rounds than anybody plays

// n*: the first n with since + log(1 + n spread) > log(factor), ties excepted (notes 9).
inline Index rounds_to_trigger(double spread, double since, double factor) {
    const double room = factor * std::exp(TIE - since) - 1.0;
    if (room <= 0.0) return 0;
    if (!(spread * static_cast<double>(NEVER) > room)) return NEVER;  // also if one is no number
    return static_cast<Index>(std::floor(room / spread)) + 1;
}

// The arrays of all criteria. Those marked * belong to the state now deployed.
struct Regression {
    ConstIndices offsets;  // (m + 1,) features of criterion i: offsets[i] to offsets[i + 1]
    ConstIndices blocks;   // (m + 1,) its triangle in R
    Reals R;               // augmented factors
    Reals phi;             // * features
    Reals gain;            // (m,) log det V_i - log det V0_i
    Reals since;           // (m,) log det V_i - log det V_i(tau_i)
    Reals mean;            // (m,) * phi_i' theta_i
    Reals spread;          // (m,) * w_i = phi_i' V_i^{-1} phi_i
    Indices due;           // (m,) * n*_i, the rounds in the sums at which criterion i triggers
    Indices seen;          // (m,) rounds observed, without those still in the sums
    Indices n;             // (m,) * rounds in the sums, relative
    Indices tells;         // (m,) * separate observations in the sums, relative
    Indices owed;          // (m,) * of these the ones whose losses are still to be asked for
    Reals shift;           // (m,) * first loss observed
    Reals total;           // (m,) * sum of n (y - shift)
    Reals squares;         // (m,) * sum of n (y - shift)^2
    Reals pure_error;      // (m,) sum over past states of sum n (y - mean)^2
    Indices pure_df;       // (m,) its degrees of freedom
    ConstReals reg;        // (m,) V0_i is this times I,
    Reals R0;              // or has these factors, laid out as R; empty where it does not
    Reals alone;           // factors of the data without V0_i, laid out as R; empty if not kept
    Reals offset;          // (m,) a loss that counts as 0: the first one; empty where 0 does
    ConstReals low;        // (m,) * losses beyond these are cut; empty where none is
    ConstReals high;       // (m,) *
    Indices cut;           // (m,) * how many were
    Indices above;         // (m,) * of these above the upper limit,
    Reals excess;          // (m,) * and by how much all were, added up
    Indices data;          // (m,) how many weighted data have gone into the factor
    Indices counters;      // (4,) rounds that every criterion has seen, how many of these are
                           // skipped, whether every criterion has its shift, and at how many
                           // rounds that every criterion has seen the first one triggers
    TriggerQueue queue;    // of all criteria

    Index common() const { return counters[0]; }
    Index skipped() const { return counters[1]; }
    bool ready() const { return counters[2] != 0; }

    Index criteria() const { return size_of(gain); }
    Index dim(Index i) const { return offsets[i + 1] - offsets[i]; }
    double* factor(Index i) const { return &R[blocks[i]]; }

    Index widest(ConstIndices which) const {
        Index d = 0;
        for (const Index i : which) d = std::max(d, dim(i));
        return d;
    }

    // V_i = V0_i, b_i is what it starts at, and there is nothing in the sums of these criteria.
    void begin(ConstIndices which) const {
        for (const Index i : which) {
            set_start(i);
            if (!alone.empty()) std::fill_n(&alone[blocks[i]], blocks[i + 1] - blocks[i], 0.0);
            gain[i] = since[i] = 0.0;
            seen[i] = data[i] = 0;
            owed[i] = -skipped();
            clear_sums(i);
        }
    }

    // V0_i has changed, and all data are added to it again; clocks stay as they are.
    void begin_again(ConstIndices which) const {
        Sweep sweep(widest(which) + 1);
        for (const Index i : which) {
            const Index rows = dim(i) + 1;
            const double* known = &alone[blocks[i]];
            std::copy(&R0[blocks[i]], &R0[blocks[i]] + triangle_size(rows), factor(i));
            for (Index c = 0; c < rows; ++c) {  // A = R R' is the sum of c c' over R's columns c
                for (Index r = 0; r < rows; ++r)
                    sweep.x[r] = r >= c ? known[triangle_size(r) + c] : 0.0;
                add_datum(factor(i), rows, sweep);
            }
            gain[i] = log_det(i);
        }
    }

    // log det V_i - log det V0_i, from the diagonals of the factors.
    double log_det(Index i) const {
        double sum = 0.0;
        for (Index r = 0; r < dim(i); ++r) {
            const Index p = blocks[i] + triangle_size(r) + r;
            sum += 2.0 * std::log(R[p] / (R0.empty() ? std::sqrt(reg[i]) : R0[p]));
        }
        return sum;
    }

    // One more round, seen by every criterion: the whole work of a frozen round. How many losses
    // were cut.
    Index add_round(ConstReals losses) const {
        if (!ready()) set_shifts(losses);
        counters[0] += 1;
        if (!low.empty()) return add_cut_round(losses.data());
        add_to_sums(losses.data(), shift.data(), total.data(), squares.data(), criteria());
        return 0;
    }

    // Rounds pass that every criterion sees; their losses stay owed.
    void skip(Index rounds) const {
        counters[0] += rounds;
        counters[1] += rounds;
        counters[2] = false;
    }

    // Losses with gaps (NaN) and batches; a criterion's first loss becomes its shift. How many were
    // cut.
    Index add_some(ConstReals losses, ConstIndices count) const {
        Index beyond = 0;
        bool all = true;
        for (Index i = 0; i < criteria(); ++i) {
            if (std::isnan(losses[i])) {
                all = all && common() + tells[i] > 0;
                continue;
            }
            const double x = trimmed(i, losses[i], count[i]);
            beyond += x != losses[i];
            if (common() + tells[i] == 0) shift[i] = x;
            const double y = x - shift[i], rounds = static_cast<double>(count[i]);
            n[i] += count[i];
            tells[i] += 1;
            total[i] += rounds * y;
            squares[i] += rounds * y * y;
        }
        counters[2] = all;
        requeue();
        return beyond;
    }

    // Losses that were owed arrive: their mean, and their sum of squares about it.
    void add_owed(ConstIndices which, ConstReals mean_loss, ConstReals about) const {
        for (Index c = 0; c < size_of(which); ++c) {
            const Index i = which[c], rounds = skipped() + owed[i];
            if (rounds <= 0) continue;
            if (common() + tells[i] == rounds) shift[i] = mean_loss[c];  // none had arrived before
            const double y = mean_loss[c] - shift[i], times = static_cast<double>(rounds);
            total[i] += times * y;
            squares[i] += about[c] + times * y * y;
            owed[i] = -skipped();
        }
    }

    // Each of these criteria has seen a loss of its own, the mean of count rounds, at features x.
    void take(ConstIndices which, ConstReals x, ConstReals losses, ConstIndices count) const {
        Sweep sweep(widest(which) + 1);
        for (const Index i : which) take_one(i, &x[offsets[i]], losses[i], count[i], sweep);
    }

    // Widths shrink as if the losses of `count` rounds at features x had come: the expected ones,
    // which change no estimate.
    void foresee(ConstIndices which, ConstReals x, ConstIndices count) const {
        Sweep sweep(widest(which) + 1);
        for (const Index i : which) {
            if (count[i] == 0) continue;
            const Index d = dim(i);
            const double* here = &x[offsets[i]];
            const double expected = mean_and_spread(factor(i), here, d, sweep.x.view().data()).mean;
            set_datum(here, expected, static_cast<double>(count[i]), d, sweep);
            add_datum(factor(i), d + 1, sweep);
        }
    }

    // The sums of these criteria go into their factors, as one weighted datum each.
    void flush(ConstIndices which) const {
        Sweep sweep(widest(which) + 1);
        counters[2] = false;
        for (const Index i : which) {
            const auto [rounds, y] = empty_sums(i);
            if (rounds > 0) take_one(i, &phi[offsets[i]], y, rounds, sweep);
        }
    }

    // The same where data lose 1/memory of their weight in a round and `rounds` have passed: with
    // g = 1 - 1/memory, V' = g^n V + (1 - g^n) V0 + n_i share phi phi'.
    void flush_faded(ConstIndices which, Index rounds, Index memory) const {
        const double g = std::log1p(-1.0 / static_cast<double>(memory));
        const double lost = -std::expm1(static_cast<double>(rounds) * g);  // 1 - g^n
        const double share =
            lost * static_cast<double>(memory) / static_cast<double>(std::max<Index>(rounds, 1));
        Sweep sweep(widest(which) + 1);
        counters[2] = false;
        for (const Index i : which) {
            const auto [count, y] = empty_sums(i);
            fade(i, lost, sweep);
            if (count > 0) {
                const double times = static_cast<double>(count);
                since[i] += std::log1p(times * spread[i]);  // accrued in the V before it faded
                seen[i] += count;
                data[i] += 1;
                weigh_in(i, &phi[offsets[i]], y, times * share, sweep);
            }
            gain[i] = log_det(i);
        }
    }

    // The state s is deployed, for these criteria.
    void deploy(const Monomials& maps, const double* s, ConstIndices which, double factor_C) const {
        maps.fill(phi, s, which);
        measure(which, factor_C);
    }

    // The estimated loss, w_i and n*_i at the deployed state, and the first trigger of all.
    void measure(ConstIndices which, double factor_C) const {
        Room<double> u(widest(which));
        for (const Index i : which) {
            const auto found =
                mean_and_spread(factor(i), &phi[offsets[i]], dim(i), u.view().data());
            mean[i] = found.mean;
            spread[i] = found.spread;
            due[i] = rounds_to_trigger(found.spread, since[i], factor_C);
        }
        if (which.empty() || size_of(which) == criteria()) return requeue();
        for (const Index i : which) queue.put(i);
        counters[3] = queue.next_round();
    }

    // The next trigger, now that any criterion may have been observed or measured.
    void requeue() const {
        queue.put_all();
        counters[3] = queue.next_round();
    }

private:
    void set_start(Index i) const {
        if (!R0.empty()) {
            std::copy(&R0[blocks[i]], &R0[blocks[i]] + (blocks[i + 1] - blocks[i]), factor(i));
            return;
        }
        std::fill_n(factor(i), blocks[i + 1] - blocks[i], 0.0);
        for (Index r = 0; r < dim(i); ++r) factor(i)[triangle_size(r) + r] = std::sqrt(reg[i]);
    }

    // Criteria without a loss of this state begin their sums at this one.
    void set_shifts(ConstReals losses) const {
        for (Index i = 0; i < criteria(); ++i)
            if (common() + tells[i] == 0)
                shift[i] = low.empty() ? losses[i] : std::min(std::max(losses[i], low[i]), high[i]);
        counters[2] = true;
    }

    struct Sums {
        Index rounds;
        double mean;
    };

    // The cuts are written down in a second pass, and only if there is one.
    Index add_cut_round(const double* losses) const {
        const double *lo = low.data(), *hi = high.data();
        const Index m = criteria();
        const Index beyond =
            add_cut_to_sums(losses, lo, hi, shift.data(), total.data(), squares.data(), m);
        for (Index i = 0; beyond && i < m; ++i) {
            const double x = std::min(std::max(losses[i], lo[i]), hi[i]);
            if (x != losses[i]) {
                cut[i] += 1;
                above[i] += x < losses[i];
                excess[i] += losses[i] - x;
            }
        }
        return beyond;
    }

    // The loss y, a mean of `count` rounds, cut at its limits: a mean strays less than one loss.
    double trimmed(Index i, double y, Index count) const {
        if (low.empty() || !(high[i] < std::numeric_limits<double>::infinity())) return y;
        const double w = spread[i], rounds = static_cast<double>(count);
        const double half = 0.5 * (high[i] - low[i]) * std::sqrt((w + 1.0 / rounds) / (w + 1.0));
        const double middle = 0.5 * (high[i] + low[i]);
        const double x = std::min(std::max(y, middle - half), middle + half);
        if (x != y) {
            cut[i] += count;
            above[i] += x < y ? count : 0;
            excess[i] += rounds * (y - x);
        }
        return x;
    }

    // How many rounds the sums of criterion i hold, and their mean loss; they begin anew.
    Sums empty_sums(Index i) const {
        Sums sums{common() + n[i], 0.0};
        if (sums.rounds > 0) {
            const double y = total[i] / static_cast<double>(sums.rounds);
            pure_error[i] += std::max(squares[i] - y * total[i], 0.0);
            pure_df[i] += common() + tells[i] - 1;
            sums.mean = shift[i] + y;
        }
        clear_sums(i);
        return sums;
    }

    void clear_sums(Index i) const {
        n[i] = tells[i] = -common();
        total[i] = squares[i] = 0.0;
        if (!low.empty()) {
            cut[i] = above[i] = 0;
            excess[i] = 0.0;
        }
    }

    // Criterion i has seen the loss y, the mean of `rounds` rounds, at its features x.
    void take_one(Index i, const double* x, double y, Index rounds, Sweep& sweep) const {
        const auto found = mean_and_spread(factor(i), x, dim(i), sweep.x.view().data());
        const double growth = std::log1p(static_cast<double>(rounds) * found.spread);
        if (!offset.empty() && data[i] == 0) offset[i] = y;
        gain[i] += growth;
        since[i] += growth;
        seen[i] += rounds;
        data[i] += 1;
        weigh_in(i, x, y, static_cast<double>(rounds), sweep);
    }

    // The factor of criterion i takes in the loss y at its features x: V += weight x x'.
    void weigh_in(Index i, const double* x, double y, double weight, Sweep& sweep) const {
        const Index d = dim(i);
        set_datum(x, offset.empty() ? y : y - offset[i], weight, d, sweep);
        add_datum(factor(i), d + 1, sweep);
        if (!alone.empty()) add_datum(&alone[blocks[i]], d + 1, sweep);
    }

    // V_i = (1 - lost) V_i + lost V0_i, and b_i likewise.
    void fade(Index i, double lost, Sweep& sweep) const {
        const Index d = dim(i);
        const double kept = std::sqrt(1.0 - lost), root = std::sqrt(lost);
        for (Index e = blocks[i]; e < blocks[i + 1]; ++e) R[e] *= kept;
        for (Index j = 0; j < d; ++j) {
            for (Index r = 0; r <= d; ++r) sweep.x[r] = 0.0;
            if (R0.empty())
                sweep.x[j] = root * std::sqrt(reg[i]);
            else
                for (Index r = j; r <= d; ++r)
                    sweep.x[r] = root * R0[blocks[i] + triangle_size(r) + j];
            add_datum(factor(i), d + 1, sweep);
        }
    }
};

}  // namespace trimtab
