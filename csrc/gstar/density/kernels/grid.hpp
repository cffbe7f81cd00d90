// grid.hpp - the two loops that build a kernel density on a grid:
// spread points onto it, convolve it.
//
// Each loop is written once, in blocks of lanes that a compiler turns into vector
// code, and compiled twice: for the baseline processor and for AVX2. Lanes never
// mix and nothing is fused, so both give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>  // memcpy: a load that needs no alignment

#include "gstar/base/simd/dispatch.hpp"

#if GSTAR_HAS_AVX2
#define GSTAR_INLINE inline __attribute__((always_inline))
#else
#define GSTAR_INLINE inline
#endif

namespace gstar::kernels {

// Two halves on a processor without AVX.
#if defined(__GNUC__)
typedef double pack __attribute__((vector_size(32)));
#else
struct pack {
    double lane[4];
    friend pack operator*(pack a, double b) noexcept {
        for (double& x : a.lane) x *= b;
        return a;
    }
    pack& operator+=(const pack& b) noexcept {
        for (int l = 0; l < 4; ++l) lane[l] += b.lane[l];
        return *this;
    }
};
#endif

inline constexpr std::size_t lanes = 8;  ///< points or nodes treated at once
inline constexpr int stencil = 16;       ///< grid nodes that share one point
inline constexpr int kde_orders = 4;     ///< cdf, pdf, slope, curvature
inline constexpr int kde_reach =
    45;  ///< nodes on each side that one node's kernel touches: 7.5 bandwidths
inline constexpr int kde_taps = 2 * kde_reach + 1;

using tap_table = std::array<std::array<double, kde_orders>, kde_taps>;

/// Share each point among the 16 nodes around it, by the weights of Lagrange
/// interpolation.
///
/// `positions` are in units of the grid. Summing a smooth kernel over the nodes
/// then equals summing it over the points, up to the interpolation error of the
/// kernel: 5e-13 at six nodes for each bandwidth.
GSTAR_INLINE void spread_points(const double* positions, const double* weights,
                                std::size_t n, double* grid) {
    constexpr int last = stencil - 1;
    double scale[stencil];  // 1 / product over k != j of (j - k)
    for (int j = 0; j < stencil; ++j) {
        double product = 1.0;
        for (int k = 0; k < stencil; ++k)
            if (k != j) product *= j - k;
        scale[j] = 1.0 / product;
    }
    for (std::size_t i = 0; i < n; i += lanes) {
        const std::size_t m = n - i < lanes ? n - i : lanes;
        std::ptrdiff_t base[lanes];
        double t[lanes] = {}, w[lanes] = {}, before[stencil][lanes], after[lanes];
        for (std::size_t l = 0; l < m; ++l) {
            base[l] =
                static_cast<std::ptrdiff_t>(positions[i + l]) - (stencil / 2 - 1);
            t[l] = positions[i + l] - static_cast<double>(base[l]);
            w[l] = weights[i + l];
        }
        for (std::size_t l = 0; l < lanes; ++l) before[0][l] = w[l], after[l] = 1.0;
        for (int j = 0; j < last; ++j)
            for (std::size_t l = 0; l < lanes; ++l)
                before[j + 1][l] = before[j][l] * (t[l] - j);
        for (int j = last; j >= 0; --j)
            for (std::size_t l = 0; l < lanes; ++l) {
                before[j][l] *= after[l] * scale[j];
                after[l] *= t[l] - j;
            }
        for (std::size_t l = 0; l < m; ++l)
            for (int j = 0; j < stencil; ++j) grid[base[l] + j] += before[j][l];
    }
}

/// out[k][i] = sum over m of taps[m][k] * grid[i + m], for i in [0, n); n is a
/// multiple of `lanes`.
GSTAR_INLINE void convolve(const double* grid, const tap_table& taps, std::size_t n,
                           double* const* out) {
    for (std::size_t i = 0; i < n; i += lanes) {
        pack sum[kde_orders][2] = {};
        for (std::size_t m = 0; m < kde_taps; ++m) {
            pack left, right;
            std::memcpy(&left, grid + i + m, sizeof left);
            std::memcpy(&right, grid + i + m + lanes / 2, sizeof right);
            for (int k = 0; k < kde_orders; ++k) {
                sum[k][0] += left * taps[m][static_cast<std::size_t>(k)];
                sum[k][1] += right * taps[m][static_cast<std::size_t>(k)];
            }
        }
        for (int k = 0; k < kde_orders; ++k)
            std::memcpy(out[k] + i, sum[k], sizeof sum[k]);
    }
}

/// Both loops, for the baseline processor.
inline void spread_and_convolve(const double* positions, const double* weights,
                                std::size_t n, double* grid, const tap_table& taps,
                                std::size_t nodes, double* const* out) {
    spread_points(positions, weights, n, grid + kde_reach);
    convolve(grid, taps, nodes, out);
}

#if GSTAR_HAS_AVX2
GSTAR_AVX2 inline void spread_and_convolve_avx2(
    const double* positions, const double* weights, std::size_t n, double* grid,
    const tap_table& taps, std::size_t nodes, double* const* out) {
    spread_points(positions, weights, n, grid + kde_reach);
    convolve(grid, taps, nodes, out);
}
#endif

}  // namespace gstar::kernels

#undef GSTAR_INLINE
