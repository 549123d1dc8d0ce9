// Exact minimisation of a sum of tables, by eliminating one variable after another.
//
// A sum of factors, each a table over the candidates of a few variables, is minimised by min-sum
// bucket elimination: the bucket of variable v adds up everything that still reads v, a table over
// its *bag*, that is v and the neighbours N(v) it has left, and sends on the message
//
//     min over v of (sum of the factors and messages that read v),   a table over N(v).
//
// The work is the number of bag entries, exponential in the width of the order and linear in the
// number of variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "descent.hpp"
#include "elimination_order.hpp"
#include "views.hpp"

namespace trimtab {

class Elimination {
public:
    // Factors read the variables `reads`, ascending, factor after factor. None where it takes more
    // than `most` bag entries.
    static std::optional<Elimination> of(ConstIndices offsets, ConstIndices reads,
                                         ConstIndices counts, Index most) {
        // A variable without a choice is nobody's neighbour, and no table has a stride for it.
        std::vector<Index> real_offsets{0}, real;
        for (Index f = 0; f + 1 < size_of(offsets); ++f) {
            for (const Index v : slice(reads, offsets[f], offsets[f + 1]))
                if (counts[v] > 1) real.push_back(v);
            real_offsets.push_back(static_cast<Index>(real.size()));
        }
        EliminationOrder found(real_offsets, real, counts, most);
        if (found.refused) return std::nullopt;
        return Elimination(real_offsets, real, counts, found);
    }

    Index table_size() const { return table_offsets_.back(); }  // of all factors together
    Index variables() const { return static_cast<Index>(counts_.size()); }
    Index candidates() const { return firsts_.back(); }

    // The best choice of a candidate for every variable, the least sum of all, and the entries of
    // all bags: the work.
    //
    // Equal sums go by the smaller total toll, and equal tolls by the lower candidate, variable by
    // variable in reverse order of elimination. In every bucket, equal means within TIED / n times
    // the sum over the factors of the largest entry of each in size, and for tolls likewise over
    // the n variables. The minimum itself does not depend on the tolls.
    std::tuple<std::vector<Index>, double, Index> minimum(ConstReals tables, ConstReals toll) {
        const double n = static_cast<double>(variables());
        values_.assign(tables.begin(), tables.end());
        values_.resize(static_cast<std::size_t>(buckets_.back().end));
        tolls_.assign(values_.size(), 0.0);
        toll_ = toll;
        slack_ = TIED / n * total_size(tables, table_offsets_);
        toll_slack_ = TIED / n * total_size(toll, firsts_);
        for (const Bucket& bucket : buckets_) send(bucket);
        std::vector<Index> choice(counts_.size());
        for (std::size_t t = buckets_.size(); t-- > 0;) {
            const Bucket& bucket = buckets_[t];
            at_ = bucket.starts;
            for (std::size_t q = 0; q < bucket.bag.size(); ++q)
                move(bucket, q, choice[bucket.bag[q]]);
            choice[bucket.variable] = pick(bucket).candidate;
        }
        return {std::move(choice), values_.back(), entries_};
    }

private:
    // What still reads a variable when its turn comes; an input is a factor or a message.
    struct Bucket {
        Index variable;
        std::vector<Index> bag;      // the neighbours left
        std::vector<Index> starts;   // where each input begins
        std::vector<bool> message;   // whether it is one
        std::vector<Index> strides;  // (bag + 1, inputs), of the variable itself last
        Index begin = 0, end = 0;    // where its own message is
    };

    struct Pick {
        Index candidate;
        double least, toll;
    };

    // Where the inputs lie, and how each moves as its bucket runs through its bag. An input goes to
    // the bucket of its first variable to be eliminated, and one that reads no variable to the last
    // bucket, whose message is the answer.
    Elimination(ConstIndices offsets, ConstIndices reads, ConstIndices counts,
                const EliminationOrder& found)
        : counts_(counts.begin(), counts.end()), entries_(found.entries) {
        const std::size_t n = counts_.size();
        for (const Index count : counts_) firsts_.push_back(firsts_.back() + count);
        std::vector<std::size_t> rank(n);
        for (std::size_t t = 0; t < n; ++t) {
            rank[found.order[t]] = t;
            buckets_.push_back({found.order[t], found.bags[t], {}, {}, {}, 0, 0});
        }
        std::vector<std::vector<Input>> inputs(n);
        const auto place = [&](ConstIndices scope, Index start, bool message) {
            std::size_t bucket = n - 1;
            for (const Index v : scope) bucket = std::min(bucket, rank[v]);
            inputs[bucket].push_back({{scope.begin(), scope.end()}, start, message});
        };
        for (Index f = 0; f + 1 < size_of(offsets); ++f) {
            const ConstIndices scope = slice(reads, offsets[f], offsets[f + 1]);
            place(scope, table_offsets_.back(), false);
            table_offsets_.push_back(table_offsets_.back() + size_over(scope));
        }
        Index next = table_offsets_.back();
        for (std::size_t t = 0; t < n; ++t) {
            Bucket& bucket = buckets_[t];
            bucket.begin = next;
            bucket.end = next = next + size_over(bucket.bag);
            if (t + 1 < n) place(bucket.bag, bucket.begin, true);
        }
        for (std::size_t t = 0; t < n; ++t) finish_layout(buckets_[t], inputs[t]);
    }

