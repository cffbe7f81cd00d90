// count.cpp - a worker that counts rows and writes a sketch for Python to merge.
//
//     count part.sketch < rows.csv           (score,label,group; an empty label is "not known")
#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gstar/sketch_io.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s out.sketch < rows.csv\n", argv[0]);
        return 2;
    }
    std::string line;
    std::size_t row = 0;
    try {
        gstar::sketch_options options;
        options.at = gstar::no_window(4096);
        gstar::sketch sketch(options);
        for (; std::getline(std::cin, line); ++row) {
            const std::size_t first = line.find(',');
            const std::size_t second = line.find(',', first + 1);
            double score = 0;
            const auto end = line.data() + (first == std::string::npos ? 0 : first);
            const auto got = std::from_chars(line.data(), end, score);
            if (second == std::string::npos || got.ec != std::errc() ||
                got.ptr != end)
                throw std::invalid_argument("a line is score,label,group; got '" +
                                            line + "'");
            const std::string_view label =
                std::string_view(line).substr(first + 1, second - first - 1);
            if (label != "0" && label != "1" && !label.empty())
                gstar::refuse_label(std::string(label), -1);
            sketch.update_one(score,
                              label.empty()  ? 2
                              : label == "1" ? 1
                                             : 0,
                              gstar::name::of_text(line.substr(second + 1)));
        }
        const std::vector<std::uint8_t> bytes = gstar::to_bytes(sketch);
        std::ofstream file(argv[1], std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        if (!file.flush())
            throw std::runtime_error(std::string("cannot write ") + argv[1]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "line %zu: %s\n", row + 1, e.what());
        return 1;
    }
    return 0;
}
