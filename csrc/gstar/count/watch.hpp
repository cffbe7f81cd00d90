// watch.hpp - when a sketch has changed enough to be looked at again.
#pragma once

#include <cstdint>
#include <limits>

namespace gstar {

/// Told after every update; answers yes when the level changed or the rows doubled.
class news {
public:
    bool tell(int level, std::int64_t rows) noexcept {
        if ((level == level_ && rows < next_) || rows == 0) return false;
        level_ = level;
        const std::int64_t most = std::numeric_limits<std::int64_t>::max();
        next_ = rows > most / 2 ? most : 2 * rows;
        return true;
    }

private:
    int level_ = std::numeric_limits<int>::min();
    std::int64_t next_ = 0;
};

}  // namespace gstar
