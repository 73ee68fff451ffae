// Chapter 2: how unevenly routed experts load the chips that hold them. Tokens choose some experts more often than
// others, and the fullest chip holds up the rest.
#pragma once
#include "roofslate/quantities/sequences.hpp"
#include <cfloat>
#include <limits>

namespace roofslate::quantities
{
    // Approximate mean of the largest of `draws` standard normal numbers: the quantile that each of them exceeds with
    // probability e^-0.5772/draws. By Wichura's algorithm AS 241 (Applied Statistics 37, 1988).
    struct largest_normal
    {
        static constexpr const char* name = "largest_normal";
        static constexpr const char* latex = "z";
        static constexpr int arity = 1;
        static constexpr std::array<signed char, 3> directions{1};
        static constexpr std::array<double, 3> least{1, 0, 0};
        struct by_draws;
        using partials = list<by_draws>;
        static constexpr Dimension dimension(const Dimension& draws) { return roofslate::count(draws); }

        static double value(double draws)
        {
            if (!(draws >= 1))
                return std::numeric_limits<double>::quiet_NaN();
            if (draws > DBL_MAX)
                return draws;
            const double q = 0.5 - tail(draws);
            if (q <= 0.425)
                return q * ratio(0.180625 - q * q, near_the_middle);
            const double r = sqrt(log(draws) + euler);
            return r <= 5 ? ratio(r - 1.6, in_the_tail) : ratio(r - 5, far_out);
        }

    private:
        static constexpr double euler = 0.5772156649015329;
        static double tail(double draws) { return 0.5614594835668851 / draws; } // e^-euler
        using Coefficients = std::array<std::array<double, 8>, 2>; // of numerator and denominator, lowest power first
        static double ratio(double x, const Coefficients& of)
        {
            double sums[2]{};
            for (int side = 0; side < 2; ++side)
                for (int i = 7; i >= 0; --i)
                    sums[side] = sums[side] * x + of[std::size_t(side)][std::size_t(i)];
            return sums[0] / sums[1];
        }
        static constexpr Coefficients near_the_middle{
            {{3.3871328727963666080e0,
              1.3314166789178437745e+2,
              1.9715909503065514427e+3,
              1.3731693765509461125e+4,
              4.5921953931549871457e+4,
              6.7265770927008700853e+4,
              3.3430575583588128105e+4,
              2.5090809287301226727e+3},
             {1,
              4.2313330701600911252e+1,
              6.8718700749205790830e+2,
              5.3941960214247511077e+3,
              2.1213794301586595867e+4,
              3.9307895800092710610e+4,
              2.8729085735721942674e+4,
              5.2264952788528545610e+3}}};
        static constexpr Coefficients in_the_tail{
            {{1.42343711074968357734e0,
              4.63033784615654529590e0,
              5.76949722146069140550e0,
              3.64784832476320460504e0,
              1.27045825245236838258e0,
              2.41780725177450611770e-1,
              2.27238449892691845833e-2,
              7.74545014278341407640e-4},
             {1,
              2.05319162663775882187e0,
              1.67638483018380384940e0,
              6.89767334985100004550e-1,
              1.48103976427480074590e-1,
              1.51986665636164571966e-2,
              5.47593808499534494600e-4,
              1.05075007164441684324e-9}}};
        static constexpr Coefficients far_out{
            {{6.65790464350110377720e0,
              5.46378491116411436990e0,
              1.78482653991729133580e0,
              2.96560571828504891230e-1,
              2.65321895265761230930e-2,
              1.24266094738807843860e-3,
              2.71155556874348757815e-5,
              2.01033439929228813265e-7},
             {1,
              5.99832206555887937690e-1,
              1.36929880922735805310e-1,
              1.48753612908506148525e-2,
              7.86869131145613259100e-4,
              1.84631831751005468180e-5,
              1.42151175831644588870e-7,
              2.04426310338993978564e-15}}};
    };
    struct largest_normal::by_draws // slope of the tail, divided by the density
    {
        static constexpr const char* name = "largest_normal_by_draws";
        static constexpr const char* latex = "\\partial z/\\partial n";
        static constexpr int arity = 1;
        static double value(double draws)
        {
            const double z = largest_normal::value(draws);
            return tail(draws) / draws * (2.5066282746310002 * exp(0.5 * z * z));
        }
    };

