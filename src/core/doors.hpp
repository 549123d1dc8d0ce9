// How arrays come in from Python and go out: checked here, by type, layout and length, never
// inside.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "views.hpp"

namespace trimtab {

namespace nb = nanobind;

// A contiguous array of two axes, row after row.
template <class T>
struct Table {
    std::span<T> entries;
    Index rows = 0, columns = 0;

    std::span<T> row(Index r) const { return slice(entries, r * columns, (r + 1) * columns); }
};

}  // namespace trimtab

namespace nanobind::detail {

template <class T>
constexpr auto kind_of_array =
    const_name("ndarray of ") + const_name<std::is_floating_point_v<T>>("float", "int") +
    const_name<8 * sizeof(T)>();

// Spans are of NumPy's own memory: contiguous, of just this type, and never converted. T is const
// where the core only reads.
template <class T>
struct type_caster<std::span<T>> {
    NB_TYPE_CASTER(std::span<T>, kind_of_array<std::remove_const_t<T>>)

    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        ndarray<T, numpy, ndim<1>, c_contig, device::cpu> array;
        if (!try_cast(source, array, false)) return false;
        value = {array.data(), array.shape(0)};
        return true;
    }
};

template <class T>
struct type_caster<trimtab::Table<T>> {
    NB_TYPE_CASTER(trimtab::Table<T>, kind_of_array<std::remove_const_t<T>>)

    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
        ndarray<T, numpy, ndim<2>, c_contig, device::cpu> array;
        if (!try_cast(source, array, false)) return false;
        value = {{array.data(), array.size()},
                 static_cast<trimtab::Index>(array.shape(0)),
                 static_cast<trimtab::Index>(array.shape(1))};
        return true;
    }
};

// A vector goes out as a new array that owns its numbers.
template <class T>
struct type_caster<std::vector<T>> {
    NB_TYPE_CASTER(std::vector<T>, kind_of_array<T>)

    static handle from_cpp(std::vector<T> values, rv_policy, cleanup_list*) noexcept {
        auto* data = new std::vector<T>(std::move(values));
        capsule owner(data, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
        object array =
            nanobind::cast(ndarray<numpy, T, ndim<1>>(data->data(), {data->size()}, owner));
        // NumPy has two integers of 64 bits where one will do, and would print the other's name.
        return (std::is_same_v<T, trimtab::Index> ? array.attr("view")("int64") : array).release();
    }
};

}  // namespace nanobind::detail

namespace trimtab {

[[noreturn]] inline void refuse(const std::string& what) { throw nb::value_error(what.c_str()); }

// The array has this length.
template <class T>
std::span<T> sized(std::span<T> view, Index size, const std::string& name) {
    if (size_of(view) != size)
        refuse(name + " has " + std::to_string(view.size()) + " entries, expected " +
               std::to_string(size));
    return view;
}

// The array has these rows and columns.
template <class T>
std::span<T> sized(const Table<T>& table, Index rows, Index columns, const std::string& name) {
    if (table.rows != rows || table.columns != columns)
        refuse(name + " must have " + std::to_string(rows) + " rows and " +
               std::to_string(columns) + " columns");
    return table.entries;
}

// Every entry is an index below `end`.
inline ConstIndices indices(ConstIndices view, Index end, const std::string& name) {
    for (std::size_t n = 0; n < view.size(); ++n)
        if (view[n] < 0 || view[n] >= end)
            refuse(name + "[" + std::to_string(n) + "] = " + std::to_string(view[n]) +
                   " is not an index below " + std::to_string(end));
    return view;
}

inline ConstIndices rising(ConstIndices view, Index end, const std::string& name) {
    if (std::adjacent_find(view.begin(), view.end(), std::greater_equal<>()) != view.end())
        refuse(name + " must ascend");
    return indices(view, end, name);
}

// Offsets into something of length `end`: they begin at 0, never fall, and end there.
inline ConstIndices offsets(ConstIndices view, Index end, const std::string& name) {
    if (view.empty() || view.front() != 0 || view.back() != end ||
        !std::is_sorted(view.begin(), view.end()))
        refuse(name + " must rise from 0 to " + std::to_string(end) +
               "; they are offsets into another array");
    return view;
}

// The arrays of a Python object that has many, each taken by its name and kept alive.
class Arrays {
public:
    Arrays(nb::handle source, std::vector<nb::object>& kept) : source_(source), kept_(kept) {}

    template <class T>
    std::span<T> any(const char* name) {
        nb::object value = source_.attr(name);
        std::span<T> view;
        if (!nb::try_cast(value, view, false))
            throw nb::type_error((title(name) + " must be a contiguous array of " + kind<T>() +
                                  (std::is_const_v<T> ? "" : " that may be written to"))
                                     .c_str());
        kept_.push_back(std::move(value));
        return view;
    }

    template <class T>
    std::span<T> of(const char* name, Index size) {
        return sized(any<T>(name), size, title(name));
    }

    // Of this length, or empty.
    template <class T>
    std::span<T> maybe(const char* name, Index size) {
        const std::span<T> view = any<T>(name);
        return view.empty() ? view : sized(view, size, title(name));
    }

    ConstIndices indices(const char* name, Index end) {
        return trimtab::indices(any<const Index>(name), end, title(name));
    }

    ConstIndices offsets(const char* name, Index rows, Index end) {
        return trimtab::offsets(of<const Index>(name, rows + 1), end, title(name));
    }

private:
    template <class T>
    static std::string kind() {
        using Plain = std::remove_const_t<T>;
        return (std::is_floating_point_v<Plain> ? "float" : "int") +
               std::to_string(8 * sizeof(Plain));
    }

    std::string title(const char* name) const {
        return std::string(nb::str(source_.type().attr("__name__")).c_str()) + "." + name;
    }

    nb::handle source_;
    std::vector<nb::object>& kept_;
};

// A view of a Python object's arrays, which live as long as it does.
template <class View>
struct Held {
    std::vector<nb::object> kept;
    View view;
};

}  // namespace trimtab
