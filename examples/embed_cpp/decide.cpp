// decide.cpp - decide rows from standard input by thresholds that Python saved.
//
//     decide thresholds.json < rows.csv      (score,group -> 1 or 0, a line each)
//
// Where thresholds have cut points, the second column is the number that stands for
// the group.
//
// Thresholds may be JSON (result.save, decider.save) or binary (decider.to_bytes).
#include <charconv>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "gstar/decide.hpp"
#include "gstar/thresholds_json.hpp"

namespace {

gstar::thresholds load(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    gstar::thresholds t = gstar::read_thresholds(
        {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    if (t.expires && *t.expires <= std::time(nullptr))
        throw std::runtime_error("these thresholds have expired; solve again");
    return t;
}

/// All of the text as a number, or false.
template <class Number>
bool read(std::string_view text, Number& out) {
    const auto end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, out);
    return got.ec == std::errc() && got.ptr == end;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s thresholds.json < rows.csv\n", argv[0]);
        return 2;
    }
    std::string line;
    std::size_t row = 0;
    try {
        const gstar::decider decider(load(argv[1]));
        bool numbered = false;  // are groups numbers here?
        for (const auto& g : decider.set().groups)
            numbered = numbered || g.group.type == gstar::name::kind::integer;
        for (; std::getline(std::cin, line); ++row) {
            const std::size_t comma = line.find(',');
            const std::string_view group =
                comma == std::string::npos
                    ? ""
                    : std::string_view(line).substr(comma + 1);
            double score = 0;
            if (!read(std::string_view(line).substr(0, comma), score))
                throw std::runtime_error("a line is score,group; got '" + line +
                                         "'");
            std::int64_t number = 0;
            double real = 0;
            bool accepted;
            if (decider.set().cuts && read(group, real))
                accepted = decider.one(score, real);
            else if (numbered && read(group, number))
                accepted = decider.one(score, number);
            else
                accepted = decider.one(score, group);
            std::puts(accepted ? "1" : "0");
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "line %zu: %s\n", row + 1, e.what());
        return 1;
    }
    return 0;
}
