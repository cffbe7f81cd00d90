// factorize.hpp - number the distinct records of a column.
#pragma once

#include <cstddef>  // size_t
#include <cstdint>
#include <cstring>  // memcmp
#include <string>
#include <unordered_map>
#include <vector>

namespace gstar {

/// Give equal records of `width` bytes equal numbers, in order of appearance,
/// and return the row each number appeared at first.
///
/// Cost: a comparison with one of the last few records seen, mostly; columns
/// of group names have few.
inline std::vector<std::int64_t> factorize(const char* records, std::size_t n,
                                           std::size_t width, std::int32_t* codes) {
    constexpr std::size_t n_recent = 8;
    std::vector<std::int64_t> firsts;
    std::unordered_map<std::string, std::int32_t> numbers;
    const char* recent[n_recent] = {};
    std::int32_t recent_code[n_recent] = {};
    std::size_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const char* record = records + i * width;
        std::size_t j = 0;
        while (j < n_recent &&
               (recent[j] == nullptr || std::memcmp(recent[j], record, width) != 0))
            ++j;
        if (j < n_recent) {
            codes[i] = recent_code[j];
            continue;
        }
        const auto found = numbers.emplace(
            std::string(record, width), static_cast<std::int32_t>(firsts.size()));
        if (found.second) firsts.push_back(static_cast<std::int64_t>(i));
        codes[i] = found.first->second;
        recent[next] = record;
        recent_code[next] = codes[i];
        next = (next + 1) % n_recent;
    }
    return firsts;
}

}  // namespace gstar
