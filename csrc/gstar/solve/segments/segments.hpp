// segments.hpp - thresholds by segment while gaps are measured between protected
// groups: the best mixture, and the best choice with its proof.
//
// The best choice comes from cutting the range of a segment that the mixture of a
// node mixes. A node is closed only by its bound, never by giving up a limit.
#pragma once

#include <algorithm>  // max, min, sort
#include <cmath>      // abs
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <map>
#include <queue>
#include <utility>  // move, pair
#include <vector>

#include "gstar/base/deadline.hpp"
#include "gstar/solve/segments/bounds.hpp"
#include "gstar/solve/segments/moves.hpp"

namespace gstar {

/// The best mixture; weights add up to one in each segment.
struct segment_mixture {
    bool found = false;
    std::vector<std::int64_t> segment, number;
    std::vector<double> weight, multipliers;
    double bound = 0.0, value = 0.0;
    int scans = 0;
};

inline segment_mixture mix_segments(const segment_problem& p) {
    segment_bounds bounds(p);
    segment_node node = bounds.whole();
    bounds.solve(node, {}, infinity, deadline(), true);
    segment_mixture out;
    if (node.empty || node.columns.empty()) return out;
    std::vector<double> total(bounds.n_blocks(), 0.0), part;
    for (std::size_t i = 0; i < node.columns.size(); ++i)
        if (node.shares[i] > 1e-12) total[node.columns[i].block] += node.shares[i];
    std::map<std::pair<std::int64_t, std::int64_t>, double> merged;
    for (std::size_t i = 0; i < node.columns.size(); ++i) {
        if (node.shares[i] <= 1e-12) continue;
        const segment_column& column = node.columns[i];
        const double weight = node.shares[i] / total[column.block];
        for (std::size_t j = bounds.first_of(column.block);
             j < bounds.end_of(column.block); ++j)
            merged[{static_cast<std::int64_t>(j), column.numbers[j]}] += weight;
        out.value += weight * bounds.measures(column.block, column.numbers, part);
    }
    for (const auto& [where, weight] : merged) {
        out.segment.push_back(where.first);
        out.number.push_back(where.second);
        out.weight.push_back(weight);
    }
    out.found = true;
    out.multipliers = std::move(node.multipliers);
    out.bound = node.bound;
    out.scans = bounds.scans();
    return out;
}

/// A proof, as a tree: node i splits segment[i] after candidate[i], or is a leaf
/// (segment -1, or -2: one choice). Segment -3 leaves candidates out, by the bound
/// of its multipliers.
struct segment_leaves {
    std::vector<std::int64_t> segment, candidate, child;
    std::vector<double> weight, multipliers;
};

struct segment_best {
    choice numbers;  ///< -1 where none was found
    std::size_t nodes = 0;
    bool finished = true;  ///< proven; without numbers: nothing meets the limits
    double bound = 0.0;    ///< on E of every choice
    segment_leaves leaves;
};

/// The search for the best choice.
class segment_tree {
public:
    explicit segment_tree(const segment_problem& p,
                          const std::vector<choice>* names = nullptr)
        : bounds_(p),
          p_(bounds_.problem()),
          moves_(p_),
          names_(names),
          step_(std::max(1.0 / p.unit, 1e-12)) {}

    segment_bounds& bounds() noexcept { return bounds_; }
    const choice& best() const noexcept { return best_; }
    double enough() const noexcept { return enough_; }

    /// Keep a choice if it meets the limits and is better.
    bool offer(const choice& numbers, double miss) {
        if (miss > 0) return false;
        const std::int64_t cost = moves_.cost_of(numbers);
        if (!best_.empty() && cost >= cost_) return false;
        best_ = numbers;
        cost_ = cost;
        enough_ = static_cast<double>(cost) / p_.unit - step_;
        return true;
    }

    void offer_one(choice numbers) {
        const double miss = moves_.move_one(numbers);
        offer(numbers, miss);
    }

    void offer_two(choice numbers, const segment_node& node) {
        const double miss = moves_.move_two(numbers, lists(node));
        offer(numbers, miss);
    }