    struct Input {
        std::vector<Index> scope;
        Index start;
        bool message;
    };

    void finish_layout(Bucket& bucket, const std::vector<Input>& inputs) const {
        const std::size_t width = inputs.size();
        bucket.strides.assign((bucket.bag.size() + 1) * width, 0);
        for (std::size_t i = 0; i < width; ++i) {
            bucket.starts.push_back(inputs[i].start);
            bucket.message.push_back(inputs[i].message);
            Index stride = 1;
            for (std::size_t q = inputs[i].scope.size(); q-- > 0;) {
                const Index v = inputs[i].scope[q];
                const auto place = std::lower_bound(bucket.bag.begin(), bucket.bag.end(), v);
                const auto row = v == bucket.variable
                                     ? bucket.bag.size()
                                     : static_cast<std::size_t>(place - bucket.bag.begin());
                bucket.strides[row * width + i] = stride;
                stride *= counts_[v];
            }
        }
    }

    Index size_over(ConstIndices scope) const {
        Index size = 1;
        for (const Index v : scope) size *= counts_[v];
        return size;
    }

    // The sum over the blocks of the largest entry in size.
    static double total_size(ConstReals entries, const std::vector<Index>& offsets) {
        double total = 0.0;
        for (std::size_t f = 0; f + 1 < offsets.size(); ++f) {
            double largest = 0.0;
            for (Index e = offsets[f]; e < offsets[f + 1]; ++e)
                largest = std::max(largest, std::abs(entries[e]));
            total += largest;
        }
        return total;
    }

    void move(const Bucket& bucket, std::size_t q, Index steps) {
        const Index* stride = bucket.strides.data() + q * at_.size();
        for (std::size_t i = 0; i < at_.size(); ++i) at_[i] += steps * stride[i];
    }

    // The message of a bucket: the least sum, and the toll of its choice, at all of N(v).
    void send(const Bucket& bucket) {
        at_ = bucket.starts;
        digits_.assign(bucket.bag.size(), 0);
        for (Index e = bucket.begin; e < bucket.end; ++e) {
            const Pick best = pick(bucket);
            values_[e] = best.least;
            tolls_[e] = best.toll;
            for (std::size_t q = bucket.bag.size(); q-- > 0;) {
                if (digits_[q] + 1 < counts_[bucket.bag[q]]) {
                    ++digits_[q];
                    move(bucket, q, 1);
                    break;
                }
                move(bucket, q, -digits_[q]);
                digits_[q] = 0;
            }
        }
    }

    // The candidate to take with the rest of the bag fixed, the least sum and the toll.
    Pick pick(const Bucket& bucket) {
        const Index count = counts_[bucket.variable], first = firsts_[bucket.variable];
        const Index* stride = bucket.strides.data() + bucket.bag.size() * at_.size();
        sums_.assign(static_cast<std::size_t>(count), 0.0);
        costs_.assign(&toll_[first], &toll_[first] + count);
        for (std::size_t i = 0; i < at_.size(); ++i) {
            Index p = at_[i];
            for (Index c = 0; c < count; ++c, p += stride[i]) {
                sums_[c] += values_[p];
                if (bucket.message[i]) costs_[c] += tolls_[p];
            }
        }
        const double least = *std::min_element(sums_.begin(), sums_.end());
        Index best = -1;
        for (Index c = 0; c < count; ++c)
            if (sums_[c] <= least + slack_ && (best < 0 || costs_[c] < costs_[best] - toll_slack_))
                best = c;
        best = std::max<Index>(best, 0);
        return {best, least, costs_[best]};
    }

    std::vector<Index> counts_, firsts_{0}, table_offsets_{0};
    Index entries_;
    std::vector<Bucket> buckets_;
    std::vector<double> values_;  // factors, then messages
    std::vector<double> tolls_;   // those of the messages' choices
    ConstReals toll_;             // of each candidate
    double slack_ = 0.0, toll_slack_ = 0.0;
    std::vector<double> sums_, costs_;
    std::vector<Index> at_, digits_;
};

}  // namespace trimtab
