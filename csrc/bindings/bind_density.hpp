// bind_density.hpp - a density as Python holds it: evaluated exactly for users,
// through its table for solvers.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "gstar/density.hpp"

namespace gstar {

/// A density and, once somebody needs it, its table for thresholds in [low, high].
class density_handle {
public:
    density_handle(density source, double low, double high)
        : source_(std::move(source)), low_(low), high_(high) {}

    const density& source() const noexcept { return source_; }

    /// The prepared table; built by the first caller, then shared by all threads.
    const density_table& table() const {
        std::call_once(once_, [this] {
            table_ = std::make_unique<density_table>(source_, low_, high_);
        });
        return *table_;
    }

    /// What a user sees: families to full relative accuracy, kernel densities from
    /// the table (1e-12).
    point at(double x) const { return tabulated() ? table().at(x) : source_.at(x); }
    double quantile(double p) const {
        return tabulated() ? table().quantile(p) : source_.quantile(p);
    }
    bool tabulated() const noexcept {
        return std::holds_alternative<kde>(source_.shape());
    }

private:
    density source_;
    double low_, high_;
    mutable std::once_flag once_;
    mutable std::unique_ptr<density_table> table_;
};

}  // namespace gstar
