// special.hpp - normal, gamma and Student-t functions and their inverses.
//
// Every function keeps a relative error below 1e-11 down to the smallest normal
// number (Student's t up to 1e5 degrees of freedom, gamma up to shape 1e6), in both
// tails that can be small: a tail is summed for itself and never
// taken from 1. The trick is always the same: write the leading factor so that
// nothing large is subtracted from something large (Loader 2000, "Fast and accurate
// computation of binomial probabilities"), then multiply it with a series or a
// continued fraction of positive, well-behaved terms.
#pragma once

#include <algorithm>  // std::max
#include <cmath>      // exp, log, log1p, erfc
#include <initializer_list>
#include <limits>  // infinity, epsilon

#include "gstar/base/deadline.hpp"  // infinity

namespace gstar {

inline constexpr double pi = 3.14159265358979323846;
inline constexpr double sqrt_half = 0.70710678118654752440;
inline constexpr double inv_sqrt_2pi = 0.39894228040143267794;

/// Polynomial in x, the highest power first.
inline double horner(double x,
                     std::initializer_list<double> coefficients) noexcept {
    double sum = 0.0;
    for (const double c : coefficients) sum = sum * x + c;
    return sum;
}

// ---- normal

inline double normal_pdf(double z) noexcept {
    return inv_sqrt_2pi * std::exp(-0.5 * z * z);
}

inline double normal_cdf(double z) noexcept {
    return 0.5 * std::erfc(-z * sqrt_half);
}

/// The z with normal_cdf(z) = p; -inf at 0 and +inf at 1.
///
/// Acklam's rational approximation (relative error 1e-9), then one step of Halley's
/// method.
inline double normal_quantile(double p) noexcept {
    if (!(p > 0.0)) return -infinity;
    if (!(p < 1.0)) return infinity;
    if (p > 0.5) return -normal_quantile(1.0 - p);
    double z;
    if (p < 0.02425) {
        const double q = std::sqrt(-2.0 * std::log(p));
        z = horner(q, {-7.784894002430293e-03, -3.223964580411365e-01,
                       -2.400758277161838e+00, -2.549732539343734e+00,
                       4.374664141464968e+00, 2.938163982698783e+00}) /
            horner(q, {7.784695709041462e-03, 3.224671290700398e-01,
                       2.445134137142996e+00, 3.754408661907416e+00, 1.0});
    } else {
        const double q = p - 0.5, r = q * q;
        z = q *
            horner(r, {-3.969683028665376e+01, 2.209460984245205e+02,
                       -2.759285104469687e+02, 1.383577518672690e+02,
                       -3.066479806614716e+01, 2.506628277459239e+00}) /
            horner(r, {-5.447609879822406e+01, 1.615858368580409e+02,
                       -1.556989798598866e+02, 6.680131188771972e+01,
                       -1.328068155288572e+01, 1.0});
    }
    const double density = normal_pdf(z);
    if (density < 1e-300) return z;  // the correction would divide subnormals
    const double u = (normal_cdf(z) - p) / density;
    return z - u / (1.0 + 0.5 * z * u);
}

// ---- pieces of the gamma function

/// log Gamma(a + 1) minus Stirling's (a + 1/2) log a - a + log(2 pi) / 2, for a >
/// 0.
inline double stirling_error(double a) noexcept {
    // log Gamma(a + 1) - log Gamma(b + 1), where b = a + n is large.
    double shift = 0.0;
    double b = a;
    if (b < 15.0) {
        double product = 1.0;
        while (b < 15.0) product *= (b += 1.0);
        shift = (b + 0.5) * std::log(b) - b - (a + 0.5) * std::log(a) + a -
                std::log(product);
    }
    const double r = -1.0 / (b * b);
    return shift + horner(r, {691.0 / 360360, 1.0 / 1188, 1.0 / 1680, 1.0 / 1260,
                              1.0 / 360, 1.0 / 12}) /
                       b;
}

/// log Gamma(a), for a > 0.
inline double log_gamma(double a) noexcept {
    return stirling_error(a) + (a - 0.5) * std::log(a) - a - std::log(inv_sqrt_2pi);
}

/// log a - digamma(a) and its derivative in a, for a > 0. Falls from +inf to 0.
struct value_slope {
    double value, slope;
};
inline value_slope log_minus_digamma(double a) noexcept {
    value_slope sum{0.0, 0.0};
    double b = a;
    while (b < 15.0) {  // digamma(b) = digamma(b + 1) - 1 / b
        sum.value += 1.0 / b - std::log1p(1.0 / b);
        sum.slope += 1.0 / (b * (b + 1.0)) - 1.0 / (b * b);
        b += 1.0;
    }
    const double r = -1.0 / (b * b);
    sum.value += 0.5 / b - r * horner(r, {691.0 / 32760, 1.0 / 132, 1.0 / 240,
                                          1.0 / 252, 1.0 / 120, 1.0 / 12});
    sum.slope += r * (0.5 + horner(r, {691.0 / 2730, 5.0 / 66, 1.0 / 30, 1.0 / 42,
                                       1.0 / 30, 1.0 / 6}) /
                                b);
    return sum;
}

/// log Gamma(x + 1/2) - log Gamma(x) with two derivatives, for x > 0: the constant
/// of the Student-t density.
struct gamma_ratio {
    double value, slope, curvature;
};
inline gamma_ratio log_gamma_half_ratio(double x) noexcept {
    gamma_ratio sum{0.0, 0.0, 0.0};
    double product = 1.0;
    while (x < 15.0) {
        const double y = x + 0.5;
        product *= x / y;
        sum.slope += 0.5 / (x * y);
        sum.curvature -= 0.5 * (x + y) / (x * x * y * y);
        x += 1.0;
    }
    const double r = -1.0 / (x * x);
    sum.value += 0.5 * std::log(x) + std::log(product) -
                 horner(r, {691.0 / 180224, 31.0 / 18432, 17.0 / 14336, 1.0 / 640,
                            1.0 / 192, 1.0 / 8}) /
                     x;
    sum.slope +=
        0.5 / x - r * horner(r, {7601.0 / 180224, 279.0 / 18432, 119.0 / 14336,
                                 5.0 / 640, 3.0 / 192, 1.0 / 8});
    sum.curvature +=
        r * (0.5 + horner(r, {91212.0 / 180224, 2790.0 / 18432, 952.0 / 14336,
                              30.0 / 640, 12.0 / 192, 2.0 / 8}) /
                       x);
    return sum;
}

/// u - log(1 + u), without cancellation near 0, for u > -1.
inline double minus_log1p(double u) noexcept {
    if (std::fabs(u) > 0.25) return u - std::log1p(u);
    const double v = u / (2.0 + u), w = v * v;  // log(1 + u) = 2 atanh(v)
    double sum = 0.0, power = w;
    for (int k = 3; k < 41; k += 2) {  // v^2 is at most 1 / 49
        sum += power / k;
        power *= w;
    }
    return v * (u - 2.0 * sum);
}

/// x^a exp(-x) / Gamma(a + 1), for a > 0 and x >= 0.
inline double gamma_power_term(double a, double x) noexcept {
    if (x <= 0.0) return 0.0;
    const double u = (x - a) / a;
    // Far below a, 1 + u is lost in rounding: use the logarithm itself.
    const double deviance = u < -0.75 ? u - std::log(x / a) : minus_log1p(u);
    return std::exp(-a * deviance - stirling_error(a)) * inv_sqrt_2pi /
           std::sqrt(a);
}

// ---- gamma distribution, scale 1

/// Lower and upper tail, P + Q = 1, each to full relative accuracy.
struct tails {
    double lower, upper;
};

inline tails gamma_tails(double a, double x) noexcept {
    if (!(x > 0.0)) return {0.0, 1.0};
    if (x == infinity) return {1.0, 0.0};
    constexpr double eps = std::numeric_limits<double>::epsilon();
    const double lead = gamma_power_term(a, x);
    // Series of positive terms; about 6 sqrt(a) of them when x is near a.
    if (x < a + 1.0) {
        double term = 1.0, sum = 1.0;
        for (double b = a + 1.0; term > sum * (0.25 * eps); b += 1.0)
            sum += (term *= x / b);
        const double lower = lead * sum;
        return {lower, 1.0 - lower};
    }
    // Legendre's continued fraction, modified Lentz; its terms settle within a few
    // sqrt(a) steps.
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
    for (int i = 1; i < 10'000'000; ++i) {
        const double n = -i * (i - a);
        b += 2.0;
        d = 1.0 / (b + n * d);
        c = b + n / c;
        const double step = c * d;
        h *= step;
        if (std::fabs(step - 1.0) < eps) break;
    }
    const double upper = lead * a * h;
    return {1.0 - upper, upper};
}

inline double gamma_pdf(double a, double x) noexcept {
    if (x < 0.0 || x == infinity) return 0.0;
    if (x == 0.0) return a < 1.0 ? infinity : (a > 1.0 ? 0.0 : 1.0);
    return gamma_power_term(a, x) * (a / x);
}

// ---- Student t

/// Continued fraction of the incomplete beta function (modified Lentz); needs x <
/// (a + 1) / (a + b + 2).
inline double beta_fraction(double a, double b, double x) noexcept {
    constexpr double eps = std::numeric_limits<double>::epsilon(), tiny = 1e-300;
    const auto away_from_zero = [](double v) {
        return std::fabs(v) < tiny ? tiny : v;
    };
    double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), h = d;
    for (int i = 1; i < 1'000'000; ++i) {
        const double m = i;
        const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        h *= c * d;
        const double odd =
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        const double step = c * d;
        h *= step;
        if (std::fabs(step - 1.0) < eps) break;
    }
    return h;
}

