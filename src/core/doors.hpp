// How arrays come in from Python: checked here, by name, type, layout and length, never inside.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "views.hpp"

namespace trimtab {

namespace nb = nanobind;

// A contiguous NumPy array of one axis; T const where the core only reads it.
template <class T>
using Vector = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> view_of(const Vector<T>& array) {
    return {array.data(), array.shape(0)};
}

inline void refuse(const std::string& what) { throw nb::value_error(what.c_str()); }

// The array has this length.
template <class T>
std::span<T> sized(const Vector<T>& array, Index size, const char* name) {
    const std::span<T> view = view_of(array);
    if (size_of(view) != size)
        refuse(std::string(name) + " has " + std::to_string(view.size()) + " entries, expected " +
               std::to_string(size));
    return view;
}

// The array has these rows and columns.
template <class T>
std::span<T> table(const Matrix<T>& array, Index rows, Index columns, const char* name) {
    if (static_cast<Index>(array.shape(0)) != rows || static_cast<Index>(array.shape(1)) != columns)
        refuse(std::string(name) + " must have " + std::to_string(rows) + " rows and " +
               std::to_string(columns) + " columns");
    return {array.data(), array.size()};
}

// Every entry is an index below `end`.
inline ConstIndices checked(ConstIndices view, Index end, const std::string& name) {
    for (std::size_t n = 0; n < view.size(); ++n)
        if (view[n] < 0 || view[n] >= end)
            refuse(name + "[" + std::to_string(n) + "] = " + std::to_string(view[n]) +
                   " is not an index below " + std::to_string(end));
    return view;
}

inline ConstIndices indices(const Vector<const Index>& array, Index end, const char* name) {
    return checked(view_of(array), end, name);
}

// Offsets into something of length `end`: they begin at 0, never fall, and end there.
inline void check_offsets(ConstIndices offsets, Index end, const char* name) {
    bool good = !offsets.empty() && offsets.front() == 0 && offsets.back() == end;
    for (std::size_t n = 1; good && n < offsets.size(); ++n) good = offsets[n - 1] <= offsets[n];
    if (!good)
        refuse(std::string(name) + " must rise from 0 to " + std::to_string(end) +
               "; they are offsets into another array");
}

// These rows of a compressed table end where its items, `end` of them, do or before.
inline ConstIndices rows_of(const Vector<const Index>& rows, ConstIndices offsets, Index end,
                            const char* name) {
    const ConstIndices view = indices(rows, size_of(offsets) - 1, name);
    for (const Index row : view)
        if (offsets[row] < 0 || offsets[row] > offsets[row + 1] || offsets[row + 1] > end)
            refuse("offsets[" + std::to_string(row) + "] does not fit its table");
    return view;
}

// The arrays of a Python object that has many, each taken by its name and kept alive.
class Arrays {
public:
    Arrays(nb::handle source, std::vector<nb::object>& kept) : source_(source), kept_(kept) {}

    template <class T>
    std::span<T> any(const char* name) {
        nb::object value = source_.attr(name);
        Vector<T> array;
        if (!nb::try_cast<Vector<T>>(value, array, false))
            throw nb::type_error((title(name) + " must be a contiguous array of " + kind<T>() +
                                  (std::is_const_v<T> ? "" : " that may be written to"))
                                     .c_str());
        kept_.push_back(std::move(value));
        return view_of(array);
    }

    template <class T>
    std::span<T> of(const char* name, Index size) {
        const std::span<T> view = any<T>(name);
        if (size_of(view) != size)
            refuse(title(name) + " has " + std::to_string(view.size()) + " entries, expected " +
                   std::to_string(size));
        return view;
    }

    // Of this length, or empty.
    template <class T>
    std::span<T> maybe(const char* name, Index size) {
        const std::span<T> view = any<T>(name);
        return view.empty() ? view : of<T>(name, size);
    }

    ConstIndices indices(const char* name, Index end) {
        return checked(any<const Index>(name), end, title(name));
    }

    ConstIndices offsets(const char* name, Index rows, Index end) {
        const ConstIndices view = of<const Index>(name, rows + 1);
        check_offsets(view, end, title(name).c_str());
        return view;
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

// A new NumPy array that owns the numbers.
template <class T>
nb::object owned(std::vector<T> values) {
    auto* data = new std::vector<T>(std::move(values));
    nb::capsule owner(data, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    nb::object array =
        nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data->data(), {data->size()}, owner));
    // NumPy has two integers of 64 bits where one will do, and would print the other's name.
    return std::is_same_v<T, Index> ? array.attr("view")("int64") : array;
}

}  // namespace trimtab
