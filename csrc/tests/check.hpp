// check.hpp - CHECK(condition): say where it failed and go on; the program fails at its end.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace check {

inline std::atomic<long> failures{0};  ///< of this program, so far

inline void finish() {
    std::fprintf(stderr, "%ld checks failed\n", failures.load());
    std::fflush(nullptr);
    std::_Exit(1);
}

/// A check that failed, `before` times already: in a loop, once says it.
inline void fail(const char* file, int line, const char* text,
                 std::atomic<long>& before) {
    if (failures++ == 0) std::atexit(finish);
    if (before++ == 0) std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

}  // namespace check

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            static std::atomic<long> check_before{0};                  \
            check::fail(__FILE__, __LINE__, #condition, check_before); \
        }                                                              \
    } while (0)

/// Whether `run` throws an exception of this type.
template <class Exception, class Run>
bool throws(Run run) {
    try {
        run();
    } catch (const Exception&) {
        return true;
    }
    return false;
}
