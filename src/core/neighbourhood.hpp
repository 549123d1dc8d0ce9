// What a trigger concerns (Section 5.1): the knobs it frees, who reads them, and in which parts.
//
// Members are told by the number of the search in which they were last met, so that nothing has to
// be cleared, and a search costs what it finds.
#pragma once

#include <algorithm>
#include <vector>

#include "views.hpp"

namespace trimtab {

class Neighbourhood {
public:
    Neighbourhood(ConstIndices scope_offsets, ConstIndices scope, ConstIndices touch_offsets,
                  ConstIndices touch)
        : scope_offsets_(scope_offsets),
          scope_(scope),
          touch_offsets_(touch_offsets),
          touch_(touch),
          knob_met_(touch_offsets.size() - 1, 0),
          criterion_met_(scope_offsets.size() - 1, 0) {}

    // Free what these criteria read.
    void find(ConstIndices around) {
        reads_.clear();
        for (const Index i : around)
            for (const Index j : scope_of(i)) reads_.push_back(j);
        free(reads_);
    }

    // Find the parts of these knobs, which share no criterion; they are in the knobs' order.
    void free(ConstIndices knobs) {
        knobs_.clear();
        criteria_.clear();
        knob_ends_.assign(1, 0);
        criterion_ends_.assign(1, 0);
        const Index search = ++number_;
        for (const Index j : knobs) knob_met_[j] = search;
        for (const Index j : knobs)
            if (knob_met_[j] == search) gather(j, search);
        affected_ = criteria_;
        std::sort(affected_.begin(), affected_.end());
    }

    Index parts() const { return size_of(std::span(knob_ends_)) - 1; }
    ConstIndices knobs() const { return knobs_; }        // freed, part after part
    ConstIndices criteria() const { return criteria_; }  // that read them, part after part
    ConstIndices knob_ends() const { return knob_ends_; }
    ConstIndices criterion_ends() const { return criterion_ends_; }
    ConstIndices affected() const { return affected_; }  // all that read them, ascending
    ConstIndices knobs(Index part) const {
        return slice(ConstIndices(knobs_), knob_ends_[part], knob_ends_[part + 1]);
    }
    ConstIndices criteria(Index part) const {
        return slice(ConstIndices(criteria_), criterion_ends_[part], criterion_ends_[part + 1]);
    }
    std::size_t bytes() const {
        return (knob_met_.size() + criterion_met_.size() + knobs_.capacity() +
                criteria_.capacity() + affected_.capacity()) *
               sizeof(Index);
    }

private:
    ConstIndices scope_of(Index i) const {
        return slice(scope_, scope_offsets_[i], scope_offsets_[i + 1]);
    }
    ConstIndices readers_of(Index j) const {
        return slice(touch_, touch_offsets_[j], touch_offsets_[j + 1]);
    }

    // The part of knob `start`: knobs freed by the search, linked by criteria that read them.
    void gather(Index start, Index search) {
        const std::size_t first = knobs_.size(), begin = criteria_.size();
        const Index number = ++number_;
        knobs_.push_back(start);
        knob_met_[start] = number;
        for (std::size_t at = first; at < knobs_.size(); ++at)
            for (const Index i : readers_of(knobs_[at])) {
                if (criterion_met_[i] == number) continue;
                criterion_met_[i] = number;
                criteria_.push_back(i);
                for (const Index other : scope_of(i))
                    if (knob_met_[other] == search) {
                        knob_met_[other] = number;
                        knobs_.push_back(other);
                    }
            }
        std::sort(knobs_.begin() + static_cast<Index>(first), knobs_.end());
        std::sort(criteria_.begin() + static_cast<Index>(begin), criteria_.end());
        knob_ends_.push_back(static_cast<Index>(knobs_.size()));
        criterion_ends_.push_back(static_cast<Index>(criteria_.size()));
    }

    ConstIndices scope_offsets_, scope_, touch_offsets_, touch_;
    std::vector<Index> knob_met_, criterion_met_;  // the search or part that met them last
    Index number_ = 0;  // of the last search or part; none is given twice
    std::vector<Index> reads_, knobs_, criteria_, affected_, knob_ends_, criterion_ends_;
};

}  // namespace trimtab
