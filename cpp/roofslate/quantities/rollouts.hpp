// Rollouts of reinforcement learning: a batch of answers takes as long as its longest one.
#pragma once
#include "roofslate/language/normal.hpp"
#include "roofslate/quantities/sessions.hpp"

namespace roofslate::quantities
{
    // Lengths are lognormal of mean 1 and this coefficient of variation, cut at `most`.

    // Mean length.
    struct cut_mean
    {
        static constexpr const char* name = "cut_mean";
        static constexpr const char* latex = "m";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{-1, 1};
        static constexpr std::array<double, 3> least{0, -HUGE_VAL};
        struct by_cv;
        struct by_most;
        using partials = list<by_cv, by_most>;
        static constexpr Dimension dimension(const Dimension& cv, const Dimension& most) { return cv * most; }

        static double value(double cv, double most)
        { return cv >= 0 && most == most ? Lognormal(cv).mean_least(max(most, 0.0)) : cv + most; }
    };
    struct cut_mean::by_cv
    {
        static constexpr const char* name = "cut_mean_by_cv";
        static constexpr const char* latex = "\\partial m/\\partial c";
        static constexpr int arity = 2;

        static double value(double cv, double most) { return Lognormal(cv).mean_least_by_cv(most); }
    };
    struct cut_mean::by_most
    {
        static constexpr const char* name = "cut_mean_by_most";
        static constexpr const char* latex = "\\partial m/\\partial L";
        static constexpr int arity = 2;

        static double value(double cv, double most) { return Lognormal(cv).share_above(most); }
    };

    // Mean square of the length.
    struct cut_square
    {
        static constexpr const char* name = "cut_square";
        static constexpr const char* latex = "m_2";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{0, 1};
        static constexpr std::array<double, 3> least{0, -HUGE_VAL};
        struct by_cv;
        struct by_most;
        using partials = list<by_cv, by_most>;
        static constexpr Dimension dimension(const Dimension& cv, const Dimension& most) { return cv * most; }

        // E min(L, m)^2 is 1 + c^2 less E max(L^2 - m^2, 0), and 2 m E min(L, m) - m^2 with E max(m - L, 0)^2: all but
        // E min(L, m) rise with the spread, as expectations of convex functions of lengths of equal mean.
        template <class T> static Limits<T> enclosure(const Limits<T>& cv, const Limits<T>& most)
        {
            const T two(2.0), zero(0.0), endless(infinite);
            const T rise = cv.high * cv.high - cv.low * cv.low, rounded = T(1e-13) * (cv.high * cv.high + T(1.0));
            const auto square = [](const T& c, const T& m) { return routine<cut_square>(c, m); };
            const auto fall = [&](const T& m) { // of 2 m E min(L, m)
                const T at_low = routine<cut_mean>(cv.low, m), at_high = routine<cut_mean>(cv.high, m);
                return select(m < endless, two * m * (at_low - at_high + T(1e-13) * at_low), endless);
            };
            const T least = max(most.low, zero), greatest = max(most.high, zero);
            return {
                max(max(square(cv.low, least) - fall(least), square(cv.high, least) - rise - rounded), zero),
                min(square(cv.high, greatest) + fall(greatest), square(cv.low, greatest) + rise + rounded)};
        }
        static double value(double cv, double most)
        { return cv >= 0 && most == most ? Lognormal(cv).square_least(max(most, 0.0)) : cv + most; }
    };
    struct cut_square::by_cv
    {
        static constexpr const char* name = "cut_square_by_cv";
        static constexpr const char* latex = "\\partial m_2/\\partial c";
        static constexpr int arity = 2;

        static double value(double cv, double most) { return Lognormal(cv).square_least_by_cv(most); }
    };
    struct cut_square::by_most
    {
        static constexpr const char* name = "cut_square_by_most";
        static constexpr const char* latex = "\\partial m_2/\\partial L";
        static constexpr int arity = 2;

        static double value(double cv, double most)
        { return most < infinite ? 2 * most * Lognormal(cv).share_above(most) : 0; }
    };