    /// Round the mixture of a node, and move from there.
    void polish(const segment_node& node) {
        choice numbers = rounded(node);
        const double miss = moves_.move_one(numbers);
        if (!offer(numbers, miss) || p_.rising) return;
        offer_two(numbers, node);
    }

    /// Candidates of each segment that a choice better than the best may have, by the
    /// bound of the root; and those of the best itself.
    std::vector<choice> kept(const segment_node& node) const {
        const std::vector<double> value = values(node);
        std::vector<choice> out(p_.n_segments);
        for (std::size_t j = 0; j < p_.n_segments; ++j) {
            double least = value[p_.first(j)];
            for (std::size_t i = 1; i < p_.size(j); ++i)
                least = std::min(least, value[p_.first(j) + i]);
            for (std::size_t i = 0; i < p_.size(j); ++i) {
                const auto number = static_cast<std::int64_t>(i);
                if (node.bound + (value[p_.first(j) + i] - least) <= enough_ ||
                    number == best_[j])
                    out[j].push_back(number);
            }
        }
        return out;
    }

    /// Branch until every node is closed; `root` has been solved, and choices were
    /// offered.
    segment_best run(segment_node root, std::size_t node_limit,
                     const deadline& end) {
        segment_best out;
        segment_leaves& tree = out.leaves;
        std::vector<segment_node> proofs;
        std::priority_queue<open, std::vector<open>, later> queue;
        const bool is_open = !root.empty && root.bound <= enough_;
        if (is_open) queue.push({root.bound, 0});
        grow(tree);
        proofs.push_back(std::move(root));
        while (!queue.empty()) {
            if (queue.top().first > enough_) break;
            if (proofs.size() >= node_limit || end.passed()) {
                out.finished = false;
                break;
            }
            const std::size_t place = queue.top().second;
            queue.pop();
            const segment_node node = std::move(proofs[place]);
            proofs[place].multipliers = node.multipliers;
            proofs[place].weight = node.weight;
            std::int64_t cut = 0;
            const std::size_t j = spread(node, cut);
            if (j == p_.n_segments) {
                tree.segment[place] = -2;  // breaks a limit, or is no better
                continue;
            }
            tree.segment[place] = static_cast<std::int64_t>(j);
            tree.candidate[place] =
                names_ == nullptr ? cut
                                  : (*names_)[j][static_cast<std::size_t>(cut)];
            tree.child[place] = static_cast<std::int64_t>(proofs.size());
            for (int side = 0; side < 2; ++side) {
                segment_node child;
                child.low = node.low;
                child.high = node.high;
                (side == 0 ? child.high[j] : child.low[j]) =
                    side == 0 ? cut : cut + 1;
                if (p_.rising) follow(child);
                child.multipliers = node.multipliers;
                grow(tree);
                bounds_.solve(child, node.columns, enough_, end);
                if (!child.empty && child.bound <= enough_) {
                    polish(child);
                    if (child.bound <= enough_)
                        queue.push({child.bound, proofs.size()});
                }
                proofs.push_back(std::move(child));
            }
        }
        out.nodes = proofs.size();
        out.numbers = best_.empty() ? choice(p_.n_segments, -1) : best_;
        const double value =
            best_.empty() ? infinity : static_cast<double>(cost_) / p_.unit;
        out.bound = out.finished ? value : std::min(value, queue.top().first);
        for (const segment_node& node : proofs) {
            tree.weight.push_back(node.weight);
            tree.multipliers.insert(tree.multipliers.end(),
                                    node.multipliers.begin(),
                                    node.multipliers.end());
        }
        return out;
    }

private:
    using open = std::pair<double, std::size_t>;
    struct later {
        bool operator()(const open& a, const open& b) const noexcept {
            return a > b;
        }
    };

    static void grow(segment_leaves& tree) {
        tree.segment.push_back(-1);
        tree.candidate.push_back(0);
        tree.child.push_back(-1);
    }

    /// Where thresholds rise, the cut of one segment cuts the others.
    static void follow(segment_node& node) {
        for (std::size_t j = 1; j < node.low.size(); ++j)
            node.low[j] = std::max(node.low[j], node.low[j - 1]);
        for (std::size_t j = node.high.size() - 1; j-- > 0;)
            node.high[j] = std::min(node.high[j], node.high[j + 1]);
    }

