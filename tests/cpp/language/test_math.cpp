// exp, log and pow against a wider type; the rules at the ends of the number line.
#include "support.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace support;

    // Distance in units of the last place of the exact value.
    double ulps(double got, long double exact)
    {
        if (std::isinf(got) || std::isinf(double(exact)))
            return std::isinf(got) && std::isinf(double(exact)) && (got > 0) == (exact > 0) ? 0
                : std::fabs(exact) > 0x1.fffffffffffffp1023L && std::fabs(exact) < 0x1p1024L
                ? 0.5
                : inf;
        const double size = double(std::fabs(exact));
        const int exponent = size == 0 ? -1074 : std::max(std::ilogb(size) - 52, -1074);
        return double(std::fabs((long double)got - exact) / std::scalbn(1.0L, exponent));
    }
    double random_positive(Random& random) // all exponents alike, denormal numbers among them
    {
        const double x = math::from_bits(random() >> 1);
        return x < inf ? x : random_positive(random);
    }

    TEST(Exp, IsWithinOneUlp)
    {
        Random random(1);
        double worst = 0, at = 0;
        const auto check = [&](double x) {
            const double u = ulps(math::exp(x), std::exp((long double)x));
            if (u > worst)
                worst = u, at = x;
        };
        for (int k = 0; k < 400000; ++k)
        {
            check(uniform(random, -745, 709.7827));
            check(uniform(random, -1, 1));
            check(uniform(random, -745.2, -708)); // denormal results
            check(std::ldexp(uniform(random, -1, 1), -below(random, 1000)));
        }
        for (int n = -1074; n < 1024; ++n) // where the reduction changes
            for (const double d : {-1e-13, -1e-15, 0.0, 1e-15, 1e-13})
                check((n + 0.5) * 0.6931471805599453 * (1 + d));
        EXPECT_LE(worst, 1.0) << "at " << at;
    }
    TEST(Log, IsWithinOneUlp)
    {
        Random random(2);
        double worst = 0, at = 0;
        const auto check = [&](double x) {
            const double u = ulps(math::log(x), std::log((long double)x));
            if (u > worst)
                worst = u, at = x;
        };
        for (int k = 0; k < 400000; ++k)
        {
            check(random_positive(random));
            check(uniform(random, 0.5, 2));
            check(1 + std::ldexp(uniform(random, -1, 1), -below(random, 53)));
            check(std::ldexp(uniform(random, 1, 2), -1074 + below(random, 52)));
        }
        EXPECT_LE(worst, 1.0) << "at " << at;
    }
    TEST(Pow, IsWithinTwoUlp)
    {
        Random random(3);
        double worst = 0, at = 0, to = 0;
        const auto check = [&](double a, double b) {
            const double u = ulps(math::pow(a, b), std::pow((long double)a, (long double)b));
            if (u > worst)
                worst = u, at = a, to = b;
        };
        for (int k = 0; k < 300000; ++k)
        {
            const double a = random_positive(random);
            // all results that there are
            check(a, uniform(random, -1, 1) * 745 / std::max(std::fabs(math::log(a)), 1e-3));
            check(uniform(random, 0.5, 2), uniform(random, -1000, 1000));
            check(
                1 + std::ldexp(uniform(random, -1, 1), -below(random, 53)),
                std::ldexp(uniform(random, -1, 1), below(random, 60)));
            check(1.0 - 8.0 / 256, double(below(random, 20000)));
            check(uniform(random, 0, 100), double(below(random, 7) - 3));
            check(a, std::ldexp(uniform(random, -1, 1), -below(random, 300)));
        }
        EXPECT_LE(worst, 2.0) << "at " << at << " to the " << to;
    }
    TEST(Pow, SmallPowersOfWholeNumbersAreNear)
    {
        for (int a = 1; a <= 100; ++a)
        {
            EXPECT_EQ(math::pow(a, 1), a);
            EXPECT_LE(ulps(math::pow(a, 2), (long double)a * a), 1);
        }
        EXPECT_EQ(math::pow(2, 10), 1024);
        EXPECT_EQ(math::pow(2, -1074), 5e-324);
        EXPECT_EQ(math::pow(10, 3), 1000);
    }

    TEST(Exp, AtTheEnds)
    {
        EXPECT_EQ(math::exp(0), 1);
        EXPECT_EQ(math::exp(-0.0), 1);
        EXPECT_EQ(math::exp(inf), inf);
        EXPECT_EQ(math::exp(-inf), 0);
        EXPECT_EQ(math::exp(710), inf);
        EXPECT_EQ(math::exp(DBL_MAX), inf);
        EXPECT_EQ(math::exp(-746), 0);
        EXPECT_EQ(math::exp(-DBL_MAX), 0);
        EXPECT_EQ(math::exp(5e-324), 1);
        EXPECT_LT(math::exp(709.782712893384), inf);
        EXPECT_EQ(math::exp(-745.1), 5e-324);
        EXPECT_TRUE(std::isnan(math::exp(undefined)));
    }
    TEST(Log, AtTheEnds)
    {
        EXPECT_TRUE(same_bits(math::log(1), 0.0));
        EXPECT_EQ(math::log(0.0), -inf);
        EXPECT_EQ(math::log(-0.0), -inf);
        EXPECT_EQ(math::log(inf), inf);
        EXPECT_TRUE(std::isnan(math::log(-1)));
        EXPECT_TRUE(std::isnan(math::log(-5e-324)));
        EXPECT_TRUE(std::isnan(math::log(-inf)));
        EXPECT_TRUE(std::isnan(math::log(undefined)));
        EXPECT_NEAR(math::log(5e-324), -744.4400719213812, 1e-12);
    }
    TEST(Pow, AtTheEnds)
    {
        for (const double x : hard_numbers())
        {
            EXPECT_EQ(math::pow(x, 0.0), 1) << x;
            EXPECT_EQ(math::pow(x, -0.0), 1) << x;
            EXPECT_EQ(math::pow(1.0, x), 1) << x;
            if (x < 0)
            {
                // whole exponents too: formulas take powers of counts and shares
                EXPECT_TRUE(std::isnan(math::pow(x, 2.0))) << x;
                EXPECT_TRUE(std::isnan(math::pow(x, 0.5))) << x;
            }
            if (x > 0)
            {
                EXPECT_EQ(math::pow(0.0, x), 0) << x;
                EXPECT_EQ(math::pow(inf, x), inf) << x;
                EXPECT_EQ(math::pow(inf, -x), 0) << x;
                EXPECT_EQ(math::pow(0.0, -x), inf) << x;
            }
            EXPECT_TRUE(x == 0 || std::isnan(math::pow(undefined, x))) << x;
            EXPECT_TRUE(x == 1 || std::isnan(math::pow(x, undefined))) << x;
        }
        EXPECT_EQ(math::pow(2, inf), inf);
        EXPECT_EQ(math::pow(2, -inf), 0);
        EXPECT_EQ(math::pow(0.5, inf), 0);
        EXPECT_EQ(math::pow(0.5, -inf), inf);
        EXPECT_EQ(math::pow(1 + DBL_EPSILON, DBL_MAX), inf);
        EXPECT_EQ(math::pow(1 - DBL_EPSILON, DBL_MAX), 0);
        EXPECT_EQ(math::pow(DBL_MAX, 2), inf);
        EXPECT_EQ(math::pow(DBL_MAX, -2), 0);
        EXPECT_EQ(math::pow(5e-324, 2), 0);
        EXPECT_EQ(math::pow(5e-324, 1), 5e-324);
        EXPECT_EQ(math::pow(DBL_MAX, 1), DBL_MAX);
    }
    TEST(MaxAndMin, KeepNaNAndTakeTheSecondZero)
    {
        EXPECT_TRUE(
            std::isnan(math::max(undefined, 1)) && std::isnan(math::max(1, undefined))
            && std::isnan(math::min(undefined, 1)) && std::isnan(math::min(1, undefined)));
        EXPECT_TRUE(std::isnan(math::max(undefined, inf)) && std::isnan(math::min(-inf, undefined)));
        EXPECT_TRUE(same_bits(math::max(0.0, -0.0), -0.0) && same_bits(math::max(-0.0, 0.0), 0.0));
        EXPECT_TRUE(same_bits(math::min(0.0, -0.0), -0.0) && same_bits(math::min(-0.0, 0.0), 0.0));
        EXPECT_EQ(math::max(2, 3), 3);
        EXPECT_EQ(math::min(2, 3), 2);
    }
}
