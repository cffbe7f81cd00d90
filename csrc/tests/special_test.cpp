// special_test.cpp - values against mpmath (40 digits), inverses against the cdf.
#include "gstar/density/special.hpp"

#include <cmath>

#include "check.hpp"

using namespace gstar;

namespace {

bool close(double got, double want, double relative = 1e-12) {
    return std::fabs(got - want) <= relative * std::fabs(want);
}

}  // namespace

int main() {
    {  // the normal cdf and pdf are right down to the smallest normal numbers
        const double table[][3] = {
            {-37.5, 4.6053530095819548e-308, 1.7282337322841052e-306},
            {-12.25, 8.3997960636334177e-35, 1.035743509620835e-33},
            {-3.0, 0.0013498980316300945, 0.0044318484119380072},
            {-0.5, 0.3085375387259869, 0.35206532676429948},
            {2.0, 0.97724986805182079, 0.053990966513188052}};
        for (const auto& row : table) {
            CHECK(close(normal_cdf(row[0]), row[1]));
            CHECK(close(normal_pdf(row[0]), row[2]));
        }
    }
    {  // so are those of Student's t, for few and for many degrees of freedom
        const double table[][4] = {
            {0.5, -10000000000.0, 3.207009754142229e-6, 1.6035048770711145e-16},
            {1.0, -3.0, 0.10241638234956673, 0.031830988618379067},
            {2.235, -0.25, 0.41185998896245923, 0.3422268161958698},
            {2.235, -1000000.0, 2.287532711719058e-14, 5.1126356106833657e-20},
            {30.0, -8.0, 3.1329112378503795e-9, 8.1131467552180151e-9},
            {10000.0, -5.0, 2.9151633068313236e-7, 1.5081708994681577e-6}};
        for (const auto& row : table) {
            CHECK(close(student_t_cdf(row[0], row[1]), row[2]));
            CHECK(close(student_t_pdf(row[0], row[1]), row[3]));
            CHECK(close(student_t_cdf(row[0], -row[1]), 1.0 - row[2]));
        }
    }
    {  // both tails of the gamma distribution are computed, not one from the other
        const double table[][5] = {
            {0.5, 1e-12, 1.1283791670951364e-6, 0.9999988716208329,
             564189.5835471921},
            {1.0, 30.0, 0.99999999999990642, 9.3576229688401746e-14,
             9.3576229688401746e-14},
            {3.25, 0.125, 0.00012742781302012607, 0.99987257218697987,
             0.0032162300415581105},
            {3.25, 80.0, 1.0, 1.3938382852294811e-31, 1.3551279524460425e-31},
            {150.0, 100.0, 1.88421046603867e-6, 0.99999811578953396,
             9.766740703179514e-7},
            {150.0, 400.0, 1.0, 4.0711477635616176e-47, 2.560612107703056e-47},
            {10000.0, 11000.0, 1.0, 1.6928531496469328e-22, 1.555548085021349e-23}};
        for (const auto& row : table) {
            const tails t = gamma_tails(row[0], row[1]);
            CHECK(close(t.lower, row[2]));
            CHECK(close(t.upper, row[3]));
            CHECK(close(gamma_pdf(row[0], row[1]), row[4]));
        }
    }
    {  // the pieces that fits differentiate
        const double ratio[][4] = {
            {0.05, -2.4888483449406048, 18.761885740657695, -397.33151808105916},
            {1.1, -0.062719324436916011, 0.549802393184553, -0.57486725766817882},
            {7.0, 0.95511302474863196, 0.073973149147619649, -0.010929281262633748},
            {500000.0, 6.5611814387021644, 1.0000005e-6, -2.000002e-12}};
        for (const auto& row : ratio) {
            const gamma_ratio r = log_gamma_half_ratio(row[0]);
            CHECK(close(r.value, row[1]));
            CHECK(close(r.slope, row[2]));
            CHECK(close(r.curvature, row[3]));
        }
        const double difference[][3] = {
            {0.05, 17.502112717745878, -381.53235734211508},
            {1.0, 0.57721566490153286, -0.64493406684822644},
            {7.5, 0.068145536296177969, -0.0092825633633704664},
            {1000000.0, 5.0000008333333333e-7, -5.0000016666666667e-13}};
        for (const auto& row : difference) {
            const value_slope d = log_minus_digamma(row[0]);
            CHECK(close(d.value, row[1]));
            CHECK(close(d.slope, row[2]));
        }
    }
    {  // inverses undo the cdf, deep in both tails
        for (const double p :
             {1e-300, 1e-30, 1e-6, 0.02, 0.3, 0.5, 0.8, 1 - 1e-12}) {
            CHECK(close(normal_cdf(normal_quantile(p)), p, 1e-11));
            for (const double df : {1.0, 2.235, 17.0, 1e5})
                CHECK(
                    close(student_t_cdf(df, student_t_quantile(df, p)), p, 1e-11));
            for (const double a : {1.0, 1.7, 4.5, 300.0})
                CHECK(close(gamma_tails(a, gamma_quantile(a, p)).lower, p, 1e-11));
        }
        CHECK(normal_quantile(0.0) == -infinity &&
              normal_quantile(1.0) == infinity);
        CHECK(student_t_quantile(3.0, 0.5) == 0.0);
        CHECK(student_t_quantile(0.1, 1e-300) == -infinity);
        CHECK(gamma_quantile(2.0, 0.0) == 0.0 &&
              gamma_quantile(2.0, 1.0) == infinity);
    }
    {  // the ends of the number line
        CHECK(student_t_cdf(2.0, -infinity) == 0.0);
        CHECK(student_t_cdf(2.0, infinity) == 1.0);
        CHECK(student_t_cdf(2.0, 0.0) == 0.5);
        CHECK(student_t_pdf(2.0, 1e300) >= 0.0);
        CHECK(gamma_tails(2.0, -1.0).lower == 0.0 &&
              gamma_tails(2.0, infinity).lower == 1.0);
        CHECK(gamma_pdf(1.0, 0.0) == 1.0 && gamma_pdf(2.0, 0.0) == 0.0);
        CHECK(gamma_pdf(0.5, 0.0) == infinity && gamma_pdf(2.0, -1.0) == 0.0);
    }
}
