// dispatch.hpp - which kernel this CPU gets, decided once.
//
// One binary carries every kernel; none of it is compiled for one CPU only.
#pragma once

#include <atomic>

#if defined(__GNUC__) || defined(__clang__)
#define GSTAR_HAS_FOUR 1
/// The compiler may not read x from memory a second time: the caller's array may
/// have changed since, and what was checked must be what is used. A macro, since
/// a function would lose the caller's target registers.
#if defined(__SSE2__)
#define GSTAR_KEEP_READ(x) __asm__ volatile("" : "+x"(x))
#elif defined(__ARM_NEON)
#define GSTAR_KEEP_READ(x) __asm__ volatile("" : "+w"(x))
#else
#define GSTAR_KEEP_READ(x) __asm__ volatile("" : "+m"(x))
#endif
#else
#define GSTAR_HAS_FOUR 0
#endif

#if GSTAR_HAS_FOUR && (defined(__x86_64__) || defined(_M_X64))
#include <cpuid.h>
#define GSTAR_HAS_AVX2 1
#define GSTAR_AVX2 __attribute__((target("avx2")))
#define GSTAR_AVX512 \
    __attribute__((target("avx2,avx512f,avx512dq,avx512bw,avx512vl")))
#else
#define GSTAR_HAS_AVX2 0
#endif

namespace gstar {

/// Ask for memory we shall read soon; an address beyond the end does no harm.
/// Blocks alternate between columns, which hides the streams from the CPU.
inline void prefetch(const void* address) noexcept {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

/// In rising order: a CPU that has one has those before it.
enum class kernel { generic, four, avx2, avx512 };
constexpr kernel all_kernels[] = {kernel::generic, kernel::four, kernel::avx2,
                                  kernel::avx512};

inline kernel best_kernel() noexcept {
#if GSTAR_HAS_AVX2
    // By hand: clang-cl links no library for __builtin_cpu_supports.
    unsigned a = 0, b = 0, c = 0, d = 0, saved = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0)
        return kernel::four;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));  // by the system
    constexpr unsigned all512 =
        bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    if ((saved & 6) != 6 || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 ||
        (b & bit_AVX2) == 0)
        return kernel::four;
    return (saved & 0xE6) == 0xE6 && (b & all512) == all512 ? kernel::avx512
                                                            : kernel::avx2;
#else
    return GSTAR_HAS_FOUR ? kernel::four : kernel::generic;
#endif
}

namespace detail {
inline std::atomic<kernel>& kernel_in_use() noexcept {
    static std::atomic<kernel> chosen{best_kernel()};
    return chosen;
}
}  // namespace detail

inline kernel active_kernel() noexcept {
    return detail::kernel_in_use().load(std::memory_order_relaxed);
}

/// Choose a kernel (tests force each one); false if this CPU lacks it.
inline bool use_kernel(kernel k) noexcept {
    if (k > best_kernel()) return false;
    detail::kernel_in_use().store(k, std::memory_order_relaxed);
    return true;
}

inline const char* name_of(kernel k) noexcept {
    constexpr const char* names[] = {"generic", "four", "avx2", "avx512"};
    return names[static_cast<int>(k)];
}

}  // namespace gstar
