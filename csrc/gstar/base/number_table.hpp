// number_table.hpp - whole numbers -> slots, wherever the numbers lie.
#pragma once

#include <array>
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

    /// Make room for this many numbers, so that `put` does not allocate.
    void reserve(std::size_t n) {
        while (2 * n > entries_.size()) grow();
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

/// Slot of a group by the whole number that stands for it in a column.
class group_lookup {
public:
    static constexpr std::int32_t unknown = number_table::unknown;

    std::int32_t find(std::int64_t value) const noexcept {
        if (value >= 0 && value < static_cast<std::int64_t>(small_.size()))
            return small_[static_cast<std::size_t>(value)];
        return others_.find(value);
    }

    void put(std::int64_t value, std::int32_t slot) {
        if (value < 0 || value >= 65536) {
            others_.put(value, slot);
            return;
        }
        const auto i = static_cast<std::size_t>(value);
        if (i >= small_.size()) small_.resize(i + 1, unknown);
        small_[i] = slot;
        if (i < 256 && slot < 127) bytes_[i] = static_cast<std::uint8_t>(2 * slot);
        if (i < 8) few_[i] = 2 * slot;
    }

    /// Slots of the values 0 to 255, doubled; 255 where there is none.
    const std::uint8_t* bytes() const noexcept { return bytes_.data(); }

    /// Slots of the values 0 to 7, doubled; -1 where there is none.
    const std::int32_t* few() const noexcept { return few_.data(); }

    const std::vector<std::int32_t>& small() const noexcept { return small_; }

private:
    static constexpr std::array<std::uint8_t, 256> no_bytes() {
        std::array<std::uint8_t, 256> out{};
        for (auto& v : out) v = 255;
        return out;
    }
    std::vector<std::int32_t> small_;
    number_table others_;
    std::array<std::uint8_t, 256> bytes_ = no_bytes();
    alignas(32) std::array<std::int32_t, 8> few_ = {-1, -1, -1, -1, -1, -1, -1, -1};
};

}  // namespace gstar
