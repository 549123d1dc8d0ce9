// The last digits of a minimum: Newton's method over the knobs that are inside their interval.
//
// Steps by one knob at a time creep where knobs pull at each other. Near a minimum F is smooth in
// every knob that is neither at an end of its interval, nor on levels, nor at the kink of its
// price. With a = u_i(s), l = R^{-T}(v - beta a/|a|) and B = R^{-1} phi'(s), criterion i adds
//
//     slope      w (phi' l),
//     curvature  w (sum_f l_f phi_f'' - (beta/|a|)(B'B - B'a a'B/|a|^2)),
//
// and the step solves curvature p = -slope by conjugate gradients. Only steps down are taken.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "objective.hpp"
#include "views.hpp"

namespace trimtab {

// The free knobs of a search, and the criteria that read them.
struct Subproblem {
    ConstIndices knobs;     // ascending
    ConstIndices criteria;  // ascending
    ConstIndices place;     // (k,) of a knob among `knobs`, -1 if it is not free; set where read
};

class Newton {
public:
    // Move s down to where the slope vanishes, as far as so many steps get; G there. `value` is G
    // at s, whose u are fresh.
    double polish(double value, double settled, int most, const Subproblem& part, Position& at) {
        begin(part, at);
        double steep = 0.0;
        bool last = size_of(part.knobs) <= FEW;
        for (int n = 0; n < most; ++n) {
            build_model(part, at);
            const double steepest = find_inside(part, at);
            if (steepest == 0.0) break;
            steep = std::max(steep, steepest);
            const double share = std::max(std::min(ROUGHLY, steepest / steep), FULLY);
            conjugate_gradients(last ? FULLY : share);
            // Where values no longer tell two states apart, the slope still does.
            const double slack = last ? ROUNDING * std::abs(value) : 0.0;
            const double after = take_step(value + slack, value, part, at);
            const double gain = value - after;
            value = after;
            if (gain <= settled * std::abs(value)) {
                if (last) break;
                last = true;
            }
        }
        at.refresh(part.criteria);
        return value;
    }

private:
    static constexpr int HALVINGS = 12;
    // How well a step solves its equations, at first and in the end; between as the slope falls.
    static constexpr double ROUGHLY = 0.1, FULLY = 1e-8;
    static constexpr Index FEW = 32;           // knobs for which every step is solved in full
    static constexpr double ROUNDING = 1e-14;  // relative
    static constexpr double CURVED = 1e-12;    // relative: curvature below this is none

    // Which free knobs each criterion reads, and room for everything.
    void begin(const Subproblem& part, const Position& at) {
        const Objective& F = at.objective();
        const auto n = part.knobs.size();
        member_offsets_.assign(1, 0);
        members_.clear();
        std::size_t blocks = 0, largest = 0;
        for (const Index i : part.criteria) {
            for (const Index j : F.scope_of(i))
                if (part.place[j] >= 0) members_.push_back(part.place[j]);
            const std::size_t size = members_.size() - member_offsets_.back();
            member_offsets_.push_back(members_.size());
            blocks += size * (size + 1) / 2;
            largest = std::max(largest, size);
        }
        H_.resize(blocks);
        B_.resize(largest * static_cast<std::size_t>(F.widest));
        along_.resize(largest);
        for (auto* vector : {&slope_, &step_, &before_, &diagonal_, &p_, &Hp_}) vector->resize(n);
        slot_.resize(n);
    }

    std::span<const Index> members(std::size_t c) const {
        return {members_.data() + member_offsets_[c], member_offsets_[c + 1] - member_offsets_[c]};
    }

    // The slope of F at s, and its curvature, block after block, by the free knobs alone.
    void build_model(const Subproblem& part, const Position& at) {
        std::fill(slope_.begin(), slope_.end(), 0.0);
        std::fill(H_.begin(), H_.end(), 0.0);
        double* block = H_.data();
        for (std::size_t c = 0; c < part.criteria.size(); ++c) {
            const auto mine = members(c);
            for (std::size_t r = 0; r < mine.size(); ++r) slot_[mine[r]] = static_cast<Index>(r);
            add_criterion(part.criteria[c], mine, block, part, at);
            block += mine.size() * (mine.size() + 1) / 2;
        }
    }

