// zeroed.hpp - memory that starts as zeros.
#pragma once

#include <cstddef>  // size_t
#include <cstdlib>  // calloc, free
#include <memory>   // unique_ptr
#include <new>      // bad_alloc

#if !defined(GSTAR_CALLOC)
#define GSTAR_CALLOC std::calloc  ///< a test defines one that fails
#endif

namespace gstar {

/// Zeros without the memory being touched, so that a cell nobody
/// counts into costs addresses and no pages.
template <class T>
class zeroed {
public:
    zeroed() noexcept = default;
    explicit zeroed(std::size_t n) : size_(n) {
        if (n == 0) return;
        data_.reset(static_cast<T*>(GSTAR_CALLOC(n, sizeof(T))));
        if (!data_) throw std::bad_alloc();
    }
    T* data() const noexcept { return data_.get(); }
    std::size_t size() const noexcept { return size_; }
    T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }

    /// Bring a value near that is to be changed soon.
    void fetch(std::size_t i) const noexcept {
#if defined(__GNUC__)
        if (i < size_) __builtin_prefetch(data_.get() + i, 1);
#else
        static_cast<void>(i);
#endif
    }

private:
    struct release {
        void operator()(T* p) const noexcept { std::free(p); }
    };
    std::unique_ptr<T, release> data_;
    std::size_t size_ = 0;
};

}  // namespace gstar
