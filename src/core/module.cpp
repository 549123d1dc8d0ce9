// The doors: everything that Python may call. src/trimtab/_core.pyi says the same in Python.

#include <mutex>
#include <optional>

#include "alarm.hpp"
#include "descent.hpp"
#include "doors.hpp"
#include "draws.hpp"
#include "elimination.hpp"
#include "events.hpp"
#include "features.hpp"
#include "level.hpp"
#include "links.hpp"
#include "local_update.hpp"
#include "objective.hpp"
#include "regression.hpp"
#include "tables.hpp"
#include "wide.hpp"

using namespace nanobind::literals;

namespace trimtab {
namespace {

using InReals = Vector<const double>;
using InIndices = Vector<const Index>;
using OutReals = Vector<double>;

// Regressions and their trigger queue

struct HeldRegression : Held<Regression> {
    std::vector<Index> tree;  // of the queue
};

// The augmented factor of every criterion is a triangle of its own size.
template <class View>
void check_blocks(const View& view, Index m) {
    for (Index i = 0; i < m; ++i)
        if (view.blocks[i + 1] - view.blocks[i] != triangle_size(view.dim(i) + 1))
            refuse("blocks[" + std::to_string(i) + "] does not fit the features of its criterion");
}

void read_regression(HeldRegression* self, nb::handle source) {
    new (self) HeldRegression{};
    Arrays from(source, self->kept);
    Regression& to = self->view;
    to.gain = from.any<double>("gain");
    const Index m = to.criteria();
    to.phi = from.any<double>("phi");
    to.offsets = from.offsets("offsets", m, size_of(to.phi));
    to.R = from.any<double>("R");
    to.blocks = from.offsets("blocks", m, size_of(to.R));
    check_blocks(to, m);
    to.since = from.of<double>("since", m);
    to.mean = from.of<double>("mean", m);
    to.spread = from.of<double>("spread", m);
    to.due = from.of<Index>("due", m);
    to.seen = from.of<Index>("seen", m);
    to.n = from.of<Index>("n", m);
    to.tells = from.of<Index>("tells", m);
    to.owed = from.of<Index>("owed", m);
    to.shift = from.of<double>("shift", m);
    to.total = from.of<double>("total", m);
    to.squares = from.of<double>("squares", m);
    to.pure_error = from.of<double>("pure_error", m);
    to.pure_df = from.of<Index>("pure_df", m);
    to.reg = from.of<const double>("reg", m);
    to.R0 = from.maybe<double>("R0", size_of(to.R));
    to.alone = from.maybe<double>("alone", size_of(to.R));
    to.offset = from.maybe<double>("offset", m);
    to.low = from.maybe<const double>("low", m);
    to.high = from.of<const double>("high", size_of(to.low));
    to.cut = from.of<Index>("cut", size_of(to.low));
    to.excess = from.of<double>("excess", size_of(to.low));
    to.data = from.of<Index>("data", m);
    to.counters = from.of<Index>("counters", 4);
    self->tree.resize(static_cast<std::size_t>(TriggerQueue::tree_size(m)));
    to.queue = {self->tree, to.due, to.n};
    to.requeue();
}

ConstIndices criteria_of(const HeldRegression& self, const InIndices& criteria) {
    return indices(criteria, self.view.criteria(), "criteria");
}

// A loss of every criterion, for one round; -1 for anything else, which changes nothing.
Index add_round(const HeldRegression& self, nb::handle losses, double limit) {
    InReals given;
    const Index m = self.view.criteria();
    if (!nb::try_cast<InReals>(losses, given, false) || size_of(view_of(given)) != m ||
        count_beyond(given.data(), m, limit) > 0)
        return -1;
    return self.view.add_round(view_of(given));
}

template <class T>
void add_rounds(const HeldRegression& self, const Matrix<const T>& losses) {
    if (static_cast<Index>(losses.shape(1)) != self.view.criteria())
        refuse("losses must have a column per criterion");
    if (!self.view.low.empty()) refuse("add_rounds does not cut losses; use add_round");
    self.view.add_rounds(losses.data(), static_cast<Index>(losses.shape(0)));
}

// Every criterion has a level, and factors of its data alone.
void check_levels(const Regression& all) {
    if (all.R0.empty() || all.alone.empty()) refuse("levels need R0 and alone, which are empty");
    for (Index i = 0; i < all.criteria(); ++i)
        if (all.dim(i) == 0) refuse("criterion " + std::to_string(i) + " has no constant feature");
}

nb::object likelihood(const HeldRegression& self, const InIndices& criteria,
                      const Matrix<const double>& phi, const Matrix<const double>& n,
                      const Matrix<const double>& losses, const InReals& rounds,
                      const InReals& sigma, const InReals& misfit, const InReals& grid,
                      double far) {
    check_levels(self.view);
    const ConstIndices which = criteria_of(self, criteria);
    const Index epochs = size_of(view_of(rounds)), s = size_of(which);
    Index width = 0;
    for (const Index i : which) width += self.view.dim(i);
    const Diary diary{which,
                      table(phi, epochs, width, "phi"),
                      table(n, epochs, s, "n"),
                      table(losses, epochs, s, "losses"),
                      view_of(rounds),
                      sized(sigma, s, "sigma"),
                      sized(misfit, s, "misfit"),
                      far};
    std::vector<double> found;
    for (const double g : view_of(grid)) found.push_back(diary.likelihood(self.view, g));
    return owned(std::move(found));
}

nanobind::tuple compare(const HeldRegression& self, const InReals& sigma, const InReals& misfit,
                        double g, Index enough, const Matrix<double>& heard, const OutReals& far,
                        const OutReals& alone) {
    const Index m = self.view.criteria();
    const Reals rows = table(heard, 6, m, "heard");
    const Alarm alarm{sized(sigma, m, "sigma"),
                      sized(misfit, m, "misfit"),
                      g,
                      enough,
                      slice(rows, 0, m),
                      slice(rows, m, 2 * m),
                      slice(rows, 2 * m, 3 * m),
                      slice(rows, 3 * m, 4 * m),
                      slice(rows, 4 * m, 5 * m),
                      slice(rows, 5 * m, 6 * m)};
    const auto found = alarm.compare(self.view, sized(far, m, "far"), sized(alone, m, "alone"));
    return nanobind::make_tuple(found.known, found.sum, found.squares);
}

void begin(const HeldRegression& self, const InIndices& criteria, bool again) {
    const ConstIndices which = criteria_of(self, criteria);
    if (!again) return self.view.begin(which);
    if (self.view.R0.empty() || self.view.alone.empty())
        refuse("to begin again needs R0 and alone, which are empty");
    self.view.begin_again(which);
}

void take_each(const HeldRegression& self, const InIndices& criteria, const InReals& phi,
               const std::optional<InReals>& losses, const InIndices& count) {
    const Index m = self.view.criteria();
    const ConstIndices which = criteria_of(self, criteria), rounds = sized(count, m, "count");
    const ConstReals x = sized(phi, size_of(self.view.phi), "phi");
    if (losses)
        self.view.take_each(which, x, sized(*losses, m, "losses"), rounds);
    else
        self.view.foresee(which, x, rounds);
}

void flush(const HeldRegression& self, const InIndices& criteria, Index rounds, Index memory) {
    const ConstIndices which = criteria_of(self, criteria);
    if (memory < 1) refuse("memory must be at least 1");
    if (memory < NEVER)
        self.view.flush_faded(which, rounds, memory);
    else
        self.view.flush(which);
}

void bind_regression(nb::module_& module) {
    nb::class_<HeldRegression>(module, "Regression")
        .def("__init__", &read_regression, "arrays"_a)
        .def("begin", &begin, "criteria"_a.noconvert(), "again"_a)
        .def("add_round", &add_round, "losses"_a, "limit"_a)
        .def("add_rounds", &add_rounds<double>, "losses"_a.noconvert())
        .def("add_rounds", &add_rounds<float>, "losses"_a.noconvert())
        .def(
            "add_some",
            [](const HeldRegression& self, const InReals& losses, const InIndices& count) {
                const Index m = self.view.criteria();
                return owned(
                    self.view.add_some(sized(losses, m, "losses"), sized(count, m, "count")));
            },
            "losses"_a.noconvert(), "count"_a.noconvert())
        .def(
            "add_owed",
            [](const HeldRegression& self, const InIndices& criteria, const InReals& mean,
               const InReals& squares) {
                const ConstIndices which = criteria_of(self, criteria);
                self.view.add_owed(which, sized(mean, size_of(which), "mean"),
                                   sized(squares, size_of(which), "squares"));
            },
            "criteria"_a.noconvert(), "mean"_a.noconvert(), "squares"_a.noconvert())
        .def("take_each", &take_each, "criteria"_a.noconvert(), "phi"_a.noconvert(),
             "losses"_a.noconvert().none(), "count"_a.noconvert())
        .def("flush", &flush, "criteria"_a.noconvert(), "rounds"_a, "memory"_a)
        .def(
            "measure",
            [](const HeldRegression& self, const InIndices& criteria, double factor) {
                self.view.measure(criteria_of(self, criteria), factor);
            },
            "criteria"_a.noconvert(), "factor"_a)
        .def("requeue", [](const HeldRegression& self) { self.view.requeue(); })
        .def(
            "let_wander",
            [](const HeldRegression& self, double g, Index rounds, const OutReals& lost) {
                check_levels(self.view);
                let_wander(self.view, g, rounds, sized(lost, self.view.criteria(), "lost"));
            },
            "g"_a, "rounds"_a, "lost"_a.noconvert())
        .def("likelihood", &likelihood, "criteria"_a.noconvert(), "phi"_a.noconvert(),
             "n"_a.noconvert(), "losses"_a.noconvert(), "rounds"_a.noconvert(),
             "sigma"_a.noconvert(), "misfit"_a.noconvert(), "grid"_a.noconvert(), "far"_a)
        .def("compare", &compare, "sigma"_a.noconvert(), "misfit"_a.noconvert(), "g"_a, "enough"_a,
             "heard"_a.noconvert(), "far"_a.noconvert(), "alone"_a.noconvert());
    module.def("rounds_to_trigger", &rounds_to_trigger, "spread"_a, "since"_a, "factor"_a);
}

// Factors alone

// phi_i' theta_i and phi_i' V_i^{-1} phi_i of these criteria at features phi.
std::pair<nb::object, nb::object> predict(const InReals& R, const InIndices& blocks,
                                          const InIndices& offsets, const InIndices& criteria,
                                          const InReals& phi) {
    const ConstIndices at = view_of(offsets), starts = sized(blocks, size_of(at), "blocks");
    if (at.empty()) refuse("offsets must not be empty");
    const ConstReals factors = sized(R, starts.back(), "R"), x = sized(phi, at.back(), "phi");
    std::vector<double> means, spreads, u;
    for (const Index i : rows_of(criteria, at, size_of(x), "criteria")) {
        const Index d = at[i + 1] - at[i];
        if (starts[i] < 0 || starts[i] + triangle_size(d + 1) > size_of(factors))
            refuse("blocks[" + std::to_string(i) + "] does not fit the features of its criterion");
        u.resize(static_cast<std::size_t>(d));
        const auto found = mean_and_spread(&factors[starts[i]], &x[at[i]], d, u.data());
        means.push_back(found.mean);
        spreads.push_back(found.spread);
    }
    return {owned(std::move(means)), owned(std::move(spreads))};
}

void bind_cholesky(nb::module_& module) {
    module.def("predict", &predict, "R"_a.noconvert(), "blocks"_a.noconvert(),
               "offsets"_a.noconvert(), "criteria"_a.noconvert(), "phi"_a.noconvert());
    module.def(
        "add_data",
        [](const OutReals& R, const Matrix<const double>& X) {
            const Index n = static_cast<Index>(X.shape(1)), rows = static_cast<Index>(X.shape(0));
            sized(R, triangle_size(n), "R");
            Sweep sweep(n);
            for (Index r = 0; r < rows; ++r) {
                std::copy_n(X.data() + r * n, n, sweep.x.view().data());
                add_datum(R.data(), n, sweep);
            }
        },
        "R"_a.noconvert(), "X"_a.noconvert());
    module.def(
        "whiten",
        [](const InReals& R, const Matrix<const double>& X, const Matrix<double>& U) {
            const Index d = static_cast<Index>(X.shape(1)), rows = static_cast<Index>(X.shape(0));
            sized(R, triangle_size(d + 1), "R");
            if (U.shape(0) != X.shape(0) || U.shape(1) != X.shape(1))
                refuse("U must have the shape of X");
            std::vector<double> means(static_cast<std::size_t>(rows));
            for (Index r = 0; r < rows; ++r)
                means[static_cast<std::size_t>(r)] =
                    mean_and_spread(R.data(), X.data() + r * d, d, U.data() + r * d).mean;
            return owned(std::move(means));
        },
        "R"_a.noconvert(), "X"_a.noconvert(), "U"_a.noconvert());
}

// Features

using HeldMonomials = Held<Monomials>;
using HeldFourier = Held<Fourier>;

// One more than the highest knob among these.
template <class T>
Index knobs_read(std::span<const T> knobs) {
    Index top = -1;
    for (const T j : knobs) {
        if (j < 0) refuse("a feature reads knob " + std::to_string(j));
        top = std::max(top, static_cast<Index>(j));
    }
    return top + 1;
}

void read_monomials(HeldMonomials* self, nb::handle source) {
    new (self) HeldMonomials{};
    Arrays from(source, self->kept);
    Monomials& to = self->view;
    to.scale = from.any<const double>("scale");
    to.a = from.any<const std::int32_t>("a");
    const Index total = static_cast<Index>(to.a.size());
    to.b = from.of<const std::int32_t>("b", total);
    to.p = from.of<const std::int8_t>("p", total);
    to.q = from.of<const std::int8_t>("q", total);
    to.offsets = from.offsets("offsets", to.criteria(), total);
    to.knobs = std::max(knobs_read(to.a), knobs_read(to.b));
}

void read_fourier(HeldFourier* self, nb::handle source) {
    new (self) HeldFourier{};
    Arrays from(source, self->kept);
    Fourier& to = self->view;
    to.w_start = from.any<const Index>("w_start");
    const Index m = size_of(to.w_start);
    to.b = from.any<const double>("b");
    to.offsets = from.offsets("offsets", m, m * size_of(to.b));
    to.scope = from.any<const Index>("scope_knobs");
    to.scope_offsets = from.offsets("scope_offsets", m, size_of(to.scope));
    to.W = from.any<const double>("W");
    to.amplitude = nb::cast<double>(source.attr("amplitude"));
    to.knobs = knobs_read(to.scope);
    for (Index i = 0; i < m; ++i) {
        const Index size = (to.scope_offsets[i + 1] - to.scope_offsets[i]) * size_of(to.b);
        if (to.w_start[i] < 0 || to.w_start[i] + size > size_of(to.W))
            refuse("w_start[" + std::to_string(i) + "] points outside W");
    }
}

template <class Maps>
void fill(const Held<Maps>& self, const OutReals& phi, const InReals& state,
          const InIndices& criteria) {
    const Index m = size_of(self.view.offsets) - 1;
    if (size_of(view_of(state)) < self.view.knobs)
        refuse("state has " + std::to_string(state.shape(0)) + " knobs, expected " +
               std::to_string(self.view.knobs));
    self.view.fill(sized(phi, self.view.offsets[m], "phi"), state.data(),
                   indices(criteria, m, "criteria"));
}

void bind_features(nb::module_& module) {
    nb::class_<HeldMonomials>(module, "Monomials")
        .def("__init__", &read_monomials, "arrays"_a)
        .def("fill", &fill<Monomials>, "phi"_a.noconvert(), "state"_a, "criteria"_a.noconvert());
    nb::class_<HeldFourier>(module, "Fourier")
        .def("__init__", &read_fourier, "arrays"_a)
        .def("fill", &fill<Fourier>, "phi"_a.noconvert(), "state"_a, "criteria"_a.noconvert());
}

// The objective, and searches of it

using HeldObjective = Held<Objective>;

// Every feature reads knobs of its criterion's own scope.
void check_scopes(const Objective& F) {
    for (Index i = 0; i < F.criteria(); ++i) {
        const ConstIndices scope = F.scope_of(i);
        const auto reads = [&](Index j, int p) {
            return p == 0 || std::find(scope.begin(), scope.end(), j) != scope.end();
        };
        for (Index f = F.maps.offsets[i]; f < F.maps.offsets[i + 1]; ++f)
            if (!reads(F.maps.a[f], F.maps.p[f]) || !reads(F.maps.b[f], F.maps.q[f]))
                refuse("criterion " + std::to_string(i) + " reads a knob outside its scope");
    }
}

void make_objective(HeldObjective* self, const HeldMonomials& maps, nb::handle bound,
                    nb::handle graph, nb::handle domain) {
    new (self) HeldObjective{};
    Objective& to = self->view;
    to.maps = maps.view;
    self->kept = maps.kept;
    Arrays from(bound, self->kept), links(graph, self->kept), box(domain, self->kept);
    const Index m = to.maps.criteria();
    to.R = from.any<const double>("R");
    to.blocks = from.offsets("blocks", m, size_of(to.R));
    to.weights = from.of<const double>("weights", m);
    to.radii = from.of<const double>("radii", m);
    to.touch = links.indices("touch_criteria", m);
    to.touch_offsets = links.any<const Index>("touch_offsets");
    check_offsets(to.touch_offsets, size_of(to.touch), "touch_offsets");
    const Index k = size_of(to.touch_offsets) - 1;
    to.scope = links.indices("scope_knobs", k);
    to.scope_offsets = links.offsets("scope_offsets", m, size_of(to.scope));
    to.low = box.of<const double>("low", k);
    to.high = box.of<const double>("high", k);
    to.levels = box.any<const double>("level_values");
    to.level_offsets = box.offsets("level_offsets", k, size_of(to.levels));
    if (to.maps.knobs > k) refuse("a feature reads a knob that does not exist");
    check_scopes(to);
    check_blocks(to, m);
    to.measure();
}

void check_rising(ConstIndices x, const std::string& name) {
    if (std::adjacent_find(x.begin(), x.end(), std::greater_equal<>()) != x.end())
        refuse(name + " must ascend");
}

// Every reader of a free knob is among the criteria, as a search needs it.
void check_part(const Objective& F, ConstIndices knobs, ConstIndices criteria) {
    if (knobs.empty()) refuse("there must be a knob");
    check_rising(knobs, "knobs");
    check_rising(criteria, "criteria");
    for (const Index j : knobs)
        for (const Index i : F.readers_of(j))
            if (!std::binary_search(criteria.begin(), criteria.end(), i))
                refuse("criterion " + std::to_string(i) + " reads knob " + std::to_string(j) +
                       " and is not among the criteria");
}

void above_1(double factor) {
    if (!(factor > 1.0)) refuse("factor must be above 1");
}

double at_least_0(double effort) {
    if (!(effort >= 0.0)) refuse("effort must be at least 0");
    return effort;
}

// The arguments of a search, checked.
struct Task {
    Task(const Objective& F, const InReals& current, const InReals& price, const InIndices& free,
         const InIndices& readers, const InReals& start)
        : begin(sized(start, F.knobs(), "start")),
          now(sized(current, F.knobs(), "current")),
          prices(sized(price, F.knobs(), "price")),
          knobs(indices(free, F.knobs(), "knobs")),
          criteria(indices(readers, F.criteria(), "criteria")) {
        check_part(F, knobs, criteria);
    }

