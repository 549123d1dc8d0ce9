// Whether moves pay: the search of a look in which every move has its price.
//
// With s' deployed and n rounds to come the state to take minimises
//
//     F(s) + sum_j price_j |s_j - s'_j| / n,        n >= n*(s),
//
// where n*(s) counts the rounds until the next trigger at s: n doubles until it suffices.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "descent.hpp"
#include "objective.hpp"
#include "regression.hpp"
#include "views.hpp"

namespace trimtab {

class Weighing {
public:
    // Moves begin at `now`, cost `price` per unit of each knob, and pay within `limit` rounds.
    Weighing(const Objective& objective, ConstReals now, ConstReals price, Index limit,
             double factor)
        : objective_(objective),
          parts_(objective.scope_offsets, objective.scope, objective.touch_offsets,
                 objective.touch),
          search_(objective_),
          now_(now),
          price_(price),
          limit_(limit),
          factor_(factor),
          room_(static_cast<std::size_t>(objective.widest)) {
        for (Index i = 0; i < objective.criteria(); ++i) all_.push_back(i);
        parts_.find(all_);
    }

    Weighing(const Weighing&) = delete;
    Weighing& operator=(const Weighing&) = delete;

    std::vector<double> free;  // the best state were moves free,
    double value = 0.0;        // and F there
    std::vector<double> best;  // the one to take
    Index rounds = 0;          // within which it pays
    Index solves = 0;

    // Whether every part has minimisers that only a search finds.
    bool is_curved() const {
        for (Index p = 0; p < parts_.parts(); ++p)
            if (!objective_.is_curved(parts_.knobs(p), parts_.criteria(p))) return false;
        return true;
    }

    // Begin with this number of rounds, or with n*(now) if it is 0.
    void weigh(Index first, double effort, Index seed) {
        value = search(free, 0.0, effort, seed);
        rounds = first > 0 ? first : rounds_at(now_);
        while (true) {
            best = free;
            if (std::any_of(price_.begin(), price_.end(), [](double x) { return x != 0.0; })) {
                std::vector<double> found;
                const double least = search(found, static_cast<double>(rounds), effort, seed);
                if (!(value + toll(free) < least)) best = std::move(found);
            }
            const Index needed = rounds_at(best);
            if (needed <= rounds) return;
            rounds = std::min(std::max(2 * rounds, needed), limit_);
        }
    }

    // Take back the moves that hardly matter, the smallest first. What is given up, all together,
    // is at most this share of the width.
    void prune(double share) {
        const auto [_, widths] = terms(best);
        double left = share * std::accumulate(widths.begin(), widths.end(), 0.0);
        std::vector<std::pair<double, Index>> steps;
        for (Index j = 0; j < objective_.knobs(); ++j)
            if (const double step = std::abs(best[j] - now_[j]); step > 0.0)
                steps.emplace_back(step, j);
        std::sort(steps.begin(), steps.end());
        for (const auto& [step, j] : steps) {
            const ConstIndices readers = objective_.readers_of(j);
            const double before = objective_.value(readers, best.data(), room_.data());
            const double there = std::exchange(best[j], now_[j]);
            const double after = objective_.value(readers, best.data(), room_.data());
            const double loss = after - before - price_[j] / static_cast<double>(rounds) * step;
            if (loss <= left)
                left -= loss;
            else
                best[j] = there;
        }
    }

    // Go to the best state, with all clocks reset; not where values are beyond floating point.
    void deploy(const Regression& all) {
        if (!std::isfinite(value)) return;
        std::fill(all.since.begin(), all.since.end(), 0.0);
        all.deploy(objective_.maps, best.data(), all_, factor_);
    }

    // The parts of F at a state, weights included: estimated losses and widths.
    std::pair<std::vector<double>, std::vector<double>> terms(ConstReals state) {
        std::vector<double> means, widths;
        for (const Index i : all_) {
            const auto found = objective_.predict(i, state.data(), room_.data());
            means.push_back(objective_.weights[i] * found.mean);
            widths.push_back(objective_.weights[i] * objective_.radii[i] * std::sqrt(found.spread));
        }
        return {std::move(means), std::move(widths)};
    }

private:
    // The best state of all parts with prices over this number of rounds, or with none; G there.
    double search(std::vector<double>& found, double over, double effort, Index seed) {
        std::copy(now_.begin(), now_.end(), &search_.at.s[0]);
        std::copy(now_.begin(), now_.end(), &search_.at.current[0]);
        for (Index j = 0; j < objective_.knobs(); ++j)
            search_.at.price[j] = over > 0.0 ? price_[j] / over : 0.0;
        const double least = search_parts(search_, parts_, effort, later_seed(seed, solves++));
        const ConstReals state = search_.at.s.view();
        found.assign(state.begin(), state.end());
        return least;
    }

    double toll(const std::vector<double>& state) const {
        double sum = 0.0;
        for (Index j = 0; j < objective_.knobs(); ++j)
            sum += price_[j] / static_cast<double>(rounds) * std::abs(state[j] - now_[j]);
        return sum;
    }

    // n*: how many rounds the state would stay, as far as the limit allows.
    Index rounds_at(ConstReals state) {
        double widest = 0.0;
        for (const Index i : all_)
            widest = std::max(widest, objective_.predict(i, state.data(), room_.data()).spread);
        return std::clamp<Index>(rounds_to_trigger(widest, 0.0, factor_), 1, limit_);
    }

    const Objective& objective_;
    Neighbourhood parts_;
    Search search_;
    ConstReals now_, price_;
    Index limit_;
    double factor_;
    std::vector<Index> all_;
    std::vector<double> room_;
};

}  // namespace trimtab
