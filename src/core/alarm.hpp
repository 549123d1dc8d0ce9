// The alarm of a prior: src/trimtab/policies/alarm.py has the test.
#pragma once

#include <algorithm>
#include <cmath>

#include "regression.hpp"

namespace trimtab {

struct Alarm {
    static constexpr double FEW = 3.0;     // losses that are compared with as many of their own,
    static constexpr double ALONE = 4.0;   // and those before a criterion rings alone
    static constexpr double MOST = 3.0;    // deviations that one criterion counts among many
    static constexpr double BEFORE = 4.0;  // tests, all as expected, that precede the first one
    static constexpr double KEPT = 32.0;   // tests that tell what is usual,
    static constexpr double USUAL = 4.0;   // and the most that a squared deviation counts there
    static constexpr double LEAST = 0.25;  // of the expected variance: less is never usual

    ConstReals sigma;   // (m,)
    ConstReals misfit;  // (m,) in variances of one loss
    double g;           // by how much levels wander
    Index enough;       // losses of the past before they are compared with what is expected
    // What was heard before, (m,) each; it becomes what the next test needs.
    Reals earlier;  // how many losses came before this segment,
    Reals mean;     // and their mean
    Reals tests;    // how often the criterion was compared,
    Reals squares;  // and its squared deviations, added up
    Reals begun;    // how many losses of this epoch came before this segment,
    Reals total;    // and their sum

    struct Found {
        Index known = 0;       // criteria that were compared
        double sum = 0.0;      // of their deviations, none counted as more than `MOST`,
        double squares = 0.0;  // and of these squared
    };

    // Fill in by how many standard deviations each criterion is off, in units of what is usual
    // there, 0 where nothing can be compared; and those that are off from losses of their own.
    Found compare(const Regression& stats, Reals far, Reals alone) const {
        Found found;
        for (Index i = 0; i < stats.criteria(); ++i) {
            far[i] = alone[i] = 0.0;
            const Index count = stats.common() + stats.n[i];
            const double now = static_cast<double>(count), fresh = now - begun[i];
            if (fresh <= 0.0) continue;
            const double sum = now * stats.shift[i] + stats.total[i];
            const double loss = (sum - total[i]) / fresh, all = earlier[i] + fresh;
            const double apart = loss - mean[i];
            const bool own = earlier[i] >= FEW;
            if (own && fresh < FEW) continue;  // the segment goes on
            if (own || stats.seen[i] >= enough) {
                const double off = own ? apart : loss - expected(stats, i);
                const double variance =
                    own ? 1.0 / earlier[i] + g * all / 3.0 : stats.spread[i] + misfit[i] + g * now;
                const double unsure =
                    1.0 + 3.0 / (static_cast<double>(stats.seen[i] + count) + 1.0);
                const double z = off / (unsure * sigma[i] * std::sqrt(1.0 / fresh + variance));
                const double usual = (BEFORE + squares[i]) / (BEFORE + tests[i]);
                far[i] = z / std::sqrt(std::max(usual, LEAST));
                if (stats.seen[i] >= enough && std::min(earlier[i], fresh) >= ALONE)
                    alone[i] = z / std::sqrt(std::max(usual, 1.0));
                const double near = std::clamp(far[i], -MOST, MOST);
                ++found.known;
                found.sum += near;
                found.squares += near * near;
                remember(i, std::min(z * z, USUAL));
            }
            mean[i] += fresh * apart / all;
            earlier[i] = all;
            begun[i] = now;
            total[i] = sum;
        }
        return found;
    }

private:
    static double expected(const Regression& stats, Index i) {
        return stats.mean[i] + (stats.offset.empty() ? 0.0 : stats.offset[i]);
    }

    // One more squared deviation; old ones count less and less.
    void remember(Index i, double square) const {
        const double kept = std::min(1.0, KEPT / (tests[i] + 1.0));
        tests[i] = (tests[i] + 1.0) * kept;
        squares[i] = (squares[i] + square) * kept;
    }
};

}  // namespace trimtab
