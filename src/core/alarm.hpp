// The alarm of a prior: src/trimtab/policies/alarm.py has the test.
#pragma once

#include <algorithm>
#include <cmath>

#include "regression.hpp"

namespace trimtab {

struct Alarm {
    ConstReals sigma;   // (m,)
    ConstReals misfit;  // (m,) in variances of one loss
    double g;           // by how much levels wander
    Index few;          // losses that are needed before they are compared,
    Index enough;       // and of the past before they are compared with what is expected
    // What was heard before, (m,) each; it becomes what the next test needs.
    Reals earlier;  // how many losses came before this segment,
    Reals mean;     // and their mean
    Reals begun;    // how many of this epoch,
    Reals total;    // and their sum

    // Fill in by how many standard deviations each criterion is off, 0 where nothing can be
    // compared, and whether it was compared with its own earlier losses. How many were compared.
    Index compare(const Regression& stats, Reals far, std::span<bool> own) const {
        Index known = 0;
        for (Index i = 0; i < stats.criteria(); ++i) {
            const Index count = stats.common() + stats.n[i];
            const double now = static_cast<double>(count), least = static_cast<double>(few);
            const double sum = now * stats.shift[i] + stats.total[i], fresh = now - begun[i];
            const double apart = (sum - total[i]) / std::max(fresh, 1.0) - mean[i];
            const double all = earlier[i] + fresh;
            own[i] = fresh >= least && earlier[i] >= least;
            far[i] = 0.0;
            if (own[i]) {
                const double variance = 1.0 / fresh + 1.0 / earlier[i] + g * all / 3.0;
                far[i] = std::abs(apart) / (sigma[i] * std::sqrt(variance));
                ++known;
            } else if (count >= few && stats.seen[i] >= enough) {
                const double expected =
                    stats.mean[i] + (stats.offset.empty() ? 0.0 : stats.offset[i]);
                const double variance = 1.0 / now + stats.spread[i] + misfit[i] + g * now;
                far[i] = std::abs(sum / now - expected) / (sigma[i] * std::sqrt(variance));
                ++known;
            }
            mean[i] += fresh * apart / std::max(all, 1.0);
            earlier[i] = all;
            begun[i] = now;
            total[i] = sum;
        }
        return known;
    }
};

}  // namespace trimtab
