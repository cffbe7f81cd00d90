// check.hpp - CHECK(condition): say where it failed, and fail.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                        \
        }                                                                        \
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
