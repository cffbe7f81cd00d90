// solve.hpp - a sketch and a question -> thresholds that decide, and what is proven.
//
// docs/cpp.md shows how to use it. The thresholds are those of gf.solve with
// evidence=0, bit for bit; mixtures have the same cost.
#pragma once

#include <algorithm>  // max, sort
#include <array>
#include <cmath>    // isnan
#include <cstddef>  // size_t
#include <cstdint>
#include <memory>   // unique_ptr
#include <numeric>  // accumulate
#include <optional>
#include <utility>  // move, pair
#include <vector>

#include "gstar/base/deadline.hpp"  // infinity
#include "gstar/count/bytes/sha256.hpp"
#include "gstar/count/readout.hpp"
#include "gstar/sketch.hpp"
#include "gstar/sketch_io.hpp"
#include "gstar/solve/choose.hpp"
#include "gstar/thresholds.hpp"

namespace gstar {

/// Why `solve` stopped.
enum class verdict : std::uint8_t {
    optimal,
    not_converged,  ///< the thresholds are the best that were found
    infeasible,     ///< no thresholds meet the limits; these miss them by the least
    no_rows,        ///< from here on there are no thresholds
    no_labels,      ///< no error can be computed
    one_class,      ///< both classes must have rows to be balanced
    one_group,      ///< limits and penalties need two groups to compare
    undefined_rate,  ///< fewer than two groups have the rows of a rate
};

/// What `solve` found.
struct result {
    verdict outcome = verdict::optimal;
    thresholds set;          ///< groups in canonical order; empty if there are none
    double error = 0;        ///< share of labelled rows that are decided wrongly
    double cost = 0;         ///< what is minimised without penalties; see `scale`
    double loss = 0;         ///< squared cost, and penalties
    double lower_bound = 0;  ///< of the loss of all thresholds allowed
    double slack = 0;  ///< where not optimal: how much looser limits have to be
    std::size_t opened = 0;  ///< boxes, or scans over all candidates
    /// Of each group: its rows, those accepted (of mixtures, expected) and its rates
    /// (NaN: undefined).
    std::vector<rows_by_label> totals;
    std::vector<std::array<double, 3>> accepted;
    std::vector<std::array<double, n_rates>> rates;

    bool found() const noexcept { return !set.groups.empty(); }
};

/// Rows of a sketch at one moment, groups in canonical order.
struct cell_counts {
    std::vector<name> groups;
    std::vector<double> edges;
    std::vector<std::int64_t> rows;  ///< labels by groups by (below, bins, above)
    sha256_digest digest{};          ///< of the rows, as Python has it

    std::size_t n_candidates() const noexcept { return edges.size() + 1; }
    double threshold(std::int64_t candidate) const noexcept {
        return candidate == 0 ? -infinity
                              : edges[static_cast<std::size_t>(candidate - 1)];
    }
};

/// Copy the counts of a sketch; other threads may go on updating it.
inline cell_counts counts_of(sketch& live) {
    const std::unique_ptr<sketch> s = live.clone();
    cell_counts out;
    s->look([&](const tally& t, const slot_list&) {
        out.groups = s->groups().order();
        std::sort(out.groups.begin(), out.groups.end());
        const std::uint32_t bins = t.at().bins();
        out.edges.resize(bins + std::size_t{1});
        read_edges(t.at(), out.edges.data());
        out.rows.assign(3 * out.groups.size() * (bins + std::size_t{2}), 0);
        std::int64_t* to = out.rows.data();
        for (unsigned label = 0; label < 3; ++label)
            for (const name& group : out.groups) {
                const cell_place c(t, label, s->groups().slot_of(group));
                if (c.exists()) {
                    to[0] = c.p.below(c.cell);
                    c.p.add_counts(c.cell, to + 1);
                    to[bins + 1] = c.p.above(c.cell);
                }
                to += bins + 2;
            }
        return 0;
    });
    out.digest = sha256(row_bytes(*s));
    return out;
}

namespace detail {

/// One question on the counts of one sketch.
class solving {
public:
    solving(const cell_counts& counts, const question& q)
        : counts_(counts), q_(q), end_(q.seconds) {}

