// The doors: everything that Python may call. src/trimtab/_core.pyi says the same in Python.

#include <mutex>
#include <optional>
#include <variant>

#include "alarm.hpp"
#include "descent.hpp"
#include "doors.hpp"
#include "draws.hpp"
#include "elimination.hpp"
#include "events.hpp"
#include "features.hpp"
#include "level.hpp"
#include "local_update.hpp"
#include "objective.hpp"
#include "regression.hpp"
#include "tables.hpp"
#include "weighing.hpp"
#include "wide.hpp"

using namespace nanobind::literals;

namespace trimtab {
namespace {

using Numbers = std::vector<double>;
using Count = std::vector<Index>;

double at_least_0(double effort) {
    if (!(effort >= 0.0)) refuse("effort must be at least 0");
    return effort;
}

// Regressions and their trigger queue

struct HeldRegression : Held<Regression> {
    Count tree;  // of the queue
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
    to.above = from.of<Index>("above", size_of(to.low));
    to.excess = from.of<double>("excess", size_of(to.low));
    to.data = from.of<Index>("data", m);
    to.counters = from.of<Index>("counters", 4);
    self->tree.resize(static_cast<std::size_t>(TriggerQueue::tree_size(m)));
    to.queue = {self->tree, to.due, to.n};
    to.requeue();
}

ConstIndices criteria_of(const HeldRegression& self, ConstIndices criteria) {
    return indices(criteria, self.view.criteria(), "criteria");
}

template <class T>
Index add_rows(const Regression& to, const Table<const T>& losses, double limit) {
    const auto fits = [&](T x) { return std::abs(static_cast<double>(x)) <= limit; };
    if (losses.columns != to.criteria() ||
        !std::all_of(losses.entries.begin(), losses.entries.end(), fits))
        return -1;
    Numbers row(static_cast<std::size_t>(losses.columns));
    Index cut = 0;
    for (Index r = 0; r < losses.rows; ++r) {
        std::copy_n(losses.row(r).begin(), losses.columns, row.begin());
        cut += to.add_round(row);
    }
    return cut;
}

Index add(const HeldRegression& self, nb::handle losses, std::optional<ConstIndices> count,
          double limit) {
    const Regression& to = self.view;
    const Index m = to.criteria();
    if (ConstReals one; nb::try_cast(losses, one, false)) {  // as in nearly every round
        if (count) return to.add_some(sized(one, m, "losses"), sized(*count, m, "count"));
        const bool fits = size_of(one) == m && count_beyond(one.data(), m, limit) == 0;
        return fits ? to.add_round(one) : -1;
    }
    if (count) throw nb::type_error("with counts losses must be a contiguous array of float64");
    if (Table<const double> rows; nb::try_cast(losses, rows, false))
        return add_rows(to, rows, limit);
    if (Table<const float> rows; nb::try_cast(losses, rows, false))
        return add_rows(to, rows, limit);
    return -1;
}

void add_owed(const HeldRegression& self, ConstIndices criteria, ConstReals mean,
              ConstReals squares) {
    const ConstIndices which = criteria_of(self, criteria);
    self.view.add_owed(which, sized(mean, size_of(which), "mean"),
                       sized(squares, size_of(which), "squares"));
}

void take(const HeldRegression& self, ConstIndices criteria, ConstReals phi,
          std::optional<ConstReals> losses, ConstIndices count) {
    const Index m = self.view.criteria();
    const ConstIndices which = criteria_of(self, criteria), rounds = sized(count, m, "count");
    const ConstReals x = sized(phi, size_of(self.view.phi), "phi");
    if (losses)
        self.view.take(which, x, sized(*losses, m, "losses"), rounds);
    else
        self.view.foresee(which, x, rounds);
}

void begin(const HeldRegression& self, ConstIndices criteria, bool again) {
    const ConstIndices which = criteria_of(self, criteria);
    if (!again) return self.view.begin(which);
    if (self.view.R0.empty() || self.view.alone.empty())
        refuse("to begin again needs R0 and alone, which are empty");
    self.view.begin_again(which);
}

// Every criterion has a level, and factors of its data alone.
void check_levels(const Regression& all) {
    if (all.R0.empty() || all.alone.empty()) refuse("levels need R0 and alone, which are empty");
    for (Index i = 0; i < all.criteria(); ++i)
        if (all.dim(i) == 0) refuse("criterion " + std::to_string(i) + " has no constant feature");
}

void flush(const HeldRegression& self, ConstIndices criteria, Index rounds, Index memory,
           double steps, Reals lost) {
    const ConstIndices which = criteria_of(self, criteria);
    if (memory < 1) refuse("memory must be at least 1");
    if (steps > 0.0) {
        check_levels(self.view);
        let_wander(self.view, steps, sized(lost, self.view.criteria(), "lost"));
    }
    if (memory < NEVER)
        self.view.flush_faded(which, rounds, memory);
    else
        self.view.flush(which);
}

void measure(const HeldRegression& self, ConstIndices criteria, double factor) {
    self.view.measure(criteria_of(self, criteria), factor);
}

// What a prior adds: how far levels wander, and the alarm

Numbers likelihood(const HeldRegression& self, ConstIndices criteria, Table<const double> phi,
                   Table<const double> n, Table<const double> losses, ConstReals rounds,
                   ConstReals sigma, ConstReals misfit, ConstReals grid, double far) {
    check_levels(self.view);
    const ConstIndices which = criteria_of(self, criteria);
    const Index epochs = size_of(rounds), s = size_of(which);
    Index width = 0;
    for (const Index i : which) width += self.view.dim(i);
    const Diary diary{which,
                      sized(phi, epochs, width, "phi"),
                      sized(n, epochs, s, "n"),
                      sized(losses, epochs, s, "losses"),
                      rounds,
                      sized(sigma, s, "sigma"),
                      sized(misfit, s, "misfit"),
                      far};
    Numbers found;
    for (const double g : grid) found.push_back(diary.likelihood(self.view, g));
    return found;
}

std::tuple<Index, double, double> compare(const HeldRegression& self, ConstReals sigma,
                                          ConstReals misfit, double g, Index enough,
                                          Table<double> heard, Reals far, Reals alone) {
    const Index m = self.view.criteria();
    sized(heard, 6, m, "heard");
    const auto row = [&](Index r) { return heard.row(r); };
    const Alarm alarm{sized(sigma, m, "sigma"),
                      sized(misfit, m, "misfit"),
                      g,
                      enough,
                      row(0),
                      row(1),
                      row(2),
                      row(3),
                      row(4),
                      row(5)};
    const auto found = alarm.compare(self.view, sized(far, m, "far"), sized(alone, m, "alone"));
    return {found.known, found.sum, found.squares};
}

void bind_regression(nb::module_& module) {
    nb::class_<HeldRegression>(module, "Regression")
        .def("__init__", &read_regression, "arrays"_a)
        .def("begin", &begin, "criteria"_a, "again"_a)
        .def("add", &add, "losses"_a, "count"_a.none(), "limit"_a)
        .def("add_owed", &add_owed, "criteria"_a, "mean"_a, "squares"_a)
        .def("take", &take, "criteria"_a, "phi"_a, "losses"_a.none(), "count"_a)
        .def("flush", &flush, "criteria"_a, "rounds"_a, "memory"_a, "steps"_a, "lost"_a)
        .def("measure", &measure, "criteria"_a, "factor"_a)
        .def("likelihood", &likelihood, "criteria"_a, "phi"_a, "n"_a, "losses"_a, "rounds"_a,
             "sigma"_a, "misfit"_a, "grid"_a, "far"_a)
        .def("compare", &compare, "sigma"_a, "misfit"_a, "g"_a, "enough"_a, "heard"_a, "far"_a,
             "alone"_a);
    module.def("rounds_to_trigger", &rounds_to_trigger, "spread"_a, "since"_a, "factor"_a);
}

// Features, and what factors say of them

using HeldFeatures = Held<std::variant<Monomials, Fourier>>;

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

Monomials read_monomials(Arrays from) {
    Monomials to;
    to.scale = from.any<const double>("scale");
    to.a = from.any<const std::int32_t>("a");
    const Index total = static_cast<Index>(to.a.size());
    to.b = from.of<const std::int32_t>("b", total);
    to.p = from.of<const std::int8_t>("p", total);
    to.q = from.of<const std::int8_t>("q", total);
    to.offsets = from.offsets("offsets", to.criteria(), total);
    to.knobs = std::max(knobs_read(to.a), knobs_read(to.b));
    return to;
}

Fourier read_fourier(Arrays from, double amplitude) {
    Fourier to;
    to.w_start = from.any<const Index>("w_start");
    const Index m = size_of(to.w_start);
    to.b = from.any<const double>("b");
    to.offsets = from.offsets("offsets", m, m * size_of(to.b));
    to.scope = from.any<const Index>("scope_knobs");
    to.scope_offsets = from.offsets("scope_offsets", m, size_of(to.scope));
    to.W = from.any<const double>("W");
    to.amplitude = amplitude;
    to.knobs = knobs_read(to.scope);
    for (Index i = 0; i < m; ++i) {
        const Index size = (to.scope_offsets[i + 1] - to.scope_offsets[i]) * size_of(to.b);
        if (to.w_start[i] < 0 || to.w_start[i] + size > size_of(to.W))
            refuse("w_start[" + std::to_string(i) + "] points outside W");
    }
    return to;
}

void read_features(HeldFeatures* self, nb::handle source) {
    new (self) HeldFeatures{};
    Arrays from(source, self->kept);
    if (nb::hasattr(source, "amplitude"))
        self->view = read_fourier(from, nb::cast<double>(source.attr("amplitude")));
    else
        self->view = read_monomials(from);
}

// The state may be of another type, or have gaps: it is converted then.
void fill(const HeldFeatures& self, Reals phi,
          const nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>& state,
          ConstIndices criteria) {
    const auto write = [&](const auto& maps) {
        if (static_cast<Index>(state.shape(0)) < maps.knobs)
            refuse("state has " + std::to_string(state.shape(0)) + " knobs, expected " +
                   std::to_string(maps.knobs));
        maps.fill(sized(phi, maps.offsets.back(), "phi"), state.data(),
                  indices(criteria, size_of(maps.offsets) - 1, "criteria"));
    };
    std::visit(write, self.view);
}

// phi_i' theta_i and phi_i' V_i^{-1} phi_i of these criteria at features phi.
std::pair<Numbers, Numbers> predict(ConstReals R, ConstIndices blocks, ConstIndices starts,
                                    ConstIndices criteria, ConstReals phi) {
    sized(blocks, size_of(starts), "blocks");
    sized(phi, starts.empty() ? 0 : starts.back(), "phi");
    sized(R, blocks.empty() ? 0 : blocks.back(), "R");
    Numbers means, spreads, u;
    for (const Index i : indices(criteria, size_of(starts) - 1, "criteria")) {
        const Index first = starts[i], d = starts[i + 1] - first;
        if (first < 0 || d < 0 || first + d > size_of(phi) || blocks[i] < 0 ||
            blocks[i] + triangle_size(d + 1) > size_of(R))
            refuse("offsets[" + std::to_string(i) + "] does not fit its table");
        u.resize(static_cast<std::size_t>(d));
        const auto found = mean_and_spread(&R[blocks[i]], &phi[first], d, u.data());
        means.push_back(found.mean);
        spreads.push_back(found.spread);
    }
    return {std::move(means), std::move(spreads)};
}

void bind_features(nb::module_& module) {
    nb::class_<HeldFeatures>(module, "Features")
        .def("__init__", &read_features, "arrays"_a)
        .def("fill", &fill, "phi"_a, "state"_a, "criteria"_a);
    module.def("predict", &predict, "R"_a, "blocks"_a, "offsets"_a, "criteria"_a, "phi"_a);
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

void make_objective(HeldObjective* self, const HeldFeatures& maps, nb::handle bound,
                    nb::handle graph, nb::handle domain) {
    new (self) HeldObjective{};
    Objective& to = self->view;
    if (!std::holds_alternative<Monomials>(maps.view)) refuse("the features must be monomials");
    to.maps = std::get<Monomials>(maps.view);
    self->kept = maps.kept;
    Arrays from(bound, self->kept), links(graph, self->kept), box(domain, self->kept);
    const Index m = to.maps.criteria();
    to.R = from.any<const double>("R");
    to.blocks = from.offsets("blocks", m, size_of(to.R));
    to.weights = from.of<const double>("weights", m);
    to.radii = from.of<const double>("radii", m);
    to.low = box.any<const double>("low");
    const Index k = to.knobs();
    to.high = box.of<const double>("high", k);
    to.levels = box.any<const double>("level_values");
    to.level_offsets = box.offsets("level_offsets", k, size_of(to.levels));
    to.touch = links.indices("touch_criteria", m);
    to.touch_offsets = links.offsets("touch_offsets", k, size_of(to.touch));
    to.scope = links.indices("scope_knobs", k);
    to.scope_offsets = links.offsets("scope_offsets", m, size_of(to.scope));
    if (to.maps.knobs > k) refuse("a feature reads a knob that does not exist");
    check_scopes(to);
    check_blocks(to, m);
    to.measure();
    if (to.degree > Objective::MOST_DEGREE) refuse("no power may be above 32");
}

// Every reader of a free knob is among the criteria, as a search needs it.
void check_part(const Objective& F, ConstIndices knobs, ConstIndices criteria) {
    if (knobs.empty()) refuse("there must be a knob");
    rising(knobs, F.knobs(), "knobs");
    rising(criteria, F.criteria(), "criteria");
    for (const Index j : knobs)
        for (const Index i : F.readers_of(j))
            if (!std::binary_search(criteria.begin(), criteria.end(), i))
                refuse("criterion " + std::to_string(i) + " reads knob " + std::to_string(j) +
                       " and is not among the criteria");
}

std::optional<std::tuple<Numbers, double, Index>> minimise(const HeldObjective& self,
                                                           ConstReals start, ConstReals current,
                                                           ConstReals price, ConstIndices knobs,
                                                           ConstIndices criteria, double effort,
                                                           Index seed, bool curved) {
    const Objective& F = self.view;
    sized(start, F.knobs(), "start");
    sized(current, F.knobs(), "current");
    sized(price, F.knobs(), "price");
    check_part(F, knobs, criteria);
    const Effort enough(at_least_0(effort), size_of(knobs));
    if (curved && !F.is_curved(knobs, criteria)) return std::nullopt;
    Minimum found;
    {
        nb::gil_scoped_release unlocked;
        Search search(F);
        std::copy(start.begin(), start.end(), &search.at.s[0]);
        std::copy(current.begin(), current.end(), &search.at.current[0]);
        std::copy(price.begin(), price.end(), &search.at.price[0]);
        found = MultiStart(search, knobs, criteria, seed)(enough);
    }
    return std::tuple{std::move(found.state), found.value, found.steps};
}

// The objective is that of these regressions.
void check_same(const Regression& all, const Objective& F) {
    if (all.R.data() != F.R.data() || size_of(all.phi) != F.maps.offsets.back() ||
        all.criteria() != F.criteria())
        refuse("regression and objective must be of one problem");
}

std::optional<nb::dict> weigh(const HeldObjective& self, ConstReals current, ConstReals low,
                              ConstReals high, ConstReals price, Index rounds, Index limit,
                              double prune, double factor, double effort, Index seed,
                              const HeldRegression* deploy) {
    Objective F = self.view;
    if (!F.levels.empty()) return std::nullopt;
    sized(current, F.knobs(), "current");
    F.low = sized(low, F.knobs(), "low");
    F.high = sized(high, F.knobs(), "high");
    if (limit < 1 || rounds > limit) refuse("limit must be at least 1 and at least rounds");
    Weighing look(F, current, sized(price, F.knobs(), "price"), limit, factor);
    at_least_0(effort);
    if (!look.is_curved()) return std::nullopt;
    if (deploy) check_same(deploy->view, F);
    {
        nb::gil_scoped_release unlocked;
        look.weigh(rounds, effort, seed);
        if (prune > 0.0) look.prune(prune);
        if (deploy) look.deploy(deploy->view);
    }
    const bool moves = !std::equal(current.begin(), current.end(), look.best.begin());
    nb::dict found;
    found["here"] = look.terms(current);
    found["there"] = look.terms(moves ? look.best : look.free);
    found["free"] = std::move(look.free);
    found["value"] = look.value;
    found["best"] = std::move(look.best);
    found["rounds"] = look.rounds;
    found["solves"] = look.solves;
    return found;
}

Numbers tabulate(const HeldObjective& self, ConstReals state, ConstIndices knobs,
                 ConstIndices criteria, ConstIndices firsts, ConstReals values) {
    const Objective& F = self.view;
    sized(state, F.knobs(), "state");
    rising(knobs, F.knobs(), "knobs");
    indices(criteria, F.criteria(), "criteria");
    offsets(sized(firsts, size_of(knobs) + 1, "firsts"), size_of(values), "firsts");
    nb::gil_scoped_release unlocked;
    return trimtab::tabulate(F, {knobs, firsts, values}, criteria, state);
}

Index choose(const Table<const double>& states, ConstReals values, ConstReals current) {
    sized(states, size_of(values), size_of(current), "states");
    if (values.empty()) refuse("there must be a candidate");
    std::vector<ConstReals> rows(values.size());
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = states.row(static_cast<Index>(r));
    return static_cast<Index>(trimtab::choose(rows, values, current));
}

// The parts of these knobs: the knobs, part after part, and where each ends; the criteria likewise.
std::tuple<Count, Count, Count, Count> parts(ConstIndices scope_offsets, ConstIndices scope,
                                             ConstIndices touch_offsets, ConstIndices touch,
                                             ConstIndices free) {
    offsets(scope_offsets, size_of(scope), "scope_offsets");
    offsets(touch_offsets, size_of(touch), "touch_offsets");
    const Index m = size_of(scope_offsets) - 1, k = size_of(touch_offsets) - 1;
    indices(scope, k, "scope");
    indices(touch, m, "touch");
    Neighbourhood found(scope_offsets, scope, touch_offsets, touch);
    found.free(rising(free, k, "free"));
    const auto copy = [](ConstIndices x) { return Count(x.begin(), x.end()); };
    return {copy(found.knobs()), copy(found.knob_ends()), copy(found.criteria()),
            copy(found.criterion_ends())};
}

void bind_objective(nb::module_& module) {
    nb::class_<HeldObjective>(module, "Objective")
        .def("__init__", &make_objective, "maps"_a, "bound"_a, "graph"_a, "domain"_a)
        .def("minimise", &minimise, "start"_a, "current"_a, "price"_a, "knobs"_a, "criteria"_a,
             "effort"_a, "seed"_a, "curved"_a)
        .def("weigh", &weigh, "current"_a, "low"_a, "high"_a, "price"_a, "rounds"_a, "limit"_a,
             "prune"_a, "factor"_a, "effort"_a, "seed"_a, "deploy"_a.none())
        .def("tabulate", &tabulate, "state"_a, "knobs"_a, "criteria"_a, "firsts"_a, "values"_a);
    module.def("choose", &choose, "states"_a, "values"_a, "current"_a);
    module.def("parts", &parts, "scope_offsets"_a, "scope"_a, "touch_offsets"_a, "touch"_a,
               "free"_a);
}

// Exact minimisation over candidates

std::optional<Elimination> plan(ConstIndices starts, ConstIndices reads, ConstIndices counts,
                                Index most) {
    offsets(starts, size_of(indices(reads, size_of(counts), "reads")), "offsets");
    if (counts.empty() || *std::min_element(counts.begin(), counts.end()) < 1)
        refuse("counts must be at least 1, of at least one variable");
    return Elimination::of(starts, reads, counts, most);
}

std::tuple<Count, double, Index> minimum(Elimination& self, ConstReals tables, ConstReals toll) {
    sized(tables, self.table_size(), "tables");
    sized(toll, self.candidates(), "toll");
    nb::gil_scoped_release unlocked;
    return self.minimum(tables, toll);
}

void bind_exact(nb::module_& module) {
    nb::class_<Elimination>(module, "Elimination").def("minimum", &minimum, "tables"_a, "toll"_a);
    module.def("plan", &plan, "offsets"_a, "reads"_a, "counts"_a, "most"_a);
}

// Local updates, and runs from event to event

// Two threads that share a policy wait for each other.
struct HeldLocal {
    HeldLocal(const HeldRegression& regression, const HeldObjective& objective, Reals radii,
              GrowingRadii growing, std::vector<nb::object> arrays)
        : kept(std::move(arrays)), update(regression.view, objective.view, radii, growing) {}

    std::vector<nb::object> kept;
    std::mutex busy;
    LocalUpdate update;
};

Draws draws_of(const nb::capsule& bits) {
    if (std::string_view(bits.name()) != "BitGenerator")
        refuse("expected the capsule of a NumPy bit generator");
    return Draws(static_cast<BitGenerator*>(bits.data()));
}

void make_local(HeldLocal* self, const HeldRegression& regression, const HeldObjective& objective,
                nb::handle bound, nb::handle growing) {
    const Index m = regression.view.criteria();
    check_same(regression.view, objective.view);
    std::vector<nb::object> kept;
    Arrays from(bound, kept), given(growing, kept);
    const Reals radii = from.of<double>("radii", m);
    if (radii.data() != objective.view.radii.data()) refuse("radii are not those of the objective");
    const ConstReals sigma = given.maybe<const double>("sigma", m);
    const ConstReals norm = given.of<const double>("norm", size_of(sigma));
    const double extra = nb::cast<double>(growing.attr("extra"));
    new (self) HeldLocal(regression, objective, radii, {sigma, norm, extra}, std::move(kept));
}

std::optional<std::pair<Numbers, bool>> update(HeldLocal& self, ConstReals state, double width,
                                               ConstIndices around, ConstIndices triggered,
                                               double factor, double effort, Index seed) {
    LocalUpdate& local = self.update;
    const Index m = local.objective().criteria();
    sized(state, local.objective().knobs(), "state");
    indices(around, m, "around");
    indices(triggered, m, "triggered");
    at_least_0(effort);
    nb::gil_scoped_release unlocked;
    const std::scoped_lock alone(self.busy);
    local.parts.find(around);
    if (local.any_linear()) return std::nullopt;
    local.begin(state, width);
    const bool finite = local.update(triggered, factor, effort, seed);
    return std::pair{Numbers(local.state().begin(), local.state().end()), finite};
}

nb::dict play(HeldLocal& self, ConstReals theta, ConstReals sigma, ConstReals state, double width,
              Index t, Index stop, Index clock, Index review, double rate, double bound,
              double bound_per_round, double factor, double effort, Index seed,
              const nb::capsule& bits) {
    constexpr const char* WORDS[] = {"done", "full", "ask", "failed"};
    LocalUpdate& local = self.update;
    sized(state, local.objective().knobs(), "state");
    Events events(local, sized(theta, size_of(local.regression().phi), "theta"),
                  sized(sigma, local.objective().criteria(), "sigma"));
    const Draws draws = draws_of(bits);
    if (!(factor > 1.0)) refuse("factor must be above 1");
    at_least_0(effort);
    Events::Status status;
    {
        nb::gil_scoped_release unlocked;
        const std::scoped_lock alone(self.busy);
        local.begin(state, width);
        status = events.run({t, stop, clock, review}, rate, bound, bound_per_round, factor, effort,
                            seed, draws);
    }
    nb::dict found;
    found["status"] = WORDS[static_cast<int>(status)];
    found["state"] = Numbers(local.state().begin(), local.state().end());
    found["t"] = events.at.t;
    found["bound"] = events.bound;
    found["solves"] = events.solves;
    found["first_solve"] = events.first_solve;
    found["attributions"] = std::move(events.attributions);
    found["ends"] = std::move(events.ends);
    found["rates"] = std::move(events.rates);
    found["offsets"] = std::move(events.offsets);
    found["changed"] = std::move(events.changed);
    found["values"] = std::move(events.values);
    return found;
}

std::pair<Numbers, Numbers> gaussian_sums(const nb::capsule& bits, ConstReals sigma,
                                          ConstIndices n) {
    sized(sigma, size_of(n), "sigma");
    Draws draws = draws_of(bits);
    Numbers mean, squares;
    for (std::size_t c = 0; c < n.size(); ++c) {
        if (n[c] < 1) refuse("n must be at least 1");
        mean.push_back(draws.mean_of(n[c], sigma[c]));
    }
    for (std::size_t c = 0; c < n.size(); ++c) squares.push_back(draws.squares_of(n[c], sigma[c]));
    return {std::move(mean), std::move(squares)};
}

void bind_local(nb::module_& module) {
    nb::class_<HeldLocal>(module, "LocalUpdate")
        .def("__init__", &make_local, "regression"_a, "objective"_a, "bound"_a, "growing"_a,
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("update", &update, "state"_a, "width"_a, "around"_a, "triggered"_a, "factor"_a,
             "effort"_a, "seed"_a)
        .def("play", &play, "theta"_a, "sigma"_a, "state"_a, "width"_a, "t"_a, "stop"_a, "clock"_a,
             "review"_a, "rate"_a, "bound"_a, "bound_per_round"_a, "factor"_a, "effort"_a, "seed"_a,
             "bits"_a)
        .def_prop_ro("nbytes", [](const HeldLocal& self) { return self.update.bytes(); });
    module.def("gaussian_sums", &gaussian_sums, "bits"_a, "sigma"_a, "n"_a);
}

}  // namespace
}  // namespace trimtab

NB_MODULE(_core, module) {
    namespace nb = nanobind;
    nb::set_leak_warnings(false);  // what a program still holds at its end is no leak
    module.doc() = "The compiled room of trimtab: regressions, searches, events.";
    trimtab::bind_regression(module);
    trimtab::bind_features(module);
    trimtab::bind_objective(module);
    trimtab::bind_exact(module);
    trimtab::bind_local(module);
}
