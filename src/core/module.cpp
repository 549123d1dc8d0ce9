// The doors: everything that Python may call. src/trimtab/_core.pyi says the same in Python.

#include "doors.hpp"
#include "features.hpp"
#include "links.hpp"
#include "regression.hpp"
#include "trigger_queue.hpp"

using namespace nanobind::literals;

namespace trimtab {
namespace {

using InReals = Vector<const double>;
using InIndices = Vector<const Index>;
using OutReals = Vector<double>;
using OutIndices = Vector<Index>;

// Regressions and their trigger queue

using HeldRegression = Held<Regression>;
using HeldQueue = Held<TriggerQueue>;

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
    for (Index i = 0; i < m; ++i)
        if (to.blocks[i + 1] - to.blocks[i] != triangle_size(to.dim(i) + 1))
            refuse("blocks[" + std::to_string(i) + "] does not fit the features of its criterion");
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
}

ConstIndices criteria_of(const HeldRegression& self, const InIndices& criteria) {
    return indices(criteria, self.view.criteria(), "criteria");
}

template <class T>
void add_rounds(const HeldRegression& self, const Matrix<const T>& losses) {
    if (static_cast<Index>(losses.shape(1)) != self.view.criteria())
        refuse("losses must have a column per criterion");
    if (!self.view.low.empty()) refuse("add_rounds does not cut losses; use add_round");
    self.view.add_rounds(losses.data(), static_cast<Index>(losses.shape(0)));
}

void bind_regression(nb::module_& module) {
    nb::class_<HeldRegression>(module, "Regression")
        .def("__init__", &read_regression, "arrays"_a)
        .def(
            "begin",
            [](const HeldRegression& self, const InIndices& criteria) {
                self.view.begin(criteria_of(self, criteria));
            },
            "criteria"_a.noconvert())
        .def(
            "begin_again",
            [](const HeldRegression& self, const InIndices& criteria) {
                if (self.view.R0.empty() || self.view.alone.empty())
                    refuse("begin_again needs R0 and alone, which are empty");
                self.view.begin_again(criteria_of(self, criteria));
            },
            "criteria"_a.noconvert())
        .def(
            "add_round",
            [](const HeldRegression& self, const InReals& losses) {
                self.view.add_round(sized(losses, self.view.criteria(), "losses"));
            },
            "losses"_a.noconvert())
        .def("add_rounds", &add_rounds<double>, "losses"_a.noconvert())
        .def("add_rounds", &add_rounds<float>, "losses"_a.noconvert())
        .def(
            "add_some",
            [](const HeldRegression& self, const InReals& losses, const InIndices& count,
               Index common) {
                const Index m = self.view.criteria();
                self.view.add_some(sized(losses, m, "losses"), sized(count, m, "count"), common);
            },
            "losses"_a.noconvert(), "count"_a.noconvert(), "common"_a)
        .def(
            "add_owed",
            [](const HeldRegression& self, const InIndices& criteria, const InReals& mean,
               const InReals& squares, Index common, Index skipped) {
                const ConstIndices which = criteria_of(self, criteria);
                self.view.add_owed(which, sized(mean, size_of(which), "mean"),
                                   sized(squares, size_of(which), "squares"), common, skipped);
            },
            "criteria"_a.noconvert(), "mean"_a.noconvert(), "squares"_a.noconvert(), "common"_a,
            "skipped"_a)
        .def(
            "take_each",
            [](const HeldRegression& self, const InIndices& criteria, const InReals& phi,
               const InReals& losses, const InIndices& count) {
                const Index m = self.view.criteria();
                self.view.take_each(criteria_of(self, criteria),
                                    sized(phi, size_of(self.view.phi), "phi"),
                                    sized(losses, m, "losses"), sized(count, m, "count"));
            },
            "criteria"_a.noconvert(), "phi"_a.noconvert(), "losses"_a.noconvert(),
            "count"_a.noconvert())
        .def(
            "flush",
            [](const HeldRegression& self, const InIndices& criteria, Index common) {
                self.view.flush(criteria_of(self, criteria), common);
            },
            "criteria"_a.noconvert(), "common"_a)
        .def(
            "flush_faded",
            [](const HeldRegression& self, const InIndices& criteria, Index common, Index rounds,
               Index memory) {
                self.view.flush_faded(criteria_of(self, criteria), common, rounds, memory);
            },
            "criteria"_a.noconvert(), "common"_a, "rounds"_a, "memory"_a)
        .def(
            "forget",
            [](const HeldRegression& self, const InIndices& criteria, Index common,
               Index skipped) {
                self.view.forget(criteria_of(self, criteria), common, skipped);
            },
            "criteria"_a.noconvert(), "common"_a, "skipped"_a)
        .def(
            "measure",
            [](const HeldRegression& self, const InIndices& criteria, double factor) {
                self.view.measure(criteria_of(self, criteria), factor);
            },
            "criteria"_a.noconvert(), "factor"_a)
        .def(
            "predict",
            [](const HeldRegression& self, const InIndices& criteria, const InReals& phi) {
                const ConstIndices which = criteria_of(self, criteria);
                std::vector<double> means(which.size()), spreads(which.size());
                self.view.predict(which, sized(phi, size_of(self.view.phi), "phi"), means, spreads);
                return std::pair{owned(std::move(means)), owned(std::move(spreads))};
            },
            "criteria"_a.noconvert(), "phi"_a.noconvert());
    module.def("rounds_to_trigger", &rounds_to_trigger, "spread"_a, "since"_a, "factor"_a);
}

void bind_queue(nb::module_& module) {
    nb::class_<HeldQueue>(module, "TriggerQueue")
        .def(
            "__init__",
            [](HeldQueue* self, const OutIndices& tree, const InIndices& due, const InIndices& n) {
                new (self) HeldQueue{{nb::cast(tree), nb::cast(due), nb::cast(n)},
                                     {view_of(tree), view_of(due), view_of(n)}};
                const Index m = size_of(self->view.due);
                sized(n, m, "n");
                if (size_of(self->view.tree) / 2 * TriggerQueue::BLOCK < m)
                    refuse("tree has too few leaves");
            },
            "tree"_a.noconvert(), "due"_a.noconvert(), "n"_a.noconvert())
        .def(
            "put",
            [](const HeldQueue& self, const InIndices& criteria) {
                for (const Index i : indices(criteria, size_of(self.view.due), "criteria"))
                    self.view.put(i);
            },
            "criteria"_a.noconvert())
        .def("put_all", [](const HeldQueue& self) { self.view.put_all(); })
        .def(
            "due_by",
            [](const HeldQueue& self, Index now) {
                std::vector<Index> found;
                self.view.list_due(now, found);
                return owned(std::move(found));
            },
            "now"_a)
        .def_prop_ro("next_round", [](const HeldQueue& self) { return self.view.next_round(); });
}

// One factor alone

void bind_cholesky(nb::module_& module) {
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
        .def("fill", &fill<Monomials>, "phi"_a.noconvert(), "state"_a.noconvert(),
             "criteria"_a.noconvert());
    nb::class_<HeldFourier>(module, "Fourier")
        .def("__init__", &read_fourier, "arrays"_a)
        .def("fill", &fill<Fourier>, "phi"_a.noconvert(), "state"_a.noconvert(),
             "criteria"_a.noconvert());
}

// Small things that would be loops in Python

template <class T>
bool all_within(const nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>& array, double limit) {
    Index beyond = 0;
    const T* x = array.data();
    const Index size = static_cast<Index>(array.shape(0)), stride = array.stride(0);
    if (stride == 1)
        for (Index n = 0; n < size; ++n) beyond += !(std::abs(x[n]) <= limit);
    else
        for (Index n = 0; n < size; ++n) beyond += !(std::abs(x[n * stride]) <= limit);
    return beyond == 0;
}

nb::object dot_each(const InIndices& criteria, const InReals& phi, const InReals& theta,
                    const InIndices& offsets) {
    const ConstIndices at = view_of(offsets);
    const ConstReals x = view_of(phi), y = sized(theta, size_of(x), "theta");
    std::vector<double> found;
    for (const Index i : rows_of(criteria, at, size_of(x), "criteria")) {
        double sum = 0.0;
        for (Index f = at[i]; f < at[i + 1]; ++f) sum += x[f] * y[f];
        found.push_back(sum);
    }
    return owned(std::move(found));
}

nb::object labels(const InIndices& offsets, const InIndices& items, const InIndices& rows,
                  const InIndices& free) {
    const ConstIndices at = view_of(offsets), all = view_of(items);
    std::vector<Index> parent(free.shape(0));
    link(at, all, rows_of(rows, at, size_of(all), "rows"), view_of(free), parent);
    return owned(std::move(parent));
}

void bind_small(nb::module_& module) {
    module.def("all_within", &all_within<double>, "array"_a.noconvert(), "limit"_a);
    module.def("all_within", &all_within<float>, "array"_a.noconvert(), "limit"_a);
    module.def("dot_each", &dot_each, "criteria"_a.noconvert(), "phi"_a.noconvert(),
               "theta"_a.noconvert(), "offsets"_a.noconvert());
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
    trimtab::bind_queue(module);
    trimtab::bind_cholesky(module);
    trimtab::bind_features(module);
    trimtab::bind_small(module);
}
