// deadline.hpp - a moment after which a search stops.
#pragma once

#include <chrono>
#include <limits>

namespace gstar {

/// Begins when made; never passes, and never looks at a clock, where `seconds` is
/// infinity.
class deadline {
public:
    explicit deadline(
        double seconds = std::numeric_limits<double>::infinity()) noexcept
        : seconds_(seconds), begin_(clock::now()) {}

    bool passed() const noexcept {
        return seconds_ < std::numeric_limits<double>::infinity() &&
               !(std::chrono::duration<double>(clock::now() - begin_).count() <
                 seconds_);
    }

private:
    using clock = std::chrono::steady_clock;
    double seconds_;
    clock::time_point begin_;
};

}  // namespace gstar
