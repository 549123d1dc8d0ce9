// Search for monomial bases: exact one-dimensional steps, from several starts.
//
// A *descent* takes one knob after another to its best place, all others fixed, and comes back to
// those whose criteria have changed since. It ends in a state that no single knob can improve.
// Until it is clear which minimum to settle in, gains that are small against the width are left
// alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "hash_rng.hpp"
#include "line_search.hpp"
#include "neighbourhood.hpp"
#include "objective.hpp"
#include "views.hpp"

namespace trimtab {

constexpr double TIED = 1e-9;  // times |F|: candidates this close to the best value are equal

// Whether to take x of value fx rather than y of value fy.
//
// Of two that are tied the one nearer to the current state is taken, in l1, and nothing is nearer
// than that state itself. What is still tied goes to the first in lexicographic order, so that
// two runs cannot part over a tie.
inline bool better(ConstReals x, double fx, ConstReals y, double fy, ConstReals current) {
    if (!(std::abs(fx - fy) <= TIED * std::max(std::abs(fx), std::abs(fy))))
        return fx < fy;  // also where one is no number
    double far_x = 0.0, far_y = 0.0;
    for (std::size_t j = 0; j < current.size(); ++j) {
        far_x += std::abs(x[j] - current[j]);
        far_y += std::abs(y[j] - current[j]);
    }
    if (far_x == 0.0 || far_y == 0.0 || std::abs(far_x - far_y) > TIED) return far_x < far_y;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
}

// Which of several candidates to take: of those tied with the best the one that `better` takes.
//
// Deviation: the paper's argmin does not say which of several minimisers to take, though before any
// data there are many.
inline std::size_t choose(const std::vector<ConstReals>& states, ConstReals values,
                          ConstReals current) {
    const double least = *std::min_element(values.begin(), values.end());
    std::size_t taken = values.size();
    for (std::size_t c = 0; c < values.size(); ++c)
        if (values[c] <= least + TIED * std::abs(least) &&
            (taken == values.size() || better(states[c], least, states[taken], least, current)))
            taken = c;
    return taken < values.size() ? taken : 0;  // where none is a number
}

// A search of some free knobs, on its way from state to state.
class Search {
public:
    explicit Search(const Objective& objective) : at(objective), place_(objective.knobs()) {}

    Position at;
    Index steps = 0;  // one-dimensional minimisations so far

    std::size_t bytes() const { return at.bytes() + place_.bytes(); }

    // Prepare for these knobs, all whose readers are the criteria given.
    void begin(ConstIndices knobs, ConstIndices criteria) {
        const Objective& F = at.objective();
        for (const Index i : criteria)
            for (const Index j : F.scope_of(i)) place_[j] = -1;
        for (Index n = 0; n < size_of(knobs); ++n) place_[knobs[n]] = n;
        knobs_ = knobs;
        criteria_ = criteria;
        at.prepare(criteria);
        queue_.clear();
        waiting_.assign(knobs.size(), false);
        steps = 0;
    }

    // Go down from s by single knobs until none gains more than this share of its width; G there.
    double descend(double coarse) {
        const double start = value();
        for (Index n = 0; n < size_of(knobs_); ++n) remind(n);
        return start - go_down(coarse, MOST_PER_KNOB * size_of(knobs_));
    }

    // G at s, from scratch.
    double value() {
        double sum = at.refresh(criteria_);
        for (const Index j : knobs_) sum += at.toll(j);
        return sum;
    }

private:
    static constexpr Index MOST_PER_KNOB = 500;  // steps of a descent

    // Put the n-th free knob at the end of the queue, if it is not there.
    void remind(Index n) {
        if (waiting_[n]) return;
        waiting_[n] = true;
        queue_.push_back(n);
    }

    // Take knobs off the queue until it is empty; what was gained.
    double go_down(double coarse, Index most) {
        const Objective& F = at.objective();
        double gained = 0.0;
        for (Index n = 0; n < most && !queue_.empty(); ++n, ++steps) {
            const Index j = knobs_[queue_.front()];
            waiting_[queue_.front()] = false;
            queue_.pop_front();
            at.face(j);
            const Step step = least(at.line, at.s[j], F.low[j], F.high[j], F.levels_of(j), coarse);
            if (step.x == at.s[j]) continue;
            gained += step.gain;
            at.move(j, step.x);
            for (const Index i : F.readers_of(j))
                for (const Index other : F.scope_of(i))
                    if (other != j && place_[other] >= 0) remind(place_[other]);
        }
        queue_.clear();
        waiting_.assign(waiting_.size(), false);
        return gained;
    }