    // Integrals over lengths by the normal deviate: six panels of sixteen Gauss-Legendre points.
    struct length_integral
    {
        static constexpr double operations = 600;
        template <class F> static double over(double low, double high, const F& f)
        {
            static constexpr double at[]{
                0.09501250983763744,
                0.2816035507792589,
                0.45801677765722737,
                0.6178762444026438,
                0.755404408355003,
                0.8656312023878318,
                0.9445750230732326,
                0.9894009349916499};
            static constexpr double weight[]{
                0.18945061045506864,
                0.18260341504492364,
                0.16915651939500265,
                0.1495959888165767,
                0.12462897125553407,
                0.0951585116824926,
                0.062253523938647456,
                0.027152459411754176};
            const double half = (high - low) / 12;
            double sum = 0;
            for (int panel = 0; panel < 6; ++panel)
                for (int i = 0; i < 8; ++i)
                {
                    const double middle = low + half * (2 * panel + 1);
                    sum += weight[i] * (f(middle - half * at[i]) + f(middle + half * at[i]));
                }
            return half > 0 ? half * sum : 0;
        }
        // A deviate of at least -9 with f < 0 below it: f rises.
        template <class F> static double start(double high, const F& f)
        {
            double low = -9, top = high;
            for (int i = 0; i < 12 && low < top; ++i)
            {
                const double middle = (low + top) / 2;
                (f(middle) < 0 ? low : top) = middle;
            }
            return min(low, high);
        }
        static constexpr double nothing = 39; // e^-39 is below the rounding of 1
        // The largest length, or the point beyond which n of them have negligible probability.
        static double end(const Lognormal& length, double n, double most)
        { return min(length.deviate(most), length.s() + sqrt(2 * (nothing + log(max(n, 1.0))))); }
        static constexpr double little_spread = 1e-6; // slopes by the spread are constant below this one
    };

    // Longest of n lengths, mean: the integral of 1 - F^n.
    struct expected_longest
    {
        static constexpr const char* name = "expected_longest";
        static constexpr double operations = length_integral::operations;
        static constexpr const char* latex = "L_{(n)}";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{1, 0, 1};
        static constexpr std::array<double, 3> least{0, 0, -HUGE_VAL};
        struct by_count;
        struct by_cv;
        struct by_most;
        using partials = list<by_count, by_cv, by_most>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& cv, const Dimension& most)
        { return roofslate::count(n) * cv * most; }

        // The longest below m is m and the longest at all, less the larger of both. Expectations of the two latter rise
        // with the spread if n is at least 1.
        template <class T> static Limits<T> enclosure(const Limits<T>& n, const Limits<T>& cv, const Limits<T>& most)
        {
            const T one(1.0), zero(0.0), endless(infinite), rounding(1e-11);
            const auto longest = [](const T& k, const T& c, const T& m) { return routine<expected_longest>(k, c, m); };
            const auto rise = [&](const T& k) { // without m
                const T at_high = longest(k, cv.high, endless);
                return at_high - longest(k, cv.low, endless) + rounding * at_high;
            };
            const T least = max(most.low, zero), greatest = max(most.high, zero);
            const T from_high = longest(n.low, cv.high, least) - rise(n.low);
            const T low = max(from_high, routine<cut_mean>(cv.high, least) * (one - rounding));
            const T high = min(longest(n.high, cv.low, greatest) + rise(n.high), greatest);
            return {select(n.low >= one, low, zero), select(n.high >= one, high, greatest)};
        }
        static double value(double n, double cv, double most)
        {
            if (!(n >= 0 && cv >= 0) || most != most)
                return std::numeric_limits<double>::quiet_NaN();
            if (most <= 0 || n == 0)
                return 0;
            const Lognormal length(cv);
            if (length.s() == 0 || n > DBL_MAX)
                return n > DBL_MAX && cv > 0 ? most : min(most, 1.0);
            const double high = length_integral::end(length, n, most), low = start(n, high);
            return length.at(low)
                + length_integral::over(
                      low,
                      high,
                      [&](double z) { return share_of_any(normal_below(-z), n) * length.at(z); })
                * length.s();
        }