/// log(1 + t^2 / df), also where the square would overflow.
inline double log1p_square(double t, double df) noexcept {
    const double u = std::fabs(t) / std::sqrt(df);
    return u > 1e8 ? 2.0 * std::log(u) : std::log1p(u * u);
}

inline double student_t_pdf(double df, double t) noexcept {
    if (std::isinf(t)) return 0.0;
    const double constant =
        log_gamma_half_ratio(0.5 * df).value - 0.5 * std::log(pi * df);
    return std::exp(constant - 0.5 * (df + 1.0) * log1p_square(t, df));
}

/// P(T > |t|), the smaller tail.
inline double student_t_tail(double df, double t) noexcept {
    t = std::fabs(t);
    if (t == 0.0) return 0.5;
    if (t == infinity) return 0.0;
    const double a = 0.5 * df;
    const double u = t / std::sqrt(df);
    const double outer = u > 1e8 ? 1.0 : u / std::sqrt(1.0 + u * u);  // sqrt(1 - x)
    // df / (df + t^2).
    const double x = u > 1e8 ? 1.0 / u / u : 1.0 / (1.0 + u * u);
    const double y = outer * outer;  // 1 - x
    const double lead =
        std::exp(log_gamma_half_ratio(a).value - a * log1p_square(t, df)) /
        std::sqrt(pi) * outer;
    if (y < 1.5 / (a + 2.5)) return 0.5 - lead * beta_fraction(0.5, a, y);
    return 0.5 * lead / a * beta_fraction(a, 0.5, x);
}

