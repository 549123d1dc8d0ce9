// When each criterion comes up next: a tournament tree over their due rounds.
//
// Criterion i is due at round due[i] - n[i]. A leaf holds the least of these over a block of
// neighbouring criteria, and every inner node the smaller of its two children, so the root,
// tree[1], is the next round at which anything happens. Changing one criterion costs a look at
// its block and log2 of the number of blocks, reading the next round nothing.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "views.hpp"

namespace trimtab {

struct TriggerQueue {
    static constexpr Index BLOCK = 16;  // criteria to a leaf: the tree is small against the rest

    Indices tree;      // (2 leaves,)
    ConstIndices due;  // (m,)
    ConstIndices n;    // (m,)

    // The number of entries of the tree of m criteria.
    static Index tree_size(Index m) {
        Index leaves = 1;
        while (leaves * BLOCK < m) leaves *= 2;
        return 2 * leaves;
    }

    Index next_round() const { return tree[1]; }

    // The round of one criterion has changed.
    void put(Index criterion) const {
        const Index block = criterion / BLOCK;
        Index node = leaves() + block;
        tree[node] = least(block);
        for (node /= 2; node >= 1; node /= 2) {
            const Index first = std::min(tree[2 * node], tree[2 * node + 1]);
            if (tree[node] == first) return;  // nothing changes above
            tree[node] = first;
        }
    }

    // Every round may have changed.
    void put_all() const {
        for (Index block = 0; block < leaves(); ++block) tree[leaves() + block] = least(block);
        for (Index node = leaves() - 1; node > 0; --node)
            tree[node] = std::min(tree[2 * node], tree[2 * node + 1]);
    }

    // The criteria due at round `now` or before, ascending, are added to what `found` holds.
    void list_due(Index now, std::vector<Index>& found, Index node = 1) const {
        if (tree[node] > now) return;
        if (node < leaves()) {
            list_due(now, found, 2 * node);
            list_due(now, found, 2 * node + 1);
            return;
        }
        const Index block = node - leaves();
        for (Index i = block * BLOCK; i < end_of(block); ++i)
            if (due[i] - n[i] <= now) found.push_back(i);
    }

private:
    Index leaves() const { return size_of(tree) / 2; }

    Index end_of(Index block) const { return std::min((block + 1) * BLOCK, size_of(due)); }

    Index least(Index block) const {
        Index first = std::numeric_limits<Index>::max();
        for (Index i = block * BLOCK; i < end_of(block); ++i)
            first = std::min(first, due[i] - n[i]);
        return first;
    }
};

}  // namespace trimtab