    result run() {
        const std::size_t n_groups = counts_.groups.size();
        result out;
        out.outcome = verdict::no_rows;
        if (n_groups == 0) return out;
        std::int64_t all[2] = {0, 0};
        out.totals.resize(n_groups);
        const std::int64_t* row = counts_.rows.data();
        for (std::size_t label = 0; label < 3; ++label)
            for (rows_by_label& total : out.totals) {
                total[label] = std::accumulate(row, row + counts_.n_candidates(),
                                               std::int64_t{0});
                row += counts_.n_candidates();
                if (label < 2) all[label] += total[label];
            }
        out.outcome = lacking(out.totals, all);
        if (out.outcome != verdict::optimal) return out;
        scale_ = scale_of(q_.price_fp, q_.price_fn, q_.balanced, all[0], all[1]);
        table_.emplace(tabulate(counts_.rows, n_groups, counts_.n_candidates(),
                                scale_.fp, scale_.fn, q_.unified),
                       windows(q_), scale_.unit);
        if (q_.randomize)
            mix_into(out);
        else
            choose_into(out);
        out.set.unified = q_.unified;
        out.set.default_threshold = counts_.threshold(table_->counts().unified);
        out.set.sketch_digest = counts_.digest;
        return out;
    }

private:
    using numbers = std::vector<std::int64_t>;

    /// What the sketch lacks, if anything.
    verdict lacking(const std::vector<rows_by_label>& totals,
                    const std::int64_t (&all)[2]) const {
        if (all[0] + all[1] == 0) return verdict::no_labels;
        if (q_.balanced && (all[0] == 0 || all[1] == 0)) return verdict::one_class;
        std::vector<rate> asked;
        for (const limit& one : q_.limits)
            asked.insert(asked.end(), one.of.begin(), one.of.end());
        for (const penalty& one : q_.penalties)
            asked.insert(asked.end(), one.of.begin(), one.of.end());
        if (!asked.empty() && totals.size() == 1) return verdict::one_group;
        for (const rate r : asked) {
            std::size_t groups = 0;
            for (const rows_by_label& rows : totals)
                groups += rate_of_group(r, rows).exists() ? 1 : 0;
            if (groups < 2) return verdict::undefined_rate;
        }
        return verdict::optimal;
    }

    void choose_into(result& out) {
        const pick best =
            q_.unified ? choose_unified(*table_) : choose(*table_, scale_, end_);
        out.opened = best.opened;
        out.outcome = best.proven ? verdict::optimal : verdict::not_converged;
        numbers chosen = best.numbers;
        double loss = best.loss, lower = best.lower_bound;
        if (chosen.empty()) {
            chosen = nearest(best, out);
            loss = pick::unknown;
            if (out.slack > 0) lower = 0.0;
        }
        const problem<std::int64_t> p = table_->problem();
        std::int64_t cost = 0;
        for (std::size_t k = 0; k < chosen.size(); ++k) {
            const std::size_t at = table_->entry(k, chosen[k]);
            put(out, k, table_->accepted(at),
                counts_.threshold(table_->counts().candidate[at]));
            cost += p.cost[at];
        }
        weigh(out);
        out.cost = static_cast<double>(cost) / scale_.unit;  // rounded once
        if (std::isnan(loss)) loss = loss_of(p, chosen.data());
        if (std::isnan(lower))
            lower = scale_.slack > 0 ? square_above(out.cost, scale_.slack) : loss;
        out.loss = loss;
        out.lower_bound = lower;
    }

    /// Thresholds that miss the limits by the least.
    numbers nearest(const pick& best, result& out) {
        numbers chosen;
        const double slack = loosen_until(*table_, [&] {
            pick one = q_.unified ? choose_unified(*table_)
                                  : cheapest(table_->problem(),
                                             search_limits::boxes_of_slack, end_);
            if (!one.proven) one.numbers = everybody(table_->problem());
            if (one.numbers.empty()) return false;
            chosen = std::move(one.numbers);
            return true;
        });
        // the looser question was easier, and its answer may meet the limits too
        if (!best.proven && allowed(table_->problem(), chosen.data()))
            return chosen;
        if (best.proven) out.outcome = verdict::infeasible;
        out.slack = slack;
        if (q_.unified || !table_->penalised()) return chosen;
        table_->loosen(slack);
        const pick weighed = choose(*table_, scale_, end_);
        table_->loosen(0.0);
        return weighed.numbers.empty() ? chosen : weighed.numbers;
    }

