// decide.hpp - scores + thresholds -> decisions, one row or many.
//
// Everybody compares as in `double(score) >= threshold`. A float32 score meets
// the least float32 that is not below the threshold, which is the same question.
#pragma once

#include <algorithm>  // max, min
#include <cmath>      // isnan
#include <cstddef>    // size_t
#include <cstdint>
#include <cstring>  // memcpy
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>  // enable_if, is_floating_point
#include <unordered_map>
#include <utility>  // move
#include <variant>  // get_if
#include <vector>

#include "gstar/base/error.hpp"
#include "gstar/base/key_hash.hpp"
#include "gstar/base/name.hpp"
#include "gstar/base/number_table.hpp"
#include "gstar/base/parallel.hpp"
#include "gstar/base/rows.hpp"
#include "gstar/decide/kernels/decide.hpp"
#include "gstar/decide/threshold_table.hpp"
#include "gstar/thresholds.hpp"

namespace gstar {

/// How a batch is decided.
struct decide_options {
    bool codes = false;  ///< groups are positions, not names
    unsigned threads = 1;
    column keys;  ///< hashes of the rows' keys (u64), for a randomised set
};

/// A set of thresholds, made ready. Never changes, so any thread may use it.
class decider {
public:
    static constexpr std::size_t block = 4096;

    explicit decider(thresholds t) : set_(std::move(t)) {
        check_thresholds(set_);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const std::size_t n = set_.groups.size();
        for (std::size_t i = 0; i < n; ++i) {
            const name& g = set_.groups[i].group;
            const auto slot = static_cast<std::int32_t>(i);
            values_.push_back(set_.groups[i].threshold);
            slots_.emplace(as_dict_key(g), slot);
            if (g.type == name::kind::text) texts_.emplace(g.text, slot);
            if (g.type == name::kind::integer || g.type == name::kind::boolean)
                numbers_.put(g.number, slot);
        }
        values_.push_back(set_.unknown_threshold().value_or(nan));
        if (set_.unified) values_.back() = values_[0];
        by_code_ =
            threshold_table({values_.begin(), values_.end() - 1}, values_.back());
        by_number_ = threshold_table(values_of_numbers(), numbers_beyond());
        if (!set_.cuts) return;
        cuts_ = cut_points(*set_.cuts);
        for (std::size_t k = 0; k <= set_.cuts->size(); ++k) {
            const std::int32_t slot = numbers_.find(static_cast<std::int64_t>(k));
            by_segment_.push_back(set_.randomized ? nan : value_of(slot));
        }
    }

    // Moving keeps the names where they are; a copy would look into the original.
    decider(decider&&) = default;
    decider& operator=(decider&&) = default;
    decider(const decider&) = delete;
    decider& operator=(const decider&) = delete;
    ~decider() = default;

    const thresholds& set() const noexcept { return set_; }
    std::size_t n_groups() const noexcept { return set_.groups.size(); }

    // ---- one row ------------------------------------------------------------

    bool one(double score, std::int64_t group) const {
        refuse_group_of_segments();
        return decide(score, numbers_.find(group), [&] { return name::of(group); });
    }
    bool one(double score, std::string_view group) const {
        refuse_group_of_segments();
        return decide(score, slot_of(group),
                      [&] { return name::of_text(std::string(group)); });
    }
    bool one(double score, const name& group) const {
        refuse_group_of_segments();
        return decide(score, slot_of(group), [&] { return group; });
    }
    /// Without a group, for a unified set.
    bool one(double score) const {
        if (!set_.unified) refuse_no_groups();
        return decide(score, 0, [] { return name(); });
    }
    /// Drawn by the hash of the row's key, for a randomised set.
    bool one(double score, const name& group, std::uint64_t hash) const {
        refuse_group_of_segments();
        const std::int32_t slot = slot_of(group);
        const double t = threshold_of(
            slot, hash, [&] { return group; }, -1);
        return compare(score, t, -1);
    }

