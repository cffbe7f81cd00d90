// rate.hpp - rates of a group as records: hits over trials, whole numbers of rows.
//
// gstar_fast/_rates.py has the same records. A rate of counts is the same double here
// and there.
#pragma once

#include <array>
#include <cstddef>  // size_t
#include <cstdint>

namespace gstar {

/// Rows by label: 0, 1 and, in the third place, those without a label.
using rows_by_label = std::array<std::int64_t, 3>;

/// A rate that limits and penalties can be about, by its place in `rate_records`.
enum class rate : std::uint8_t {
    tpr,
    fpr,
    selection,  ///< accepted rows over all rows
    accuracy,
    balanced_accuracy  ///< the mean of tpr and tnr
};

constexpr std::size_t n_rates = 5;

/// One division. `hits` are coefficients of the accepted rows of each label, and then
/// of all rows of each; `trials` are those of all rows.
struct share {
    std::array<std::int64_t, 6> hits;
    rows_by_label trials;
};

/// One share, or the mean of two.
struct rate_record {
    std::size_t n_shares;
    std::array<share, 2> shares;
};

constexpr share true_positives{{0, 1, 0, 0, 0, 0}, {0, 1, 0}};
constexpr share true_negatives{{-1, 0, 0, 1, 0, 0}, {1, 0, 0}};
constexpr rate_record rate_records[n_rates] = {
    {1, {true_positives, {}}},
    {1, {{{{1, 0, 0, 0, 0, 0}, {1, 0, 0}}, {}}}},
    {1, {{{{1, 1, 1, 0, 0, 0}, {1, 1, 1}}, {}}}},
    {1, {{{{-1, 1, 0, 1, 0, 0}, {1, 1, 0}}, {}}}},
    {2, {true_positives, true_negatives}}};

/// A rate of one group, whose rows are known.
class rate_of_group {
public:
    rate_of_group(rate r, const rows_by_label& totals) noexcept
        : of_(rate_records[static_cast<std::size_t>(r)]) {
        for (std::size_t i = 0; i < of_.n_shares; ++i) {
            const share& s = of_.shares[i];
            for (std::size_t y = 0; y < 3; ++y) {
                trials_[i] += s.trials[y] * totals[y];
                given_[i] += s.hits[3 + y] * totals[y];
            }
            exists_ = exists_ && trials_[i] > 0;
        }
    }

    /// Whether the group has the rows that the rate needs.
    bool exists() const noexcept { return exists_; }

    /// The rate where these rows are accepted; 0 if it does not exist.
    /// Rows that are accepted with some probability are no whole numbers.
    template <class Rows>
    double operator()(const std::array<Rows, 3>& accepted) const noexcept {
        if (!exists_) return 0.0;
        const double one = quotient(0, accepted);
        return of_.n_shares == 1 ? one : (one + quotient(1, accepted)) / 2;
    }

private:
    template <class Rows>
    double quotient(std::size_t i,
                    const std::array<Rows, 3>& accepted) const noexcept {
        auto hits = static_cast<Rows>(given_[i]);
        for (std::size_t y = 0; y < 3; ++y)
            hits += static_cast<Rows>(of_.shares[i].hits[y]) * accepted[y];
        return static_cast<double>(hits) / static_cast<double>(trials_[i]);
    }

    rate_record of_;
    std::array<std::int64_t, 2> trials_{}, given_{};
    bool exists_ = true;
};

}  // namespace gstar
