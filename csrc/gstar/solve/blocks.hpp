// blocks.hpp - what a run of candidates can at best offer: its least cost and the
// range of its rates (where they have bands: its least high and greatest low end).
//
// Two groups have millions of pairs of candidates. Blocks of neighbours, halved
// again and again, let a search throw away most pairs unseen: a block's summary
// bounds every pair it holds.
#pragma once

#include <algorithm>  // min, max, min_element
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>

#include "gstar/solve/problem.hpp"

namespace gstar {

/// A binary tree over one group's candidates, stored level by level; level 0 has
/// blocks of `leaf` candidates.
template <class Cost>
class block_tree {
public:
    static constexpr std::size_t leaf = 4;

    /// One block: a level and a place in it.
    struct block {
        std::uint32_t level;
        std::uint32_t place;
    };

    block_tree(const problem<Cost>& p, std::size_t k)
        : n_rates_(p.n_rates), size_(p.size(k)) {
        const std::size_t base = p.first(k);
        for (std::size_t width = (size_ + leaf - 1) / leaf;;
             width = (width + 1) / 2) {
            first_.push_back(least_.size());
            widths_.push_back(width);
            least_.resize(least_.size() + width);
            near_.resize(least_.size());
            low_.resize(least_.size() * n_rates_);
            high_.resize(least_.size() * n_rates_);
            const std::size_t level = first_.size() - 1;
            for (std::size_t place = 0; place < width; ++place) {
                const std::size_t at = first_[level] + place;
                if (level == 0)
                    summarise(p, base + place * leaf,
                              base + std::min(size_, (place + 1) * leaf), at);
                else
                    join(level, place, at);
            }
            if (width == 1) break;
        }
    }

    block root() const noexcept {
        return {static_cast<std::uint32_t>(first_.size() - 1), 0};
    }
    std::size_t at(block b) const noexcept { return first_[b.level] + b.place; }
    Cost least(block b) const noexcept { return least_[at(b)]; }
    std::int64_t near(block b) const noexcept { return near_[at(b)]; }
    double low(block b, std::size_t r) const noexcept {
        return low_[at(b) * n_rates_ + r];
    }
    double high(block b, std::size_t r) const noexcept {
        return high_[at(b) * n_rates_ + r];
    }
    std::size_t begin(block b) const noexcept {
        return (static_cast<std::size_t>(b.place) << b.level) * leaf;
    }
    std::size_t end(block b) const noexcept {
        return std::min(size_, begin(b) + (leaf << b.level));
    }

    /// The halves of a block that is not a leaf; returns how many there are (1 or
    /// 2).
    int halves(block b, block out[2]) const noexcept {
        out[0] = {b.level - 1, 2 * b.place};
        out[1] = {b.level - 1, 2 * b.place + 1};
        return out[1].place < widths_[b.level - 1] ? 2 : 1;
    }

private:
    void summarise(const problem<Cost>& p, std::size_t from, std::size_t to,
                   std::size_t at) noexcept {
        least_[at] = *std::min_element(p.cost.begin() + from, p.cost.begin() + to);
        near_[at] =
            *std::min_element(p.distance.begin() + from, p.distance.begin() + to);
        for (std::size_t r = 0; r < n_rates_; ++r) {
            const double *lows = p.low(r), *highs = p.high(r);
            double low = highs[from], high = lows[from];
            for (std::size_t i = from + 1; i < to; ++i) {
                low = std::min(low, highs[i]);
                high = std::max(high, lows[i]);
            }
            low_[at * n_rates_ + r] = low;
            high_[at * n_rates_ + r] = high;
        }
    }

    void join(std::size_t level, std::size_t place, std::size_t at) noexcept {
        const std::size_t a = first_[level - 1] + 2 * place;
        const std::size_t b = 2 * place + 1 < widths_[level - 1] ? a + 1 : a;
        least_[at] = std::min(least_[a], least_[b]);
        near_[at] = std::min(near_[a], near_[b]);
        for (std::size_t r = 0; r < n_rates_; ++r) {
            low_[at * n_rates_ + r] =
                std::min(low_[a * n_rates_ + r], low_[b * n_rates_ + r]);
            high_[at * n_rates_ + r] =
                std::max(high_[a * n_rates_ + r], high_[b * n_rates_ + r]);
        }
    }

    std::size_t n_rates_, size_;
    std::vector<std::size_t> first_, widths_;  // of a level: its begin, its blocks
    std::vector<Cost> least_;
    std::vector<std::int64_t> near_;
    std::vector<double> low_, high_;
};

/// `use` with the halves of two blocks, one from each tree; only the wider block is
/// halved where their widths differ.
template <class Cost, class Use>
void halve_pair(const block_tree<Cost>& first, typename block_tree<Cost>::block a,
                const block_tree<Cost>& second, typename block_tree<Cost>::block b,
                Use use) {
    typename block_tree<Cost>::block as[2] = {a, a}, bs[2] = {b, b};
    const int n_a = a.level >= b.level ? first.halves(a, as) : 1;
    const int n_b = b.level >= a.level ? second.halves(b, bs) : 1;
    for (int x = 0; x < n_a; ++x)
        for (int y = 0; y < n_b; ++y) use(as[x], bs[y]);
}

}  // namespace gstar