    void put(Search& search) const {
        std::copy(begin.begin(), begin.end(), &search.at.s[0]);
        std::copy(now.begin(), now.end(), &search.at.current[0]);
        std::copy(prices.begin(), prices.end(), &search.at.price[0]);
    }

    ConstReals begin, now, prices;
    ConstIndices knobs, criteria;
};

std::tuple<nb::object, double, Index> minimise(const HeldObjective& self, const InReals& start,
                                               const InReals& current, const InReals& price,
                                               const InIndices& knobs, const InIndices& criteria,
                                               double effort, Index seed) {
    const Task task(self.view, current, price, knobs, criteria, start);
    const Effort enough(at_least_0(effort), size_of(task.knobs));
    Minimum found;
    {
        nb::gil_scoped_release unlocked;
        Search search(self.view);
        task.put(search);
        found = MultiStart(search, task.knobs, task.criteria, seed)(enough);
    }
    return {owned(std::move(found.state)), found.value, found.steps};
}

nb::object tabulate(const HeldObjective& self, const InReals& state, const InIndices& knobs,
                    const InIndices& criteria, const InIndices& firsts, const InReals& values) {
    const Objective& F = self.view;
    const ConstReals s = sized(state, F.knobs(), "state");
    const Candidates from{indices(knobs, F.knobs(), "knobs"),
                          sized(firsts, static_cast<Index>(knobs.shape(0)) + 1, "firsts"),
                          view_of(values)};
    const ConstIndices which = indices(criteria, F.criteria(), "criteria");
    check_offsets(from.firsts, size_of(from.values), "firsts");
    check_rising(from.knobs, "knobs");
    std::vector<double> tables;
    {
        nb::gil_scoped_release unlocked;
        tables = trimtab::tabulate(F, from, which, s);
    }
    return owned(std::move(tables));
}

std::pair<nb::object, nb::object> predict_at(const HeldObjective& self, const InReals& state,
                                             const InIndices& criteria) {
    const Objective& F = self.view;
    const ConstReals s = sized(state, F.knobs(), "state");
    std::vector<double> means, spreads, room(static_cast<std::size_t>(F.widest));
    for (const Index i : indices(criteria, F.criteria(), "criteria")) {
        const auto found = F.predict(i, s.data(), room.data());
        means.push_back(found.mean);
        spreads.push_back(found.spread);
    }
    return {owned(std::move(means)), owned(std::move(spreads))};
}

bool is_curved(const HeldObjective& self, const InIndices& knobs, const InIndices& criteria) {
    const Objective& F = self.view;
    return F.is_curved(indices(knobs, F.knobs(), "knobs"),
                       indices(criteria, F.criteria(), "criteria"));
}

nb::object pruned(const HeldObjective& self, const InReals& state, const InReals& current,
                  const InReals& price, double left) {
    const Index k = self.view.knobs();
    const ConstReals best = sized(state, k, "state");
    return owned(self.view.pruned({best.begin(), best.end()}, sized(current, k, "current"),
                                  sized(price, k, "price"), left));
}

std::pair<double, double> line_minimum(const InReals& A, const Matrix<const double>& Q,
                                       const InReals& bonus, double anchor, double price,
                                       double now, double low, double high, const InReals& levels,
                                       double coarse) {
    const Index degree = static_cast<Index>(A.shape(0)) - 1;
    const Index readers = static_cast<Index>(Q.shape(0));
    if (degree < 0 || static_cast<Index>(Q.shape(1)) != 2 * degree + 1)
        refuse("Q must have 2 degree + 1 columns");
    const ConstReals weights = sized(bonus, readers, "bonus");
    Line line(degree, readers);
    line.degree = degree;
    line.readers = readers;
    line.anchor = anchor;
    line.price = price;
    std::copy_n(A.data(), degree + 1, &line.A[0]);
    for (Index c = 0; c < readers; ++c) {
        line.bonus[c] = weights[c];
        std::copy_n(Q.data() + c * (2 * degree + 1), 2 * degree + 1, line.Q(c));
    }
    const Step step = LineSearch(line)(now, low, high, view_of(levels), coarse);
    return {step.x, step.gain};
}

void bind_objective(nb::module_& module) {
    nb::class_<HeldObjective>(module, "Objective")
        .def("__init__", &make_objective, "maps"_a, "bound"_a, "graph"_a, "domain"_a)
        .def("predict", &predict_at, "state"_a, "criteria"_a.noconvert())
        .def("is_curved", &is_curved, "knobs"_a.noconvert(), "criteria"_a.noconvert())
        .def("pruned", &pruned, "state"_a.noconvert(), "current"_a.noconvert(),
             "price"_a.noconvert(), "left"_a)
        .def("minimise", &minimise, "start"_a.noconvert(), "current"_a.noconvert(),
             "price"_a.noconvert(), "knobs"_a.noconvert(), "criteria"_a.noconvert(), "effort"_a,
             "seed"_a)
        .def("tabulate", &tabulate, "state"_a.noconvert(), "knobs"_a.noconvert(),
             "criteria"_a.noconvert(), "firsts"_a.noconvert(), "values"_a.noconvert());
    module.def(
        "better",
        [](const InReals& x, double fx, const InReals& y, double fy, const InReals& current) {
            const Index n = static_cast<Index>(current.shape(0));
            return better(sized(x, n, "x"), fx, sized(y, n, "y"), fy, view_of(current));
        },
        "x"_a.noconvert(), "fx"_a, "y"_a.noconvert(), "fy"_a, "current"_a.noconvert());
    module.def("line_minimum", &line_minimum, "A"_a.noconvert(), "Q"_a.noconvert(),
               "bonus"_a.noconvert(), "anchor"_a, "price"_a, "now"_a, "low"_a, "high"_a,
               "levels"_a.noconvert(), "coarse"_a);
}

// Exact minimisation over candidates

void bind_exact(nb::module_& module) {
    nb::class_<Elimination>(module, "Elimination")
        .def(
            "__init__",
            [](Elimination* self, const InIndices& offsets, const InIndices& reads,
               const InIndices& counts, Index most) {
                const ConstIndices all = view_of(counts);
                const ConstIndices scopes = indices(reads, size_of(all), "reads");
                check_offsets(view_of(offsets), size_of(scopes), "offsets");
                if (all.empty() || *std::min_element(all.begin(), all.end()) < 1)
                    refuse("counts must be at least 1, of at least one variable");
                new (self) Elimination(view_of(offsets), scopes, all, most);
            },
            "offsets"_a.noconvert(), "reads"_a.noconvert(), "counts"_a.noconvert(), "most"_a)
        .def_prop_ro("entries", &Elimination::entries)
        .def(
            "minimum",
            [](Elimination& self, const InReals& tables, const InReals& toll) {
                if (self.refused()) refuse("this elimination was refused");
                const ConstReals all = sized(tables, self.table_size(), "tables");
                const ConstReals costs = sized(toll, self.candidates(), "toll");
                Elimination::Choice found;
                {
                    nb::gil_scoped_release unlocked;
                    found = self.minimum(all, costs);
                }
                return std::pair{owned(std::move(found.candidates)), found.least};
            },
            "tables"_a.noconvert(), "toll"_a.noconvert());
}

// Local updates, and runs from event to event

// Two threads that share a policy wait for each other.
struct HeldLocal {
    HeldLocal(const HeldRegression& regression, const HeldObjective& objective, Reals radii,
              GrowingRadii growing, double effort, std::vector<nb::object> arrays)
        : kept(std::move(arrays)),
          update(regression.view, objective.view, radii, growing, effort) {}