    private:
        static double start(double n, double high)
        {
            return length_integral::start(high, [&](double z) {
                return n * log(normal_below(z)) + length_integral::nothing;
            });
        }
        static double log_share(double z) // ln F
        {
            const double above = normal_below(-z);
            return above < 0.5 ? -share_of_logarithm(above) : log(normal_below(z));
        }
        static double share_of_logarithm(double p) // -ln(1 - p)
        { return log_of_one_plus(p / (1 - p)); }
    };
    struct expected_longest::by_count
    {
        static constexpr const char* name = "expected_longest_by_count";
        static constexpr const char* latex = "\\partial L_{(n)}/\\partial n";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        {
            const Lognormal length(cv);
            if (!(n > 0) || n > DBL_MAX || length.s() == 0 || most <= 0)
                return 0;
            const double high = length_integral::end(length, n, most), low = start(n, high);
            return length_integral::over(
                       low,
                       high,
                       [&](double z) {
                           const double l = log_share(z);
                           return -l * exp(n * l) * length.at(z);
                       })
                * length.s();
        }
    };
    struct expected_longest::by_cv
    {
        static constexpr const char* name = "expected_longest_by_cv";
        static constexpr const char* latex = "\\partial L_{(n)}/\\partial c";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        {
            const Lognormal length(max(cv, length_integral::little_spread));
            if (!(n > 0) || n > DBL_MAX || most <= 0)
                return 0;
            const double high = length_integral::end(length, n, most), low = start(n, high);
            return -n * length_integral::over(low, high, [&](double z) {
                const double t = length.at(z);
                return exp((n - 1) * log_share(z)) * length.share_below_by_cv(t) * t;
            }) * length.s();
        }
    };
    struct expected_longest::by_most
    {
        static constexpr const char* name = "expected_longest_by_most";
        static constexpr const char* latex = "\\partial L_{(n)}/\\partial L";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        { return most > 0 && n > 0 ? share_of_any(Lognormal(cv).share_above(most), n) : 0; }
    };

    // Longest rest of n answers under way, mean: the integral of 1 - (1 - G)^n, 1 - G(t) = E min(L, t) / E L.
    struct expected_longest_rest
    {
        static constexpr const char* name = "expected_longest_rest";
        static constexpr double operations = length_integral::operations;
        static constexpr const char* latex = "R_{(n)}";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{1, 0, 1};
        static constexpr std::array<double, 3> least{0, 0, -HUGE_VAL};
        struct by_count;
        struct by_cv;
        struct by_most;
        using partials = list<by_count, by_cv, by_most>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& cv, const Dimension& most)
        { return expected_longest::dimension(n, cv, most); }

        // 1 - G is E min(L, t) over E min(L, m). Both fall with the spread, so (1 - G)^n has the values of its ends as
        // limits, divided and multiplied by the n-th power of the ratio of the means: 1 without a limit of lengths.
        template <class T> static Limits<T> enclosure(const Limits<T>& n, const Limits<T>& cv, const Limits<T>& most)
        {
            const T one(1.0), zero(0.0), endless(infinite), rounding(1e-11);
            const auto longest = [](const T& k, const T& c, const T& m) {
                return routine<expected_longest_rest>(k, c, m);
            };
            const auto fall = [&](const T& k, const T& m) { // logarithm of that power
                const T ratio = routine<cut_mean>(cv.high, m) / routine<cut_mean>(cv.low, m);
                return k * max(log(ratio), T(-1e3)) - rounding;
            };
            const T least = max(most.low, zero), greatest = max(most.high, zero);
            const T at_low = longest(n.low, cv.low, least), at_high = longest(n.high, cv.high, greatest);
            const T power_low = exp(min(-fall(n.low, least), T(600.0))), power_high = exp(fall(n.high, greatest));
            const T low = at_low - (power_low - one) * (least - at_low) - rounding * at_low;
            const T high = at_high + (one - power_high) * (greatest - at_high) + rounding * at_high;
            return {
                select(least < endless, max(low, zero), at_low * (one - rounding)),
                select(greatest < endless, min(high, greatest), at_high * (one + rounding))};
        }
        static double value(double n, double cv, double most)
        {
            if (!(n >= 0 && cv >= 0) || most != most)
                return std::numeric_limits<double>::quiet_NaN();
            if (most <= 0 || n == 0)
                return 0;
            const Rests rests(n, cv, most);
            if (rests.length.s() == 0 || n > DBL_MAX)
                return n > DBL_MAX ? most : rests.mean * (n / (n + 1));
            const double t = rests.length.at(rests.low);
            return t * (1 - pow(rests.least_at(rests.low), n) / (n + 1))
                + rests.over([&](double z, double at) { return share_of_any(rests.share_beyond(z, at), n); });
        }

    private:
        struct Rests
        {
            Rests(double n, double cv, double most)
                : length(cv),
                  mean(length.mean_least(most)),
                  beyond(length.mean_excess(most)),
                  high(length_integral::end(length, n, most)),
                  low(high)
            {
                if (length.s() > 0)
                    low = length_integral::start(high, [&](double z) {
                        return n * log(least_at(z)) + length_integral::nothing;
                    });
            }
            double least_at(double z) const { return min(length.mean_least(length.at(z)) / mean, 1.0); } // 1 - G
            // G at a length and its deviate.
            double share_beyond(double z, double at) const
            {
                const double s = length.s();
                return min(max((normal_below(s - z) - at * normal_below(-z) - beyond) / mean, 0.0), 1.0);
            }
            template <class F> double over(const F& f) const
            {
                return length_integral::over(
                           low,
                           high,
                           [&](double z) {
                               const double at = length.at(z);
                               return f(z, at) * at;
                           })
                    * length.s();
            }

            Lognormal length;
            double mean, beyond, high, low;
        };
    };
    struct expected_longest_rest::by_count
    {
        static constexpr const char* name = "expected_longest_rest_by_count";
        static constexpr const char* latex = "\\partial R_{(n)}/\\partial n";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        {
            if (!(n > 0) || n > DBL_MAX || most <= 0)
                return 0;
            const Rests rests(n, cv, most);
            if (rests.length.s() == 0)
                return rests.mean / ((n + 1) * (n + 1));
            const double t = rests.length.at(rests.low), l = log(rests.least_at(rests.low)), k = 1 / (n + 1);
            return t * exp(n * l) * (k - l) * k + rests.over([&](double z, double at) {
                const double p = rests.share_beyond(z, at), logarithm = -log_of_one_plus(p / max(1 - p, DBL_MIN));
                return -logarithm * exp(n * logarithm);
            });
        }
    };
    struct expected_longest_rest::by_cv
    {
        static constexpr const char* name = "expected_longest_rest_by_cv";
        static constexpr const char* latex = "\\partial R_{(n)}/\\partial c";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        {
            if (!(n > 0) || n > DBL_MAX || most <= 0)
                return 0;
            const Rests rests(n, max(cv, length_integral::little_spread), most);
            const double slope = rests.length.mean_least_by_cv(most) / rests.mean;
            const double of_mean = slope == 0 ? 0 : slope * (most - expected_longest_rest::value(n, cv, most));
            const double of_rests = rests.over([&](double z, double at) {
                const double share = 1 - rests.share_beyond(z, at);
                return pow(max(share, 0.0), n - 1) * rests.length.mean_least_by_cv(at) / rests.mean;
            });
            return n * (of_mean - of_rests);
        }
    };
    struct expected_longest_rest::by_most
    {
        static constexpr const char* name = "expected_longest_rest_by_most";
        static constexpr const char* latex = "\\partial R_{(n)}/\\partial L";
        static constexpr int arity = 3;

        static double value(double n, double cv, double most)
        {
            if (!(n > 0 && most > 0) || n > DBL_MAX || most > DBL_MAX)
                return 0;
            const Lognormal length(cv);
            const double r = expected_longest_rest::value(n, cv, most);
            return n * length.share_above(most) / length.mean_least(most) * (most - r);
        }
    };

    // --- a batch of rollouts on the slots of a replica ---

    struct rollouts_per_batch
    {
        static constexpr Spec spec =
            Spec("n_R", "sequence", "rollouts per batch on a replica, all awaited", "RollPacker, arXiv 2509.21009")
                .range(1);
    };
    struct rollout_length
    {
        static constexpr Spec spec =
            Spec("m_R", "token/sequence", "mean rollout length before the limit", "definition")
                .positive()
                .otherwise<output_tokens>();
    };
    struct rollout_length_cv
    {
        static constexpr Spec spec =
            Spec("c_R", "1", "coefficient of variation (CV) of rollout lengths, lognormal", "definition")
                .range(0)
                .by_default(1);
    };
    struct rollout_length_limit
    {
        static constexpr Spec spec =
            Spec("L_R", "token/sequence", "maximum rollout length, longer rollouts truncated", "definition")
                .positive(infinite)
                .by_default(infinite);
    };
    struct rollout_limit_ratio
    {
        static constexpr Spec spec = Spec("L_R/m_R", "1", "ratio of rollout length limit to mean length", "definition");
        template <class T> static constexpr T formula(in<rollout_length_limit, T> L, in<rollout_length, T> m)
        { return select(L == T(infinite), T(infinite), L / m); }
    };
    struct mean_rollout_tokens
    {
        static constexpr Spec spec =
            Spec("\\bar m_R", "token/sequence", "mean tokens per rollout, truncated rollouts included", "definition");
        template <class T> static constexpr T formula(
            in<rollout_length, T> m,
            in<rollout_length_cv, T> cv,
            in<rollout_limit_ratio, T> most)
        { return m * routine<cut_mean>(cv, most); }
    };
    struct longest_rollout_tokens
    {
        static constexpr Spec spec =
            Spec("L_{(n)}", "token/sequence", "mean tokens of the longest rollout in a batch", "definition");
        template <class T> static constexpr T formula(
            in<rollout_length, T> m,
            in<rollouts_per_batch, T> n,
            in<rollout_length_cv, T> cv,
            in<rollout_limit_ratio, T> most)
        { return m * routine<expected_longest>(n, cv, most); }
    };
    struct last_rollouts_tokens
    {
        static constexpr Spec spec =
            Spec("R_{(N)}", "token/sequence", "mean tokens decoded after the last slot refill", "definition");
        template <class T> static constexpr T formula(
            in<rollout_length, T> m,
            in<batch_slots, T> N,
            in<rollout_length_cv, T> cv,
            in<rollout_limit_ratio, T> most)
        { return m * routine<expected_longest_rest>(N, cv, most); }
    };
    struct rollout_passes
    {
        static constexpr Spec spec =
            Spec("p_R", "1", "decode passes until the last rollout in a batch ends", "definition");
        template <class T> static constexpr T formula(
            in<rollouts_per_batch, T> n,
            in<batch_slots, T> N,
            in<rollout_length, T> m,
            in<rollout_length_cv, T> cv,
            in<rollout_limit_ratio, T> most,
            in<mean_rollout_tokens, T> mean,
            in<longest_rollout_tokens, T> longest,
            in<last_rollouts_tokens, T> tail_tokens,
            in<emitted_length, T> e)
        {
            // Either the slots run evenly, or the last rollouts start before the first ones have ended evenly.
            const T under_way = m / mean * (m * routine<cut_square>(cv, most)) / 2.0; // answered of these by the end
            const T settled = n / N * mean - under_way + tail_tokens, unsettled = longest + (n / N - 1.0) * mean;
            return select(n <= N, longest, min(settled, unsettled)) / e;
        }
    };
    struct rollout_sequence_time
    {
        static constexpr Spec spec =
            Spec("t_n", "s", "per-sequence pass time, sum for all rollouts in a batch", "definition");
        template <class T> static constexpr T formula(
            in<rollouts_per_batch, T> n,
            in<mean_rollout_tokens, T> mean,
            in<emitted_length, T> e,
            in<pass_time_per_sequence, T> k)
        { return n * (mean / e) * k; }
    };
    struct rollout_time
    {
        static constexpr Spec spec =
            Spec("T_R", "s", "rollout batch time until the last rollout ends (makespan)", "definition");
        template <class T> static constexpr T formula(
            in<fixed_pass_time, T> W,
            in<rollout_passes, T> passes,
            in<rollout_sequence_time, T> t)
        { return W * passes + t; }
    };
    struct refilled_rollout_time
    {
        static constexpr Spec spec = Spec("T_{RR}", "s", "rollout batch time, slots always full", "definition");
        template <class T> static constexpr T formula(
            in<fixed_pass_time, T> W,
            in<rollouts_per_batch, T> n,
            in<batch_slots, T> N,
            in<mean_rollout_tokens, T> mean,
            in<emitted_length, T> e,
            in<rollout_sequence_time, T> t)
        { return W * (n / N * (mean / e)) + t; }
    };
    struct rollout_waiting_factor
    {
        static constexpr Spec spec = Spec("f_R", "1", "rollout batch time relative to slots always full", "definition");
        template <class T> static constexpr T formula(in<rollout_time, T> T_R, in<refilled_rollout_time, T> full)
        { return T_R / full; }
    };
    struct rollout_utilization
    {
        static constexpr Spec spec = Spec("u_R", "1", "rollout throughput relative to slots always full", "definition");
        template <class T> static constexpr T formula(in<rollout_waiting_factor, T> f) { return 1.0 / f; }
    };

    using rollouts = list<
        rollouts_per_batch,
        rollout_length,
        rollout_length_cv,
        rollout_length_limit,
        rollout_limit_ratio,
        mean_rollout_tokens,
        longest_rollout_tokens,
        last_rollouts_tokens,
        rollout_passes,
        rollout_sequence_time,
        rollout_time,
        refilled_rollout_time,
        rollout_waiting_factor,
        rollout_utilization>;
}
