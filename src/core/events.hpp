// From event to event: the asynchronous policy in a world with Gaussian noise.
//
// An event is a round in which criteria trigger. Between two events nothing but counters changes;
// at an event the losses of the criteria concerned are drawn, as sums over all rounds since their
// last flush, and the knobs around them are searched. What this does not know, reviews and parts
// that are linear in their knobs, it hands back, event by event.
#pragma once

#include <algorithm>
#include <vector>

#include "draws.hpp"
#include "local_update.hpp"
#include "views.hpp"

namespace trimtab {

// Where a run is.
struct Clock {
    Index t, stop;        // rounds played, and the last one to play
    Index clock, review;  // the policy's rounds, and when it reviews
};

// A run on its way, and what it has recorded since it was last looked at.
class Events {
public:
    enum class Status { done, full, ask, failed };

    Events(LocalUpdate& local, ConstReals theta, ConstReals sigma)
        : attributions(static_cast<std::size_t>(local.regression().criteria())),
          local_(local),
          theta_(theta),
          sigma_(sigma) {}

    Clock at{};
    double bound = 0.0;                 // of the regret so far
    double bound_per_round = 0.0;       // and of that of a round
    Index solves = 0, first_solve = 0;  // so far, and the round of the first
    std::vector<Index> attributions;    // (m,)
    std::vector<Index> ends;            // the last round of each stretch at one state
    std::vector<double> rates;          // the expected total loss of a round in it
    std::vector<Index> offsets;         // where the knobs changed after it begin
    std::vector<Index> changed;
    std::vector<double> values;

    // Event after event, until something else is to be done.
    Status run(Clock begin, double rate, double bound_so_far, double per_round, double factor,
               double effort, Index seed, Draws draws) {
        at = begin;
        effort_ = effort;
        seed_ = seed;
        bound = bound_so_far;
        bound_per_round = per_round;
        rate_ = {rate, 0.0};
        ends.assign(1, at.t);
        rates.assign(1, rate);
        offsets.assign(1, 0);
        while (true) {
            if (const auto why = advance(); why != Step::event)
                return why == Step::ask ? Status::ask : Status::done;
            draw(draws);
            if (!act(factor)) return Status::failed;
            if (ends.size() > STRETCHES || changed.size() >= CHANGES) return Status::full;
        }
    }

private:
    static constexpr std::size_t STRETCHES = 1 << 14, CHANGES = 1 << 17;  // between two visits
    enum class Step { event, ask, done };

    // Let rounds pass up to the next event, and find whom it concerns.
    Step advance() {
        if (at.t >= at.stop) return Step::done;
        const Regression& sums = local_.regression();
        const Index passed = std::min(
            {sums.queue.next_round() - sums.common(), at.review - at.clock, at.stop - at.t});
        at.t += passed;
        at.clock += passed;
        sums.skip(passed);
        bound += static_cast<double>(passed) * bound_per_round;
        ends.back() = at.t;
        if (at.clock >= at.review) return Step::ask;
        due_.clear();
        sums.queue.list_due(sums.common(), due_);
        if (due_.empty()) return Step::done;
        local_.parts.find(due_);
        return local_.any_linear() ? Step::ask : Step::event;
    }

    // The losses owed to the criteria concerned: first all means, then all squares.
    void draw(Draws& draws) {
        const ConstIndices affected = local_.parts.affected();
        mean_.assign(affected.size(), 0.0);
        squares_.assign(affected.size(), 0.0);
        for (std::size_t c = 0; c < affected.size(); ++c)
            if (const Index n = owed(affected[c]); n > 0)
                mean_[c] = expected(affected[c]) + draws.mean_of(n, sigma_[affected[c]]);
        for (std::size_t c = 0; c < affected.size(); ++c)
            if (const Index n = owed(affected[c]); n > 0)
                squares_[c] = draws.squares_of(n, sigma_[affected[c]]);
    }

    // Take in the losses drawn, move, and record it; false where values are not finite.
    bool act(double factor) {
        const ConstIndices affected = local_.parts.affected();
        local_.regression().add_owed(affected, mean_, squares_);
        add_rates(affected, -1.0);
        const bool finite = local_.update(due_, factor, effort_, later_seed(seed_, solves));
        add_rates(affected, 1.0);
        if (!finite) return false;
        if (solves++ == 0) first_solve = at.t;
        for (const Index i : due_) ++attributions[i];
        bound_per_round = 2.0 * local_.width.total();
        if (!local_.moved().empty()) record();
        return true;
    }

    void record() {
        for (const Index j : local_.moved()) {
            changed.push_back(j);
            values.push_back(local_.state()[j]);
        }
        offsets.push_back(static_cast<Index>(changed.size()));
        ends.push_back(at.t);
        rates.push_back(rate_.total());
    }

    Index owed(Index i) const {
        return local_.regression().skipped() + local_.regression().owed[i];
    }

    void add_rates(ConstIndices criteria, double sign) {
        for (const Index i : criteria)
            rate_.add(sign * local_.objective().weights[i] * expected(i));
    }

    // The expected loss of criterion i at the deployed state.
    double expected(Index i) const {
        const Regression& known = local_.regression();
        double x = 0.0;
        for (Index f = known.offsets[i]; f < known.offsets[i + 1]; ++f)
            x += known.phi[f] * theta_[f];
        return x;
    }

    LocalUpdate& local_;
    double effort_ = 0.0;     // of a search
    Index seed_ = 0;          // of the first solve
    ConstReals theta_;        // (sum d,) the world's
    ConstReals sigma_;        // (m,) its noise
    LongSum rate_;            // the expected total loss of a round
    std::vector<Index> due_;  // who triggers
    std::vector<double> mean_, squares_;
};

}  // namespace trimtab