    /// By the number that stands for the group, for a set with cut points.
    template <class Real,
              std::enable_if_t<std::is_floating_point<Real>::value, int> = 0>
    bool one(double score, Real number) const {
        const double t = threshold_of_number(number);
        if (score >= t) return true;
        if (score < t) return false;
        refuse_number_of_groups();
        return decide(score, slot_of_number(number),
                      [&] { return segment_words(number); });
    }
    template <class Real,
              std::enable_if_t<std::is_floating_point<Real>::value, int> = 0>
    bool one(double score, Real number, std::uint64_t hash) const {
        refuse_number_of_groups();
        const double t = threshold_of(
            slot_of_number(number), hash, [&] { return segment_words(number); },
            -1);
        return compare(score, t, -1);
    }
    /// NaN where the row needs a closer look: no segment has a threshold for it,
    /// or it is drawn, or there are no cut points.
    double threshold_of_number(double number) const noexcept {
        if (by_segment_.empty()) return std::numeric_limits<double>::quiet_NaN();
        if (number != number)
            return set_.randomized ? number : values_.back();  // unknown
        return by_segment_[cuts_.segment_of(number)];
    }

    // ---- many rows ----------------------------------------------------------

    /// `out[i]` = 1 where row i is accepted, else 0. On an error `out` is spoilt.
    void many(const rows& r, std::uint8_t* out,
              const decide_options& o = {}) const {
        check(r, o);
        in_parts(r.n, parts_of(r.n, o.threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     const source from = source_of(r, o);
                     if (r.scores.type == dtype::f32)
                         run<float>(r, from, begin, end, out);
                     else
                         run<double>(r, from, begin, end, out);
                 });
    }

    /// Score minus threshold: not negative for exactly the rows accepted; NaN
    /// where a NaN score is let pass.
    void margins(const rows& r, double* out, const decide_options& o = {}) const {
        check(r, o);
        in_parts(r.n, parts_of(r.n, o.threads),
                 [&](std::size_t, std::size_t begin, std::size_t end) {
                     closely(
                         r, source_of(r, o), begin, end,
                         [&](std::size_t i, double score, double t) {
                             if (std::isnan(score) && set_.nan == nan_policy::raise)
                                 refuse_nan_score(static_cast<std::int64_t>(i));
                             out[i] =
                                 score == t ? 0.0 : score - t;  // infinities too
                         });
                 });
    }

private:
    /// Where the numbers of a group column lead.
    struct source {
        const threshold_table* table = nullptr;
        bool codes = false;
        bool named = false;
        std::vector<std::int32_t> slots;  ///< of a list of names
        threshold_table own;              ///< for that list
        const std::vector<name>* names = nullptr;
        column keys;
    };

    std::int32_t slot_of(const name& group) const {
        const auto it = slots_.find(as_dict_key(group));
        return it == slots_.end() ? -1 : it->second;
    }
    std::int32_t slot_of(std::string_view group) const {
        const auto it = texts_.find(group);
        return it == texts_.end() ? -1 : it->second;
    }

    /// The threshold of a slot; of none, that of unknown groups.
    double value_of(std::int32_t slot) const noexcept {
        return slot < 0 ? values_.back() : values_[static_cast<std::size_t>(slot)];
    }
    std::vector<double> values_of_numbers() const {
        std::vector<double> out;
        for (const std::int32_t slot : numbers_.small())
            out.push_back(value_of(slot));
        return out;
    }
    /// Some names may be numbers too large for the table: then look closer.
    double numbers_beyond() const {
        for (const group_threshold& g : set_.groups)
            if (g.group.type == name::kind::integer &&
                (g.group.number < 0 || g.group.number >= 65536))
                return std::numeric_limits<double>::quiet_NaN();
        return values_.back();
    }

    source source_of(const rows& r, const decide_options& o) const {
        source s;
        s.keys = o.keys;
        if (r.names == nullptr) {
            s.codes = o.codes;
            s.table = o.codes ? &by_code_ : &by_number_;
            return s;
        }
        s.named = true;
        s.names = r.names;
        std::vector<double> values;
        for (const name& n : *r.names) {
            s.slots.push_back(slot_of(n));
            values.push_back(value_of(s.slots.back()));
        }
        s.own = threshold_table(std::move(values),
                                std::numeric_limits<double>::quiet_NaN());
        return s;
    }