    /// The heaviest candidate of each segment.
    choice rounded(const segment_node& node) const {
        choice out(p_.n_segments, 0);
        std::vector<double> heavy(p_.n_segments, -1.0);
        for (std::size_t i = 0; i < node.columns.size(); ++i) {
            const segment_column& column = node.columns[i];
            const double share = node.shares[i];
            for (std::size_t j = bounds_.first_of(column.block);
                 j < bounds_.end_of(column.block); ++j)
                if (share > heavy[j] ||
                    (share == heavy[j] && column.numbers[j] < out[j])) {
                    out[j] = column.numbers[j];
                    heavy[j] = share;
                }
        }
        return out;
    }

    std::vector<double> values(const segment_node& node) const {
        std::vector<double> out(p_.cost.size());
        const std::vector<double> w =
            bounds_.weights(node.multipliers, node.weight);
        for (std::size_t j = 0; j < p_.n_segments; ++j)
            values_of(p_, bounds_.features(), w.data(), j, 0, p_.size(j),
                      out.data() + p_.first(j));
        return out;
    }

    /// The candidates of each segment that the multipliers like best.
    std::vector<choice> lists(const segment_node& node) const {
        const std::vector<double> value = values(node);
        std::vector<choice> out(p_.n_segments);
        for (std::size_t j = 0; j < p_.n_segments; ++j) {
            const double* mine = value.data() + p_.first(j);
            choice& list = out[j];
            for (std::size_t i = 0; i < p_.size(j); ++i)
                list.push_back(static_cast<std::int64_t>(i));
            const std::size_t many = std::min(segment_moves::shortest, list.size());
            const auto end = list.begin() + static_cast<std::ptrdiff_t>(many);
            std::partial_sort(list.begin(), end, list.end(),
                              [mine](std::int64_t a, std::int64_t b) {
                                  return mine[a] != mine[b] ? mine[a] < mine[b]
                                                            : a < b;
                              });
            list.resize(many);
            std::sort(list.begin(), list.end());
        }
        return out;
    }

    /// Which segment to cut, and after which candidate; n_segments where the box is
    /// one choice.
    std::size_t spread(const segment_node& node, std::int64_t& cut) const {
        double best = 0.0;
        std::size_t found = p_.n_segments;
        const segment_features& x = bounds_.features();
        std::vector<double> norm(p_.n_slots, 0.0);
        for (std::size_t c = 0; c < p_.n_slots; ++c)
            for (std::size_t k = p_.terms_from(c); k < p_.terms_to(c); ++k)
                norm[c] += std::abs(p_.slope[k]);
        std::vector<std::pair<std::int64_t, double>> mine;
        for (std::size_t j = 0; j < p_.n_segments; ++j) {
            mine.clear();
            for (std::size_t i = 0; i < node.columns.size(); ++i)
                if (node.shares[i] > 1e-9 &&
                    (p_.rising || node.columns[i].block == j))
                    mine.emplace_back(node.columns[i].numbers[j], node.shares[i]);
            if (mine.empty()) continue;
            std::int64_t low = mine[0].first, high = low;
            double total = 0.0, place = 0.0;
            for (const auto& [i, share] : mine) {
                low = std::min(low, i);
                high = std::max(high, i);
                total += share;
                place += share * static_cast<double>(i);
            }
            if (low == high) continue;
            double wide = 0.0;
            for (std::size_t f = 0; f < p_.n_features(j); ++f) {
                const double* const value = x.of(j, f);
                const double by = norm[p_.slot_of(j, f)];
                double mean = 0.0;
                for (const auto& [i, share] : mine) mean += share * value[i];
                mean /= total;
                for (const auto& [i, share] : mine)
                    wide += by * share * std::abs(value[i] - mean);
            }
            if (wide > best || found == p_.n_segments) {
                best = wide;
                found = j;
                cut = std::min(
                    std::max(static_cast<std::int64_t>(place / total), low),
                    high - 1);
            }
        }
        if (found < p_.n_segments) return found;
        std::int64_t widest = 0;
        for (std::size_t j = 0; j < p_.n_segments; ++j)
            if (node.high[j] - node.low[j] > widest) {
                widest = node.high[j] - node.low[j];
                found = j;
                cut = (node.low[j] + node.high[j]) / 2;
            }
        return found;
    }

