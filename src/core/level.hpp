// Levels that wander: src/trimtab/learn/losses/level.py has the equations.
#pragma once

#include <algorithm>
#include <cmath>

#include "regression.hpp"

namespace trimtab {

// The level moves by a step of this variance; the factor of V_00 that is left.
inline double shrink(double* R, Index d, double variance) {
    const double left = 1.0 / (1.0 + variance * R[0] * R[0]);
    const double root = std::sqrt(left);
    for (Index r = 0; r <= d; ++r) R[triangle_size(r)] *= root;
    return left;
}

// All levels wander by steps of this variance, in variances of a loss. `lost` counts the losses
// that are forgotten by this, as degrees of freedom: where all that was known of a level is lost,
// one.
inline void let_wander(const Regression& all, double steps, Reals lost) {
    for (Index i = 0; i < all.criteria(); ++i) {
        const double first = all.phi[all.offsets[i]];
        const double variance = steps / (first * first);
        shrink(all.factor(i), all.dim(i), variance);
        double* alone = &all.alone[all.blocks[i]];
        if (alone[0] > 0.0) lost[i] += 1.0 - shrink(alone, all.dim(i), variance);
    }
}

// The last epochs of some criteria, and what counts as known of these.
struct Diary {
    ConstIndices criteria;
    ConstReals phi;     // by epoch, the features of one criterion after another
    ConstReals n;       // by epoch and criterion: how often it was observed
    ConstReals losses;  // and their mean
    ConstReals rounds;  // since the epoch before
    ConstReals sigma;   // by criterion
    ConstReals misfit;  // by which the basis may miss the mean loss of an epoch
    double far;         // squared standard deviations: an epoch that is farther off counts as this

    // The log likelihood of each epoch given those before, added up, if levels wander by g.
    double likelihood(const Regression& all, double g) const {
        Sweep sweep(all.widest(criteria) + 1);
        Room<double> R(triangle_size(all.widest(criteria) + 1));
        const Index width = rounds.empty() ? 0 : size_of(phi) / size_of(rounds);
        double sum = 0.0;
        Index first = 0;
        for (Index c = 0; c < size_of(criteria); ++c) {
            const Index i = criteria[c];
            std::copy(&all.R0[all.blocks[i]],
                      &all.R0[all.blocks[i]] + triangle_size(all.dim(i) + 1), R.view().data());
            sum += of_criterion(c, g, all.dim(i), width, first, R.view().data(), sweep);
            first += all.dim(i);
        }
        return sum;
    }

private:
    // That of criterion c, whose factor R starts where it did before any data.
    double of_criterion(Index c, double g, Index d, Index width, Index first, double* R,
                        Sweep& sweep) const {
        double sum = 0.0;
        bool seen = false;
        for (Index t = 0; t < size_of(rounds); ++t) {
            const double* x = &phi[t * width + first];
            const double times = n[t * size_of(criteria) + c];
            const double y = losses[t * size_of(criteria) + c];
            if (seen) shrink(R, d, g * rounds[t] / (x[0] * x[0]));
            if (times == 0.0) continue;
            const auto expected = mean_and_spread(R, x, d, sweep.x.view().data());
            if (seen) {
                const double variance =
                    sigma[c] * sigma[c] * (1.0 / times + expected.spread) + misfit[c] * misfit[c];
                const double off = y - expected.mean;
                sum -= 0.5 * (std::log(variance) + std::min(off * off / variance, far));
            }
            seen = true;
            set_datum(x, y, times, d, sweep);
            add_datum(R, d + 1, sweep);
        }
        return sum;
    }
};

}  // namespace trimtab
