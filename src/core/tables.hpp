// The lower confidence bound as a sum of tables over candidate values of the free knobs.
//
// A criterion's term depends on the knobs of its own scope only, so it is a table over their
// candidates.
#pragma once

#include <algorithm>
#include <vector>

#include "objective.hpp"
#include "views.hpp"

namespace trimtab {

// The candidates of each free knob.
struct Candidates {
    ConstIndices knobs;   // (n,) the free ones, ascending
    ConstIndices firsts;  // (n + 1,) where the candidates of a knob begin
    ConstReals values;

    // Those of knob j, none where it is not free.
    ConstReals of(Index j) const {
        const auto place = std::lower_bound(knobs.begin(), knobs.end(), j);
        if (place == knobs.end() || *place != j) return {};
        const Index n = place - knobs.begin();
        return slice(values, firsts[n], firsts[n + 1]);
    }
};

// The tables of these criteria, one after another, each in C order over the free knobs of its
// scope; other knobs are as in `state`.
inline std::vector<double> tabulate(const Objective& F, const Candidates& from,
                                    ConstIndices criteria, ConstReals state) {
    Position at(F);
    std::copy(state.begin(), state.end(), &at.s[0]);
    at.prepare(criteria);
    std::vector<double> tables;
    std::vector<Index> scope;
    for (Index c = 0; c < size_of(criteria); ++c) {
        scope.clear();
        Index size = 1;
        for (const Index j : F.scope_of(criteria[c]))
            if (const ConstReals mine = from.of(j); !mine.empty()) {
                scope.push_back(j);
                size *= size_of(mine);
            }
        for (Index entry = 0; entry < size; ++entry) {
            Index rest = entry;
            for (std::size_t p = scope.size(); p-- > 0;) {
                const ConstReals mine = from.of(scope[p]);
                at.s[scope[p]] = mine[rest % size_of(mine)];
                rest /= size_of(mine);
            }
            tables.push_back(at.refresh(slice(criteria, c, c + 1)));
        }
        for (const Index j : scope) at.s[j] = state[j];
    }
    return tables;
}

}  // namespace trimtab
