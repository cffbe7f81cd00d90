// resolve.hpp - (label, group) of each row -> the number of its cell.
#pragma once

#include <algorithm>  // min
#include <cstddef>    // size_t
#include <cstdint>
#include <memory>  // shared_ptr
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/number_table.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/base/simd/avx2.hpp"
#include "gstar/base/simd/dispatch.hpp"
#include "gstar/count/group_table.hpp"
#include "gstar/count/packed.hpp"

namespace gstar {

/// Cells of one block. Labelled rows first in `cells` of the labelled plane,
/// unless `mixed`: then `unlabelled[i]` says which plane row i goes to.
struct resolved_block {
    alignas(32) std::uint32_t cells[block_rows];
    bool unlabelled[block_rows];
    bool mixed = false;
};

/// Turns labels and groups into cells and learns groups on the way.
///
/// Each element is read once: what is checked is what is used, even if another
/// thread writes to the caller's array meanwhile.
class resolver {
public:
    /// `known` has the slots of groups seen before, the next free one being
    /// `n_known`. With `given` (a text for the message), no others are taken.
    resolver(const rows& r, std::shared_ptr<const group_lookup> known,
             std::uint32_t n_known, const std::string* given)
        : rows_(r), known_(std::move(known)), next_(n_known), given_(given) {}

    /// Values of groups not known before, in the order of their slots.
    const std::vector<std::int64_t>& learned() const noexcept { return learned_; }
    std::uint32_t n_slots() const noexcept { return next_; }

    /// Labels and groups from row `begin` on, where kernels can read them for
    /// themselves: bytes that lie side by side.
    std::optional<byte_columns> bytes(std::size_t begin) const noexcept {
        const bool plain = (rows_.labels.type == dtype::u8 ||
                            rows_.labels.type == dtype::boolean) &&
                           rows_.groups.type == dtype::u8 &&
                           rows_.labels.stride == 1 && rows_.groups.stride == 1;
        if (!plain) return {};
        return byte_columns{
            reinterpret_cast<const std::uint8_t*>(rows_.labels.data) + begin,
            reinterpret_cast<const std::uint8_t*>(rows_.groups.data) + begin,
            known_->bytes(),
            static_cast<std::uint32_t>(
                std::min<std::size_t>(known_->small().size(), 256))};
    }

    void resolve(std::size_t begin, std::size_t n, resolved_block& out) {
        out.mixed = false;
        if (quick(begin, n, out)) return;
        std::int64_t groups[block_rows];
        std::int64_t labels[block_rows];
        read_whole(rows_.groups, begin, n, groups);
        if (rows_.labels) read_whole(rows_.labels, begin, n, labels);
        resolve_values(begin, n, groups, rows_.labels ? labels : nullptr, out);
    }

private:
    void resolve_values(std::size_t begin, std::size_t n,
                        const std::int64_t* groups, const std::int64_t* labels,
                        resolved_block& out) {
        if (usual(n, groups, labels, out)) return;
        const std::int64_t most_label = rows_.two_is_unlabelled ? 2 : 1;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t slot = find_or_learn(groups[i], begin + i);
            if (labels == nullptr) {
                out.cells[i] = slot;
                continue;
            }
            if (labels[i] < 0 || labels[i] > most_label)
                bad_label(labels[i], begin + i);
            out.unlabelled[i] = labels[i] == 2;
            out.mixed = out.mixed || labels[i] == 2;
            out.cells[i] = labels[i] == 2
                               ? slot
                               : 2 * slot + static_cast<std::uint32_t>(labels[i]);
        }
    }

    /// All groups known and small, all labels 0 or 1: no branch in the loop.
    bool usual(std::size_t n, const std::int64_t* groups,
               const std::int64_t* labels, resolved_block& out) const noexcept {
        const std::int32_t* const table = known_->small().data();
        const std::uint64_t size = known_->small().size();
        if (size == 0) return false;
        bool fine = true;
        for (std::size_t i = 0; i < n; ++i) {
            const auto value = static_cast<std::uint64_t>(groups[i]);
            const std::int32_t slot = table[value < size ? value : 0];
            fine &= value < size;
            fine &= slot >= 0;
            out.cells[i] = static_cast<std::uint32_t>(slot);
        }
        if (labels == nullptr) return fine;
        for (std::size_t i = 0; i < n; ++i) {
            const auto label = static_cast<std::uint64_t>(labels[i]);
            fine &= label <= 1;
            out.cells[i] = 2 * out.cells[i] + static_cast<std::uint32_t>(label & 1);
        }
        return fine;
    }