    struct expert_popularity_cv
    {
        static constexpr Spec spec =
            Spec("c_X", "1", "expert-popularity coefficient of variation (CV), 0 if balanced", "R2.2")
                .range(0)
                .by_default(0);
    };
    struct expert_placement
    {
        static constexpr Spec spec =
            Spec("\\pi_X", "1", "expert placement (as placed by number, rebalanced by load)", "R2.2")
                .one_of("as_placed", "rebalanced")
                .by_default(0);
    };
    struct expert_statistics_drift
    {
        static constexpr Spec spec =
            Spec("d_X", "1", "relative drift of expert load since rebalancing, standard deviation", "R2.2")
                .range(0)
                .by_default(0);
    };
    // Quantile of a gamma distribution of mean 1 (Wilson and Hilferty) from the normal quantile z.
    template <class T> constexpr T largest_of_gamma(const T& variance, const T& z)
    {
        const T root = 1.0 - variance / 9.0 + z * (sqrt(variance) / 3.0);
        return root * root * root;
    }
    struct hottest_expert_load
    {
        static constexpr Spec spec =
            Spec("E p_1", "1", "load of the most popular expert relative to the mean", "R2.2").range(1);
        template <class T> static constexpr T formula(
            in<expert_popularity_cv, T> c,
            in<experts, T> X,
            in<experts_per_token, T> k)
        {
            const T drawn = max(largest_of_gamma<T>(c * c, routine<largest_normal>(X)), 1.0);
            return min(drawn, X / k);
        }
    };
    struct routed_tokens
    {
        static constexpr Spec spec =
            Spec("T_X", "token", "tokens per pass and copy of the routed experts", "R2.2").positive();
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<expert_copies, T> copies)
        { return tokens / copies; }
    };
    struct expert_load_variance
    {
        static constexpr Spec spec =
            Spec("\\sigma_X^2", "1", "relative variance of expert load per chip (popularity, chance)", "R2.2").range(0);
        template <class T> static constexpr T formula(
            in<expert_placement, T> placement,
            in<expert_popularity_cv, T> c,
            in<expert_statistics_drift, T> d,
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<expert_parallel, T> G_e,
            in<routed_tokens, T> tokens)
        {
            const T popularity = choose(placement, c * c, d * d * (1.0 + c * c));
            return popularity * ((count(G_e) - 1.0) / (X - 1.0)) + count(G_e) / (count(tokens) * k);
        }
    };
    struct hottest_chip_load
    {
        static constexpr Spec spec =
            Spec("\\mu_1", "1", "load of the chip with the most popular expert relative to the mean", "R2.2").range(0);
        template <class T> static constexpr T formula(
            in<expert_placement, T> placement,
            in<hottest_expert_load, T> hot,
            in<expert_statistics_drift, T> d,
            in<experts, T> X,
            in<expert_parallel, T> G_e,
            in<redundant_experts, T> R)
        {
            const T chips_of_one = count(G_e) / X;
            return choose(
                placement,
                1.0 + (hot - 1.0) * chips_of_one,
                (1.0 + d) * hot * chips_of_one / (1.0 + floor(R * (hot / X))));
        }
    };
    struct expert_imbalance
    {
        static constexpr Spec spec =
            Spec("\\mu_X", "1", "expert load imbalance, maximum relative to mean tokens per chip", "R2.2").range(1);
        template <class T> static constexpr T formula(
            in<expert_popularity_cv, T> c,
            in<experts, T> X,
            in<expert_parallel, T> G_e,
            in<expert_load_variance, T> variance,
            in<hottest_chip_load, T> hottest)
        {
            const T fullest = largest_of_gamma<T>(variance, routine<largest_normal>(count(G_e)));
            const T uneven = select(count(G_e) <= 1.0 || X <= 1.0, T(1.0), max(max(fullest, hottest), 1.0));
            return select(c == T(0.0), T(1.0), uneven);
        }
    };

    using expert_load = list<
        expert_popularity_cv,
        expert_placement,
        expert_statistics_drift,
        hottest_expert_load,
        routed_tokens,
        expert_load_variance,
        hottest_chip_load,
        expert_imbalance>;
}
