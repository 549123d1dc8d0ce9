// Which free items hang together, by the rows of a compressed table that they share.
#pragma once

#include <algorithm>

#include "views.hpp"

namespace trimtab {

// For each of the free items, ascending, the smallest position it is linked to, into `parent`.
// Two free items are linked if they are in the same row, or linked to a common one.
inline void link(ConstIndices offsets, ConstIndices items, ConstIndices rows, ConstIndices free,
                 Indices parent) {
    for (Index n = 0; n < size_of(free); ++n) parent[n] = n;
    for (const Index row : rows) {
        Index first = -1;
        for (Index p = offsets[row]; p < offsets[row + 1]; ++p) {
            const auto place = std::lower_bound(free.begin(), free.end(), items[p]);
            if (place == free.end() || *place != items[p]) continue;
            Index n = place - free.begin();
            while (parent[n] != n) n = parent[n] = parent[parent[n]];
            if (first < 0) {
                first = n;
            } else if (n < first) {
                parent[first] = n;
                first = n;
            } else {
                parent[n] = first;
            }
        }
    }
    for (Index n = 0; n < size_of(free); ++n)
        parent[n] = parent[parent[n]];  // parents have smaller positions, so are final
}

}  // namespace trimtab
