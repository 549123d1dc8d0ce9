// The exact one-dimensional step: the least value of G along one knob.
//
// The minimum on an interval is looked for at the ends, at the anchor, at sample points, among
// them both sides of every narrow dip of a Q, and by a safeguarded Newton iteration wherever the
// slope turns from falling to rising, also where it does so twice between two samples. For
// features linear in x, F is concave: the ends and the anchor suffice.
#pragma once

#include <algorithm>
#include <cmath>

#include "line.hpp"
#include "views.hpp"

namespace trimtab {

// Where G is least, and what is gained over the present place.
struct Step {
    double x;
    double gain;
};

constexpr double SETTLED = 1e-11;  // of the scale along the knob: gains below this are none

// D is the degree of the line, or 0 for any.
template <Index D>
class LineSearch {
public:
    explicit LineSearch(Line& line) : line_(line) {}

    // The least G on [low, high], or among the levels if there are any. The place stays `now`
    // unless another is better by more than the share `coarse` of the width at `now`.
    Step operator()(double now, double low, double high, ConstReals levels, double coarse) {
        const double width = line_.width(now);
        double scale = width;
        for (Index r = 0; r <= line_.degree; ++r) scale += std::abs(line_.A[r]);
        least_gain_ = std::max(SETTLED * scale, coarse * width);
        at_now_ = line_.template mean<D>(now).y - width + line_.toll(now);
        now_ = x_ = now;
        best_ = at_now_ - least_gain_;
        if (!levels.empty()) {
            for (const double level : levels) offer(level, line_.value(level));
        } else {
            search(low, high);
        }
        return {x_, x_ != now ? at_now_ - best_ : 0.0};
    }

private:
    static constexpr int NEWTON_STEPS = 60;
    static constexpr int TURN_STEPS = 8;
    static constexpr double SHARE = 0.1;     // of the least gain: smaller errors do not matter
    static constexpr double CENTRED = 0.01;  // of its reach: how well a notch's centre is known

    void offer(double x, double value) {
        if (value < best_) {
            best_ = value;
            x_ = x;
        }
    }

    // The points to look at, and every valley between two of them.
    void search(double low, double high) {
        const Index points = look(low, high);
        for (Index n = 0; n < points; ++n) {
            offer(line_.x[n], line_.y[n] + line_.toll(line_.x[n]));
            if (n > 0 && line_.degree > 1) valley_before(n);
        }
    }

    void valley_before(Index n) {
        double left = line_.x[n - 1], right = line_.x[n];
        const double pull = left >= line_.anchor ? line_.price : -line_.price;
        const double before = line_.slope[n - 1] + pull, after = line_.slope[n] + pull;
        const double bend_left = line_.bend[n - 1], bend_right = line_.bend[n];
        if (before * after > 0.0 && before * bend_left < 0.0 && 0.0 < after * bend_right) {
            // The slope turns back on the way: it may have been through 0 and again, unless
            // even its tangents meet before they get there.
            const double meet =
                (after - before + bend_left * left - bend_right * right) / (bend_left - bend_right);
            if ((before + bend_left * (meet - left)) * before > 0.0) return;
            const double turn = turning_point(left, right, bend_left < 0.0);
            const double middle = line_.template curve<D>(turn).slope + pull;
            if (after < 0.0 && 0.0 < middle)
                right = turn;
            else if (middle < 0.0 && 0.0 < after)
                left = turn;
            else
                return;
        } else if (!(before < 0.0 && 0.0 < after)) {
            return;
        }
        const double start = left < now_ && now_ < right ? now_ : 0.5 * (left + right);
        const auto [z, y] = bottom(left, right, start, pull);
        offer(z, y + line_.toll(z));
    }

    // Where the slope stops falling (or rising) between two points, roughly.
    double turning_point(double left, double right, bool falling) const {
        for (int n = 0; n < TURN_STEPS; ++n) {
            const double x = 0.5 * (left + right);
            if ((line_.template curve<D>(x).bend < 0.0) == falling)
                left = x;
            else
                right = x;
        }
        return 0.5 * (left + right);
    }

    struct Place {
        double x, y;
    };

    // Where in (left, right) the slope, `pull` added, turns from negative to positive, and F
    // there. Newton's method from x ends with the step that is to gain next to nothing, and what
    // that gains is known well enough without another look.
    Place bottom(double left, double right, double x, double pull) const {
        const double settled = SHARE * least_gain_;
        double y = 0.0;
        for (int n = 0; n < NEWTON_STEPS; ++n) {
            const Curve here = line_.template curve<D>(x);
            const double slope = here.slope + pull;
            y = here.y;
            (slope < 0.0 ? left : right) = x;
            double step = here.bend > 0.0 ? x - slope / here.bend : left;
            if (!(left < step && step < right))
                step = 0.5 * (left + right);
            else if (slope * slope <= 2.0 * settled * here.bend)
                return {step, y - (0.5 * slope - pull) * (x - step)};
            if (std::abs(step - x) <= 1e-15 + 1e-12 * std::abs(x)) break;
            x = step;
        }
        return {x, y};
    }