    void add_criterion(Index i, std::span<const Index> mine, double* block, const Subproblem& part,
                       const Position& at) {
        const Objective& F = at.objective();
        const Index lo = F.maps.offsets[i], d = F.dim(i);
        const double *u = at.u(i), *v = F.v(i), *column = at.inverse(i);
        double square = 0.0;
        for (Index g = 0; g < d; ++g) square += u[g] * u[g];
        const double length = std::sqrt(square);
        const double share = length > 0.0 ? F.radii[i] / length : 0.0;  // beta / |a|
        std::fill_n(B_.begin(), static_cast<Index>(mine.size()) * d, 0.0);
        for (Index f = 0; f < d; column += d - f, ++f) {
            if (!reads_free(lo + f, F.maps, part)) continue;
            double l = 0.0;  // l_f
            for (Index g = f; g < d; ++g) l += column[g - f] * (v[g] - share * u[g]);
            add_feature(i, lo + f, F.weights[i] * l, column, d - f, block, part, at);
        }
        if (share > 0.0) add_width(F.weights[i] * share, u, length, d, mine.size(), block);
    }

    static bool reads_free(Index f, const Monomials& maps, const Subproblem& part) {
        return (maps.p[f] > 0 && part.place[maps.a[f]] >= 0) ||
               (maps.q[f] > 0 && part.place[maps.b[f]] >= 0);
    }

    // What feature f adds to the slope, to B and to the curvature by `pull` = w l_f.
    void add_feature(Index i, Index f, double pull, const double* column, Index rows, double* block,
                     const Subproblem& part, const Position& at) {
        const Monomials& maps = at.objective().maps;
        const Index a = part.place[maps.a[f]], b = part.place[maps.b[f]];
        const int p = maps.p[f], q = maps.q[f];
        const double x = at.s[maps.a[f]], y = at.s[maps.b[f]], scale = maps.scale[i];
        const double left = power(x, p), right = power(y, q);
        const bool by_a = p > 0 && a >= 0, by_b = q > 0 && b >= 0;
        const Index d = at.objective().dim(i);
        if (by_a) {
            const double slope = scale * p * power(x, p - 1) * right;
            slope_[a] += pull * slope;
            add_column(slot_[a], slope, column, rows, d);
            if (p > 1)
                block[cell(slot_[a], slot_[a])] +=
                    pull * scale * p * (p - 1) * power(x, p - 2) * right;
        }
        if (by_b) {
            const double slope = scale * q * left * power(y, q - 1);
            slope_[b] += pull * slope;
            add_column(slot_[b], slope, column, rows, d);
            if (q > 1)
                block[cell(slot_[b], slot_[b])] +=
                    pull * scale * q * (q - 1) * left * power(y, q - 2);
        }
        if (by_a && by_b) {
            const double both = pull * scale * p * q * power(x, p - 1) * power(y, q - 1);
            block[cell(slot_[a], slot_[b])] += a == b ? 2.0 * both : both;
        }
    }

    void add_column(Index slot, double x, const double* column, Index rows, Index d) {
        double* out = B_.data() + slot * d + (d - rows);
        for (Index g = 0; g < rows; ++g) out[g] += x * column[g];
    }

    // - w (beta/|a|)(B'B - B'a a'B/|a|^2)
    void add_width(double share, const double* u, double length, Index d, std::size_t n,
                   double* block) {
        const auto size = static_cast<Index>(n);
        for (Index r = 0; r < size; ++r) {
            const double* row = B_.data() + r * d;
            double sum = 0.0;
            for (Index g = 0; g < d; ++g) sum += row[g] * u[g] / length;
            along_[r] = sum;
            for (Index t = 0; t <= r; ++t) {
                const double* other = B_.data() + t * d;
                double both = 0.0;
                for (Index g = 0; g < d; ++g) both += row[g] * other[g];
                block[cell(r, t)] -= share * (both - along_[r] * along_[t]);
            }
        }
    }

    // Where in its block the curvature by two knobs of a scope is.
    static Index cell(Index a, Index b) { return triangle_size(std::max(a, b)) + std::min(a, b); }

    // The knobs in which G is smooth at s, with the price in their slopes; the steepest slope.
    double find_inside(const Subproblem& part, const Position& at) {
        const Objective& F = at.objective();
        inside_.clear();
        double steepest = 0.0;
        for (Index n = 0; n < size_of(part.knobs); ++n) {
            const Index j = part.knobs[n];
            const double x = at.s[j], away = x - at.current[j];
            const bool kink = at.price[j] > 0.0 && away == 0.0;
            if (!F.levels_of(j).empty() || !(F.low[j] < x && x < F.high[j]) || kink) continue;
            inside_.push_back(n);
            slope_[n] += away > 0.0 ? at.price[j] : away < 0.0 ? -at.price[j] : 0.0;
            steepest = std::max(steepest, std::abs(slope_[n]));
        }
        return steepest;
    }

