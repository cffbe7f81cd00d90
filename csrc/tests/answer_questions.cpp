// answer_questions.cpp - what `gstar::solve` answers to each question on standard input.
//
// A question is one line of numbers, and then the bytes of a sketch:
//
//     bytes fp fn balanced unified randomize
//     limits (form rates rate ... bound) ... penalties (rates rate ... weight) ...
//
// The answer is one line: "solved", the verdict, error, cost, loss, lower bound and
// slack, the number of rates and the rates, and the bytes of the thresholds in
// hexadecimal ("-": none); or "refused" and why. tests/backends compares it with gf.solve.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "gstar/solve.hpp"
#include "gstar/thresholds_io.hpp"

namespace {

double number() {
    double out = 0;
    if (std::scanf("%lf", &out) != 1)
        throw std::runtime_error("a number is missing");
    return out;
}

int whole() { return static_cast<int>(number()); }

std::vector<gstar::rate> rates() {
    std::vector<gstar::rate> out(static_cast<std::size_t>(whole()));
    for (gstar::rate& r : out) r = static_cast<gstar::rate>(whole());
    return out;
}

gstar::question question() {
    gstar::question q;
    q.price_fp = static_cast<std::int64_t>(number());
    q.price_fn = static_cast<std::int64_t>(number());
    q.balanced = whole() != 0;
    q.unified = whole() != 0;
    q.randomize = whole() != 0;
    q.limits.resize(static_cast<std::size_t>(whole()));
    for (gstar::limit& one : q.limits) {
        one.what = static_cast<gstar::form>(whole());
        one.of = rates();
        one.bound = number();
    }
    q.penalties.resize(static_cast<std::size_t>(whole()));
    for (gstar::penalty& one : q.penalties) {
        one.of = rates();
        one.weight = number();
    }
    return q;
}

void answer(const std::vector<std::uint8_t>& bytes, const gstar::question& q) {
    const auto sketch = gstar::from_bytes({bytes.data(), bytes.size()}, 1u << 30);
    const gstar::result r = gstar::solve(*sketch, q);
    std::printf("solved %d", static_cast<int>(r.outcome));
    for (const double v : {r.error, r.cost, r.loss, r.lower_bound, r.slack})
        std::printf(" %a", v);
    std::printf(" %zu", r.rates.size() * gstar::n_rates);
    for (const auto& group : r.rates)
        for (const double v : group) std::printf(" %a", v);
    std::printf(r.found() ? " " : " -");
    if (r.found())
        for (const unsigned byte : gstar::to_bytes(r.set))
            std::printf("%02x", byte);
    std::puts("");
}

}  // namespace

int main() {
    for (std::size_t size = 0; std::scanf("%zu", &size) == 1;) {
        const gstar::question q = question();
        std::getchar();
        std::vector<std::uint8_t> bytes(size);
        if (std::fread(bytes.data(), 1, size, stdin) != size) return 1;
        try {
            answer(bytes, q);
        } catch (const std::invalid_argument& e) {
            std::printf("refused %s\n", e.what());
        }
        std::fflush(stdout);
    }
}
