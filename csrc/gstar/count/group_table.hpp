// group_table.hpp - the groups of a sketch: their names, slots and order.
//
// A slot is where a group's counts stand, in the order groups came; nobody
// outside sees slots. Users see the order given, or the canonical one.
#pragma once

#include <algorithm>  // max, sort
#include <cstddef>    // size_t
#include <cstdint>
#include <cstring>  // memcpy
#include <map>
#include <memory>  // shared_ptr
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>  // move
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/number_table.hpp"

namespace gstar {

[[noreturn]] inline void refuse_group(const name& n, const std::string& given,
                                      std::int64_t row) {
    refuse({"unknown_group", "groups", row, n, given});
}

class group_table {
public:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    group_table() = default;

    /// A table of given groups, to which no others may be added.
    explicit group_table(const std::vector<name>& given)
        : given_(true), order_(given) {
        std::map<name, name> seen;
        for (const name& n : given) {
            const auto entry = seen.emplace(as_dict_key(n), n);
            if (entry.second) continue;
            if (entry.first->second != n) refuse_twins(entry.first->second, n);
            refuse({"group_twice", "groups", -1, n});
        }
        commit(prepare(given));
    }

    std::uint32_t size() const noexcept {
        return static_cast<std::uint32_t>(names_.size());
    }
    bool given() const noexcept { return given_; }
    /// Given groups as text, for messages.
    const std::string& given_text() const noexcept { return given_text_; }
    const std::vector<name>& names() const noexcept { return names_; }
    std::shared_ptr<const group_lookup> lookup() const noexcept { return lookup_; }

    /// Slot of a group named by a whole number, or -1.
    std::int32_t find(std::int64_t number) const noexcept {
        return lookup_->find(number);
    }

    /// Slot of a group, or `none`. Called for each row of `update_one`, so a known int
    /// or string is found without a copy.
    std::uint32_t slot_of(const name& n) const {
        if (n.type == name::kind::integer) {
            const std::int32_t at = find(n.number);
            if (at >= 0) return static_cast<std::uint32_t>(at);
        }
        return slot_by_name(n);
    }

    /// Which of these names are new, in canonical order, each once.
    std::vector<name> missing(std::vector<name> wanted) const {
        std::sort(wanted.begin(), wanted.end());
        std::map<name, name> seen;
        std::vector<name> out;
        for (const name& n : wanted) {
            const auto entry = seen.emplace(as_dict_key(n), n);
            if (!entry.second && entry.first->second != n)
                refuse_twins(entry.first->second, n);
            if (entry.second && slot_of(n) == none) out.push_back(n);
        }
        return out;
    }

    /// New names that are ready to be added.
    struct addition {
        std::vector<name> names;
        std::map<name, std::uint32_t> slots;
        std::shared_ptr<const group_lookup> lookup;
        bool any = false;
        bool given = false;  ///< whether the table has given groups from then on
        std::vector<name> order;
        std::string given_text;

        /// Slot of one of the new names, or `none`.
        std::uint32_t slot_of(const name& n) const {
            const auto it = slots.find(as_dict_key(n));
            return it == slots.end() ? none : it->second;
        }
    };

    /// Prepare the `missing` names, and the given order of another table that passed
    /// `check`: a single given order stays; two that differ become the canonical order.
    /// The lookup is copied, because other threads may still count with the old one.
    addition prepare(const std::vector<name>& fresh,
                     const group_table* joined = nullptr) {
        addition out;
        out.any = !fresh.empty() || (joined != nullptr && joined->given_);
        if (!out.any) return out;
        out.given = given_;
        out.order = order_;
        if (joined != nullptr && joined->given_) {
            if (!given_)
                out.order = joined->order_;
            else if (order_ != joined->order_)
                std::sort(out.order.begin(), out.order.end());
            out.given = true;
        }
        if (out.given) out.given_text = text_of_all(out.order);
        if (fresh.empty()) return out;
        out.names = fresh;
        auto numbers = std::make_shared<group_lookup>(*lookup_);
        std::uint32_t slot = size();
        for (const name& n : fresh) {
            out.slots.emplace(as_dict_key(n), slot);
            if (n.type == name::kind::integer)
                numbers->put(n.number, static_cast<std::int32_t>(slot));
            ++slot;
        }
        out.lookup = std::move(numbers);
        if (names_.capacity() < slot)
            names_.reserve(std::max<std::size_t>(slot, 2 * names_.size()));
        texts_.reserve(slot);
        return out;
    }

