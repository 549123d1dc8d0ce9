// Loops over long arrays, compiled once for any processor and once for wider registers.
//
// Both give the same bits: nothing is fused and no sum is reordered. Measured on 100,000 criteria,
// a frozen tell takes 2.7 times an np.add of the losses with the wider ones and 4.2 times without.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "views.hpp"

// By g++ alone: the resolver that clang makes does not link into a shared library everywhere.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TRIMTAB_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define TRIMTAB_WIDE
#endif

namespace trimtab {

// Sums of y - shift and of its squares, one more round: the whole work of a frozen round.
TRIMTAB_WIDE inline void add_to_sums(const double* __restrict losses,
                                     const double* __restrict shift, double* __restrict total,
                                     double* __restrict squares, Index size) {
    for (Index i = 0; i < size; ++i) {
        const double y = losses[i] - shift[i];
        total[i] += y;
        squares[i] += y * y;
    }
}

// The same with losses cut at low and high; how many were.
TRIMTAB_WIDE inline Index add_cut_to_sums(const double* __restrict losses,
                                          const double* __restrict low,
                                          const double* __restrict high,
                                          const double* __restrict shift, double* __restrict total,
                                          double* __restrict squares, Index size) {
    Index beyond = 0;
    for (Index i = 0; i < size; ++i) {
        const double x = std::min(std::max(losses[i], low[i]), high[i]);
        const double y = x - shift[i];
        beyond += x != losses[i];
        total[i] += y;
        squares[i] += y * y;
    }
    return beyond;
}

// How many entries are no number of at most this size.
TRIMTAB_WIDE inline Index count_beyond(const double* x, Index size, double limit) {
    Index beyond = 0;
    for (Index n = 0; n < size; ++n) beyond += !(std::abs(x[n]) <= limit);
    return beyond;
}

}  // namespace trimtab
