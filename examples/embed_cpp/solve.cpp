// solve.cpp - a service without Python: count rows, find thresholds, decide by them.
//
//     solve 0.05 thresholds < rows.csv       (score,label,group)
//
// prints the thresholds under which tpr and fpr differ by 0.05 at most, and saves them
// as bytes, which decide.cpp reads.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gstar/live.hpp"
#include "gstar/solve.hpp"
#include "gstar/thresholds_io.hpp"

namespace {

double number(std::string_view text) {
    double out = 0;
    const auto end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, out);
    if (got.ec != std::errc() || got.ptr != end)
        throw std::invalid_argument("not a number: " + std::string(text));
    return out;
}

// [count]
void count(std::istream& from, gstar::sketch& sketch) {
    for (std::string line; std::getline(from, line);) {
        const std::size_t first = line.find(','),
                          second = line.find(',', first + 1);
        if (second == std::string::npos)
            throw std::invalid_argument("a line is score,label,group; got '" +
                                        line + "'");
        const std::string label = line.substr(first + 1, second - first - 1);
        if (label != "0" && label != "1") gstar::refuse_label(label, -1);
        sketch.update_one(number(std::string_view(line).substr(0, first)),
                          label == "1" ? 1 : 0,
                          gstar::name::of_text(line.substr(second + 1)));
    }
}
// [count]

// [solve]
gstar::result find(gstar::sketch& sketch, double gap) {
    using gstar::form;
    using gstar::rate;
    gstar::question question;
    question.limits.push_back({form::difference, {rate::tpr, rate::fpr}, gap});
    gstar::result found = gstar::solve(sketch, question);
    switch (found.outcome) {
        case gstar::verdict::optimal: return found;
        case gstar::verdict::infeasible:
            throw std::runtime_error("no thresholds meet these limits; looser by " +
                                     std::to_string(found.slack) + " some do");
        case gstar::verdict::not_converged:  // question.seconds were not enough
            throw std::runtime_error("the search was ended early");
        default: throw std::runtime_error("rows or labels are missing");
    }
}
// [solve]

void print(const gstar::result& found) {
    std::printf("error %.4f\n", found.error);
    for (std::size_t k = 0; k < found.set.groups.size(); ++k)
        std::printf("%s >= %.6g  tpr %.4f  fpr %.4f\n",
                    found.set.groups[k].group.text.c_str(),
                    found.set.groups[k].threshold, found.rates[k][0],
                    found.rates[k][1]);
}

// [save]
void save(const gstar::thresholds& set, const char* path) {
    const std::vector<std::uint8_t> bytes = gstar::to_bytes(set);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush())
        throw std::runtime_error(std::string("cannot write ") + path);
}
// [save]

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s gap thresholds < rows.csv\n", argv[0]);
        return 2;
    }
    try {
        gstar::sketch sketch(gstar::sketch_options{});
        count(std::cin, sketch);
        const gstar::result found = find(sketch, number(argv[1]));
        print(found);
        save(found.set, argv[2]);
        // [live]
        gstar::live_decider live(found.set);
        const gstar::name& group = found.set.groups[0].group;
        const bool accepted = gstar::live_decider::reading(live)->one(0.5, group);
        const std::uint64_t version = live.swap(find(sketch, 0.5).set);
        // [live]
        std::printf("0.5 is %s at first; now version %d decides\n",
                    accepted ? "accepted" : "rejected", static_cast<int>(version));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