    void mix_into(result& out) {
        mixed_pick best = mix(*table_);
        if (!best.mixture.found) {
            out.outcome = verdict::infeasible;
            out.slack = loosen_until(*table_, [&] {
                mixed_pick looser = mix(*table_);
                if (!looser.mixture.found) return false;
                best = std::move(looser);
                return true;
            });
        } else if (!best.proven) {
            out.outcome = verdict::not_converged;
        }
        const segment_mixture& found = best.mixture;
        out.opened = static_cast<std::size_t>(found.scans);
        out.set.randomized = true;
        for (std::size_t i = 0, k = 0; k < counts_.groups.size(); ++k) {
            std::array<double, 3> accepted{};
            std::vector<mixture_part> parts;
            for (; i < found.weight.size() &&
                   found.segment[i] == static_cast<std::int64_t>(k);
                 ++i) {
                const std::size_t at = table_->entry(k, found.number[i]);
                const rows_by_label rows = table_->accepted(at);
                for (std::size_t y = 0; y < 3; ++y)
                    accepted[y] += found.weight[i] * static_cast<double>(rows[y]);
                parts.push_back({counts_.threshold(table_->counts().candidate[at]),
                                 found.weight[i]});
            }
            std::size_t most = 0;  // the most probable; of equals the lowest
            for (std::size_t j = 1; j < parts.size(); ++j)
                if (parts[j].probability > parts[most].probability) most = j;
            put(out, k, accepted, parts[most].threshold);
            out.set.groups.back().mixture = std::move(parts);
        }
        weigh(out);
        out.loss = out.cost * out.cost;
        out.lower_bound = out.outcome == verdict::infeasible ? 0.0 : out.loss;
    }

    /// The threshold of the next group, and what it accepts.
    template <class Rows>
    void put(result& out, std::size_t k, const std::array<Rows, 3>& accepted,
             double threshold) const {
        out.set.groups.push_back({counts_.groups[k], threshold, {}});
        out.accepted.emplace_back();
        for (std::size_t y = 0; y < 3; ++y)
            out.accepted.back()[y] = static_cast<double>(accepted[y]);
        out.rates.emplace_back();
        for (std::size_t r = 0; r < n_rates; ++r) {
            const rate_of_group value(static_cast<rate>(r), out.totals[k]);
            out.rates.back()[r] = value.exists() ? value(accepted) : pick::unknown;
        }
    }

    /// Error and cost of what is accepted.
    void weigh(result& out) const {
        double wrong[2] = {0, 0}, labelled = 0;
        for (std::size_t k = 0; k < out.totals.size(); ++k) {
            const rows_by_label& rows = out.totals[k];
            wrong[0] += out.accepted[k][0];
            wrong[1] += static_cast<double>(rows[1]) - out.accepted[k][1];
            labelled += static_cast<double>(rows[0] + rows[1]);
        }
        out.error = (wrong[0] + wrong[1]) / labelled;
        out.cost = (static_cast<double>(scale_.fp) * wrong[0] +
                    static_cast<double>(scale_.fn) * wrong[1]) /
                   scale_.unit;
    }

    const cell_counts& counts_;
    const question& q_;
    deadline end_;
    scale scale_;
    std::optional<search_table> table_;
};

}  // namespace detail

/// Thresholds for these counts; one copy of them answers many questions.
inline result solve(const cell_counts& counts, const question& q) {
    check_question(q);
    return detail::solving(counts, q).run();
}

/// Thresholds for the rows that a sketch has counted, or std::invalid_argument for a
/// question that no sketch could answer.
inline result solve(sketch& s, const question& q) {
    check_question(q);
    const auto need = 64.0 * s.n_groups() * s.bins() * (q.unified ? 3.25 : 1.0);
    if (need > static_cast<double>(s.memory_limit()))
        throw memory_limit_error(
            {"solving_needs_too_much_memory", "memory_limit", -1,
             static_cast<std::uint64_t>(need),
             std::vector<std::int64_t>{static_cast<std::int64_t>(s.memory_limit()),
                                       s.n_groups(), s.bins()}});
    return solve(counts_of(s), q);
}

}  // namespace gstar