    std::uint32_t find_or_learn(std::int64_t value, std::size_t row) {
        const std::int32_t slot = known_->find(value);
        if (slot != group_lookup::unknown) return static_cast<std::uint32_t>(slot);
        if (rows_.groups.type == dtype::u64 && value < 0)
            refuse({"too_large_group", "groups", static_cast<std::int64_t>(row),
                    static_cast<std::uint64_t>(value)});
        if (rows_.names != nullptr &&
            (value < 0 || static_cast<std::size_t>(value) >= rows_.names->size()))
            refuse_missing_group(static_cast<std::int64_t>(row));
        if (given_ != nullptr) {
            refuse_group(rows_.names != nullptr
                             ? (*rows_.names)[static_cast<std::size_t>(value)]
                             : name::of(value),
                         *given_, static_cast<std::int64_t>(row));
        }
        if (next_ >= most_groups) refuse_groups(next_ + 1, most_groups);
        if (!own_) own_ = std::make_shared<group_lookup>(*known_);
        own_->put(value, static_cast<std::int32_t>(next_));
        known_ = own_;
        learned_.push_back(value);
        return next_++;
    }

    [[noreturn]] void bad_label(std::int64_t label, std::size_t row) const {
        const auto at = static_cast<std::int64_t>(row);
        if (rows_.labels.type == dtype::u64)
            refuse_label(static_cast<std::uint64_t>(label), at);
        refuse_label(label, at);
    }

    bool quick(std::size_t begin, std::size_t n, resolved_block& out) const {
#if GSTAR_HAS_AVX2
        if (active_kernel() < kernel::avx2 || !rows_.labels) return false;
        if (known_->small().size() > 8) return false;
        const auto side_by_side = [&](const column& c, auto use) {
            return with_whole(c.type, [&](auto zero) {
                using T = decltype(zero);
                return c.is_array_of<T>() &&
                       use(reinterpret_cast<const T*>(c.data) + begin);
            });
        };
        return side_by_side(
                   rows_.groups,
                   [&](const auto* v) { return few_groups(v, n, out.cells); }) &&
               side_by_side(rows_.labels, [&](const auto* v) {
                   return few_labels(v, n, out.cells);
               });
#endif
        (void)begin;
        (void)n;
        (void)out;
        return false;
    }

#if GSTAR_HAS_AVX2
    using eight = avx2::eight;

    /// Doubled slots of groups 0 to 7, all known, or false.
    template <class T>
    GSTAR_AVX2 bool few_groups(const T* groups, std::size_t n,
                               std::uint32_t* cells) const noexcept {
        const auto table = (__m256i)eight::load(known_->few());
        eight::numbers rest = {};
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8) {
            prefetch(groups + i + block_rows);
            const auto group = eight::load_once(groups + i, rest);
            const auto slot =
                (eight::numbers)_mm256_permutevar8x32_epi32(table, (__m256i)group);
            rest |= (group & ~7u) | slot >> 31;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(cells + i),
                                (__m256i)slot);
        }
        bool fine = !eight::any(rest);
        for (; i < n; ++i) {
            const auto group = static_cast<std::uint64_t>(
                *static_cast<const volatile T*>(groups + i));
            const std::int32_t slot = known_->few()[group & 7];
            fine = fine && group < 8 && slot >= 0;
            cells[i] = static_cast<std::uint32_t>(slot);
        }
        return fine;
    }

    /// Labels 0 and 1 added to doubled slots, or false.
    template <class T>
    GSTAR_AVX2 bool few_labels(const T* labels, std::size_t n,
                               std::uint32_t* cells) const noexcept {
        eight::numbers rest = {};
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8) {
            prefetch(labels + i + block_rows);
            const auto label = eight::load_once(labels + i, rest);
            rest |= label & ~1u;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(cells + i),
                                (__m256i)(eight::load(cells + i) | label));
        }
        bool fine = !eight::any(rest);
        for (; i < n; ++i) {
            const auto label = static_cast<std::uint64_t>(
                *static_cast<const volatile T*>(labels + i));
            fine = fine && label < 2;
            cells[i] |= static_cast<std::uint32_t>(label & 1);
        }
        return fine;
    }
#endif

    rows rows_;
    std::shared_ptr<const group_lookup> known_;
    std::shared_ptr<group_lookup> own_;  ///< the same, once we have learned
    std::uint32_t next_;
    const std::string* given_;
    std::vector<std::int64_t> learned_;
};

}  // namespace gstar