    /// Add what was prepared; nothing else may be added in between.
    void commit(addition more) noexcept {
        if (!more.any) return;
        for (name& n : more.names) {
            if (n.type == name::kind::text)
                texts_.put(number_of(n.text), static_cast<std::int32_t>(size()));
            names_.push_back(std::move(n));
        }
        slots_.merge(more.slots);
        if (more.lookup) lookup_ = std::move(more.lookup);
        given_ = more.given;
        order_ = std::move(more.order);
        given_text_ = std::move(more.given_text);
    }

    /// Names in public order.
    std::vector<name> order() const {
        if (given_) return order_;
        std::vector<name> out = names_;
        std::sort(out.begin(), out.end());
        return out;
    }

    /// The public order as text, cut after ten.
    std::string text() const { return text_of_all(order()); }

    /// Refuse a table whose groups cannot be joined with ours.
    void check(const group_table& other) const {
        if (given_ && other.given_) {
            bool same = size() == other.size();
            for (const name& n : other.names_) same = same && slot_of(n) != none;
            if (!same)
                refuse({"different_groups", "groups", -1, other.text(), text()});
            return;
        }
        const group_table& strict = given_ ? *this : other;
        const group_table& loose = given_ ? other : *this;
        if (!strict.given_) return;
        for (const name& n : loose.order())
            if (strict.slot_of(n) == none) refuse_group(n, strict.text(), -1);
    }

private:
    static std::string text_of_all(const std::vector<name>& all) {
        std::string out;
        for (std::size_t i = 0; i < all.size() && i < 10; ++i)
            out += (i != 0 ? ", " : "") + text_of(all[i]);
        return all.size() > 10 ? out + ", ..." : out;
    }

    [[noreturn]] static void refuse_twins(const name& a, const name& b) {
        refuse({"indistinct_groups", "groups", -1,
                std::vector<name>{std::min(a, b), std::max(a, b)}});
    }

    std::uint32_t slot_by_name(const name& n) const {
        if (n.type == name::kind::text) {
            const std::int32_t at = texts_.find(number_of(n.text));
            if (at >= 0 && names_[static_cast<std::uint32_t>(at)].text == n.text)
                return static_cast<std::uint32_t>(at);
        }
        const auto it = slots_.find(as_dict_key(n));
        if (it == slots_.end()) return none;
        if (names_[it->second] != n) refuse_twins(names_[it->second], n);
        return it->second;
    }

    /// A hash of length, first and last eight bytes. Names that differ only in between
    /// share a number, and all but the last are found by `slots_`.
    static std::int64_t number_of(std::string_view text) noexcept {
        const std::size_t size = text.size();
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        if (size >= 8) {
            std::memcpy(&first, text.data(), 8);
            std::memcpy(&last, text.data() + size - 8, 8);
        } else {
            for (const char c : text)
                first = first << 8 | static_cast<unsigned char>(c);
        }
        return static_cast<std::int64_t>((first ^ size) * 0x9E3779B97F4A7C15u +
                                         last);
    }

    std::vector<name> names_;
    number_table texts_;  ///< slots by `number_of`; `slots_` has all names
    std::map<name, std::uint32_t> slots_;
    std::shared_ptr<const group_lookup> lookup_ = std::make_shared<group_lookup>();
    bool given_ = false;
    std::vector<name> order_;  ///< of given groups
    std::string given_text_;
};

}  // namespace gstar
