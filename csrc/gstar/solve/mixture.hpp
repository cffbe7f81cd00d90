// mixture.hpp - randomised thresholds: the mixture of candidates of each group that
// costs the least within the limits.
//
// Each group is a segment of the linear program of segments.hpp; the features of a
// candidate are its cost and its rates. gstar_fast/_solver/mix.py says the same of
// rates with bands.
#pragma once

#include <algorithm>  // max, max_element, min
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <limits>
#include <vector>

#include "gstar/solve/problem.hpp"
#include "gstar/solve/question.hpp"
#include "gstar/solve/segments/segments.hpp"

namespace gstar {

/// The linear program over mixtures of the candidates of `p`, which it borrows.
class mixture_program {
public:
    explicit mixture_program(const gstar::problem<std::int64_t>& p) : p_(p) {
        const std::size_t features = 1 + p.n_rates;  // of a group: its cost, rates
        for (std::size_t k = 0; k < p.n_groups; ++k) {
            const std::size_t first = p.first(k), end = first + p.size(k);
            double most = 0.0;
            begin_.push_back(static_cast<std::int64_t>(k * features));
            for (std::size_t i = first; i < end; ++i) {
                values_.push_back(static_cast<double>(p.cost[i]) / p.unit);
                most = std::max(most, values_.back());
            }
            most_.push_back(most);
            price_.push_back(1.0);
            term_.push_back(static_cast<std::int64_t>(measure_.size()));
            for (std::size_t r = 0; r < p.n_rates; ++r) {
                values_.insert(values_.end(), p.rate(r) + first, p.rate(r) + end);
                most_.push_back(1.0);
                price_.push_back(0.0);
                term_.push_back(static_cast<std::int64_t>(measure_.size()));
                measure_.push_back(static_cast<std::int64_t>(r * p.n_groups + k));
            }
        }
        begin_.push_back(static_cast<std::int64_t>(most_.size()));
        term_.push_back(static_cast<std::int64_t>(measure_.size()));
        for (std::size_t i = 0; i < most_.size(); ++i)
            slot_.push_back(static_cast<std::int64_t>(i));
        slope_.assign(measure_.size(), 1.0);
        base_.assign(measure_.size(), 0.0);
        given_.assign(2 * measure_.size(), 0.0);
        for (std::size_t q = 0; q < measure_.size(); ++q) {
            one_.push_back(1.0);
            one_.push_back(0.0);
        }
        add_rows();
    }

    segment_problem problem() const noexcept {
        return {p_.n_groups,   most_.size(),   measure_.size(),
                p_.start,      view(begin_),   view(slot_),
                view(values_), p_.cost,        p_.distance,
                view(price_),  view(most_),    0.0,
                view(term_),   view(measure_), view(slope_),
                view(one_),    view(base_),    view(given_),
                view(one_),    view(kind_),    view(about_),
                view(window_), view(scale_),   view(share_),
                view(right_),  p_.unit,        false};
    }

    /// The largest E of a group, or 1.
    double largest_cost() const noexcept {
        return std::max(1.0, *std::max_element(most_.begin(), most_.end()));
    }

    /// By how much a mixture breaks the worst of its limits.
    double excess(const segment_mixture& found) const {
        std::vector<double> value(measure_.size(), 0.0);
        for (std::size_t i = 0; i < found.weight.size(); ++i) {
            const auto k = static_cast<std::size_t>(found.segment[i]);
            for (std::size_t r = 0; r < p_.n_rates; ++r)
                value[r * p_.n_groups + k] +=
                    found.weight[i] *
                    p_.rate(
                        r)[p_.first(k) + static_cast<std::size_t>(found.number[i])];
        }
        constexpr double inf = std::numeric_limits<double>::infinity();
        std::vector<double> least(p_.n_rates, inf);
        for (std::size_t i = 0; i < kind_.size(); ++i)
            if (is(i, row_kind::low))
                least[at(window_[i])] =
                    std::min(least[at(window_[i])], value[at(about_[i])]);
        double out = 0.0, gap[2] = {0.0, 0.0}, total = inf;
        for (std::size_t i = 0; i < kind_.size(); ++i) {
            if (is(i, row_kind::low)) continue;
            const double over =
                scale_[i] * value[at(about_[i])] - least[at(window_[i])];
            if (share_[i] == 0.0) {
                out = std::max(out, over - right_[i]);
                continue;
            }
            double& widest = gap[share_[i] > 0 ? 1 : 0];
            widest = std::max(widest, over);
            if (share_[i] > 0) total = right_[i];
        }
        return std::max(out, gap[0] + gap[1] - total);
    }

private:
    template <class T>
    static span<const T> view(const std::vector<T>& v) noexcept {
        return {v.data(), v.size()};
    }
    static std::size_t at(std::int64_t i) noexcept {
        return static_cast<std::size_t>(i);
    }
    bool is(std::size_t row, row_kind kind) const noexcept {
        return kind_[row] == static_cast<std::int64_t>(kind);
    }

    void add(row_kind kind, std::size_t q, std::size_t window, double scale,
             double right, double share = 0.0) {
        kind_.push_back(static_cast<std::int64_t>(kind));
        about_.push_back(static_cast<std::int64_t>(q));
        window_.push_back(static_cast<std::int64_t>(window));
        scale_.push_back(scale);
        right_.push_back(right);
        share_.push_back(share);
    }

    /// The limits as rows, without the tolerance that those of single thresholds have.
    void add_rows() {
        constexpr double inf = std::numeric_limits<double>::infinity();
        const double total = std::max(p_.total - windows::tolerance, 0.0);
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            const double most = std::max(p_.limit[r] - windows::tolerance, 0.0);
            const double least =
                p_.ratio[r] >= 0 ? p_.ratio[r] + windows::tolerance : -1.0;
            const bool summed = total < inf && r < 2;
            const bool alone = most < inf && !(summed && most >= total);
            if (!alone && !summed && !(least > 0)) continue;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (!p_.has_rate(r, k)) continue;
                const std::size_t q = r * p_.n_groups + k;
                add(row_kind::low, q, r, -1.0, 0.0);
                if (alone) add(row_kind::high, q, r, 1.0, most);
                if (summed)  // the first gap is d at most, the second what is left
                    add(row_kind::share, q, r, 1.0, r == 0 ? 0.0 : total,
                        r == 0 ? -1.0 : 1.0);
                if (least > 0) add(row_kind::ratio, q, r, least, 0.0);
            }
        }
    }

    gstar::problem<std::int64_t> p_;
    std::vector<std::int64_t> begin_, slot_, term_, measure_;
    std::vector<double> values_, price_, most_, slope_, base_, given_;
    std::vector<double> one_;  ///< 1 and 0 for each measure: hits of a term, trials
    std::vector<std::int64_t> kind_, about_, window_;
    std::vector<double> scale_, share_, right_;
};

}  // namespace gstar