    segment_bounds bounds_;
    const segment_problem& p_;
    segment_moves moves_;
    const std::vector<choice>* names_;  ///< of candidates before some were left out
    double step_;
    choice best_;
    std::int64_t cost_ = 0;
    double enough_ = infinity;  ///< closes a node
};

namespace detail {

inline segment_best search_segments(const segment_problem& p,
                                    std::size_t node_limit, const deadline& end) {
    segment_tree first(p);
    segment_node root = first.bounds().whole();
    first.offer_one(root.low);
    first.bounds().solve(root, {}, first.enough(), end);
    if (root.empty || root.bound > first.enough())
        return first.run(std::move(root), node_limit, end);
    first.polish(root);
    if (p.rising) return first.run(std::move(root), node_limit, end);
    if (!first.best().empty()) first.offer_two(first.best(), root);
    if (first.best().empty() || root.bound > first.enough())
        return first.run(std::move(root), node_limit, end);
    // fewer candidates are left: the search goes on among them
    const std::vector<choice> names = first.kept(root);
    std::vector<std::int64_t> start{0}, cost, distance;
    std::vector<double> kept;
    for (std::size_t j = 0; j < p.n_segments; ++j) {
        for (const std::int64_t number : names[j]) {
            cost.push_back(p.cost[p.entry(j, number)]);
            distance.push_back(p.distance[p.entry(j, number)]);
        }
        start.push_back(static_cast<std::int64_t>(cost.size()));
    }
    const segment_features& x = first.bounds().features();
    for (std::size_t j = 0; j < p.n_segments; ++j)
        for (std::size_t f = 0; f < p.n_features(j); ++f)
            for (const std::int64_t number : names[j])
                kept.push_back(x.of(j, f)[number]);
    segment_problem small = p;
    small.start = start;
    small.values = kept;
    small.cost = cost;
    small.distance = distance;
    segment_tree second(small, &names);
    const auto renamed = [&](const choice& numbers) {
        choice out(p.n_segments);
        for (std::size_t j = 0; j < p.n_segments; ++j)
            out[j] =
                std::lower_bound(names[j].begin(), names[j].end(), numbers[j]) -
                names[j].begin();
        return out;
    };
    second.offer(renamed(first.best()), 0.0);
    segment_node again = second.bounds().whole();
    again.multipliers = root.multipliers;
    std::vector<segment_column> seeds;
    for (const segment_column& column : root.columns) {
        const choice& list = names[column.block];
        if (std::binary_search(list.begin(), list.end(),
                               column.numbers[column.block]))
            seeds.push_back({column.block, renamed(column.numbers)});
    }
    second.bounds().solve(again, seeds, second.enough(), end);
    segment_best out = second.run(std::move(again), node_limit, end);
    for (std::size_t j = 0; j < p.n_segments; ++j)
        out.numbers[j] = names[j][static_cast<std::size_t>(out.numbers[j])];
    segment_leaves& leaves = out.leaves;
    for (std::int64_t& child : leaves.child)
        if (child >= 0) ++child;
    leaves.segment.insert(leaves.segment.begin(), -3);
    leaves.candidate.insert(leaves.candidate.begin(), 0);
    leaves.child.insert(leaves.child.begin(), 1);
    leaves.weight.insert(leaves.weight.begin(), root.weight);
    leaves.multipliers.insert(leaves.multipliers.begin(), root.multipliers.begin(),
                              root.multipliers.end());
    return out;
}

}  // namespace detail

/// The cheapest choice that meets every limit, with its proof. No segment alone can
/// come nearer to the best unified threshold at the same cost.
inline segment_best choose_segments(const segment_problem& p,
                                    std::size_t node_limit,
                                    const deadline& end = deadline()) {
    segment_best out = detail::search_segments(p, node_limit, end);
    if (out.numbers[0] >= 0) segment_moves(p).move_one(out.numbers);
    return out;
}

}  // namespace gstar
