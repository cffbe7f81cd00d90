// frame.hpp - where the rows of a tally lie, and the window that follows from it.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // ldexp
#include <cstdint>
#include <limits>

#include "gstar/count/grid.hpp"
#include "gstar/count/window.hpp"

namespace gstar {

struct frame {
    bool fixed;  ///< by its maker (`range=`), on a linear grid; else by its rows
    /// The window in use. While counting it may have room around its canonical
    /// runs: a new score beyond them then mostly needs no move.
    window at;
    window canonical;   ///< the window as the rows define it
    extent reach = {};  ///< of the rows; empty in a fixed window
    double lo = std::numeric_limits<double>::infinity();  ///< of all cells
    double hi = -std::numeric_limits<double>::infinity();

    bool empty() const noexcept { return !(lo <= hi); }

    /// Whether these scores, as `with` takes them, change nothing.
    bool holds(const extent& more, double low, double high) const noexcept {
        if (!(low <= high)) return true;
        if (low < lo || high > hi) return false;
        if (fixed) return true;
        extent both = reach;
        both.add(more);
        return both == reach;
    }

    /// The same with more finite scores from `low` to `high`, of the extent `more`.
    frame with(const extent& more, double low, double high) const noexcept {
        frame out = *this;
        if (!(low <= high)) return out;
        out.lo = std::min(low, lo);
        out.hi = std::max(high, hi);
        if (fixed) return out;
        out.reach.add(more);
        out.canonical = window_of(out.reach, at.bins());
        if (!at.covers(out.canonical)) out.at = out.canonical.with_room();
        return out;
    }

    /// The same with the scores of another frame.
    frame joined(const frame& o) const noexcept {
        if (empty() && !fixed && !o.empty()) return o;  // nothing has to move
        return with(o.reach, o.lo, o.hi);
    }

    /// Whether rows that are counted may lie in a bin of this grid that touches zero.
    bool may_touch_zero(const grid& on) const noexcept {
        if (fixed) return true;
        return std::min(reach.below.near, reach.above.near) <=
               std::ldexp(1.0, on.least());
    }

    /// Whether rows of these sizes, in any order, can all be counted in packed words,
    /// and none of ours moves to a bin that touches zero. False if in doubt.
    ///
    /// Windows only become coarser. So it is enough to check the current window, and
    /// the one with all these sizes on both sides of zero.
    bool keeps_plain(sizes of) const noexcept {
        if (fixed || !(of.far <= greatest_score())) return false;
        extent first = reach;
        if (empty()) {
            if (of.near != of.far) return false;
            first.above = of;  // one row
        }
        of.add(reach.below);
        of.add(reach.above);
        const int level =
            empty() ? window_of(first, at.bins()).level() : at.level();
        if (!(of.far < std::ldexp(1.0, level + 24))) return false;
        const extent all{of, of, true};
        const double least =
            std::ldexp(1.0, window_of(all, at.bins()).on().least());
        return of.near > std::max(least, std::numeric_limits<double>::min());
    }
};

}  // namespace gstar
