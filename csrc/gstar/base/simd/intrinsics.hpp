// intrinsics.hpp - the compiler's own names for instructions.
#pragma once

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#if defined(__GNUC__) && !defined(__clang__)
// GCC's header has variables that are meant to be undefined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
