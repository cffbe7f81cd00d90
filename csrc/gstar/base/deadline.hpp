// deadline.hpp - a moment after which a search stops, and infinity, which never comes.
#pragma once

#include <chrono>
#include <limits>

namespace gstar {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Begins when made; never passes, and never looks at a clock, where `seconds` is
/// infinity.
class deadline {
public:
    explicit deadline(double seconds = infinity) noexcept
        : seconds_(seconds), begin_(clock::now()) {}

    bool passed() const noexcept {
        return seconds_ < infinity &&
               !(std::chrono::duration<double>(clock::now() - begin_).count() <
                 seconds_);
    }

private:
    using clock = std::chrono::steady_clock;
    double seconds_;
    clock::time_point begin_;
};

}  // namespace gstar
