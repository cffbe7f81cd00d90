// neighbours.hpp - the loss of every choice that differs in one group, a few
// operations each.
//
// `loss_of` takes all pairs of groups, which many groups cannot afford for every
// candidate. Here the squared differences over pairs are the number of groups times
// the squared distances to the mean. That is the same loss but for rounding: who needs
// the last bit asks `loss_of` about the few candidates that come close.
#pragma once

#include <algorithm>  // min, max
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/solve/problem.hpp"

namespace gstar {

template <class Cost>
class neighbours {
public:
    /// How far `loss` may be from `loss_of`, as a share.
    static constexpr double margin = 1e-12;

    explicit neighbours(const problem<Cost>& p) : p_(p), rates_(p.n_rates) {}

    /// Sum up all groups of a choice but one.
    void leave_out(const std::int64_t* numbers, std::size_t group) {
        group_ = group;
        cost_ = 0;
        for (std::size_t k = 0; k < p_.n_groups; ++k)
            if (k != group) cost_ += p_.cost[p_.entry(k, numbers[k])];
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            others& o = rates_[r];
            o = others{};
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (k == group || !p_.has_rate(r, k)) continue;
                const double x = p_.rate(r)[p_.entry(k, numbers[k])];
                o.mean += x;
                o.members += 1.0;
                o.low = std::min(o.low, x);
                o.high = std::max(o.high, x);
            }
            if (o.members > 0) o.mean /= o.members;
            for (std::size_t k = 0; k < p_.n_groups; ++k) {
                if (k == group || !p_.has_rate(r, k)) continue;
                const double d = p_.rate(r)[p_.entry(k, numbers[k])] - o.mean;
                o.spread += d * d;
            }
        }
    }

    /// The loss if the group left out takes its candidate `number`; infinity where a
    /// limit forbids it.
    double loss(std::size_t number) const noexcept {
        const std::size_t i = p_.first(group_) + number;
        const double error = static_cast<double>(cost_ + p_.cost[i]) / p_.unit;
        double loss = error * error, total = 0.0;
        for (std::size_t r = 0; r < p_.n_rates; ++r) {
            others o = rates_[r];
            if (p_.has_rate(r, group_)) {
                const double x = p_.rate(r)[i], d = x - o.mean;
                o.spread += d * d * (o.members / (o.members + 1));
                o.members += 1.0;
                o.low = std::min(o.low, x);
                o.high = std::max(o.high, x);
            }
            if (o.members < 2) continue;
            if (r < 2) total += o.high - o.low;
            if (p_.limited(r) && !within(o.low, o.high, p_.limit[r], p_.ratio[r]))
                return infinity;
            if (p_.penalty[r] > 0)
                loss += p_.penalty[r] * (o.spread * 2 / (o.members - 1));
        }
        return total <= p_.total ? loss : infinity;
    }

private:
    struct others {
        double members = 0.0, mean = 0.0, spread = 0.0, low = infinity,
               high = -infinity;
    };

    problem<Cost> p_;
    std::vector<others> rates_;
    std::size_t group_ = 0;
    Cost cost_ = 0;
};

}  // namespace gstar