    void check(const rows& r, const decide_options& o) const {
        if (!r.groups && !set_.unified) refuse_no_groups();
        if (by_number(r) && !set_.unified && (!set_.cuts || o.codes))
            refuse_number();
        if (!o.codes && !by_number(r)) refuse_group_of_segments();
        if (set_.randomized && o.keys.type != dtype::u64)
            refuse({"needs_keys", "keys"});
    }

    template <class Float>
    void run(const rows& r, const source& from, std::size_t begin, std::size_t end,
             std::uint8_t* out) const {
        Float copied[block];
        std::uint16_t numbers[block];
        const threshold_table& table = from.named ? from.own : *from.table;
        const bool plain = r.scores.is_array_of<Float>();
        // Where nothing is refused and NaN is not accepted, the kernel is right.
        const bool final = table.whole() && set_.nan == nan_policy::reject;
        for (std::size_t i = begin; i < end; i += block) {
            const std::size_t n = std::min(block, end - i);
            const Float* scores = copied;
            if (plain)
                scores = reinterpret_cast<const Float*>(r.scores.data) + i;
            else
                detail::read_as<Float>(r.scores, i, n, copied);
            bool usual = !set_.randomized;
            if (!usual) {
            } else if (set_.unified) {
                usual = decide_unified(scores, n, as<Float>(values_[0]), out + i) ||
                        set_.nan == nan_policy::reject;
            } else if (table.takes_bytes(r.groups.type) && r.groups.stride == 1) {
                const auto* g =
                    reinterpret_cast<const std::uint8_t*>(r.groups.data);
                usual = decide_rows(scores, g + i, n, table, out + i) || final;
            } else if (r.groups.type == dtype::u16 &&
                       r.groups.is_array_of<std::uint16_t>()) {
                const auto* g =
                    reinterpret_cast<const std::uint16_t*>(r.groups.data);
                usual = decide_rows(scores, g + i, n, table, out + i) || final;
            } else if (by_number(r)) {
                cuts_.segments_of(r.groups, i, n, numbers);
                usual = decide_rows(scores, numbers, n, table, out + i) || final;
            } else {
                usual = narrow<block>(r.groups, i, n, numbers) &&
                        (decide_rows(scores, numbers, n, table, out + i) || final);
            }
            if (usual) continue;
            closely(
                r, from, i, i + n, [&](std::size_t row, double score, double t) {
                    out[row] =
                        compare(score, t, static_cast<std::int64_t>(row)) ? 1 : 0;
                });
        }
    }

    /// Whether groups are told by numbers that stand for them.
    static bool by_number(const rows& r) noexcept {
        return r.groups.type == dtype::f32 || r.groups.type == dtype::f64;
    }
    std::int32_t slot_of_number(double number) const noexcept {
        if (number != number) return -1;
        return numbers_.find(static_cast<std::int64_t>(cuts_.segment_of(number)));
    }
    /// What a refusal says of a number: NaN, or its segment, which is empty.
    refused_value segment_words(double number) const {
        if (number != number) return number;
        return static_cast<std::int64_t>(cuts_.segment_of(number));
    }

    template <class Float>
    static Float as(double t) noexcept {
        if constexpr (sizeof(Float) == 4)
            return float_not_below(t);
        else
            return t;
    }

    /// `each(row, score, threshold)`, every value read once.
    template <class Each>
    void closely(const rows& r, const source& from, std::size_t begin,
                 std::size_t end, Each each) const {
        double scores[256];
        std::int64_t numbers[256];
        std::uint16_t segments[256];
        for (std::size_t i = begin; i < end; i += 256) {
            const std::size_t n = std::min<std::size_t>(256, end - i);
            read_reals(r.scores, i, n, scores);
            if (set_.unified) {
            } else if (by_number(r)) {
                cuts_.segments_of(r.groups, i, n, segments);
                std::copy(segments, segments + n, numbers);
            } else {
                read_whole(r.groups, i, n, numbers);
            }
            for (std::size_t j = 0; j < n; ++j)
                each(i + j, scores[j],
                     set_.unified ? values_[0]
                                  : threshold_at(r, from, numbers[j], i + j));
        }
    }

