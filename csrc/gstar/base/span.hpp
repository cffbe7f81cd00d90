// span.hpp - a borrowed view of contiguous values (C++17 has no std::span).
#pragma once

#include <cstddef>      // size_t
#include <type_traits>  // remove_const_t
#include <vector>

namespace gstar {

/// Pointer and length of values that somebody else owns.
template <class T>
class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// Of a vector that outlives it; `T` is const.
    span(const std::vector<std::remove_const_t<T>>& values) noexcept
        : data_(values.data()), size_(values.size()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T* begin() const noexcept { return data_; }
    constexpr T* end() const noexcept { return data_ + size_; }
    constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace gstar
