// solve_test.cpp - a sketch and a question give thresholds that decide, and a verdict.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "gstar/decide.hpp"
#include "gstar/solve.hpp"
#include "gstar/thresholds_json.hpp"
#include "table.hpp"

using namespace gstar;

namespace {

struct counted {
    table<double> rows;
    sketch counts{sketch_options{}};

    counted(std::size_t n, unsigned groups, unsigned seed)
        : rows(make_table<double>(n, groups, seed)) {
        for (std::size_t i = 0; i < n; ++i)  // groups differ in what scores say
            rows.scores[i] += rows.labels[i] * (1.0 + rows.groups[i]);
        counts.update(rows.view());
    }

    /// The rate of each group in its own decisions, counted row by row.
    std::vector<double> rates(const decider& by, rate which, double& error) const {
        std::vector<std::uint8_t> accepted(rows.scores.size());
        by.many(rows.view(), accepted.data());
        std::vector<double> hits(by.n_groups()), trials(by.n_groups());
        double wrong = 0;
        for (std::size_t i = 0; i < accepted.size(); ++i) {
            wrong += accepted[i] != rows.labels[i];
            if (which == rate::tpr && rows.labels[i] == 0) continue;
            if (which == rate::fpr && rows.labels[i] == 1) continue;
            hits[rows.groups[i]] += accepted[i];
            trials[rows.groups[i]] += 1;
        }
        for (std::size_t k = 0; k < hits.size(); ++k) hits[k] /= trials[k];
        error = wrong / static_cast<double>(accepted.size());
        return hits;
    }
};

double gap_of(const std::vector<double>& rates) {
    return *std::max_element(rates.begin(), rates.end()) -
           *std::min_element(rates.begin(), rates.end());
}

question limited(std::vector<rate> of, double bound, form what = form::difference) {
    question q;
    q.limits.push_back({what, std::move(of), bound});
    return q;
}

std::string hex(const sha256_digest& digest) {
    std::string out;
    for (const std::uint8_t b : digest) {
        out += "0123456789abcdef"[b / 16];
        out += "0123456789abcdef"[b % 16];
    }
    return out;
}

std::string digest_of(const std::string& text) {
    return hex(
        sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
}

}  // namespace

int main() {
    {  // SHA-256 has the values of the standard, at the edges of a block too
        CHECK(digest_of("") ==
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        CHECK(digest_of("abc") ==
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        CHECK(
            digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        CHECK(digest_of(std::string(1000000, 'a')) ==
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        CHECK(digest_of(std::string(55, 'a')) ==
              "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
        CHECK(digest_of(std::string(64, 'a')) ==
              "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    }
    {  // prices are whole numbers in lowest terms, rounded where they are large
        const scale plain = scale_of(1, 1, false, 30, 20);
        CHECK(plain.fp == 1 && plain.fn == 1 && plain.unit == 50);
        const scale priced = scale_of(4, 6, false, 30, 21);
        CHECK(priced.fp == 2 && priced.fn == 3 && priced.unit == 25.5);
        const scale balanced = scale_of(1, 1, true, 30, 20);
        CHECK(balanced.fp == 2 && balanced.fn == 3 && balanced.unit == 120);
        CHECK(balanced.slack == 0);
        const std::int64_t many = std::int64_t{1} << 40;
        const scale rounded = scale_of(3, 1, true, many + 1, many - 1);
        CHECK(rounded.slack > 0 && rounded.slack < 1e-6);
        const double rows = std::ldexp(1.0, 40);  // nearly, of each class
        const double fp = static_cast<double>(rounded.fp) * rows / rounded.unit,
                     fn = static_cast<double>(rounded.fn) * rows / rounded.unit;
        CHECK(std::fabs(fp - 1.5) < rounded.slack &&
              std::fabs(fn - 0.5) < rounded.slack);
        CHECK(throws<count_overflow_error>(
            [&] { scale_of(2, 1, false, many << 20, many << 20); }));
    }
    {  // thresholds meet the limits on the rows, and cost what the result says
        for (unsigned seed = 0; seed < 6; ++seed) {
            counted c(2000, 2 + seed % 3, seed);
            question q = limited({rate::tpr, rate::fpr}, 0.05);
            if (seed % 2 == 1)
                q.limits.push_back({form::sum, {rate::tpr, rate::fpr}, 0.06});
            const result r = solve(c.counts, q);
            CHECK(r.outcome == verdict::optimal && r.found());
            CHECK(r.loss == r.lower_bound);
            const decider by(r.set);
            double error = 0;
            const std::vector<double> tpr = c.rates(by, rate::tpr, error),
                                      fpr = c.rates(by, rate::fpr, error);
            CHECK(error == r.error && error == r.cost);
            CHECK(gap_of(tpr) <= 0.05 + 1e-12 && gap_of(fpr) <= 0.05 + 1e-12);
            if (seed % 2 == 1) CHECK(gap_of(tpr) + gap_of(fpr) <= 0.06 + 1e-12);
            for (std::size_t k = 0; k < tpr.size(); ++k) {
                CHECK(r.set.groups[k].group ==
                      name::of(static_cast<std::int64_t>(k)));
                CHECK(r.rates[k][0] == tpr[k] && r.rates[k][1] == fpr[k]);
            }
        }
    }
    {  // a looser question costs no more: mixtures, single thresholds, unified
        counted c(3000, 3, 11);
        const cell_counts counts = counts_of(c.counts);
        question q = limited({rate::selection}, 0.9, form::ratio);
        const result single = solve(counts, q);
        q.randomize = true;
        const result mixed = solve(counts, q);
        q.randomize = false;
        q.unified = true;
        const result unified = solve(counts, q);
        const result free = solve(counts, question());
        CHECK(free.cost <= mixed.cost && mixed.cost <= single.cost + 1e-12);
        CHECK(single.cost <= unified.cost ||
              unified.outcome == verdict::infeasible);
        CHECK(mixed.set.randomized && unified.set.unified);
        check_thresholds(mixed.set);
        check_thresholds(unified.set);
        double low = 1, high = 0;
        for (const auto& rates : mixed.rates) {
            low = std::min(low, rates[2]);
            high = std::max(high, rates[2]);
        }
        CHECK(low >= 0.9 * high - 1e-9);
    }
    {  // penalties: two groups by blocks, more by targets; a heavy one closes the gap
        for (const unsigned groups : {2u, 3u}) {
            counted c(1500, groups, groups);
            question q;
            const double before = solve(c.counts, q).loss;
            q.penalties.push_back({{rate::tpr}, 1e4});
            const result r = solve(c.counts, q);
            CHECK(r.outcome == verdict::optimal && r.loss >= before);
            double error = 0;
            CHECK(gap_of(c.rates(decider(r.set), rate::tpr, error)) < 0.02);
        }
    }
    {  // limits out of reach: thresholds that miss them by the least, and by how much
        sketch_options o;
        o.at = window::linear(
            -3, -8, 16);  // from -1 to 1: rows beyond cannot be told apart
        o.fixed = true;
        sketch s(o);
        for (int i = 0; i < 30; ++i) {
            s.update_one(i < 20 ? 5.0 : 0.5, i % 2, name::of(0));
            s.update_one(0.5, i % 2, name::of(1));
        }
        question q = limited({rate::accuracy}, 0.0);
        s.update_one(0.5, 1, name::of(1));
        const result r = solve(s, q);
        CHECK(r.outcome == verdict::infeasible && r.found() && r.slack > 0);
        q.limits[0].bound = r.slack;
        CHECK(solve(s, q).outcome == verdict::optimal);
        q.limits[0].bound = r.slack - 1e-5;
        CHECK(solve(s, q).outcome == verdict::infeasible);
    }
    {  // a search that is ended early says so, and still answers
        counted c(4000, 5, 3);
        question q = limited({rate::tpr, rate::fpr}, 0.001);
        q.penalties.push_back({{rate::selection}, 1.0});
        q.seconds = 1e-9;
        const result r = solve(c.counts, q);
        CHECK(r.outcome == verdict::not_converged && r.found());
        CHECK(r.lower_bound <= r.loss);
        q.seconds = std::numeric_limits<double>::infinity();
        CHECK(solve(c.counts, q).loss <= r.loss);
    }
    {  // what the sketch lacks is a verdict without thresholds
        sketch s{sketch_options{}};
        const question q = limited({rate::tpr}, 0.1);
        const auto is = [&](const question& asked, verdict v) {
            const result r = solve(s, asked);
            return r.outcome == v && !r.found();
        };
        CHECK(is(q, verdict::no_rows));
        s.update_one(0.5, 2, name::of_text("a"));
        CHECK(is(q, verdict::no_labels));
        s.update_one(0.5, 1, name::of_text("a"));
        question balanced;
        balanced.balanced = true;
        CHECK(is(balanced, verdict::one_class));
        CHECK(is(q, verdict::one_group));
        s.update_one(0.5, 0, name::of_text("b"));
        CHECK(is(q, verdict::undefined_rate));
        CHECK(solve(s, question()).outcome == verdict::optimal);
        CHECK(solve(s, balanced).outcome == verdict::optimal);
    }
    {  // questions that no sketch could answer are refused, and too little memory
        counted c(100, 2, 1);
        const auto bad = [&](const question& q) {
            return throws<input_error>([&] { solve(c.counts, q); });
        };
        CHECK(bad(limited({rate::tpr}, 1.5)) && bad(limited({rate::tpr}, -0.1)));
        CHECK(bad(limited({}, 0.1)) && bad(limited({rate::tpr}, NAN)));
        CHECK(bad(limited({rate::fpr, rate::tpr}, 0.1, form::sum)));
        question q;
        q.penalties.push_back({{rate::tpr}, -1.0});
        CHECK(bad(q));
        q = question();
        q.price_fp = q.price_fn = 0;
        CHECK(bad(q));
        q = question();
        q.seconds = 0;
        CHECK(bad(q));
        q = question();
        q.randomize = q.unified = true;
        CHECK(bad(q));
        sketch_options o;
        o.memory_limit = 600000;
        sketch small(o);
        small.update_one(0.5, 1, name::of(1));
        small.update_one(0.5, 0, name::of(2));
        q = question();
        CHECK(solve(small, q).outcome == verdict::optimal);
        q.unified = true;
        CHECK(throws<memory_limit_error>([&] { solve(small, q); }));
    }
    {  // the set goes through bytes, with the digest of the rows
        counted c(500, 2, 5);
        const result r = solve(c.counts, limited({rate::tpr}, 0.1));
        const std::vector<std::uint8_t> bytes = to_bytes(r.set);
        const thresholds again = read_thresholds({bytes.data(), bytes.size()});
        CHECK(to_bytes(again) == bytes &&
              again.sketch_digest == r.set.sketch_digest);
        const std::vector<std::uint8_t> rows = row_bytes(c.counts);
        CHECK(*again.sketch_digest == sha256({rows.data(), rows.size()}));
        CHECK(again.default_threshold.has_value());
    }
    return 0;
}
