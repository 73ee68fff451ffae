// The normal distribution and lognormal lengths against values of 20 digits and against each other.
#include "roofslate/language/normal.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace roofslate::math;

    TEST(Normal, HasSixteenDigitsInItsTailsToo)
    {
        const double cases[][2]{
            {-37, 5.7255712225245768227e-300},
            {-20, 2.7536241186062336951e-89},
            {-6, 9.865876450376981407e-10},
            {-1, 0.15865525393145705141},
            {-0.7, 0.24196365222307301475},
            {-0.3, 0.38208857781104736269},
            {0, 0.5},
            {0.2, 0.57925970943910302304},
            {0.70711, 0.7602509389796533402},
            {1.5, 0.933192798731141934},
            {8.4, 0.99999999999999997768},
            {HUGE_VAL, 1},
            {-HUGE_VAL, 0}};
        for (const auto& [x, share] : cases)
            EXPECT_NEAR(normal_below(x), share, share * (2e-15 + 2e-16 * (x < 0 && x > -99 ? x * x : 0))) << x;
        EXPECT_TRUE(std::isnan(normal_below(NAN)));
    }
    TEST(Normal, IsSmoothWhereItsMethodsMeet)
    {
        for (const double x : {0.70710678118654752, 8.48528137423857})
            for (const double side : {-1.0, 1.0})
            {
                const double below = normal_below(side * x * (1 - 1e-9)), above = normal_below(side * x * (1 + 1e-9));
                EXPECT_NEAR(above - below, side * 2e-9 * x * density_of_normal(x), 3e-16) << side * x;
            }
    }
    TEST(Normal, KnowsSmallSharesOfMany)
    {
        const double cases[][3]{
            {1e-15, 3, 2.999999999999997e-15},
            {1e-4, 1e5, 0.99995462276604103883},
            {0.2, 2.5, 0.42756659776005383772},
            {0.6, 7, 0.9983616},
            {0.999, 0.5, 0.96837722339831620668},
            {1, 3, 1},
            {0, 3, 0}};
        for (const auto& [p, n, share] : cases)
            EXPECT_NEAR(share_of_any(p, n), share, 1e-15 * share) << p << " " << n;
        for (const auto& [x, logarithm] :
             {std::pair{1e-12, 9.999999999995e-13},
              {0.49, 0.39877611995736777296},
              {0.51, 0.41210965082683296076},
              {100.0, 4.6151205168412594509}})
            EXPECT_NEAR(log_of_one_plus(x), logarithm, 4e-16 * logarithm) << x;
    }
    TEST(Lognormal, AddsUp)
    {
        for (const double cv : {0.01, 0.5, 1.0, 4.0})
        {
            const Lognormal x(cv);
            for (const double t : {0.3, 0.99, 1.0, 2.5, 40.0})
            {
                EXPECT_NEAR(x.share_below(t) + x.share_above(t), 1, 1e-15);
                EXPECT_NEAR(x.mean_least(t) + x.mean_excess(t), 1, 3e-15);
                EXPECT_NEAR(x.at(x.deviate(t)), t, 1e-14 * t);
                const double h = 1e-5 * t, above = x.share_above(t);
                EXPECT_NEAR((x.mean_least(t + h) - x.mean_least(t - h)) / (2 * h), above, 1e-7);
                EXPECT_NEAR((x.square_least(t + h) - x.square_least(t - h)) / (2 * h), 2 * t * above, 1e-7 * t);
                const double c = 1e-5 * cv;
                const Lognormal wider(cv + c), narrower(cv - c);
                const double scale = 2 * c, close = 2e-9 / c;
                EXPECT_NEAR((wider.mean_least(t) - narrower.mean_least(t)) / scale, x.mean_least_by_cv(t), close);
                EXPECT_NEAR(
                    (wider.square_least(t) - narrower.square_least(t)) / scale,
                    x.square_least_by_cv(t),
                    close * (1 + t * t));
                EXPECT_NEAR((wider.share_below(t) - narrower.share_below(t)) / scale, x.share_below_by_cv(t), close);
            }
            EXPECT_EQ(x.mean_least(HUGE_VAL), 1);
            EXPECT_EQ(x.square_least(HUGE_VAL), 1 + cv * cv);
        }
        const Lognormal constant(0);
        EXPECT_EQ(constant.share_below(0.999), 0);
        EXPECT_EQ(constant.share_below(1), 1);
        EXPECT_EQ(constant.mean_least(0.25), 0.25);
        EXPECT_EQ(constant.mean_least(3), 1);
        EXPECT_EQ(constant.square_least(0.5), 0.25);
    }
}
