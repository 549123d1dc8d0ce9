// Arrays as the core sees them: somebody else's memory, contiguous, with its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trimtab {

using Index = std::int64_t;
using Reals = std::span<double>;
using ConstReals = std::span<const double>;
using Indices = std::span<Index>;
using ConstIndices = std::span<const Index>;

template <class T>
Index size_of(std::span<T> view) {
    return static_cast<Index>(view.size());
}

// view[first : last]
template <class T>
std::span<T> slice(std::span<T> view, Index first, Index last) {
    return view.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

// Room for n numbers that are written before they are read. Nothing is cleared: a search among a
// few of a million knobs touches only their entries.
template <class T>
class Room {
public:
    explicit Room(Index n = 0)
        : size_(n), data_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n))) {}

    T& operator[](Index n) { return data_[static_cast<std::size_t>(n)]; }
    const T& operator[](Index n) const { return data_[static_cast<std::size_t>(n)]; }
    Index size() const { return size_; }
    std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }
    std::span<T> view() { return {data_.get(), static_cast<std::size_t>(size_)}; }
    std::span<const T> view() const { return {data_.get(), static_cast<std::size_t>(size_)}; }

private:
    Index size_;
    std::unique_ptr<T[]> data_;
};

}  // namespace trimtab