    double threshold_at(const rows& r, const source& from, std::int64_t number,
                        std::size_t row) const {
        const auto at = static_cast<std::int64_t>(row);
        const bool huge = r.groups.type == dtype::u64 && number < 0;
        std::int32_t slot = -1;
        if (from.named) {
            if (number < 0 ||
                number >= static_cast<std::int64_t>(from.slots.size()))
                refuse_missing_group(at);
            slot = from.slots[static_cast<std::size_t>(number)];
        } else if (from.codes) {
            const auto n = static_cast<std::int64_t>(n_groups());
            slot =
                number >= 0 && number < n ? static_cast<std::int32_t>(number) : -1;
        } else if (!huge) {
            slot = numbers_.find(number);
        }
        std::uint64_t hash = 0;
        if (set_.randomized) {
            std::memcpy(&hash, from.keys.data + at * from.keys.stride, sizeof hash);
        }
        return threshold_of(
            slot, hash,
            [&]() -> refused_value {
                if (from.named)
                    return (*from.names)[static_cast<std::size_t>(number)];
                if (huge) return static_cast<std::uint64_t>(number);
                if (by_number(r) && number == cut_points::no_segment)
                    return std::numeric_limits<double>::quiet_NaN();
                return number;
            },
            at, from.codes);
    }

    /// The threshold of a group; of a randomised set, the one its row draws.
    template <class Name>
    double threshold_of(std::int32_t slot, std::uint64_t hash, Name group,
                        std::int64_t row, bool code = false) const {
        if (slot < 0) {
            if (std::isnan(values_.back())) refuse_unknown(group(), row, code);
            return values_.back();
        }
        const group_threshold& g = set_.groups[static_cast<std::size_t>(slot)];
        if (!set_.randomized) return g.threshold;
        const double draw = draw_of(hash);
        double sum = 0;
        for (std::size_t i = 0; i + 1 < g.mixture.size(); ++i)
            if (draw < (sum += g.mixture[i].probability))
                return g.mixture[i].threshold;
        return g.mixture.back().threshold;
    }

    template <class Name>
    bool decide(double score, std::int32_t slot, Name group) const {
        if (set_.randomized) refuse({"needs_key", "key"});
        if (set_.unified) slot = 0;
        const double t = value_of(slot);
        if (score >= t) return true;
        if (score < t) return false;
        return compare(score, threshold_of(slot, 0, group, -1), -1);
    }

    bool compare(double score, double threshold, std::int64_t row) const {
        if (!std::isnan(score)) return score >= threshold;
        if (set_.nan == nan_policy::raise) refuse_nan_score(row);
        return set_.nan == nan_policy::accept;
    }

    std::string names_text() const {
        std::string out;
        for (std::size_t i = 0; i < n_groups() && i < 10; ++i)
            out += (i != 0 ? ", " : "") + text_of(set_.groups[i].group);
        return n_groups() > 10 ? out + ", ..." : out;
    }

    [[noreturn]] void refuse_unknown(refused_value n, std::int64_t row,
                                     bool code) const {
        if (code)
            refuse({"no_such_position", "groups", row, std::move(n),
                    static_cast<std::uint64_t>(n_groups())});
        if (std::get_if<double>(&n) != nullptr)
            refuse({"segment_nan", "groups", row});
        if (set_.cuts)
            refuse({"empty_segment", "groups", row, std::move(n), names_text()});
        refuse({"no_threshold", "groups", row, std::move(n), names_text()});
    }
    [[noreturn]] static void refuse_nan_score(std::int64_t row) {
        refuse({"undecided_nan", "scores", row});
    }
    [[noreturn]] static void refuse_no_groups() {
        refuse({"needs_groups", "groups"});
    }
    void refuse_group_of_segments() const {
        if (set_.cuts) throw type_error({"needs_numbers", "groups"});
    }
    void refuse_number_of_groups() const {
        if (!set_.cuts) refuse_number();
    }
    [[noreturn]] static void refuse_number() {
        throw type_error({"bad_group_type", "groups", -1, std::string("float")});
    }

    thresholds set_;
    std::vector<double> values_;  ///< by slot; the last is for unknown groups
    group_lookup numbers_;
    std::unordered_map<std::string_view, std::int32_t> texts_;  ///< names in set_
    std::map<name, std::int32_t> slots_;
    threshold_table by_number_;
    threshold_table by_code_;
    cut_points cuts_;
    std::vector<double> by_segment_;  ///< for one row; empty without cut points
};

}  // namespace gstar
