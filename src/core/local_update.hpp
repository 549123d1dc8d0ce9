// The local update of Section 5.1: the criteria that trigger free the knobs they read, everybody
// who reads those is flushed, and the knobs move to where a search of their parts leads.
#pragma once

#include <cmath>
#include <vector>

#include "descent.hpp"
#include "objective.hpp"
#include "regression.hpp"
#include "views.hpp"

namespace trimtab {

// A sum in two parts, the second what rounding leaves out of the first (Neumaier).
struct LongSum {
    double sum = 0.0, rest = 0.0;

    void add(double x) {
        const double after = sum + x;
        rest += std::abs(sum) >= std::abs(x) ? (sum - after) + x : (x - after) + sum;
        sum = after;
    }
    double total() const { return sum + rest; }
};

// Radii that grow with what is learned: beta_i = sigma_i sqrt(gain_i + extra) + sqrt(reg_i) norm_i,
// the log-det form of Lemma 1 with extra = 2 log(m / delta). Empty where they do not grow.
struct GrowingRadii {
    ConstReals sigma, norm;  // (m,)
    double extra = 0.0;
};

class LocalUpdate {
public:
    LocalUpdate(const Regression& regression, const Objective& objective, Reals radii,
                GrowingRadii growing)
        : parts(objective.scope_offsets, objective.scope, objective.touch_offsets, objective.touch),
          regression_(regression),
          objective_(objective),
          radii_(radii),
          growing_(growing),
          search_(objective_) {}

    LocalUpdate(const LocalUpdate&) = delete;
    LocalUpdate& operator=(const LocalUpdate&) = delete;

    Neighbourhood parts;  // of the last `find`
    LongSum width;        // W at the deployed state

    const Regression& regression() const { return regression_; }
    const Objective& objective() const { return objective_; }
    ConstReals state() const { return search_.at.current.view(); }
    ConstIndices moved() const { return moved_; }  // knobs, ascending, by the last update
    std::size_t bytes() const { return search_.bytes() + parts.bytes(); }

    // The state is this, and its width.
    void begin(ConstReals state, double width_there) {
        std::copy(state.begin(), state.end(), &search_.at.s[0]);
        std::copy(state.begin(), state.end(), &search_.at.current[0]);
        std::fill_n(&search_.at.price[0], search_.at.price.size(), 0.0);
        width = {width_there, 0.0};
    }

    // Whether some part is linear in its knobs, so that its minimum is a matter of vertices.
    bool any_linear() const {
        for (Index p = 0; p < parts.parts(); ++p)
            if (objective_.maps.all_linear(parts.criteria(p), parts.knobs(p))) return true;
        return false;
    }

    // Free the parts found and reset the clocks of those that triggered. Nothing may be owed to the
    // criteria concerned. False where values are beyond floating point: nothing moves then, and no
    // clock is reset.
    bool update(ConstIndices triggered, double factor, double effort, Index seed) {
        const ConstIndices affected = parts.affected();
        widen(affected, -1.0);
        regression_.flush(affected);
        if (!growing_.sigma.empty()) grow(affected);
        const bool finite = std::isfinite(search_parts(search_, parts, effort, seed));
        settle(finite);
        if (finite)
            for (const Index i : triggered) regression_.since[i] = 0.0;
        regression_.deploy(objective_.maps, &search_.at.current[0], affected, factor);
        widen(affected, 1.0);
        return finite;
    }

private:
    // Deploy where the knobs are now, or put them back.
    void settle(bool finite) {
        moved_.clear();
        for (const Index j : parts.knobs()) {
            double &s = search_.at.s[j], &current = search_.at.current[j];
            if (!finite) {
                s = current;
            } else if (s != current) {
                current = s;
                moved_.push_back(j);
            }
        }
        std::sort(moved_.begin(), moved_.end());
    }

    void grow(ConstIndices criteria) {
        for (const Index i : criteria) {
            const double bias = std::sqrt(regression_.reg[i]) * growing_.norm[i];
            radii_[i] = growing_.sigma[i] * std::sqrt(regression_.gain[i] + growing_.extra) + bias;
        }
    }

    // Add the widths of these criteria to that of the state, or take them away.
    void widen(ConstIndices criteria, double sign) {
        for (const Index i : criteria)
            width.add(sign * objective_.weights[i] * objective_.radii[i] *
                      std::sqrt(regression_.spread[i]));
    }

    Regression regression_;
    Objective objective_;
    Reals radii_;  // the objective's own
    GrowingRadii growing_;
    Search search_;
    std::vector<Index> moved_;
};

}  // namespace trimtab