inline double student_t_cdf(double df, double t) noexcept {
    const double tail = student_t_tail(df, t);
    return t < 0.0 ? tail : 1.0 - tail;
}

// ---- inverses

/// Solve log_tail(w).value = target for a monotone log_tail on [low, high], from a
/// start: Newton, bisecting when it leaves the bracket.
///
/// On a logarithmic scale both tails of both distributions are close to straight
/// lines, so Newton needs few steps.
template <class LogTail>
double invert_log_tail(const LogTail& log_tail, double target, double w, double low,
                       double high) noexcept {
    const bool rising = log_tail(high).value > log_tail(low).value;
    for (int i = 0; i < 200; ++i) {
        const value_slope at = log_tail(w);
        const double miss = at.value - target;
        if (miss == 0.0) return w;
        ((miss > 0.0) == rising ? high : low) = w;
        double next = w - miss / at.slope;
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (std::fabs(next - w) <= 1e-15 * (1.0 + std::fabs(w))) return next;
        w = next;
    }
    return w;
}

/// The t with student_t_cdf(df, t) = p.
inline double student_t_quantile(double df, double p) noexcept {
    if (!(p > 0.0)) return -infinity;
    if (!(p < 1.0)) return infinity;
    if (p == 0.5) return 0.0;
    if (p > 0.5) return -student_t_quantile(df, 1.0 - p);
    const auto log_tail = [df](double w) noexcept {
        const double t = std::exp(w), tail = student_t_tail(df, t);
        return value_slope{std::log(tail), -t * student_t_pdf(df, t) / tail};
    };
    const double start = std::log(std::max(-normal_quantile(p), 1e-300));
    const double w = invert_log_tail(log_tail, std::log(p), start, -740.0, 700.0);
    // Few degrees of freedom reach beyond the largest number.
    return w > 699.9 ? -infinity : -std::exp(w);
}

/// The x below which the share p lies.
inline double gamma_quantile(double a, double p) noexcept {
    if (!(p > 0.0)) return 0.0;
    if (!(p < 1.0)) return infinity;
    const bool below = p < 0.5;
    const auto log_tail = [a, below](double w) noexcept {
        const double x = std::exp(w);
        const tails t = gamma_tails(a, x);
        const double flow = x * gamma_pdf(a, x);
        return below ? value_slope{std::log(t.lower), flow / t.lower}
                     : value_slope{std::log(t.upper), -flow / t.upper};
    };
    // Wilson and Hilferty: the cube root is nearly normal.
    const double root =
        1.0 - 1.0 / (9.0 * a) + normal_quantile(p) / (3.0 * std::sqrt(a));
    // Far down, the first term of the series is all there is: x^a = p Gamma(a + 1).
    const double log_gamma_next = log_gamma(a) + std::log(a);
    const double start = root > 0.1 ? std::log(a * root * root * root)
                                    : (std::log(p) + log_gamma_next) / a;
    return std::exp(invert_log_tail(log_tail, below ? std::log(p) : std::log1p(-p),
                                    start, -740.0, 700.0));
}

}  // namespace gstar
