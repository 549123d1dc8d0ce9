// The lower confidence bound as a sum of tables over candidate values of the free knobs.
//
// A criterion's term depends on the knobs of its own scope only, so it is a table over their
// candidates.
#pragma once

#include <vector>

#include "objective.hpp"
#include "views.hpp"

namespace trimtab {

// The free knobs that each criterion reads, and the candidates of each free knob.
struct Candidates {
    ConstIndices knobs;     // (n,) the free ones
    ConstIndices criteria;  // (c,)
    ConstIndices offsets;   // (c + 1,)
    ConstIndices reads;     // positions in `knobs`, criterion after criterion
    ConstIndices firsts;    // (n + 1,) where the candidates of a knob begin
    ConstReals values;      // the candidates

    Index count(Index n) const { return firsts[n + 1] - firsts[n]; }
    ConstIndices scope(Index c) const { return slice(reads, offsets[c], offsets[c + 1]); }

    // The entries of the table of the c-th criterion.
    Index size(Index c) const {
        Index size = 1;
        for (const Index n : scope(c)) size *= count(n);
        return size;
    }
};

// All tables, one after another, each in C order; other knobs are as in `state`.
inline std::vector<double> tabulate(const Objective& F, const Candidates& from, ConstReals state) {
    Position at(F);
    std::copy(state.begin(), state.end(), &at.s[0]);
    at.prepare(from.criteria);
    std::vector<double> tables;
    for (Index c = 0; c < size_of(from.criteria); ++c) {
        const ConstIndices scope = from.scope(c);
        for (Index entry = 0, size = from.size(c); entry < size; ++entry) {
            Index rest = entry;
            for (Index p = size_of(scope) - 1; p >= 0; --p) {
                const Index count = from.count(scope[p]);
                at.s[from.knobs[scope[p]]] = from.values[from.firsts[scope[p]] + rest % count];
                rest /= count;
            }
            tables.push_back(at.refresh(slice(from.criteria, c, c + 1)));
        }
        for (const Index n : scope) at.s[from.knobs[n]] = state[from.knobs[n]];
    }
    return tables;
}

}  // namespace trimtab
