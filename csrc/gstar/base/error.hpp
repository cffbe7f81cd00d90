// error.hpp - builders for the messages the core throws.
//
// The words are those of the Python face, so that a user reads the same
// sentence whichever backend counted.
#pragma once

#include <charconv>   // to_chars
#include <cstdint>    // int64_t
#include <cstdio>     // snprintf
#include <stdexcept>  // invalid_argument, overflow_error
#include <string>

namespace gstar {

/// Thrown where going on would need more memory than the user allowed.
struct memory_limit_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Thrown where a value is of the wrong kind, or missing.
struct type_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void refuse_missing_group(const std::string& where) {
    throw type_error("groups has a missing value" + where +
                     "; drop such rows or give them a group of their own");
}

/// Shortest text that reads back as the same double, as Python prints it.
inline std::string text_of(double value) {
    if (value != value) return "nan";
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
    std::string text(buffer, end.ptr);
    if (text.find_first_of(".ein") == std::string::npos) text += ".0";
    return text;
}

/// " at row 7", or nothing for a row that came alone (row < 0).
inline std::string at_row(std::int64_t row) {
    return row < 0 ? std::string() : " at row " + std::to_string(row);
}

[[noreturn]] inline void refuse_nan(std::int64_t row) {
    throw std::invalid_argument("scores has NaN" + at_row(row) +
                                "; drop such rows or pass nan=\"skip\"");
}

[[noreturn]] inline void refuse_huge(const std::string& score, std::int64_t row) {
    throw std::invalid_argument("scores has " + score + at_row(row) +
                                "; finite scores must lie within 2**1000");
}
[[noreturn]] inline void refuse_huge(double score, std::int64_t row) {
    refuse_huge(text_of(score), row);
}

[[noreturn]] inline void refuse_label(const std::string& label, std::int64_t row) {
    throw std::invalid_argument(
        "labels must be 0 or 1, got " + label + at_row(row) +
        (label == "-1" ? "; for -1/+1 labels pass labels > 0" : ""));
}

[[noreturn]] inline void refuse_weight(const std::string& weight,
                                       std::int64_t row) {
    throw std::invalid_argument("weights must be finite and not negative, got " +
                                weight + at_row(row));
}

[[noreturn]] inline void refuse_overflow() {
    throw std::overflow_error(
        "the sketch would hold 2**63 rows or more; nothing was counted");
}

[[noreturn]] inline void refuse_memory(std::uint64_t groups, std::uint64_t bins,
                                       double need, double limit) {
    char buffer[200];
    std::snprintf(buffer, sizeof buffer,
                  "%llu groups of %llu bins need %.1f GiB; memory_limit is %.1f "
                  "GiB: use fewer bins or groups, or pass a larger memory_limit",
                  static_cast<unsigned long long>(groups),
                  static_cast<unsigned long long>(bins), need / (1 << 30),
                  limit / (1 << 30));
    throw memory_limit_error(buffer);
}

}  // namespace gstar