    std::vector<nb::object> kept;
    std::mutex busy;
    LocalUpdate update;
};

Draws draws_of(const nb::capsule& bits) {
    if (std::string_view(bits.name()) != "BitGenerator")
        refuse("expected the capsule of a NumPy bit generator");
    return Draws(static_cast<BitGenerator*>(bits.data()));
}

template <class T>
nb::object copied(std::span<const T> values) {
    return owned(std::vector<T>(values.begin(), values.end()));
}

void make_local(HeldLocal* self, const HeldRegression& regression, const HeldObjective& objective,
                const OutReals& radii, const InReals& sigma, const InReals& norm, double extra,
                double effort) {
    const Index m = regression.view.criteria();
    if (objective.view.criteria() != m)
        refuse("regression and objective are of different problems");
    if (radii.data() != objective.view.radii.data()) refuse("radii are not those of the objective");
    sized(norm, size_of(view_of(sigma)), "norm");
    if (sigma.shape(0) != 0) sized(sigma, m, "sigma");
    new (self)
        HeldLocal(regression, objective, view_of(radii), {view_of(sigma), view_of(norm), extra},
                  at_least_0(effort), {nb::cast(radii), nb::cast(sigma), nb::cast(norm)});
}

// The criteria concerned, ascending; nothing where a part found is linear in its knobs.
std::optional<nb::object> find(HeldLocal& self, const InIndices& around) {
    Neighbourhood& parts = self.update.parts;
    parts.find(indices(around, self.update.objective().criteria(), "around"));
    if (self.update.any_linear()) return std::nullopt;
    return copied(parts.affected());
}

std::pair<nb::object, bool> update(HeldLocal& self, const InReals& state, double width,
                                   const InIndices& triggered, double factor, Index seed) {
    const ConstReals now = sized(state, self.update.objective().knobs(), "state");
    const ConstIndices which = indices(triggered, self.update.objective().criteria(), "triggered");
    above_1(factor);
    bool finite = false;
    {
        nb::gil_scoped_release unlocked;
        const std::scoped_lock alone(self.busy);
        self.update.begin(now, width);
        finite = self.update.update(which, factor, seed);
    }
    return {copied(self.update.state()), finite};
}

nb::dict play_events(HeldLocal& local, const InReals& theta, const InReals& sigma,
                     const InReals& state, double width, Index t, Index stop, Index clock,
                     Index review, double rate, double bound, double bound_per_round, double factor,
                     Index seed, const nb::capsule& bits) {
    constexpr const char* WORDS[] = {"done", "full", "ask", "failed"};
    LocalUpdate& update = local.update;
    const ConstReals now = sized(state, update.objective().knobs(), "state");
    Events events(update, sized(theta, size_of(update.regression().phi), "theta"),
                  sized(sigma, update.objective().criteria(), "sigma"));
    const Draws draws = draws_of(bits);
    above_1(factor);
    Events::Status status;
    {
        nb::gil_scoped_release unlocked;
        const std::scoped_lock alone(local.busy);
        update.begin(now, width);
        status =
            events.run({t, stop, clock, review}, rate, bound, bound_per_round, factor, seed, draws);
    }
    nb::dict found;
    found["status"] = WORDS[static_cast<int>(status)];
    found["state"] = copied(update.state());
    found["t"] = events.at.t;
    found["bound"] = events.bound;
    found["solves"] = events.solves;
    found["first_solve"] = events.first_solve;
    found["attributions"] = owned(std::move(events.attributions));
    found["ends"] = owned(std::move(events.ends));
    found["rates"] = owned(std::move(events.rates));
    found["offsets"] = owned(std::move(events.offsets));
    found["changed"] = owned(std::move(events.changed));
    found["values"] = owned(std::move(events.values));
    return found;
}

void bind_local(nb::module_& module) {
    nb::class_<HeldLocal>(module, "LocalUpdate")
        .def("__init__", &make_local, "regression"_a, "objective"_a, "radii"_a.noconvert(),
             "sigma"_a.noconvert(), "norm"_a.noconvert(), "extra"_a, "effort"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("find", &find, "around"_a.noconvert())
        .def("update", &update, "state"_a.noconvert(), "width"_a, "triggered"_a.noconvert(),
             "factor"_a, "seed"_a)
        .def_prop_ro("nbytes", [](const HeldLocal& self) { return self.update.bytes(); });
    module.def("play_events", &play_events, "local"_a, "theta"_a.noconvert(), "sigma"_a.noconvert(),
               "state"_a.noconvert(), "width"_a, "t"_a, "stop"_a, "clock"_a, "review"_a, "rate"_a,
               "bound"_a, "bound_per_round"_a, "factor"_a, "seed"_a, "bits"_a);
    module.def(
        "gaussian_sums",
        [](const nb::capsule& bits, const InReals& sigma, const InIndices& n) {
            const ConstIndices rounds = view_of(n);
            const ConstReals scales = sized(sigma, size_of(rounds), "sigma");
            Draws draws = draws_of(bits);
            std::vector<double> mean, squares;
            for (std::size_t c = 0; c < rounds.size(); ++c) {
                if (rounds[c] < 1) refuse("n must be at least 1");
                mean.push_back(draws.mean_of(rounds[c], scales[c]));
            }
            for (std::size_t c = 0; c < rounds.size(); ++c)
                squares.push_back(draws.squares_of(rounds[c], scales[c]));
            return std::pair{owned(std::move(mean)), owned(std::move(squares))};
        },
        "bits"_a, "sigma"_a.noconvert(), "n"_a.noconvert());
}

// What would be a loop in Python

nb::object labels(const InIndices& offsets, const InIndices& items, const InIndices& rows,
                  const InIndices& free) {
    const ConstIndices at = view_of(offsets), all = view_of(items);
    std::vector<Index> parent(free.shape(0));
    link(at, all, rows_of(rows, at, size_of(all), "rows"), view_of(free), parent);
    return owned(std::move(parent));
}

void bind_small(nb::module_& module) {
    module.def("labels", &labels, "offsets"_a.noconvert(), "items"_a.noconvert(),
               "rows"_a.noconvert(), "free"_a.noconvert());
}

}  // namespace
}  // namespace trimtab

NB_MODULE(_core, module) {
    namespace nb = nanobind;
    nb::set_leak_warnings(false);  // what a program still holds at its end is no leak
    module.doc() = "The compiled room of trimtab: regressions, searches, events.";
    trimtab::bind_regression(module);
    trimtab::bind_cholesky(module);
    trimtab::bind_features(module);
    trimtab::bind_small(module);
    trimtab::bind_objective(module);
    trimtab::bind_exact(module);
    trimtab::bind_local(module);
}
