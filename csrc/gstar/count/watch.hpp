// watch.hpp - when a sketch has changed enough to be looked at again.
#pragma once

#include <cstdint>
#include <limits>

#include "gstar/count/grid.hpp"

namespace gstar {

/// Told after every update; answers yes when the grid changed or the rows doubled.
class news {
public:
    bool tell(const grid& on, std::int64_t rows) noexcept {
        if ((on == grid_ && rows < next_) || rows == 0) return false;
        grid_ = on;
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        next_ = rows > most / 2 ? most : 2 * rows;
        return true;
    }

private:
    grid grid_;
    std::int64_t next_ = 0;
};

}  // namespace gstar