    // Try the step, and halves of it, until G is below `limit`; G there, or `value` where s stays.
    double take_step(double limit, double value, const Subproblem& part, Position& at) {
        const Objective& F = at.objective();
        for (const Index n : inside_) before_[n] = at.s[part.knobs[n]];
        double length = 1.0;
        for (int h = 0; h < HALVINGS; ++h, length *= 0.5) {
            for (const Index n : inside_) {
                const Index j = part.knobs[n];
                const double x =
                    std::min(std::max(before_[n] + length * step_[n], F.low[j]), F.high[j]);
                const bool across = (before_[n] - at.current[j]) * (x - at.current[j]) < 0.0;
                at.s[j] = at.price[j] > 0.0 && across ? at.current[j] : x;
            }
            double after = at.refresh(part.criteria);
            for (const Index j : part.knobs) after += at.toll(j);
            if (after < limit) return after;
        }
        for (const Index n : inside_) at.s[part.knobs[n]] = before_[n];
        at.refresh(part.criteria);
        return value;
    }

    // Solve curvature step = -slope over the inside knobs, until the curvature turns negative.
    void conjugate_gradients(double accuracy) {
        std::vector<double>& rest = slope_;  // not needed any more, with its sign changed
        std::fill(p_.begin(), p_.end(), 0.0);
        find_diagonal();
        double rho = 0.0;
        for (const Index n : inside_) {
            step_[n] = 0.0;
            rest[n] = -rest[n];
            p_[n] = rest[n] / diagonal_[n];
            rho += rest[n] * p_[n];
        }
        const double begin = rho;
        const std::size_t most = 2 * inside_.size() + 20;
        for (std::size_t n = 0; n < most; ++n) {
            multiply();
            double bend = 0.0, size = 0.0;
            for (const Index r : inside_) {
                bend += p_[r] * Hp_[r];
                size += p_[r] * p_[r] * diagonal_[r];
            }
            if (bend <= CURVED * size) {
                if (n == 0)
                    for (const Index r : inside_) step_[r] = p_[r];
                return;
            }
            const double alpha = rho / bend, before = rho;
            rho = 0.0;
            for (const Index r : inside_) {
                step_[r] += alpha * p_[r];
                rest[r] -= alpha * Hp_[r];
                rho += rest[r] * rest[r] / diagonal_[r];
            }
            if (rho <= accuracy * accuracy * begin) return;
            for (const Index r : inside_) p_[r] = rest[r] / diagonal_[r] + rho / before * p_[r];
        }
    }

    // The diagonal of the curvature over the inside knobs, made positive: the preconditioner.
    void find_diagonal() {
        std::fill(diagonal_.begin(), diagonal_.end(), 0.0);
        const double* h = H_.data();
        for (std::size_t c = 0; c + 1 < member_offsets_.size(); ++c) {
            const auto mine = members(c);
            for (std::size_t r = 0; r < mine.size(); ++r) {
                h += r;
                diagonal_[mine[r]] += *h++;
            }
        }
        double top = 0.0;
        for (const Index n : inside_) top = std::max(top, std::abs(diagonal_[n]));
        for (const Index n : inside_) {
            diagonal_[n] = std::max(diagonal_[n], CURVED * top);
            if (diagonal_[n] == 0.0) diagonal_[n] = 1.0;
        }
    }

    // Hp, the curvature times p, which is 0 for knobs that are not inside.
    void multiply() {
        std::fill(Hp_.begin(), Hp_.end(), 0.0);
        const double* h = H_.data();
        for (std::size_t c = 0; c + 1 < member_offsets_.size(); ++c) {
            const auto mine = members(c);
            for (std::size_t r = 0; r < mine.size(); ++r) {
                const double own = p_[mine[r]];
                double x = 0.0;
                for (std::size_t t = 0; t < r; ++t, ++h) {
                    x += *h * p_[mine[t]];
                    Hp_[mine[t]] += *h * own;
                }
                Hp_[mine[r]] += x + *h++ * own;
            }
        }
    }

    std::vector<std::size_t> member_offsets_;
    std::vector<Index> members_;  // the free knobs that each criterion reads
    std::vector<Index> inside_;   // the free knobs in which G is smooth
    std::vector<Index> slot_;     // where in the scope at hand a free knob is
    std::vector<double> H_;       // curvature, criterion after criterion, rows up to the diagonal
    std::vector<double> B_, along_, slope_, step_, before_, diagonal_, p_, Hp_;
};

}  // namespace trimtab