    Room<Index> place_;        // (k,) of a knob among the free ones, -1 if it is not free
    ConstIndices knobs_;       // the free ones
    ConstIndices criteria_;    // that read them
    std::deque<Index> queue_;  // free knobs still to look at
    std::vector<bool> waiting_;
};

// The seed of the n-th solve after one with this seed, modulo 2^63.
inline Index later_seed(Index seed, Index n) {
    const auto next = static_cast<std::uint64_t>(seed) + static_cast<std::uint64_t>(n);
    return static_cast<Index>(next & std::numeric_limits<Index>::max());
}

// When a search of n knobs has looked long enough.
struct Effort {
    Effort(double effort, Index n)
        : steps(times(effort, std::min(600.0 + 12.0 * static_cast<double>(n), 1000.0))),
          agreed(times(effort, n <= FEW ? 30.0 : 5.0)) {}

    Index steps;   // after which there are no more random starts; 0 for one descent
    Index agreed;  // starts that lead to the best value again

private:
    static constexpr Index FEW = 8;  // knobs for which starts are cheap

    static Index times(double effort, double work) {
        return static_cast<Index>(std::ceil(std::min(effort * work, 0x1p40)));
    }
};

// The best state that was found, of the free knobs only.
struct Minimum {
    std::vector<double> state;
    double value;
    Index steps;
};

// The best of descents from where the search is, and from random points and corners in turn as
// long as there is effort for them and they do not agree; ties go to the current state.
class MultiStart {
public:
    MultiStart(Search& search, ConstIndices knobs, ConstIndices criteria, Index seed)
        : search_(search), knobs_(knobs), seed_(seed) {
        search.begin(knobs, criteria);
        for (const Index j : knobs) now_.push_back(search.at.current[j]);
    }

    Minimum operator()(Effort effort) {
        if (effort.steps > 0 && knobs_.size() > 1) put(best_of_starts(effort));
        double value = search_.descend(0.0);
        std::vector<double> state = taken();
        put(now_);
        const double at_now = search_.value();
        if (better(now_, at_now, state, value, now_)) {
            state = now_;
            value = at_now;
        }
        return {std::move(state), value, search_.steps};
    }

private:
    static constexpr Index MOST_STARTS = 64;
    static constexpr double ROUGH = 2e-3;  // of the width: gains left alone until the last descent
    static constexpr double SAME = 1e-6;   // of the value: starts this close to each other agree

    std::vector<double> best_of_starts(Effort effort) {
        std::vector<std::vector<double>> found;
        std::vector<double> values;
        double best = std::numeric_limits<double>::infinity();
        Index again = 0;
        for (Index c = 0; c <= MOST_STARTS; ++c) {
            if (c > 0 && (search_.steps >= effort.steps || again >= effort.agreed)) break;
            if (c > 0) throw_all(c);
            const double value = search_.descend(ROUGH);
            if (c == 0 || value < best - SAME * std::abs(best))
                again = 0;
            else if (value <= best + SAME * std::abs(best))
                ++again;
            best = std::min(best, value);
            found.push_back(taken());
            values.push_back(value);
        }
        return found[choose({found.begin(), found.end()}, values, now_)];
    }

    // Put the knobs where the c-th descent starts: anywhere, or for odd c in a corner.
    void throw_all(Index c) {
        const Objective& F = search_.at.objective();
        for (const Index j : knobs_) {
            const double x = uniform(seed_, c, j);
            const ConstReals levels = F.levels_of(j);
            double& s = search_.at.s[j];
            if (c % 2 == 1)
                s = x < 0.5 ? F.low[j] : F.high[j];
            else if (!levels.empty())
                s = levels[static_cast<std::size_t>(x * static_cast<double>(levels.size()))];
            else
                s = std::min(F.low[j] + x * (F.high[j] - F.low[j]), F.high[j]);
        }
    }

    void put(const std::vector<double>& state) {
        for (std::size_t n = 0; n < knobs_.size(); ++n) search_.at.s[knobs_[n]] = state[n];
    }

    std::vector<double> taken() const {
        std::vector<double> state;
        for (const Index j : knobs_) state.push_back(search_.at.s[j]);
        return state;
    }

    Search& search_;
    ConstIndices knobs_;
    Index seed_;
    std::vector<double> now_;
};

// Leave s at the best state found of every part; the sum of their values.
inline double search_parts(Search& search, const Neighbourhood& parts, double effort, Index seed) {
    double sum = 0.0;
    for (Index p = 0; p < parts.parts(); ++p) {
        const ConstIndices knobs = parts.knobs(p);
        const Minimum found =
            MultiStart(search, knobs, parts.criteria(p), seed)(Effort(effort, size_of(knobs)));
        for (std::size_t n = 0; n < knobs.size(); ++n) search.at.s[knobs[n]] = found.state[n];
        sum += found.value;
    }
    return sum;
}

}  // namespace trimtab