    // Where to look: F and its derivatives at points, ascending in line.x; how many.
    //
    // Evenly spaced ones, the anchor where leaving it costs something, and three at every notch:
    // where a state was played for long, the width of a reader is nearly 0 and grows steeply to
    // both sides, over a distance that even spacing would step over.
    Index look(double low, double high) {
        even_ = points_ = line_.degree <= 1 ? 2 : Line::SAMPLES_PER_DEGREE * line_.degree;
        const double gap = (high - low) / static_cast<double>(even_ - 1);
        for (Index n = 0; n < even_ - 1; ++n) line_.x[n] = low + static_cast<double>(n) * gap;
        line_.x[even_ - 1] = high;
        if (line_.degree > 1)
            for (Index c = 0; c < line_.readers; ++c) add_notches(c, gap);
        if (line_.price > 0.0 && low < line_.anchor && line_.anchor < high)
            line_.x[points_++] = line_.anchor;
        double* x = &line_.x[0];
        for (double* last = x + even_; last < x + points_; ++last)
            std::rotate(std::upper_bound(x, last, *last), last, last + 1);
        Index padded = points_;
        while (padded % Line::AT_ONCE != 0) line_.x[padded++] = high;
        line_.template curves<D>(padded);
        return points_;
    }

    // Add what is to be looked at where a reader's Q dips between even points.
    void add_notches(Index c, double gap) {
        const double* Q = line_.Q(c);
        const double low = line_.x[0], high = line_.x[even_ - 1];
        if (line_.degree == 2 && Q[3] == 0.0 && Q[4] == 0.0) {  // a parabola
            if (Q[2] <= 0.0 || Q[1] + 2.0 * Q[2] * low >= 0.0 || Q[1] + 2.0 * Q[2] * high <= 0.0)
                return;
            const double centre = -0.5 * Q[1] / Q[2];
            const double q = Q[0] + 0.5 * centre * Q[1];
            if (q < gap * gap * Q[2]) add_notch(centre, std::sqrt(std::max(q, 0.0) / Q[2]));
            return;
        }
        double before = line_.template square<D>(low, c).slope;
        for (Index n = 1; n < even_; ++n) {
            const Curve here = line_.template square<D>(line_.x[n], c);
            if (before < 0.0 && 0.0 < here.slope && narrow(here, gap)) {
                const auto [centre, reach] =
                    notch_between(line_.x[n - 1], line_.x[n], before, here.slope, c);
                if (reach < gap) add_notch(centre, reach);
            }
            before = here.slope;
        }
    }

    // Both sides of a notch and its centre, unless they are known.
    void add_notch(double centre, double reach) {
        // A Q of degree 2 d has d dips at most, for which there is room; rounding may show more.
        if (points_ + 3 + 1 + Line::AT_ONCE > line_.x.size() || known(centre, reach)) return;
        line_.x[points_++] = std::max(centre - reach, line_.x[0]);
        line_.x[points_++] = centre;
        line_.x[points_++] = std::min(centre + reach, line_.x[even_ - 1]);
    }

    // Whether a dip at about the same place and of about the same width has its points already.
    bool known(double centre, double reach) const {
        for (Index n = even_; n < points_; n += 3) {
            const double other = line_.x[n + 2] - line_.x[n + 1];
            if (std::abs(centre - line_.x[n + 1]) <= 0.5 * std::min(reach, other) &&
                other <= 4.0 * reach && 4.0 * reach <= 16.0 * other)
                return true;
        }
        return false;
    }

    // Whether a dip of Q, seen from its right, may be narrower than a few gaps.
    static bool narrow(Curve q, double gap) {
        return q.bend <= 0.0 || q.y - 0.5 * q.slope * q.slope / q.bend <= 8.0 * q.bend * gap * gap;
    }

    struct Notch {
        double centre, reach;
    };

    // Where in (left, right) a reader's Q turns from falling to rising, and how wide its dip is;
    // the slopes of Q at both ends are given.
    Notch notch_between(double left, double right, double before, double after, Index c) const {
        double x = left + (right - left) * before / (before - after);
        double reach = 0.0;
        for (int n = 0; n < NEWTON_STEPS; ++n) {
            const Curve q = line_.template square<D>(x, c);
            (q.slope < 0.0 ? left : right) = x;
            double step = q.bend > 0.0 ? x - q.slope / q.bend : left;
            if (!(left < step && step < right)) step = 0.5 * (left + right);
            const double there = q.y - 0.5 * (x - step) * q.slope;  // about what it will be
            reach = there > 0.0 && q.bend > 0.0 ? std::sqrt(2.0 * there / q.bend) : 0.0;
            const double off = std::abs(step - x);
            x = step;
            if (off <= CENTRED * reach || off <= 1e-12) break;
        }
        return {x, reach};
    }

    Line& line_;
    double now_ = 0.0, at_now_ = 0.0, x_ = 0.0, best_ = 0.0, least_gain_ = 0.0;
    Index even_ = 0, points_ = 0;
};

// The least G of a line, as LineSearch finds it: degree 2 is the paper's, 6 what is usual else.
inline Step least(Line& line, double now, double low, double high, ConstReals levels,
                  double coarse) {
    switch (line.degree) {
        case 2:
            return LineSearch<2>(line)(now, low, high, levels, coarse);
        case 6:
            return LineSearch<6>(line)(now, low, high, levels, coarse);
        default:
            return LineSearch<0>(line)(now, low, high, levels, coarse);
    }
}

}  // namespace trimtab
