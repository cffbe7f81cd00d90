// cholesky.hpp - small symmetric systems of equations.
#pragma once

#include <cmath>    // sqrt
#include <cstddef>  // size_t

namespace gstar {

/// Solve m x = v by Cholesky, in place of v; false where m, row by row, is not positive
/// definite. Its lower half is spoilt.
template <class Matrix, class Vector>
bool solve_positive(Matrix& m, Vector& v) noexcept {
    const std::size_t n = v.size();
    for (std::size_t j = 0; j < n; ++j) {
        double& pivot = m[j * n + j];
        for (std::size_t k = 0; k < j; ++k) pivot -= m[j * n + k] * m[j * n + k];
        if (!(pivot > 0.0)) return false;
        pivot = std::sqrt(pivot);
        for (std::size_t i = j + 1; i < n; ++i) {
            for (std::size_t k = 0; k < j; ++k)
                m[i * n + j] -= m[i * n + k] * m[j * n + k];
            m[i * n + j] /= pivot;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) v[i] -= m[i * n + k] * v[k];
        v[i] /= m[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) v[i] -= m[k * n + i] * v[k];
        v[i] /= m[i * n + i];
    }
    return true;
}

}  // namespace gstar
