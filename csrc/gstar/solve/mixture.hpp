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
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
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
        add_rows();
    }

    segment_problem problem() const noexcept {
        const span<const double> none;  // hits, which only moves count
        return {p_.n_groups, most_.size(), measure_.size(),
                p_.start,    begin_,       slot_,
                values_,     p_.cost,      p_.distance,
                price_,      most_,        0.0,
                term_,       measure_,     slope_,
                none,        base_,        none,
                none,        kind_,        about_,
                window_,     scale_,       share_,
                right_,      p_.unit,      false};
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
                    found.weight[i] * p_.rate(r)[p_.entry(k, found.number[i])];
        }
        double out = 0.0, gaps = 0.0;  // of the first two rates, added
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            double low = infinity, high = 0.0;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (!p_.has_rate(r, k)) continue;
                low = std::min(low, value[r * p_.n_groups + k]);
                high = std::max(high, value[r * p_.n_groups + k]);
            }
            out = std::max({out, high - low - strict(p_.limit[r]),
                            least_ratio(r) * high - low});
            if (r < 2) gaps += high - low;
        }
        return std::max(out, gaps - strict(p_.total));
    }

private:
    /// A limit without the tolerance that those of single thresholds have.
    static double strict(double limit) noexcept {
        return std::max(limit - windows::tolerance, 0.0);
    }
    /// The same of a least ratio; below 0 where there is none.
    double least_ratio(std::size_t r) const noexcept {
        return p_.ratio[r] >= 0 ? p_.ratio[r] + windows::tolerance : -1.0;
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

    /// The limits as rows.
    void add_rows() {
        const double total = strict(p_.total);
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            const double most = strict(p_.limit[r]), least = least_ratio(r);
            const bool summed = total < infinity && r < 2;
            const bool alone = most < infinity && !(summed && most >= total);
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
    std::vector<double> values_, price_, most_, slope_, base_;
    std::vector<std::int64_t> kind_, about_, window_;
    std::vector<double> scale_, share_, right_;
};

}  // namespace gstar
