// number_table.hpp - whole numbers -> slots, wherever the numbers lie.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <utility>  // swap
#include <vector>

#include "gstar/base/key_hash.hpp"

namespace gstar {

/// A hash table with open addressing, at most half full.
///
/// Names of groups come in steps, often of a power of two: the hash spreads
/// them, so that a search ends after a place or two. A table is copied for every
/// batch that brings a new group, which is one block of memory here.
class number_table {
public:
    static constexpr std::int32_t unknown = -1;

    std::int32_t find(std::int64_t value) const noexcept {
        return entries_.empty() ? unknown : entries_[place(value)].slot;
    }

    void put(std::int64_t value, std::int32_t slot) {
        if (2 * (used_ + 1) > entries_.size()) grow();
        entry& to = entries_[place(value)];
        if (to.slot == unknown) ++used_;
        to = {value, slot};
    }

    /// Places looked at to find a number that is in the table.
    std::size_t reach(std::int64_t value) const noexcept {
        return ((place(value) - home(value)) & mask()) + 1;
    }

private:
    struct entry {
        std::int64_t value = 0;
        std::int32_t slot = unknown;
    };

    std::size_t mask() const noexcept { return entries_.size() - 1; }

    std::size_t home(std::int64_t value) const noexcept {
        return static_cast<std::size_t>(
                   hash_key(static_cast<std::uint64_t>(value))) &
               mask();
    }

    /// Where the number is, or the empty place where it would be.
    std::size_t place(std::int64_t value) const noexcept {
        std::size_t at = home(value);
        while (entries_[at].slot != unknown && entries_[at].value != value)
            at = (at + 1) & mask();
        return at;
    }

    void grow() {
        std::vector<entry> old(entries_.empty() ? 16 : 2 * entries_.size());
        std::swap(old, entries_);
        for (const entry& e : old)
            if (e.slot != unknown) entries_[place(e.value)] = e;
    }

    std::vector<entry> entries_;  ///< a power of two of them, or none
    std::size_t used_ = 0;
};

}  // namespace gstar
